"""Ignore files mean what they mean to git itself, and no pattern holds a search up."""

import random
import subprocess
from pathlib import Path

import pytest

from localllm.base.directory_walk import walk
from localllm.base.gitignore import judge
from tests.support.in_time import faults


def verdict(path: str, *lines: str) -> bool | None:
    decide = judge(lines)
    return decide(path) if decide else None


BRING_NO_END = {
    "stars": ("*a" * 25 + "*b", "a" * 200),
    "many stars": ("*a" * 1_000 + "*b", "a" * 4_000),
    "stars in names": ("**/*a" * 25 + "/b", "a/" * 60 + "a"),
    "names": ("**/a/" * 30 + "b", "a/" * 60 + "c"),
    "any names": ("**/*/" * 30 + "b", "a/" * 60 + "c"),
    "signs": ("*?" * 100 + "b", "a" * 200),
    "braces": ("{a,aa}" * 30 + "b", "a" * 200),
    "braces with stars": ("{*a,a*}" * 30 + "b", "a" * 200),
    "braces with names": ("{a/,b/}" * 30, "a/" * 30 + "c"),
    "open braces": ("{," * 100_000, "a"),
    "commas": ("{" + "," * 100_000, "a"),
    "open brackets": ("[" * 100_000, "a"),
    "classes": ("[[:a:]" * 1_000, "a"),
    "blanks": ("a" + " " * 1_000_000 + "b", "c"),
    "backslashes": ("a" + "\\" * 1_000_000 + " ", "c"),
}


@pytest.fixture(scope="module")
def found() -> dict[str, str]:
    code = """
        from localllm.base.gitignore import judge, matcher
        from tests.integration.test_gitignore import BRING_NO_END
        pattern, path = BRING_NO_END[{name!r}]
        decide = judge([pattern])
        assert not matcher([pattern])(path)
        assert decide is None or decide(path) is not True
    """
    return faults({name: code.format(name=name) for name in BRING_NO_END})


@pytest.mark.parametrize("name", BRING_NO_END)
def test_no_pattern_takes_long(found: dict[str, str], name: str) -> None:
    assert found[name] == ""


ATOMS = (
    r"""a b * ** ? / [ab] [!a] [a-c] [[:alpha:]] [^b] \* \a *a a* *b* **/ /** []] []-a] [a-] \\ [\]] # [ ] .""".split()
)

PLAIN_NAMES = ("a", "b", "ab", "ba", "aab", "abc", "a.b", "[", "]", "a-b", "A", "-", "\\", "*")


@pytest.mark.parametrize("seed", range(4))
def test_a_pattern_made_by_chance_means_what_it_means_to_git(tmp_path: Path, seed: int) -> None:
    dice = random.Random(seed)
    subprocess.run(["git", "init", "-q", "--template=", tmp_path], check=True)
    paths = sorted({"/".join(dice.choices(PLAIN_NAMES, k=dice.randint(1, 4))) for _ in range(60)})
    for _ in range(100):
        pattern = "".join(dice.choices([*ATOMS, " ", "\\ "], k=dice.randint(1, 7)))
        (tmp_path / ".gitignore").write_text(pattern + "\n")
        told = subprocess.run(
            ["git", "-C", tmp_path, "check-ignore", "--no-index", "-z", "--stdin"],
            input="\0".join(paths), check=False, capture_output=True, text=True,
        )  # fmt: skip
        left_out = set(told.stdout.split("\0")) - {""}
        ours = {path for path in paths if any(verdict(above, pattern) for above in [*_above(path), path])}
        assert ours == left_out, pattern


def _above(path: str) -> list[str]:
    """The folders a path is in, the outermost first."""
    return [path[: place + 1] for place, letter in enumerate(path) if letter == "/"]


NAMES = ("a", "b", "c.py", "d.log", "src", "build", "x.txt", "keep.log")

PATTERNS = r"""*.log build/ !keep.log /a a/b **/src src/** src/* * !*/ !*.py /* !/src a/**/b *.[lt]* b !b/ **
doc/**/x.txt !src/keep.log /src/b/ ?.py c.* #x \!a a/ a/* !a/b [!a]*.txt [a foo\ **/ !**/ /** a**b / // ! src//
**/a/** !**/keep.log"""


def plant(folder: Path, dice: random.Random, depth: int = 0) -> None:
    """Files, folders and .gitignore files by chance."""
    folder.mkdir()
    for name in dice.sample(NAMES, dice.randint(2, 6)):
        if "." in name or depth == 3:
            (folder / name).touch()
        else:
            plant(folder / name, dice, depth + 1)
    if depth == 0 or dice.random() < 0.35:
        lines = [dice.choice(PATTERNS.split()) for _ in range(dice.randint(1, 5))]
        (folder / ".gitignore").write_text("\n".join(lines))


@pytest.mark.parametrize("seed", range(30))
def test_a_walk_finds_the_files_git_would_add(tmp_path: Path, seed: int) -> None:
    dice = random.Random(seed)
    root = tmp_path / "project"
    plant(root, dice)
    subprocess.run(["git", "init", "-q", "--template=", root], check=True)
    (root / ".git" / "info").mkdir()
    (root / ".git" / "info" / "exclude").write_text(dice.choice(PATTERNS.split()))
    listed = subprocess.run(
        ["git", "-C", root, "ls-files", "-coz", "--exclude-standard"], check=True, capture_output=True, text=True
    )
    assert sorted(entry.path for entry in walk(root, exclude=()) if not entry.is_dir) == sorted(
        name for name in listed.stdout.split("\0") if name
    )
