"""What becomes of the TODO list behind the model's back is told once, and only where something did."""

from pathlib import Path

import pytest

from localllm.app.todo_sync import CHANGED, TodoNews
from localllm.base.i18n import set_language
from localllm.memory.project_memory import ProjectMemory

HEAD = "# Project\n\n## TODO\n\n"
TOLD = f"[{CHANGED}: "


@pytest.fixture
def memory(tmp_path: Path) -> ProjectMemory:
    return ProjectMemory(tmp_path, "LOCALLLM.md")


def write(memory: ProjectMemory, *items: str) -> None:
    memory.system.file.path.write_text(HEAD + "".join(f"- {item}\n" for item in items), encoding="utf-8")


def test_what_was_added_done_dropped_and_removed(memory: ProjectMemory) -> None:
    write(memory, "[ ] One", "[ ] Two", "[ ] Three", "[ ] Four", "[ ] Five")
    news = TodoNews(memory)
    assert news.take() == "", "before the first run ends, the digest tells all of it"
    news.seen()
    assert news.take() == ""
    write(memory, "[x] One", "[-] Two", "[ ] Three (high)", "[ ] Four", "[ ] Six (low)", "[x] Seven")
    ids = {todo.text: todo.id for todo in memory.system.todos()}
    told = news.take()
    assert told.startswith(TOLD)
    parts = told.removeprefix(TOLD).removesuffix("]").split(" · ")
    assert parts[:4] == [
        f"Done: {ids['One']} One",
        f"Dropped: {ids['Two']} Two",
        f"Priority high: {ids['Three']} Three",
        f"To do: {ids['Six']} Six (low)",
    ]
    assert parts[4].startswith("Removed: ")
    assert parts[4].endswith(" Five")
    assert len(parts) == 5, "nothing of what is as it was, nor of what came finished"
    assert news.take() == "", "once"


def test_a_run_that_ended_before_the_model_was_asked_has_told_it_nothing(memory: ProjectMemory) -> None:
    news = TodoNews(memory)
    news.take()
    news.seen()
    write(memory, "[ ] One")
    news.seen()
    assert news.take().endswith(" One]")


def test_what_came_back_to_what_it_was_is_no_news(memory: ProjectMemory) -> None:
    write(memory, "[ ] One")
    news = TodoNews(memory)
    news.seen()
    write(memory, "[ ] One", "[ ] Two")
    write(memory, "[ ] One")
    assert news.take() == ""


def test_a_file_that_is_made_and_one_that_cannot_be_read(memory: ProjectMemory) -> None:
    news = TodoNews(memory)
    news.seen()
    write(memory, "[ ] One")
    assert "To do: " in news.take()
    memory.system.file.path.write_bytes(b"\xff\xfe\xff")
    assert news.take() == "", "nothing was removed: it cannot be read"
    write(memory, "[x] One")
    assert "Done: " in news.take()


def test_many_changes_are_few_words(memory: ProjectMemory) -> None:
    news = TodoNews(memory)
    news.seen()
    write(memory, *(f"[ ] Item {number} {'long ' * 60}" for number in range(30)))
    told = news.take()
    assert told.endswith(" · +20]")
    assert len(told) < 1500


def test_the_model_is_told_in_english_whatever_the_language(memory: ProjectMemory) -> None:
    news = TodoNews(memory)
    news.seen()
    write(memory, "[ ] 説明を書く")
    set_language("ja")
    try:
        assert news.take().startswith(TOLD + "To do: ")
    finally:
        set_language("en")
