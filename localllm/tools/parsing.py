"""The arguments of a call, as the model wrote them, made those of the tool; or what the model is told instead."""

from typing import Any

import msgspec

from localllm.base.errors import ToolExecutionError
from localllm.base.events import Json
from localllm.base.jsontext import decode_json
from localllm.safety.tool_definition import Tool


def parse_arguments(tool: Tool, text: str, *, was_cut: bool) -> dict[str, Any]:
    """The arguments of a call, coerced to their types. Raises ToolExecutionError with what to send instead."""
    if was_cut and not text.strip():
        raise ToolExecutionError("tool_cut_arguments", name=tool.name)
    try:
        given = decode_json(text.strip() or "{}", dict[str, Json])
        return tool.parse(given)
    except msgspec.ValidationError as error:
        expected = msgspec.json.encode(tool.spec.parameters["properties"]).decode()
        raise ToolExecutionError(
            "tool_bad_arguments", name=tool.name, reason=first_line(error), expected=expected
        ) from error
    except msgspec.DecodeError as error:
        if was_cut:
            raise ToolExecutionError("tool_cut_arguments", name=tool.name) from error
        raise ToolExecutionError("tool_malformed_json", name=tool.name, reason=first_line(error)) from error


def first_line(error: Exception) -> str:
    """What an error says, on one line, without the full stop."""
    return (str(error) or type(error).__name__).splitlines()[0].rstrip(". ")
