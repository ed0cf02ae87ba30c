"""Read the program's log: filter records by level, category and time, and follow new ones."""

from collections import deque
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from localllm.base import logs
from localllm.base.lazy_patterns import late_pattern

LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL")

_HEAD = late_pattern(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z) \[([A-Z]+)\] \[([^\]\s]{1,200})\] ")


class LogRecord(NamedTuple):
    """A record: a line, and its traceback lines. Times compare as strings."""

    time: str
    level: str
    category: str
    text: str


class Wanted(NamedTuple):
    """A filter of records: minimum level, categories (empty for all), earliest time."""

    level: str = "DEBUG"
    categories: frozenset[str] = frozenset()
    since: str = ""

    def has(self, record: LogRecord) -> bool:
        """Return whether the record matches."""
        return (
            LEVELS.index(record.level) >= LEVELS.index(self.level)
            and (not self.categories or record.category in self.categories)
            and record.time >= self.since
        )


def stamp(moment: datetime) -> str:
    """Format a time as in the log."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def records(lines: Iterable[str]) -> Iterator[LogRecord]:
    """Parse the records in a file's lines; lines before the first record are dropped."""
    found: LogRecord | None = None
    for line in lines:
        match = _HEAD.match(line)
        if match is None or match[2] not in LEVELS:
            found = found and found._replace(text=found.text + line)
            continue
        if found is not None:
            yield found
        found = LogRecord(match[1], match[2], match[3], line)
    if found is not None:
        yield found


def read_log(folder: Path, wanted: Wanted, most: int = 0) -> Iterator[LogRecord]:
    """Yield the matching records in the files of a folder, oldest first; only the last `most` unless 0."""
    found = (record for file in _files(folder, wanted) for record in records(_lines(file)) if wanted.has(record))
    yield from deque(found, most) if most else found


class Follower:
    """Returns what is appended to the logs of a folder from now on."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._read: dict[int, int] = {}
        """Bytes read so far, by the file's inode: a renamed file is not read again."""
        for file in logs.files(folder):
            stat = file.stat()
            self._read[stat.st_ino] = stat.st_size

    def new_lines(self) -> list[str]:
        """Return the complete lines appended since the last call."""
        added: list[str] = []
        for file in logs.files(self._folder):
            try:
                with file.open("rb") as opened:
                    number = file.stat().st_ino
                    opened.seek(self._read.get(number, 0))
                    data = opened.read()
            except OSError:
                continue  # deleted meanwhile, due to its age
            whole = data[: data.rfind(b"\n") + 1]
            self._read[number] = self._read.get(number, 0) + len(whole)
            added += whole.decode("utf-8", "replace").splitlines(keepends=True)
        return added


def _files(folder: Path, wanted: Wanted) -> Iterator[Path]:
    """Yield the files that may contain matching records, starting with the last one that begins before the time."""
    files = list(logs.files(folder))
    day = wanted.since[:10]
    before = [number for number, file in enumerate(files) if logs.day_of(file) < day]
    first = logs.day_of(files[before[-1]]) if before else ""
    yield from (file for file in files if logs.day_of(file) >= first)


def _lines(file: Path) -> Iterator[str]:
    try:
        with file.open(encoding="utf-8", errors="replace") as opened:
            yield from opened
    except FileNotFoundError:
        return
