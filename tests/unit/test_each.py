"""Many cases in one test: none hides another, and each that fails is named."""

from pathlib import Path

import pytest

from tests.support.each import await_all, check_each, each


def is_small(number: int) -> None:
    assert number < 3, "too large"


async def is_small_later(number: int) -> None:
    is_small(number)


@each("number", [1, 5, 2, 7])
def every_number(number: int) -> None:
    is_small(number)


@each(("number", "word"), [(1, "a"), (5, "b")], ids=str)
async def every_pair(number: int, word: str) -> None:
    assert word
    is_small(number)


def test_all_that_fail_are_named_and_the_others_are_tried() -> None:
    with pytest.raises(ExceptionGroup, match="2 of 4 cases failed: 5; 7") as caught:
        every_number()
    assert [error.__notes__ for error in caught.value.exceptions] == [["case: 5"], ["case: 7"]]
    assert all("too large" in str(error) for error in caught.value.exceptions)
    with pytest.raises(ExceptionGroup, match="1 of 2 cases failed: four"):
        check_each([2, 4], is_small, {2: "two", 4: "four"}.__getitem__)


@pytest.mark.anyio
async def test_the_same_of_what_is_awaited() -> None:
    with pytest.raises(ExceptionGroup, match="1 of 2 cases failed: 5-b"):
        await every_pair()
    with pytest.raises(ExceptionGroup, match="1 of 3 cases failed: 8"):
        await await_all([1, 8, 2], is_small_later)


def test_no_cases_at_all_are_a_failure() -> None:
    with pytest.raises(AssertionError, match="no case"):
        each("number", [])(is_small)()


def test_what_the_test_does_not_take_is_an_error_at_once() -> None:
    with pytest.raises(AssertionError, match="does not take wrong"):
        each("wrong", [1])(is_small)


@each(("number", "word"), [(1, "a"), (2, "b")])
def test_fixtures_are_given_beside_the_cases(number: int, tmp_path: Path, word: str) -> None:
    assert tmp_path.is_dir()
    assert (number, word) in ((1, "a"), (2, "b"))
