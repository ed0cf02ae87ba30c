"""Start a process, read its output, and end it with everything it started."""

import asyncio
import codecs
import os
import signal
import sys
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
from localllm.sandbox.output_text import read_output

Excess = Literal["", "output", "processes", "memory", "disk", "files", "time", "replaced", "protected"]
"""What a command was killed for using too much of; replaced: a file that is closed to it was replaced from outside;
protected: it kept writing to protected files."""


OnOutput = Callable[[bytes], None]
"""Called with what a command writes, piece by piece."""


class Ending(msgspec.Struct, frozen=True):
    """How a command ended: its return code (-N: killed by signal N), and the reason if it was killed. `contacts`: the
    hosts it requested. `left`: something it had started in the background had to be ended with it."""

    return_code: int
    excess: Excess = ""
    contacts: tuple[Contact, ...] = ()
    left: bool = False


class Running(Protocol):
    """A started process."""

    async def wait(self) -> int:
        """Wait for its end; return its exit status, -N if signal N ended it. Can be called again if cancelled."""
        ...


class Launch(Protocol):
    """One start of one command."""

    async def start(self, stdout: int, stderr: int) -> Running:
        """Start it without input, in a session and process group of its own. Raises OSError."""
        ...

    def ask_to_end(self) -> None:
        """Ask all its processes to end in good order."""
        ...

    def stop(self) -> None:
        """Stop all its processes, or as soon as it has started."""
        ...

    def go_on(self) -> None:
        """Let its processes go on."""
        ...

    @property
    def has_complied(self) -> bool:
        """Whether what was requested last has been done."""
        ...

    def kill(self) -> None:
        """End all its processes now, or as soon as it has started."""
        ...

    def ending(self, exit_status: int) -> Ending:
        """Return how the command ended, after its process has, with `exit_status`.

        Raises ToolExecutionError if the command was not run, or if it is unknown how it ended.
        """
        ...

    def close(self) -> None:
        """Kill what is still running, and close every descriptor."""
        ...


class Executed(Protocol):
    """A launch that executes a program."""

    @property
    def arguments(self) -> Sequence[str]:
        """The program and its arguments."""
        ...

    @property
    def environment(self) -> Mapping[str, str]: ...
    @property
    def folder(self) -> Path: ...
    @property
    def inherited(self) -> Sequence[int]:
        """The descriptors it keeps, besides the first three."""
        ...

    def started(self, pid: int) -> None:
        """Record that it is running."""
        ...


async def execute(launch: Executed, stdout: int, stderr: int) -> Running:
    """Start the program of a launch, as `Launch.start` does."""
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
    """Return the command as an argument of a program. Raises ToolExecutionError if it cannot be one."""
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
    """A command without protection. Processes that leave its process group are not found again."""

    inherited = ()

    def __init__(self, command: str, folder: Path, environment: Mapping[str, str]) -> None:
        self.arguments = (*BASH, os.fsdecode(as_argument(command)))
        self.folder = folder
        self.environment = environment
        self._group = 0
        self._killed = False
        self._is_stopped = False
        self._left = False

    async def start(self, stdout: int, stderr: int) -> Running:
        return await execute(self, stdout, stderr)

    def started(self, pid: int) -> None:
        self._group = pid
        if self._killed:
            self.kill()
        elif self._is_stopped:
            self.stop()

    def ask_to_end(self) -> None:
        self._signal(signal.SIGTERM)

    def stop(self) -> None:
        self._is_stopped = True
        if sys.platform != "win32":
            self._signal(signal.SIGSTOP)

    def go_on(self) -> None:
        self._is_stopped = False
        if sys.platform != "win32":
            self._signal(signal.SIGCONT)

    @property
    def has_complied(self) -> bool:
        return True

    def kill(self) -> None:
        is_first, self._killed = not self._killed, True
        is_there = self._signal(signal.SIGKILL)
        self._left = is_there if is_first else self._left

    def ending(self, exit_status: int) -> Ending:
        return Ending(exit_status, left=self._left)

    def close(self) -> None:
        self.kill()

    def _signal(self, number: signal.Signals) -> bool:
        """Send a signal to the process group; return whether any process was there."""
        if self._group:
            with suppress(ProcessLookupError, PermissionError):  # no process is left, or (macOS) only ended ones
                os.killpg(self._group, number)
                return True
        return False


_HEAD = 0.2  # share of the cap for the head of an output that is cut
_RUNAWAY = 64  # a command is killed when its output is this many times the cap
_GRACE = 1.0  # seconds between asking a command to end and killing it
_UNTIL_STOPPED = 0.01  # seconds
_TRIES = 100  # which take a second
_CHUNK = 1 << 16  # bytes that a pipe holds
_LAST_READS = 17  # for the most a pipe may hold (1 MiB, without privileges), and one more


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """The outcome of a process. `exit_status`: -N if signal N ended it; `flooded`: killed for its endless output.
    `encoding`: that of lines that are not UTF-8, if it was recognised."""

    stdout: str
    stderr: str
    exit_status: int
    seconds: float
    timed_out: bool
    truncated: bool
    flooded: bool
    encoding: str = ""


class Process:
    """Runs one process, once. `output_cap`: bytes that are kept of stdout and of stderr.

    `together`: both go there as they come, and are the outcome's stdout. `on_output` is called with each piece of both.
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
        self._deadline = 0.0
        self._is_waiting = False
        self._timers: list[asyncio.TimerHandle] = []
        self._stopped_at = 0.0
        self._seconds_stopped = 0.0

    async def run(self, seconds: float) -> Outcome:
        """Start it without input, in a session of its own, and wait until it ends or is ended after `seconds`.

        A pipe that another process still holds open is not waited for. Raises OSError if it cannot be started.
        """
        begun = time.perf_counter()
        with self._stdout, self._stderr:
            errors = self._stdout if self._is_one else self._stderr
            process = await self._launch.start(self._stdout.write_end, errors.write_end)
            self._stdout.listen()
            self._stderr.listen()
            exit_status = await self._wait(process, seconds)
        (stdout, encoding), (stderr, encoding_of_errors) = (self._stdout.kept.decoded(), self._stderr.kept.decoded())
        return Outcome(
            stdout=stdout,
            stderr=stderr,
            encoding=encoding or encoding_of_errors,
            exit_status=exit_status,
            seconds=time.perf_counter() - begun - self._seconds_stopped,
            timed_out=self._timed_out,
            truncated=self._stdout.kept.is_cut or self._stderr.kept.is_cut,
            flooded=self._flooded,
        )

    def ask_to_end(self) -> None:
        """Give it a moment to end in good order, then kill it."""
        self._launch.ask_to_end()
        asyncio.get_running_loop().call_later(_GRACE, self._launch.kill)

    async def stop(self) -> None:
        """Stop it, and its time."""
        self._stopped_at = time.perf_counter()
        self._cancel_timers()
        self._launch.stop()
        for _ in range(_TRIES):
            await asyncio.sleep(_UNTIL_STOPPED)  # at least once: another processor may be in the middle of a call
            if self._launch.has_complied:
                return

    def go_on(self) -> None:
        """Let it go on, if it is stopped."""
        if self._stopped_at:
            stopped = time.perf_counter() - self._stopped_at
            self._stopped_at = 0.0
            self._seconds_stopped += stopped
            self._deadline += stopped
            self._launch.go_on()
            if self._is_waiting:
                self._set_timers()

    def _set_timers(self) -> None:
        loop = asyncio.get_running_loop()
        left = self._deadline - loop.time()
        self._timers = [loop.call_later(left, self._time_out), loop.call_later(left + _GRACE, self._launch.kill)]

    def _cancel_timers(self) -> None:
        for timer in self._timers:
            timer.cancel()
        self._timers = []

    async def _wait(self, process: Running, seconds: float) -> int:
        self._is_waiting = True
        self._deadline = asyncio.get_running_loop().time() + seconds
        if not self._stopped_at:
            self._set_timers()
        try:
            return await process.wait()
        except asyncio.CancelledError:
            self._launch.kill()
            await process.wait()
            raise
        finally:
            self._is_waiting = False
            self._cancel_timers()
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
        """Read what is still in the pipe, but do not wait for more."""
        for _ in range(_LAST_READS):
            if not self._read():
                break
        self._stop_listening()
        self._close_write_end()
        os.close(self._read_end)

    def listen(self) -> None:
        """Read what the process writes from now on; it has its own copy of the write end by now."""
        self._close_write_end()
        asyncio.get_running_loop().add_reader(self._read_end, self._read)

    def _read(self) -> bool:
        """Read what is there; return whether there may be more."""
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
    """The first and the last bytes of an output, at most `cap` together."""

    def __init__(self, cap: int) -> None:
        self.cap = cap
        self._most_head = int(cap * _HEAD)
        self._most_tail = cap - self._most_head
        self._head = bytearray()
        self._tail = bytearray()
        self.total = 0

    @property
    def is_cut(self) -> bool:
        """Whether something was dropped from the middle."""
        return self.total > self._most_head + self._most_tail

    def add(self, data: bytes) -> None:
        """Append data."""
        self.total += len(data)
        room = self._most_head - len(self._head)
        self._head += data[:room]
        self._tail += data[room:]
        if len(self._tail) > 2 * self._most_tail:  # rarely, or every piece would move the whole tail
            del self._tail[: -self._most_tail]

    def since(self, position: int) -> tuple[bytes, int]:
        """Return what came after so many bytes, as far as it was kept, and how many bytes of it were not."""
        tail_at = self.total - len(self._tail)
        if position >= tail_at:
            return bytes(self._tail[position - tail_at :]), 0
        head = self._head[position:]
        return bytes(head + self._tail), tail_at - max(position, len(self._head))

    def text(self) -> str:
        """Return what was kept as text, see `decoded`."""
        return self.decoded()[0]

    def decoded(self) -> tuple[str, str]:
        """Return what was kept as text, with a note where something is missing. It is UTF-8, or of a whole output also
        lines that clearly read as Japanese in Shift_JIS or EUC-JP, which is the second value then, else ""; the rest is
        replaced."""
        if not self.is_cut:
            return read_output(bytes(self._head + self._tail))
        tail = self._tail[-self._most_tail :]
        dropped = self.total - len(self._head) - len(tail)
        note = f"\n[… {dropped:,} bytes dropped …]\n"
        return _without_torn_end(self._head) + note + tail.lstrip(_CONTINUATION).decode("utf-8", "replace"), ""


_CONTINUATION = bytes(range(0x80, 0xC0))  # no UTF-8 character begins with one of these


def _without_torn_end(data: bytearray) -> str:
    """Return the text without an incomplete character at its end."""
    return codecs.getincrementaldecoder("utf-8")("replace").decode(data)
