"""The help of the command line, in the user's language."""

import os
import re
import subprocess
import sys

import pytest

from localllm.cli.main import LATE_COMMANDS
from localllm.text.wrapping import display_width

ENGLISH = re.compile(r"(?!localllm )\b[a-z]+ [a-z]+ [a-z]+")


def said(*words: str, locale: str) -> str:
    environment = {**os.environ, "LC_ALL": locale}
    line = [sys.executable, "-m", "localllm", *words]
    run = subprocess.run(line, env=environment, capture_output=True, text=True, check=False)
    return run.stdout + run.stderr


@pytest.mark.parametrize("command", ["", *LATE_COMMANDS])
def test_in_japanese(command: str) -> None:
    help_text = said(*command.split(), "--help", locale="ja_JP.UTF-8")
    assert "使い方:" in help_text
    assert "オプション:" in help_text
    assert not [line for line in help_text.splitlines() if ENGLISH.search(line)]
    assert max(map(display_width, help_text.splitlines())) <= 80
    assert not re.search(r"[ぁ-ん。、] +[ぁ-ん一-龠]", help_text.partition("オプション:")[0])


@pytest.mark.parametrize("words", [("--lang", "ja"), ("--lang=ja", "task")])
def test_in_the_language_that_is_named(words: tuple[str, ...]) -> None:
    help_text = said(*words, "--help", locale="C.UTF-8")
    assert "使い方:" in help_text
    assert not [line for line in help_text.splitlines() if ENGLISH.search(line)]
    assert "Usage:" in said("--lang", "en", "task", "--help", locale="ja_JP.UTF-8")


def test_in_english() -> None:
    assert "Print every setting, its value and where it was set." in said("config", "--help", locale="C.UTF-8")


@pytest.mark.parametrize(
    ("words", "wrong"),
    [
        (["--bad"], "'--bad' というオプションはありません。"),
        (["--yes"], "--yes と --output は -p と一緒に使います。"),
        (["--mode", "x"], "'--mode' の値が正しくありません"),
        (["worker"], "オプションがありません '--queue'"),
        (["worker", "--help"], "[必須]"),
        (["task", "units", "--help"], "[既定値: 15; 1<=x<=1440]"),
    ],
)
def test_errors_of_usage_in_japanese(words: list[str], wrong: str) -> None:
    assert wrong in said(*words, locale="ja_JP.UTF-8")
