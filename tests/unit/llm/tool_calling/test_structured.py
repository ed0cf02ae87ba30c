"""The structured dialect: what is sent, and every form in which a step arrives."""

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from localllm.base.events import ToolCall
from localllm.llm.messages import AssistantMessage, Message, SystemMessage, ToolMessage, UserMessage
from localllm.llm.providers.base import TextChunk, ThinkingChunk, ToolCallChunk, UsageChunk
from localllm.llm.tool_calling.structured import StructuredDialect, StructuredReader, step_schema
from tests.support.dialects import REQUEST, TOOLS, Answer, answered, read

STRUCTURED = StructuredDialect()
CONVERSATION: tuple[Message, ...] = (
    SystemMessage("You are here to help."),
    UserMessage("Look"),
    AssistantMessage("I look.", (ToolCall("1", "read_file", '{"file_path":"a.py"}'),), "Where is it?"),
    ToolMessage("1", "read_file", "x = 1"),
    AssistantMessage("", (ToolCall("2", "git_status", "{}"), ToolCall("3", "read_file", "{bad"))),
    ToolMessage("2", "git_status", "clean"),
    ToolMessage("3", "read_file", "</result> is no JSON"),
    AssistantMessage("It is 1.", thinking="I know."),
    UserMessage("Thanks"),
)


def step(thought: str, name: str, arguments: Any) -> str:
    return json.dumps({"thought": thought, "action": {"name": name, "arguments": arguments}}, ensure_ascii=False)


class TestRequest:
    def test_a_step_is_a_thought_and_one_of_the_actions_with_its_own_arguments(self) -> None:
        schema = step_schema(TOOLS)
        assert list(schema["properties"]) == ["thought", "action"]
        actions = {each["properties"]["name"]["enum"][0]: each for each in schema["properties"]["action"]["anyOf"]}
        assert list(actions) == ["git_status", "read_file", "run_command", "write_file", "final_answer"]
        reading = actions["read_file"]["properties"]["arguments"]
        assert reading["properties"] == {"file_path": {"type": "string"}, "max_lines": {"type": "integer"}}
        assert (reading["required"], reading["additionalProperties"]) == (["file_path"], False)

    @pytest.mark.parametrize(
        ("choice", "names"),
        [("none", ["final_answer"]), ("required", ["git_status", "read_file", "run_command", "write_file"])],
    )
    def test_the_choice_of_tools_is_kept_by_the_schema(self, choice: Any, names: list[str]) -> None:
        actions = step_schema(TOOLS, choice)["properties"]["action"]["anyOf"]
        assert [each["properties"]["name"]["enum"][0] for each in actions] == names

    def test_no_tools_are_sent_but_told_of(self) -> None:
        sent = STRUCTURED.encode(msgspec.structs.replace(REQUEST, messages=CONVERSATION, tool_choice="required"))
        assert (sent.tools, sent.tool_choice) == ((), "auto")
        assert sent.schema
        system = sent.messages[0].text
        assert system.startswith("You are here to help.\n\n")
        assert "- read_file: Read a text file, whole or in part.\n  file_path (string): path in the project\n" in system
        assert "  max_lines (integer, optional): how many lines\n" in system

    def test_the_history_is_written_as_the_model_has_to_write(self) -> None:
        sent = STRUCTURED.encode(msgspec.structs.replace(REQUEST, messages=CONVERSATION)).messages[1:]
        assert [message.text for message in sent] == [
            "Look",
            '{"thought": "Where is it?\\n\\nI look.", "action": '
            '{"name": "read_file", "arguments": {"file_path":"a.py"}}}',
            '<result of="read_file">\nx = 1\n</result>',
            '{"thought": "", "action": {"name": "git_status", "arguments": {}}}',
            '<result of="git_status">\nclean\n</result>',
            '{"thought": "", "action": {"name": "read_file", "arguments": {"malformed":"{bad"}}}',
            '<result2 of="read_file">\n</result> is no JSON\n</result2>',
            '{"thought": "I know.", "action": {"name": "final_answer", "arguments": {"answer": "It is 1."}}}',
            "Thanks",
        ]
        roles = [type(message) for message in sent]
        assert roles == [UserMessage, AssistantMessage] * 4 + [UserMessage]
        for message in sent:
            if isinstance(message, AssistantMessage):
                json.loads(message.text)

    def test_what_was_sent_stays_sent(self) -> None:
        whole = STRUCTURED.encode(msgspec.structs.replace(REQUEST, messages=CONVERSATION)).messages
        for length in (2, 4, 7, 9):
            part = STRUCTURED.encode(msgspec.structs.replace(REQUEST, messages=CONVERSATION[:length])).messages
            assert whole[: len(part)] == part

    def test_a_request_of_its_own_kind_is_left_alone(self) -> None:
        plain = msgspec.structs.replace(REQUEST, tools=(), messages=CONVERSATION[:2])
        assert STRUCTURED.encode(plain) == plain

    def test_a_schema_of_the_callers_replaces_that_of_a_step_and_leaves_the_prompt_as_it_is(self) -> None:
        asked = msgspec.structs.replace(REQUEST, messages=CONVERSATION)
        judged = msgspec.structs.replace(asked, schema={"type": "object"})
        sent = STRUCTURED.encode(judged)
        assert (sent.schema, sent.tools) == ({"type": "object"}, ())
        assert sent.messages == STRUCTURED.encode(asked).messages
        assert answered(STRUCTURED, '{"verdict": "yes"}', request=judged).text == '{"verdict": "yes"}'

    def test_a_long_thought_of_the_model_itself_is_shortened_to_its_end(self) -> None:
        thinking = "So many words. " * 100 + "\n\nI read it."
        history = (UserMessage("Go"), AssistantMessage("", (ToolCall("1", "git_status", "{}"),), thinking))
        sent = STRUCTURED.encode(msgspec.structs.replace(REQUEST, messages=history)).messages[-1]
        assert json.loads(sent.text)["thought"] == "I read it."


class TestSteps:
    def test_a_call(self) -> None:
        assert answered(STRUCTURED, step("Look 見る", "read_file", {"file_path": "a.py"})) == Answer(
            "", "Look 見る", (("read_file", '{"file_path": "a.py"}'),)
        )

    def test_the_final_answer(self) -> None:
        answer = 'It is **1**.\n\n```py\nx = "1"\n```\t\\ 値'
        assert answered(STRUCTURED, step("Done", "final_answer", {"answer": answer})) == Answer(answer, "Done", ())

    def test_the_answer_arrives_as_it_is_written(self) -> None:
        reader = STRUCTURED.reader(REQUEST)
        assert reader.feed(TextChunk('{"thought": "So')) == [ThinkingChunk("So")]
        assert reader.feed(TextChunk('", "action": {"name": "final_answer", "arguments": {"answer": "One')) == [
            TextChunk("One")
        ]
        assert reader.feed(TextChunk(" two")) == [TextChunk(" two")]

    def test_a_call_is_told_at_its_end_and_what_else_comes_passes(self) -> None:
        reader = STRUCTURED.reader(REQUEST)
        assert not reader.feed(TextChunk(step("", "git_status", {})))
        assert reader.feed(UsageChunk(1, 2)) == [UsageChunk(1, 2)]
        assert reader.close() == [ToolCallChunk(0, name="git_status", arguments="{}")]

    @pytest.mark.parametrize("space", ["\n", "\n\t  ", " " * 9])
    def test_white_space_is_of_no_importance(self, space: str) -> None:
        tokens = '{ "thought" : "a" , "action" : { "name" : "read_file" , "arguments" : {"file_path":"a.py"} } }'
        written = space.join(tokens.split()) + space
        assert answered(STRUCTURED, written) == Answer("", "a", (("read_file", '{"file_path":"a.py"}'),))

    @pytest.mark.parametrize(
        ("written", "meant"),
        [
            (r"\ud83d\ude00", "😀"),
            (r"a\ud83dz", "a\ufffdz"),
            (r"\ud83d\n", "\ufffd\n"),
            (r"\ude00", "\ufffd"),
            (r"\ud83d\u0041", "\ufffdA"),
            (r"\u3042\/\"\\\b", 'あ/"\\\b'),
            (r"\u00zz!", "\ufffd!"),
        ],
    )
    def test_escapes(self, written: str, meant: str) -> None:
        whole = f'{{"thought": "", "action": {{"name": "final_answer", "arguments": {{"answer": "{written}"}}}}}}'
        assert answered(STRUCTURED, whole).text == meant

    @given(st.text(st.characters(codec="utf-8"), max_size=30), st.booleans(), st.integers(1, 7))
    def test_any_text_comes_out_as_it_is(self, text: str, ascii_only: bool, size: int) -> None:
        whole = json.dumps(
            {"thought": text, "action": {"name": "final_answer", "arguments": {"answer": text}}},
            ensure_ascii=ascii_only,
        )
        message, _ = read(STRUCTURED.reader(REQUEST), whole, size)
        assert (message.text, message.thinking) == (text, text)

    def test_thinking_of_the_model_itself_stands_apart_from_the_thought(self) -> None:
        reader = STRUCTURED.reader(REQUEST)
        shown = [*reader.feed(ThinkingChunk("Hm.")), *reader.feed(TextChunk(step("So", "git_status", {})))]
        assert shown == [ThinkingChunk("Hm."), ThinkingChunk("\n\n"), ThinkingChunk("So")]


class TestCutOff:
    WHOLE = step("I write it", "write_file", {"file_path": "a.py", "content": "one\ntwo"})

    def test_a_call_that_is_cut_keeps_its_arguments_as_they_are(self) -> None:
        start = self.WHOLE.index('{"file_path"')
        for end in range(start + 1, len(self.WHOLE) - 2):
            arguments = self.WHOLE[start:end]
            told = answered(STRUCTURED, self.WHOLE[:end], "length")
            assert told.calls == (("write_file", arguments),), "and never {}"

    def test_before_its_arguments_there_is_nothing_to_run(self) -> None:
        for end in range(self.WHOLE.index('{"file_path"')):
            for _, arguments in answered(STRUCTURED, self.WHOLE[:end], "length").calls:
                assert arguments == ""

    def test_arguments_beside_the_name_that_are_cut_are_not_run(self) -> None:
        whole = '{"tool": "write_file", "file_path": "a.py", "content": "one two"}'
        for end in range(whole.index('"file_path"'), len(whole) - 1):
            assert [arguments for _, arguments in answered(STRUCTURED, whole[:end], "length").calls] == [""]

    def test_an_answer_that_is_cut_is_shown_as_far_as_it_came(self) -> None:
        whole = step("", "final_answer", {"answer": "One two three"})
        assert answered(STRUCTURED, whole[: whole.index(" three")], "length").text == "One two"

    def test_nothing_at_all(self) -> None:
        for finish in ("stop", "length"):
            assert answered(STRUCTURED, "", finish) == Answer("", "", ())
            assert answered(STRUCTURED, " \n", finish) == Answer("", "", ())


class TestServersThatDoNotKeepToIt:
    @pytest.mark.parametrize(
        "written",
        [
            '```json\n{"thought": "t", "action": {"name": "read_file", "arguments": {"file_path": "a.py"}}}\n```',
            '{"action": {"arguments": {"file_path": "a.py"}, "name": "read_file"}, "thought": "t"}',
            '{"thought": "t", "action": "read_file", "arguments": {"file_path": "a.py"}}',
            '{"thought": "t", "name": "READ_FILE", "arguments": "{\\"file_path\\": \\"a.py\\"}"}',
            '{"thought": "t", "step": [1, {"a": "}"}], "tool": "read_file", "parameters": {"file_path": "a.py"}}',
            '```json\n{"tool": "read_file", "file_path": "a.py"}\n```',
            '{"thought": "t", "type": 1, "file_path": "a.py", "name": "read_file"}',
        ],
    )
    def test_a_call_in_another_form(self, written: str) -> None:
        (call,) = answered(STRUCTURED, written).calls
        assert (call[0], json.loads(call[1])) == ("read_file", {"file_path": "a.py"})

    @pytest.mark.parametrize(
        ("written", "text"),
        [
            ('{"thought": "t", "answer": "Yes"}', "Yes"),
            ('{"thought": "t", "action": {"name": "final_answer", "arguments": "Yes"}}', "Yes"),
            ('{"action": {"arguments": {"answer": "Yes"}, "name": "final_answer"}}', "Yes"),
            ('{"thought": "Yes"}', "Yes"),
            ('{"x": 1}', '{"x": 1}'),
            ("Yes, it is.", "Yes, it is."),
            ("  ```py\nx\n```", "```py\nx\n```"),
        ],
    )
    def test_an_answer_in_another_form(self, written: str, text: str) -> None:
        told = answered(STRUCTURED, written)
        assert (told.text.strip(), told.calls) == (text, ())

    def test_a_call_in_the_markup_of_a_family(self) -> None:
        written = 'I look. <tool_call>{"name": "read_file", "arguments": {"file_path": "a.py"}}</tool_call>'
        told = answered(STRUCTURED, written)
        assert told.text.strip() == "I look."
        assert [name for name, _ in told.calls] == ["read_file"]

    @pytest.mark.parametrize(("written", "strays"), [("Hello", True), (step("", "git_status", {}), False), ("", False)])
    def test_the_reader_tells_that_the_schema_was_not_kept(self, written: str, *, strays: bool) -> None:
        reader = StructuredReader(TOOLS)
        read(reader, written, 3)
        assert reader.strayed is strays

    def test_quotes_nobody_escaped_do_not_end_the_answer(self) -> None:
        written = '{"thought": "so", "action": {"name": "final_answer", "arguments": {"answer": "a "quoted" word"}}}'
        assert answered(STRUCTURED, written) == Answer('a "quoted" word', "so", ())
