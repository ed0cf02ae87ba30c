"""Decoding of streams, byte by byte and without any network: server-sent events, and JSON lines.

Feed whatever arrives, in whatever pieces; what is complete comes back.
"""

import msgspec

LONGEST = 128 * 1024 * 1024
"""Bytes: more than any list of models, any batch of vectors, any line a model writes."""

_OF_A_LINE = 64
"""Bytes of memory that a line of data takes besides its text."""


class ServerSentEvent(msgspec.Struct, frozen=True):
    """One event: its name ("message" unless the server says otherwise) and its data lines, joined."""

    data: str
    event: str = "message"


def check_length(size: int) -> None:
    """Raises ValueError for more bytes than a line or a whole answer may have."""
    if size > LONGEST:
        raise ValueError(f"it does not end: more than {LONGEST:,} bytes have come")


class LineSplitter:
    """Cuts bytes into lines at LF, CRLF or CR, as the event-stream format asks (HTML standard, 9.2.6)."""

    def __init__(self) -> None:
        self._held: list[bytes] = []
        self._size = 0
        self._after_return = False

    def feed(self, data: bytes) -> list[bytes]:
        """The lines that `data` completes, without their ends. Raises ValueError for a line that does not end."""
        if not data:
            return []
        if self._after_return:  # this may be the other half of a CRLF
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
        """The last line, where it had no end."""
        rest, self._held, self._size = b"".join(self._held), [], 0
        return [rest] if rest else []

    def _hold(self, piece: bytes) -> None:
        if piece:
            self._held.append(piece)
            self._size += len(piece)
            check_length(self._size)


class SSEDecoder:
    """Server-sent events from bytes. Comments, ids and retry fields are passed over, and so are events whose data
    are empty: servers send them to keep the line open."""

    def __init__(self) -> None:
        self._lines = LineSplitter()
        self._data: list[str] = []
        self._size = 0
        self._event = ""
        self._first = True

    def feed(self, data: bytes) -> list[ServerSentEvent]:
        """The events that `data` completes. Raises ValueError for a line or an event that does not end."""
        return self._read(self._lines.feed(data))

    def close(self) -> list[ServerSentEvent]:
        """The last event, where the server ended without the empty line that should follow it."""
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
    """JSON lines from bytes: the non-empty lines, undecoded."""

    def __init__(self) -> None:
        self._lines = LineSplitter()

    def feed(self, data: bytes) -> list[bytes]:
        """The lines that `data` completes."""
        return [line for line in self._lines.feed(data) if line.strip()]

    def close(self) -> list[bytes]:
        """The last line, where it had no end."""
        return [line for line in self._lines.close() if line.strip()]
