"""A played model behind an OpenAI-compatible address on loopback, with a window that it counts itself."""

import json
import os
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from http.server import BaseHTTPRequestHandler
from typing import Any

from tests.research_web.played_models import role_of
from tests.support.loopback import LoopbackServer

WINDOW = 8_192
CHARACTERS_A_TOKEN = 3.6


def count_tokens(text: str) -> int:
    """The tokens of a text as this server counts them: its characters over 3.6."""
    return round(len(text) / CHARACTERS_A_TOKEN)


class ServedModel(LoopbackServer):
    """Answers `/v1/chat/completions` (a stream of events or one JSON object) by `answer` and `/v1/models`.

    `prompts` are the prompts as texts in order, `refused` counts those over the window, `largest` is the most tokens of
    a prompt. `reused` has, per request, (role, bytes equal to the beginning of the role's previous prompt, all bytes).
    """

    def __init__(
        self,
        answer: Callable[[Sequence[dict[str, Any]], dict[str, Any] | None], str],
        *,
        window: int = WINDOW,
        model: str = "played",
    ) -> None:
        super().__init__(_Handler)
        self.window = window
        self.model = model
        self.prompts: list[str] = []
        self.bodies: list[dict[str, Any]] = []
        self.largest = 0
        self.refused = 0
        self.reused: list[tuple[str, int, int]] = []
        self._answer = answer
        self._last: dict[str, bytes] = {}
        self._lock = threading.Lock()

    def answered(self, body: dict[str, Any]) -> tuple[int, dict[str, Any] | list[dict[str, Any]]]:
        """The status, and one JSON object or the events of a stream."""
        prompt = prompt_of(body)
        tokens = count_tokens(prompt)
        with self._lock:
            self.bodies.append(body)
            self.prompts.append(prompt)
            self.largest = max(self.largest, tokens)
            if tokens > self.window:
                self.refused += 1
                return 400, _refusal(tokens, self.window)
            cached = self._remember(role_of(body["messages"]), prompt.encode())
            text = self._answer(body["messages"], _schema_of(body))
        usage = {
            "prompt_tokens": tokens,
            "completion_tokens": count_tokens(text),
            "total_tokens": tokens + count_tokens(text),
            "prompt_tokens_details": {"cached_tokens": round(cached / CHARACTERS_A_TOKEN)},
        }
        if body.get("stream"):
            return 200, [*_deltas(text), {"choices": [], "usage": usage}]
        message = {"role": "assistant", "content": text}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        return 200, {"object": "chat.completion", "model": self.model, "choices": [choice], "usage": usage}

    def models(self) -> dict[str, Any]:
        return {"object": "list", "data": [{"id": self.model, "object": "model", "max_model_len": self.window}]}

    def _remember(self, role: str, prompt: bytes) -> int:
        same = len(os.path.commonprefix([self._last.get(role, b""), prompt]))  # noqa: RUF071 - bytes, no paths
        self.reused.append((role, same, len(prompt)))
        self._last[role] = prompt
        return same


class _Handler(BaseHTTPRequestHandler):
    owner: ServedModel
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, *_: object) -> None:
        pass

    def do_GET(self) -> None:
        self._send(200 if self.path == "/v1/models" else 404, json.dumps(self.owner.models()).encode())

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        if self.path != "/v1/chat/completions":
            self._send(404, b'{"error": {"message": "no such path"}}')
            return
        status, answer = self.owner.answered(body)
        if isinstance(answer, dict):
            self._send(status, json.dumps(answer).encode())
            return
        events = [*map(json.dumps, answer), "[DONE]"]
        self._send(status, "".join(f"data: {event}\n\n" for event in events).encode(), "text/event-stream")

    def _send(self, status: int, data: bytes, kind: str = "application/json") -> None:
        with suppress(BrokenPipeError, ConnectionResetError):
            self.send_response(status)
            self.send_header("content-type", kind)
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)


def prompt_of(body: dict[str, Any]) -> str:
    """The whole prompt as one text, as a chat template would put it."""
    return "".join(f"<|{message['role']}|>\n{message.get('content') or ''}\n" for message in body["messages"])


def _schema_of(body: dict[str, Any]) -> dict[str, Any] | None:
    wanted = body.get("response_format") or {}
    return (wanted.get("json_schema") or {}).get("schema") or wanted.get("schema")


def _refusal(tokens: int, window: int) -> dict[str, Any]:
    said = f"the request ({tokens} tokens) exceeds the available context size ({window} tokens), try increasing it"
    error = {"code": 400, "message": said, "type": "exceed_context_size_error"}
    return {"error": error | {"n_prompt_tokens": tokens, "n_ctx": window}}


def _deltas(text: str) -> list[dict[str, Any]]:
    """The text in pieces of forty characters, and the end."""
    pieces = [text[start : start + 40] for start in range(0, len(text), 40)]
    events: list[dict[str, Any]] = [{"role": "assistant", "content": None}, *({"content": piece} for piece in pieces)]
    made = [{"choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in events]
    return [*made, {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}]
