"""Start a process, read its output, end it with all it started."""

import asyncio
import codecs
import os
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Literal, Protocol

import msgspec

from localllm.base.errors import ToolExecutionError
from localllm.base.i18n import Phrase
from localllm.sandbox.launcher.spec import BASH
from localllm.sandbox.network.proxy import Contact

Excess = Literal["", "output", "processes", "memory", "disk", "files", "time", "replaced", "protected"]
"""What a command was killed for using too much of; replaced: something that is closed to it was, outside; protected: it
wrote what is protected again and again."""


OnOutput = Callable[[bytes], None]
"""Is given what a command writes, piece by piece."""


class Ending(msgspec.Struct, frozen=True):
    """How a command ended: its return code (-N: killed by signal N), and the reason if it was killed. `contacts`: the
    hosts it asked for. `left`: something it had started in the background had to be ended with it."""

    return_code: int
    excess: Excess = ""
    contacts: tuple[Contact, ...] = ()
    left: bool = False


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
        raise ToolExecutionError(
            "command_failed_to_start", reason=Phrase("it holds characters that no command can")
        ) from error
    if b"\0" in encoded:
        raise ToolExecutionError("command_failed_to_start", reason=Phrase("it holds characters that no command can"))
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
        self._left = False

    async def start(self, stdout: int, stderr: int) -> Running:
        return await execute(self, stdout, stderr)

    def started(self, pid: int) -> None:
        self._group = pid
        if self._killed:
            self.kill()

    def ask_to_end(self) -> None:
        self._signal(signal.SIGTERM)

    def kill(self) -> None:
        is_first, self._killed = not self._killed, True
        is_there = self._signal(signal.SIGKILL)
        self._left = is_there if is_first else self._left

    def ending(self, exit_status: int) -> Ending:
        return Ending(exit_status, left=self._left)

    def close(self) -> None:
        self.kill()

    def _signal(self, number: signal.Signals) -> bool:
        """Whether anybody was there."""
        if self._group:
            with suppress(ProcessLookupError, PermissionError):  # nobody is left, or (macOS) only what has ended
                os.killpg(self._group, number)
                return True
        return False


_HEAD = 0.2  # the share of the cap that goes to the head of an output that is cut
_RUNAWAY = 64  # output of so many times the cap ends the command
_GRACE = 1.0  # seconds between asking a command to end and killing it
_CHUNK = 1 << 16  # what a pipe holds
_LAST_READS = 17  # what a pipe may hold at most (1 MiB, without privileges), and one more


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """What came of a process. `exit_status` is -N where signal N ended it; `flooded`: killed for its endless output."""

    stdout: str
    stderr: str
    exit_status: int
    seconds: float
    timed_out: bool
    truncated: bool
    flooded: bool


class Process:
    """Runs one process, once. `output_cap`: how many bytes are kept of each, stdout and stderr.

    `together`: both go there as they come, and the outcome's stdout is all of it. `on_output` is given each piece of
    both when it comes.
    """

    def __init__(
        self,
        launch: Launch,
        output_cap: int,
        together: "HeadAndTail | None" = None,
        on_output: OnOutput | None = None,
    ) -> None:
        self._launch = launch
        self._stdout = _Stream(together or HeadAndTail(output_cap), self._flood, on_output)
        self._stderr = _Stream(HeadAndTail(output_cap), self._flood, on_output)
        self._is_one = together is not None
        self._timed_out = False
        self._flooded = False

    async def run(self, seconds: float) -> Outcome:
        """Start it without input, in a session of its own, and wait till it ends or is ended after `seconds`.

        A pipe that some other process still holds open is not waited for. Raises OSError where it cannot be started.
        """
        begun = time.perf_counter()
        with self._stdout, self._stderr:
            errors = self._stdout if self._is_one else self._stderr
            process = await self._launch.start(self._stdout.write_end, errors.write_end)
            self._stdout.listen()
            self._stderr.listen()
            exit_status = await self._wait(process, seconds)
        return Outcome(
            stdout=self._stdout.kept.text(),
            stderr=self._stderr.kept.text(),
            exit_status=exit_status,
            seconds=time.perf_counter() - begun,
            timed_out=self._timed_out,
            truncated=self._stdout.kept.is_cut or self._stderr.kept.is_cut,
            flooded=self._flooded,
        )

    def ask_to_end(self) -> None:
        """Give it a moment to end in good order."""
        self._launch.ask_to_end()
        asyncio.get_running_loop().call_later(_GRACE, self._launch.kill)

    async def _wait(self, process: Running, seconds: float) -> int:
        loop = asyncio.get_running_loop()
        deadlines = (loop.call_later(seconds, self._time_out), loop.call_later(seconds + _GRACE, self._launch.kill))
        try:
            return await process.wait()
        except asyncio.CancelledError:
            self._launch.kill()
            await process.wait()
            raise
        finally:
            for deadline in deadlines:
                deadline.cancel()
            self._launch.kill()

    def _time_out(self) -> None:
        self._timed_out = True
        self._launch.ask_to_end()

    def _flood(self) -> None:
        self._flooded = True
        self._launch.kill()


class _Stream:
    """A pipe that the event loop empties as it fills."""

    def __init__(self, kept: "HeadAndTail", flood: Callable[[], None], on_output: OnOutput | None) -> None:
        self.kept = kept
        self.write_end = -1
        self._read_end = -1
        self._most = kept.cap * _RUNAWAY
        self._flood = flood
        self._on_output = on_output

    def __enter__(self) -> None:
        self._read_end, self.write_end = os.pipe()
        os.set_blocking(self._read_end, False)

    def __exit__(self, *failure: object) -> None:
        """Take what is still in the pipe, but do not wait for more."""
        for _ in range(_LAST_READS):
            if not self._read():
                break
        self._stop_listening()
        self._close_write_end()
        os.close(self._read_end)

    def listen(self) -> None:
        """The process has its own copy of the write end by now; what it writes is read from here on."""
        self._close_write_end()
        asyncio.get_running_loop().add_reader(self._read_end, self._read)

    def _read(self) -> bool:
        """Take what is there; whether there may be more."""
        try:
            data = os.read(self._read_end, _CHUNK)
        except BlockingIOError:
            return False
        if not data:
            self._stop_listening()
            return False
        self.kept.add(data)
        if self._on_output:
            self._on_output(data)
        if self.kept.total > self._most:
            self._flood()
        return True

    def _stop_listening(self) -> None:
        asyncio.get_running_loop().remove_reader(self._read_end)

    def _close_write_end(self) -> None:
        if self.write_end >= 0:
            os.close(self.write_end)
            self.write_end = -1


class HeadAndTail:
    """The first and the last bytes of an output, together at most `cap`."""

    def __init__(self, cap: int) -> None:
        self.cap = cap
        self._most_head = int(cap * _HEAD)
        self._most_tail = cap - self._most_head
        self._head = bytearray()
        self._tail = bytearray()
        self.total = 0

    @property
    def is_cut(self) -> bool:
        """Whether something of the middle was dropped."""
        return self.total > self._most_head + self._most_tail

    def add(self, data: bytes) -> None:
        """What comes next."""
        self.total += len(data)
        room = self._most_head - len(self._head)
        self._head += data[:room]
        self._tail += data[room:]
        if len(self._tail) > 2 * self._most_tail:  # now and then, or every piece would move the whole tail
            del self._tail[: -self._most_tail]

    def since(self, position: int) -> tuple[bytes, int]:
        """What came after so many bytes, as far as it was kept, and how many bytes of it were not."""
        tail_at = self.total - len(self._tail)
        if position >= tail_at:
            return bytes(self._tail[position - tail_at :]), 0
        head = self._head[position:]
        return bytes(head + self._tail), tail_at - max(position, len(self._head))

    def text(self) -> str:
        """What was kept, as UTF-8 with replacement, and a note where something is missing."""
        if not self.is_cut:
            return (self._head + self._tail).decode("utf-8", "replace")
        tail = self._tail[-self._most_tail :]
        dropped = self.total - len(self._head) - len(tail)
        note = f"\n[… {dropped:,} bytes dropped …]\n"
        return _without_torn_end(self._head) + note + tail.lstrip(_CONTINUATION).decode("utf-8", "replace")


_CONTINUATION = bytes(range(0x80, 0xC0))  # no character of UTF-8 begins with one of these


def _without_torn_end(data: bytearray) -> str:
    """The text without a character that was cut through."""
    return codecs.getincrementaldecoder("utf-8")("replace").decode(data)
