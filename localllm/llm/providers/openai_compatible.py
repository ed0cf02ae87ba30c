"""The provider for servers with OpenAI's chat completions API."""

from collections.abc import AsyncGenerator, Mapping, Sequence
from pathlib import Path

import msgspec

from localllm.base.errors import LLMConnectionError
from localllm.base.events import Json
from localllm.base.jsontext import decode_json, encode_with_list
from localllm.config.schema import SECRET_VARIABLES, LLMSettings
from localllm.llm.addresses import api_root, server_root
from localllm.llm.http.sse import ServerSentEvent
from localllm.llm.http.transport import HttpRequest
from localllm.llm.messages import (
    AssistantMessage,
    CompletionRequest,
    Image,
    Message,
    SystemMessage,
    ToolMessage,
    ToolSpec,
    UserMessage,
)
from localllm.llm.overflow import overflow_of
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
from localllm.llm.providers.embedding import EmbeddingProvider, embedding_body, parse_embeddings
from localllm.llm.providers.http_provider import (
    DONE,
    AnswerParser,
    EventParser,
    FilteredChunk,
    check_address,
    key_from,
)
from localllm.llm.providers.openai_errors import BLANK, ErrorReader, error_in, filtered_categories
from localllm.llm.providers.openai_models import (
    ModelEntry,
    find_model,
    parse_embedding_models,
    parse_entries,
    parse_free_slot,
    parse_slot_count,
    told_by_props,
)
from localllm.llm.providers.vision import Sight, base64_text


def parse_event(event: ServerSentEvent, errors: ErrorReader) -> list[Chunk]:
    """Parse one event of a stream. Raises LLMConnectionError for an error in it, ValueError for invalid data."""
    if event.data.strip() == "[DONE]":
        return [DONE]
    if event.event == "error":
        raise errors.of_stream(event.data.encode())
    return parse_body(event.data.encode(), errors)


def parse_whole(body: bytes, errors: ErrorReader) -> list[Chunk]:
    """Parse an answer that came whole although a stream was requested. Raises like parse_event."""
    if chunks := parse_body(body, errors):
        return [*chunks, DONE]
    raise ValueError(f"it holds no answer: {body.decode('utf-8', errors='replace')}")


def parse_body(body: bytes, errors: ErrorReader) -> list[Chunk]:
    """Parse one JSON object, a whole answer or a stream's event. Raises like parse_event."""
    try:
        answer = decode_json(body.strip(BLANK), _ChatAnswer)
    except msgspec.ValidationError:
        if error_in(decode_json(body.strip(BLANK))):
            raise errors.of_stream(body) from None
        raise
    if answer.error or (not answer.choices and error_in(decode_json(body.strip(BLANK)))):
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
    if choice.finish_reason == "content_filter":
        chunks.append(FilteredChunk("content_filter", filtered_categories(choice.content_filter_results)))
    elif choice.finish_reason:
        chunks.append(FinishChunk(choice.finish_reason))
    return chunks


def _usage_chunks(answer: "_ChatAnswer") -> list[Chunk]:
    """Return the token counts if readable: the answer matters more than its count."""
    try:
        usage = decode_json(answer.usage, _Usage | None)
        timings = decode_json(answer.timings, _Timings | None) or _Timings()
    except msgspec.DecodeError:
        return []
    if usage is None or not (usage.prompt_tokens or usage.completion_tokens):
        return []
    details = usage.prompt_tokens_details or _CachedTokens()
    cached = details.cached_tokens or usage.prompt_cache_hit_tokens or timings.cache_n or 0
    seconds = (timings.predicted_ms or 0) / 1000
    return [UsageChunk(usage.prompt_tokens or 0, usage.completion_tokens or 0, cached, seconds)]


# The server's JSON, reduced to the fields used. Everything may be missing or null.


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
    content_filter_results: Json = None


class _CachedTokens(msgspec.Struct):
    cached_tokens: int | None = None


class _Usage(msgspec.Struct):
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    prompt_tokens_details: _CachedTokens | None = None
    prompt_cache_hit_tokens: int | None = None


class _Timings(msgspec.Struct):
    cache_n: int | None = None
    predicted_ms: float | None = None


class _ChatAnswer(msgspec.Struct):
    choices: list[_Choice] | None = None
    usage: msgspec.Raw = msgspec.Raw(b"null")
    timings: msgspec.Raw = msgspec.Raw(b"null")
    error: Json = None


_DISPENSABLE = frozenset(
    {"temperature", "max_tokens", "max_completion_tokens", "stream_options", "stop", "chat_template_kwargs"}
)
"""Parameters a request can omit. Reasoning models require max_completion_tokens instead of max_tokens and refuse stop
and any temperature but their own; old API versions refuse stream_options."""

_LIMITS = frozenset({"max_tokens", "max_completion_tokens"})

_CONSTRAINING = frozenset({"llamacpp", "vllm", "sglang"})
"""`owned_by` of the models of servers that enforce JSON schemas.
They also accept parameters for the model's chat template, such as enable_thinking (Qwen, GLM, DeepSeek …)."""


class OpenAICompatible(EmbeddingProvider):
    """A server under `base_url`. `idle_timeout`: seconds of silence allowed within an answer.

    A parameter that a model refuses is omitted from its later requests, and so are images.
    """

    def __init__(
        self,
        name: str,
        base_url: str,
        *,
        timeout: float,
        idle_timeout: float,
        api_key: str = "",
        key_variable: str = "",
        key_header: str = "authorization",
    ) -> None:
        super().__init__(
            name,
            api_root(base_url),
            timeout=timeout,
            idle_timeout=idle_timeout,
            api_key=api_key,
            key_variable=key_variable,
            key_header=key_header,
        )
        self._refused: dict[str, frozenset[str]] = {}
        self._had_no_room: set[str] = set()
        self._sight = Sight()
        self._is_llama_cpp = self._fills_templates = False
        self._slots = 0
        self.has_one_model = False
        self.constrains = self.constrains or self.address.startswith("https://api.openai.com/")

    def prepare(self, request: CompletionRequest, *, refused: frozenset[str] = frozenset()) -> HttpRequest:
        """Return the HTTP request for `request`, without the parameters in `refused`.
        Tools and messages come last, so that a conversation's next request has this one as a prefix."""
        limit = "max_completion_tokens" if "max_tokens" in refused else "max_tokens"
        optional: dict[str, Json] = {
            "stream_options": None if request.whole else {"include_usage": True},
            "temperature": request.temperature,
            limit: request.max_tokens or None,
            "stop": request.stop or None,
            "response_format": response_format(request.schema),
            "id_slot": self._slot_of(request),
        }
        if self._fills_templates and not request.thinking:
            optional["chat_template_kwargs"] = {"enable_thinking": False}
        body: dict[str, Json] = {"model": request.model, "stream": not request.whole}
        body |= {name: value for name, value in optional.items() if value is not None and name not in refused}
        if request.tools:
            if request.tool_choice != "auto":
                body["tool_choice"] = request.tool_choice
            body["tools"] = [tool_json(tool) for tool in request.tools]
        messages = map(encoded_message, request.messages)
        return self._sent(request, self._chat_url(request.model), encode_with_list(body, "messages", messages))

    def stream(self, request: CompletionRequest) -> AsyncGenerator[Chunk]:
        """Stream the answer; see Provider."""

        for_now: set[str] = set()

        def prepare() -> HttpRequest:
            refused = self._refused.get(request.model, frozenset()) | for_now
            return self.prepare(self._sight.adapted(request), refused=refused)

        def learn(error: LLMConnectionError) -> bool:
            return self._sight.learns(request, error) or self._learn(request.model, error, for_now)

        return self._answer(prepare, request.model, learn)

    async def list_models(self) -> list[ModelInfo]:
        """Return the models the server offers, without those named like embedding models; see Provider."""
        return [entry.info for entry in await self._listed()]

    async def describe(self, model: str, listed: Sequence[ModelInfo] = ()) -> ModelInfo:
        """Return the model's entry in the list, with llama.cpp's /props, which has the window of one slot."""
        return self._sight.told(await self._described(model, listed))

    async def list_embedding_models(self) -> list[str]:
        """Return the models named like embedding models, loaded ones first; see Embedding."""
        body = await self._fetch(f"{self.address}/models")
        return self._errors.guard(lambda: parse_embedding_models(body))

    def prepare_embedding(self, texts: Sequence[str], model: str) -> HttpRequest:
        """See EmbeddingProvider."""
        return HttpRequest("POST", self._embeddings_url(model), self._headers, embedding_body(texts, model))

    def parse_embeddings(self, body: bytes) -> Embeddings:
        """See EmbeddingProvider."""
        return parse_embeddings(body)

    async def free_slot(self) -> int | None:
        """See Slots: llama.cpp reports them if it has several, unless it was started with --no-slots."""
        if self._slots <= 1:
            return None
        try:
            return parse_free_slot(await self._fetch(f"{server_root(self.address)}/slots"))
        except (LLMConnectionError, msgspec.DecodeError):
            return None

    async def _described(self, model: str, listed: Sequence[ModelInfo]) -> ModelInfo:
        info = find_model(model, listed or await self.list_models())
        if not self._is_llama_cpp:
            return info
        try:
            props = await self._fetch(f"{server_root(self.address)}/props")
            self._slots = parse_slot_count(props)
            return told_by_props(props, info)
        except (LLMConnectionError, msgspec.DecodeError):
            return info

    def _slot_of(self, request: CompletionRequest) -> int | None:
        """Return the requested slot if this server has it: a request for a missing one would wait forever."""
        return request.slot if request.slot is not None and request.slot < self._slots else None

    def _chat_url(self, model: str) -> str:
        """Return the chat completions URL; the same for all models except on Azure."""
        return f"{self.address}/chat/completions"

    def _embeddings_url(self, model: str) -> str:
        """Return the embeddings URL; see `_chat_url`."""
        return f"{self.address}/embeddings"

    def _learn(self, model: str, error: LLMConnectionError, for_now: set[str]) -> bool:
        """Return whether `error` is about parameters requests to `model` can omit, and omit them from now on. The limit
        of an answer that does not fit is at first omitted from this request alone (`for_now`): the answer's token count
        calibrates the estimate."""
        refused = self._refused.get(model, frozenset())
        superfluous = _refused_by(error) & _DISPENSABLE - refused - for_now
        if superfluous and superfluous <= _LIMITS and overflow_of(error) and model not in self._had_no_room:
            self._had_no_room.add(model)
            for_now |= superfluous
        else:
            self._refused[model] = refused | superfluous
        return bool(superfluous)

    async def _listed(self) -> list[ModelEntry]:
        body = await self._fetch(f"{self.address}/models")
        entries = self._errors.guard(lambda: parse_entries(body))
        self._fills_templates = any(entry.owned_by in _CONSTRAINING for entry in entries)
        self.constrains = self.constrains or self._fills_templates
        self._is_llama_cpp = any(entry.is_llama_cpp for entry in entries)
        self.has_one_model = self.has_one_model or len(entries) == 1  # after a restart it may be another number
        return entries

    def _parser(self) -> AnswerParser:
        errors = self._errors
        return EventParser(lambda event: parse_event(event, errors), lambda whole: parse_whole(whole, errors), errors)


def _refused_by(error: LLMConnectionError) -> frozenset[str]:
    """Return the parameters an error is about. If the prompt fits but not the requested answer, it is the answer's
    limit: servers that refuse such a request (vLLM, llama-cpp-python) give it the remaining room without one."""
    if error.key == "llm_parameter_refused":
        return frozenset({str(error.params["parameter"])})
    overflow = overflow_of(error)
    return _LIMITS if overflow and overflow.is_of_the_answer else frozenset()


def message_json(message: Message) -> dict[str, Json]:
    """Return a message in OpenAI's form."""
    match message:
        case SystemMessage(text):
            return {"role": "system", "content": text}
        case UserMessage(text, ()):
            return {"role": "user", "content": text}
        case UserMessage(text, images):
            return {"role": "user", "content": [*_text_part(text), *(_image_part(image) for image in images)]}
        case ToolMessage(call_id, _, text):
            return {"role": "tool", "tool_call_id": call_id, "content": text}
        case AssistantMessage(text, tool_calls, thinking):
            answer: dict[str, Json] = {"role": "assistant", "content": text}
            if thinking:
                answer["reasoning_content"] = thinking
            if tool_calls:
                answer["tool_calls"] = [
                    {
                        "id": call.id,
                        "type": "function",
                        "function": {"name": call.name, "arguments": replayable(call.arguments)},
                    }
                    for call in tool_calls
                ]
            return answer


encoded_message = message_encoder(message_json)


def _text_part(text: str) -> list[Json]:
    return [{"type": "text", "text": text}] if text else []


def _image_part(image: Image) -> dict[str, Json]:
    return {"type": "image_url", "image_url": {"url": f"data:{image.media_type};base64,{base64_text(image)}"}}


def tool_json(tool: ToolSpec) -> dict[str, Json]:
    """Return a tool in OpenAI's form."""
    return {
        "type": "function",
        "function": {"name": tool.name, "description": tool.description, "parameters": tool.parameters},
    }


def response_format(schema: dict[str, Json] | None) -> dict[str, Json] | None:
    """Return the parameter that makes a server enforce `schema`."""
    if schema is None:
        return None
    return {"type": "json_schema", "json_schema": {"name": "answer", "schema": schema, "strict": True}}


def replayable(arguments: str) -> str:
    """Return the arguments unchanged, or wrapped in an object if they are not a JSON object.

    Servers parse the arguments of earlier calls to fill their chat template, and fail on invalid JSON.
    """
    try:
        if isinstance(decode_json(arguments, object), dict):
            return arguments
    except msgspec.DecodeError:
        pass
    return msgspec.json.encode({"malformed": arguments}).decode()


def make(settings: LLMSettings, root: Path, environ: Mapping[str, str]) -> OpenAICompatible:
    """Create the provider from the settings, with the key in `environ`. Raises ConfigurationError."""
    del root  # not used: a server belongs to no project
    server = settings.openai
    check_address("openai", server.base_url)
    variable = SECRET_VARIABLES["llm.openai.api_key"]
    made = OpenAICompatible(
        "openai",
        server.base_url,
        timeout=server.timeout,
        idle_timeout=server.idle_timeout,
        api_key=key_from(variable, environ),
        key_variable=variable,
    )
    made.keep_key_back()
    return made
