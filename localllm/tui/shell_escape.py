"""`!command` in the chat: run by the person himself, as he would in a terminal, outside every sandbox.

It has no input: the keyboard is the chat's. Its output is shown as it comes.
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
"""What a line that is one begins with."""

_MOST_KEPT = 30_000  # bytes for the model
_CHUNK = 1 << 16
_LONGEST_LINE = 1 << 17  # characters; what is longer is shown in parts
_LAST_WORDS = 0.3  # seconds for output that is on its way when the shell has ended; what it left running may go on
_GRACE = 1.0  # seconds between asking it to end and killing it


class Ran(msgspec.Struct, frozen=True):
    """`output`: stdout and stderr as they came, without the middle where it is long. `return_code`: -N for signal N."""

    command: str
    output: str
    return_code: int


async def run_own(command: str, folder: Path, show: Callable[[str], None]) -> Ran:
    """Run it in `folder` with the person's shell; `show` gets each line, without its end. Cancelling ends it.

    Raises OSError where there is no shell.
    """
    from localllm.sandbox.process import HeadAndTail  # few chats ever run one, and each waits for its prompt

    kept = HeadAndTail(_MOST_KEPT)
    lines = _Lines(show)
    # A pipe of our own: asyncio's would be waited for as long as anything that was left running holds it.
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
    """Interrupt it and what it started, as Ctrl+C in a terminal would; then, if need be, kill it."""
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
    """Whole lines of bytes that come in pieces."""

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
