"""Aligning has a bound on its work."""

import pytest

from localllm.text.diffing import Alignment, Budget, TooMuchWorkError, changed_lines, unified


def test_what_is_within_the_budget_is_as_difflib_has_it() -> None:
    assert Alignment(["a", "b", "c"], ["a", "x", "c"]).get_opcodes() == [
        ("equal", 0, 1, 0, 1),
        ("replace", 1, 2, 1, 2),
        ("equal", 2, 3, 2, 3),
    ]


def test_a_sequence_of_nothing_but_the_same_is_given_up() -> None:
    with pytest.raises(TooMuchWorkError):
        Alignment(["a"] * 3_000, ["a"] * 2_999 + ["b"]).get_opcodes()


def test_several_share_a_budget() -> None:
    budget = Budget(20)
    Alignment(["a"] * 3, ["a"] * 3, budget=budget).ratio()
    with pytest.raises(TooMuchWorkError):
        Alignment(["a"] * 3, ["a"] * 3, budget=budget).ratio()


def test_a_diff_of_many_changes_is_one_of_all_between_them() -> None:
    lines = [f"line {number}" for number in range(6_000)]
    others = [line + "!" if number % 2 else line for number, line in enumerate(lines)]
    old, new = "\n".join(lines), "\n".join(others)
    added, removed = changed_lines(old, new)
    assert added == removed == 5_999
    assert unified(old, new, "x").count("\n-line") == 5_999
