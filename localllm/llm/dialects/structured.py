"""The structured dialect: every step is one JSON object, which the server holds to a schema. For models that know no
tool calls behind servers that can constrain what they write."""

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

from localllm.base.events import Json, ToolCall
from localllm.base.jsontext import encode_json
from localllm.llm.dialects.base import DialectName, Reader
from localllm.llm.dialects.salvage.reader import SalvagingReader
from localllm.llm.dialects.spelling import describe_tools, spell_out, thought_of
from localllm.llm.dialects.structured_reader import FINAL_ANSWER, StructuredReader
from localllm.llm.messages import AssistantMessage, CompletionRequest, ToolChoice, ToolMessage, ToolSpec
from localllm.llm.providers.openai_compatible import replayable


class StructuredDialect:
    """Tools are told in the system message, and no tools are sent: llama.cpp refuses a grammar beside them.

    A request without tools, or with a schema of its own, is sent without ours: only the calls in its history are
    spelled out.
    """

    @property
    def name(self) -> DialectName:
        return "structured"

    def encode(self, request: CompletionRequest) -> CompletionRequest:
        """The request with the schema of a step in place of tools."""
        speaks = _is_ours(request)
        instructions = _prompt().replace("{tools}", describe_tools(request.tools)) if speaks else ""
        return msgspec.structs.replace(
            request,
            messages=spell_out(request.messages, instructions, _step, _result),
            tools=(),
            tool_choice="auto",
            schema=step_schema(request.tools, request.tool_choice) if speaks else request.schema,
        )

    def reader(self, request: CompletionRequest) -> Reader:
        """A reader of steps."""
        return StructuredReader(request.tools) if _is_ours(request) else SalvagingReader(request.tools)


def _is_ours(request: CompletionRequest) -> bool:
    return bool(request.tools) and request.schema is None


@cache
def _prompt() -> str:
    return Path(__file__).with_name("structured.md").read_text(encoding="utf-8").strip()


def step_schema(tools: Sequence[ToolSpec], tool_choice: ToolChoice = "auto") -> dict[str, Json]:
    """The schema of a step: a thought first, then the action, which is one of the tools with its own arguments, or the
    final answer. The choice is one `anyOf` below the root, which the grammars of llama.cpp, Ollama, LM Studio and vLLM
    all hold to, and `enum` stands for `const`: so a small model can name no tool and no argument that is not there.
    """
    answer = _object({"answer": {"type": "string"}})
    actions = [] if tool_choice == "none" else [_action(tool.name, _bare(tool.parameters)) for tool in tools]
    if tool_choice != "required":
        actions.append(_action(FINAL_ANSWER, answer))
    return _object({"thought": {"type": "string"}, "action": {"anyOf": actions}})


def _action(name: str, arguments: dict[str, Json]) -> dict[str, Json]:
    return _object({"name": {"type": "string", "enum": [name]}, "arguments": arguments})


def _object(properties: dict[str, Json], required: Sequence[str] | None = None) -> dict[str, Json]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties if required is None else required),
        "additionalProperties": False,
    }


def _bare(parameters: dict[str, Json]) -> dict[str, Json]:
    """The schema of arguments without its descriptions: they are in the system message, and a grammar has no use for
    them."""
    properties: dict[str, dict[str, Any]] = parameters.get("properties", {})
    bare: dict[str, Json] = {
        name: {word: value for word, value in schema.items() if word != "description"}
        for name, schema in properties.items()
    }
    return _object(bare, parameters.get("required", []))


def _step(said: AssistantMessage, call: ToolCall | None) -> str:
    """An answer as the model has to write it, spaced as models space JSON."""
    thought = thought_of(said.thinking)
    if call is None:
        name, arguments = FINAL_ANSWER, f'{{"answer": {_quoted(said.text)}}}'
    else:
        name, arguments = call.name, replayable(call.arguments)
        thought = "\n\n".join(part for part in (thought, said.text.strip()) if part)
    return f'{{"thought": {_quoted(thought)}, "action": {{"name": {_quoted(name)}, "arguments": {arguments}}}}}'


def _quoted(text: str) -> str:
    return encode_json(text).decode()


def _result(message: ToolMessage) -> str:
    """A result in a frame that nothing in it can close."""
    mark, number = "result", 1
    while f"</{mark}>" in message.text:
        number += 1
        mark = f"result{number}"
    return f'<{mark} of="{message.name}">\n{message.text}\n</{mark}>'
