"""The law of what a process remembers: it saves work and never changes an answer."""

from __future__ import annotations

from random import Random

from hypothesis import given

from compactor.app import Compactor
from compactor.errors import CompactionError
from compactor.model import Format
from hango.compaction.v1 import policy_pb2
from tests.builders.conversations import RANDOMS, Sample, compact, sample, spelled
from tests.property import harness

FILLING = 'All work and no play. \u00e9\u2028\U0001f600 \\ " ] } , '


def large(random: Random) -> Sample:
    """A request so large that a scan of it is worth remembering."""
    source = sample(random.choice(tuple(Format)), random, odd=False)
    messages = list(source.messages)
    for _ in range(random.randint(1, 4)):
        message = {"role": "user", "content": FILLING * random.choice((1, 700, 1_500, 4_000))}
        messages.insert(random.choice((0, len(messages))), message)
    value = {**source.value, "messages": messages}
    if random.randint(0, 1):
        value = {"messages": value.pop("messages"), **value}
    return Sample(source.format, value, spelled(value, random) if random.randint(0, 3) == 0 else compact(value))


def relative(body: bytes, random: Random) -> bytes:
    """A body that begins as another one does."""
    at = random.choice((random.randrange(len(body)), len(body) - random.randint(1, min(300, len(body)))))
    opened = body[: body.rfind(b"}")]
    match random.randint(0, 7):
        case 0:
            return body[:at]
        case 1:
            return body[:at] + random.choice((b"]", b"}", b",", b" ", b'"', b"0", b"\\", b"\xff", b"{}")) + body[at:]
        case 2:
            return body[:at] + body[at + random.randint(1, 40) :]
        case 3:
            return opened + b',"messages":[{"role":"user","content":"x"}]}'
        case 4:
            return opened + b',"model":"again"}'
        case 5:
            return body.replace(b'"content"', b'"content" ', 1)
        case 6:
            return b" " + body
        case _:
            end = body.rfind(b"]", len(body) - 4_000) if b"]" in body[-4_000:] else len(body) - 1
            return body[:end] + b' , {"role":"user","content":"more"}' + body[end:]


def outcome(by: Compactor, format: Format, body: bytes) -> bytes | str:
    """All that a caller sees of a call."""
    policy = policy_pb2.Policy(max_input_tokens=30_000, reserve_output_tokens=0, keep_message_count=2)
    try:
        return harness.serialized(harness.compact(harness.request((format, body), policy=policy, explain=True), by))
    except CompactionError as error:
        return f"{type(error).__name__}: {error.message} {dict(error.metadata)}"


@given(RANDOMS)
def test_what_was_seen_before_changes_no_answer(random: Random) -> None:
    source, warm = large(random), harness.compactor()
    body = source.body
    for _ in range(4):
        assert outcome(warm, source.format, body) == outcome(harness.compactor(), source.format, body)
        body = relative(random.choice((body, source.body)), random) or source.body
