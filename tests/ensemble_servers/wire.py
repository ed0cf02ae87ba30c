"""Ollama's JSON, as documented and recorded (tests/fixtures/wire/ollama)."""

import json
from collections.abc import Mapping
from typing import Any

from tests.ensemble_servers.play import Play

_CREATED = "2026-08-22T10:00:00.000000Z"


def dumped(value: Any) -> bytes:
    """As Ollama writes it."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def text_line(model: str, text: str, thinking: str = "") -> bytes:
    """A line of a streamed answer."""
    message = {"role": "assistant", "content": text} | ({"thinking": thinking} if thinking else {})
    return dumped({"model": model, "created_at": _CREATED, "message": message, "done": False}) + b"\n"


def call_line(model: str, tool: str) -> bytes:
    """A line that calls a tool."""
    message = {"role": "assistant", "content": "", "tool_calls": [{"function": {"name": tool, "arguments": {}}}]}
    return dumped({"model": model, "created_at": _CREATED, "message": message, "done": False}) + b"\n"


def end_line(model: str, prompt: int, tokens: int, reason: str = "stop") -> bytes:
    """The last line of a streamed answer."""
    return dumped(_ended(model, {"role": "assistant", "content": ""}, prompt, tokens, reason)) + b"\n"


def whole(model: str, text: str, thinking: str, prompt: int, tokens: int, reason: str = "stop") -> bytes:
    """An answer to a request with `"stream": false`."""
    message = {"role": "assistant", "content": text} | ({"thinking": thinking} if thinking else {})
    return dumped(_ended(model, message, prompt, tokens, reason))


def _ended(model: str, message: dict[str, Any], prompt: int, tokens: int, reason: str) -> dict[str, Any]:
    times = {"total_duration": 182242375, "load_duration": 41295167, "prompt_eval_duration": 24573166}
    counts = {"prompt_eval_count": prompt, "eval_count": tokens, "eval_duration": 115959084}
    head = {"model": model, "created_at": _CREATED, "message": message, "done": True, "done_reason": reason}
    return head | times | counts


def error(text: str) -> bytes:
    """Ollama's form of an error, in a body of its own or as a line of a stream."""
    return dumped({"error": text})


def tags(models: Mapping[str, Play]) -> bytes:
    """The answer of /api/tags."""
    return dumped({"models": [_entry(name, play) | {"capabilities": ["completion"]} for name, play in models.items()]})


def running(models: Mapping[str, Play]) -> bytes:
    """The answer of /api/ps."""
    loaded = [
        _entry(name, play) | {"context_length": play.window, "expires_at": _CREATED, "size_vram": 6654289920}
        for name, play in models.items()
        if play.is_loaded
    ]
    return dumped({"models": loaded})


def shown(play: Play) -> bytes:
    """The answer of /api/show."""
    info = {"general.architecture": "qwen3", "qwen3.context_length": play.maximum}
    return dumped({"details": _details(play), "model_info": info, "capabilities": ["completion"]})


def _entry(name: str, play: Play) -> dict[str, Any]:
    entry = {"name": name, "model": name, "modified_at": _CREATED, "size": 5225388164, "digest": "500a1f067a9f"}
    return entry | {"details": _details(play) | {"context_length": play.maximum}}


def _details(play: Play) -> dict[str, Any]:
    return {"format": "gguf", "family": "qwen3", "parameter_size": play.parameters, "quantization_level": "Q4_K_M"}
