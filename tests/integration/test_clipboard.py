"""The programs that take what /copy copies: made-up ones, which write it to a file."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from localllm.tui import clipboard
from localllm.tui.clipboard import TERMINAL, copy

pytestmark = pytest.mark.anyio

TEXT = "日本語\n\ttab"


class Desktop:
    """A search path with programs, and what they and the terminal get."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.got = folder / "got"
        self.sent: list[str] = []
        self.project = folder / "project"
        self.project.mkdir()

    def add(self, name: str, script: str = 'cat > "$GOT"; echo "$@" >> "$GOT.arguments"', folder: str = "bin") -> None:
        program = self.folder / folder / name
        program.parent.mkdir(exist_ok=True)
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(0o755)

    async def copy(self, more: Mapping[str, str], path: str = "bin") -> str:
        environ = {"PATH": f"{self.folder / path}:/usr/bin:/bin", "GOT": str(self.got), "TERM": "xterm", **more}
        return await copy(TEXT, self.project, self.sent.append, environ)


@pytest.fixture
def desktop(tmp_path: Path) -> Desktop:
    return Desktop(tmp_path)


@pytest.mark.parametrize(
    ("name", "variable", "encoding"),
    [
        ("wl-copy", "WAYLAND_DISPLAY", "utf-8"),
        ("xclip", "DISPLAY", "utf-8"),
        ("xsel", "DISPLAY", "utf-8"),
        ("clip.exe", "WSL_DISTRO_NAME", "utf-16"),
    ],
)
async def test_a_program_takes_it(desktop: Desktop, name: str, variable: str, encoding: str) -> None:
    desktop.add(name)
    assert await desktop.copy({variable: "1"}) == name
    assert desktop.got.read_bytes().decode(encoding) == TEXT
    assert desktop.sent == []


@pytest.mark.parametrize("more", [{}, {"DISPLAY": "1", "SSH_CONNECTION": "a b"}])
async def test_without_a_display_of_its_own_the_terminal_does(desktop: Desktop, more: Mapping[str, str]) -> None:
    desktop.add("xclip")
    assert await desktop.copy(more) == TERMINAL
    assert not desktop.got.exists()
    assert len(desktop.sent) == 1


async def test_a_program_that_fails_or_hangs_is_passed_over(desktop: Desktop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clipboard, "_PATIENCE_SECONDS", 0.2)
    desktop.add("wl-copy", "exit 1")
    desktop.add("xclip", "exec sleep 60")
    desktop.add("xsel")
    assert await desktop.copy({"WAYLAND_DISPLAY": "1", "DISPLAY": "1"}) == "xsel"


async def test_a_program_of_the_project_is_not_run(desktop: Desktop) -> None:
    desktop.add("xclip", folder="project")
    assert await desktop.copy({"DISPLAY": "1"}, path="project") == TERMINAL
    assert not desktop.got.exists()


async def test_an_old_tmux_passes_the_sequence_on(desktop: Desktop) -> None:
    desktop.add("tmux", "exit 1")
    assert await desktop.copy({"TMUX": "/tmp/tmux"}) == TERMINAL
    assert desktop.sent[0].startswith("\x1bPtmux;\x1b\x1b]52;c;")
