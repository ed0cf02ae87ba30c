"""Lines of code as patterns."""

import re

import pytest

from localllm.code.definition_patterns import defining, defining_exactly, spoken, together


@pytest.mark.parametrize(
    "text",
    ["retry", "Retry", "max_retry", "maxRetry", "MAX_RETRY", "time out", "TIME_OUT", "validation", "再試行"],
)
def test_words_are_found_in_the_forms_that_code_gives_them(text: str) -> None:
    assert re.search(spoken("retry|time out|validat*|再試行"), text)


@pytest.mark.parametrize("text", ["tryretrys", "timer out", "invalid", "試行"])
def test_other_words_are_not(text: str) -> None:
    assert not re.search(spoken("retry|time out|validat*|再試行"), text)


def test_what_is_no_word_is_meant_as_it_is() -> None:
    assert re.search(spoken("c++"), "in c++ here")
    assert not re.search(spoken("c++"), "ccc")


def test_together_wants_one_firm_pattern_and_as_many_as_told() -> None:
    two = together(["a", "b"], ["x", "y"])
    assert [bool(re.search(two, line)) for line in ("a b", "x a", "x y", "a")] == [True, True, False, False]
    three = together(["a", "b", "c"], least=3)
    assert [bool(re.search(three, line)) for line in ("c b a", "a b", "a b b")] == [True, False, False]


def test_a_definition_is_found_by_a_part_of_its_name_or_by_all_of_it() -> None:
    assert re.search(defining(spoken("retry")), "def with_retry(call):")
    assert not re.search(defining(spoken("retry")), "    with_retry(call)")
    assert re.search(defining_exactly("with_retry"), "def with_retry(call):")
    assert not re.search(defining_exactly("retry"), "def with_retry(call):")
