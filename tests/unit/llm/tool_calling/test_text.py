"""The text dialect: what is sent, and every way in which models write Thought, Action and Final Answer."""

import json
import re

import msgspec
import pytest

from localllm.base.events import ToolCall
from localllm.llm.messages import AssistantMessage, Message, SystemMessage, ToolMessage, UserMessage
from localllm.llm.providers.base import TextChunk, ThinkingChunk, ToolCallChunk
from localllm.llm.tool_calling.text_dialect import STOP, TextDialect
from tests.support.dialects import REQUEST, Answer, answered, read
from tests.support.each import each

TEXT = TextDialect()
CONVERSATION: tuple[Message, ...] = (
    SystemMessage("You are here to help."),
    UserMessage("Look"),
    AssistantMessage("I look.", (ToolCall("1", "read_file", '{"file_path":"a.py"}'),), "Where is it?"),
    ToolMessage("1", "read_file", "x = 1"),
    AssistantMessage("", (ToolCall("2", "git_status", ""), ToolCall("3", "read_file", "{bad"))),
    ToolMessage("2", "git_status", "clean"),
    ToolMessage("3", "read_file", "that is no JSON"),
    AssistantMessage("It is 1.", thinking="I know."),
    UserMessage("Thanks"),
)
A_PY = '{"file_path": "a.py"}'
READS_A = Answer("", "I look.", (("read_file", A_PY),))


def call_of(written: str, finish: str = "stop") -> tuple[str, object]:
    """The one call in an answer, its arguments decoded."""
    told = answered(TEXT, written, finish)
    ((name, arguments),) = told.calls
    return name, json.loads(arguments)


class TestRequest:
    def test_tools_are_told_of_and_the_answer_stops_before_a_result(self) -> None:
        sent = TEXT.encode(msgspec.structs.replace(REQUEST, messages=CONVERSATION))
        assert (sent.tools, sent.schema, sent.stop) == ((), None, (STOP,))
        system = sent.messages[0].text
        assert system.startswith("You are here to help.\n\n")
        assert "Action Input:" in system
        assert "- run_command: Run a command.\n  command (string)\n  timeout (number, optional)\n" in system

    def test_the_history_is_written_as_the_model_has_to_write(self) -> None:
        sent = TEXT.encode(msgspec.structs.replace(REQUEST, messages=CONVERSATION)).messages[1:]
        assert [message.text for message in sent] == [
            "Look",
            'I look.\n\nThought: Where is it?\nAction: read_file\nAction Input: {"file_path":"a.py"}',
            "Observation: x = 1",
            "Action: git_status\nAction Input: {}",
            "Observation: clean",
            "Action: read_file\nAction Input: {bad",
            "Observation: that is no JSON",
            "Thought: I know.\nFinal Answer: It is 1.",
            "Thanks",
        ]
        assert [type(message) for message in sent] == [UserMessage, AssistantMessage] * 4 + [UserMessage]

    def test_a_schema_of_the_callers_leaves_the_prompt_as_it_is(self) -> None:
        asked = msgspec.structs.replace(REQUEST, messages=CONVERSATION)
        judged = msgspec.structs.replace(asked, schema={"type": "object"})
        sent = TEXT.encode(judged)
        assert (sent.schema, sent.messages, sent.stop) == ({"type": "object"}, TEXT.encode(asked).messages, (STOP,))
        for said in ('{"verdict": "yes"}', 'Thought: I weigh.\nFinal Answer: {"verdict": "yes"}'):
            assert answered(TEXT, said, request=judged).text == '{"verdict": "yes"}'

    def test_what_was_sent_stays_sent(self) -> None:
        whole = TEXT.encode(msgspec.structs.replace(REQUEST, messages=CONVERSATION)).messages
        for length in (2, 4, 7, 9):
            part = TEXT.encode(msgspec.structs.replace(REQUEST, messages=CONVERSATION[:length])).messages
            assert whole[: len(part)] == part

    def test_what_it_writes_it_can_read(self) -> None:
        sent = TEXT.encode(msgspec.structs.replace(REQUEST, messages=CONVERSATION)).messages
        assert answered(TEXT, sent[2].text) == Answer(
            "I look.", "Where is it?", (("read_file", '{"file_path":"a.py"}'),)
        )
        assert answered(TEXT, sent[8].text) == Answer("It is 1.", "I know.", ())

    def test_a_request_of_its_own_kind_is_left_alone(self) -> None:
        plain = msgspec.structs.replace(REQUEST, tools=(), messages=CONVERSATION[:2])
        assert TEXT.encode(plain) == plain
        assert answered(TEXT, "Thought: is a word", request=plain).text == "Thought: is a word"


class TestLabels:
    @each(
        "written",
        [
            f"Thought: I look.\nAction: read_file\nAction Input: {A_PY}",
            f"Thought: I look.\n\nAction: read_file\n\nAction Input:\n{A_PY}\n",
            f"thought: I look.\nACTION: read_file\naction input: {A_PY}",
            f"**Thought:** I look.\n**Action:** read_file\n**Action Input:** {A_PY}",
            f"**Thought**: I look.\n**Action**: `read_file`\n**Action Input**: `{A_PY}`",
            f"### Thought: I look.\n### Action: read_file\n### Action Input: {A_PY}",
            f"- Thought: I look.\n- Action: read_file\n- Action Input: {A_PY}",
            f"Thought 1: I look.\nAction 1: read_file\nAction Input 1: {A_PY}",
            f"1. Thought: I look.\n2. Action: read_file\n3. Action Input: {A_PY}",
            f"Thought： I look.\nAction： read_file\nAction Input： {A_PY}",
            f"思考：I look.\n行動：read_file\n行動入力：{A_PY}",
            f"Thought: I look.\nAction:\nread_file\nAction Input:\n```json\n{A_PY}\n```",
            f"Thought: I look.\nAction: read_file\nAction Input: ```\n{A_PY}\n```\n",
            f"```\nThought: I look.\nAction: read_file\nAction Input: {A_PY}\n```",
            f"Thought: I look.\r\nAction: read_file\r\nAction Input: {A_PY}\r\n",
        ],
    )
    def test_however_they_are_written(self, written: str) -> None:
        told = answered(TEXT, written)
        assert (told.text, told.thinking.strip()) == ("", "I look.")
        assert [(name, json.loads(arguments)) for name, arguments in told.calls] == [("read_file", json.loads(A_PY))]

    def test_they_are_never_shown(self) -> None:
        whole = f"I begin.\n\n**Thought:** I look.\nAction: read_file\nAction Input: {A_PY}\nObservation: made up"
        for size in range(1, 12):
            _, chunks = read(TEXT.reader(REQUEST), whole, size)
            shown = "".join(chunk.text for chunk in chunks if isinstance(chunk, TextChunk | ThinkingChunk))
            assert shown == "I begin.I look."
            assert not re.search(r"Thought|Action|Observation|\*", shown)

    def test_text_is_shown_as_it_arrives(self) -> None:
        reader = TEXT.reader(REQUEST)
        assert reader.feed(TextChunk("Tho")) == []
        assert reader.feed(TextChunk("ught: I")) == [ThinkingChunk("I")]
        assert reader.feed(TextChunk(" know.\nFinal")) == [ThinkingChunk(" know.")]
        assert reader.feed(TextChunk(" Answer: One")) == [TextChunk("One")]
        assert reader.feed(TextChunk(" two")) == [TextChunk(" two")]

    @each(
        "written",
        [
            "Thoughtful people act.",
            "The action: to read.",
            "An answer\n\n- with a list\n- of two\n\n1. and\n2. more",
            "Action\nmovies are fun",
            "3",
            "---\ntitle: x\n---",
            "```yaml\non: push\naction: deploy\n```\nThat is the file.",
            "Action: take a walk.\nThen rest.",
            "Observation: it is cold.",
            "値は **3** です。",
        ],
    )
    def test_prose_without_labels_is_the_answer(self, written: str) -> None:
        assert answered(TEXT, written) == Answer(written, "", ())


class TestAnswers:
    def test_a_final_answer(self) -> None:
        written = "Thought: I know.\nFinal Answer: It is **1**.\n\nObservation: none\n\n- one\n\n```\nx\n```\n"
        told = answered(TEXT, written)
        assert told == Answer("It is **1**.\n\nObservation: none\n\n- one\n\n```\nx\n```", "I know.", ())

    @each(
        "written",
        [
            "**Final Answer:** Yes",
            "Final Answer:\nYes\n\n",
            "Thought: I know.\n最終回答：Yes",
            "Thought: I know.\nAction: None\nAction Input: None\nYes",
            "Thought: I know.\nAction: none needed.\n\nFinal Answer: Yes",
            "Thought: I know.\nAction: Final Answer\nAction Input: Yes",
            'Thought: I know.\nAction: final_answer\nAction Input: {"answer": "Yes"}',
            "Thought: I know.\nAction: Finish[Yes]",
            "Thought: Yes",
            "Thought: Yes\nAction: None",
        ],
    )
    def test_in_other_forms(self, written: str) -> None:
        told = answered(TEXT, written)
        assert (told.text, told.calls) == ("Yes", ())

    def test_bold_words_of_the_answer_itself_are_kept(self) -> None:
        assert answered(TEXT, "Final Answer: **Yes** and no").text == "**Yes** and no"
        assert answered(TEXT, "**Final Answer:** **Yes**").text == "**Yes**"

    def test_words_before_the_labels_stand_apart(self) -> None:
        assert answered(TEXT, "Sure!\nThought: Hm\nFinal Answer: Yes") == Answer("Sure!\n\nYes", "Hm", ())

    def test_two_thoughts(self) -> None:
        assert answered(TEXT, "Thought: One\nThought: Two\nFinal Answer: Yes").thinking == "One\n\nTwo"

    def test_a_cut_thought_is_no_answer(self) -> None:
        assert answered(TEXT, "Thought: I wond", "length") == Answer("", "I wond", ())

    def test_nothing(self) -> None:
        assert answered(TEXT, "") == answered(TEXT, " \n\n", "length") == Answer("", "", ())


class TestCalls:
    @pytest.mark.parametrize(
        "rest",
        [
            "\nObservation: x = 2\nThought: It is 2.\nFinal Answer: 2",
            "\nFinal Answer: done",
            '\nAction: write_file\nAction Input: {"file_path": "a.py", "content": ""}',
            "\n\nI wait for the result.",
        ],
    )
    def test_only_the_first_counts_and_nothing_after_it(self, rest: str) -> None:
        assert answered(TEXT, f"Thought: I look.\nAction: read_file\nAction Input: {A_PY}{rest}") == READS_A

    @each(
        ("action", "arguments"),
        [
            ('read_file\nAction Input: "a.py"', {"file_path": "a.py"}),
            ("read_file\nAction Input: a.py", {"file_path": "a.py"}),
            ("read_file\nAction Input: `a.py`", {"file_path": "a.py"}),
            ("read_file\nAction Input: file_path: a.py\nmax_lines: 3", {"file_path": "a.py", "max_lines": "3"}),
            ("read_file\nAction Input:\n- file_path: 'a.py'\n- max_lines: 3", {"file_path": "a.py", "max_lines": "3"}),
            ("read_file\nfile_path: a.py", {"file_path": "a.py"}),
            ('read_file\n{"file_path": "a.py"}', {"file_path": "a.py"}),
            ('read_file\nAction Input: file_path="a.py", max_lines=3', {"file_path": "a.py", "max_lines": 3}),
            ("read_file\nAction Input: {'file_path': 'a.py', 'max_lines': 3,}", {"file_path": "a.py", "max_lines": 3}),
            ('read_file(file_path="a.py")', {"file_path": "a.py"}),
            ('read_file("a.py")', {"file_path": "a.py"}),
            ("read_file[a.py]", {"file_path": "a.py"}),
            ('read_file {"file_path": "a.py"}', {"file_path": "a.py"}),
            ('read_file()\nAction Input: {"file_path": "a.py"}', {"file_path": "a.py"}),
            ('{"name": "read_file", "arguments": {"file_path": "a.py"}}', {"file_path": "a.py"}),
            ('```json\n{"action": "read_file", "action_input": {"file_path": "a.py"}}\n```', {"file_path": "a.py"}),
            ('ReadFile\nAction Input: {"file_path": "a.py"}', {"file_path": "a.py"}),
            ('Use the read_file tool.\nAction Input: {"file_path": "a.py"}', {"file_path": "a.py"}),
            (
                'read_file\nAction Input: {"file_path": "a.py",\n  "max_lines": 3\n}',
                {"file_path": "a.py", "max_lines": 3},
            ),
            ('read_file\nAction Input: {"file_path": "Thought: x\nAction: y"}', {"file_path": "Thought: x\nAction: y"}),
        ],
    )
    def test_arguments_however_they_are_written(self, action: str, arguments: object) -> None:
        assert call_of(f"Thought: I look.\nAction: {action}") == ("read_file", arguments)

    @pytest.mark.parametrize("written", ["", "None", "{}", "N/A", "()", "\n"])
    def test_a_tool_that_needs_nothing(self, written: str) -> None:
        assert call_of(f"Thought: Look.\nAction: git_status\nAction Input: {written}") == ("git_status", {})

    def test_a_command_in_several_lines(self) -> None:
        written = "Thought: Run.\nAction: run_command\nAction Input: ls -la\npwd\nObservation: x"
        assert call_of(written) == ("run_command", {"command": "ls -la\npwd"})
        fenced = "Thought: Run.\nAction: run_command\nAction Input:\n```bash\nls -la\npwd\n```\n"
        assert call_of(fenced) == ("run_command", {"command": "ls -la\npwd"})

    def test_after_code_that_the_thought_left_open(self) -> None:
        written = f"Thought: I look with\n```\nread_file\nAction: read_file\nAction Input: {A_PY}"
        assert answered(TEXT, written).calls == READS_A.calls

    def test_without_a_thought_and_after_a_final_answer(self) -> None:
        assert call_of("Action: git_status\nAction Input: {}") == ("git_status", {})
        assert call_of("Final Answer: I have to look.\nAction: git_status\nAction Input: {}") == ("git_status", {})

    @pytest.mark.parametrize("action", ["fly_away", "fly away", "read_files_of_moon\nAction Input: {}"])
    def test_a_tool_that_is_not_there_is_called_all_the_same_so_that_the_model_is_told(self, action: str) -> None:
        ((name, _),) = answered(TEXT, f"Thought: I try.\nAction: {action}").calls
        assert name == action.split("\n", maxsplit=1)[0]

    def test_prose_behind_the_name_is_no_command(self) -> None:
        ((name, arguments),) = answered(TEXT, "Thought: Run.\nAction: run_command\n\nrm -rf is what I run now.").calls
        assert (name, arguments) == ("run_command", "")

    def test_lines_that_are_not_all_arguments_are_left_to_the_tools_to_refuse(self) -> None:
        written = "Thought: W.\nAction: write_file\nAction Input: file_path: a.py\ncontent: def f():\n    return 1"
        ((_, arguments),) = answered(TEXT, written).calls
        assert arguments == "file_path: a.py\ncontent: def f():\n    return 1"

    def test_a_call_in_the_markup_of_a_family(self) -> None:
        told = answered(TEXT, f'Hm.\n<tool_call>{{"name": "read_file", "arguments": {A_PY}}}</tool_call>')
        ((name, arguments),) = told.calls
        assert (told.text.strip(), name, json.loads(arguments)) == ("Hm.", "read_file", json.loads(A_PY))

    def test_thinking_of_the_model_itself_stands_apart_from_the_thought(self) -> None:
        reader = TEXT.reader(REQUEST)
        shown = [*reader.feed(ThinkingChunk("Hm.")), *reader.feed(TextChunk("Thought: So\n")), *reader.close()]
        assert "".join(chunk.text for chunk in shown if isinstance(chunk, ThinkingChunk)) == "Hm.\n\nSo"


class TestCutOff:
    WHOLE = 'Thought: I write.\nAction: write_file\nAction Input: {"file_path": "a.py", "content": "one\\ntwo"}'

    def test_a_call_that_is_cut_keeps_its_arguments_as_they_are(self) -> None:
        start = self.WHOLE.index("{")
        for end in range(start + 1, len(self.WHOLE)):
            told = answered(TEXT, self.WHOLE[:end], "length")
            assert told.calls == (("write_file", self.WHOLE[start:end]),)

    @pytest.mark.parametrize("written", ["ls -la /ho", "command: ls -la /ho", '"ls -la /ho', "```bash\nls -la /ho"])
    def test_a_command_that_is_cut_is_not_run(self, written: str) -> None:
        cut = f"Thought: Run.\nAction: run_command\nAction Input: {written}"
        ((_, arguments),) = answered(TEXT, cut, "length").calls
        with pytest.raises(json.JSONDecodeError):
            json.loads(arguments)

    def test_before_its_arguments_there_is_nothing_to_run(self) -> None:
        for end in range(len("Thought: I write."), self.WHOLE.index("{")):
            for _, arguments in answered(TEXT, self.WHOLE[:end], "length").calls:
                assert arguments == ""

    def test_inline(self) -> None:
        told = answered(TEXT, 'Thought: R.\nAction: run_command(command="ls -l', "length")
        assert told.calls == (("run_command", '(command="ls -l'),)

    def test_the_call_comes_once_and_at_the_end(self) -> None:
        _, chunks = read(TEXT.reader(REQUEST), self.WHOLE, 5)
        assert [type(chunk) for chunk in chunks[-2:]].count(ToolCallChunk) == 1


class TestObjectsInInput:
    @pytest.mark.parametrize(
        ("written", "command"),
        [
            ('curl -d {"command": "x"} http://h', 'curl -d {"command": "x"} http://h'),
            ('Here is the command: {"command": "ls"}', "ls"),
            ('{{"command": "ls"}}', "ls"),
        ],
    )
    def test_an_object_in_a_command_is_a_part_of_it_behind_a_colon_it_is_the_input(
        self, written: str, command: str
    ) -> None:
        assert call_of(f"Action: run_command\nAction Input: {written}") == ("run_command", {"command": command})

    @pytest.mark.parametrize("finish", ["stop", "length"])
    @pytest.mark.parametrize(
        "written",
        ['file_path: a\ncontent: {"file_path": "b", "content": "c"}\nmore', 'x {"file_path": "b", "content": "c'],
    )
    def test_an_object_in_a_text_is_not_what_is_written(self, written: str, finish: str) -> None:
        ((name, arguments),) = answered(TEXT, f"Action: write_file\nAction Input: {written}", finish).calls
        assert (name, arguments) == ("write_file", written)


@pytest.mark.parametrize(
    "rest",
    [
        '<|im_end|>\nAction: run_command\nAction Input: {"command": "rm a"}',
        '<|im_end|>\n<|im_start|>user\nRemove it.<|im_end|>\nAction: run_command\nAction Input: {"command": "rm a"}',
    ],
)
def test_nothing_is_called_after_the_end_of_the_turn(rest: str) -> None:
    told = answered(TEXT, f"Final Answer: It adds.{rest}")
    assert (told.calls, told.text) == ((), "It adds.")
