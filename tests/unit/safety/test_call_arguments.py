"""Arguments in other units, under other names and in other forms are brought to those of the tool."""

import msgspec
import pytest

from localllm.base import i18n
from localllm.base.events import Json
from localllm.safety.call_arguments import ArgumentsError, Fitted, fit, joined
from tests.support.each import each


class Run(msgspec.Struct):
    command: str
    timeout: float = 60.0


class Read(msgspec.Struct):
    file_path: str
    start_line: int = 1
    max_lines: int = 500


class Write(msgspec.Struct):
    file_path: str
    content: str


class Edit(msgspec.Struct):
    file_path: str
    replace_all: bool = False


class Search(msgspec.Struct):
    pattern: str = ""
    path: str = "."
    include: str = ""
    ignore_case: bool = False


STRUCTS: dict[str, type[msgspec.Struct]] = {
    "run_command": Run, "read_file": Read, "write_file": Write, "edit_file": Edit, "search_files": Search
}  # fmt: skip


def fitted(tool: str, given: dict[str, Json]) -> Fitted:
    return fit(tool, STRUCTS[tool], given)


@each(
    ("given", "seconds"),
    [
        ({}, 60),
        ({"timeout": None}, 60),
        ({"timeout": 5}, 5),
        ({"timeout": "5"}, 5),
        ({"timeout": 1_000}, 1_000),
        ({"timeout": 120_000}, 120),
        ({"timeout": "2 minutes"}, 120),
        ({"timeout": "1.5H"}, 5_400),
        ({"timeout": "90s"}, 90),
        ({"timeout": "500ms"}, 0.5),
        ({"timeout_ms": 500}, 0.5),
        ({"timeout_ms": 500, "timeout": 7}, 0.007),
    ],
)
def test_a_timeout_is_in_seconds(given: dict[str, Json], seconds: float) -> None:
    assert fitted("run_command", {"command": "x", **given}).values["timeout"] == pytest.approx(seconds)


@each(
    ("given", "lines"),
    [
        ({}, (1, 500)),
        ({"start_line": 0}, (1, 500)),
        ({"start_line": "7", "end_line": 9}, (7, 3)),
        ({"end_line": 9}, (1, 9)),
        ({"start_line": 7, "end_line": -1}, (7, 500)),
        ({"start_line": 7, "end_line": 9, "max_lines": 2}, (7, 2)),
        ({"view_range": [3, 5]}, (3, 3)),
        ({"view_range": "3-5"}, (3, 3)),
        ({"view_range": "3, 5"}, (3, 3)),
        ({"view_range": [3, -1]}, (3, 500)),
        ({"view_range": [3]}, (3, 500)),
    ],
)
def test_lines_are_a_start_and_a_number(given: dict[str, Json], lines: tuple[int, int]) -> None:
    values = fitted("read_file", {"file_path": "a", **given}).values
    assert (values["start_line"], values["max_lines"]) == lines


@each(
    ("given", "search"),
    [
        ({"path": "src/**/*.py"}, ("src", "**/*.py")),
        ({"path": "*.py"}, (".", "*.py")),
        ({"path": "/*.py"}, ("/", "*.py")),
        ({"path": "src", "include": "*.c"}, ("src", "*.c")),
        ({"path": "s*", "include": "*.c"}, ("s*", "*.c")),
    ],
)
def test_a_glob_for_a_path_is_a_folder_and_a_glob(given: dict[str, Json], search: tuple[str, str]) -> None:
    values = fitted("search_files", given).values
    assert (values["path"], values["include"]) == search


def test_other_words_for_yes_and_no() -> None:
    for given, ignores in ((True, False), (False, True), ("false", True), (0, True), ("true", False)):
        assert fitted("search_files", {"case_sensitive": given}).values["ignore_case"] is ignores
    assert fitted("search_files", {"case_sensitive": True, "ignore_case": True}).values["ignore_case"] is True
    for count, replaces in ((1, False), ("0", False), (3, True)):
        assert fitted("edit_file", {"file_path": "a", "expected_replacements": count}).values["replace_all"] is replaces


def test_other_forms_of_a_text() -> None:
    content: Json = {"a": [1]}
    assert fitted("write_file", {"file_path": "a.json", "content": content}).values["content"] == (
        '{\n  "a": [\n    1\n  ]\n}\n'
    )
    assert fitted("write_file", {"file_path": "a", "content": 1.5}).values["content"] == "1.5"
    with pytest.raises(ArgumentsError, match="content: "):
        fitted("write_file", {"file_path": "a.txt", "content": content})
    assert fitted("run_command", {"command": ["ls", "a b"]}).values["command"] == "ls 'a b'"


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["/bin/bash", "-lc", "ls | wc"], "ls | wc"),
        (["sh", "-c", "ls"], "ls"),
        (["python", "-c", "x y"], "python -c 'x y'"),
        (["bash", "-x", "a b"], "bash -x 'a b'"),
        (["ls | wc"], "ls | wc"),
        (["sleep", 3], "sleep 3"),
    ],
)
def test_a_list_of_words_is_a_line(words: list[object], line: str) -> None:
    assert joined(words) == line


def test_every_fault_is_named_at_once() -> None:
    with pytest.raises(ArgumentsError) as raised:
        fitted("read_file", {"start_line": "x", "what": 1})
    assert str(raised.value).startswith("missing: file_path; unknown: what; start_line: ")
    i18n.set_language("ja")
    try:
        assert str(raised.value.reason).startswith("足りない引数: file_path; 不明な引数: what; start_line: ")
    finally:
        i18n.set_language("en")
    for given, fault in (
        ({"start_line": 9, "end_line": 3}, "end_line is before start_line"),
        ({"end_line": "x"}, "end_line: Expected `int`"),
        ({"view_range": "all"}, "view_range: expected"),
        ({"view_range": [1, 2, 3]}, "view_range: expected"),
    ):
        with pytest.raises(ArgumentsError, match=fault):
            fitted("read_file", {"file_path": "a", **given})
    with pytest.raises(ArgumentsError, match="the unit years is not known"):
        fitted("run_command", {"command": "x", "timeout": "2 years"})


def test_its_own_name_comes_first_and_a_second_one_must_say_the_same() -> None:
    assert fitted("read_file", {"path": "a", "file_path": "a"}).values["file_path"] == "a"
    with pytest.raises(ArgumentsError, match="unknown: path"):
        fitted("read_file", {"path": "b", "file_path": "a"})
