"""The program's diagnostic log: private daily files, shown on the screen only for servers.

Lines read `2026-11-21T12:00:00.000000Z [LEVEL] [CATEGORY] message`; in the debug log, which has everything, module,
function and line replace the category.
"""

import logging
import os
import re
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from io import TextIOWrapper
from pathlib import Path
from typing import TextIO

from localllm.base.files import open_own
from localllm.base.lazy_patterns import late_pattern

LOG = "log"
DEBUG_LOG = "debug_log"
"""Folders of the log files, in the work folder."""

_DAY = 86_400
_MAX_BYTES = 20_000_000
_KEPT = 5
"""Rotated files kept per day once `_MAX_BYTES` is exceeded."""

_NAME = late_pattern(r"(?:localllm|debug)\.(\d{4}-\d\d-\d\d)(?:\.\d+)?\.log")

_root = logging.getLogger("localllm")
_root.addHandler(logging.NullHandler())  # without any handler, logging prints to the screen

NOWHERE = "—"
"""Returned by `file` if there is no log."""


_LIKE_RECORD = late_pattern(r"\n(?=\d{4}-\d\d-\d\dT)")
_CONTROL = late_pattern(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def _shown(match: re.Match[str]) -> str:
    return f"\\x{ord(match[0]):02x}"


class _Formatter(logging.Formatter):
    """Formats log lines; `mask` is applied to each whole record, including tracebacks."""

    def __init__(self, mask: Callable[[str], str], *, places: bool = False) -> None:
        super().__init__("%(message)s")
        self._mask = mask
        self._places = places

    def format(self, record: logging.LogRecord) -> str:
        when = f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(record.created))}.{record.created % 1 * 1e6:06.0f}Z"
        where = record.name.rpartition(".")[2].upper()
        if self._places:
            where = f"{record.module}:{record.funcName}:{record.lineno}"
        text = _CONTROL.sub(_shown, self._mask(super().format(record)))
        text = _LIKE_RECORD.sub("\n ", text)  # an exception may quote a model, too
        return f"{when} [{record.levelname}] [{where}] {text}"

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - logging's name
        """Format the message as one line: part of it may be a model's."""
        return super().formatMessage(record).replace("\n", "\\n")


class _ShownFormatter(_Formatter):
    """Formats lines for a terminal: like the log's, without tracebacks."""

    def format(self, record: logging.LogRecord) -> str:
        bare = {"exc_info": None, "exc_text": None, "stack_info": None}
        return super().format(logging.makeLogRecord({**record.__dict__, **bare}))


class _Daily(logging.FileHandler):
    """A rotating file handler: one file per `days`, limited in size; old ones are deleted. logging.handlers would
    import pickle and sockets at every start."""

    def __init__(self, folder: Path, name: str, days: int, keep_days: int, clock: Callable[[], float]) -> None:
        self._folder = folder
        self._stem = name
        self._days = days
        self._keep_days = keep_days
        self._clock = clock
        self._ends = 0.0
        """Time at which the current file's period ends."""
        super().__init__(self._file(), encoding="utf-8", delay=True)

    def emit(self, record: logging.LogRecord) -> None:
        """Write the line, to a new file if the current one's period is over; rotate the file when it is full."""
        try:
            if self._clock() >= self._ends or self.stream is None:  # pyright: ignore[reportUnnecessaryComparison] - delay
                self._begin(str(self._file().absolute()))
            super().emit(record)
            if self.stream is not None and os.fstat(self.stream.fileno()).st_size >= _MAX_BYTES:  # pyright: ignore[reportUnnecessaryComparison]
                self._close_stream()
                self._make_room()
        except OSError:
            self.handleError(record)

    def _open(self) -> TextIOWrapper:
        """Open the file unless it is a link, which a command could have created if the folder lies in a project."""
        fd = open_own(Path(self.baseFilename), os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        return os.fdopen(fd, "a", encoding="utf-8")

    def _begin(self, file: str) -> None:
        self._close_stream()
        self.baseFilename = file
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        if self._keep_days:
            oldest = time.strftime("%Y-%m-%d", time.gmtime(self._clock() - self._keep_days * _DAY))
            for old in files(self._folder):
                if old.name.startswith(f"{self._stem}.") and day_of(old) < oldest:
                    with suppress(OSError):
                        old.unlink()

    def _file(self) -> Path:
        first = int(self._clock()) // (self._days * _DAY) * self._days * _DAY
        self._ends = first + self._days * _DAY
        return self._folder / f"{self._stem}.{time.strftime('%Y-%m-%d', time.gmtime(first))}.log"

    def _close_stream(self) -> None:
        if self.stream is not None:  # pyright: ignore[reportUnnecessaryComparison] - not opened yet
            self.stream.close()
            self.stream = None  # pyright: ignore[reportAttributeAccessIssue] - reopened for the next line

    def _make_room(self) -> None:
        full = Path(self.baseFilename)

        def numbered(number: int) -> Path:
            return full.with_suffix(f".{number}.log")

        for number in range(_KEPT - 1, 0, -1):
            with suppress(FileNotFoundError):
                numbered(number).replace(numbered(number + 1))
        full.replace(numbered(1))

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 - logging's name
        """Ignore the error: a full disk must not print to the user's screen."""


class _Shown(logging.StreamHandler[TextIO]):
    """Prints records; a closed terminal is ignored."""

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 - logging's name
        """Ignore the error: a closed pipe must not end the program."""


class _Forward(logging.Handler):
    """Forwards another logger's records."""

    def __init__(self, to: logging.Logger) -> None:
        super().__init__()
        self._to = to

    def emit(self, record: logging.LogRecord) -> None:
        if self._to.isEnabledFor(record.levelno):
            self._to.handle(logging.makeLogRecord({**record.__dict__, "name": self._to.name}))


def start(
    folder: Path,
    level: str,
    mask: Callable[[str], str] = str,
    *,
    rotate_days: int = 1,
    keep_days: int = 30,
    debug: bool = False,
    follows_links: bool = False,
    clock: Callable[[], float] = time.time,
) -> None:
    """Log into `folder`, unless a log is already open.

    Args:
        folder: The work folder: files are in its `log/` and, with `debug`, in its `debug_log/`.
        level: Minimum level of the log; the debug log has all.
        mask: Filters each record's text.
        rotate_days: Days per file.
        keep_days: Days after which files are deleted; 0 keeps all.
        debug: Write a debug log as well.
        follows_links: Allow the folders to be links: only the user can have created them.
        clock: Returns the time.

    If the folder is not writable, the program runs without a log.
    """
    if file() != NOWHERE:
        return
    place, debug_place = folder / LOG, folder / DEBUG_LOG
    try:
        if follows_links:
            place, debug_place = place.resolve(), debug_place.resolve()
        place.mkdir(parents=True, exist_ok=True, mode=0o700)
    except (OSError, RuntimeError):  # Python < 3.13: RuntimeError for circular links
        _root.addHandler(logging.NullHandler())
        return
    log = _Daily(place, "localllm", rotate_days, keep_days, clock)
    log.setFormatter(_Formatter(mask))
    log.setLevel(level)
    _root.addHandler(log)
    if debug:
        everything = _Daily(debug_place, "debug", rotate_days, keep_days, clock)
        everything.setFormatter(_Formatter(mask, places=True))
        _root.addHandler(everything)
    _root.setLevel("DEBUG" if debug else level)
    _root.propagate = False


def show(stream: TextIO, level: str, mask: Callable[[str], str] = str, *, without: Collection[str] = ()) -> None:
    """Also print records of `level` and above to `stream`, except those of the categories `without`.
    For programs such as servers, whose activity is watched."""
    shown = _Shown(stream)
    shown.setFormatter(_ShownFormatter(mask))
    shown.setLevel(level)
    shown.addFilter(lambda record: record.name.rpartition(".")[2] not in without)
    _root.addHandler(shown)
    _root.setLevel(min(_root.level or logging.CRITICAL, shown.level))
    _root.propagate = False


def forward(library: str, category: str) -> None:
    """Copy a library's records of WARNING and above to the log, under `category`."""
    logger = logging.getLogger(library)
    logger.handlers[:] = [_Forward(of(category))]
    logger.setLevel(logging.WARNING)
    logger.propagate = False


def file() -> str:
    """Return the path of the log; NOWHERE if there is none."""
    return next((handler.baseFilename for handler in _root.handlers if isinstance(handler, _Daily)), NOWHERE)


def files(folder: Path) -> Iterator[Path]:
    """Yield the log files in a folder, oldest first."""
    if folder.is_dir():
        yield from sorted((one for one in folder.iterdir() if _NAME.fullmatch(one.name)), key=_order)


def day_of(file: Path) -> str:
    """Return the first day of a log file: YYYY-MM-DD."""
    match = _NAME.fullmatch(file.name)
    return match[1] if match else ""


def _order(file: Path) -> tuple[str, int]:
    """Return the sort key: the day, then the rotation number, of which the highest is the oldest."""
    number = file.name.split(".")[2]
    return day_of(file), -int(number) if number.isdigit() else 0


def of(category: str) -> logging.Logger:
    """Return the logger of a category, such as LLM, TOOL or AGENT."""
    return _root.getChild(category)
