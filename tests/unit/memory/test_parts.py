"""A large task in parts: what becomes a TODO of its own, and what it is called."""

import os
from pathlib import Path

import pytest

from localllm.base.errors import ToolExecutionError
from localllm.memory.external_memory import ExternalMemorySystem
from localllm.memory.task_splitting import TASK_SIZE, Part, Parts, chunk, parts_of
from localllm.memory.todos import read_plan

pytestmark = pytest.mark.anyio


def cut(task: str, source: str = "", first_line: int = 1) -> Parts:
    return parts_of(task, chunk(task, TASK_SIZE), source, first_line)


def titles(task: str, source: str = "", first_line: int = 1) -> list[str]:
    return [part.title for part in cut(task, source, first_line).parts]


@pytest.mark.parametrize(
    ("task", "part"),
    [
        ("Fix the login", Part("Fix the login")),
        ("Implement:\n- a\n- b", Part("Implement:", "- a\n- b")),
        ("# Implement\n\nsome words", Part("Implement", "\nsome words")),
        ("1. only one\n   with more", Part("only one", "   with more")),
        ("#3 is broken", Part("#3 is broken")),
        ("long " * 300, Part(("long " * 300).strip())),
        ("# Plan\n- a\nwords\n\nmore words\n\nof it", Part("Plan", "- a\nwords\n\nmore words\n\nof it")),
        ("- a\n\nwords\n\n- b\n\nwords\n\nand words", Part("a", "\nwords\n\n- b\n\nwords\n\nand words")),
    ],
)
def test_what_is_one_task_stays_one(task: str, part: Part) -> None:
    assert cut(task) == Parts((part,))


def test_a_list_is_as_many_tasks_as_it_has_items() -> None:
    task = "- [ ] Fix it (high) +2026-01-02\n- [x] done\n* [~] begun\n\n  - nested\n- [完了] 済んだ\n-\n- last"
    assert cut(task) == Parts(
        (Part("Fix it", "", "high"), Part("begun", "\n  - nested"), Part("last")),
        finished=2,
    )


def test_items_say_under_which_of_several_headings_they_stand() -> None:
    assert titles("# Plan\n## Parser\n1. tests\n2. code\n") == ["tests", "code"]
    both = "# Plan\n\n## Parser\n- tests\n\n## **Lexer**\n- tests\n"
    assert titles(both) == ["Parser: tests", "**Lexer**: tests"]


def test_of_a_file_the_items_count_also_behind_other_words() -> None:
    task = "What is to be done this week:\n\n- one\n- two\n"
    assert titles(task, "plan.md") == ["one", "two"]
    prose = "A page of prose.\n" * 30
    assert titles(f"{prose}\n- and\n- two\n", "plan.md") == ["A page of prose @plan.md:1-33"]
    assert cut("A page.\n\nOf prose.\n", "plan.md").parts == (Part("A page.", "\nOf prose."),)


def test_as_many_items_as_other_lines_are_a_list() -> None:
    assert titles("- a\n\nwords\n\n- b\n\nwords") == ["a", "b"]


def test_an_item_that_is_too_long_for_a_line_is_nested_whole() -> None:
    long = "Make it work. " + "and more of it " * 150
    assert cut(f"- {long}\n  nested\n- b\n").parts[0] == Part("Make it work", f"{long.strip()}\n  nested")
    assert cut(f"- {long}\n- b\n").parts[0] == Part("Make it work", long.strip())
    assert cut(f"- {'a' * TASK_SIZE}\n- b\n").parts[0] == Part("a" * TASK_SIZE)


def test_an_item_with_much_below_it_points_to_its_lines() -> None:
    task = "# Plan\n\n- one\n" + "  more words of it\n" * 40 + "- two\n  few\n"
    assert cut(task, "my plan.md", 11).parts == (Part('one @"my plan.md":13-53'), Part("two", "  few"))
    assert cut("- one\n" + "  more words of it\n" * 40 + "- two\n").parts[0].details.count("more") == 40


def test_a_large_text_is_cut_and_each_part_is_called_by_what_it_is_about() -> None:
    task = "# Importer\n\n" + "It reads CSV files.\n" * 150 + "\n## Exporter\n\n" + "It writes JSON.\n" * 150
    assert titles(task, "docs/plan.md") == [
        "Importer (1/3) @docs/plan.md:1-101",
        "Importer … Exporter (2/3) @docs/plan.md:102-215",
        "Exporter (3/3) @docs/plan.md:216-305",
    ]
    parts = cut(task).parts
    assert [part.title for part in parts] == ["Importer (1/3)", "Importer … Exporter (2/3)", "Exporter (3/3)"]
    assert "".join(part.details for part in parts).count("It reads CSV files.") == 150


def test_a_part_that_ends_within_a_line_is_kept_with_the_todo() -> None:
    task = "一つの長い作業です。" * 400
    for parts in (cut(task).parts, cut(task, "計画.md").parts):
        assert [part.title for part in parts] == ["一つの長い作業です (1/2)", "一つの長い作業です (2/2)"]
        assert "".join(part.details for part in parts) == task


async def test_all_parts_come_onto_the_list_at_once_and_none_twice(tmp_path: Path) -> None:
    memory = ExternalMemorySystem(tmp_path)
    added = await memory.put_todos("- one\n- two (low)\n- [x] three\n", "high")
    assert [(todo.text, todo.priority) for todo in added.todos] == [("one", "high"), ("two", "low")]
    assert added.finished == 1
    assert (await memory.put_todos("- two\n- four\n")).todos[-1].text == "four"
    assert [todo.text for todo in memory.todos()] == ["one", "two", "four"]


async def test_what_nobody_would_work_through_is_refused(tmp_path: Path) -> None:
    memory = ExternalMemorySystem(tmp_path)
    await memory.put_todos("".join(f"- begun {n}\n" for n in range(100)))
    before = memory.file.read().text
    for task, key in (
        ("".join(f"- task {n}\n" for n in range(101)), "memory_too_many"),
        ("- [x] a\n- [x] b", "memory_text_empty"),
    ):
        with pytest.raises(ToolExecutionError) as raised:
            await memory.put_todos(task)
        assert raised.value.key == key
    assert memory.file.read().text == before


def test_a_plan_is_read_from_a_file(tmp_path: Path) -> None:
    (tmp_path / "plan.md").write_bytes("一つ目の作業\r\n二つ目の作業\r\n".encode("cp932"))
    assert read_plan(tmp_path, "plan.md").text.split() == ["一つ目の作業", "二つ目の作業"]
    part = read_plan(tmp_path, str(tmp_path / "plan.md"), 2, 1)
    assert (part.text.strip(), part.source, part.first_line) == ("二つ目の作業", "plan.md", 2)


def test_a_plan_is_read_from_home_and_links_lead_nowhere_outside(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project, home = tmp_path / "project", tmp_path / "home"
    project.mkdir()
    home.mkdir()
    (home / "plan.md").write_text("a" * 1_000_000)
    (home / "link.md").symlink_to("plan.md")
    monkeypatch.setenv("HOME", str(home))
    plan = read_plan(project, "~/link.md")
    assert (len(plan.text), plan.source, plan.first_line) == (1_000_000, str(home / "link.md"), 1)
    (project / "link.md").symlink_to(home / "plan.md")
    with pytest.raises(ToolExecutionError):
        read_plan(project, "link.md")


def test_what_is_no_plan_is_said(tmp_path: Path) -> None:
    (tmp_path / "binary").write_bytes(b"\x7fELF\2\1\1\0" + bytes(range(256)))
    with (tmp_path / "large").open("wb") as file:
        file.truncate(1_000_001)
    os.mkfifo(tmp_path / "pipe")
    reasons = {"none": "No such file", "pipe": "pipe", "binary": "binary"}
    lowest = os.dup(0)
    os.close(lowest)
    for name in ("none", ".", "binary", "large", "pipe", "a\0b", "~nobody-at-all/x", "no\nne"):
        with pytest.raises(ToolExecutionError) as raised:
            read_plan(tmp_path, name)
        assert raised.value.key == "todo_file_unreadable"
        assert reasons.get(name, "") in str(raised.value.why)
        assert "\n" not in raised.value.what
    assert os.dup(0) == lowest  # nothing was left open
    os.close(lowest)
