"""How words are copied out of messages: on one line, shortened in the middle, split into sentences.

Everything here is linear in what it reads, and reads no more of a long text than its head and its tail. Slices are made
by code points, so nothing is cut inside a character of UTF-8; what stands between head and tail is named by its length.
"""

from __future__ import annotations

import re

LONGEST_PROSE = 16_384
HEAD_SHARE = 0.65

# Blocks that hosts put into the user's messages; they are neither the user's words nor worth a summary.
_HOST_BLOCK = re.compile(
    r"<(system-reminder|environment_context|local-command-caveat|local-command-stdout|command-message|command-name"
    r"|ide_selection|ide_opened_file|task-notification|user_instructions)\b[^<>\n]{0,200}>"
)
_REMINDER_CLOSED = "</system-reminder>"
_HOST_LINE = re.compile(r"^\[Request interrupted by user[^\]\n]{0,40}\]$", re.MULTILINE)
_HOST_TAG = re.compile(r"</?command-(?:args|contents)>")
_FENCE = re.compile(r"^[ \t]{0,3}(?:```|~~~)", re.MULTILINE)
_SENTENCE_END = re.compile(
    r"(?<=[.!?…])(?<!e\.g\.)(?<!i\.e\.)(?<!\betc\.)(?<![Nn]o\.)(?<!\b[DM]r\.)(?<!\bvs\.)\s+|(?<=[。！？；])\s*"
)
_AROUND_WORDS = str.maketrans(dict.fromkeys('.,:;!?()[]"*_', " "))
# What a cut leaves of a word at an edge: no name of anything.
_CUT_WORD, _CUT_WORD_BEFORE = re.compile(r"[\w./-]{1,80}\Z"), re.compile(r"\A[\w./-]{1,80}")
_QUOTED = re.compile(r"\"[^\"]{12,300}\"|(?<!\w)'[^']{12,300}'(?!\w)|“[^”]{12,300}”|«[^»]{12,300}»|「[^」]{4,300}」")
_LIST_MARK = re.compile(r"(?:[-*+•]|\(?[0-9]{1,3}[.)]|\[[ xX]\]|#{1,6})\s+")
_LOG_LINE = re.compile(
    r"[0-9]+:|[0-9]{4}-[0-9]{2}-[0-9]{2}[T ]|[0-9]{2}:[0-9]{2}:|[>|$❯+]|at \S+\(|File \"|\{|</?[a-zA-Z]|//|import "
    r"|\w*(?:[Ee]rror|[Ee]xception|[Ww]arning)\b(?: [\w.-]+)?: "
)


def any_of(patterns: str) -> re.Pattern[str]:
    r"""Finds any of the patterns, one a line; a line that is indented further than the first goes on with the last one.

    >>> any_of("from now on\n(?:always\n    |never)").findall("from now on never")
    ['from now on', 'never']
    """
    lines = patterns.strip("\n").splitlines()
    margin = len(lines[0]) - len(lines[0].lstrip())
    joined = ""
    for line in filter(str.strip, lines):
        goes_on = line[margin : margin + 1] == " "
        joined += line.strip() if goes_on or not joined else "|" + line.strip()
    return re.compile(joined)


def unquoted(text: str) -> str:
    """The text with what it quotes left out; names and short words in quotes stay."""
    return _QUOTED.sub("…", text)


def one_line(text: str, limit: int) -> str:
    """The text with every run of white space as one space, at most `limit` characters, shortened in the middle."""
    if len(text) > 4 * limit + 64:
        text = text[: 2 * limit] + " … " + text[-2 * limit :]
    return shorten(" ".join(text.split()), limit, note="…")


def shorten(text: str, limit: int, *, note: str = "") -> str:
    """At most `limit` characters of the text: head and tail, and between them the note or the number of those left out.

    >>> shorten("abcdefghijklmnopqrstuvwxyz", 11, note="…")
    'abcdef…wxyz'
    """
    if len(text) <= limit:
        return text
    note = note or f" […{len(text) - limit:,} characters left out…] "
    room = limit - len(note)
    if room < 2:
        return text[:limit]
    head = max(1, int(room * HEAD_SHARE))
    tail = room - head
    return text[:head] + note + text[len(text) - tail :] if tail else text[:head] + note


def words(text: str) -> list[str]:
    """The words of a text in lower case, without what stands around them; of a long text those of its ends."""
    return ends(text, LONGEST_PROSE).lower().translate(_AROUND_WORDS).split()


def spoken(text: str) -> str:
    """What the user says in a message: without the blocks and notes that the host put around it."""
    if "</" in text:
        text = _HOST_TAG.sub("", _without_host_blocks(text))
    if "[Request interrupted" in text:
        text = _HOST_LINE.sub("", text)
    return text.strip()


def without_reminder(result: str) -> str:
    """A tool's result without the reminder that the host put at its end."""
    if _REMINDER_CLOSED not in result[-40:]:
        return result
    start = result.rfind("<system-reminder>")
    return result[:start].rstrip() if start > 0 else result


def _without_host_blocks(text: str) -> str:
    """The text outside of the hosts' blocks; a block that is never closed is text."""
    kept: list[str] = []
    unclosed: set[str] = set()  # looked for once: a run of openings stays linear
    position = 0
    for opening in _HOST_BLOCK.finditer(text):
        closing = f"</{opening[1]}>"
        if opening.start() < position or closing in unclosed:
            continue
        stop = text.find(closing, opening.end())
        if stop < 0:
            unclosed.add(closing)
            continue
        kept.append(text[position : opening.start()])
        position = stop + len(closing)
    return "".join(kept) + text[position:]


def ends(text: str, limit: int) -> str:
    """The text, or head and tail of it on separate lines where it is longer than the limit."""
    if len(text) <= limit:
        return text
    head, tail = text[: limit // 2], text[-(limit // 2) :]
    return f"{_CUT_WORD.sub('', head)}\n{_CUT_WORD_BEFORE.sub('', tail)}"


def without_code(text: str) -> str:
    """The text with its fenced blocks left out; a fence that is not closed reaches to the end."""
    if "```" not in text and "~~~" not in text:
        return text
    return "\n".join(_FENCE.split(text)[::2])


def sentences(text: str) -> list[tuple[str, bool]]:
    r"""The sentences of the prose in a text, list marks off, each with whether it is a point of a list.

    Code blocks, quotes, lines of logs and markup, and indented lines that are no list are left out.

    >>> sentences("Use tabs. Thanks!\n> quoted\n- No emojis.")
    [('Use tabs.', False), ('Thanks!', False), ('No emojis.', True)]
    """
    found: list[tuple[str, bool]] = []
    for line in without_code(ends(text, LONGEST_PROSE)).splitlines():
        bare = line.strip()
        if not bare or _LOG_LINE.match(bare):
            continue
        mark = _LIST_MARK.match(bare)
        if mark:
            bare = bare[mark.end() :]
        elif line.startswith(("    ", "\t")):
            continue
        found += [(sentence, mark is not None) for sentence in _SENTENCE_END.split(bare) if len(sentence) > 4]
    return found
