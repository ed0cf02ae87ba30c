"""The program's own log: what went on inside, for finding faults. Rotating, private, never on the screen.

Lines read `2026-11-21T12:00:00.000000Z [LEVEL] [CATEGORY] message`.
"""

import logging
import os
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

_MAX_BYTES = 2_000_000
_KEPT = 5

_root = logging.getLogger("localllm")

NOWHERE = "—"
"""What `file` says where no log is kept."""


class _Formatter(logging.Formatter):
    """Lines of the log, each record through `mask` as a whole: also what a traceback quotes."""

    def __init__(self, mask: Callable[[str], str]) -> None:
        super().__init__("%(message)s")
        self._mask = mask

    def format(self, record: logging.LogRecord) -> str:
        when = f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(record.created))}.{record.created % 1 * 1e6:06.0f}Z"
        category = record.name.rpartition(".")[2].upper()
        return f"{when} [{record.levelname}] [{category}] {self._mask(super().format(record))}"


class _Rotating(logging.FileHandler):
    """A file of bounded size, and the ones before it. That of logging.handlers brings pickle and sockets along, which
    every start would wait for."""

    def emit(self, record: logging.LogRecord) -> None:
        """Write the line; the next one begins a new file where this one is full."""
        super().emit(record)
        try:
            if self.stream is not None and os.fstat(self.stream.fileno()).st_size >= _MAX_BYTES:
                self.stream.close()
                self.stream = None  # opened again for the next line
                self._make_room()
        except OSError:
            self.handleError(record)

    def _make_room(self) -> None:
        for number in range(_KEPT - 1, 0, -1):
            with suppress(FileNotFoundError):
                Path(f"{self.baseFilename}.{number}").replace(f"{self.baseFilename}.{number + 1}")
        Path(self.baseFilename).replace(f"{self.baseFilename}.1")

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 - logging's name
        """A full disk must not print into the user's screen."""


def start(folder: Path, level: str, mask: Callable[[str], str] = str) -> None:
    """Log into `folder/localllm.log`, unless a log is kept already; of each record what `mask` leaves.

    A folder that cannot be written leaves the program without a log.
    """
    if file() != NOWHERE:
        return
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError:
        _root.addHandler(logging.NullHandler())
        return
    handler = _Rotating(folder / "localllm.log", encoding="utf-8", delay=True)
    handler.setFormatter(_Formatter(mask))
    _root.addHandler(handler)
    _root.setLevel(level)
    _root.propagate = False


def file() -> str:
    """Where the log is; NOWHERE where none is kept."""
    return next(
        (handler.baseFilename for handler in _root.handlers if isinstance(handler, logging.FileHandler)), NOWHERE
    )


def of(category: str) -> logging.Logger:
    """The logger of a category, such as LLM, TOOL or AGENT."""
    return _root.getChild(category)
