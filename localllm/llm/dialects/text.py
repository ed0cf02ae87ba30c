"""The text dialect: Thought, Action, Action Input and Final Answer (ReAct). For models without tool calls behind
servers that can constrain nothing."""

from functools import cache
from pathlib import Path

import msgspec

from localllm.base.events import ToolCall
from localllm.llm.dialects.base import DialectName, Reader
from localllm.llm.dialects.salvage.reader import SalvagingReader
from localllm.llm.dialects.spelling import describe_tools, spell_out, thought_of
from localllm.llm.dialects.text_reader import TextReader
from localllm.llm.messages import AssistantMessage, CompletionRequest, ToolMessage

STOP = "\nObservation:"
"""Where the model would go on with a result of its own invention. With the line break, for an answer may hold the
word."""


class TextDialect:
    """Tools are told in the system message, and the answer stops where a result belongs.

    A request without tools, or with a schema, is sent without the instructions: only the calls in its history are
    spelled out.
    """

    @property
    def name(self) -> DialectName:
        return "text"

    def encode(self, request: CompletionRequest) -> CompletionRequest:
        """The request as plain text."""
        speaks = _is_ours(request)
        instructions = _prompt().replace("{tools}", describe_tools(request.tools)) if speaks else ""
        return msgspec.structs.replace(
            request,
            messages=spell_out(request.messages, instructions, _step, _result),
            tools=(),
            tool_choice="auto",
            stop=(*request.stop, STOP) if speaks else request.stop,
        )

    def reader(self, request: CompletionRequest) -> Reader:
        """A reader of labelled text."""
        return TextReader(request.tools) if _is_ours(request) else SalvagingReader(request.tools)


def _is_ours(request: CompletionRequest) -> bool:
    return bool(request.tools) and request.schema is None


@cache
def _prompt() -> str:
    return Path(__file__).with_name("text.md").read_text(encoding="utf-8").strip()


def _step(said: AssistantMessage, call: ToolCall | None) -> str:
    thought = thought_of(said.thinking)
    lines = [f"Thought: {thought}"] if thought else []
    if call is None:
        return "\n".join([*lines, f"Final Answer: {said.text}"])
    if text := said.text.strip():
        lines.insert(0, f"{text}\n")
    return "\n".join([*lines, f"Action: {call.name}", f"Action Input: {call.arguments or '{}'}"])


def _result(message: ToolMessage) -> str:
    return f"Observation: {message.text}"
