"""Gemini's JSON: write requests, parse responses."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, cast

import msgspec

from localllm.base.errors import LLMConnectionError
from localllm.base.events import Json, ToolCall
from localllm.base.jsontext import decode_json
from localllm.config.schema import LLMSettings
from localllm.llm.http.sse import ServerSentEvent
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
from localllm.llm.providers.base import Chunk, FinishChunk, TextChunk, ThinkingChunk, ToolCallChunk, UsageChunk
from localllm.llm.providers.http_provider import FilteredChunk
from localllm.llm.providers.openai_compatible import replayable
from localllm.llm.providers.openai_errors import BLANK, ErrorReader, ServerError, duration_seconds, error_in, sentence
from localllm.llm.providers.vision import base64_text

_KEPT = frozenset({"type", "description", "nullable", "enum", "required", "items", "properties", "anyOf"})
"""Keywords of JSON Schema that tools use and Gemini's Schema supports; it refuses any other."""

_KEPT_OF_ANSWERS = _KEPT - {"nullable"} | {
    *("$id", "$defs", "$ref", "$anchor", "format", "title", "prefixItems", "minItems", "maxItems"),
    *("minimum", "maximum", "oneOf", "additionalProperties"),
}
"""Keywords that responseJsonSchema supports according to the reference; others are not enforced."""


def schema(node: Json) -> dict[str, Json]:
    """Convert a JSON schema to Gemini's subset; an empty one allows anything."""
    if not isinstance(node, dict):
        return {}
    told = _renamed(cast("dict[str, Json]", node))
    return {word: _within(word, value, schema) for word, value in told.items()}


def _renamed(node: dict[str, Json]) -> dict[str, Json]:
    """Replace unsupported keywords: a null type by nullable, oneOf by anyOf, const by an enum of strings."""
    told = {"anyOf" if word == "oneOf" else word: value for word, value in node.items()}
    if isinstance(const := told.get("const"), str):
        told["enum"] = [const]
    if not all(isinstance(choice, str) for choice in told.get("enum") or ()):
        del told["enum"]
    match told.get("type"):
        case [*types]:
            real = [one for one in types if one != "null"]
            told |= {"type": real[0] if real else "string"} | ({"nullable": True} if real != types else {})
        case _:
            pass
    return {word: value for word, value in told.items() if word in _KEPT}


def answer_schema(node: Json) -> Json:
    """Convert a JSON schema for answers to the supported keywords.
    Keeps the order of properties, in which Gemini writes them."""
    if not isinstance(node, dict):
        return node
    told = dict(cast("dict[str, Json]", node))
    if "const" in told:
        told["enum"] = [told["const"]]
    if not all(type(choice) in (str, int, float) for choice in _choices(told)):
        del told["enum"]
    return {word: _within(word, value, answer_schema) for word, value in told.items() if word in _KEPT_OF_ANSWERS}


def _choices(node: dict[str, Any]) -> list[Any]:
    return node.get("enum") or []


def _within(word: str, value: Json, of_schema: Callable[[Json], Json]) -> Json:
    """Return the value of `word` with `of_schema` applied to its subschemas."""
    match word, value:
        case "properties" | "$defs", dict():
            return {name: of_schema(one) for name, one in cast("dict[str, Json]", value).items()}
        case "items" | "additionalProperties", _:
            return of_schema(value)
        case "anyOf" | "oneOf" | "prefixItems", list():
            return [of_schema(one) for one in cast("list[Json]", value)]
        case _:
            return value


PLACEHOLDER = "skip_thought_signature_validator"
"""Dummy signature for calls that Gemini did not make (Google's guide on thought signatures).
The model then continues without the thoughts behind that call."""

_MODES = {"none": "NONE", "required": "ANY"}

_MOST_STOPS = 5
"""Maximum stop sequences of a request (reference of GenerationConfig); one more is refused."""

_AT_HOME_AT_1 = re.compile(r"(models/)?gemini-(?![12]\b)")
"""Matches Gemini 3 and later under any name:
Google's guide advises to keep their default temperature, as they may loop under a lower one."""

Parts = list[dict[str, Json]]


class Signatures(msgspec.Struct, frozen=True):
    """Thought signatures by the ids of earlier calls.
    With `fills_gaps`, a message none of whose calls has one gets the placeholder."""

    known: Mapping[str, str] = {}
    fills_gaps: bool = False


NO_SIGNATURES = Signatures()


def request_json(request: CompletionRequest, signatures: Signatures, *, thoughts: bool) -> dict[str, Json]:
    """Return the request body. The contents come last, so that a conversation's next request has this one as a prefix.
    `thoughts` requests summaries of the model's thinking."""
    body: dict[str, Json] = {}
    if system := [message.text for message in request.messages if isinstance(message, SystemMessage)]:
        body["systemInstruction"] = {"parts": [{"text": text} for text in system]}
    if request.tools:
        body["tools"] = [{"functionDeclarations": [declaration(tool) for tool in request.tools]}]
        if mode := _MODES.get(request.tool_choice):
            body["toolConfig"] = {"functionCallingConfig": {"mode": mode}}
    if settings := _generation_config(request, thoughts=thoughts):
        body["generationConfig"] = settings
    body["contents"] = contents(request.messages, signatures)
    return body


def _generation_config(request: CompletionRequest, *, thoughts: bool) -> dict[str, Json]:
    settings: dict[str, Json] = {}
    if request.temperature is not None and not _is_left_alone(request):
        settings["temperature"] = request.temperature
    if request.max_tokens:
        settings["maxOutputTokens"] = request.max_tokens
    if request.stop:
        settings["stopSequences"] = request.stop[:_MOST_STOPS]
    if request.schema is not None and not request.tools:  # most models refuse it together with functions
        settings |= {"responseMimeType": "application/json", "responseJsonSchema": answer_schema(request.schema)}
    if thoughts:
        settings["thinkingConfig"] = {"includeThoughts": True}
    return settings


def _is_left_alone(request: CompletionRequest) -> bool:
    """Return whether the temperature is our default, not the user's choice, and the model has a better one."""
    return request.temperature == LLMSettings().temperature and bool(_AT_HOME_AT_1.match(request.model))


def contents(messages: Sequence[Message], signatures: Signatures) -> list[dict[str, Json]]:
    """Return the turns, strictly alternating between user and model. The results of all calls of one answer form one
    turn with the user's following text. Empty texts, which Gemini refuses, are omitted."""
    turns: list[dict[str, Any]] = []
    for message in messages:
        role = "model" if isinstance(message, AssistantMessage) else "user"
        parts = _parts(message, signatures)
        if parts and turns and turns[-1]["role"] == role:
            turns[-1]["parts"] += parts
        elif parts:
            turns.append({"role": role, "parts": parts})
    return turns


def _parts(message: Message, signatures: Signatures) -> Parts:
    match message:
        case SystemMessage():
            return []
        case UserMessage(text, images):
            return [*map(_image_part, images), *_text_parts(text)]
        case ToolMessage(call_id, name, text):
            return [{"functionResponse": {"id": call_id, "name": name, "response": {"output": text}}}]
        case AssistantMessage(text, calls):
            return _text_parts(text) + _call_parts(calls, signatures)


def _text_parts(text: str) -> Parts:
    return [{"text": text}] if text else []


def _image_part(image: Image) -> dict[str, Json]:
    """Return an image part, which precedes the text about it, as Google's guide on images recommends."""
    return {"inlineData": {"mimeType": image.media_type, "data": base64_text(image)}}


def _call_parts(calls: Sequence[ToolCall], signatures: Signatures) -> Parts:
    """Return the parts of parallel calls; Gemini signs only the first and requires a signature only there."""
    parts: Parts = []
    for call in calls:
        arguments: Json = decode_json(replayable(call.arguments))
        part: dict[str, Json] = {"functionCall": {"id": call.id, "name": call.name, "args": arguments}}
        if signature := signatures.known.get(call.id):
            part["thoughtSignature"] = signature
        parts.append(part)
    if parts and signatures.fills_gaps and not any("thoughtSignature" in part for part in parts):
        parts[0]["thoughtSignature"] = PLACEHOLDER
    return parts


def declaration(tool: ToolSpec) -> dict[str, Json]:
    """Return a tool's declaration. A tool without parameters omits the schema, as an object must have properties."""
    declared: dict[str, Json] = {"name": tool.name, "description": tool.description}
    if tool.parameters.get("properties"):
        declared["parameters"] = schema(tool.parameters)
    return declared


_FIRST_FAILURE = 400
_RETRY_IN = re.compile(r"retry in ([\d.hms]+s)", re.IGNORECASE)
_NO_SCHEMA = re.compile(r"json mode is not (enabled|supported)", re.IGNORECASE)
_NO_IMAGES = re.compile(r"image input modality is not (enabled|supported)", re.IGNORECASE)
"""Messages of models of other families, such as Gemma."""

_BAD_KEY = re.compile(r"API_KEY_INVALID|API key (not valid|not found|expired)", re.IGNORECASE)


class GeminiErrors(ErrorReader):
    """Creates LLMConnectionErrors from failures of the Gemini API."""

    def of_stream(self, body: bytes) -> LLMConnectionError:
        """Interpret an error inside a response of status 200 by the status code it contains."""
        error = error_in(decode_json(body.strip(BLANK)))
        code = error.details.get("code") if error else None
        if isinstance(code, int) and code >= _FIRST_FAILURE:
            return self.of_status(code, {}, body)
        return super().of_stream(body)

    def _of_words(self, error: ServerError) -> LLMConnectionError | None:
        """See ErrorReader; an invalid key has status 400, and some models support no schema or no images."""
        reason = sentence(error.message)
        if _NO_SCHEMA.search(error.message):
            return self._make("llm_parameter_refused", parameter="responseJsonSchema", reason=reason)
        if _NO_IMAGES.search(error.message):
            return self._make("llm_no_images", reason=reason)
        reasons = [detail.get("reason", "") for detail in _details(error)]
        if _BAD_KEY.search(" ".join((error.message, *map(str, reasons)))):
            return self._make("llm_unauthorized", status=400, reason=reason, variable=self._key_variable)
        return super()._of_words(error)

    def _is_spent(self, error: ServerError) -> bool:
        """Return whether a daily quota is exhausted; a quota per minute recovers."""
        violations = [found for detail in _details(error) for found in _dicts(detail.get("violations"))]
        return any("PerDay" in str(found.get("quotaId")) for found in violations)

    def _wait(self, error: ServerError, headers: dict[str, str]) -> float | None:
        """Return the retry delay in seconds from the details, else the message; there is no header."""
        delays = [str(detail["retryDelay"]) for detail in _details(error) if "retryDelay" in detail]
        told = _RETRY_IN.search(error.message)
        for delay in (*delays, told[1] if told else ""):
            if (seconds := duration_seconds(delay)) is not None:
                return seconds
        return super()._wait(error, headers)


def _details(error: ServerError) -> list[dict[str, Any]]:
    return _dicts(error.details.get("details"))


def _dicts(value: Any) -> list[dict[str, Any]]:
    """Return the objects in a JSON list; empty if it is no list."""
    items = cast("list[Any]", value) if isinstance(value, list) else []
    return [item for item in items if isinstance(item, dict)]


_FILTERS = frozenset({"SAFETY", "RECITATION", "PROHIBITED_CONTENT", "BLOCKLIST", "SPII", "MODEL_ARMOR"})
_BAD_CALLS = frozenset({"MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "TOO_MANY_TOOL_CALLS", "MALFORMED_RESPONSE"})
_CALLED = re.compile(r"default_api[.:](\w+)")


class SignedCallChunk(ToolCallChunk, frozen=True):
    """A complete tool call, and the thought signature that must accompany it in every later request."""

    signature: str = ""


class GeminiParser:
    """Parses the frames of one answer and counts its calls, since the finish reason does not mention them."""

    def __init__(self, errors: GeminiErrors) -> None:
        self._errors = errors
        self._calls = 0

    def event(self, event: ServerSentEvent) -> list[Chunk]:
        """Parse one event into chunks. Raises LLMConnectionError for an error in it, ValueError for invalid data."""
        return self.frame(event.data.encode())

    def whole(self, body: bytes) -> list[Chunk]:
        """Parse an answer that came whole, or as a list of frames. Raises like `event`."""
        text = body.strip(BLANK)
        frames = decode_json(text, list[msgspec.Raw]) if text.startswith(b"[") else [text]
        chunks = [chunk for frame in frames for chunk in self.frame(bytes(frame))]
        if not chunks:
            raise ValueError(f"it holds no answer: {text.decode('utf-8', errors='replace')}")
        return chunks

    def frame(self, data: bytes) -> list[Chunk]:
        """Parse one frame into chunks. Raises like `event`."""
        chunks = parse_frame(data, self._calls, self._errors)
        self._calls += sum(isinstance(chunk, ToolCallChunk) for chunk in chunks)
        return chunks


def parse_frame(data: bytes, calls: int, errors: GeminiErrors) -> list[Chunk]:
    """Parse one frame of an answer that has contained `calls` tool calls so far.
    A call's id is empty if the model gave none.

    Raises LLMConnectionError for an error in it, and if the prompt was blocked; ValueError for invalid data.
    """
    frame = decode_json(data, _Frame)
    if frame.error:
        raise errors.of_stream(data)
    if not frame.candidates:
        if frame.prompt_feedback and frame.prompt_feedback.block_reason:
            raise errors.filtered(_said(frame.prompt_feedback.block_reason, frame.prompt_feedback.block_reason_message))
        return _usage_chunks(frame.usage_metadata)
    candidate = frame.candidates[0]
    parts = candidate.content.parts if candidate.content else None
    chunks = list(_part_chunks(parts or (), calls))
    if candidate.finish_reason:
        called = calls + sum(isinstance(chunk, ToolCallChunk) for chunk in chunks)
        chunks += _finish_chunks(candidate, candidate.finish_reason, called, errors)
        chunks += _usage_chunks(frame.usage_metadata)
    return chunks


def _part_chunks(parts: "Iterable[_Part]", calls: int) -> Iterable[Chunk]:
    for part in parts:
        if call := part.function_call:
            arguments = msgspec.json.encode(call.args or {}).decode()
            yield SignedCallChunk(calls, call.id or "", call.name, arguments, part.thought_signature or "")
            calls += 1
        elif part.text:
            yield ThinkingChunk(part.text) if part.thought else TextChunk(part.text)


def _finish_chunks(candidate: "_Candidate", reason: str, calls: int, errors: GeminiErrors) -> list[Chunk]:
    match reason:
        case "STOP":
            return [FinishChunk("tool_calls" if calls else "stop")]
        case "MAX_TOKENS":
            return [FinishChunk("length")]
        case _ if reason in _FILTERS:
            return [FilteredChunk("content_filter", _said(reason, candidate.finish_message, *_blocked(candidate)))]
        case _ if reason in _BAD_CALLS:
            return _bad_call(_said(reason, candidate.finish_message), calls, errors)
        case "MISSING_THOUGHT_SIGNATURE":
            raise errors.no_signature(_said(reason, candidate.finish_message))
        case _:
            return [FinishChunk(reason.lower())]


def _bad_call(message: str, calls: int, errors: GeminiErrors) -> list[Chunk]:
    """Handle a call Gemini could not parse. If the tool is known, the call is passed on with its unparsable arguments:
    the error result lets the model fix them.

    Raises LLMConnectionError if the tool is unknown.
    """
    if found := _CALLED.search(message):
        return [ToolCallChunk(calls, "", found[1], message), FinishChunk("tool_calls")]
    raise errors.bad_call(message)


def _said(reason: str, *more: str | None) -> str:
    return ": ".join(filter(None, (reason, *more)))


def _blocked(candidate: "_Candidate") -> list[str]:
    ratings = [rating for rating in candidate.safety_ratings or () if rating.blocked]
    return [", ".join(f"{rating.category} ({rating.probability})" for rating in ratings)]


def _usage_chunks(counted: Any) -> list[Chunk]:
    """Return the token counts if readable: the answer matters more than its count."""
    try:
        usage = msgspec.convert(counted, _Usage | None)
    except msgspec.ValidationError:
        return []
    if usage is None or not usage.prompt_token_count:
        return []
    written = (usage.candidates_token_count or 0) + (usage.thoughts_token_count or 0)
    return [UsageChunk(usage.prompt_token_count, written, usage.cached_content_token_count or 0)]


# The server's JSON, reduced to the fields used.


class _Json(msgspec.Struct, rename="camel"):
    """Base of objects whose fields have names in camel case."""


class _Call(_Json):
    name: str
    id: str | None = None
    args: Json = None


class _Part(_Json):
    text: str | None = None
    thought: bool | None = None
    function_call: _Call | None = None
    thought_signature: str | None = None


class _Content(_Json):
    parts: list[_Part] | None = None


class _Rating(_Json):
    category: str = ""
    probability: str = ""
    blocked: bool | None = None


class _Candidate(_Json):
    content: _Content | None = None
    finish_reason: str | None = None
    finish_message: str | None = None
    safety_ratings: list[_Rating] | None = None


class _Feedback(_Json):
    block_reason: str | None = None
    block_reason_message: str | None = None


class _Usage(_Json):
    prompt_token_count: int | None = None
    candidates_token_count: int | None = None
    thoughts_token_count: int | None = None
    cached_content_token_count: int | None = None


class _Frame(_Json):
    candidates: list[_Candidate] | None = None
    prompt_feedback: _Feedback | None = None
    usage_metadata: Json = None
    error: Json = None
