"""What a function gave is remembered, within a bound of bytes."""

import pytest

from localllm.base.memo import Memo


def counting(most: int) -> tuple[Memo[str, str], list[str]]:
    asked: list[str] = []

    def upper(text: str) -> str:
        asked.append(text)
        return text.upper()

    return Memo(upper, lambda key, value: len(key) + len(value), most), asked


def test_what_was_asked_for_is_not_worked_out_again() -> None:
    memo, asked = counting(1_000)
    assert [memo("a"), memo("b"), memo("a")] == ["A", "B", "A"]
    assert asked == ["a", "b"]


def test_what_is_asked_for_again_and_again_stays_while_others_come_and_go() -> None:
    memo, asked = counting(1_000)
    for number in range(1_000):
        memo("again")
        memo(f"{number:100}")
    assert asked.count("again") == 1
    assert len(asked) == 1_001


def test_what_nobody_asks_for_any_more_is_forgotten() -> None:
    memo, asked = counting(1_000)
    for text in ("once", *(f"{number:100}" for number in range(10)), "once"):
        memo(text)
    assert asked.count("once") == 2


def test_no_more_is_remembered_than_the_bound() -> None:
    memo, _ = counting(1_000)
    for number in range(100):
        memo(f"{number:40}")
    assert sum(2 * len(key) for key in (*memo._new, *memo._old)) <= 1_000  # pyright: ignore[reportPrivateUsage]


def test_what_is_too_large_is_worked_out_each_time_and_drives_nothing_out() -> None:
    memo, asked = counting(1_000)
    for text in ("small", "x" * 300, "x" * 300, "small"):
        assert memo(text) == text.upper()
    assert asked == ["small", "x" * 300, "x" * 300]


def test_a_process_can_have_each_remember_a_share(monkeypatch: pytest.MonkeyPatch) -> None:
    memo, asked = counting(1_000)
    memo("a" * 40)
    monkeypatch.setattr(Memo, "share", 1 / 10)
    memo("a" * 40)
    for text in ("b" * 40, "b" * 40, "c" * 20, "c" * 20):
        memo(text)
    assert asked == ["a" * 40, "b" * 40, "b" * 40, "c" * 20]
