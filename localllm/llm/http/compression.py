"""Decompress the body of an answer as it arrives, in pieces of bounded size, however little they were packed in.

A library that gives all that has come at once makes gigabytes of a thousand bytes, the more so where a body was packed
twice.
"""

import asyncio
import zlib
from collections.abc import Callable, Iterator

from localllm.llm.http.messages import GarbledError, Read

_READ_SIZE = 65_536

_Expand = Callable[[bytes], Iterator[bytes]]
"""Decompresses, in pieces of bounded size."""


class Decompressed:
    """The body that `read` gives, which is packed as the header Content-Encoding says in `encoding`."""

    def __init__(self, read: Read, encoding: str) -> None:
        self._read = read
        self._encoding = encoding
        self._ended = False
        self._expand: _Expand | None = None
        self._expanded: Iterator[bytes] = iter(())

    async def read(self) -> bytes | None:
        """Return the next piece, None at its end. Raises GarbledError, and what the body's own `read` raises."""
        self._expand = self._expand or _decompressor(self._encoding)
        while (piece := next(self._expanded, None)) is None:
            data = None if self._ended else await self._read()
            if data is None:
                self._ended = True
                return None
            self._expanded = _expanded(self._expand, data)
        if len(piece) >= _READ_SIZE:  # much more may be in these bytes: others have their turn
            await asyncio.sleep(0)
        return piece


def _decompressor(encoding: str) -> _Expand:
    """For gzip and deflate; asked for is neither, but some gateways compress all the same."""
    match encoding.strip().lower():
        case "gzip" | "x-gzip" | "deflate":
            return _inflating()
        case "" | "identity":
            return lambda data: iter((data,))
        case other:
            raise GarbledError(f"it is compressed in a way not asked for: {other}")


def _inflating() -> _Expand:
    stream = zlib.decompressobj(wbits=47)  # either header, told by itself

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
