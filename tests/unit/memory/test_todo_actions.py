"""What is told of a TODO whose state was to be changed."""

import pytest

from localllm.memory.entries import State
from localllm.memory.todo_actions import by_word, state_told, todo_text
from localllm.memory.todos import Priority, Todo


@pytest.mark.parametrize(
    ("before", "now", "told"),
    [
        ("planned", "done", "Done: tbcdf Mend it"),
        ("doing", "done", "Done: tbcdf Mend it"),
        ("planned", "doing", "In progress: tbcdf Mend it"),
        ("dropped", "planned", "To do: tbcdf Mend it"),
        ("dropped", "done", "Done: tbcdf Mend it (before: dropped)"),
        ("done", "doing", "In progress: tbcdf Mend it (before: done)"),
        ("done", "done", "Already done: tbcdf Mend it"),
        (None, "dropped", "Dropped: tbcdf Mend it"),
    ],
)
def test_what_it_was_before_is_told_where_it_had_ended_otherwise(before: State | None, now: State, told: str) -> None:
    was = Todo("tbcdf", 1, "Mend it", before) if before else None
    assert str(state_told(Todo("tbcdf", 1, "Mend it", now), was, "Mend it")) == told


@pytest.mark.parametrize(
    ("priority", "text"), [("high", "Mend it (high)"), ("medium", "Mend it"), ("low", "Mend it (low)")]
)
def test_a_todo_in_one_line_has_its_priority_unless_it_is_the_usual_one(priority: Priority, text: str) -> None:
    assert todo_text(Todo("tbcdf", 1, "Mend it", priority=priority)) == text
    assert todo_text(Todo("tbcdf", 1, "Mend\nit")) == "Mend␊it"


def test_the_words_for_what_can_be_done_are_english_and_japanese() -> None:
    words = by_word({"finish": "done|finish", "other": "x"})
    assert words == {
        "done": "finish",
        "finish": "finish",
        "完了": "finish",
        "終了": "finish",
        "x": "other",
        "other": "other",
    }
