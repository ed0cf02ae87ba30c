"""Reading what the tools answered, in both languages."""

from collections.abc import Iterator

import pytest

from localllm.base import i18n
from localllm.base.errors import LocalLLMError, SafetyViolationError, ToolExecutionError
from localllm.base.i18n import tr
from localllm.lookup.results import (
    Hit,
    error_key,
    message_fields,
    read_changes,
    read_hits,
    read_lines,
    read_listing,
    read_outline,
)


@pytest.fixture(params=["en", "ja"])
def language(request: pytest.FixtureRequest) -> Iterator[str]:
    before = i18n.language()
    i18n.set_language(request.param)
    yield request.param
    i18n.set_language(before)


def test_hits_and_the_note_that_there_are_more(language: str) -> None:
    lines = "a b.py:3: x = 1\nc/設定.py:12: y: 2: z"

    whole, cut = read_hits(lines), read_hits(f"{lines}\n{tr('search.more')}")

    assert whole.hits == cut.hits == (Hit("a b.py", 3, "x = 1"), Hit("c/設定.py", 12, "y: 2: z"))
    assert (whole.truncated, cut.truncated) == (False, True)


def test_no_hits(language: str) -> None:
    assert read_hits(tr("search.nothing", pattern="x", count=3)) == read_hits("")


def test_a_listing(language: str) -> None:
    text = "\n".join(
        [
            "a.py",
            "b c/d.py",
            "empty/",
            tr("files.folder_count", path="e/", count=7),
            tr("files.left_out", count=7, total=9),
        ]
    )

    found = read_listing(text)

    assert (found.files, found.folders, found.total) == (("a.py", "b c/d.py"), {"e/": 7}, 9)


def test_an_empty_listing(language: str) -> None:
    assert read_listing(tr("files.none", path=".")).total == 0


def test_a_whole_file_and_a_part_of_one(language: str) -> None:
    heading = tr("files.range", path="a.py", start=5, end=6, total=20)
    more = tr("files.more", count=14, line=7)

    assert read_lines("a.py", "x\ny\n") == {1: "x", 2: "y", 3: ""}
    assert read_lines("a.py", f"{heading}\nx\ny\n{more}", 5) == {5: "x", 6: "y"}
    assert read_lines("a.py", tr("files.empty", path="a.py")) == {}


def test_an_outline_with_nested_names() -> None:
    found = read_outline("head\n1-9 class A\n  2-3 method b (1)\n    3-3 function c (2)\n  5-9 method d (1)")

    assert [(item.start, item.end, item.kind, item.name) for item in found] == [
        (1, 9, "class", "A"),
        (2, 3, "method", "A.b"),
        (3, 3, "function", "A.b.c"),
        (5, 9, "method", "A.d"),
    ]


def test_a_status(language: str) -> None:
    text = f"{tr('git.branch', branch='main')}\n{tr('git.modified')}\n  M a.py\n  ?? b c.py"

    assert read_changes(text) == [("M", "a.py"), ("??", "b c.py")]


@pytest.mark.parametrize(
    "error",
    [
        SafetyViolationError("denied_by_user", name="edit_file", feedback=""),
        SafetyViolationError("denied_by_user", name="edit_file", feedback="Do not.\nReally."),
        SafetyViolationError("denied_unattended", name="run_command"),
        ToolExecutionError("file_missing", path="a b.py", hint=""),
        ToolExecutionError("file_exists", path="a"),
        ToolExecutionError("search_timeout", pattern="x", seconds=20.0),
        ToolExecutionError("edit_no_match", path="a", closest="b\nc"),
    ],
)
def test_an_error_is_known_by_its_text(error: LocalLLMError, language: str) -> None:
    assert error_key(str(error)) == error.key


@pytest.mark.parametrize("text", ["", "x = 1\n", "see: There is no file a", "def f():\n    There is no file b. {hint}"])
def test_what_is_no_error(text: str) -> None:
    assert error_key(text) == ""


def test_the_fields_of_a_message(language: str) -> None:
    assert message_fields("command.exit", tr("command.exit", code=3)) == {"code": "3"}
    assert message_fields("command.exit", "3 passed") is None
