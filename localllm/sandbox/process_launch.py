"""How a command is started, and ended with all it started: a face for each level of protection, and the plain one."""

import asyncio
import os
import signal
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Literal, Protocol

import msgspec

from localllm.base.errors import ToolExecutionError
from localllm.base.i18n import Phrase
from localllm.sandbox.launcher.spec import BASH
from localllm.sandbox.network.proxy import Contact

Excess = Literal["", "output", "processes", "memory", "disk", "files", "time"]
"""What a command was killed for using too much of."""


class Ending(msgspec.Struct, frozen=True):
    """How a command ended: its return code (-N: killed by signal N), and the reason if it was killed. `contacts`: the
    hosts it asked for."""

    return_code: int
    excess: Excess = ""
    contacts: tuple[Contact, ...] = ()


class Running(Protocol):
    """A process that was started."""

    async def wait(self) -> int:
        """Wait till it has ended; its exit status, -N where signal N ended it. Can be called again if cancelled."""
        ...


class Launch(Protocol):
    """One start of one command."""

    async def start(self, stdout: int, stderr: int) -> Running:
        """Start it without input, in a session and a process group of its own. Raises OSError."""
        ...

    def ask_to_end(self) -> None:
        """Give all of it the chance to end in good order."""
        ...

    def kill(self) -> None:
        """End all of it now; if it has not started yet, as soon as it has."""
        ...

    def ending(self, exit_status: int) -> Ending:
        """How the command ended, when the process has, with `exit_status`.

        Raises ToolExecutionError where the command was not run, or nobody knows how it ended.
        """
        ...

    def close(self) -> None:
        """Kill what still runs, and close every descriptor."""
        ...


class Executed(Protocol):
    """A launch that is the execution of a program."""

    @property
    def arguments(self) -> Sequence[str]:
        """What to execute."""
        ...

    @property
    def environment(self) -> Mapping[str, str]: ...
    @property
    def folder(self) -> Path: ...
    @property
    def inherited(self) -> Sequence[int]:
        """The descriptors it keeps, beside the first three."""
        ...

    def started(self, pid: int) -> None:
        """It runs."""
        ...


async def execute(launch: Executed, stdout: int, stderr: int) -> Running:
    """Start it, as `Launch.start` does."""
    process = await asyncio.create_subprocess_exec(
        *launch.arguments,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=stdout,
        stderr=stderr,
        cwd=launch.folder,
        env=launch.environment,
        pass_fds=launch.inherited,
        start_new_session=True,
    )
    launch.started(process.pid)
    return process


def as_argument(command: str) -> bytes:
    """The command as a program's argument. Raises ToolExecutionError where it cannot be one."""
    try:
        encoded = command.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError as error:
        raise ToolExecutionError("command_failed_to_start", reason=Phrase("command.not_text")) from error
    if b"\0" in encoded:
        raise ToolExecutionError("command_failed_to_start", reason=Phrase("command.not_text"))
    return encoded


class PlainLaunch:
    """A command without protection. What leaves its process group is not found again."""

    inherited = ()

    def __init__(self, command: str, folder: Path, environment: Mapping[str, str]) -> None:
        self.arguments = (*BASH, os.fsdecode(as_argument(command)))
        self.folder = folder
        self.environment = environment
        self._group = 0
        self._killed = False

    async def start(self, stdout: int, stderr: int) -> Running:
        return await execute(self, stdout, stderr)

    def started(self, pid: int) -> None:
        self._group = pid
        if self._killed:
            self.kill()

    def ask_to_end(self) -> None:
        self._signal(signal.SIGTERM)

    def kill(self) -> None:
        self._killed = True
        self._signal(signal.SIGKILL)

    def ending(self, exit_status: int) -> Ending:
        return Ending(exit_status)

    def close(self) -> None:
        self.kill()

    def _signal(self, number: signal.Signals) -> None:
        if self._group:
            with suppress(ProcessLookupError, PermissionError):  # nobody is left, or (macOS) only what has ended
                os.killpg(self._group, number)
