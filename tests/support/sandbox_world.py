"""A project, a home and the rest of a machine, for tests of the sandbox that look at it from outside."""

import asyncio
import os
import textwrap
import time
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path

from localllm.sandbox.backend import LEVELS, Level, SandboxLevel
from localllm.sandbox.runner import CommandResult, SandboxRunner

SECRET = "-----BEGIN OPENSSH PRIVATE KEY-----"


class World:
    """A project, a home with a secret in it, and a folder that is none of a command's business."""

    def __init__(self, folder: Path, levels: Sequence[Level] = LEVELS) -> None:
        self.project = folder / "project"
        self.home = folder / "home"
        self.outside = folder / "outside"
        for path in (self.project, self.home / ".ssh", self.outside):
            path.mkdir(parents=True)
        self.key = self.home / ".ssh" / "id_ed25519"
        self.key.write_text(SECRET)
        self.file = self.outside / "file"
        self.file.write_text("kept")
        self.levels = levels
        self.runner = SandboxRunner(self.project, state_folder=folder / "state", levels=levels)

    async def run(self, command: str, timeout: float = 20) -> CommandResult:
        return await self.runner.run(textwrap.dedent(command), cwd=self.project, timeout=timeout)

    async def python(self, program: str, timeout: float = 20) -> CommandResult:
        (self.project / "program.py").write_text(textwrap.dedent(program))
        return await self.run("python3 program.py", timeout)

    def outside_is_untouched(self) -> bool:
        return [path.name for path in self.outside.iterdir()] == ["file"] and self.file.read_text() == "kept"


@cache
def level_here() -> SandboxLevel:
    """The level the program uses on this machine."""
    return SandboxRunner(Path.cwd()).level


def open_descriptors() -> int:
    """How many files and pipes this process holds open."""
    return len(list(Path("/dev/fd").iterdir()))


async def until(true: Callable[[], object], seconds: float = 60) -> None:
    """Wait for what another process does."""
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline
        await asyncio.sleep(0.01)


def processes_with(mark: str) -> list[str]:
    """The command lines of running processes that hold `mark`."""
    found: list[str] = []
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            line = entry.read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
        except OSError:
            continue
        if mark in line:
            found.append(line)
    return found


def unlike_any_other() -> str:
    """A number of seconds to sleep for that nobody else chooses: the mark by which a process is found again."""
    return f"3{int.from_bytes(os.urandom(3), 'big'):08}"


def fingerprint(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): bytes(path.readlink()) if path.is_symlink() else path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_symlink() or path.is_file()
    }
