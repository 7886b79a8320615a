"""Values as responses of the contract."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, assert_never

from compactor.core.edits import applied, parts
from compactor.core.spent import is_clipped, real_tokens, spent
from compactor.exchange import CompactAnswer, CompactCall, CountAnswer, HistoryResult, SummarizeAnswer
from compactor.model import ArrayName, Compaction, Edit, Literal, Notice, Piece, Raw, Retained, SummarizerUsage
from compactor.wire import conversation
from compactor.wire.framing import framed
from hango.compaction.v1 import compaction_pb2 as record_pb
from hango.compaction.v1 import compaction_service_pb2 as pb
from hango.compaction.v1 import policy_pb2
from hango.compaction.v1.conversation_pb2 import Conversation

_ARRAYS = {
    ArrayName.SYSTEM: record_pb.ARRAY_NAME_SYSTEM,
    ArrayName.TOOLS: record_pb.ARRAY_NAME_TOOLS,
    ArrayName.MESSAGES: record_pb.ARRAY_NAME_MESSAGES,
}
_TARGETS = {
    ArrayName.SYSTEM: record_pb.BREAKPOINT_TARGET_SYSTEM,
    ArrayName.TOOLS: record_pb.BREAKPOINT_TARGET_TOOL,
    ArrayName.MESSAGES: record_pb.BREAKPOINT_TARGET_MESSAGE,
}


def compact_response(message: pb.CompactRequest, call: CompactCall, answer: CompactAnswer) -> pb.CompactResponse:
    """The response to a Compact call, in the arm and the mode that it asked for."""
    response = _without_body(message, call, answer)
    if _is_whole_body(message):
        response.native.format = message.native.format
        response.native.body = applied(call.request, answer.edits)
    return response


def compact_bytes(message: pb.CompactRequest, call: CompactCall, answer: CompactAnswer) -> bytes:
    """The same response as it goes over the wire."""
    response = _without_body(message, call, answer)
    if not _is_whole_body(message):
        return response.SerializeToString()
    return framed(response, message.native.format, parts(call.request, answer.edits))


def _is_whole_body(message: pb.CompactRequest) -> bool:
    return message.WhichOneof("source") == "native" and message.result_mode != pb.RESULT_MODE_EDITS


def _without_body(message: pb.CompactRequest, call: CompactCall, answer: CompactAnswer) -> pb.CompactResponse:
    """The response to a Compact call but for a whole native body."""
    response = pb.CompactResponse(
        outcome=f"OUTCOME_{answer.outcome}",
        reason=f"COMPACTION_REASON_{answer.reason}",
        original_input_tokens=answer.before,
        compacted_input_tokens=answer.after,
        token_count_source=f"TOKEN_COUNT_SOURCE_{answer.source}",
        evicted_message_count=answer.evicted_count,
        clipped_value_count=answer.clipped_count,
        breakpoints=[record_pb.Breakpoint(target=_TARGETS[at.target], index=at.index) for at in answer.placed],
        notices=_notices(answer.notices),
        available_input_tokens=answer.available,
    )
    is_typed = message.WhichOneof("source") == "conversation"
    if message.result_mode == pb.RESULT_MODE_EDITS:
        source = message.conversation if is_typed else None
        response.edits.extend(_edit(edit, source) for edit in answer.edits)
    elif is_typed:
        response.conversation.CopyFrom(conversation.applied(message.conversation, answer.edits))
    if answer.record is not None:
        response.compaction.CopyFrom(_record(answer.record))
    if answer.history is not None:
        response.history.CopyFrom(_history(answer.history))
    if answer.usage is not None:
        response.summarizer_usage.CopyFrom(_usage(answer.usage))
    if answer.retained is not None:
        response.retained.CopyFrom(_retained(answer.retained))
    if message.explain:
        response.explanation.CopyFrom(_explanation(call, answer))
    return response


def summarize_response(answer: SummarizeAnswer) -> pb.SummarizeResponse:
    """The response to a Summarize call."""
    return pb.SummarizeResponse(
        summary=answer.summary,
        usage=_usage(answer.usage) if answer.usage is not None else None,
        summary_source=pb.SUMMARY_SOURCE_MODEL if answer.by_model else pb.SUMMARY_SOURCE_EXTRACTIVE,
        retained=_retained(answer.retained),
        missing_identifiers=answer.missing,
        notices=_notices(answer.notices),
    )


def count_response(answer: CountAnswer) -> pb.CountTokensResponse:
    """The response to a CountTokens call."""
    return pb.CountTokensResponse(
        input_tokens=answer.tokens,
        token_count_source=f"TOKEN_COUNT_SOURCE_{answer.source}",
        breakdown=pb.TokenBreakdown(
            system=answer.system, tools=answer.tools, messages=answer.messages, media=answer.media
        ),
        max_input_tokens=answer.settings.window,
        trigger_input_tokens=answer.settings.trigger,
        available_input_tokens=answer.settings.budget - answer.tokens,
        margin=answer.margin,
        notices=_notices(answer.notices),
    )


def _notices(notices: Iterable[Notice]) -> list[record_pb.Notice]:
    return [record_pb.Notice(code=f"NOTICE_CODE_{notice.code}", detail=notice.detail) for notice in notices]


def _record(record: Compaction) -> record_pb.Compaction:
    pinned = record.pinned_index
    ranges = record.kept_ranges if pinned is None else ((pinned, pinned + 1),)
    return record_pb.Compaction(
        sequence=record.sequence,
        turn_id=record.turn_id,
        reason=f"COMPACTION_REASON_{record.reason}",
        strategy=f"STRATEGY_{record.strategy}",
        summary=record.summary,
        first_kept_index=record.first_kept_index,
        kept_ranges=[record_pb.IndexRange(start=start, stop=stop) for start, stop in ranges],
        clipped_before_index=record.clipped_before_index,
        clip_max_tokens=record.clip_max_tokens,
        unclipped_tools=record.unclipped_tools,
        stripped_before_index=record.stripped_before_index,
        repair=policy_pb2.REPAIR_SYNTHESIZE if record.repairs else policy_pb2.REPAIR_REJECT,
        history_path=record.history_path,
        prefix_digest=record.prefix_digest,
        original_input_tokens=record.original_input_tokens,
        compacted_input_tokens=record.compacted_input_tokens,
        estimate_ratio=record.estimate_ratio,
    )


def _usage(usage: SummarizerUsage) -> record_pb.SummarizerUsage:
    return record_pb.SummarizerUsage(**usage._asdict())


def _history(history: HistoryResult) -> record_pb.History:
    return record_pb.History(path=history.path, status=f"HISTORY_STATUS_{history.status}", markdown=history.markdown)


def _retained(retained: Retained) -> record_pb.Retained:
    return record_pb.Retained(
        instructions=retained.instructions,
        requests=retained.requests,
        identifiers=retained.identifiers,
        files=[
            record_pb.FileRecord(
                path=file.path,
                access=record_pb.FILE_ACCESS_CHANGED if file.changed else record_pb.FILE_ACCESS_READ,
            )
            for file in retained.files
        ],
        tool_outcomes=[
            record_pb.ToolOutcome(tool=done.tool, request=done.request, outcome=done.outcome, is_error=done.is_error)
            for done in retained.tool_outcomes
        ],
        plan=retained.plan,
        open_questions=retained.open_questions,
        facts=retained.facts,
    )


def _edit(edit: Edit, source: Conversation | None) -> record_pb.Edit:
    """An edit; of a conversation where there is a source, else of a native body."""
    return record_pb.Edit(
        array=_ARRAYS[edit.array], pieces=[_piece(edit.array, piece, source) for piece in edit.pieces]
    )


def _piece(array: ArrayName, piece: Piece, source: Conversation | None) -> record_pb.Piece:
    match piece:
        case Raw(start, stop):
            return record_pb.Piece(range=record_pb.IndexRange(start=start, stop=stop))
        case Literal(data) if source is None:
            return record_pb.Piece(native_element=data)
        case Literal() if array is ArrayName.SYSTEM:
            return record_pb.Piece(system_block=conversation.system_block(piece, source))
        case Literal():
            return record_pb.Piece(message=conversation.message(piece, source))
    assert_never(piece)


def _explanation(call: CompactCall, answer: CompactAnswer) -> record_pb.Explanation:
    at, view = answer.explained.at, answer.explained.view
    clipped_before = answer.record.clipped_before_index if answer.record else 0
    kept: dict[int, int] = {}
    for position, index in enumerate(view.origins):
        if index >= 0:
            found = is_clipped(view, position, clipped_before)
            kept[index] = record_pb.FATE_CLIPPED if found else record_pb.FATE_KEPT
    before, after = real_tokens(at.question, at.view), real_tokens(at.question, view)
    fates: Sequence[Any] = [
        record_pb.MessageFate(
            index=index,
            input_tokens=before(message.tokens),
            fate=kept.get(index, record_pb.FATE_EVICTED),  # type: ignore[arg-type]
        )
        for index, message in enumerate(call.request.messages)
    ]
    return record_pb.Explanation(
        wanted_first_kept_index=answer.explained.wanted,
        first_kept_index=answer.explained.taken,
        boundary_note=answer.explained.note,
        messages=fates,
        original=record_pb.TokenUse(**spent(at.question, at.view, at.shape.clipped_before)._asdict()),
        compacted=record_pb.TokenUse(**spent(at.question, view, clipped_before)._asdict()),
        sent=[
            record_pb.SentMessage(raw_index=index if index >= 0 else None, input_tokens=after(message.tokens))
            for index, message in zip(view.origins, view.messages, strict=True)
        ],
    )
