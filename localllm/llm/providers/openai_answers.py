"""What OpenAI-compatible servers answer: the chunks in their events, and in whole answers."""

import msgspec

from localllm.base.events import Json
from localllm.llm.http.sse import ServerSentEvent
from localllm.llm.providers.base import (
    Chunk,
    FinishChunk,
    TextChunk,
    ThinkingChunk,
    ToolCallChunk,
    UsageChunk,
)
from localllm.llm.providers.http_provider import DONE, FilteredChunk
from localllm.llm.providers.openai_errors import BLANK, ErrorReader, error_in, filtered_categories


def parse_event(event: ServerSentEvent, errors: ErrorReader) -> list[Chunk]:
    """The chunks in one event of a stream. Raises LLMConnectionError for an error in it, ValueError for nonsense."""
    if event.data.strip() == "[DONE]":
        return [DONE]
    if event.event == "error":
        raise errors.of_stream(event.data.encode())
    return parse_body(event.data.encode(), errors)


def parse_whole(body: bytes, errors: ErrorReader) -> list[Chunk]:
    """The chunks of an answer that came whole although a stream was asked for. Raises as parse_event does."""
    if chunks := parse_body(body, errors):
        return [*chunks, DONE]
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
    if choice.finish_reason == "content_filter":
        chunks.append(FilteredChunk("content_filter", filtered_categories(choice.content_filter_results)))
    elif choice.finish_reason:
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
    cached = details.cached_tokens or usage.prompt_cache_hit_tokens or timings.cache_n or 0
    seconds = (timings.predicted_ms or 0) / 1000
    return [UsageChunk(usage.prompt_tokens or 0, usage.completion_tokens or 0, cached, seconds)]


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
