"""TODOs at the start of the chat and at the end of a run."""

import pytest

from localllm.base.i18n import set_language
from localllm.memory.todos import Todo
from localllm.text.sanitising import display_width
from localllm.tui.render.todos import in_progress_line, reminder_lines
from localllm.tui.theme import Line


def texts(lines: list[Line]) -> list[str]:
    return ["".join(text for _, text in line) for line in lines]


def many(count: int) -> list[Todo]:
    return [Todo(f"t{number}", number, f"task {number}") for number in range(1, count + 1)]


def test_at_most_five_and_how_many_more() -> None:
    assert texts(reminder_lines(many(7), 80)) == [
        "  Open TODOs",
        *(f"  [ ] task {number}" for number in range(1, 6)),
        "  … and 2 more: /todo",
    ]
    assert len(reminder_lines(many(5), 80)) == 6
    assert reminder_lines([], 80) == []


def test_state_and_priority_are_shown() -> None:
    assert texts(reminder_lines([Todo("t", 1, "fix", "doing", "high")], 80))[1] == "  [~] fix (high)"


def test_what_is_in_progress_is_named_on_one_line() -> None:
    assert texts([in_progress_line(many(5), 80)]) == ["  in progress: task 1, task 2, task 3 (+2)"]


@pytest.mark.parametrize("width", [20, 40, 80])
def test_long_ones_are_cut_and_nothing_invisible_passes(width: int) -> None:
    set_language("ja")
    try:
        long = [Todo("t1", 1, "とても長い作業の名前\x1b[31m" * 9, "doing"), *many(8)]
        for line in texts([*reminder_lines(long, width), in_progress_line(long, width)]):
            assert display_width(line) <= width
            assert "\x1b" not in line
    finally:
        set_language("en")
