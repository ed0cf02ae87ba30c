"""Any server that speaks OpenAI's chat completions: LM Studio, llama.cpp, vLLM, a LiteLLM proxy, …"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import aclosing, suppress

import msgspec

from localllm.base.errors import LLMConnectionError
from localllm.base.events import Json
from localllm.base.jsontext import encode_json
from localllm.llm.addresses import api_root
from localllm.llm.messages import (
    AssistantMessage,
    CompletionRequest,
    Message,
    SystemMessage,
    ToolMessage,
    ToolSpec,
    UserMessage,
)
from localllm.llm.providers.base import (
    Chunk,
    FinishChunk,
    ModelInfo,
    TextChunk,
    ThinkingChunk,
    ToolCallChunk,
    UsageChunk,
)
from localllm.llm.providers.openai_errors import BLANK, ErrorReader, error_in
from localllm.llm.transport import HttpFailure, HttpRequest, HttpTransport
from localllm.llm.wire import ServerSentEvent, SSEDecoder

_DONE = FinishChunk("")
_RELEASE_SECONDS = 0.25

_HARMLESS_AFTER_THE_FINISH = frozenset({"llm_cut", "llm_idle", "llm_malformed"})
"""What may go wrong once the finish reason has come: only the token counts are lost."""


class OpenAICompatible:
    """A server under `base_url`. `idle_timeout` is how many seconds of silence an answer may hold."""

    def __init__(
        self,
        name: str,
        base_url: str,
        *,
        timeout: float,
        idle_timeout: float,
        api_key: str = "",
        key_variable: str = "",
    ) -> None:
        self.name = name
        self.address = api_root(base_url)
        self._idle_timeout = idle_timeout
        self._headers = {"content-type": "application/json"}
        if api_key:
            self._headers["authorization"] = f"Bearer {api_key}"
        self._transport = HttpTransport(name, self.address, timeout)
        self._errors = ErrorReader(name, self.address, key_variable)

    def prepare(self, request: CompletionRequest) -> HttpRequest:
        """The HTTP request for `request`. Tools and messages come last, so that the bytes of a conversation's
        next request begin with all of this one's."""
        body: dict[str, Json] = {"model": request.model, "stream": True, "stream_options": {"include_usage": True}}
        if request.temperature is not None:
            body["temperature"] = request.temperature
        if request.max_tokens:
            body["max_tokens"] = request.max_tokens
        if request.tools:
            if request.tool_choice != "auto":
                body["tool_choice"] = request.tool_choice
            body["tools"] = [tool_json(tool) for tool in request.tools]
        body["messages"] = [message_json(message) for message in request.messages]
        return HttpRequest("POST", f"{self.address}/chat/completions", self._headers, encode_json(body))

    async def stream(self, request: CompletionRequest) -> AsyncGenerator[Chunk]:
        """The answer as it arrives; see Provider."""
        ended = finished = False
        try:
            opened = self._transport.stream(self.prepare(request))
            async with opened as body, aclosing(self._chunks(body)) as chunks:
                async for chunk in chunks:
                    if isinstance(chunk, FinishChunk):
                        ended, finished = True, finished or bool(chunk.reason)
                    yield chunk
        except HttpFailure as failure:
            raise await self._explain(failure, request.model) from failure
        except LLMConnectionError as error:
            if not (finished and error.key in _HARMLESS_AFTER_THE_FINISH):
                raise
        if not ended:
            raise self._errors.cut()

    async def list_models(self) -> list[ModelInfo]:
        """What the server offers; embedding models are left out where their names tell."""
        try:
            body = await self._transport.fetch(HttpRequest("GET", f"{self.address}/models", self._headers))
        except HttpFailure as failure:
            raise self._errors.of_status(failure.status, failure.headers, failure.body) from failure
        self._errors.refuse_html(body)
        return self._errors.guard(lambda: parse_models(body))

    async def aclose(self) -> None:
        """Close the connections."""
        await self._transport.aclose()

    async def _chunks(self, body: AsyncIterator[bytes]) -> AsyncGenerator[Chunk]:
        """The chunks of an answer. Its form is told by its first byte: servers and gateways mislabel it."""
        head = b""
        while not head.strip(BLANK) and (piece := await self._next(body, awake=False)) is not None:
            head += piece
        self._errors.refuse_html(head)
        if head.lstrip(BLANK).startswith((b"{", b"[")):
            whole = head + await self._rest(body)
            for chunk in self._errors.guard(lambda: parse_whole(whole, self._errors)):
                yield chunk
            return
        async for chunk in self._streamed(head, body):
            yield chunk

    async def _streamed(self, head: bytes, body: AsyncIterator[bytes]) -> AsyncGenerator[Chunk]:
        """The chunks of server-sent events that begin with `head`."""
        decoder = SSEDecoder()
        awake = False
        piece: bytes | None = head
        while piece is not None:
            for chunk in self._parse(decoder.feed(piece)):
                awake = True
                yield chunk
                if chunk == _DONE:
                    await self._release(body)
                    return
            piece = await self._next(body, awake=awake)
        for chunk in self._parse(decoder.close()):
            yield chunk

    def _parse(self, events: list[ServerSentEvent]) -> Iterator[Chunk]:
        for event in events:
            yield from self._errors.guard(lambda event=event: parse_event(event, self._errors))

    async def _next(self, body: AsyncIterator[bytes], *, awake: bool) -> bytes | None:
        """The next piece of the body, None at its end. The idle watchdog sleeps until the answer has begun:
        a server that keeps the line open with comments or an empty first delta is still reading the prompt."""
        try:
            async with asyncio.timeout(self._idle_timeout if awake else None):
                return await anext(body, None)
        except TimeoutError as error:
            raise self._errors.idle(self._idle_timeout) from error

    async def _rest(self, body: AsyncIterator[bytes]) -> bytes:
        pieces: list[bytes] = []
        while (piece := await self._next(body, awake=True)) is not None:
            pieces.append(piece)
        return b"".join(pieces)

    async def _release(self, body: AsyncIterator[bytes]) -> None:
        """Read on to the body's end, which follows at once as a rule: then the connection serves the next request.
        The answer is whole, so that whatever goes wrong here is no matter."""
        with suppress(TimeoutError, LLMConnectionError):
            async with asyncio.timeout(_RELEASE_SECONDS):
                async for _ in body:
                    pass

    async def _explain(self, failure: HttpFailure, model: str) -> LLMConnectionError:
        error = self._errors.of_status(failure.status, failure.headers, failure.body)
        if error.key != "llm_model_not_found":
            return error
        try:
            names = [info.id for info in await self.list_models()]
        except LLMConnectionError:
            names = []
        return self._errors.model_not_found(model, str(error.params["reason"]), names)


def message_json(message: Message) -> dict[str, Json]:
    """A message in OpenAI's form."""
    match message:
        case SystemMessage(text):
            return {"role": "system", "content": text}
        case UserMessage(text):
            return {"role": "user", "content": text}
        case ToolMessage(call_id, _, text):
            return {"role": "tool", "tool_call_id": call_id, "content": text}
        case AssistantMessage(text, tool_calls):
            answer: dict[str, Json] = {"role": "assistant", "content": text}
            if tool_calls:
                answer["tool_calls"] = [
                    {
                        "id": call.id,
                        "type": "function",
                        "function": {"name": call.name, "arguments": _replayable(call.arguments)},
                    }
                    for call in tool_calls
                ]
            return answer


def tool_json(tool: ToolSpec) -> dict[str, Json]:
    """A tool in OpenAI's form."""
    return {
        "type": "function",
        "function": {"name": tool.name, "description": tool.description, "parameters": tool.parameters},
    }


def _replayable(arguments: str) -> str:
    """The arguments as they were, or, where they are not a JSON object, that text inside one.

    Servers parse the arguments of earlier calls to fill their chat template, and fail on what is not JSON.
    """
    try:
        if isinstance(msgspec.json.decode(arguments), dict):
            return arguments
    except msgspec.DecodeError:
        pass
    return msgspec.json.encode({"malformed": arguments}).decode()


def parse_models(body: bytes) -> list[ModelInfo]:
    """The models of a /v1/models answer, loaded ones first where the server marks them."""
    answer = msgspec.json.decode(body, type=_ModelsAnswer)
    if answer.error:
        raise ValueError(str(answer.error))
    entries = [entry for entry in answer.data or () if "embed" not in entry.id.lower()]
    entries.sort(key=lambda entry: (entry.state or "loaded") != "loaded")
    return [ModelInfo(entry.id, entry.window) for entry in entries]


def parse_event(event: ServerSentEvent, errors: ErrorReader) -> list[Chunk]:
    """The chunks in one event of a stream. Raises LLMConnectionError for an error in it, ValueError for nonsense."""
    if event.data.strip() == "[DONE]":
        return [_DONE]
    if event.event == "error":
        raise errors.of_stream(event.data.encode())
    return parse_body(event.data.encode(), errors)


def parse_whole(body: bytes, errors: ErrorReader) -> list[Chunk]:
    """The chunks of an answer that came whole although a stream was asked for. Raises as parse_event does."""
    if chunks := parse_body(body, errors):
        return [*chunks, _DONE]
    raise ValueError(f"it holds no answer: {body.decode('utf-8', errors='replace')}")


def parse_body(body: bytes, errors: ErrorReader) -> list[Chunk]:
    """The chunks of one JSON object, whole or of a stream. Raises as parse_event does."""
    try:
        answer = msgspec.json.decode(body.strip(BLANK), type=_ChatAnswer)
    except msgspec.ValidationError:
        if error_in(msgspec.json.decode(body.strip(BLANK))):
            raise errors.of_stream(body) from None
        raise
    if answer.error or (not answer.choices and error_in(msgspec.json.decode(body.strip(BLANK)))):
        raise errors.of_stream(body)
    chunks = [chunk for choice in (answer.choices or ())[:1] for chunk in _choice_chunks(choice)]
    return [*chunks, *_usage_chunks(answer)]


def _choice_chunks(choice: "_Choice") -> list[Chunk]:
    delta = choice.delta or choice.message or _Delta()
    chunks: list[Chunk] = []
    if thinking := delta.reasoning_content or delta.reasoning or delta.thinking:
        chunks.append(ThinkingChunk(thinking))
    if delta.content:
        chunks.append(TextChunk(delta.content))
    for position, call in enumerate(delta.tool_calls or ()):
        function = call.function or _Function()
        arguments = function.arguments or ""
        text = arguments if isinstance(arguments, str) else msgspec.json.encode(arguments).decode()
        if call.id or function.name or text:
            index = position if call.index is None else call.index
            chunks.append(ToolCallChunk(index, call.id or "", function.name or "", text))
    if choice.finish_reason:
        chunks.append(FinishChunk(choice.finish_reason))
    return chunks


def _usage_chunks(answer: "_ChatAnswer") -> list[Chunk]:
    """The token counts, where there are some that can be read: an answer is worth more than its bill."""
    try:
        usage = msgspec.json.decode(answer.usage, type=_Usage | None)
        timings = msgspec.json.decode(answer.timings, type=_Timings | None) or _Timings()
    except msgspec.DecodeError:
        return []
    if usage is None or not (usage.prompt_tokens or usage.completion_tokens):
        return []
    details = usage.prompt_tokens_details or _CachedTokens()
    cached = details.cached_tokens or timings.cache_n or 0
    return [UsageChunk(usage.prompt_tokens or 0, usage.completion_tokens or 0, cached)]


# The server's JSON, as far as it is read. Everything may be missing or null.


class _Function(msgspec.Struct):
    name: str | None = None
    arguments: Json = ""


class _Call(msgspec.Struct):
    function: _Function | None = None
    index: int | None = None
    id: str | None = None


class _Delta(msgspec.Struct):
    content: str | None = None
    reasoning_content: str | None = None
    reasoning: str | None = None
    thinking: str | None = None
    tool_calls: list[_Call] | None = None


class _Choice(msgspec.Struct):
    delta: _Delta | None = None
    message: _Delta | None = None
    finish_reason: str | None = None


class _CachedTokens(msgspec.Struct):
    cached_tokens: int | None = None


class _Usage(msgspec.Struct):
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    prompt_tokens_details: _CachedTokens | None = None


class _Timings(msgspec.Struct):
    cache_n: int | None = None


class _ChatAnswer(msgspec.Struct):
    choices: list[_Choice] | None = None
    usage: msgspec.Raw = msgspec.Raw(b"null")
    timings: msgspec.Raw = msgspec.Raw(b"null")
    error: Json = None


class _ModelMeta(msgspec.Struct):
    n_ctx: int | None = None


class _ModelEntry(msgspec.Struct):
    id: str
    state: str | None = None
    loaded_context_length: int | None = None
    max_model_len: int | None = None
    meta: _ModelMeta | None = None

    @property
    def window(self) -> int:
        """LM Studio, vLLM and llama.cpp each have their own word for it."""
        return self.loaded_context_length or self.max_model_len or (self.meta and self.meta.n_ctx) or 0


class _ModelsAnswer(msgspec.Struct):
    data: list[_ModelEntry] | None = None
    error: Json = None
