"""A model server on loopback that has a window, counts tokens itself, and takes a prompt that is too long as
real servers do. Its model works through a task of many steps with large outputs, whatever it remembers of it."""

import json
import re
from collections.abc import Callable
from contextlib import suppress
from functools import lru_cache
from http.server import BaseHTTPRequestHandler
from typing import Any, Literal

from tests.support.loopback import LoopbackServer

Behaviour = Literal["refuses", "truncates", "vllm"]

_TOKEN = re.compile(r" ?[A-Za-z]{1,6}|\d{1,3}|[^\sA-Za-z\d]{1,2}|\s+")

Call = tuple[str, dict[str, Any]]


@lru_cache(maxsize=256)  # most of a prompt was in the one before it
def count_tokens(text: str) -> int:
    """The tokens of a text as this server's own tokenizer has them: pieces of words, short numbers, signs."""
    return len(_TOKEN.findall(text))


class WindowServer(LoopbackServer):
    """`step(number)` gives the call of each step, None at the end of the task. A request for a summary (one without
    tools) is answered by `summary`. `behaviour`: refuses as llama.cpp; truncates silently, as Ollama; vllm refuses also
    an answer too long for what is left. `count`: the tokens of a text.

    `requests` are the bodies of all that were answered, `refused` of those that were not; `counts` their tokens.
    """

    def __init__(
        self,
        window: int,
        step: Callable[[int], Call | None],
        *,
        behaviour: Behaviour = "refuses",
        summary: str | Callable[[str], str] = "## Goal\nthe task\n## Done\nsome steps\n## Next\nthe next step",
        tells: bool = True,
        count: Callable[[str], int] = count_tokens,
    ) -> None:
        super().__init__(_Handler)
        self.window = window
        self.behaviour: Behaviour = behaviour
        self.requests: list[dict[str, Any]] = []
        self.summaries: list[dict[str, Any]] = []
        self.refused: list[dict[str, Any]] = []
        self.counts: list[int] = []
        self._step = step
        self._done = 0
        self._summary = summary
        self._tells = tells
        self._count = count

    def models(self) -> dict[str, Any]:
        entry: dict[str, Any] = {"id": "m"}
        if self._tells:
            entry["max_model_len"] = self.window
        return {"object": "list", "data": [entry]}

    def answer(self, body: dict[str, Any]) -> tuple[int, dict[str, Any] | list[dict[str, Any]]]:
        """The status, and what is sent: an error, or the events of a stream."""
        prompt = _count(body, self._count)
        wanted = body.get("max_tokens") or 0
        if self.behaviour != "truncates" and prompt >= self.window:
            self.refused.append(body)
            return 400, _refusal(self.behaviour, prompt, self.window)
        if self.behaviour == "vllm" and prompt + wanted > self.window:
            self.refused.append(body)
            return 400, _too_much(prompt, wanted, self.window)
        counted = min(prompt, self.window - 1)
        self.counts.append(counted)
        if not body.get("tools"):
            self.summaries.append(body)
            text = self._summary if isinstance(self._summary, str) else self._summary(_text_of(body))
            return 200, _said(text, counted)
        self.requests.append(body)
        call = self._step(self._done)
        self._done += 1
        return 200, _said("All done.", counted) if call is None else _called(self._done, call, counted)


class _Handler(BaseHTTPRequestHandler):
    owner: WindowServer
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, *_: object) -> None:
        pass

    def do_GET(self) -> None:
        self._send(200 if self.path == "/v1/models" else 404, json.dumps(self.owner.models()).encode())

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        status, answer = self.owner.answer(body)
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


def _text_of(body: dict[str, Any]) -> str:
    return "\n".join(json.dumps(message, ensure_ascii=False) for message in body["messages"])


def _count(body: dict[str, Any], count: Callable[[str], int]) -> int:
    """The tokens of the whole prompt, with what a chat template puts around each message."""
    texts = [json.dumps(body.get("tools") or "")]
    for message in body["messages"]:
        texts.append(str(message.get("content") or ""))
        texts += [call["function"]["name"] + call["function"]["arguments"] for call in message.get("tool_calls", ())]
    return sum(map(count, texts)) + 5 * len(body["messages"])


def _refusal(behaviour: Behaviour, prompt: int, window: int) -> dict[str, Any]:
    if behaviour == "vllm":
        said = (
            f"This model's maximum context length is {window} tokens. However, your request has {prompt} input tokens. "
            "Please reduce the length of the input messages."
        )
        return {"error": {"message": said, "type": "BadRequestError", "code": 400}}
    said = f"the request ({prompt} tokens) exceeds the available context size ({window} tokens), try increasing it"
    error = {"code": 400, "message": said, "type": "exceed_context_size_error"}
    return {"error": error | {"n_prompt_tokens": prompt, "n_ctx": window}}


def _too_much(prompt: int, wanted: int, window: int) -> dict[str, Any]:
    said = (
        f"'max_tokens' or 'max_completion_tokens' is too large: {wanted}. This model's maximum context length is "
        f"{window} tokens and your request has {prompt} input tokens ({wanted} > {window} - {prompt})."
    )
    return {"error": {"message": said, "type": "BadRequestError", "code": 400}}


def _delta(finish: str | None = None, **fields: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": fields, "finish_reason": finish}]}


def _usage(counted: int) -> dict[str, Any]:
    return {"choices": [], "usage": {"prompt_tokens": counted, "completion_tokens": 20}}


def _said(text: str, counted: int) -> list[dict[str, Any]]:
    return [_delta(content=text), _delta("stop"), _usage(counted)]


def _called(number: int, call: Call, counted: int) -> list[dict[str, Any]]:
    name, arguments = call
    made: dict[str, Any] = {"index": 0, "id": f"call{number}", "type": "function"}
    made["function"] = {"name": name, "arguments": json.dumps(arguments, ensure_ascii=False)}
    return [_delta(content=f"Step {number}."), _delta(tool_calls=[made]), _delta("tool_calls"), _usage(counted)]
