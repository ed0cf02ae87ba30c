"""Calls that arrive as text become calls; all other text arrives as it is, and at once."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from localllm.base.errors import LocalLLMError
from localllm.base.events import ToolCall
from localllm.llm.messages import AssistantMessage, CompletionRequest
from localllm.llm.providers.base import (
    FinishChunk,
    TextChunk,
    ThinkingChunk,
    ToolCallChunk,
    UsageChunk,
)
from localllm.llm.tool_calling.router import NativeDialect
from localllm.tools import builtin
from localllm.tools.registry import parse_arguments
from tests.support.answers import OFFERED, TOOLS, Case, cases, chunks_of, read, reader_for
from tests.support.each import each

CASES = list(cases())
REQUEST = CompletionRequest(model="m", messages=(), tools=tuple(TOOLS[name] for name in OFFERED))
MARKUP = (
    "<tool_call",
    "</tool_call",
    "[TOOL_CALLS",
    "<|",
    "|>",
    "<function=",
    "</function",
    "<｜",
    "<parameter",
    "</parameter",
)


def named(case: Case) -> str:
    return f"{case.id} {case.family}: {case.note}"[:90]


def as_json(call: ToolCall) -> object:
    try:
        return msgspec.json.decode(call.arguments)
    except msgspec.DecodeError:
        return call.arguments


def outcome(message: AssistantMessage) -> tuple[list[tuple[str, str]], str, str]:
    return [(call.name, call.arguments) for call in message.tool_calls], message.text, message.thinking


@each("case", CASES, ids=named)
def test_what_comes_of_an_answer(case: Case) -> None:
    message = read(reader_for(case), chunks_of(case, 10**6))
    assert [call.name for call in message.tool_calls] == [call["name"] for call in case.calls]
    for call, wanted in zip(message.tool_calls, case.calls, strict=True):
        assert as_json(call) == wanted["arguments"] or case.fault != "none"
        assert not isinstance(wanted["arguments"], str) or call.arguments == wanted["arguments"]
    if case.said is not None:
        assert message.text.strip() == case.said.strip()
    if case.thought is not None:
        assert message.thinking.strip() == case.thought.strip()


@each("case", CASES, ids=named)
def test_however_it_is_cut_the_same_comes_of_it(case: Case) -> None:
    whole = outcome(read(reader_for(case), chunks_of(case, 10**6)))
    for size in (1, 2, 3, 5, 8, 13, 34):
        assert outcome(read(reader_for(case), chunks_of(case, size))) == whole, size


@pytest.mark.long
@pytest.mark.parametrize("case", CASES, ids=named)
def test_at_every_size_the_same_comes_of_it(case: Case) -> None:
    whole = outcome(read(reader_for(case), chunks_of(case, 10**6)))
    for size in range(1, max(len(case.text), len(case.thinking), 1) + 1):
        assert outcome(read(reader_for(case), chunks_of(case, size))) == whole, size


@each("case", [case for case in CASES if case.fault != "none"], ids=named)
def test_a_call_that_cannot_be_read_is_answered_with_its_fault(case: Case) -> None:
    tools = {tool.name: tool for tool in builtin.TOOLS}
    message = read(reader_for(case), chunks_of(case, 5))
    faults: list[str] = []
    for call in message.tool_calls:
        if call.name not in tools:
            continue  # "there is no such tool" is the answer
        try:
            parse_arguments(tools[call.name], call.arguments, was_cut=case.finish == "length")
        except LocalLLMError as error:
            faults.append(error.key)
        else:
            assert call.arguments.strip() not in ("", "{}")
    wanted = "tool_cut_arguments" if case.fault == "cut" and case.finish == "length" else "tool_malformed_json"
    assert wanted in faults or all(call.name not in tools for call in message.tool_calls)


@each(
    "case",
    [case for case in CASES if case.calls and not any(mark in (case.said or "") for mark in MARKUP)],
    ids=named,
)
def test_no_markup_is_shown_not_even_for_a_moment(case: Case) -> None:
    reader = reader_for(case)
    shown = [part for chunk in chunks_of(case, 1) for part in reader.feed(chunk)] + reader.close()
    text = "".join(part.text for part in shown if isinstance(part, TextChunk | ThinkingChunk))
    assert not [mark for mark in MARKUP if mark in text]


@pytest.mark.parametrize(
    "text",
    [
        "The quick brown fox.",
        "a = b + c; f(x); x > 3",
        " and then 100 %, [1], x[i], {a} ",
        "\n\nNew paragraph.",
        "`code` and **bold**",
        "日本語のテキスト。",
        "if a < b:",
        "<p>para</p> <br> <div>",
        "x -> y <- z",
    ],
)
def test_text_without_the_beginning_of_a_marker_passes_at_once(text: str) -> None:
    reader = NativeDialect().reader(REQUEST)
    reader.feed(TextChunk("Well. "))
    assert reader.feed(TextChunk(text)) == [TextChunk(text)]


def test_code_passes_once_its_first_line_shows_that_it_is_code() -> None:
    reader = NativeDialect().reader(REQUEST)
    assert reader.feed(TextChunk("See:\n```python\n")) == [TextChunk("See:\n")]
    assert reader.feed(TextChunk("def")) == [TextChunk("```python\n"), TextChunk("def")]
    assert reader.feed(TextChunk(' f(x):\n    return {"name": "read_file"}\n')) == [
        TextChunk(' f(x):\n    return {"name": "read_file"}\n')
    ]


def test_json_in_an_answer_passes_once_its_first_name_shows_that_it_is_no_call() -> None:
    reader = NativeDialect().reader(REQUEST)
    shown = [part for char in '```json\n{\n  "title":' for part in reader.feed(TextChunk(char))]
    assert "".join(part.text for part in shown if isinstance(part, TextChunk)) == '```json\n{\n  "title":'


def test_what_may_be_a_marker_waits_only_as_long_as_it_may() -> None:
    reader = NativeDialect().reader(REQUEST)
    assert reader.feed(TextChunk("so <tool")) == [TextChunk("so ")]
    assert reader.feed(TextChunk("s_are> nice")) == [TextChunk("<tools_are> nice")]


def test_the_calls_come_before_the_end_and_usage_passes() -> None:
    reader = NativeDialect().reader(REQUEST)
    assert reader.feed(FinishChunk("stop")) == []
    assert reader.feed(TextChunk('<tool_call>{"name": "git_status"}')) == []
    assert reader.feed(UsageChunk(3, 4)) == [UsageChunk(3, 4)]
    assert reader.feed(FinishChunk("")) == []
    assert reader.close() == [ToolCallChunk(0, "", "git_status", "{}"), FinishChunk("stop")]


def test_native_calls_keep_their_ids_and_their_bytes() -> None:
    reader = NativeDialect().reader(REQUEST)
    assert reader.feed(ToolCallChunk(0, "call_7", "read_file", '{ "file_path" :')) == []
    reader.feed(ToolCallChunk(0, arguments=' "a" }'))
    assert reader.close() == [ToolCallChunk(0, "call_7", "read_file", '{ "file_path" : "a" }')]


def test_without_tools_nothing_is_a_call() -> None:
    reader = NativeDialect().reader(CompletionRequest(model="m", messages=()))
    text = '<think>hm</think>{"name": "read_file"} <tool_call>{"name": "read_file", "arguments": {}}</tool_call>'
    message = read(reader, [TextChunk(text)])
    assert message.tool_calls == ()
    assert message.text == text.removeprefix("<think>hm</think>")
    assert message.thinking == "hm"


def test_a_reader_tells_that_the_template_had_opened_the_thought() -> None:
    reader = NativeDialect().reader(REQUEST)
    read(reader, [TextChunk("hm</think>Yes.")])
    assert getattr(reader, "thinking_was_open") is True  # noqa: B009 - more than Reader promises
    reader = NativeDialect().reader(REQUEST)
    read(reader, [TextChunk("<think>hm</think>Yes.")])
    assert getattr(reader, "thinking_was_open") is False  # noqa: B009 - more than Reader promises


def test_the_request_goes_out_as_it_is() -> None:
    assert NativeDialect().encode(REQUEST) is REQUEST
    assert NativeDialect().name == "native"


FULL = {"file_path": "src/a.txt", "content": 'one\n"two" {3}: <b>\n', "mode": 120}
JSON_ARGUMENTS = msgspec.json.encode(FULL).decode()
JSON_CALL = f'{{"name": "write_file", "arguments": {JSON_ARGUMENTS}}}'
WHOLE_ANSWERS = {
    "bare": JSON_CALL,
    "hermes": f"<tool_call>\n{JSON_CALL}\n</tool_call>",
    "fence": f"```json\n{JSON_CALL}\n```",
    "text": msgspec.json.encode({"name": "write_file", "arguments": JSON_ARGUMENTS}).decode(),
    "mistral": f"[TOOL_CALLS][{JSON_CALL}]",
    "devstral": f"[TOOL_CALLS]write_file[ARGS]{JSON_ARGUMENTS}",
    "deepseek": f"<｜tool▁call▁begin｜>write_file<｜tool▁sep｜>{JSON_ARGUMENTS}<｜tool▁call▁end｜>",
    "kimi": f"<|tool_call_begin|>functions.write_file:0<|tool_call_argument_begin|>{JSON_ARGUMENTS}<|tool_call_end|>",
    "gpt-oss": f"<|channel|>commentary to=functions.write_file<|message|>{JSON_ARGUMENTS}<|call|>",
    "python": f"[write_file(file_path={FULL['file_path']!r}, content={FULL['content']!r}, mode=120)]",
    "function": f"<function=write_file>{JSON_ARGUMENTS}</function>",
    "react": f"Action: write_file\nAction Input: {JSON_ARGUMENTS}",
    "qwen3-coder": "<function=write_file>"
    + "".join(f"\n<parameter={key}>\n{value}\n</parameter>" for key, value in FULL.items())
    + "\n</function>",
    "minimax": '<invoke name="write_file">'
    + "".join(f'<parameter name="{key}">{value}</parameter>' for key, value in FULL.items())
    + "</invoke>",
    "glm": "<tool_call>write_file"
    + "".join(f"<arg_key>{key}</arg_key><arg_value>{value}</arg_value>" for key, value in FULL.items())
    + "</tool_call>",
    "gemma": "<|tool_call>call:write_file{"
    + ",".join(f'{key}:<|"|>{value}<|"|>' for key, value in FULL.items())
    + "}<tool_call|>",
    "own tag": "<write_file>"
    + "".join(f"<{key}>{value}</{key}>" for key, value in FULL.items() if key != "mode")
    + "</write_file>",
}


@pytest.mark.parametrize("form", WHOLE_ANSWERS)
@pytest.mark.parametrize("finish", ["stop", "length"])
def test_no_call_is_made_of_half_a_value_wherever_the_answer_breaks_off(form: str, finish: str) -> None:
    text = WHOLE_ANSWERS[form]
    full = {key: str(value) for key, value in FULL.items() if key != "mode" or form != "own tag"}
    for cut in range(1, len(text)):
        message = read(NativeDialect().reader(REQUEST), [TextChunk(text[:cut]), FinishChunk(finish)])
        for call in message.tool_calls:
            given = as_json(call)
            if not isinstance(given, dict):
                continue  # nobody runs it: it is answered with what is wrong
            arguments = {str(key): str(value) for key, value in given.items()}  # pyright: ignore[reportUnknownVariableType]
            assert finish == "stop" or arguments in ({}, full)
            assert {key: value for key, value in arguments.items() if key != "mode"}.items() <= full.items(), text[:cut]
    message = read(NativeDialect().reader(REQUEST), [TextChunk(text), FinishChunk("length")])
    assert [call.name for call in message.tool_calls] == ["write_file"]
    assert msgspec.json.decode(message.tool_calls[0].arguments)["content"] == FULL["content"]


PIECES = st.sampled_from(
    [
        *(
            "<tool_call>",
            "</tool_call>",
            "<function=read_file>",
            "<parameter=file_path>",
            "</parameter>",
            "</function>",
        ),
        *("```json\n", "```", "\n", " ", "{", "}", "[", "]", '"', "'", ":", ",", "name", "arguments", "read_file", "x"),
        *('{"name": "read_file", "arguments": {"file_path": "a"}}', "<think>", "</think>", "[TOOL_CALLS]", "[ARGS]"),
        *(
            "<|channel|>",
            "analysis",
            "<|message|>",
            "<|end|>",
            "<|call|>",
            "to=functions.",
            "(",
            ")",
            "=",
            "\\",
            "<",
            "|",
        ),
        *(
            "<tool_call>git_log\n",
            "<arg_key>",
            "</arg_key>",
            "<arg_value>",
            "</arg_value>",
            "Action: ",
            ">>>",
            "~~~",
            "//",
        ),
        *(
            "<tool_response>",
            "<|im_start|>",
            "user",
            "assistant",
            "</s>",
            "{{",
            "：",
            "<invoke name=",
            ">",
            "</invoke>",
        ),
    ]
)


@given(st.lists(PIECES, max_size=30), st.integers(1, 9), st.sampled_from(["stop", "length"]))
def test_any_rubble_is_read_the_same_however_it_is_cut(pieces: list[str], size: int, finish: str) -> None:
    case = Case(id="", family="", note="", text="".join(pieces), finish=finish)
    whole = outcome(read(reader_for(case), chunks_of(case, 10**6)))
    assert outcome(read(reader_for(case), chunks_of(case, size))) == whole


@given(st.text(alphabet=st.sampled_from("ab \n<>`{}[]()\"':,=/#*_-1.日"), max_size=80), st.integers(1, 5))
def test_text_without_calls_arrives_byte_for_byte(text: str, size: int) -> None:
    reader = NativeDialect().reader(REQUEST)
    message = read(reader, (TextChunk(text[start : start + size]) for start in range(0, len(text), size)))
    assert message.text == text
    assert message.tool_calls == ()


EXAMPLES = [
    "<tool_call>\n<function=run_command>\n<parameter=command>\nls\n</parameter>\n</function>\n</tool_call>",
    '<invoke name="run_command">\n<parameter name="command">ls</parameter>\n</invoke>',
    "<tool_call>run_command\n<arg_key>command</arg_key>\n<arg_value>ls</arg_value>\n</tool_call>",
    '<tool_call>\n{"name": "a"}\n</tool_call>\n<tool_call>\n{"name": "b"}\n</tool_call>',
    "<function=ls>\n</function>\n<function=pwd>\n</function>",
    '{"file_path": "b", "content": "c"}',
]
TAGGED = {
    "qwen3-coder": ("<function=write_file>", "\n<parameter={}>\n{}\n</parameter>", "\n</function>"),
    "minimax": ('<invoke name="write_file">', '<parameter name="{}">{}</parameter>', "</invoke>"),
    "glm": ("<tool_call>write_file", "<arg_key>{}</arg_key><arg_value>{}</arg_value>", "</tool_call>"),
}


@pytest.mark.parametrize("form", TAGGED)
@pytest.mark.parametrize("example", EXAMPLES)
def test_a_file_with_an_example_of_a_call_is_written_whole_or_not_at_all(form: str, example: str) -> None:
    beginning, argument, end = TAGGED[form]
    content = f"How to call:\n{example}\nThat is all."
    text = beginning + argument.format("file_path", "a.md") + argument.format("content", content) + end
    whole = [("write_file", {"file_path": "a.md", "content": content})]
    for cut in range(len(beginning) + len(argument.format("file_path", "a.md")), len(text) + 1):
        message = read(NativeDialect().reader(REQUEST), [TextChunk(text[:cut]), FinishChunk("stop")])
        given = [(call.name, as_json(call)) for call in message.tool_calls]
        assert [call for call in given if isinstance(call[1], dict) and "content" in call[1]] in ([], whole), text[:cut]
        assert {name for name, _ in given} <= {"write_file"}
    assert [(call.name, as_json(call)) for call in message.tool_calls] == whole


def test_arguments_too_deep_to_be_read_are_left_as_they_are() -> None:
    arguments = "[" * 100_000
    text = f'<tool_call>{{"name": "write_file", "arguments": {arguments}'
    message = read(NativeDialect().reader(REQUEST), [TextChunk(text)])
    assert [(call.name, call.arguments) for call in message.tool_calls] == [("write_file", arguments)]


def test_fences_in_fences_end() -> None:
    text = "Action: write_file\nAction Input: " + "```\n" * 5_000
    assert read(NativeDialect().reader(REQUEST), [TextChunk(text)]).text == text
