"""Text is made shorter by what matters least, as far as is asked, and never longer."""

import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from localllm.code.outline import NotParsedError
from localllm.context import code_outline
from localllm.context.code_outline import compress, guess_language

SOURCE = '''"""A module."""

import os


class Cart:
    """What was chosen."""

    def add(self, item: str, count: int = 1) -> None:
        """Put `count` of `item` in."""
        for _ in range(count):
            self.items.append(item)
            self.log("added", item)
            self.total += self.price(item)

    def clear(self) -> None:
        self.items = []
        self.total = 0


def main() -> None:
    cart = Cart()
    cart.add("pear", 3)
    print(cart.total)
    print(os.getcwd())
'''


def test_signatures_and_docstrings_stay_and_bodies_go_by_their_lines() -> None:
    shorter = compress(SOURCE, 0.62, file_path="cart.py")
    assert "def add(self, item: str, count: int = 1) -> None:" in shorter
    assert '"""Put `count` of `item` in."""' in shorter
    assert "def clear(self)" in shorter
    assert "self.log" not in shorter
    assert "        … lines 11-14 left out" in shorter
    assert len(shorter) <= 0.62 * len(SOURCE)


def test_no_more_is_left_out_than_has_to_be() -> None:
    shorter = compress(SOURCE, 0.9, file_path="cart.py")
    assert 0.8 * len(SOURCE) < len(shorter) <= 0.9 * len(SOURCE)
    assert "for _ in range(count):" in shorter
    assert "print(cart.total)" in shorter


def test_lines_are_those_of_the_file() -> None:
    assert "… lines 110-113 left out" in compress(SOURCE, 0.66, file_path="cart.py", first_line=100)


def test_text_without_a_grammar_loses_its_middle() -> None:
    text = "\n".join(f"line {number}" for number in range(1, 101))
    shorter = compress(text, 0.3)
    assert shorter.startswith("line 1\n")
    assert shorter.endswith("line 100")
    assert "left out" in shorter
    assert 0.2 * len(text) < len(shorter) <= 0.3 * len(text)


PROSE = "".join(f"第{n}章では設定の読み方を説明する。値は上から順に重ねられる。" for n in range(150))
JSON = json.dumps([{"id": n, "name": f"item {n}", "price": n * 3} for n in range(600)])
PARAGRAPHS = "\n".join(" ".join(f"word{part}{n}" for n in range(150)) for part in "abc")


@pytest.mark.parametrize(
    ("text", "begins", "ends"),
    [
        (PROSE, "第0章では設定の読み方を説明する。", "値は上から順に重ねられる。"),
        (JSON, '[{"id": 0, ', '"price": 1797}]'),
        ("word " * 5_000, "word word ", "word word "),
        (PARAGRAPHS, "worda0 worda1 ", " wordc149"),
        (f"function a(){{{'x=1;' * 2_000}}}\nfunction b(){{{'y=2;' * 2_000}}}", "function a(){x=1;", "y=2;}"),
    ],
    ids=["Japanese prose", "JSON", "one line", "paragraphs", "minified code"],
)
@pytest.mark.parametrize("ratio", [0.2, 0.5, 0.9])
def test_of_long_lines_the_beginning_and_the_end_stay(text: str, begins: str, ends: str, ratio: float) -> None:
    shorter = compress(text, ratio)
    assert 0.6 * ratio * len(text) < len(shorter) <= ratio * len(text)
    assert shorter.startswith(begins)
    assert shorter.endswith(ends)
    if gap := re.search(r"\[… ([\d,]+) characters left out …\]", shorter):
        assert len(shorter) - len(gap[0]) + int(gap[1].replace(",", "")) == len(text), "it says how much is missing"
    else:
        assert "lines 2-2 left out" in shorter


def test_long_lines_are_cut_between_sentences_and_words() -> None:
    head, _, tail = compress(PROSE, 0.3).partition("[…")
    assert head.endswith("。")
    assert tail.partition("…]")[2][0] in "第値"
    assert compress("word " * 5_000, 0.3).replace("word ", "").startswith("[…")


def test_where_there_is_no_room_for_a_note_the_beginning_stays() -> None:
    assert compress("a" * 100, 0.1) == "a" * 9 + "…"
    assert compress("a" * 100, 0) == ""


@pytest.mark.parametrize("ratio", [0.1, 0.25, 0.5, 0.75])
def test_the_ratio_is_honoured_on_real_source(ratio: float) -> None:
    text = Path(code_outline.__file__).read_text(encoding="utf-8")
    shorter = compress(text, ratio)
    assert 0.8 * ratio * len(text) <= len(shorter) <= ratio * len(text)


@given(st.text(st.sampled_from("ab \n{}():def#'\"日"), max_size=300), st.floats(-1, 2))
def test_it_never_grows(text: str, ratio: float) -> None:
    for path in ("", "a.py", "a.c"):
        shorter = compress(text, ratio, file_path=path)
        assert len(shorter) <= max(len(text) * min(max(ratio, 0), 1), 0) or shorter == text
        assert len(shorter) <= len(text)


@pytest.mark.parametrize(
    ("text", "language"),
    [
        (SOURCE, "python"),
        ("package a\n\nfunc main() {\n}\n", "go"),
        ('#include <stdio.h>\n#include "a.h"\nint main() {}', "cpp"),
        ("use std::io;\npub fn main() {}\n", "rust"),
        ("Some prose.\nclass of its own:\nand more", None),
    ],
)
def test_the_language_is_guessed(text: str, language: str | None) -> None:
    assert guess_language(text) == language


def function(name: str, lines: int) -> str:
    return f"def {name}(a):\n" + f"    a = combine(a, a, a)  # this is a line of {name}\n" * lines


def test_the_largest_body_goes_first_and_others_stay_where_that_is_enough() -> None:
    text = function("small", 6) + function("large", 30) + function("middle", 12)
    shorter = compress(text, 0.6, file_path="a.py")
    assert function("small", 6) in shorter
    assert function("middle", 12) in shorter
    assert shorter.count("left out") == 1
    assert shorter.count("line of large") < 12


def test_the_name_of_a_file_tells_its_language_where_the_text_does_not() -> None:
    text = "x = 1\n" + function("only", 30) + "last(x)\n"
    assert compress(text, 0.3, file_path="a.py").endswith("left out\nlast(x)\n"), "all of the end of its body"
    assert guess_language(text) is None


def test_what_cannot_be_parsed_loses_its_middle() -> None:
    text = function("one", 20) + function("two", 20)

    def refuse(_text: bytes, _language: str) -> None:
        raise NotParsedError("slow")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(code_outline, "bodies", refuse)
        shorter = compress(text, 0.5, file_path="a.py")
    assert "left out" in shorter
    assert shorter.startswith("def one(a):\n    a = ")


@pytest.mark.parametrize("ratio", [0.3, 0.6])
def test_of_lines_without_a_grammar_two_thirds_of_what_stays_are_the_first(ratio: float) -> None:
    text = "\n".join(f"line {number:03} of it" for number in range(200))
    head, mark, tail = re.split(r"(… lines \d+-\d+ left out\n)", compress(text, ratio))
    assert text.startswith(head)
    assert text.endswith(tail)
    assert len(head) / (len(head) + len(tail)) == pytest.approx(0.65, abs=0.04)
    first, last = (int(number) for number in mark.split()[2].split("-"))
    assert (first, last) == (head.count("\n") + 1, 199 - tail.count("\n"))


def test_a_line_that_is_much_too_long_is_cut_within() -> None:
    text = f"short\n{'word ' * 400}\nshort"
    assert "characters left out" in compress(text, 0.5)
    assert "characters left out" not in compress(text.replace("word " * 400, "word word\n" * 200), 0.5)
