"""Questions that still wait for an answer: the assistant's to the user, and the user's to the assistant."""

from __future__ import annotations

from compactor.core.retained import wording

LONGEST_QUESTION = 400
MOST_QUESTIONS = 4
_LAST_WORDS = 1_500


def find(text: str) -> tuple[str, ...]:
    """The questions in a text, in order, the last few; for a long text those at its end.

    >>> find("Done. Shall I push it? It is ready.")
    ('Shall I push it?',)
    """
    if "?" not in text and "？" not in text:
        return ()
    asked = [sentence for sentence, _ in wording.sentences(text[-_LAST_WORDS:]) if _asks(sentence)]
    return tuple(wording.one_line(question.strip("*_ "), LONGEST_QUESTION) for question in asked[-MOST_QUESTIONS:])


def _asks(sentence: str) -> bool:
    return sentence.rstrip("*_\"')”’ ").endswith(("?", "？")) and len(sentence) > 3
