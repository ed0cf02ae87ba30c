"""Ollama's answers for tests, and a provider to ask them."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from localllm.llm.messages import CompletionRequest, SystemMessage, ToolSpec, UserMessage
from localllm.llm.providers.base import Chunk
from localllm.llm.providers.ollama import Ollama
from tests.support.wire_server import Reply, cassette

HELLO = (SystemMessage("You help."), UserMessage("Hello"))
TOOLS = (ToolSpec("look", "Look.", {"type": "object", "properties": {}}),)
REQUEST = CompletionRequest(model="qwen3:8b", messages=HELLO)
JSON = {"content-type": "application/json"}


def answer(body: Any, status: int = 200) -> Reply:
    return Reply((json.dumps(body).encode(),), status, JSON)


def lines(*objects: dict[str, Any]) -> tuple[bytes, ...]:
    return tuple(json.dumps(line, ensure_ascii=False).encode() + b"\n" for line in objects)


def says(text: str = "hi", **end: Any) -> Reply:
    counts = {"prompt_eval_count": 100, "eval_count": 7}
    return Reply(lines({"message": {"content": text}}, {"message": {"content": ""}, "done": True, **counts, **end}))


def calls(*named: dict[str, Any]) -> Reply:
    """One line for each call, all of them with the index 0."""
    pieces = [{"message": {"content": "", "tool_calls": [{"function": {"index": 0, **call}}]}} for call in named]
    return Reply(lines(*pieces, {"message": {"content": ""}, "done": True, "done_reason": "stop"}))


NOT_THERE = answer({"error": "not found"}, 404)

TOLD = {"/api/tags": cassette("ollama/tags"), "/api/ps": cassette("ollama/ps"), "/api/show": cassette("ollama/show")}
"""One model: loaded with 4,096 tokens, its Modelfile sets 8,192, it was made for 40,960."""


def ollama(url: str, *, idle_timeout: float = 5, num_ctx: int = 0, think: str = "auto", key: str = "") -> Ollama:
    return Ollama(url, timeout=5, idle_timeout=idle_timeout, num_ctx=num_ctx, think=think, api_key=key)


@asynccontextmanager
async def closing(provider: Ollama) -> AsyncIterator[Ollama]:
    try:
        yield provider
    finally:
        await provider.aclose()


async def all_chunks(provider: Ollama, request: CompletionRequest = REQUEST) -> list[Chunk]:
    return [chunk async for chunk in provider.stream(request)]
