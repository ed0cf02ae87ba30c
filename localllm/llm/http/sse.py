"""Incremental decoders without I/O: server-sent events and JSON lines.

`feed` takes bytes in pieces of any size and returns what is complete.
"""

import msgspec

LONGEST = 128 * 1024 * 1024
"""Maximum bytes of a line or response: more than any model list, batch of vectors or line of an answer."""

_OF_A_LINE = 64
"""Memory overhead in bytes of a data line besides its text."""


class ServerSentEvent(msgspec.Struct, frozen=True):
    """One event: its name ("message" by default) and its joined data lines."""

    data: str
    event: str = "message"


def check_length(size: int) -> None:
    """Raise ValueError if a line or response exceeds LONGEST bytes."""
    if size > LONGEST:
        raise ValueError(f"it does not end: more than {LONGEST:,} bytes have come")


class LineSplitter:
    """Splits bytes into lines at LF, CRLF or CR, as event streams require (HTML standard, 9.2.6)."""

    def __init__(self) -> None:
        self._held: list[bytes] = []
        self._size = 0
        self._after_return = False

    def feed(self, data: bytes) -> list[bytes]:
        """Return the lines that `data` completes, without terminators. Raises ValueError for an overlong line."""
        if not data:
            return []
        if self._after_return:  # this may be the second half of a CRLF
            data = data.removeprefix(b"\n")
        self._after_return = data.endswith(b"\r")
        first, *others = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
        self._hold(first)
        if not others:
            return []
        lines = [*self.close(), *others] if self._size else [b"", *others]
        self._hold(lines.pop())
        return lines

    def close(self) -> list[bytes]:
        """Return the last line if it had no terminator."""
        rest, self._held, self._size = b"".join(self._held), [], 0
        return [rest] if rest else []

    def _hold(self, piece: bytes) -> None:
        if piece:
            self._held.append(piece)
            self._size += len(piece)
            check_length(self._size)


class SSEDecoder:
    """Decodes server-sent events. Comments, ids and retry fields are ignored, and so are events with empty data, which
    servers send as keep-alives."""

    def __init__(self) -> None:
        self._lines = LineSplitter()
        self._data: list[str] = []
        self._size = 0
        self._event = ""
        self._first = True

    def feed(self, data: bytes) -> list[ServerSentEvent]:
        """Return the events that `data` completes. Raises ValueError for a line or event that is too long."""
        return self._read(self._lines.feed(data))

    def close(self) -> list[ServerSentEvent]:
        """Return the last event if the server omitted the empty line after it."""
        return self._read([*self._lines.close(), b""])

    def _read(self, lines: list[bytes]) -> list[ServerSentEvent]:
        return [event for line in lines if (event := self._read_line(line)) is not None]

    def _read_line(self, line: bytes) -> ServerSentEvent | None:
        text = line.decode("utf-8", errors="replace")
        if self._first:
            text, self._first = text.removeprefix("\ufeff"), False
        if not text:
            return self._dispatch()
        field, _, value = text.partition(":")
        value = value.removeprefix(" ")
        match field:
            case "data":
                self._size += len(line) + _OF_A_LINE
                check_length(self._size)
                self._data.append(value)
            case "event":
                self._event = value
            case _:
                pass
        return None

    def _dispatch(self) -> ServerSentEvent | None:
        data, name = self._data, self._event
        self._data, self._size, self._event = [], 0, ""
        return ServerSentEvent("\n".join(data), name or "message") if any(data) else None


class NDJSONDecoder:
    """Splits JSON lines: returns the non-empty lines, undecoded."""

    def __init__(self) -> None:
        self._lines = LineSplitter()

    def feed(self, data: bytes) -> list[bytes]:
        """Return the lines that `data` completes."""
        return [line for line in self._lines.feed(data) if line.strip()]

    def close(self) -> list[bytes]:
        """Return the last line if it had no terminator."""
        return [line for line in self._lines.close() if line.strip()]
