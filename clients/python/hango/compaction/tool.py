"""The tool `compact_conversation`, by which the model asks for a compaction itself.

    body["tools"].append(compact_conversation("anthropic"))
    ...
    if block.name == COMPACT_CONVERSATION:
        result = session.request_compaction()  # the text of the tool's result

The model's next call is then compacted with reason TOOL, whatever the estimate says.
"""

from __future__ import annotations

from typing import Any

from hango.compaction.sources import Format

COMPACT_CONVERSATION = "compact_conversation"
"""The tool's name, by which its calls are known."""

COMPACTION_REQUESTED = (
    "The conversation will be compacted before your next step: older messages give way to a summary, the newest stay."
)
"""What the tool answers."""

_DESCRIPTION = (
    "Compacts this conversation before your next step: older messages are replaced by a summary, the newest ones stay"
    " as they are. Call it when a large task is done and its details are no longer needed, or before one that will need"
    " much room. Takes no arguments."
)
_SCHEMA = {"type": "object", "properties": {}, "additionalProperties": False}


def compact_conversation(format: Format = "anthropic") -> dict[str, Any]:
    """The tool's definition for a request's `tools`, in the shape of a format; a new dict each time, the caller's own.

        >>> compact_conversation("openai")["function"]["name"]
        'compact_conversation'

    Raises ValueError for another format.
    """
    schema = {**_SCHEMA, "properties": {}}
    if format == "anthropic":
        return {"name": COMPACT_CONVERSATION, "description": _DESCRIPTION, "input_schema": schema}
    if format == "openai":
        function = {"name": COMPACT_CONVERSATION, "description": _DESCRIPTION, "parameters": schema}
        return {"type": "function", "function": function}
    raise ValueError(f"format is {format!r}, it has to be anthropic or openai")
