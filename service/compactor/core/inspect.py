"""What is wrong with what would be sent: broken pairs are the caller's error, any other breach is named.

A record, a repair or an eviction may have taken a breach out of sight; only what remains counts.
"""

from __future__ import annotations

from compactor import errors
from compactor.core import validate
from compactor.core.question import Question
from compactor.core.view import View
from compactor.model import Notice, NoticeCode


def checked(question: Question, view: View, *, is_repaired: bool) -> tuple[Notice, ...]:
    """What is to be said of what would be sent. Raises the error of the first broken pair in it."""
    request = question.request
    found = validate.violations(request.format, view.messages)
    for violation in found:
        if violation.rule in validate.PAIRING:
            raise _error(violation, view)
    found += validate.breakpoint_violations(request.tools, request.system, view.messages)
    notices: list[Notice] = []
    if found:
        rules = ", ".join(sorted({violation.rule for violation in found}))
        notices.append(Notice(NoticeCode.INPUT_VIOLATION, f"the raw request breaks rules of its provider: {rules}"))
    if is_repaired:
        notices.append(Notice(NoticeCode.REQUEST_REPAIRED, "broken messages in the part that is sent were mended"))
    return tuple(notices)


_BREACHES = {
    errors.UnmatchedToolUse: "a tool call without its result",
    errors.UnmatchedToolResult: "a tool result without its call, or behind other content",
    errors.DuplicateToolResult: "two results for one tool call",
}


def _error(violation: validate.Violation, view: View) -> errors.InvalidRequest:
    index, rule, call = view.origins[violation.position], violation.rule[:4], violation.id[:64]
    error = validate.PAIRING[violation.rule]
    text = f"messages[{index}] has {_BREACHES[error]} (rule {rule}){': ' if call else ''}{call}"
    return error(text, message_index=index, rule=rule, tool_use_id=call)
