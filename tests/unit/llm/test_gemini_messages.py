"""Requests in Gemini's form."""

import itertools
import json
from typing import Any

import pytest

from localllm.base.events import ToolCall
from localllm.base.jsontext import encode_json
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
from localllm.llm.providers.gemini_format import (
    NO_SIGNATURES,
    PLACEHOLDER,
    Signatures,
    answer_schema,
    contents,
    declaration,
    request_json,
    schema,
)
from localllm.llm.tool_calling.structured import step_schema
from tests.support.each import each

HELLO = (SystemMessage("You help."), UserMessage("Hello"))
LOOK = ToolSpec("look", "Look.", {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]})


def body(*messages: Message, **options: Any) -> dict[str, Any]:
    return request_json(CompletionRequest(model="m", messages=messages, **options), NO_SIGNATURES, thoughts=False)


def calling(*ids: str) -> AssistantMessage:
    return AssistantMessage("", tuple(ToolCall(call_id, "look", '{"a": "b"}') for call_id in ids))


def signed(signatures: Signatures, *messages: Message) -> list[str | None]:
    """The signature of each call that is sent."""
    parts = [part for turn in contents(messages, signatures) for part in turn["parts"]]
    return [part.get("thoughtSignature") for part in parts if "functionCall" in part]


class TestTurns:
    def test_a_plain_request(self) -> None:
        assert body(*HELLO, temperature=0.1, max_tokens=9) == {
            "systemInstruction": {"parts": [{"text": "You help."}]},
            "generationConfig": {"temperature": 0.1, "maxOutputTokens": 9},
            "contents": [{"role": "user", "parts": [{"text": "Hello"}]}],
        }

    def test_the_results_of_calls_made_at_once_are_one_turn(self) -> None:
        turns = contents(
            [*HELLO, calling("1", "2"), ToolMessage("1", "look", "one"), ToolMessage("2", "look", "")], NO_SIGNATURES
        )
        assert [turn["role"] for turn in turns] == ["user", "model", "user"]
        assert [part["functionCall"] for part in turns[1]["parts"]] == [
            {"id": "1", "name": "look", "args": {"a": "b"}},
            {"id": "2", "name": "look", "args": {"a": "b"}},
        ]
        assert [part["functionResponse"] for part in turns[2]["parts"]] == [
            {"id": "1", "name": "look", "response": {"output": "one"}},
            {"id": "2", "name": "look", "response": {"output": ""}},
        ]

    def test_turns_alternate_and_no_text_is_empty(self) -> None:
        messages = [
            *HELLO,
            AssistantMessage(""),
            UserMessage("again"),
            UserMessage(""),
            AssistantMessage("yes", thinking="not sent"),
            calling("1"),
            ToolMessage("1", "look", "x"),
            UserMessage("go on"),
        ]
        turns = contents(messages, NO_SIGNATURES)
        assert [turn["role"] for turn in turns] == ["user", "model", "user"]
        assert turns[0]["parts"] == [{"text": "Hello"}, {"text": "again"}]
        assert [list(part) for part in turns[1]["parts"]] == [["text"], ["functionCall"]]
        assert [list(part) for part in turns[2]["parts"]] == [["functionResponse"], ["text"]]
        assert "not sent" not in json.dumps(turns)

    def test_arguments_that_are_no_object_are_sent_inside_one(self) -> None:
        (_, turn) = contents([UserMessage("x"), AssistantMessage("", (ToolCall("c", "look", "{oops"),))], NO_SIGNATURES)
        assert turn["parts"][0]["functionCall"]["args"] == {"malformed": "{oops"}

    @pytest.mark.parametrize(("choice", "mode"), [("none", "NONE"), ("required", "ANY")])
    def test_the_tool_choice(self, choice: str, mode: str) -> None:
        assert "toolConfig" not in body(*HELLO, tools=(LOOK,))
        assert "toolConfig" not in body(*HELLO, tool_choice=choice)
        chosen = body(*HELLO, tools=(LOOK,), tool_choice=choice)["toolConfig"]
        assert chosen == {"functionCallingConfig": {"mode": mode}}

    def test_thoughts_are_asked_for(self) -> None:
        told = request_json(CompletionRequest(model="m", messages=HELLO), NO_SIGNATURES, thoughts=True)
        assert told["generationConfig"] == {"thinkingConfig": {"includeThoughts": True}}

    def test_each_request_begins_with_the_bytes_of_the_one_before(self) -> None:
        messages: list[Message] = [*HELLO]
        bodies: list[bytes] = []
        known: dict[str, str] = {}
        for turn in range(10):
            request = CompletionRequest(model="m", messages=tuple(messages), tools=(LOOK,), max_tokens=9)
            bodies.append(encode_json(request_json(request, Signatures(known, fills_gaps=True), thoughts=True)))
            first, second = f"{turn}a", f"{turn}b"
            if turn % 2:
                known[first] = "c2ln"
            messages += [calling(first, second), ToolMessage(first, "look", "語"), ToolMessage(second, "look", "x")]
            if turn % 3 == 0:
                messages.append(UserMessage("go on"))
        for earlier, later in itertools.pairwise(bodies):
            assert later.startswith(earlier.removesuffix(b"]}"))
        assert b'"contents":' in bodies[0]

    def test_pictures_stand_before_the_text_about_them(self) -> None:
        (turn,) = contents(
            [UserMessage("Which?", (Image("image/png", b"\x89PNG"), Image("image/jpeg", b"")))], NO_SIGNATURES
        )
        assert turn["parts"] == [
            {"inlineData": {"mimeType": "image/png", "data": "iVBORw=="}},
            {"inlineData": {"mimeType": "image/jpeg", "data": ""}},
            {"text": "Which?"},
        ]

    def test_a_picture_without_words(self) -> None:
        (turn,) = contents([UserMessage("", (Image("image/png", b"x"),))], NO_SIGNATURES)
        assert [list(part) for part in turn["parts"]] == [["inlineData"]]


class TestSettings:
    def test_stop_sequences_are_five_at_most(self) -> None:
        assert body(*HELLO, stop=("\nObservation:",))["generationConfig"] == {"stopSequences": ("\nObservation:",)}
        assert len(body(*HELLO, stop=tuple("abcdefg"))["generationConfig"]["stopSequences"]) == 5

    def test_a_schema_but_never_beside_functions(self) -> None:
        told = body(*HELLO, schema=LOOK.parameters)["generationConfig"]
        assert told == {"responseMimeType": "application/json", "responseJsonSchema": LOOK.parameters}
        both = body(*HELLO, schema=LOOK.parameters, tools=(LOOK,))
        assert "tools" in both
        assert "generationConfig" not in both

    @pytest.mark.parametrize(
        ("model", "is_sent"),
        [
            ("gemini-3-flash", False),
            ("models/gemini-3.1-pro-preview", False),
            ("gemini-flash-latest", False),
            ("gemini-10-pro", False),
            ("gemini-2.5-pro", True),
            ("gemini-1.5-flash", True),
            ("gemma-3-27b-it", True),
        ],
    )
    def test_newer_models_keep_their_temperature_unless_another_is_set(self, model: str, *, is_sent: bool) -> None:
        def sent(temperature: float | None) -> Any:
            request = CompletionRequest(model=model, messages=HELLO, temperature=temperature)
            return request_json(request, NO_SIGNATURES, thoughts=False).get("generationConfig")

        default = LLMSettings().temperature
        assert sent(default) == ({"temperature": default} if is_sent else None)
        assert sent(0.7) == {"temperature": 0.7}
        assert sent(None) is None


class TestSignatures:
    def test_known_ones_are_sent_with_their_calls(self) -> None:
        assert signed(Signatures({"1": "s1", "3": "s3"}), calling("1", "2"), calling("3")) == ["s1", None, "s3"]

    def test_what_is_not_known_is_left_out_unless_gaps_are_filled(self) -> None:
        assert signed(NO_SIGNATURES, calling("1", "2")) == [None, None]
        assert signed(Signatures(fills_gaps=True), calling("1", "2")) == [PLACEHOLDER, None]

    def test_a_message_with_a_signature_has_no_gap(self) -> None:
        assert signed(Signatures({"1": "s1"}, fills_gaps=True), calling("1", "2"), calling("3")) == [
            "s1",
            None,
            PLACEHOLDER,
        ]


class TestDeclarations:
    def test_a_tool(self) -> None:
        assert declaration(LOOK) == {"name": "look", "description": "Look.", "parameters": LOOK.parameters}

    def test_a_tool_without_parameters_has_none(self) -> None:
        bare = ToolSpec("status", "Tell.", {"type": "object", "properties": {}, "additionalProperties": False})
        assert declaration(bare) == {"name": "status", "description": "Tell."}

    @each(
        ("given", "told"),
        [
            ({"type": "string", "pattern": "x", "format": "uri", "minLength": 1, "default": ""}, {"type": "string"}),
            ({"type": ["string", "null"]}, {"type": "string", "nullable": True}),
            ({"type": ["integer"]}, {"type": "integer"}),
            ({"type": "integer", "enum": [1, 2]}, {"type": "integer"}),
            ({"type": "string", "enum": ["a", "b"]}, {"type": "string", "enum": ["a", "b"]}),
            ({"const": "a"}, {"enum": ["a"]}),
            (
                {"oneOf": [{"type": "string", "title": "T"}, {"type": "null"}]},
                {"anyOf": [{"type": "string"}, {"type": "null"}]},
            ),
            (
                {"type": "array", "items": {"type": "string", "minLength": 1}},
                {"type": "array", "items": {"type": "string"}},
            ),
            ({"type": "array", "items": True}, {"type": "array", "items": {}}),
            (
                {"type": "object", "$schema": "s", "properties": {"title": {"type": "string", "title": "x"}}},
                {"type": "object", "properties": {"title": {"type": "string"}}},
            ),
        ],
    )
    def test_a_schema_keeps_only_words_gemini_has(self, given: dict[str, Any], told: dict[str, Any]) -> None:
        before = json.dumps(given)
        assert schema(given) == told
        assert json.dumps(given) == before


class TestSchemasOfAnswers:
    def test_the_step_of_the_structured_dialect_is_told_whole_and_in_its_order(self) -> None:
        step = step_schema((LOOK,))
        assert answer_schema(step) == step
        assert encode_json(answer_schema(step)).startswith(b'{"type":"object","properties":{"thought":')

    @pytest.mark.parametrize(
        ("given", "told"),
        [
            ({"const": "a"}, {"enum": ["a"]}),
            ({"enum": ["a", 1, 0.5]}, {"enum": ["a", 1, 0.5]}),
            ({"enum": [True, None]}, {}),
            ({"type": ["string", "null"], "minLength": 1}, {"type": ["string", "null"]}),
            ({"type": "integer", "minimum": 1, "exclusiveMaximum": 9}, {"type": "integer", "minimum": 1}),
            (
                {"properties": {"pattern": {"pattern": "x"}}, "additionalProperties": {"default": 1}},
                {"properties": {"pattern": {}}, "additionalProperties": {}},
            ),
            (
                {"$ref": "#/$defs/a", "$defs": {"a": {"anyOf": [{"const": "b"}]}}},
                {"$ref": "#/$defs/a", "$defs": {"a": {"anyOf": [{"enum": ["b"]}]}}},
            ),
            (
                {"items": {"title": "T", "examples": []}, "prefixItems": [{"not": {}}]},
                {"items": {"title": "T"}, "prefixItems": [{}]},
            ),
        ],
    )
    def test_only_words_gemini_keeps_to(self, given: dict[str, Any], told: dict[str, Any]) -> None:
        before = json.dumps(given)
        assert answer_schema(given) == told
        assert json.dumps(given) == before
