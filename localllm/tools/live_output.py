"""Stream the last lines of a running command's output to the user."""

import asyncio
import codecs
from typing import Self

from localllm.base.events import CommandOutput, Emit
from localllm.sandbox.output_text import as_text, finished_length, japanese_encoding
from localllm.text.terminal_output import plain_output

_KEPT = 8192  # bytes, whose last lines are shown
_MOST_LINES = 5
_LONGEST_LINE = 500  # characters: more than any screen's width
_FIRST_SECONDS = 0.5  # most commands end before that, and nothing is shown
_SECONDS = 0.25  # polling interval


class LiveOutput:
    """Emits the last lines of an output periodically, while it is entered. `add` receives the output."""

    def __init__(self, emit: Emit) -> None:
        self._emit = emit
        self._tail = bytearray()
        self._is_new = False
        self._is_cut = False
        self._looking: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        self._looking = asyncio.create_task(self._look())
        return self

    async def __aexit__(self, *failure: object) -> None:
        if self._looking:
            self._looking.cancel()

    def add(self, data: bytes) -> None:
        """Append the command's output."""
        self._is_new = True
        self._tail += data
        if len(self._tail) > 2 * _KEPT:  # in batches, as moving the rest for every piece would be slow
            self._is_cut = True
            del self._tail[:-_KEPT]

    def lines(self) -> tuple[str, ...]:
        """Return the last non-empty lines as plain text, without a truncated first one."""
        data = bytes(self._tail)
        if self._is_cut:
            data = data.partition(b"\n")[2] or data
        end = finished_length(data)
        text = as_text(data[:end])
        if data[end:]:  # without an incomplete last character
            unfinished = codecs.getincrementaldecoder(japanese_encoding(data[:end]) or "utf-8")("replace")
            text += unfinished.decode(data[end:])
        lines = [line for line in plain_output(text).split("\n") if line.strip()]
        return tuple(line[:_LONGEST_LINE] for line in lines[-_MOST_LINES:])

    async def _look(self) -> None:
        await asyncio.sleep(_FIRST_SECONDS)
        while True:
            if self._is_new:
                self._is_new = False
                self._emit(CommandOutput(lines=self.lines()))
            await asyncio.sleep(_SECONDS)
