"""Tags around text that is data: whatever inside looks like one of them loses its angle bracket.

A model takes a tag for one however it is spelled. So letters count in either case and width, and what stands between
them counts for nothing: white space, slashes, and characters that cannot be seen. One pass, whatever the text.
"""

from __future__ import annotations

import re

_UNSEEN = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f"
    "\ufeff\uffa0\ufff9-\ufffb\U000e0000-\U000e0fff\x00-\x1f\x7f-\x9f"
)
_BEFORE = rf"[\s{_UNSEEN}/／\\|]*+"
_BETWEEN = rf"[\s{_UNSEEN}_＿-]*+"
_TO_WIDE = 0xFEE0
"""What lies between a letter of ASCII and the same in full width."""


class Tags:
    """Some tags, by their names: lower-case words with underscores between them."""

    def __init__(self, *names: str) -> None:
        spellings = "|".join(map(_spelled, names))
        self._look_alike = re.compile(rf"[<＜﹤](?={_BEFORE}(?:{spellings})(?![\w-]))", re.IGNORECASE)

    def escaped(self, text: str) -> str:
        """The text with the angle bracket of everything that looks like one of the tags escaped."""
        return self._look_alike.sub("&lt;", text)


def _spelled(name: str) -> str:
    """A pattern for all spellings of a tag's name."""
    words = name.split("_")
    return _BETWEEN.join(rf"[\s{_UNSEEN}]*+".join(map(_letter, word)) for word in words)


def _letter(letter: str) -> str:
    return f"[{letter}{chr(ord(letter) + _TO_WIDE)}]"
