"""Lines break at spaces, and in Japanese between characters, but not before closing punctuation."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from localllm.text.sanitising import display_width
from localllm.text.wrapping import break_offsets, longest_piece, wrap


@pytest.mark.parametrize(
    ("text", "width", "lines"),
    [
        ("The quick brown fox", 10, ["The quick", "brown fox"]),
        ("abcdefghijkl mn", 5, ["abcde", "fghij", "kl mn"]),
        ("日本語は、どこでも切れる。", 10, ["日本語は、", "どこでも切", "れる。"]),
        ("Pythonで「次のように」書く", 12, ["Pythonで「次", "のように」書", "く"]),
        ("四文字だ。", 8, ["四文字", "だ。"]),
        ("one\n\ntwo", 10, ["one", "", "two"]),
        ("", 10, [""]),
        ("short", 80, ["short"]),
    ],
)
def test_wrap(text: str, width: int, lines: list[str]) -> None:
    assert wrap(text, width) == lines


WORDS = st.text(alphabet=st.sampled_from("ab 日本。、「」（）ー\U0001f468\u200de\u0301"))


@given(WORDS, st.integers(4, 20))
def test_every_line_fits_and_nothing_is_lost(text: str, width: int) -> None:
    lines = wrap(text, width)
    assert all(display_width(line) <= width for line in lines)
    assert "".join("".join(lines).split()) == "".join(text.split())


@given(WORDS, st.integers(4, 20))
def test_offsets_grow(text: str, width: int) -> None:
    offsets = break_offsets(text, width)
    assert offsets == sorted(set(offsets))
    assert all(0 < offset < len(text) for offset in offsets)


def test_longest_piece() -> None:
    assert longest_piece("日本語 word") == 4
    assert longest_piece("日。") == 4
    assert longest_piece("") == 0
