"""Arguments brought into the form their tool reads."""

import msgspec

from localllm.llm.tool_calling.arguments import coerce, settle
from tests.support.answers import TOOLS
from tests.support.each import each


@each(
    ("tool", "given", "wanted"),
    [
        ("read_file", '{"file_path": "a"}', '{"file_path": "a"}'),
        ("read_file", '"{\\"file_path\\": \\"a\\"}"', '{"file_path":"a"}'),
        ("read_file", "{'file_path': 'a', }", '{"file_path":"a"}'),
        ("read_file", '[{"file_path": "a"}]', '{"file_path":"a"}'),
        ("read_file", '"a b.txt"', '{"file_path":"a b.txt"}'),
        ("git_status", "null", "{}"),
        ("git_status", "", ""),
        ("read_file", '{"file_path": "a', '{"file_path": "a'),
        ("write_file", '"a b.txt"', '"a b.txt"'),
        ("git_log", '"3"', '"3"'),
        ("read_file", "[1, 2]", "[1, 2]"),
        ("read_file", "12", "12"),
    ],
)
def test_what_a_tool_is_given(tool: str, given: str, wanted: str) -> None:
    assert settle(given, TOOLS[tool]) == wanted


def test_arguments_of_a_tool_nobody_knows_are_mended_only() -> None:
    assert settle("{'a': '3', 'b': None}", None) == '{"a":"3","b":null}'


def test_brackets_stay_open_where_the_answer_was_cut() -> None:
    assert settle('{"file_path": "a"', TOOLS["read_file"], closes=False) == '{"file_path": "a"'


@each(
    ("tool", "given", "wanted"),
    [
        ("read_file", {"arguments": {"file_path": "a"}}, {"file_path": "a"}),
        ("read_file", {"input": '{"file_path": "a"}'}, {"file_path": "a"}),
        ("read_file", {"name": "read_file", "parameters": {"args": {"file_path": "a"}}}, {"file_path": "a"}),
        ("read_file", {"path": "a"}, {"path": "a"}),
        ("read_file", {"file_path": "a", "end_line": None}, {"file_path": "a"}),
        ("read_file", {"file_path": "a", "end_line": "null", "encoding": ""}, {"file_path": "a", "encoding": ""}),
        ("read_file", {"file_path": None}, {"file_path": None}),
        ("read_file", {"file_path": 7, "end_line": " 3 "}, {"file_path": "7", "end_line": "3"}),
        ("write_file", {"file_path": "a", "content": {"a": 1}}, {"file_path": "a", "content": {"a": 1}}),
        ("write_file", {"file_path": "a", "content": ""}, {"file_path": "a", "content": ""}),
        ("git_commit", {"message": "x", "files": '["a", "b"]'}, {"message": "x", "files": ["a", "b"]}),
        ("git_commit", {"message": "x", "files": "['a']"}, {"message": "x", "files": ["a"]}),
        ("git_commit", {"message": "x", "files": "a"}, {"message": "x", "files": ["a"]}),
        ("list_files", {"recursive": "Yes"}, {"recursive": True}),
        ("list_files", {"recursive": "perhaps"}, {"recursive": "perhaps"}),
    ],
)
def test_coercion(tool: str, given: dict[str, object], wanted: dict[str, object]) -> None:
    assert coerce(given, TOOLS[tool].parameters) == wanted


def test_an_object_where_an_object_is_wanted() -> None:
    parameters = {
        "properties": {"a": {"type": "object"}, "b": {"type": "array", "items": {"type": "object"}}},
        "required": ["a"],
    }
    assert coerce({"a": '{"k": 1}', "b": {"k": 2}}, parameters) == {"a": {"k": 1}, "b": [{"k": 2}]}
    assert coerce({"a": "k"}, parameters) == {"a": "k"}


def test_large_numbers_keep_their_digits() -> None:
    text = '{"file_path": "a", "end_line": 123456789012345678901234567890,}'
    assert msgspec.json.decode(settle(text, TOOLS["read_file"]))["end_line"] == 123456789012345678901234567890
