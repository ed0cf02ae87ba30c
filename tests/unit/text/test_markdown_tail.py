"""The end of a long block reads like the end of the whole, and is not much longer than what is asked for."""

from hypothesis import given
from hypothesis import strategies as st

from localllm.text.markdown_blocks import lines_of
from localllm.text.markdown_tail import MarkdownTail
from tests.support.each import each

MANY = [f"line {number}\n" for number in range(1_000)]


def tail(lines: list[str], partial: str = "", *, most: int = 3, characters: int = 10_000) -> str:
    made = MarkdownTail()
    made.add(lines)
    return made.text(partial, most, characters)


def test_what_is_short_is_whole() -> None:
    assert tail(["one\n", "two\n"], "thr") == "one\ntwo\nthr"


def numbered(line: str) -> list[str]:
    return [line.format(number) for number in range(9)]


@each(
    ("lines", "end"),
    [
        (MANY, "line 997\nline 998\nline 999\n"),
        (["- a\n", *numbered("  - in {}\n")], "- a\n  - in 6\n  - in 7\n  - in 8\n"),
        (["1. a\n", "   - in\n", *numbered("     {}\n")], "1. a\n   - in\n     6\n     7\n     8\n"),
        (["- a\n", "  ```py\n", *numbered("  {}\n")], "- a\n  ```py\n  6\n  7\n  8\n"),
        (["- a\n", "  ```py\n", "  x\n", "  ```\n", *numbered("  {}\n")], "- a\n  6\n  7\n  8\n"),
        (["Here:\n", "| a |\n", "|:-:|\n", *numbered("| {} |\n")], "| a |\n|:-:|\n| 6 |\n| 7 |\n| 8 |\n"),
        (numbered("> {}\n"), "> 6\n> 7\n> 8\n"),
    ],
)
def test_the_end(lines: list[str], end: str) -> None:
    assert tail(lines, "par") == end + "par"


@each(
    ("lines", "partial", "begins"),
    [
        ([], "word " * 1_000, "word "),
        (["word " * 1_000 + "\n"], "more", "word "),
        ([], "> " + "word " * 1_000, "> word "),
        ([], "- " + "語" * 5_000, "- 語"),
        (["    " + "code " * 1_000 + "\n"], "", "    code "),
    ],
)
def test_a_line_longer_than_a_screen_is_cut(lines: list[str], partial: str, begins: str) -> None:
    end = tail(lines, partial, characters=100)
    assert end.startswith(begins)
    assert 50 < len(end) < 300
    assert ("".join(lines) + partial).endswith(end[len(begins) :])


def test_it_does_not_move_with_each_character() -> None:
    made, begins = MarkdownTail(), list[int]()
    text = "".join(f"w{number} " for number in range(2_000))
    for length in range(0, len(text), 7):
        begins.append(text.find(made.text(text[:length], 10, 400)))
    assert -1 not in begins
    assert len(set(begins)) < len(text) // 90


LINES = st.sampled_from(["word\n", "- item\n", "  - in\n", "```\n", "  ```\n", "| a |\n", "|---|\n", "\n", "> q\n"])


@given(st.lists(LINES))
def test_the_last_lines_are_always_there(lines: list[str]) -> None:
    end = lines_of(tail(["- a\n", *lines], "par", most=4))
    assert end[-min(5, len(lines) + 2) :] == ["- a\n", *lines, "par"][-5:]
    assert len(end) < 25
