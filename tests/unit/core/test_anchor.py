"""Rules R5, R6: what a provider reported is used only where it is about what the model sees now."""

from __future__ import annotations

from dataclasses import replace

import pytest

from compactor.core import anchor
from compactor.core.arrange import record_of
from compactor.core.measure import heuristic
from compactor.core.question import Means, Question
from compactor.core.retained import Harvest
from compactor.core.state import Standing, standing
from compactor.core.view import prefix_digest
from compactor.model import Compaction, Format, ObservedOverflow, ObservedUsage, Reason
from compactor.policy import Policy, resolve
from compactor.profiles import profile_of
from compactor.reader import Facts
from compactor.wire import calls
from tests.builders.conversations import Sample, asked, log, openai_log, said
from tests.property import harness

LOG = log(asked("one " * 90), said("two " * 90), asked("three " * 90), said("four " * 90), asked("five"))
FIXED = 50


def stands(source: Sample = LOG, record: Compaction | None = None, reason: Reason = Reason.UNSPECIFIED) -> Standing:
    call = calls.compact_call(harness.request(source), harness.SHARED)
    reader = Facts(1 << 20).reader(heuristic(call.request.model, source.format), source.format)
    return standing(
        Question(
            request=call.request,
            settings=resolve(Policy(), profile_of(call.request.model), None),
            means=Means(
                dialect=call.dialect,
                read=lambda raw: reader.message(raw, call.dialect.read),
                content=lambda index: call.dialect.read(call.request.raw(index)),
                harvest=lambda _: Harvest(),
                count=len,
            ),
            base_tokens=FIXED,
            tools_tokens=0,
            reason=reason,
            record=record,
        )
    )


def recorded(first_kept: int) -> Compaction:
    """A record of a summary in the place of so many messages."""
    at = stands()
    shape = replace(at.shape, first_kept=first_kept, summary="A summary.")
    record = record_of(at.question, shape, at.view, before=1, reason=Reason.THRESHOLD)
    assert record.prefix_digest == prefix_digest(at.question.request, first_kept)
    return record


def sizes() -> list[int]:
    return [message.tokens for message in stands().question.request.messages]


@pytest.mark.parametrize("count", [1, 3, 5])
def test_usage_is_laid_against_the_messages_that_it_covered(count: int) -> None:
    estimated = FIXED + sum(sizes()[:count])
    assert anchor.of_usage(stands(), ObservedUsage(count, estimated + 7)) == (estimated + 7, estimated)


@pytest.mark.parametrize(
    "usage", [None, ObservedUsage(0, 500), ObservedUsage(-1, 500), ObservedUsage(6, 500), ObservedUsage(3, 500, 1)]
)
def test_usage_of_something_else_anchors_nothing(usage: ObservedUsage | None) -> None:
    at = stands()
    assert anchor.of_usage(at, usage) is None
    assert anchor.of_raw_usage(at.question.request, FIXED, usage) is None


@pytest.mark.parametrize("tokens", [-1, 0, 1, 10**9])
def test_usage_beyond_belief_anchors_nothing(tokens: int) -> None:
    at = stands()
    assert anchor.of_usage(at, ObservedUsage(5, tokens)) is None
    assert anchor.of_raw_usage(at.question.request, FIXED, ObservedUsage(5, tokens)) is None


def test_usage_under_a_record_covers_the_summary_and_what_is_kept() -> None:
    at = stands(record=recorded(2))
    estimated = FIXED + at.view.messages[0].tokens + sum(sizes()[2:4])
    assert anchor.of_usage(at, ObservedUsage(4, estimated, 1)) == (estimated, estimated)


@pytest.mark.parametrize("usage", [ObservedUsage(4, 500), ObservedUsage(4, 500, 2), ObservedUsage(2, 500, 1)])
def test_usage_from_before_the_record_anchors_nothing(usage: ObservedUsage) -> None:
    assert anchor.of_usage(stands(record=recorded(2)), usage) is None


def test_usage_under_a_stale_record_anchors_nothing() -> None:
    stale = replace(recorded(2), prefix_digest=b"\0" * 32)
    assert anchor.of_usage(stands(record=stale), ObservedUsage(4, 500, 1)) is None


def test_usage_of_nothing_but_the_prompt_anchors_nothing() -> None:
    source = openai_log({"role": "system", "content": "s"}, {"role": "user", "content": "one " * 90})
    at = stands(source)
    assert at.question.request.format is Format.OPENAI_CHAT
    assert anchor.of_usage(at, ObservedUsage(1, 60)) is None
    assert anchor.of_usage(at, ObservedUsage(2, at.estimate)) == (at.estimate, at.estimate)


@pytest.mark.parametrize("reason", [Reason.OVERFLOW, Reason.TRUNCATE])
def test_refused_size_is_that_of_the_whole_view(reason: Reason) -> None:
    at = stands(reason=reason)
    assert anchor.of_overflow(at, ObservedOverflow(at.estimate * 2)) == (at.estimate * 2, at.estimate)
    assert anchor.of_overflow(at, ObservedOverflow()) is None
    assert anchor.of_overflow(at, None) is None


@pytest.mark.parametrize("reason", [Reason.UNSPECIFIED, Reason.TOOL])
def test_refusal_means_nothing_where_nothing_was_refused(reason: Reason) -> None:
    at = stands(reason=reason)
    assert anchor.of_overflow(at, ObservedOverflow(at.estimate * 2)) is None
