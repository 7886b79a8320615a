"""Where cached prefixes end (rule R24): on the last stable system block, and on the summary message.

Both positions stay put as the history grows, so what is written to the cache in one turn is read in the next. The
caller's own breakpoints are kept and counted; with four of them there is no room for ours. Breakpoints of a longer
life have to come first, so ours takes the life that its neighbours leave it. A prefix shorter than the model caches
gets none.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from compactor.core.validate import MAX_BREAKPOINTS
from compactor.core.view import View
from compactor.model import ArrayName, Breakpoint, Dialect, Edit, Element, Format, Literal, Message, Piece, Raw, Request
from compactor.policy import Settings


@dataclass(frozen=True, slots=True)
class Marked:
    """Breakpoints placed: the bytes of the summary message, the edit of the system text, and where they are.

    `is_exhausted` says that a wanted breakpoint found no room.
    """

    summary: bytes | None = None
    system: Edit | None = None
    placed: tuple[Breakpoint, ...] = ()
    is_exhausted: bool = False


def mark(
    request: Request, view: View, settings: Settings, stable_count: int | None, base_tokens: int, dialect: Dialect
) -> Marked:
    """Places breakpoints. `base_tokens` is what comes before the system text: fixed costs and tools."""
    if request.format is Format.OPENAI_CHAT or not settings.prompt_caching:
        return Marked()
    if not request.system and view.summary_at is None:
        return Marked()
    marks = _Marks(request, view)
    ttl = settings.cache_ttl or ("1h" if "1h" in marks.all else "5m")
    system_at = _stable_block(request.system, stable_count)
    system_edit: Edit | None = None
    summary: bytes | None = None
    placed: list[Breakpoint] = []
    wanted = granted = 0
    prefix = base_tokens + sum(block.tokens for block in request.system[: (system_at or 0) + 1])
    if system_at is not None and not request.system[system_at].mark and prefix >= settings.min_cacheable_tokens:
        wanted += 1
        life = marks.life_at(len(request.tools) + system_at, ttl)
        if life is not None:
            granted += 1
            block = dialect.mark_block(request.system[system_at].raw, life)
            system_edit = _system_edit(request.system, system_at, block, is_text=request.system_is_text)
            placed.append(Breakpoint(ArrayName.SYSTEM, system_at))
            marks.add(len(request.tools) + system_at, life)
    at = view.summary_at
    if at is not None:
        head = base_tokens + sum(block.tokens for block in request.system)
        if head + sum(message.tokens for message in view.messages[: at + 1]) >= settings.min_cacheable_tokens:
            wanted += 1
            life = marks.life_at(len(request.tools) + len(request.system) + at, ttl)
            summary = None if life is None else dialect.mark(view.literals[at], life)
            if summary is not None:
                granted += 1
                placed.append(Breakpoint(ArrayName.MESSAGES, at))
    return Marked(summary, system_edit, tuple(placed), granted < wanted)


class _Marks:
    """The breakpoints of a request in order, by place: tools, then system blocks, then messages."""

    def __init__(self, request: Request, view: View) -> None:
        elements = [*request.tools, *request.system]
        self._marks = [(place, element.mark) for place, element in enumerate(elements) if element.mark]
        self._marks += _message_marks(view.messages, len(elements))

    @property
    def all(self) -> list[str]:
        return [life for _, life in self._marks]

    def life_at(self, place: int, wanted: str) -> str | None:
        """The life that a new breakpoint may have at a place; None where there is no room for one."""
        if len(self._marks) >= MAX_BREAKPOINTS:
            return None
        needs_short = any(life == "5m" for at, life in self._marks if at <= place)
        needs_long = any(life == "1h" for at, life in self._marks if at > place)
        if needs_short and needs_long:
            return None
        return "5m" if needs_short else "1h" if needs_long else wanted

    def add(self, place: int, life: str) -> None:
        self._marks.append((place, life))


def _message_marks(messages: Sequence[Message], offset: int) -> list[tuple[int, str]]:
    return [
        (offset + position, life)
        for position, message in enumerate(messages)
        if message.marks
        for life in message.marks
    ]


def _stable_block(system: Sequence[Element], stable_count: int | None) -> int | None:
    """The last stable system block that can carry a breakpoint."""
    stable = system if stable_count is None else system[:stable_count]
    return next((index for index in range(len(stable) - 1, -1, -1) if stable[index].markable), None)


def _system_edit(system: Sequence[Element], at: int, block: bytes, *, is_text: bool) -> Edit:
    if is_text:
        return Edit(ArrayName.SYSTEM, (Literal(block, at),))
    pieces: list[Piece] = [Raw(0, at)] if at else []
    pieces.append(Literal(block, at))
    if at + 1 < len(system):
        pieces.append(Raw(at + 1, len(system)))
    return Edit(ArrayName.SYSTEM, tuple(pieces))
