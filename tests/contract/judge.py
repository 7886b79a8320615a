"""Runs a case over a transport and holds every answer against what the case expects and what always has to hold."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from google.rpc import code_pb2, error_details_pb2, status_pb2

from hango.compaction.testing.v1 import contract_case_pb2 as case_pb
from hango.compaction.v1 import compaction_pb2, compaction_service_pb2, errors_pb2
from hango.compaction.v1 import compaction_service_pb2 as pb
from tests.builders import edits
from tests.contract import results
from tests.contract.case_file import CaseError, body_bytes, format_of
from tests.contract.transports import Refused, Transport

DOMAIN = "hango.compaction.v1"
REASONS = frozenset(value.name for value in errors_pb2.ErrorReason.DESCRIPTOR.values)
CODES = {
    "WINDOW_TOO_SMALL": code_pb2.FAILED_PRECONDITION,
    "FIELD_NOT_SUPPORTED": code_pb2.UNIMPLEMENTED,
    "PROVIDER_UNAVAILABLE": code_pb2.UNAVAILABLE,
    "PROVIDER_TIMEOUT": code_pb2.DEADLINE_EXCEEDED,
    "PROVIDER_RATE_LIMITED": code_pb2.RESOURCE_EXHAUSTED,
    "SUMMARY_REJECTED": code_pb2.FAILED_PRECONDITION,
    "OVERLOADED": code_pb2.RESOURCE_EXHAUSTED,
    "REQUEST_TOO_LARGE": code_pb2.RESOURCE_EXHAUSTED,
    "UNAUTHENTICATED": code_pb2.UNAUTHENTICATED,
}
"""The codes of the reasons that are not INVALID_ARGUMENT."""

_ERROR = {"error_reason", "error_metadata", "error_metadata_names", "error_lacks"}
_ANY = {"notices", "absent_notices", "no_other_notices"}
_COUNTED = {"input_tokens", "available_tokens", "token_count_source", "more_tokens_than_step", "same_tokens_as_step"}
_APPLIES = {
    "summarize": {*_ANY, "summary_contains", "summary_lacks", "retained_instructions"},
    "count_tokens": {*_ANY, *_COUNTED, "media_tokens", "trigger_input_tokens", "max_input_tokens"},
    "compact": {field.name for field in case_pb.Expectation.DESCRIPTOR.fields}
    - {*_ERROR, "media_tokens", "trigger_input_tokens", "max_input_tokens"},
}


class Judge:
    """Runs one case. What earlier steps answered is kept for later ones to refer to."""

    def __init__(self, case: case_pb.ContractCase, transport: Transport) -> None:
        self._case = case
        self._transport = transport
        self._requests: list[Any] = []
        self._answers: list[Any] = []
        self._results: list[results.Parts | None] = []

    def run(self) -> None:
        """Raises AssertionError for what does not hold, CaseError for a case that makes no sense."""
        for at, step in enumerate(self._case.steps):
            try:
                self._step(at, step)
            except AssertionError as error:
                raise AssertionError(f"step {at}: {error}") from error

    def _step(self, at: int, step: case_pb.Step) -> None:
        kind = step.WhichOneof("call") or ""
        request = self._request(at, step)
        applies = _ERROR if step.expect.error_reason else _APPLIES[kind]
        set_fields = {field.name for field, _ in step.expect.ListFields()}
        if unread := set_fields - applies:
            raise CaseError(f"step {at}: {sorted(unread)} say nothing about this call")
        self._requests.append(request)
        try:
            answer = getattr(self._transport, kind)(request)
        except Refused as refused:
            self._answers.append(None)
            self._results.append(None)
            _check_error(refused.status, step.expect, self._transport.history_root)
            return
        assert not step.expect.error_reason, f"no {step.expect.error_reason}, but an answer"
        self._answers.append(answer)
        _check_notices(answer.notices, step.expect)
        match kind:
            case "compact":
                parts = self._always(request, answer)
                self._results.append(parts)
                self._check_compact(at, step.expect, parts)
            case "summarize":
                self._results.append(None)
                _check_summary(answer, step.expect)
            case _:
                self._results.append(None)
                self._check_count(at, answer, step.expect)

    def _request(self, at: int, step: case_pb.Step) -> Any:
        kind = step.WhichOneof("call") or ""
        request = type(getattr(step, kind))()
        request.CopyFrom(getattr(step, kind))
        if step.HasField("body"):
            self._fill_source(at, step.body, request)
        if step.HasField("record_of_step"):
            record = compaction_pb2.Compaction()
            record.CopyFrom(self._answers[step.record_of_step].compaction)
            if not record.sequence:
                raise CaseError(f"step {step.record_of_step} has no record")
            for field, _ in request.previous_compaction.ListFields():
                record.ClearField(field.name)  # type: ignore[arg-type]
            record.MergeFrom(request.previous_compaction)
            request.previous_compaction.CopyFrom(record)
        return request

    def _fill_source(self, at: int, body: case_pb.Body, request: Any) -> None:
        content = body.WhichOneof("content")
        if content == "result_of_step":
            _set_source(request, _result_of(self._requests[body.result_of_step], self._answers[body.result_of_step]))
        elif content == "continued" and self._requests[body.continued.step].WhichOneof("source") == "conversation":
            request.conversation.CopyFrom(self._requests[body.continued.step].conversation)
        else:
            request.native.format = format_of(self._case, at)
            request.native.body = body_bytes(self._case, at)

    def _always(self, request: pb.CompactRequest, response: pb.CompactResponse) -> results.Parts:
        """What has to hold of every successful Compact call; gives its result."""
        source, result = results.parts_of(_source_of(request)), results.parts_of(_result_of(request, response))
        results.check(source, result, response, request.policy)
        _check_outcome(request, response, source, result)
        self._check_tokens(request, response)
        history = _files(self._transport.history_root)
        for name, again in _repetitions(request, response):
            answer = self._transport.compact(again)
            same = results.parts_of(_result_of(again, answer))
            assert same.spelling == result.spelling, f"{name} gives other bytes"
            if again.previous_compaction == request.previous_compaction:
                assert answer.compaction == response.compaction, f"{name} gives another record"
                assert answer.notices == response.notices, f"{name} gives other notices"
                assert answer.outcome == response.outcome, f"{name} has another outcome"
            else:
                assert answer.compaction == response.compaction, f"{name} does not leave the record in force"
        assert _files(self._transport.history_root) == history, "a repetition has written to the history"
        return result

    def _check_tokens(self, request: pb.CompactRequest, response: pb.CompactResponse) -> None:
        """The result is counted as it would be if it were sent, and fits the window."""
        count = pb.CountTokensRequest(policy=request.policy)
        _set_source(count, _result_of(request, response))
        counted = self._transport.count_tokens(count)
        ratio = response.compaction.estimate_ratio
        if ratio or response.token_count_source == pb.TOKEN_COUNT_SOURCE_ANCHORED:
            scaled = counted.input_tokens * (ratio or response.compacted_input_tokens / counted.input_tokens)
            assert abs(scaled - response.compacted_input_tokens) <= 1, "the result is not what its ratio says"
            return
        assert counted.input_tokens == response.compacted_input_tokens, (
            f"the result has {counted.input_tokens} tokens, not {response.compacted_input_tokens}"
        )
        assert counted.available_input_tokens == response.available_input_tokens, "the room left is another"
        assert counted.token_count_source == response.token_count_source, "the result was counted in another way"
        codes = {notice.code for notice in response.notices}
        if compaction_pb2.NOTICE_CODE_FIXED_COST_EXCEEDS_BUDGET not in codes:
            assert response.compacted_input_tokens <= counted.max_input_tokens, "the result is larger than the window"
        is_repaired = compaction_pb2.NOTICE_CODE_REQUEST_REPAIRED in codes
        if not request.HasField("previous_compaction") and not is_repaired:
            _set_source(count, _source_of(request))
            original = self._transport.count_tokens(count).input_tokens
            assert original == response.original_input_tokens, "the source was counted in two ways"

    def _check_compact(self, at: int, expect: case_pb.Expectation, result: results.Parts) -> None:
        request, response = self._requests[at], self._answers[at]
        source, record = results.parts_of(_source_of(request)), response.compaction
        if expect.outcome:
            _equal("the outcome", response.outcome, expect.outcome, compaction_service_pb2.Outcome)
        if expect.HasField("reason"):
            _equal("the reason", response.reason, expect.reason, compaction_pb2.CompactionReason)
        if expect.unchanged:
            assert result.spelling == source.spelling, "the result is not the source"
        if expect.HasField("same_as_step"):
            other = self._results[expect.same_as_step]
            assert other is not None, "the other step has no result"
            assert result.spelling == other.spelling, f"the result is not that of step {expect.same_as_step}"
        _check_stand(expect, source, result, record)
        _check_texts("result", result.strings, expect.contains, expect.lacks)
        for text in expect.spelled:
            assert text.encode() in result.spelling, f"{text!r} is not in the result as it is spelled"
        broken = set(result.violations)
        assert broken == set(expect.tolerated_violations), f"the result breaks {sorted(broken)}"
        _check_record(expect, response)
        _check_points(expect, response, result)
        _check_history(expect, response.history)
        _check_texts("summary", [record.summary], expect.summary_contains, expect.summary_lacks)
        _check_retained(expect.retained_instructions, response.retained)
        _within("the result's tokens", response.compacted_input_tokens, expect, "compacted_tokens")
        if expect.HasField("compacted_below_step"):
            other = self._answers[expect.compacted_below_step].compacted_input_tokens
            assert response.compacted_input_tokens < other, f"{response.compacted_input_tokens} is not below {other}"
        self._check_counted(expect, response.original_input_tokens, response)

    def _check_count(self, at: int, answer: pb.CountTokensResponse, expect: case_pb.Expectation) -> None:
        parts = answer.breakdown
        total = parts.system + parts.tools + parts.messages + parts.media
        assert total == answer.input_tokens, f"the parts add up to {total}, not to {answer.input_tokens}"
        assert min(parts.system, parts.tools, parts.messages, parts.media) >= 0, "a part is negative"
        assert answer.margin >= 1, "the margin is below 1"
        assert answer.trigger_input_tokens <= answer.max_input_tokens, "the trigger is above the window"
        _within("the media's tokens", parts.media, expect, "media_tokens")
        for name in ("trigger_input_tokens", "max_input_tokens"):
            if expect.HasField(name):  # type: ignore[arg-type]
                assert getattr(answer, name) == getattr(expect, name), f"{name} is {getattr(answer, name)}"
        self._check_counted(expect, answer.input_tokens, answer)

    def _check_counted(self, expect: case_pb.Expectation, tokens: int, answer: Any) -> None:
        _within("the tokens", tokens, expect, "input_tokens")
        _within("the room", answer.available_input_tokens, expect, "available_tokens")
        if expect.token_count_source:
            source = compaction_service_pb2.TokenCountSource
            _equal("the way of counting", answer.token_count_source, expect.token_count_source, source)
        if expect.HasField("more_tokens_than_step"):
            other = _tokens_of(self._answers[expect.more_tokens_than_step])
            assert tokens > other, f"{tokens} tokens are not more than the {other} of the other step"
        if expect.HasField("same_tokens_as_step"):
            other = _tokens_of(self._answers[expect.same_tokens_as_step])
            assert tokens == other, f"{tokens} tokens are not the {other} of the other step"


def _source_of(request: Any) -> Any:
    return getattr(request, request.WhichOneof("source"))


def _set_source(request: Any, source: Any) -> None:
    getattr(request, "native" if source.DESCRIPTOR.name == "NativePayload" else "conversation").CopyFrom(source)


def _result_of(request: pb.CompactRequest, response: pb.CompactResponse) -> Any:
    """The result in the arm of the source; in EDITS mode, by applying them."""
    is_typed = request.WhichOneof("source") == "conversation"
    if request.result_mode == pb.RESULT_MODE_EDITS:
        assert response.WhichOneof("result") is None, "there is a result beside the edits"
        if is_typed:
            return edits.to_conversation(request.conversation, response.edits)
        body = edits.to_body(request.native.body, response.edits)
        return type(request.native)(format=request.native.format, body=body)
    assert response.WhichOneof("result") == request.WhichOneof("source"), "the result is not in the arm of the source"
    assert not response.edits, "there are edits beside the result"
    if not is_typed:
        assert response.native.format == request.native.format, "the result has another format"
    return getattr(response, response.WhichOneof("result"))  # type: ignore[arg-type]


def _repetitions(request: pb.CompactRequest, response: pb.CompactResponse) -> list[tuple[str, pb.CompactRequest]]:
    """The calls that have to give the same bytes again."""
    again, other_mode, with_record = pb.CompactRequest(), pb.CompactRequest(), pb.CompactRequest()
    for copy in (again, other_mode, with_record):
        copy.CopyFrom(request)
    is_edits = request.result_mode == pb.RESULT_MODE_EDITS
    other_mode.result_mode = pb.RESULT_MODE_FULL if is_edits else pb.RESULT_MODE_EDITS
    found = [("the call again", again), ("the other result mode", other_mode)]
    if response.HasField("compaction"):
        with_record.previous_compaction.CopyFrom(response.compaction)
        if not request.turn_id:
            with_record.reason = compaction_pb2.COMPACTION_REASON_UNSPECIFIED
        found.append(("the record that came back", with_record))
    return found


def _check_outcome(
    request: pb.CompactRequest, response: pb.CompactResponse, source: results.Parts, result: results.Parts
) -> None:
    """Outcome, reason, record and numbers tell the same story."""
    has_acted = response.outcome not in (pb.OUTCOME_UNCHANGED, pb.OUTCOME_REUSED)
    assert response.outcome, "there is no outcome"
    assert bool(response.reason) == has_acted, "the reason is not that of something done"
    if response.outcome == pb.OUTCOME_UNCHANGED:
        assert not response.HasField("compaction"), "a raw request that is sent as it is has a record"
    else:
        assert response.compaction.sequence >= 1, "there is no record"
    if not has_acted:
        assert response.compacted_input_tokens == response.original_input_tokens, (
            "the tokens of an unchanged view differ"
        )
        assert not response.evicted_message_count, "an unchanged view has evicted messages"
        assert not response.HasField("history"), "an unchanged view has written history"
    if response.evicted_message_count:
        assert response.HasField("history"), "nothing is said of the evicted originals"
        assert response.history.status, "nothing is said of the evicted originals"
    else:
        assert not response.HasField("history"), "nothing was evicted, yet there is a history"
    if request.explain:
        assert len(response.explanation.messages) == len(source.messages), "not every message is explained"
        assert response.explanation.boundary_note, "the boundary is not explained"
    else:
        assert not response.HasField("explanation"), "nobody asked for an explanation"
    assert result.messages, "the result has no messages"


def _check_error(status: status_pb2.Status, expect: case_pb.Expectation, history_root: Path) -> None:
    infos = _details(status, error_details_pb2.ErrorInfo)
    assert len(infos) == 1, f"the error has {len(infos)} ErrorInfo: {status.message}"
    info = infos[0]
    assert info.domain == DOMAIN, f"the domain is {info.domain}"
    assert f"ERROR_REASON_{info.reason}" in REASONS, f"unknown reason {info.reason}"
    assert status.code == CODES.get(info.reason, code_pb2.INVALID_ARGUMENT), f"{info.reason} under code {status.code}"
    said = f"{info.reason}: {status.message}"
    assert expect.error_reason, f"an error instead of an answer: {said}"
    assert info.reason == expect.error_reason, f"not {expect.error_reason} but {said}"
    if status.code == code_pb2.INVALID_ARGUMENT:
        violations = [field for bad in _details(status, error_details_pb2.BadRequest) for field in bad.field_violations]
        assert any(violation.field for violation in violations), "no BadRequest names the field"
    for name, value in expect.error_metadata.items():
        assert info.metadata.get(name) == value, f"metadata {name} is {info.metadata.get(name)!r}: {said}"
    for name in expect.error_metadata_names:
        assert info.metadata.get(name), f"there is no metadata {name}: {said}"
    text = "\n".join([status.message, *info.metadata.values()])
    for inside in ("Traceback", str(history_root), *expect.error_lacks):
        assert inside not in text, f"the error says {inside!r}"


def _details(status: status_pb2.Status, kind: type[Any]) -> list[Any]:
    found = []
    for detail in status.details:
        if detail.Is(kind.DESCRIPTOR):
            value = kind()
            detail.Unpack(value)
            found.append(value)
    return found


def _check_notices(notices: Sequence[compaction_pb2.Notice], expect: case_pb.Expectation) -> None:
    name = compaction_pb2.NoticeCode.Name
    found = {name(notice.code) for notice in notices}
    wanted = {name(code) for code in expect.notices}
    assert wanted <= found, f"{wanted - found} is missing among {found}"
    unwanted = found & {name(code) for code in expect.absent_notices}
    if expect.no_other_notices:
        unwanted |= found - wanted
    assert not unwanted, f"{unwanted} should not be there"
    for notice in notices:
        assert notice.detail, "a notice says nothing"


def _check_stand(
    expect: case_pb.Expectation, source: results.Parts, result: results.Parts, record: compaction_pb2.Compaction
) -> None:
    """Where raw messages stand in the result."""
    spelled = [results.spelling_of(message) for message in result.messages]
    at = 0
    for index in expect.kept:
        raw = results.spelling_of(source.messages[index])
        assert raw in spelled[at:], f"messages[{index}] is not kept"
        at = spelled.index(raw, at) + 1
    for index in expect.gone:
        assert results.spelling_of(source.messages[index]) not in spelled, f"messages[{index}] is not gone"
    for index in expect.clipped:
        position = index - len(source.messages) + len(result.messages)
        new, old = result.messages[position], source.messages[index]
        assert results.spelling_of(new) != results.spelling_of(old), f"messages[{index}] is not clipped"
        place = f"messages[{index}]"
        results.assert_lighter(source.decoded(old), result.decoded(new), record, index, place)
    if expect.HasField("message_count"):
        count = len(result.messages)
        assert count == expect.message_count, f"the result has {count} messages"


def _check_record(expect: case_pb.Expectation, response: pb.CompactResponse) -> None:
    record = response.compaction
    if expect.HasField("has_record"):
        assert response.HasField("compaction") == expect.has_record, "a record is there or not there"
    for name in ("sequence", "first_kept_index"):
        if expect.HasField(name):  # type: ignore[arg-type]
            assert getattr(record, name) == getattr(expect, name), f"{name} is {getattr(record, name)}"
    for name in ("evicted_message_count", "clipped_value_count"):
        if expect.HasField(name):  # type: ignore[arg-type]
            assert getattr(response, name) == getattr(expect, name), f"{name} is {getattr(response, name)}"
    if expect.HasField("wanted_first_kept_index"):
        wanted = response.explanation.wanted_first_kept_index
        assert wanted == expect.wanted_first_kept_index, f"the wanted index is {wanted}"


def _check_points(expect: case_pb.Expectation, response: pb.CompactResponse, result: results.Parts) -> None:
    if expect.breakpoints or expect.no_breakpoints:
        found = [(point.target, point.index) for point in response.breakpoints]
        wanted = [(point.target, point.index) for point in expect.breakpoints]
        assert found == wanted, f"the breakpoints are {found}"
    if expect.breakpoint_ttl:
        assert response.breakpoints, "no breakpoint was set"
    for point in response.breakpoints if expect.breakpoint_ttl else ():
        is_system = point.target == compaction_pb2.BREAKPOINT_TARGET_SYSTEM
        element = (result.system if is_system else result.messages)[point.index]
        lives = ["1h" if "1h" in str(mark) else "5m" for mark in _marks(result.decoded(element))]
        assert lives[-1] == expect.breakpoint_ttl, f"a breakpoint lives {lives[-1]}"


def _marks(value: Any) -> list[Any]:
    found = []
    for item in value:
        if isinstance(item, tuple) and len(item) == 2 and item[0] == "cache_control":
            found.append(item[1])
        elif isinstance(item, list | tuple):
            found += _marks(item)
    return found


def _check_history(expect: case_pb.Expectation, history: compaction_pb2.History) -> None:
    if expect.HasField("history_status"):
        _equal("the history", history.status, expect.history_status, compaction_pb2.HistoryStatus)
    handed_back = (compaction_pb2.HISTORY_STATUS_RETURNED, compaction_pb2.HISTORY_STATUS_FAILED)
    assert bool(history.markdown) == (history.status in handed_back), "the segment is handed back, or is not"
    assert bool(history.path) == (history.status == compaction_pb2.HISTORY_STATUS_STORED), "there is a path, or is none"
    _check_texts("history", [history.markdown], expect.history_contains, expect.history_lacks)


def _check_summary(answer: pb.SummarizeResponse, expect: case_pb.Expectation) -> None:
    assert answer.summary_source, "nobody has written the summary"
    assert answer.summary.strip(), "the summary is empty"
    _check_texts("summary", [answer.summary], expect.summary_contains, expect.summary_lacks)
    _check_retained(expect.retained_instructions, answer.retained)


def _check_retained(wanted: Sequence[str], retained: compaction_pb2.Retained) -> None:
    for text in wanted:
        assert any(text in kept for kept in retained.instructions), f"{text!r} is no standing instruction that was kept"


def _check_texts(where: str, texts: Sequence[str], contains: Sequence[str], lacks: Sequence[str]) -> None:
    for text in contains:
        assert any(text in found for found in texts), f"{text[:200]!r} is not in the {where}"
    for text in lacks:
        assert not any(text in found for found in texts), f"{text[:200]!r} is in the {where}"


def _equal(what: str, found: int, wanted: int, enum: Any) -> None:
    assert found == wanted, f"{what} is {enum.Name(found)}, not {enum.Name(wanted)}"


def _within(what: str, value: int, expect: case_pb.Expectation, name: str) -> None:
    bounds = getattr(expect, name)
    if bounds.HasField("least"):
        assert value >= bounds.least, f"{what}: {value} is below {bounds.least}"
    if bounds.HasField("most"):
        assert value <= bounds.most, f"{what}: {value} is above {bounds.most}"


def _tokens_of(answer: Any) -> int:
    return answer.original_input_tokens if isinstance(answer, pb.CompactResponse) else answer.input_tokens


def _files(root: Path) -> dict[str, int]:
    return {path.name: path.stat().st_size for path in root.rglob("*.md")}
