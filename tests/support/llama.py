"""llama.cpp's real server, started through our own child process, for tests that talk to it."""

import asyncio
import os
from collections.abc import AsyncIterator, Iterator
from contextlib import aclosing, asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import httpx
import msgspec

from localllm.llm.gguf.child_process import ModelProcess, Order
from localllm.llm.messages import CompletionRequest, Message, UserMessage
from localllm.llm.providers.base import Chunk, MessageAssembler
from localllm.llm.providers.openai_compatible import OpenAICompatible


class Served:
    """A model file that is being served at `address`."""

    def __init__(self, process: ModelProcess, address: str, window: int) -> None:
        self.process = process
        self.address = address
        self.window = window

    @asynccontextmanager
    async def provider(self, *, key: str | None = None) -> AsyncIterator[OpenAICompatible]:
        """A way to it, closed at the end."""
        api_key = self.process.api_key if key is None else key
        provider = OpenAICompatible("openai", self.address, timeout=30.0, idle_timeout=30.0, api_key=api_key)
        async with aclosing(provider):
            yield provider

    async def busy_slots(self) -> list[dict[str, Any]]:
        """What the server tells of the conversations it is writing to."""
        return [slot for slot in await self.slots() if slot["is_processing"]]

    async def slots(self) -> list[dict[str, Any]]:
        """What the server tells of all the conversations it keeps."""
        headers = {"authorization": f"Bearer {self.process.api_key}"}
        async with httpx.AsyncClient(base_url=self.address, headers=headers) as client:
            return (await client.get("/slots")).json()


@contextmanager
def serving(file: Path, window: int, parallel: int = 1) -> Iterator[Served]:
    """Serve `file` with one thread: several are much slower on a busy machine."""
    process = ModelProcess(Order(file=str(file), name="tiny", window=window, parallel=parallel), os.environ)
    try:
        yield Served(process, asyncio.run(process.address()), window)
    finally:
        asyncio.run(process.aclose())


def asks(text: str, **fields: Any) -> CompletionRequest:
    """A request with one user message; 40 tokens of answer unless told otherwise, the likeliest ones."""
    messages: tuple[Message, ...] = (UserMessage(text),)
    request = CompletionRequest(model="tiny", messages=messages, max_tokens=40, temperature=0.0)
    return msgspec.structs.replace(request, **fields)


async def answered(served: Served, request: CompletionRequest) -> MessageAssembler:
    """The whole answer."""
    gathered = MessageAssembler()
    for chunk in await chunks_of(served, request):
        gathered.add(chunk)
    return gathered


async def chunks_of(served: Served, request: CompletionRequest) -> list[Chunk]:
    """The whole answer in its pieces."""
    async with served.provider() as provider, aclosing(provider.stream(request)) as chunks:
        return [chunk async for chunk in chunks]
