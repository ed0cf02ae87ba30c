"""The chat's first line comes before anything heavy, and only where a chat begins."""

import os
import pty
import subprocess
import sys
import termios
from pathlib import Path

import click
import pytest

import localllm
from localllm.cli.fast_start import CHAT_FLAGS, CHAT_OPTIONS, open_chat
from localllm.cli.main import root
from localllm.tui.bracketed_paste import PASTE_OFF, PASTE_ON

STOP_AT_ASYNCIO = """
import os, sys, termios
modes = termios.tcgetattr(0)[3]
echo, edits = bool(modes & termios.ECHO), bool(modes & termios.ICANON)
with open(os.environ["REPORT"], "w") as report:
    print(*sorted(sys.modules), f"echo={echo}", f"edits={edits}", file=report)
raise KeyboardInterrupt
"""
"""Stands in the place of asyncio, the first heavy package the program loads."""

HEAVY = {"asyncio", "click", "httpx", "msgspec", "prompt_toolkit", "rich"}


def in_terminal(tmp_path: Path, *arguments: str) -> tuple[str, int, set[str], bool]:
    """What the program printed on a terminal until it loads asyncio; its exit code, what it had loaded by then, and
    whether the terminal echoes afterwards."""
    stub = tmp_path / "stubs" / "asyncio.py"
    stub.parent.mkdir()
    stub.write_text(STOP_AT_ASYNCIO)
    main, terminal = pty.openpty()
    try:
        done = subprocess.run(
            [sys.executable, "-c", "from localllm.cli import main; main()", *arguments],
            stdin=terminal,
            stdout=terminal,
            stderr=terminal,
            env={**os.environ, "PYTHONPATH": str(stub.parent), "REPORT": str(tmp_path / "report")},
            timeout=30,
            check=False,
        )
        os.set_blocking(main, False)
        try:
            printed = os.read(main, 10_000).decode()
        except BlockingIOError:
            printed = ""
        echoes = bool(termios.tcgetattr(terminal)[3] & termios.ECHO)
    finally:
        os.close(main)
        os.close(terminal)
    return printed, done.returncode, set((tmp_path / "report").read_text().split()), echoes


def test_the_first_line_comes_before_anything_heavy(tmp_path: Path) -> None:
    printed, code, loaded, echoes = in_terminal(tmp_path, "--lang", "ja")
    assert printed == f"{PASTE_ON}localllm {localllm.__version__}\r\n{PASTE_OFF}"
    assert "localllm.cli.fast_start" in loaded
    assert loaded & HEAVY == {"asyncio"}
    assert {"echo=False", "edits=False"} <= loaded, "else a control character in a paste may erase its begin mark"
    assert (code, echoes) == (130, True)


@pytest.mark.parametrize("arguments", [("-p", "hello"), ("doctor",), ("--help",), ("--model",), ("-m", "x", "config")])
def test_what_is_no_chat_begins_without_it(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    printed, _, loaded, echoes = in_terminal(tmp_path, *arguments)
    assert printed == ""
    assert "echo=True" in loaded
    assert echoes


def test_where_there_is_no_terminal_nothing_is_shown() -> None:
    assert open_chat([]) is None  # the tests' own standard input is none


def test_the_options_of_a_chat_are_options_of_the_program() -> None:
    options = {
        name: parameter.is_flag
        for parameter in root.params
        if isinstance(parameter, click.Option)
        for name in (*parameter.opts, *parameter.secondary_opts)
    }
    assert {name for name in options if options[name]} >= CHAT_FLAGS
    assert {name for name in options if not options[name]} >= CHAT_OPTIONS
