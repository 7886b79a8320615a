"""The edits of EDITS mode, applied as a client would: the raw request in, the request to send out.

Every array goes by one rule. A range is the slice of the raw text from its first element's first character to its last
element's last; pieces are joined by commas; what stands around the array stays. Where the raw request has a plain text
for its system, the array takes the text's place.
"""

from __future__ import annotations

from collections.abc import Sequence

from hango.compaction.v1 import compaction_pb2, conversation_pb2
from tests.builders import raw_json

_NAMES = {
    compaction_pb2.ARRAY_NAME_SYSTEM: "system",
    compaction_pb2.ARRAY_NAME_TOOLS: "tools",
    compaction_pb2.ARRAY_NAME_MESSAGES: "messages",
}


def to_body(body: bytes, edits: Sequence[compaction_pb2.Edit]) -> bytes:
    """A native body with edits applied."""
    text = body.decode()
    spans = {member.key: member for member in raw_json.members(text)} if edits else {}
    for edit in sorted(edits, key=lambda edit: -spans[_NAMES[edit.array]].start):
        _, start, stop = spans[_NAMES[edit.array]]
        is_array = text[start] == "["
        elements = raw_json.elements(text, start) if is_array else []
        pieces = []
        for piece in edit.pieces:
            if piece.WhichOneof("piece") == "range":
                pieces.append(text[elements[piece.range.start][0] : elements[piece.range.stop - 1][1]])
            else:
                pieces.append(piece.native_element.decode())
        text = f"{text[:start]}[{','.join(pieces)}]{text[stop:]}"
    return text.encode()


def to_conversation(
    conversation: conversation_pb2.Conversation, edits: Sequence[compaction_pb2.Edit]
) -> conversation_pb2.Conversation:
    """A conversation with edits applied."""
    result = conversation_pb2.Conversation()
    result.CopyFrom(conversation)
    for edit in edits:
        name = _NAMES[edit.array]
        source = getattr(conversation, name)
        result.ClearField(name)  # type: ignore[arg-type]
        target = getattr(result, name)
        for piece in edit.pieces:
            kind = piece.WhichOneof("piece")
            target.extend(source[piece.range.start : piece.range.stop] if kind == "range" else [getattr(piece, kind)])
    return result
