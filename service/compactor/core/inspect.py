"""What is wrong with what would be sent: broken pairs are the caller's error, any other breach is named.

A record, a repair or an eviction may have taken a breach out of sight; only what remains counts.
"""

from __future__ import annotations

from compactor import errors
from compactor.core import validate
from compactor.core.question import Question
from compactor.core.view import OURS, View
from compactor.model import Notice, NoticeCode
from compactor.policy import Repair


def refuse_broken(question: Question, view: View) -> None:
    """Raises for the first broken pair in what would be sent."""
    for violation in validate.violations(question.request.format, view.messages):
        name = validate.PAIRING.get(violation.rule)
        if name is None:
            continue
        error: type[errors.InvalidRequest] = getattr(errors, name)
        index = view.origins[violation.position]
        text = f"messages[{index}] breaks the pairing of tool calls and results (rule {violation.rule[:4]})"
        if violation.id:
            text += f": {violation.id[:64]}"
        raise error(text, message_index=index, rule=violation.rule[:4], tool_use_id=violation.id[:64])


def input_notices(question: Question, view: View) -> list[Notice]:
    """What the raw request breaks, is sent all the same, and what was mended in it."""
    request = question.request
    found = validate.violations(request.format, view.messages)
    found += validate.breakpoint_violations(request.tools, request.system, view.messages)
    rules = sorted({violation.rule for violation in found if violation.rule not in validate.PAIRING})
    notices = []
    if rules:
        detail = f"the raw request breaks rules of its provider: {', '.join(rules)}"
        notices.append(Notice(NoticeCode.INPUT_VIOLATION, detail))
    if question.settings.repair is Repair.SYNTHESIZE and _was_repaired(question, view):
        notices.append(Notice(NoticeCode.REQUEST_REPAIRED, "broken messages in the part that is sent were mended"))
    return notices


def _was_repaired(question: Question, view: View) -> bool:
    raw = validate.violations(question.request.format, question.request.messages)
    sent = {index for index in view.origins if index >= 0}
    return any(violation.position in sent for violation in raw) and bool(view.literals or OURS in view.origins)
