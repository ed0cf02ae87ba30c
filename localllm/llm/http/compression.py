"""Decompress a response body while it streams, in pieces of bounded size.

A library that returns everything decompressed so far turns a thousand bytes into gigabytes, the more so if a body was
compressed twice.
"""

import asyncio
import zlib
from collections.abc import Callable, Iterator

from localllm.llm.http.messages import GarbledError, Read

_READ_SIZE = 65_536

_Expand = Callable[[bytes], Iterator[bytes]]
"""Decompress data into pieces of bounded size."""


class Decompressed:
    """The body read from `read`, decompressed according to the Content-Encoding in `encoding`."""

    def __init__(self, read: Read, encoding: str) -> None:
        self._read = read
        self._encoding = encoding
        self._ended = False
        self._expand: _Expand | None = None
        self._expanded: Iterator[bytes] = iter(())

    async def read(self) -> bytes | None:
        """Return the next piece, None at the end. Raises GarbledError, and what the underlying `read` raises."""
        self._expand = self._expand or _decompressor(self._encoding)
        while (piece := next(self._expanded, None)) is None:
            data = None if self._ended else await self._read()
            if data is None:
                self._ended = True
                return None
            self._expanded = _expanded(self._expand, data)
        if len(piece) >= _READ_SIZE:  # a large expansion may follow: yield to other tasks
            await asyncio.sleep(0)
        return piece


def _decompressor(encoding: str) -> _Expand:
    """Return the decompressor for gzip or deflate. Neither is requested, but some gateways compress anyway."""
    match encoding.strip().lower():
        case "gzip" | "x-gzip" | "deflate":
            return _inflating()
        case "" | "identity":
            return lambda data: iter((data,))
        case other:
            raise GarbledError(f"it is compressed in a way not asked for: {other}")


def _inflating() -> _Expand:
    stream = zlib.decompressobj(wbits=47)  # detects the gzip or zlib header itself

    def expand(data: bytes) -> Iterator[bytes]:
        full = True
        while data or full:
            piece = stream.decompress(data, _READ_SIZE)
            data, full = stream.unconsumed_tail, len(piece) == _READ_SIZE
            yield piece

    return expand


def _expanded(expand: _Expand, data: bytes) -> Iterator[bytes]:
    try:
        yield from filter(None, expand(data))
    except zlib.error as error:
        raise GarbledError(f"its compression is broken: {error}") from error
