"""Standard input that is no terminal, line by line."""

import asyncio
import threading
from collections.abc import AsyncGenerator
from typing import TextIO


async def read_lines(stream: TextIO) -> AsyncGenerator[str]:
    """The lines of `stream` without their ends, as they come.

    They are read in a thread that does not keep the program from ending: a pipe may never close.
    """
    loop = asyncio.get_running_loop()
    lines: asyncio.Queue[str | None] = asyncio.Queue()

    def put(line: str | None) -> None:
        loop.call_soon_threadsafe(lines.put_nowait, line)

    def read() -> None:
        try:
            for line in stream:
                put(line.rstrip("\r\n"))
            put(None)
        except RuntimeError:  # the loop has been closed: nobody waits any more
            return

    threading.Thread(target=read, name="standard-input", daemon=True).start()
    while (line := await lines.get()) is not None:
        yield line
