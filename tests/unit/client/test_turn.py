"""The ladder of a session's model calls, over a service and a provider that follow a script; waiting and awaiting."""

from __future__ import annotations

import asyncio
import copy
import json
import logging
from types import SimpleNamespace
from typing import Any

import grpc
import pytest

from hango.compaction import (
    AsyncClient,
    AsyncSession,
    Client,
    Compaction,
    CompactionError,
    ContextOverflow,
    Conversation,
    InvalidSessionId,
    NotServed,
    ObservedOverflow,
    ObservedUsage,
    Session,
    Usage,
    WindowTooSmall,
    compaction_of,
)
from hango.compaction.v1 import conversation_pb2
from tests.builders.turns import (
    AS_IT_IS,
    BODY,
    KINDS,
    LADDER,
    REPLY,
    TOO_LONG,
    AsyncService,
    Awaiting,
    Kind,
    Provider,
    Service,
    Store,
    Waiting,
    answer,
    awaited,
)

FULL = {"stop_reason": "model_context_window_exceeded", "usage": {"input_tokens": 199, "output_tokens": 1}}


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> Kind:
    found: Kind = request.param
    return found


def test_a_call_is_compacted_and_sent(kind: Kind) -> None:
    service, provider = Service(LADDER[0]), Provider(REPLY)
    raw = copy.deepcopy(BODY)
    made = kind(service, policy={"trigger_fraction": 0.5}, stable_system_count=1)
    result = made.run(raw, provider, turn_id="t1")
    [call] = service.calls
    assert (call.session_id, call.turn_id, call.stable_system_count) == ("tour", "t1", 1)
    assert call.policy.trigger_fraction == 0.5
    assert service.reasons == ["UNSPECIFIED"]
    assert not call.HasField("previous_compaction")
    assert not call.HasField("last_usage")
    assert not call.HasField("overflow")
    [request] = provider.requests
    assert [message["content"] for message in request["messages"]][1:] == ["Mend it."]
    assert raw == BODY
    assert result.reply is REPLY
    assert result.record == made.session.record == LADDER[0].compaction
    assert result.compaction.request is request
    assert (result.degraded, result.overflow_count, result.usage) == (None, 0, Usage(100, 5, 60))


def test_the_request_comes_in_the_form_of_the_body(kind: Kind) -> None:
    conversation = Conversation(model="m", messages=[conversation_pb2.Message(role=conversation_pb2.ROLE_USER)])
    for body, form in ((BODY, dict), (json.dumps(BODY).encode(), bytes), (conversation, Conversation)):
        provider = Provider(REPLY)
        kind(Service(AS_IT_IS)).run(body, provider)
        assert type(provider.requests[0]) is form
        assert provider.requests[0] is not body


def test_an_overflow_is_compacted_and_sent_again(kind: Kind) -> None:
    service, provider = Service(*LADDER[:2]), Provider(RuntimeError(TOO_LONG), REPLY)
    result = kind(service).run(BODY, provider)
    assert service.reasons == ["UNSPECIFIED", "OVERFLOW"]
    assert service.calls[1].overflow == ObservedOverflow(actual_input_tokens=210_000, max_input_tokens=200_000)
    assert result.reply is REPLY
    assert result.overflow_count == 1
    assert result.record.sequence == 2


def test_a_second_overflow_is_truncated_and_sent_again(kind: Kind) -> None:
    service = Service(*LADDER)
    provider = Provider(RuntimeError(TOO_LONG), RuntimeError("exceeds the context window"), REPLY)
    result = kind(service).run(BODY, provider)
    assert service.reasons == ["UNSPECIFIED", "OVERFLOW", "TRUNCATE"]
    assert not service.calls[2].HasField("overflow")
    assert [call.previous_compaction.sequence for call in service.calls] == [0, 1, 2]
    assert len({call.turn_id for call in service.calls}) == 1
    assert service.calls[0].turn_id
    assert [call.native.body for call in service.calls] == [service.calls[0].native.body] * 3
    assert (result.overflow_count, result.record.sequence) == (2, 3)


def test_a_third_overflow_is_the_providers_own_exception_with_the_record(kind: Kind) -> None:
    errors = [RuntimeError(TOO_LONG) for _ in range(3)]
    made = kind(Service(*LADDER))
    with pytest.raises(RuntimeError) as caught:
        made.run(BODY, Provider(*errors))
    assert caught.value is errors[2]
    assert compaction_of(caught.value) == made.session.record == LADDER[2].compaction
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None


@pytest.mark.parametrize(
    "full",
    [
        FULL,
        SimpleNamespace(**FULL),
        {"choices": [{"finish_reason": "length"}], "usage": {"prompt_tokens": 9, "completion_tokens": 0}},
    ],
)
def test_a_stop_reason_climbs_the_same_ladder(kind: Kind, full: Any) -> None:
    service = Service(*LADDER)
    made = kind(service)
    with pytest.raises(ContextOverflow, match="window was full") as caught:
        made.run(BODY, Provider(full, full, full))
    assert service.reasons == ["UNSPECIFIED", "OVERFLOW", "TRUNCATE"]
    assert caught.value.reply is full
    assert caught.value.compaction == compaction_of(caught.value) == LADDER[2].compaction
    assert made.session.last_usage is None


def test_the_input_tokens_of_a_full_window_calibrate_the_estimate(kind: Kind) -> None:
    service = Service(*LADDER[:2])
    assert kind(service).run(BODY, Provider(FULL, REPLY)).reply is REPLY
    assert service.calls[1].overflow == ObservedOverflow(actual_input_tokens=199)


def test_a_rung_that_is_no_smaller_is_not_sent(kind: Kind) -> None:
    service = Service(LADDER[0], answer(170, 170, outcome="REUSED"), LADDER[2])
    provider = Provider(RuntimeError(TOO_LONG), REPLY)
    assert kind(service).run(BODY, provider).overflow_count == 1
    assert service.reasons == ["UNSPECIFIED", "OVERFLOW", "TRUNCATE"]
    assert len(provider.requests) == 2


def test_where_nothing_is_smaller_the_call_ends_in_what_was_refused(kind: Kind) -> None:
    service = Service(LADDER[0], answer(170, 170, outcome="REUSED"), answer(170, 170, outcome="REUSED"))
    error = RuntimeError(TOO_LONG)
    with pytest.raises(RuntimeError) as caught:
        kind(service).run(BODY, Provider(error))
    assert caught.value is error
    assert compaction_of(error) == LADDER[0].compaction


@pytest.mark.parametrize(
    "error", [RuntimeError("rate limit"), KeyboardInterrupt(), StopIteration("scripted"), TimeoutError()]
)
def test_any_other_exception_passes_with_the_record(kind: Kind, error: BaseException) -> None:
    if isinstance(error, StopIteration) and kind is Awaiting:
        pytest.skip("a coroutine cannot raise it")
    service = Service(LADDER[0])
    with pytest.raises(type(error)) as caught:
        kind(service).run(BODY, Provider(error))
    assert caught.value is error
    assert compaction_of(error) == LADDER[0].compaction
    assert service.reasons == ["UNSPECIFIED"]


def test_an_exception_that_wraps_one_of_a_session_has_its_record() -> None:
    error = RuntimeError("no")
    with pytest.raises(RuntimeError):
        Waiting(Service(LADDER[0])).run(BODY, Provider(error))
    wrapped = ValueError("the step failed")
    wrapped.__cause__ = error
    assert compaction_of(wrapped) == LADDER[0].compaction
    assert compaction_of(KeyError("another")) is None


def test_a_service_that_gives_nothing_smaller_is_noted_on_the_providers_exception(kind: Kind) -> None:
    too_small = WindowTooSmall("no", code=grpc.StatusCode.FAILED_PRECONDITION, reason="WINDOW_TOO_SMALL")
    error = RuntimeError(TOO_LONG)
    with pytest.raises(RuntimeError) as caught:
        kind(Service(LADDER[0], too_small)).run(BODY, Provider(error))
    assert caught.value is error
    assert error.__notes__ == ["the compaction service gave no smaller request: WindowTooSmall"]


def test_an_interrupt_between_rungs_is_not_taken_for_a_service_that_fails(kind: Kind) -> None:
    with pytest.raises(KeyboardInterrupt):
        kind(Service(LADDER[0], KeyboardInterrupt())).run(BODY, Provider(RuntimeError(TOO_LONG)))


@pytest.mark.parametrize(
    "error",
    [
        WindowTooSmall("no", code=grpc.StatusCode.FAILED_PRECONDITION, reason="WINDOW_TOO_SMALL"),
        InvalidSessionId("no", code=grpc.StatusCode.INVALID_ARGUMENT, reason="INVALID_SESSION_ID"),
        CompactionError("the client was closed", code=grpc.StatusCode.CANCELLED),
    ],
    ids=lambda error: type(error).__name__,
)
def test_what_the_service_says_of_the_request_is_raised(kind: Kind, error: CompactionError) -> None:
    provider = Provider()
    with pytest.raises(CompactionError) as caught:
        kind(Service(error), record=Compaction(sequence=4)).run(BODY, provider)
    assert caught.value is error
    assert compaction_of(error) == Compaction(sequence=4)
    assert not provider.requests


def grown(body: dict[str, Any], *texts: str) -> dict[str, Any]:
    """The log with an answer and a message of the user for each text."""
    added = [{"role": role, "content": text} for text in texts for role in ("assistant", "user")]
    return {**body, "messages": [*body["messages"], *added]}


UNANSWERED = [
    NotServed("connection refused", code=grpc.StatusCode.UNAVAILABLE),
    CompactionError("internal", code=grpc.StatusCode.INTERNAL),
]


@pytest.mark.parametrize("error", UNANSWERED, ids=["unavailable", "internal"])
def test_without_the_service_the_raw_request_goes_out(
    kind: Kind, error: CompactionError, caplog: pytest.LogCaptureFixture
) -> None:
    def spoil(request: Any) -> Any:
        request["messages"].clear()
        return REPLY

    raw, made = copy.deepcopy(BODY), kind(Service(error, AS_IT_IS))
    result = made.run(raw, spoil)
    assert (result.reply, result.degraded, result.compaction, result.record) == (REPLY, error, None, None)
    assert raw == BODY
    assert made.session.last_usage == ObservedUsage(message_count=3, input_tokens=100)
    assert caplog.messages == [f"session tour: a request goes out uncompacted, {type(error).__name__}"]
    assert made.run(raw, Provider(REPLY)).degraded is None


def test_without_the_service_what_the_model_saw_last_goes_out_with_what_is_new(kind: Kind) -> None:
    provider = Provider(REPLY, REPLY, REPLY)
    made = kind(Service(LADDER[0], UNANSWERED[0], answer(110, 110, outcome="REUSED")))
    block = {"type": "text", "text": "Mend it."}
    marked = {"role": "user", "content": [{**block, "cache_control": {"type": "ephemeral"}}]}
    plain = {"role": "user", "content": [block]}
    made.run({**BODY, "messages": [*BODY["messages"][:2], marked]}, provider)
    result = made.run(grown({**BODY, "messages": [*BODY["messages"][:2], plain]}, "Go on."), provider)
    texts = [message["content"] for message in provider.requests[1]["messages"]]
    assert texts == [[{"type": "text", "text": "Summary."}], [{"type": "text", "text": "Mend it."}], "Go on.", "Go on."]
    assert isinstance(result.degraded, NotServed)
    assert made.session.last_usage == ObservedUsage(message_count=5, input_tokens=100, sequence=1)


def test_without_the_service_a_log_that_was_changed_goes_out_raw(kind: Kind) -> None:
    provider = Provider(REPLY, REPLY)
    made = kind(Service(LADDER[0], UNANSWERED[0]))
    made.run(BODY, provider)
    changed = grown({**BODY, "messages": [{"role": "user", "content": "Another."}, *BODY["messages"][1:]]}, "Go on.")
    result = made.run(changed, provider)
    assert provider.requests[1] == changed
    assert result.record == LADDER[0].compaction
    assert made.session.last_usage == ObservedUsage(message_count=3, input_tokens=100, sequence=1)


def test_without_the_service_bytes_stay_bytes_and_prompts_may_change(kind: Kind) -> None:
    def openai(prompt: str, *texts: str) -> bytes:
        messages = [{"role": "user", "content": text} for text in texts]
        return json.dumps(
            {"model": "gpt-5", "messages": [{"role": "system", "content": prompt}, *messages], "n": 1e400}
        ).encode()

    provider = Provider(REPLY, REPLY)
    made = kind(Service(answer(9, 9, outcome="REUSED"), UNANSWERED[0]), format="openai")
    made.run(openai("It is one.", "a").replace(b"Infinity", b"1e400"), provider)
    made.run(openai("It is two.", "a", "b").replace(b"Infinity", b"1e400"), provider)
    sent = provider.requests[1]
    assert b"1e400" in sent
    assert [message["content"] for message in json.loads(sent)["messages"]] == ["It is two.", "a", "b"]


def test_without_the_service_a_conversation_stays_one(kind: Kind) -> None:
    def said(*texts: str) -> Conversation:
        blocks = [conversation_pb2.ContentBlock(text=conversation_pb2.Text(text=text)) for text in texts]
        return Conversation(
            model="m",
            messages=[conversation_pb2.Message(role=conversation_pb2.ROLE_USER, content=[block]) for block in blocks],
        )

    for second, sent in ((said("a", "b"), ["a", "b"]), (said("c"), ["c"])):
        provider = Provider(REPLY, REPLY)
        made = kind(Service(answer(9, 9, outcome="REUSED"), UNANSWERED[0]))
        made.run(said("a"), provider)
        assert isinstance(made.run(second, provider).degraded, NotServed)
        assert [message.content[0].text.text for message in provider.requests[1].messages] == sent


def test_a_session_may_want_the_error_of_a_service_that_is_away(kind: Kind) -> None:
    with pytest.raises(NotServed):
        kind(Service(UNANSWERED[0]), if_not_served="RAISE").run(BODY, Provider())
    with pytest.raises(ValueError, match="SEND or RAISE"):
        kind(Service(), if_not_served="WAIT")


def test_an_overflow_of_what_went_out_without_the_service_is_compacted(kind: Kind) -> None:
    service = Service(UNANSWERED[0], LADDER[1])
    result = kind(service).run(BODY, Provider(RuntimeError(TOO_LONG), REPLY))
    assert (result.degraded, result.overflow_count) == (None, 1)
    error = RuntimeError(TOO_LONG)
    with pytest.raises(RuntimeError) as caught:
        kind(Service(*UNANSWERED)).run(BODY, Provider(error))
    assert caught.value is error


def test_what_was_reported_anchors_the_next_call(kind: Kind) -> None:
    service = Service(AS_IT_IS, LADDER[0], answer(95, 95, outcome="REUSED"), answer(300, 80, sequence=2), AS_IT_IS)
    made = kind(service)
    made.run(BODY, Provider(REPLY))
    made.run(BODY, Provider({"usage": "unreadable"}))
    assert service.calls[1].last_usage == ObservedUsage(message_count=3, input_tokens=100)
    assert made.session.last_usage is None
    made.run(grown(BODY, "Go on."), Provider(REPLY))
    assert not service.calls[2].HasField("last_usage")
    made.run(grown(BODY, "Go on.", "And on."), Provider(SimpleNamespace(usage=SimpleNamespace(prompt_tokens=77))))
    assert service.calls[3].last_usage == ObservedUsage(message_count=5, input_tokens=100, sequence=1)
    assert made.session.last_usage == ObservedUsage(message_count=7, input_tokens=77, sequence=2)


def test_usage_from_before_a_compaction_is_dropped_even_where_its_reply_failed(kind: Kind) -> None:
    made = kind(Service(LADDER[0]), last_usage=ObservedUsage(message_count=3, input_tokens=9))
    with pytest.raises(RuntimeError):
        made.run(BODY, Provider(RuntimeError("rate limit")))
    assert made.session.last_usage is None


def test_a_session_goes_on_from_what_was_stored(kind: Kind) -> None:
    service = Service(answer(95, 95, outcome="REUSED", sequence=6))
    usage = ObservedUsage(message_count=2, input_tokens=9, sequence=6)
    kind(service, record=Compaction(sequence=6), last_usage=usage).run(BODY, Provider(REPLY))
    assert service.calls[0].previous_compaction == Compaction(sequence=6)
    assert service.calls[0].last_usage == usage


def test_a_record_that_was_dropped_is_not_sent_again(kind: Kind) -> None:
    service = Service(AS_IT_IS, AS_IT_IS)
    made = kind(service, record=Compaction(sequence=6))
    assert made.run(BODY, Provider(REPLY)).record is None
    made.run(BODY, Provider(REPLY))
    assert not service.calls[1].HasField("previous_compaction")


def test_a_compaction_that_the_model_asked_for_is_made_once(kind: Kind) -> None:
    service = Service(answer(90, 50, reason="TOOL"), answer(55, 55, outcome="REUSED"))
    made = kind(service)
    texts = {made.session.request_compaction(), made.session.request_compaction()}
    assert len(texts) == 1
    made.run(BODY, Provider(REPLY))
    made.run(BODY, Provider(REPLY))
    assert service.reasons == ["TOOL", "UNSPECIFIED"]


def test_the_models_wish_stands_until_the_service_has_compacted_for_it(kind: Kind) -> None:
    service = Service(UNANSWERED[0], NotServed("no", code=grpc.StatusCode.UNAVAILABLE), answer(90, 50, reason="TOOL"))
    made = kind(service)
    made.session.request_compaction()
    made.run(BODY, Provider(REPLY))
    with pytest.raises(RuntimeError):
        made.run(BODY, Provider(RuntimeError("rate limit")))
    made.run(BODY, Provider(REPLY))
    assert service.reasons == ["TOOL", "TOOL", "TOOL"]


def test_a_model_call_that_fails_after_the_compaction_does_not_have_it_made_again(kind: Kind) -> None:
    service = Service(answer(90, 50, reason="TOOL"), answer(50, 50, outcome="REUSED"))
    made = kind(service)
    made.session.request_compaction()
    with pytest.raises(RuntimeError):
        made.run(BODY, Provider(RuntimeError("rate limit")))
    made.run(BODY, Provider(REPLY))
    assert service.reasons == ["TOOL", "UNSPECIFIED"]
    assert service.calls[1].previous_compaction.sequence == 1


def test_counters_are_written_once_a_turn_whatever_was_retried(kind: Kind) -> None:
    store = Store()
    service = Service(
        *LADDER, answer(80, 80, sequence=3, outcome="REUSED"), answer(95, 95, sequence=3, outcome="REUSED")
    )
    made = kind(service, store=store)
    retried = Provider(RuntimeError(TOO_LONG), RuntimeError(TOO_LONG), REPLY)
    second = Provider({"usage": {"prompt_tokens": 77, "completion_tokens": 1}})
    made.turn((BODY, retried), (grown(BODY, "Go on."), second))
    assert store.rows == [("tour", 77, 3)]
    assert len({call.turn_id for call in service.calls}) == 1
    made.run(BODY, Provider(REPLY))
    assert store.rows[1:] == [("tour", 100, 0)]
    assert service.calls[-1].turn_id != service.calls[0].turn_id


def test_a_turn_that_fails_writes_what_it_came_to(kind: Kind) -> None:
    store = Store()
    with pytest.raises(RuntimeError):
        kind(Service(*LADDER), store=store).run(BODY, Provider(*[RuntimeError(TOO_LONG) for _ in range(3)]))
    assert store.rows == [("tour", 60, 3)]
    made = kind(Service(AS_IT_IS, LADDER[0]), store=store)
    with pytest.raises(RuntimeError):
        made.turn((BODY, Provider(REPLY)), (BODY, Provider(RuntimeError("rate limit"))))
    assert store.rows[1:] == [("tour", 100, 1)]


def test_a_turn_without_an_answer_and_without_a_compaction_writes_nothing(kind: Kind) -> None:
    store = Store()
    with pytest.raises(RuntimeError):
        kind(Service(AS_IT_IS), store=store).run(BODY, Provider(RuntimeError("rate limit")))
    kind(Service(UNANSWERED[0]), store=store).run(BODY, Provider("unreadable"))
    kind(Service(), store=store).turn()
    assert store.rows == []


def test_a_reply_without_usage_counts_as_the_service_did(kind: Kind) -> None:
    store = Store()
    kind(Service(LADDER[0]), store=store).run(BODY, Provider("unreadable"))
    assert store.rows == [("tour", 170, 1)]


def test_a_store_that_fails_loses_neither_the_reply_nor_the_count(kind: Kind, caplog: pytest.LogCaptureFixture) -> None:
    store = Store()
    made = kind(Service(LADDER[0], LADDER[1], AS_IT_IS), store=store)
    store.is_down = True
    assert made.run(BODY, Provider(REPLY)).reply is REPLY
    assert caplog.messages == ["session tour: the turn's counters were not written"]
    assert caplog.records[0].levelno == logging.ERROR
    store.is_down = False
    made.run(BODY, Provider(REPLY))
    made.run(BODY, Provider(REPLY))
    assert store.rows == [("tour", 100, 2), ("tour", 100, 0)]


def test_a_session_makes_one_call_at_a_time() -> None:
    session = Session(Client(Service(AS_IT_IS, AS_IT_IS)), "tour")
    with pytest.raises(RuntimeError, match="one call at a time"):
        session.run(BODY, lambda request: session.run(request, lambda inner: inner))
    assert session.run(BODY, lambda request: request["model"]).reply == "claude-haiku-4-5"


def test_a_turn_that_is_over_makes_no_calls() -> None:
    session = Session(Client(Service()), "tour")
    with session.turn("t7") as turn:
        assert turn.turn_id == "t7"
    with pytest.raises(RuntimeError, match="over"):
        turn.call(BODY, lambda request: request)


def test_a_policy_that_cannot_be_written_is_refused_at_once() -> None:
    with pytest.raises(ValueError, match="no field"):
        Session(Client(Service()), "tour", policy={"trigger": 1})


def test_a_call_that_is_cancelled_passes_and_writes_its_turn() -> None:
    store = Store()
    session = AsyncSession(AsyncClient(AsyncService(Service(LADDER[0], AS_IT_IS))), "tour", store=store)

    async def silent(request: Any) -> Any:
        await asyncio.sleep(60)

    async def run() -> None:
        task = asyncio.create_task(session.run(BODY, silent))
        await asyncio.sleep(0.05)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert (await session.run(BODY, awaited(lambda request: REPLY))).reply is REPLY

    asyncio.run(run())
    assert store.rows == [("tour", 170, 1), ("tour", 100, 0)]


class Block:
    """As a content block of an SDK."""

    def to_dict(self, *, mode: str, exclude_unset: bool) -> dict[str, str]:
        assert (mode, exclude_unset) == ("json", True)
        return {"type": "text", "text": "It drops a row."}


class Model:
    """As a message of pydantic's."""

    def model_dump(self, *, mode: str, exclude_unset: bool) -> dict[str, str]:
        return {"role": "user", "content": "Mend it."}


@pytest.mark.parametrize("half", ["", "\ud83d"])
def test_objects_of_an_sdk_in_a_body_are_written_as_it_would(kind: Kind, half: str) -> None:
    first = {"role": "user", "content": f"Look.{half}"}
    service, provider = Service(AS_IT_IS), Provider(REPLY)
    body = {**BODY, "messages": [first, {"role": "assistant", "content": [Block()]}, Model()]}
    kind(service).run(body, provider)
    sent = [
        first,
        {"role": "assistant", "content": [Block().to_dict(mode="json", exclude_unset=True)]},
        BODY["messages"][2],
    ]
    assert json.loads(service.calls[0].native.body)["messages"] == sent
    assert provider.requests[0]["messages"] == sent


def test_what_cannot_be_written_is_named(kind: Kind) -> None:
    with pytest.raises(TypeError, match="type object"):
        kind(Service()).run({**BODY, "messages": [object()]}, Provider())


def test_without_the_service_a_record_of_another_view_sends_the_raw_log(kind: Kind) -> None:
    provider = Provider(REPLY, REPLY)
    made = kind(Service(LADDER[0], UNANSWERED[0]))
    made.run(BODY, provider)
    made.session.record = Compaction(sequence=1, summary="Another.")
    made.run(grown(BODY, "Go on."), provider)
    assert provider.requests[1] == grown(BODY, "Go on.")
