"""What is said of calls, whatever a model wrote into them."""

import pytest

from localllm.base.events import ToolCall
from localllm.llm.messages import arguments_in, canonical, in_few_words, path_of, with_arguments

BROKEN = ["no JSON", "[1]", '{"a": ', '"\ud800"']


@pytest.mark.parametrize("written", ["", "{}", *BROKEN])
def test_what_is_no_object_has_no_arguments(written: str) -> None:
    call = ToolCall("1", "t", written)
    assert arguments_in(written) == {}
    assert (path_of(call), with_arguments(call), in_few_words("t", written)) == ("", "t()", "t")


def test_equal_arguments_are_the_same_text() -> None:
    assert canonical('{"b": {"d": 1, "c": 2}, "a": [2, 1]}') == canonical('{ "a":[2,1],"b":{"c":2,"d":1} }')
    assert canonical('{"a": [1, 2]}') != canonical('{"a": [2, 1]}')
    assert canonical("") == canonical(" {}")
    assert [canonical(written) for written in BROKEN] == ["no JSON", "[1]", '{"a": ', '"\ud800"']


@pytest.mark.parametrize(
    ("arguments", "path"),
    [
        ('{"path": "b", "file_path": "a"}', "a"),
        ('{"file": "a.py"}', "a.py"),
        ('{"file_path": "", "filename": "a.py"}', "a.py"),
        ('{"path": "."}', ""),
        ('{"path": ["a"]}', ""),
        ('{"command": "a.py"}', ""),
    ],
)
def test_the_file_a_call_is_about(arguments: str, path: str) -> None:
    assert path_of(ToolCall("1", "t", arguments)) == path


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ('{"old_string": "x", "file_path": "a.py"}', "t a.py"),
        ('{"depth": 2, "path": "src"}', "t src depth=2"),
        ('{"file_path": "a.py", "start_line": 3, "content": "x", "lines": [1]}', "t a.py start_line=3"),
        ('{"url": "u", "why": "because it says so in the file"}', "t u"),
        ('{"id": 3}', "t 3"),
        ('{"command": "a\\n  b"}', "t a b"),
    ],
)
def test_a_call_in_a_few_words(arguments: str, words: str) -> None:
    assert in_few_words("t", arguments) == words


def test_long_arguments_are_cut() -> None:
    assert len(in_few_words("t", f'{{"command": "{"x" * 200}"}}')) == 80
    long = ToolCall("1", "edit_file", f'{{"file_path": "a.py", "old_string": "{"x" * 200}", "new_string": "a\\n b"}}')
    assert with_arguments(long) == f"edit_file(file_path=a.py, old_string={'x' * 79}…, new_string=a b)"
    many = ToolCall("1", "t", f'{{"a": "{"x" * 75}", "b": "{"y" * 75}", "c": "{"z" * 75}"}}')
    assert len(with_arguments(many)) == len("t()") + 160
