"""Long texts in the prompt: a short line each, and whole when they are sent."""

import pytest

from localllm.tui.commands.registry import command_name, first_line
from localllm.tui.input.pastes import Pastes

LINES = "\n".join(f"line {number}" for number in range(200))


@pytest.mark.parametrize(
    "text", ["", "one line", "ten\n" * 9 + "lines", "ten\n" * 10, "\n" + "ten\n" * 10, "x" * 2_000]
)
def test_short_texts_stay(text: str) -> None:
    assert Pastes().fold(text) == text


@pytest.mark.parametrize(
    ("text", "name"),
    [
        (LINES, "[pasted 200 lines]"),
        ("x" * 2_001, "[pasted 2,001 characters]"),
        ("x\n" * 11, "[pasted 11 lines]"),
        ("x\n" * 11 + "y", "[pasted 12 lines]"),
    ],
)
def test_long_ones_are_named_and_sent_whole(text: str, name: str) -> None:
    pastes = Pastes()
    assert pastes.fold(text) == name
    assert pastes.whole(f"see {name}, please") == f"see {text}, please"
    assert pastes.name_at_end(f"see {name}") == name
    assert pastes.name_at_end("see") == ""


def test_two_of_one_size_are_told_apart_and_a_name_inside_one_is_none() -> None:
    pastes = Pastes()
    other = "[pasted 200 lines]\n" * 200
    names = [pastes.fold(text) for text in (LINES, other, LINES)]
    assert names == ["[pasted 200 lines]", "[pasted 200 lines (2)]", "[pasted 200 lines]"]
    assert pastes.whole(" ".join(names)) == f"{LINES} {other} {LINES}"


def test_what_has_no_place_on_the_screen_is_folded() -> None:
    pastes = Pastes()
    text = "\n".join("日本語" * 8 for _ in range(12))
    assert pastes.fold_tall(text, 80, 24) == text
    assert pastes.fold_tall(text, 40, 24) == "[pasted 12 lines]"


@pytest.mark.parametrize(
    "begin", ["!touch x\n", "\n\n!touch x\n", "/mode auto\n", "/mode auto ", "!touch x; ", "　！touch x\n"]
)
@pytest.mark.parametrize("lines", ["# a line\n" * 40, "#" * 2_100])
def test_what_is_folded_is_no_command(begin: str, lines: str) -> None:
    pastes = Pastes()
    text = begin + lines
    for _ in range(3):  # from the history, too
        name = pastes.fold(text)
        for line in (name, f"  {name}", f"{name} and more"):
            text = pastes.whole(line)
            assert (first_line(text)[:1], command_name(text)) == ("", None)
    assert pastes.whole(f"/rename {name}").startswith("/rename")
    assert text.count("\n\n\n") <= 1
