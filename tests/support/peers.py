"""Programs that take connections on the loopback: model servers of every kind, and what else runs on their ports."""

import asyncio
import json
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import Any

Peer = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
"""What one connection gets."""


@asynccontextmanager
async def serving(peer: Peer, host: str = "127.0.0.1", port: int = 0) -> AsyncIterator[str]:
    """The address at which `peer` answers every connection."""
    running: set[asyncio.Task[None] | None] = set()

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        running.add(asyncio.current_task())
        with suppress(asyncio.CancelledError, OSError, asyncio.IncompleteReadError):
            await peer(reader, writer)
        writer.close()

    server = await asyncio.start_server(connected, host, port)
    port = server.sockets[0].getsockname()[1]
    try:
        yield f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
    finally:
        server.close()
        for task in running:
            if task:
                task.cancel()
        await asyncio.gather(*(task for task in running if task), return_exceptions=True)


@contextmanager
def closed_ports(count: int) -> Iterator[list[str]]:
    """Addresses where nobody takes connections, and nobody else can begin to."""
    sockets = [socket.socket() for _ in range(count)]
    try:
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        yield [f"http://127.0.0.1:{each.getsockname()[1]}" for each in sockets]
    finally:
        for each in sockets:
            each.close()


def answer(body: Any, status: int = 200, **headers: str) -> bytes:
    """An HTTP answer: JSON, unless `body` is bytes already."""
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    named = {"content-type": "application/json", "content-length": str(len(content))}
    named |= {name.replace("_", "-"): value for name, value in headers.items()}
    lines = [f"HTTP/1.1 {status} Something", *(f"{name}: {value}" for name, value in named.items())]
    return "\r\n".join((*lines, "", "")).encode() + content


NOT_FOUND = answer({"error": {"message": "File Not Found", "type": "not_found_error", "code": 404}}, 404)


class Site:
    """Answers by path, `other` where there is none; `key` must come with every request where it is set. Everything
    asked for is in `asked`, the keys that came in `keys`."""

    def __init__(self, pages: Mapping[str, bytes], other: bytes = NOT_FOUND, *, key: str = "", refusal: bytes = b""):
        self.pages = pages
        self.other = other
        self.key = key
        self.refusal = refusal or answer({"error": {"message": "Invalid API Key"}}, 401)
        self.asked: list[str] = []
        self.keys: list[str] = []
        self.open_paths: frozenset[str] = frozenset()  # those that need no key

    async def __call__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        path = head.split(" ", 2)[1]
        sent = [line.split(" ", 1)[1] for line in head.split("\r\n") if line.lower().startswith("authorization:")]
        self.asked.append(path)
        self.keys += sent
        if self.key and path not in self.open_paths and sent != [f"Bearer {self.key}"]:
            writer.write(self.refusal)
        else:
            writer.write(self.pages.get(path, self.other))
        await writer.drain()


def says(words: bytes) -> Peer:
    """A program that says its words as soon as somebody connects, and waits."""

    async def peer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(words)
        await writer.drain()
        await reader.read()

    return peer


def replies(words: bytes) -> Peer:
    """A program that answers the first line with `words` and waits."""

    async def peer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readline()
        await says(words)(reader, writer)

    return peer


def repeats(head: bytes, words: bytes, seconds: float = 0.0) -> Peer:
    """A program that answers `head` and then the same words again and again, as long as somebody listens."""

    async def peer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(head)
        while not writer.is_closing():
            writer.write(words)
            await writer.drain()
            await asyncio.sleep(seconds)

    return peer


async def hangs_up(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """A program that closes every connection at once."""


async def hangs(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """A program that takes connections and says nothing."""
    await asyncio.Event().wait()


# --- model servers, as they answer


def ollama(*, key: str = "") -> Site:
    tag = {
        "name": "qwen3:8b",
        "model": "qwen3:8b",
        "details": {"family": "qwen3", "parameter_size": "8.2B", "quantization_level": "Q4_K_M"},
        "capabilities": ["completion", "tools", "thinking"],
    }
    embedder = {"name": "bge-m3:latest", "details": {"family": "bert"}, "capabilities": ["embedding"]}
    listed = [{"id": "qwen3:8b", "object": "model", "owned_by": "library"}]
    return Site(
        {
            "/api/version": answer({"version": "0.32.0"}),
            "/api/tags": answer({"models": [tag, embedder]}),
            "/api/ps": answer({"models": [{"name": "qwen3:8b", "context_length": 4096}]}),
            "/v1/models": answer({"object": "list", "data": listed}),
        },
        answer(b"404 page not found", 404, content_type="text/plain"),
        key=key,
    )


def lm_studio(*models: Mapping[str, Any]) -> Site:
    loaded = {"id": "qwen/qwen3-8b", "type": "llm", "state": "loaded", "loaded_context_length": 4096}
    other = {"id": "phi-4", "type": "llm", "state": "not-loaded"}
    embedder = {"id": "nomic-v1.5", "type": "embeddings", "state": "not-loaded"}
    data = list(models) or [other, loaded, embedder]
    listed = [{"id": model["id"], "object": "model", "owned_by": "organization_owner"} for model in data]
    return Site(
        {
            "/api/v0/models": answer({"object": "list", "data": data}),
            "/v1/models": answer({"object": "list", "data": listed}),
        },
        answer({"error": "Unexpected endpoint or method. (GET /api/version)"}),
    )


def llama_cpp(name: str = "tiny", *, key: str = "") -> Site:
    entry = {"id": name, "object": "model", "owned_by": "llamacpp", "meta": {"n_ctx": 8192, "n_ctx_train": 32768}}
    props = {"default_generation_settings": {"n_ctx": 4096}, "chat_template_caps": {"supports_tools": True}}
    pages = {"/v1/models": answer({"object": "list", "data": [entry]}), "/props": answer(props)}
    return Site(pages, key=key)


def listing(*entries: Mapping[str, Any]) -> Site:
    """Any other OpenAI-compatible server."""
    return Site({"/v1/models": answer({"object": "list", "data": list(entries)})})


def vllm(name: str = "Qwen/Qwen3-8B") -> Site:
    return listing({"id": name, "object": "model", "owned_by": "vllm", "max_model_len": 40960})
