"""Sessions as event logs: one JSON object a line, appended as things happen, read back as the same events."""

import os
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from secrets import token_hex
from typing import BinaryIO

import msgspec

from localllm.base import events
from localllm.base.events import AgentEvent, TextDelta, ThinkingDelta


def new_session_id() -> str:
    """A name that sorts by time: 20261121-231500-ab12."""
    return f"{datetime.now(UTC):%Y%m%d-%H%M%S}-{token_hex(2)}"


class SessionLog:
    """Appends events to `folder/session_id.jsonl`, made at the first event. Pieces of text are joined first.

    A log that cannot be written must not stop the work: the first failure is kept in `failure`.
    """

    def __init__(self, folder: Path, session_id: str) -> None:
        self.file = folder / f"{session_id}.jsonl"
        self.failure: OSError | None = None
        self._stream: BinaryIO | None = None
        self._held: TextDelta | ThinkingDelta | None = None
        self._pieces: list[str] = []

    def append(self, event: AgentEvent) -> None:
        """Write `event`, as far as it is complete."""
        if isinstance(event, TextDelta | ThinkingDelta):
            self._hold(event)
            return
        self._flush()
        self._write(event)

    def close(self) -> None:
        """Write what is held back, and close the file."""
        self._flush()
        if self._stream is not None:
            self._stream.close()
            self._stream = None

    def _hold(self, event: TextDelta | ThinkingDelta) -> None:
        match self._held, event:
            case (TextDelta(), TextDelta()) | (ThinkingDelta(), ThinkingDelta()):
                self._pieces.append(event.text)
            case _:
                self._flush()
                self._held, self._pieces = event, [event.text]

    def _flush(self) -> None:
        if self._held is not None:
            joined = type(self._held)(text="".join(self._pieces))
            self._held = None
            self._write(joined)

    def _write(self, event: AgentEvent) -> None:
        if self.failure is not None:
            return
        try:
            if self._stream is None:
                self._stream = _open_private(self.file)
            self._stream.write(events.encode(event) + b"\n")
        except OSError as error:
            self.failure = error


class SessionRead(msgspec.Struct, frozen=True):
    """The events of a log, and how many of its lines could not be read (a torn last one, after a crash)."""

    events: tuple[AgentEvent, ...]
    torn_lines: int


def read_session(file: Path) -> SessionRead:
    """The events in a log. Raises OSError."""
    found: list[AgentEvent] = []
    torn = 0
    for line in _lines(file):
        try:
            found.append(events.decode(line))
        except msgspec.DecodeError:
            torn += 1
    return SessionRead(tuple(found), torn)


def _lines(file: Path) -> Iterator[bytes]:
    with file.open("rb") as stream:
        yield from (line for line in stream if line.strip())


def _open_private(file: Path) -> BinaryIO:
    """The file for appending, unbuffered, readable by its owner alone: conversations hold what the user said."""
    file.parent.mkdir(parents=True, exist_ok=True)
    return open(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), "ab", buffering=0)  # noqa: PTH123
