"""Conversations under pressure: a request, and a policy under which something may have to be done about its size."""

from __future__ import annotations

from random import Random
from typing import NamedTuple

from hypothesis import strategies as st

from compactor.errors import WindowTooSmall
from compactor.model import Format
from hango.compaction.v1 import compaction_service_pb2 as pb
from hango.compaction.v1 import policy_pb2
from tests.builders import pairing, raw_json
from tests.builders.conversations import RANDOMS, Sample, sample
from tests.property import harness


class Pressed(NamedTuple):
    """A request and a policy whose window is a share of what the request costs."""

    sample: Sample
    policy: policy_pb2.Policy
    tokens: int


def policy(random: Random, tokens: int) -> policy_pb2.Policy:
    """A policy with a window from a tenth to twice of what a request costs, everything else drawn too."""
    made = policy_pb2.Policy(
        max_input_tokens=max(1, int(tokens * random.choice((0.15, 0.3, 0.45, 0.6, 0.8, 0.95, 1.1, 1.2, 2.0)))),
        reserve_output_tokens=0,
        history_mode=policy_pb2.HISTORY_MODE_RETURN,
        unclipped_tools=random.choice(((), (), ("read_file", "bash"))),
    )
    if random.randint(0, 1):
        made.keep_message_count = random.choice((0, 1, 2, 3, 4, 6, 10, 100))
    elif random.randint(0, 1):
        made.keep_fraction = random.choice((0.0, 0.1, 0.3, 0.5, 0.9, 1.0))
        made.keep_unit = random.choice((policy_pb2.KEEP_UNIT_MESSAGES, policy_pb2.KEEP_UNIT_TOKENS))
    if random.randint(0, 1):
        made.max_argument_tokens = random.choice((0, 1, 50, 200, 1_000))
    if random.randint(0, 2) == 0:
        made.keep_recent_count = random.choice((0, 1, 2, 5, 50))
    if random.randint(0, 1):
        made.min_gain_fraction = random.choice((0.0, 0.1, 0.5))
    if random.randint(0, 1):
        made.prompt_caching = bool(random.randint(0, 1))
    if random.randint(0, 2) == 0:
        made.cache_ttl = random.choice(("5m", "1h"))
    if random.randint(0, 1):
        made.reasoning = random.choice((policy_pb2.REASONING_KEEP, policy_pb2.REASONING_STRIP))
    if random.randint(0, 4) == 0:
        made.trigger_message_count = random.randint(1, 20)
    if random.randint(0, 4) == 0:
        made.characters_per_token = random.choice((1.0, 3.5, 4.0))
    if random.randint(0, 3) == 0:
        made.retained_max_tokens = random.choice((0, 50, 500))
    if random.randint(0, 3) == 0:
        made.repair = policy_pb2.REPAIR_SYNTHESIZE
    return made


def press(random: Random, *formats: Format, odd: bool = True) -> Pressed:
    chosen = sample(random.choice(formats or tuple(Format)), random, odd=odd)
    tokens = harness.count(chosen)
    return Pressed(chosen, policy(random, tokens), tokens)


def pressed(*formats: Format) -> st.SearchStrategy[Pressed]:
    """Requests under pressure, of both formats by default."""
    return RANDOMS.map(lambda random: press(random, *formats))


def answered(message: pb.CompactRequest) -> pb.CompactResponse | None:
    """The answer; None where nothing that may be dropped makes the request fit its window."""
    try:
        return harness.compact(message)
    except WindowTooSmall:
        return None


def cut(source: Sample, count: int) -> Sample:
    """The request as it was when it had only its first messages, spelled as before."""
    text = source.body.decode()
    start, stop = harness.member(text, "messages")
    end = raw_json.elements(text, start)[count - 1][1]
    value = {**source.value, "messages": source.messages[:count]}
    return Sample(source.format, value, (text[:end] + "]" + text[stop:]).encode())


def stages(source: Sample) -> list[Sample]:
    """The requests of a session in its order: every beginning of the log that a provider takes."""
    found = []
    for count in range(1, len(source.messages) + 1):
        value = {**source.value, "messages": source.messages[:count]}
        has_request = any(message["role"] not in ("system", "developer") for message in value["messages"])
        if has_request and not pairing.breaches(source.format, value):
            found.append(cut(source, count))
    return found
