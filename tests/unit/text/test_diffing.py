"""A unified diff turns the old text into the new one."""

import random
import subprocess
from pathlib import Path

import pytest

from localllm.text.diffing import changed_lines, unified


def test_a_change_with_its_surroundings() -> None:
    old = "".join(f"{number}\n" for number in range(1, 21))
    new = old.replace("10\n", "ten\n").replace("2\n", "", 1)
    assert unified(old, new, "a.txt") == (
        "--- a/a.txt\n+++ b/a.txt\n"
        "@@ -1,5 +1,4 @@\n 1\n-2\n 3\n 4\n 5\n"
        "@@ -7,7 +6,7 @@\n 7\n 8\n 9\n-10\n+ten\n 11\n 12\n 13\n"
    )


def test_a_new_file_and_a_missing_last_newline() -> None:
    assert unified(None, "a", "x") == "--- /dev/null\n+++ b/x\n@@ -0,0 +1,1 @@\n+a\n\\ No newline at end of file\n"
    assert unified("a\n", None, "x") == "--- a/x\n+++ /dev/null\n@@ -1,1 +0,0 @@\n-a\n"
    assert unified("a", "a", "x") == ""


@pytest.mark.parametrize("seed", range(15))
def test_git_applies_it(tmp_path: Path, seed: int) -> None:
    dice = random.Random(seed)
    lines = [dice.choice("abcd") for _ in range(dice.randint(1, 40))]
    old = "\n".join(lines) + "\n" * dice.randint(0, 1)
    for _ in range(dice.randint(1, 5)):
        place = dice.randrange(len(lines))
        lines[place : place + dice.randint(0, 2)] = dice.choices("xyz", k=dice.randint(1, 2))
    new = "\n".join(lines)
    (tmp_path / "f").write_text(old)
    subprocess.run(["git", "apply", "-"], input=unified(old, new, "f"), text=True, check=True, cwd=tmp_path)
    assert (tmp_path / "f").read_text() == new


def test_lines_added_and_removed_are_counted() -> None:
    assert changed_lines("a\nb\nc\n", "a\nX\nY\nc\n") == (2, 1)
    assert changed_lines("", "a\n") == (1, 0)
