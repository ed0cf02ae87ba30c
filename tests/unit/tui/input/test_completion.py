"""Completion of commands and of paths in the project."""

from pathlib import Path

import pytest

from localllm.tui.input.completion import Suggester


@pytest.fixture
def suggester(tmp_path: Path) -> Suggester:
    for name in (
        "src/main.py",
        "src/Makefile",
        "README.md",
        "ノート.md",
        ".env",
        "node_modules/x.js",
        "a b.txt",
        "docs/日本 語.md",
        "c d/x.md",
        "e\x1bvil",
    ):
        file = tmp_path / "project" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch()
    (tmp_path / "secret.txt").touch()
    commands = [("model", "the model"), ("models", "all"), ("exit", "leave")]
    return Suggester(tmp_path / "project", ("node_modules",), lambda: commands)


def completed(suggester: Suggester, text: str) -> list[str]:
    return [text[: len(text) - found.replaces] + found.text for found in suggester.suggest(text)]


@pytest.mark.parametrize(
    ("typed", "completions"),
    [
        ("/mo", ["/model", "/models"]),
        ("/", ["/model", "/models", "/exit"]),
        ("say /mo", []),
        ("/model x", []),
        ("see @", ["see @docs/", "see @src/", "see @README.md", 'see @"a b.txt"', "see @ノート.md"]),
        ("see @a", ['see @"a b.txt"']),
        ("@docs/日", ['@"docs/日本 語.md"']),
        ("@docs/", ['@"docs/日本 語.md"']),
        ("@c", []),
        ("@src/ma", ["@src/Makefile", "@src/main.py"]),
        ("@READ", ["@README.md"]),
        ("@read", ["@README.md"]),
        ("@ノ", ["@ノート.md"]),
        ("@.e", ["@.env"]),
        ("@../", []),
        ("@/etc/pass", []),
        ("@nowhere/x", []),
        ("mail a@b", []),
        ("plain", []),
    ],
)
def test_completions(suggester: Suggester, typed: str, completions: list[str]) -> None:
    assert completed(suggester, typed) == completions
    assert suggester.applies(typed) or not completions


@pytest.mark.parametrize(
    ("typed", "completions"),
    [
        ("@", ["@Makefile", "@main.py", "@docs/", "@src/", "@README.md", '@"a b.txt"', "@ノート.md"]),
        ("@ma", ["@Makefile", "@main.py"]),
        ("@./m", ["@./Makefile", "@./main.py"]),
        ("@../R", ["@../README.md"]),
        ("@../../s", []),
        ("@src/ma", ["@src/Makefile", "@src/main.py"]),
    ],
)
def test_paths_of_where_one_stands_come_first(
    suggester: Suggester, tmp_path: Path, typed: str, completions: list[str]
) -> None:
    inside = Suggester(tmp_path / "project", ("node_modules",), list, here=tmp_path / "project" / "src")
    assert completed(inside, typed) == completions


def test_a_note_explains_a_command(suggester: Suggester) -> None:
    assert [found.note for found in suggester.suggest("/e")] == ["leave"]
