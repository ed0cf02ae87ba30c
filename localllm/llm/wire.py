"""Decoding of streams, byte by byte and without any network: server-sent events, and JSON lines.

Feed whatever arrives, in whatever pieces; what is complete comes back.
"""

import msgspec


class ServerSentEvent(msgspec.Struct, frozen=True):
    """One event: its name ("message" unless the server says otherwise) and its data lines, joined."""

    data: str
    event: str = "message"


class LineSplitter:
    """Cuts bytes into lines at LF, CRLF or CR, as the event-stream format asks (HTML standard, 9.2.6)."""

    def __init__(self) -> None:
        self._held = b""

    def feed(self, data: bytes) -> list[bytes]:
        """The lines that `data` completes, without their ends."""
        text = self._held + data
        # A CR at the very end may be half of a CRLF: wait for what follows.
        keep_return = text.endswith(b"\r")
        if keep_return:
            text = text[:-1]
        lines = text.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
        self._held = lines.pop() + (b"\r" if keep_return else b"")
        return lines

    def close(self) -> list[bytes]:
        """The last line, where it had no end."""
        rest, self._held = self._held.removesuffix(b"\r"), b""
        return [rest] if rest else []


class SSEDecoder:
    """Server-sent events from bytes. Comments, ids and retry fields are passed over, and so are events whose data
    are empty: servers send them to keep the line open."""

    def __init__(self) -> None:
        self._lines = LineSplitter()
        self._data: list[str] = []
        self._event = ""
        self._first = True

    def feed(self, data: bytes) -> list[ServerSentEvent]:
        """The events that `data` completes."""
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
                self._data.append(value)
            case "event":
                self._event = value
            case _:
                pass
        return None

    def _dispatch(self) -> ServerSentEvent | None:
        data, name = self._data, self._event
        self._data, self._event = [], ""
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
