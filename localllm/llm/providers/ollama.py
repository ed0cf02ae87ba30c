"""Ollama's own API: /api/chat over NDJSON, because its /v1 can set neither the window nor thinking."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Iterator, Mapping, Sequence
from contextlib import aclosing, suppress
from pathlib import Path
from typing import TypeVar

import msgspec

from localllm.base.errors import LLMConnectionError
from localllm.base.events import Json
from localllm.base.jsontext import decode_json, encode_json, encode_with_list
from localllm.base.offline import is_direct
from localllm.config.project_server import OWN_SERVERS_ONLY
from localllm.config.schema import SECRET_VARIABLES, LLMSettings
from localllm.llm.addresses import ollama_base_url, server_root
from localllm.llm.http.sse import NDJSONDecoder
from localllm.llm.http.transport import HttpRequest
from localllm.llm.messages import (
    AssistantMessage,
    CompletionRequest,
    Message,
    SystemMessage,
    ToolMessage,
    UserMessage,
)
from localllm.llm.offline_servers import refuse_model_elsewhere
from localllm.llm.providers.base import (
    Chunk,
    Embeddings,
    FinishChunk,
    ModelInfo,
    TextChunk,
    ThinkingChunk,
    ToolCallChunk,
    UsageChunk,
    message_encoder,
)
from localllm.llm.providers.embedding import EmbeddingProvider
from localllm.llm.providers.http_provider import DONE, AnswerParser, check_address, key_from
from localllm.llm.providers.ollama_models import (
    Shown,
    TagEntry,
    choose_window,
    full_name,
    list_info,
    parse_running,
    parse_shown,
    parse_tags,
    shown_info,
)
from localllm.llm.providers.openai_compatible import replayable, tool_json
from localllm.llm.providers.openai_errors import BLANK, ErrorReader, error_in
from localllm.llm.providers.vision import Sight, base64_text

_SECONDS_TO_TELL = 3.0
"""Timeout for the model's description before its first request; then the window is chosen without one."""

T = TypeVar("T")

Think = bool | str | None
"""Ollama's `think`: false, true or a level; None leaves it to the model."""


class Ollama(EmbeddingProvider):
    """A server at `base_url`. `num_ctx` is the requested window in tokens; 0 lets the provider choose it.

    A model's window is chosen once and is the same in all its requests, since another would make Ollama reload the
    model. `think`: auto (omit the parameter), off, on, low, medium or high. `is_named`: the user has named
    the model, so that it may run elsewhere.
    """

    constrains: bool = True

    def __init__(
        self,
        base_url: str,
        *,
        timeout: float,
        idle_timeout: float,
        api_key: str = "",
        num_ctx: int = 0,
        think: str = "auto",
        is_named: bool = True,
    ) -> None:
        super().__init__(
            "ollama",
            server_root(base_url),
            timeout=timeout,
            idle_timeout=idle_timeout,
            api_key=api_key,
            key_variable="OLLAMA_API_KEY",
        )
        self._seconds_to_tell = min(timeout, _SECONDS_TO_TELL)
        self._num_ctx = num_ctx
        self._think = _as_ollama_takes_it(think)
        self._windows: dict[str, int] = {}
        self._choosing = asyncio.Lock()
        self._unthinking: set[str] = set()
        self._sight = Sight()
        self._is_named = is_named
        self._placed: set[str] = set()
        """Models of which the server has told whether they are among `_remote`, which run elsewhere."""
        self._remote: set[str] = set()

    def prepare(self, request: CompletionRequest, *, num_ctx: int, think: Think = None) -> HttpRequest:
        """Return the HTTP request for `request`.
        Messages come last, so that a conversation's next request has this one as a prefix.

        There is no tool choice: the tools are always sent, since without them the server would have to process the
        whole prompt again.
        """
        options: dict[str, Json] = {"num_ctx": num_ctx}
        if request.temperature is not None:
            options["temperature"] = request.temperature
        if request.max_tokens:
            options["num_predict"] = request.max_tokens
        if request.stop:
            options["stop"] = request.stop
        # By default it silently drops the oldest messages of a prompt that is too long.
        body: dict[str, Json] = {"model": request.model, "stream": not request.whole, "truncate": False, "shift": False}
        body["options"] = options
        if think is not None:
            body["think"] = think
        if request.schema is not None:
            body["format"] = request.schema
        if request.tools:
            body["tools"] = [tool_json(tool) for tool in request.tools]
        messages = map(encoded_message, request.messages)
        return self._sent(request, f"{self.address}/api/chat", encode_with_list(body, "messages", messages))

    async def stream(self, request: CompletionRequest) -> AsyncGenerator[Chunk]:
        """Stream the answer; see Provider.
        Retries a model that cannot think without `think`, one that cannot see without images."""
        self._refuse_elsewhere(request.model)
        window = await self._window(request.model)
        await self._refuse_remote(request.model)
        name = full_name(request.model)

        def wanted() -> Think:
            return None if name in self._unthinking else self._think if request.thinking else False

        def prepare() -> HttpRequest:
            return self.prepare(self._sight.adapted(request), num_ctx=window, think=wanted())

        def learn(error: LLMConnectionError) -> bool:
            if error.key != "llm_no_thinking":
                return self._sight.learns(request, error)
            learned = wanted() is not None
            self._unthinking.add(name)
            return learned

        async with aclosing(self._answer(prepare, request.model, learn)) as chunks:
            async for chunk in chunks:
                yield chunk

    def _refuse_elsewhere(self, model: str) -> None:
        is_remote = full_name(model) in self._remote
        refuse_model_elsewhere(model, self.address, is_remote=is_remote, is_named=self._is_named)

    async def _refuse_remote(self, model: str) -> None:
        """Raise LLMConnectionError for a model that must not be used as it runs elsewhere, or if it has to run here and
        the server does not tell."""
        if (not self._is_named or is_direct()) and full_name(model) not in self._placed:
            await self._tags()
        self._refuse_elsewhere(model)

    async def embed(self, texts: Sequence[str], model: str) -> Embeddings:
        """See Embedding."""
        await self._refuse_remote(model)
        return await super().embed(texts, model)

    def prepare_embedding(self, texts: Sequence[str], model: str) -> HttpRequest:
        """See EmbeddingProvider. A text that is too long is an error: by default it would be truncated silently.

        No window is set, as an embedding model has a small one of its own, unless the model is already used with one:
        another would make Ollama reload it.
        """
        body: dict[str, Json] = {"model": model, "truncate": False}
        if window := self._windows.get(full_name(model)):
            body["options"] = {"num_ctx": window}
        body["input"] = list(texts)
        return HttpRequest("POST", f"{self.address}/api/embed", self._headers, encode_json(body))

    def parse_embeddings(self, body: bytes) -> Embeddings:
        """See EmbeddingProvider."""
        return parse_embeddings(body)

    async def list_embedding_models(self) -> list[str]:
        """Return the models that run here and whose capabilities, family or name indicate embeddings; see Embedding."""
        names = [entry.name for entry in await self._tags() if entry.embeds]
        return [name for name in names if full_name(name) not in self._remote]

    async def list_models(self) -> list[ModelInfo]:
        """Return the chat models, loaded ones first with the window they are served with.
        The others have the one of their requests, where the list suffices to determine it."""
        entries = await self._tags()
        running = await _unless_it_fails(self._running())
        models = [
            list_info(entry, running, self._windows.get(full_name(entry.name), 0), self._num_ctx)
            for entry in entries
            if entry.answers
        ]
        return sorted(models, key=lambda info: not info.loaded)

    async def describe(self, model: str, listed: Sequence[ModelInfo] = ()) -> ModelInfo:
        """Return the model with the window of its requests from now on."""
        async with self._choosing:
            return await self._learn(model)

    async def _tags(self) -> list[TagEntry]:
        body = await self._fetch(f"{self.address}/api/tags")
        entries = self._errors.guard(lambda: parse_tags(body))
        for entry in entries:
            self._place(entry.name, is_remote=bool(entry.remote_model or entry.remote_host))
        return entries

    def _place(self, model: str, *, is_remote: bool) -> None:
        self._placed.add(full_name(model))
        if is_remote:
            self._remote.add(full_name(model))

    async def _window(self, model: str) -> int:
        """Return the window of the model's requests. Raises LLMConnectionError if the connection is refused."""
        name = full_name(model)
        if name not in self._windows:
            async with self._choosing:
                if name not in self._windows:
                    await self._learn(model)
        return self._windows[name]

    async def _learn(self, model: str) -> ModelInfo:
        """Return the server's description of the model with its window, chosen now unless it was before.

        Failures of /api/show and /api/ps are ignored: the request itself may succeed.
        """
        shown, running, name = None, None, full_name(model)
        with suppress(TimeoutError):
            async with asyncio.timeout(self._seconds_to_tell):
                shown = await _unless_it_fails(self._show(model))
                running = await _unless_it_fails(self._running())
        if shown:
            self._place(model, is_remote=bool(shown.remote_model or shown.remote_host))
        shown = shown or Shown()
        window = choose_window(self._num_ctx, shown, (running or {}).get(name, 0))
        return self._sight.told(shown_info(model, shown, self._windows.setdefault(name, window), running))

    async def _show(self, model: str) -> Shown:
        body = await self._fetch(f"{self.address}/api/show", encode_json({"model": model}))
        return self._errors.guard(lambda: parse_shown(body))

    async def _running(self) -> dict[str, int]:
        """Return the loaded models by full name, and the window each is served with, in tokens."""
        body = await self._fetch(f"{self.address}/api/ps")
        return self._errors.guard(lambda: parse_running(body))

    def _parser(self) -> AnswerParser:
        return _LineParser(self._errors)


async def _unless_it_fails(asked: Awaitable[T]) -> T | None:
    """Return the result; None if the server fails. Raises LLMConnectionError if the connection is refused."""
    try:
        return await asked
    except LLMConnectionError as error:
        if error.key == "llm_refused":
            raise
        return None


def _as_ollama_takes_it(think: str) -> Think:
    match think:
        case "auto":
            return None
        case "on" | "off":
            return think == "on"
        case _:
            return think


def message_json(message: Message) -> dict[str, Json]:
    """Return a message in Ollama's form: like OpenAI's, but arguments are objects and a result names its tool."""
    match message:
        case SystemMessage(text):
            return {"role": "system", "content": text}
        case UserMessage(text, ()):
            return {"role": "user", "content": text}
        case UserMessage(text, images):
            return {"role": "user", "content": text, "images": [base64_text(image) for image in images]}
        case ToolMessage(call_id, name, text):
            return {"role": "tool", "content": text, "tool_name": name, "tool_call_id": call_id}
        case AssistantMessage(text, tool_calls, thinking):
            answer: dict[str, Json] = {"role": "assistant", "content": text}
            if thinking:
                answer["thinking"] = thinking
            if tool_calls:
                answer["tool_calls"] = [
                    {"id": call.id, "function": {"name": call.name, "arguments": _object(call.arguments)}}
                    for call in tool_calls
                ]
            return answer


encoded_message = message_encoder(message_json)


def parse_embeddings(body: bytes) -> Embeddings:
    """Parse the embeddings in a response of /api/embed. Raises msgspec.DecodeError."""
    answer = decode_json(body, _Embedded)
    return Embeddings(answer.embeddings, answer.prompt_eval_count or 0)


def _object(arguments: str) -> Json:
    return decode_json(replayable(arguments))


class _LineParser:
    """Parses JSON lines into chunks. Calls are numbered here: each comes whole, and servers repeat their index."""

    collects = False

    def __init__(self, errors: ErrorReader) -> None:
        self._errors = errors
        self._decoder = NDJSONDecoder()
        self._calls = 0

    def feed(self, data: bytes) -> Iterator[Chunk]:
        return self._parse(self._decoder.feed(data))

    def close(self) -> Iterator[Chunk]:
        return self._parse(self._decoder.close(), at_end=True)

    def _parse(self, lines: list[bytes], *, at_end: bool = False) -> Iterator[Chunk]:
        for line in lines:
            if text := line.strip(BLANK):
                chunks = self._errors.guard(
                    lambda text=text: parse_line(text, self._calls, self._errors), at_end=at_end
                )
                self._calls += sum(isinstance(chunk, ToolCallChunk) for chunk in chunks)
                yield from chunks


def parse_line(line: bytes, calls: int, errors: ErrorReader) -> list[Chunk]:
    """Parse one line of an answer that has contained `calls` tool calls so far.

    Raises LLMConnectionError for an error in it, ValueError for invalid data.
    """
    said = decode_json(line, _Line)
    if said.error or (said.message is None and not said.done):
        if error_in(decode_json(line)):
            raise errors.of_stream(line)
        raise ValueError(f"it holds no answer: {line.decode('utf-8', errors='replace')}")
    message = said.message or _Message()
    chunks: list[Chunk] = []
    if message.thinking:
        chunks.append(ThinkingChunk(message.thinking))
    if message.content:
        chunks.append(TextChunk(message.content))
    chunks += [_call_chunk(calls + position, call) for position, call in enumerate(message.tool_calls or ())]
    if said.done:
        called = calls or message.tool_calls
        reason = said.done_reason or "stop"
        chunks.append(FinishChunk("tool_calls" if called and reason == "stop" else reason))
        chunks += [*_usage_chunks(said), DONE]
    return chunks


def _call_chunk(index: int, call: "_Call") -> ToolCallChunk:
    arguments = call.function.arguments
    text = arguments if isinstance(arguments, str) else msgspec.json.encode(arguments or {}).decode()
    return ToolCallChunk(index, call.id or "", call.function.name, text)


def _usage_chunks(said: "_Line") -> list[Chunk]:
    """Return the token counts. Some versions omit the prompt's if all of it was cached: then none are returned, as zero
    prompt tokens would be wrong."""
    if not said.prompt_eval_count:
        return []
    seconds = (said.eval_duration or 0) / 1_000_000_000
    return [UsageChunk(said.prompt_eval_count, said.eval_count or 0, generation_seconds=seconds)]


# The server's JSON, reduced to the fields used.


class _Function(msgspec.Struct):
    name: str
    arguments: Json = None


class _Call(msgspec.Struct):
    function: _Function
    id: str | None = None


class _Message(msgspec.Struct):
    content: str | None = None
    thinking: str | None = None
    tool_calls: list[_Call] | None = None


class _Embedded(msgspec.Struct):
    embeddings: tuple[tuple[float, ...], ...]
    prompt_eval_count: int | None = None


class _Line(msgspec.Struct):
    message: _Message | None = None
    done: bool | None = None
    done_reason: str | None = None
    prompt_eval_count: int | None = None
    eval_count: int | None = None
    eval_duration: int | None = None
    error: Json = None


def make(settings: LLMSettings, root: Path, environ: Mapping[str, str]) -> Ollama:
    """Create the provider from the settings, with the key in `environ`. Raises ConfigurationError."""
    del root  # not used: a server belongs to no project
    server = settings.ollama
    base_url = ollama_base_url(server.base_url, environ)
    check_address("ollama", base_url)
    variable = SECRET_VARIABLES["llm.ollama.api_key"]
    return Ollama(
        base_url,
        timeout=server.timeout,
        idle_timeout=server.idle_timeout,
        api_key=key_from(variable, environ),
        num_ctx=settings.context_window,
        think=server.think,
        is_named=not environ.get(OWN_SERVERS_ONLY),
    )
