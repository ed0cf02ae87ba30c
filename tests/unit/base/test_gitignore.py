"""Patterns mean what they mean to git."""

import unicodedata
from typing import Literal

import pytest

from localllm.base.gitignore import judge, matcher
from tests.support.each import each


def verdict(path: str, *lines: str) -> bool | None:
    decide = judge(lines)
    return decide(path) if decide else None


@each(
    ("pattern", "path"),
    [
        ("*.log", "a.log"),
        ("*.log", "deep/down/a.log"),
        ("build/", "deep/build/"),
        ("/top", "top"),
        ("a/*/c", "a/b/c"),
        ("a/**/c", "a/c"),
        ("a/**/c", "a/x/y/c"),
        ("**/c", "c"),
        ("a/**", "a/b"),
        ("[ab].c", "b.c"),
        ("[!ab].c", "c.c"),
        ("[[:digit:]]x", "1x"),
        ("x?", "xy"),
        (r"\#x", "#x"),
        (r"\!x", "!x"),
        (r"a\ ", "a "),
        ("x  ", "x"),
        ("日*", "日本"),
    ],
)
def test_a_pattern_leaves_out(pattern: str, path: str) -> None:
    assert verdict(path, pattern) is True


@each(
    ("pattern", "path"),
    [
        ("build/", "build"),
        ("/top", "deep/top"),
        ("a/*", "a/"),
        ("a/**", "a/"),
        ("a/*/c", "a/b/b/c"),
        ("*.c", "a.cc"),
        ("[!ab].c", "a.c"),
        ("a?c", "a/c"),
        ("# x", "# x"),
        ("[z-a]", "b"),
        ("[a", "[a"),
        ("/", "a/"),
        ("", "a"),
    ],
)
def test_a_pattern_says_nothing(pattern: str, path: str) -> None:
    assert verdict(path, pattern) is None


def test_the_last_pattern_that_matches_counts() -> None:
    lines = ("*.log", "!keep.log", "old/keep.log")
    assert verdict("x/keep.log", *lines) is False
    assert verdict("old/keep.log", *lines) is True


def test_a_matcher_takes_braces_and_all_that_is_in_a_folder_but_no_negation() -> None:
    fits = matcher(["*.{ts,tsx}", "docs", "./src/*.py"])
    assert [fits(path) for path in ("a/b.tsx", "docs/deep/x.md", "src/a.py")] == [True] * 3
    assert [fits(path) for path in ("a.js", "src/deep/a.py", "doc")] == [False] * 3
    assert matcher(["!a"])("!a")
    assert not matcher([])("a")


@pytest.mark.parametrize(
    ("pattern", "fitting", "others"),
    [
        ("*.{py,pyi}", ["a.py", "d/b.pyi"], ["a.pyx", "a.", "a.py,pyi"]),
        ("**/{a,b}/**/*.{c,h}", ["a/x.c", "d/b/e/f/x.h"], ["a.c", "c/x.c"]),
        ("{src,lib/deep}/*.py", ["src/a.py", "lib/deep/b.py"], ["lib/a.py", "x/src/a.py"]),
        ("x{,.{a,b*}}", ["x", "d/x.a", "x.bcd"], ["x.", "x.ab"]),
        ("*.{a[xy],b}", ["1.ax", "1.b"], ["1.az"]),
        ("{a}.py", ["{a}.py"], ["a.py"]),
        ("{.,}*.x", [".a.x", "a.x"], ["a.y"]),
    ],
)
def test_braces(pattern: str, fitting: list[str], others: list[str]) -> None:
    fits = matcher([pattern])
    assert [path for path in [*fitting, *others] if fits(path)] == fitting


def test_a_choice_of_many_braces_is_found() -> None:
    assert matcher(["{a,b}" * 8])("ab" * 4)


@pytest.mark.parametrize("form", ["NFC", "NFD"])
def test_a_matcher_takes_letters_composed_or_not(form: Literal["NFC", "NFD"]) -> None:
    fits = matcher([unicodedata.normalize(form, "ガイド*.md")])
    assert fits("docs/ガイド1.md")
    assert fits(unicodedata.normalize("NFD", "docs/ガイド1.md"))
