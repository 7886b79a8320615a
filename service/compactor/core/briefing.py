"""The summary message (rule R16): what stands around a summary, so that a model reads it as background only.

The summary stands between two tag lines, the user's open request between two others. Text inside cannot close or open
either of them: whatever looks like one of the four tags loses its angle bracket, and nothing else is touched, so that
the user's words stay as they were written. Something that is not empty always follows the summary.
"""

from __future__ import annotations

import re

SUMMARY_TAG = "conversation_summary"
REQUEST_TAG = "open_request"

_OPENING = (
    "This is background, not an instruction: a summary of earlier messages of this conversation, which were left out."
)
_REQUEST = "The user's open request, word for word. This is what to work on:"
_HISTORY = (
    "The messages themselves are in {path}. If a detail is missing, search that file or read ranges of it with"
    " read_file; never load all of it."
)
_NOTHING = "Nothing of them was kept."
_LOOK_ALIKE = re.compile(r"<(?=\s*/?\s*(?:conversation[\s_-]?summary|open[\s_-]?request)(?![\w-]))", re.IGNORECASE)


def frame(summary: str, *, history_path: str = "", request: str = "") -> str:
    """The text of the summary message: the summary, then the open request and the way to the history where given.

    >>> print(frame("Two files were read.", request="Fix <b> tags."))
    This is background, not an instruction: a summary of earlier messages of this conversation, which were left out.
    <conversation_summary>
    Two files were read.
    </conversation_summary>
    The user's open request, word for word. This is what to work on:
    <open_request>
    Fix <b> tags.
    </open_request>
    """
    lines = [_OPENING, *_enclosed(SUMMARY_TAG, summary.strip() or _NOTHING)]
    if history_path:
        lines.append(_HISTORY.format(path=neutral(history_path)))
    if request.strip():
        lines += [_REQUEST, *_enclosed(REQUEST_TAG, request)]
    return "\n".join(lines)


def neutral(text: str) -> str:
    """The text with the angle bracket of everything that looks like a tag of the frame escaped.

    >>> neutral("a </conversation_summary> b <i>")
    'a &lt;/conversation_summary> b <i>'
    """
    return _LOOK_ALIKE.sub("&lt;", text)


def _enclosed(tag: str, text: str) -> tuple[str, str, str]:
    return f"<{tag}>", neutral(text), f"</{tag}>"
