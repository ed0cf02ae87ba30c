"""The same answers, whole or broken, as servers of two kinds write them: OpenAI's events, Ollama's JSON lines."""

import json
from collections.abc import Mapping
from typing import Any, Protocol

from tests.support.wire_server import delta, sse


class Wire(Protocol):
    """How one kind of server writes."""

    content_type: str
    keep_alive: bytes

    def text(self, words: str) -> bytes: ...
    def thinking(self, words: str) -> bytes: ...
    def call(self) -> bytes: ...
    def end(self, reason: str = "stop") -> bytes: ...
    def whole(self, words: str) -> bytes: ...
    def failure(self, message: Any) -> bytes: ...
    def error_in_stream(self, message: Any) -> bytes: ...


class Events:
    """As OpenAI, LM Studio, llama.cpp and vLLM."""

    content_type = "text/event-stream"
    keep_alive = b": still reading the prompt\n\n"

    def text(self, words: str) -> bytes:
        return b"".join(sse(delta(content=words)))

    def thinking(self, words: str) -> bytes:
        return b"".join(sse(delta(reasoning_content=words)))

    def call(self) -> bytes:
        function = {"name": "look", "arguments": '{"a": '}
        return b"".join(sse(delta(tool_calls=[{"index": 0, "id": "c1", "function": function}])))

    def end(self, reason: str = "stop") -> bytes:
        return b"".join(sse(delta(reason), "[DONE]"))

    def whole(self, words: str) -> bytes:
        choice = {"index": 0, "message": {"role": "assistant", "content": words}, "finish_reason": "stop"}
        return json.dumps({"object": "chat.completion", "choices": [choice]}).encode()

    def failure(self, message: Any) -> bytes:
        error: Any = message if isinstance(message, Mapping) else {"message": message}
        return json.dumps({"error": error}).encode()

    def error_in_stream(self, message: Any) -> bytes:
        return b"event: error\ndata: " + self.failure(message) + b"\n\n"


class Lines:
    """As Ollama."""

    content_type = "application/x-ndjson"
    keep_alive = b"\n"

    def text(self, words: str) -> bytes:
        return _line(message={"role": "assistant", "content": words}, done=False)

    def thinking(self, words: str) -> bytes:
        return _line(message={"role": "assistant", "content": "", "thinking": words}, done=False)

    def call(self) -> bytes:
        """Calls come whole; what may be cut off is the answer's end."""
        calls = [{"function": {"name": "look", "arguments": {"a": 1}}}]
        return _line(message={"role": "assistant", "content": "", "tool_calls": calls}, done=False)

    def end(self, reason: str = "stop") -> bytes:
        return _line(message={"role": "assistant", "content": ""}, done=True, done_reason=reason)

    def whole(self, words: str) -> bytes:
        return _line(message={"role": "assistant", "content": words}, done=True, done_reason="stop")

    def failure(self, message: Any) -> bytes:
        return _line(error=message)

    def error_in_stream(self, message: Any) -> bytes:
        return self.failure(message)


def _line(**fields: Any) -> bytes:
    return json.dumps(fields).encode() + b"\n"
