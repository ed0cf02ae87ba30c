"""Large tasks in parts: cut at the borders there are, nothing lost, fences whole."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from localllm.memory.task_splitting import chunk
from tests.support.each import each

PIECES = (
    "word ",
    "文。",
    "End. ",
    "\n",
    "\n\n",
    "# Head\n",
    "- item\n",
    "  - nested\n",
    "```\ncode\n\ncode\n```\n",
    "長" * 30,
    "e\u0301",
)


@given(text=st.lists(st.sampled_from(PIECES), max_size=40).map("".join), size=st.integers(1, 60))
def test_nothing_is_lost(text: str, size: int) -> None:
    parts = chunk(text, size)
    assert all(0 < len(part) <= size for part in parts)
    at = 0
    for part in parts:
        found = text.find(part, at)
        assert found >= 0
        assert not text[at:found].strip()
        at = found + len(part)
    assert not text[at:].strip()


@each(
    ("text", "size", "parts"),
    [
        ("", 10, []),
        (" \n\n ", 10, []),
        ("short", 10, ["short"]),
        ("First one. Second two. Third.", 22, ["First one. Second two.", "Third."]),
        ("一つ目。「二つ目。」三つ目！四つ目", 10, ["一つ目。「二つ目。」", "三つ目！四つ目"]),
        ("- a\n- b\n- c\n", 7, ["- a\n- b", "- c"]),
        ("- a\n  - deep\n- b\n", 14, ["- a\n  - deep", "- b"]),
        ("text\n\n# Head\n\nbelow", 14, ["text", "# Head\n\nbelow"]),
        ("ab\n\n```\none\n\ntwo\n```\n", 17, ["ab", "```\none\n\ntwo\n```"]),
        ("- item\n  ```\n  one\n  ```\n  end\n", 19, ["- item", "  ```\n  one\n  ```", "  end"]),
        ("```\none\ntwo\n```", 7, ["```\none", "two\n```"]),
        ("abcdefgh", 3, ["abc", "def", "gh"]),
        ("one two three", 7, ["one two", "three"]),
        ("e\u0301e\u0301", 3, ["e\u0301", "e\u0301"]),
        ("exactly it", 10, ["exactly it"]),
        ("one two\nthree four", 9, ["one two", "three", "four"]),
        ("word\nother word\n", 10, ["word", "other word"]),
        ("ab. cde. fgh", 4, ["ab.", "cde.", "fgh"]),
        ("# Head\n\na paragraph of it", 16, ["# Head\n\na", "paragraph of it"]),
    ],
)
def test_borders(text: str, size: int, parts: list[str]) -> None:
    assert chunk(text, size) == parts


@pytest.mark.parametrize("size", [0, -1])
def test_a_size_must_be_positive(size: int) -> None:
    with pytest.raises(ValueError, match=str(size)):
        chunk("a", size)


@pytest.mark.parametrize("closing", ["```", "`````"])
def test_a_fence_ends_with_as_many_marks_as_it_began_with_or_more(closing: str) -> None:
    """In an item that is too large, the lines after the fence fill the parts of their own accord."""
    fence = "  ```\n" + "  code line\n" * 5 + f"  {closing}"
    parts = chunk(f"- item of many words, sixty characters and some\n\n{fence}\n" + "  other words of it\n" * 12, 100)
    assert [part for part in parts if fence in part]
    assert all(len(part) <= 100 for part in parts)
