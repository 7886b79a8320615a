"""The first effect: the evicted originals go where the policy says, unclipped, before anything is made of them.

With `redact` they go there masked, and the segment says so. Which messages a history holds is told by digests of the
raw ones, so a retry adds nothing, whether it masks or not.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from hashlib import blake2b

from compactor.core import segments, transcript
from compactor.core.decision import Plan
from compactor.core.view import prefix_digest, without_marks
from compactor.exchange import CompactCall, HistoryResult
from compactor.model import HistoryStatus
from compactor.policy import HistoryMode
from compactor.ports import HistoryStore

log = logging.getLogger("compactor")


async def keep(store: HistoryStore, call: CompactCall, plan: Plan) -> HistoryResult:
    """Keeps what a plan evicts. Never fails: what could not be stored comes back for the caller to write."""
    mode = plan.question.settings.history_mode
    if mode is HistoryMode.OFF:
        return HistoryResult(HistoryStatus.SKIPPED)
    segment = _segment(call, plan)
    if mode is HistoryMode.RETURN:
        return HistoryResult(HistoryStatus.RETURNED, markdown=segments.whole(segment))
    try:
        return HistoryResult(HistoryStatus.STORED, await store.append(call.session_id, segment))
    except segments.HistoryError as error:
        log.warning("history of session %s could not be written: %s", call.session_id, error)
        return HistoryResult(HistoryStatus.FAILED, markdown=segments.whole(segment))


def _segment(call: CompactCall, plan: Plan) -> segments.Segment:
    request, stop = call.request, plan.shape.first_kept

    def content_digest(index: int) -> bytes:
        return blake2b(without_marks(request.raw(index)), digest_size=segments.DIGEST_BYTES).digest()

    def render(indexes: Sequence[int]) -> str:
        shown = transcript.markdown((index, plan.question.means.content(index)) for index in indexes)
        return f"{transcript.MASKED}{shown}" if plan.question.settings.redact else shown

    return segments.Segment(
        sequence=plan.question.acts + 1,
        reason=plan.reason,
        start=plan.evicted_from,
        stop=stop,
        prefix_before=prefix_digest(request, plan.evicted_from),
        prefix=prefix_digest(request, stop),
        digest=content_digest,
        render=render,
        leading=request.leading,
    )
