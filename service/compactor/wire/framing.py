"""A response written out around its body: the body's pieces are joined once, into the bytes that leave.

Protobuf would copy a body into the message and out again. Fields may stand in any order on the wire, so the message is
written without its body, and the field `native` is appended by hand, as the encoding of protobuf defines it.
"""

from __future__ import annotations

from collections.abc import Sequence

from hango.compaction.v1 import compaction_service_pb2 as pb
from hango.compaction.v1 import conversation_pb2

_LENGTH_DELIMITED = 2
_NATIVE = pb.CompactResponse.DESCRIPTOR.fields_by_name["native"].number << 3 | _LENGTH_DELIMITED
_BODY = conversation_pb2.NativePayload.DESCRIPTOR.fields_by_name["body"].number << 3 | _LENGTH_DELIMITED


def framed(response: pb.CompactResponse, format: int, body: Sequence[bytes | memoryview]) -> bytes:
    """The bytes of a response whose native result has this format and this body, given in pieces."""
    size = sum([len(piece) for piece in body])
    payload = conversation_pb2.NativePayload(format=format).SerializeToString()  # type: ignore[arg-type]
    payload += varint(_BODY) + varint(size)
    head = response.SerializeToString() + varint(_NATIVE) + varint(len(payload) + size) + payload
    return b"".join((head, *body))


def varint(number: int) -> bytes:
    """A number in protobuf's variable length.

    >>> varint(300).hex()
    'ac02'
    """
    found = bytearray()
    while number > 0x7F:
        found.append(number & 0x7F | 0x80)
        number >>= 7
    found.append(number)
    return bytes(found)
