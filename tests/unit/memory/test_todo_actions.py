"""What is told of a TODO whose state was to be changed."""

import pytest

from localllm.memory.entries import State
from localllm.memory.todo_actions import state_told
from localllm.memory.todos import Todo


@pytest.mark.parametrize(
    ("before", "now", "told"),
    [
        ("planned", "done", "Done: tbcdf Mend it"),
        ("doing", "done", "Done: tbcdf Mend it"),
        ("planned", "doing", "In progress: tbcdf Mend it"),
        ("dropped", "planned", "To do: tbcdf Mend it"),
        ("dropped", "done", "Done: tbcdf Mend it (before: dropped)"),
        ("done", "doing", "In progress: tbcdf Mend it (before: done)"),
        ("done", "done", "It is done already: tbcdf Mend it"),
        (None, "dropped", "Dropped: tbcdf Mend it"),
    ],
)
def test_what_it_was_before_is_told_where_it_had_ended_otherwise(before: State | None, now: State, told: str) -> None:
    was = Todo("tbcdf", 1, "Mend it", before) if before else None
    assert str(state_told(Todo("tbcdf", 1, "Mend it", now), was, "Mend it")) == told
