"""Completions of the command line, by real shells and in the state in which a project may be."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from localllm.cli.main import COMPLETE_VARIABLE, LATE_COMMANDS
from tests.support.program import Program

WATCHED = """
import os, sys
from localllm.cli import main

def watch(event, arguments):
    is_written = event == "open" and isinstance(arguments[2], int) and arguments[2] & (os.O_WRONLY | os.O_RDWR)
    if is_written or event.startswith(("socket.", "subprocess.", "os.mkdir", "os.rename", "os.remove", "os.exec")):
        print(event, arguments, file=sys.stderr)

sys.addaudithook(watch)
sys.argv = ["localllm"]
try:
    main()
finally:
    print("loaded", *sys.modules, file=sys.stderr)
"""


@pytest.fixture
def program(tmp_path: Path) -> Program:
    """In a project whose settings are broken and not trusted, of a user whose own are as well."""
    made = Program(tmp_path)
    (made.project / "localllm.toml").write_text("[llm\nprovider = 1")
    made.write_settings("= nonsense")
    return made


def asked(program: Program, shell: str, words: str, language: str = "C.UTF-8") -> tuple[str, str, set[str]]:
    """What is printed for `words`, the events that others would notice, and the modules loaded."""
    question = {COMPLETE_VARIABLE: f"{shell}_complete", "COMP_WORDS": words, "COMP_CWORD": str(words.count(" "))}
    done = subprocess.run(
        [sys.executable, "-B", "-c", WATCHED],
        cwd=program.project,
        env={**program.environment(), **question, "LANG": language},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=30,
        check=True,
    )
    events, _, loaded = done.stderr.rpartition("loaded ")
    return done.stdout, events, set(loaded.split())


def test_nothing_is_written_or_contacted_for_it(program: Program) -> None:
    before = sorted(program.folder.rglob("*"))
    out, events, _ = asked(program, "bash", "localllm rag s")
    assert (out, events) == ("plain,search\nplain,show\nplain,status\n", "")
    assert sorted(program.folder.rglob("*")) == before


@pytest.mark.parametrize(("words", "needed"), [("localllm ", []), ("localllm models --", ["models"])])
def test_only_the_command_in_question_is_loaded(program: Program, words: str, needed: list[str]) -> None:
    loaded = asked(program, "zsh", words)[2]
    assert [name for name in LATE_COMMANDS if f"localllm.cli.{name}" in loaded] == needed


def test_in_japanese_each_is_explained_in_one_line(program: Program) -> None:
    for words in ("localllm --", "localllm rag "):
        lines = asked(program, "zsh", words, "ja_JP.UTF-8")[0].splitlines()
        assert set(lines[::3]) == {"plain"}
        assert not [text for text in lines[2::3] if text.isascii() or "\b" in text]


IN_BASH = """
eval "$(localllm completion bash)"
try() {
    COMP_WORDS=("$@") COMP_CWORD=$(( $# - 1 )) COMPREPLY=()
    _localllm_completion localllm
    echo "${COMPREPLY[*]}"
}
try localllm rag s
try localllm --mode ""
"""


def test_the_script_works_in_bash(program: Program, tmp_path: Path) -> None:
    starter = tmp_path / "bin" / "localllm"
    starter.parent.mkdir()
    starter.write_text(f'#!/bin/sh\nexec {sys.executable} -m localllm "$@"\n')
    starter.chmod(0o755)
    environment = program.environment()
    environment["PATH"] = f"{starter.parent}{os.pathsep}{environment['PATH']}"
    command = ["bash", "--norc", "-c", IN_BASH]
    done = subprocess.run(
        command, cwd=program.project, env=environment, capture_output=True, text=True, timeout=60, check=True
    )
    assert (done.stdout, done.stderr) == ("search show status\nplan ask auto-edit auto\n", "")
