"""A late pattern is that of re.compile, made when it is first used."""

import re

import pytest

from localllm.base.lazy_patterns import late_pattern


def test_it_does_what_the_compiled_one_does() -> None:
    text = "Ab-ab-c"
    late, real = late_pattern("a(B)", re.IGNORECASE), re.compile("a(B)", re.IGNORECASE)
    for _ in range(2):
        assert [found.span() for found in late.finditer(text, 1)] == [found.span() for found in real.finditer(text, 1)]
        assert late.sub("x", text) == real.sub("x", text)
        assert late.split(text) == real.split(text)
        assert late.groups == real.groups
    assert (late.pattern, late.flags) == (real.pattern, real.flags)


def test_nothing_is_compiled_before_that() -> None:
    late = late_pattern("(")
    assert late.pattern == "("
    with pytest.raises(re.error):
        late.search("x")


def test_what_a_pattern_has_not_got_is_an_attribute_error() -> None:
    assert not hasattr(late_pattern("a"), "nothing_of_the_kind")
