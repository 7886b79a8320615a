"""The facts of one message that decisions need, drawn from its decoded content."""

from __future__ import annotations

from compactor.core.measure import Counting, message_tokens, value_size
from compactor.model import Call, Content, Kind, Message, Role


def facts(content: Content, counting: Counting) -> Message:
    """The facts of a message, counted in the given way. A pure function, so it may be remembered by content."""
    parts = content.parts
    tokens, media_tokens = message_tokens(content, counting)
    kinds = tuple([part.kind for part in parts])
    values = [value_size(part.text) for part in parts if part.kind is Kind.TOOL_USE or part.kind is Kind.TOOL_RESULT]
    has_thinking = Kind.THINKING in kinds
    return Message(
        role=content.role,
        tokens=tokens,
        media_tokens=media_tokens,
        kinds=kinds,
        calls=tuple([Call(part.id, part.name) for part in parts if part.kind is Kind.TOOL_USE]),
        call_ids=tuple([part.id for part in parts if part.kind is Kind.TOOL_USE]),
        results=tuple([part.id for part in parts if part.kind is Kind.TOOL_RESULT]),
        server_calls=tuple([part.id for part in parts if part.kind is Kind.SERVER_TOOL_USE]),
        server_results=tuple([part.id for part in parts if part.kind is Kind.SERVER_TOOL_RESULT]),
        largest_value=max(values, default=0),
        is_request=content.role is Role.USER and Kind.TOOL_RESULT not in kinds,
        has_thinking=has_thinking,
        opens_with_thinking=has_thinking and kinds[0] is Kind.THINKING,
        breaches=content.breaches,
        marks=content.marks,
    )
