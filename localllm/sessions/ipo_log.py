"""Write the IPO log: input, model outputs and tool results of a conversation, as sent and received.

It is written twice: as readable blocks, and as JSON lines in a second file.
"""

import os
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from localllm.base.errors import KnowledgeBaseUsageError
from localllm.base.events import Json, ToolCall
from localllm.base.jsontext import decode_json, encode_json
from localllm.llm.messages import AssistantMessage, Message, SystemMessage, ToolMessage, UserMessage
from localllm.text.sanitising import clean

_BAR = "=" * 20
_END = "=" * 60


def _now() -> datetime:
    return datetime.now(UTC)


class IpoLog:
    """Appends to `file`, and as JSON lines to the file beside it that ends in .jsonl.
    Nothing is masked: only the owner can read the files. Raises KnowledgeBaseUsageError if they cannot be written."""

    def __init__(self, file: Path, *, now: Callable[[], datetime] = _now) -> None:
        self.file = file
        self.lines_file = file.with_name(f"{file.stem}.jsonl" if file.suffix != ".jsonl" else f"{file.name}.jsonl")
        self._now = now

    def message(self, message: Message) -> None:
        """Log a message of the conversation."""
        match message:
            case SystemMessage(text=text):
                self._write("SYSTEM INSTRUCTION", text, kind="system", text=text)
            case UserMessage(text=text):
                self._write("INITIAL INPUT", text, kind="input", text=text)
            case AssistantMessage(text=text, thinking=thinking, tool_calls=calls):
                self._write(
                    "LLM OUTPUT",
                    _output(text, thinking, calls),
                    kind="output",
                    text=text,
                    thinking=thinking,
                    calls=[{"name": call.name, "arguments": call.arguments} for call in calls],
                )
            case ToolMessage(name=name, text=text):
                self._write("TOOL RESULT INPUT", text, kind="tool_result", tool=name, text=text)

    def failure(self, reason: str) -> None:
        """Log a failed turn."""
        self._write("TURN FAILED", reason, kind="failure", text=reason)

    def _write(self, head: str, body: str, **entry: Json) -> None:
        entry["time"] = self._now().isoformat()
        _append(self.file, f"{_BAR} [IPO: {head}] {_BAR}\n{clean(body)}\n{_END}\n\n".encode("utf-8", "replace"))
        _append(self.lines_file, encode_json(entry) + b"\n")


def _output(text: str, thinking: str, calls: tuple[ToolCall, ...]) -> str:
    """Return the labelled parts of an answer."""
    lines = [f"[Thinking]: {thinking}"] if thinking else []
    lines += [f"[Text]: {text}"] if text or not calls else []
    return "\n".join([*lines, *(f"[Function Call]: {call.name}({_arguments(call)})" for call in calls)])


def _arguments(call: ToolCall) -> str:
    try:
        given = decode_json(call.arguments or "{}", dict[str, Json])
    except msgspec.DecodeError:
        return call.arguments
    return ", ".join(f"{name}={encode_json(value).decode()}" for name, value in given.items())


def _append(file: Path, data: bytes) -> None:
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0)
    try:
        fd = os.open(file, flags, 0o600)
        try:
            os.write(fd, data)
        finally:
            os.close(fd)
    except OSError as error:
        raise KnowledgeBaseUsageError("rag_ipo_unwritable", file=file, reason=error.strerror or str(error)) from error
