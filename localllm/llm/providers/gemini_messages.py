"""Requests in Gemini's form: turns with parts, declarations of tools, and its subset of JSON schema."""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

import msgspec

from localllm.base.events import Json, ToolCall
from localllm.config.schema import LLMSettings
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
from localllm.llm.providers.openai_compatible import replayable
from localllm.llm.providers.vision import base64_text

_KEPT = frozenset({"type", "description", "nullable", "enum", "required", "items", "properties", "anyOf"})
"""Of a JSON schema, what Gemini's Schema has and tools use: another word makes it refuse the request."""

_KEPT_OF_ANSWERS = _KEPT - {"nullable"} | {
    *("$id", "$defs", "$ref", "$anchor", "format", "title", "prefixItems", "minItems", "maxItems"),
    *("minimum", "maximum", "oneOf", "additionalProperties"),
}
"""What the reference says of responseJsonSchema that it takes; other words it does not hold an answer to."""


def schema(node: Json) -> dict[str, Json]:
    """A JSON schema in the words Gemini has for it; an empty one where anything goes."""
    if not isinstance(node, dict):
        return {}
    told = _renamed(cast("dict[str, Json]", node))
    return {word: _within(word, value, schema) for word, value in told.items()}


def _renamed(node: dict[str, Json]) -> dict[str, Json]:
    """What Gemini has words for, in these: nullable for a type of null, anyOf for oneOf, enumerations of strings."""
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
    """A JSON schema an answer is held to: the words Gemini keeps to, in the order they have, for it writes the
    properties of an object in theirs."""
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
    """The value of `word` with `of_schema` of the schemas it consists of."""
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
"""What Google's guide on thought signatures says to send for a call that Gemini did not make. The model then goes on
without the thoughts behind that call."""

_MODES = {"none": "NONE", "required": "ANY"}

_MOST_STOPS = 5
"""So many stop sequences a request may have (reference of GenerationConfig); with one more it is refused."""

_AT_HOME_AT_1 = re.compile(r"(models/)?gemini-(?![12]\b)")
"""Gemini 3 and what came after it, whatever they are called: Google's guide says to leave them their temperature, for
they may loop under a lower one."""

Parts = list[dict[str, Json]]


class Signatures(msgspec.Struct, frozen=True):
    """Thought signatures of earlier calls by the calls' ids. With `fills_gaps`, a message none of whose calls has one
    gets the placeholder."""

    known: Mapping[str, str] = {}
    fills_gaps: bool = False


NO_SIGNATURES = Signatures()


def request_json(request: CompletionRequest, signatures: Signatures, *, thoughts: bool) -> dict[str, Json]:
    """The body of a request. The contents come last, so that the bytes of a conversation's next request begin with
    all of this one's. `thoughts` asks for summaries of the model's thinking."""
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
    if request.schema is not None and not request.tools:  # most models refuse it beside functions
        settings |= {"responseMimeType": "application/json", "responseJsonSchema": answer_schema(request.schema)}
    if thoughts:
        settings["thinkingConfig"] = {"includeThoughts": True}
    return settings


def _is_left_alone(request: CompletionRequest) -> bool:
    """Whether the temperature is the one nobody has chosen, that of our settings, and the model has a better one."""
    return request.temperature == LLMSettings().temperature and bool(_AT_HOME_AT_1.match(request.model))


def contents(messages: Sequence[Message], signatures: Signatures) -> list[dict[str, Json]]:
    """The turns, user and model in strict alternation. The results of all calls of one answer are one turn, together
    with what the person says after them. Empty texts, which Gemini refuses, are left out."""
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
    """A picture; before the text that speaks of it, as Google's guide on images has it."""
    return {"inlineData": {"mimeType": image.media_type, "data": base64_text(image)}}


def _call_parts(calls: Sequence[ToolCall], signatures: Signatures) -> Parts:
    """Of calls made at once, Gemini signs the first, and wants a signature at that alone."""
    parts: Parts = []
    for call in calls:
        arguments: Json = msgspec.json.decode(replayable(call.arguments))
        part: dict[str, Json] = {"functionCall": {"id": call.id, "name": call.name, "args": arguments}}
        if signature := signatures.known.get(call.id):
            part["thoughtSignature"] = signature
        parts.append(part)
    if parts and signatures.fills_gaps and not any("thoughtSignature" in part for part in parts):
        parts[0]["thoughtSignature"] = PLACEHOLDER
    return parts


def declaration(tool: ToolSpec) -> dict[str, Json]:
    """A tool as Gemini is told of it. A tool without parameters has none at all: an object must have properties."""
    declared: dict[str, Json] = {"name": tool.name, "description": tool.description}
    if tool.parameters.get("properties"):
        declared["parameters"] = schema(tool.parameters)
    return declared
