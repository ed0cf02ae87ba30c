"""`!command` in the chat: run by the user, as in a terminal, outside every sandbox.

It has no input, since the keyboard is the chat's. Its output is streamed.
"""

import asyncio
import codecs
import os
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from localllm.base.environment import own_variables

if TYPE_CHECKING:
    from localllm.sandbox.process import HeadAndTail

MARK = "!"
"""The prefix of such a line."""

_MOST_KEPT = 30_000  # bytes for the model
_CHUNK = 1 << 16
_LONGEST_LINE = 1 << 17  # characters; longer lines are split
_LAST_WORDS = 0.3  # seconds to read pending output after the shell has ended; processes it left running may continue
_GRACE = 1.0  # seconds between the request to end and killing it


class Ran(msgspec.Struct, frozen=True):
    """`output`: stdout and stderr in order of arrival, without the middle if it is long. `return_code`: -N for signal
    N."""

    command: str
    output: str
    return_code: int


async def run_own(command: str, folder: Path, show: Callable[[str], None]) -> Ran:
    """Run a command in `folder` with the user's shell; `show` receives each line, without its end. Cancelling ends it.

    Raises OSError if there is no shell.
    """
    from localllm.sandbox.process import HeadAndTail  # rarely used; keeps the start-up fast

    kept = HeadAndTail(_MOST_KEPT)
    lines = _Lines(show)
    # Our own pipe: asyncio waits for its own until every process that inherited it has ended.
    read_end, write_end = os.pipe()
    try:
        process = await asyncio.create_subprocess_exec(
            *_shell(),
            command,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=write_end,
            stderr=write_end,
            cwd=folder,
            env=own_variables(),
            start_new_session=True,
        )
    except OSError:
        os.close(read_end)
        raise
    finally:
        os.close(write_end)
    stream = asyncio.StreamReader()
    protocol = asyncio.StreamReaderProtocol(stream)
    transport, _ = await asyncio.get_running_loop().connect_read_pipe(lambda: protocol, os.fdopen(read_end, "rb", 0))
    reading = asyncio.ensure_future(_read(stream, kept, lines))
    try:
        return_code = await process.wait()
        await asyncio.wait({reading}, timeout=_LAST_WORDS)
    except asyncio.CancelledError:
        await _end(process)
        raise
    finally:
        reading.cancel()
        transport.close()
    lines.end()
    return Ran(command, kept.text(), return_code)


async def _read(stream: asyncio.StreamReader, kept: "HeadAndTail", lines: "_Lines") -> None:
    while data := await stream.read(_CHUNK):
        kept.add(data)
        lines.add(data)


def _shell() -> tuple[str, str]:
    if sys.platform == "win32":
        return os.environ.get("COMSPEC", "cmd.exe"), "/c"
    return os.environ.get("SHELL") or "/bin/sh", "-c"


async def _end(process: asyncio.subprocess.Process) -> None:
    """Interrupt the command and its children, as Ctrl+C in a terminal would; then kill them if needed."""
    _signal(process, signal.SIGINT)
    try:
        async with asyncio.timeout(_GRACE):
            await process.wait()
    except TimeoutError:
        _signal(process, signal.SIGTERM if sys.platform == "win32" else signal.SIGKILL)
        await process.wait()


def _signal(process: asyncio.subprocess.Process, number: signal.Signals) -> None:
    with suppress(ProcessLookupError, PermissionError):
        if sys.platform == "win32":
            process.terminate()
        else:
            os.killpg(process.pid, number)


class _Lines:
    """Assemble lines from pieces of bytes."""

    def __init__(self, show: Callable[[str], None]) -> None:
        self._show = show
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._rest = ""

    def add(self, data: bytes) -> None:
        *lines, self._rest = (self._rest + self._decoder.decode(data)).split("\n")
        for line in lines:
            self._show(line.rstrip("\r"))
        if len(self._rest) > _LONGEST_LINE:
            self.end()

    def end(self) -> None:
        if self._rest:
            self._show(self._rest)
            self._rest = ""
