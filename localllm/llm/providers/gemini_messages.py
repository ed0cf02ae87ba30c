"""A request in Gemini's form: turns of user and model that hold parts, and declarations of functions."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from localllm.base.config.schema import LLMSettings
from localllm.base.events import Json, ToolCall
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
from localllm.llm.providers.gemini_schemas import answer_schema, schema
from localllm.llm.providers.openai_compatible import replayable
from localllm.llm.providers.sight import base64_text

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
