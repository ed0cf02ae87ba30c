"""Load and write the project's text files for tools, and run work in threads with a timeout."""

import asyncio
import hashlib
import time
from collections import deque
from collections.abc import Callable, Sequence
from itertools import takewhile
from shlex import quote
from typing import TypeVar

import msgspec

from localllm.base.errors import ToolExecutionError
from localllm.base.events import Json
from localllm.base.i18n import N_, Phrase, plural
from localllm.base.regular_files import clock_time
from localllm.safety.path_names import shown
from localllm.safety.paths import ProjectRoot
from localllm.text.decoding import Decoded, NotTextError, decode, encode, split_lines
from localllm.text.file_type import HEAD, kind_of
from localllm.tools.edit_arguments import Replacement

KIND_TEXTS = {
    "pdf": N_("a PDF"),
    "elf": N_("a compiled program or library"),
    "windows_program": N_("a Windows program or library"),
    "macos_program": N_("a macOS program or library"),
    "java_class": N_("a compiled Java class"),
    "wasm": N_("a WebAssembly module"),
    "gzip": N_("a gzip archive"),
    "bzip2": N_("a bzip2 archive"),
    "xz": N_("an xz archive"),
    "zstd": N_("a zstd archive"),
    "7zip": N_("a 7-Zip archive"),
    "rar": N_("a RAR archive"),
    "tar": N_("a tar archive"),
    "zip": N_("a ZIP archive"),
    "jar": N_("a Java archive"),
    "wheel": N_("a Python wheel"),
    "android": N_("an Android application"),
    "epub": N_("an EPUB book"),
    "document": N_("a word processor's document"),
    "spreadsheet": N_("a spreadsheet"),
    "slides": N_("a presentation"),
    "old_office": N_("an old Office file (.doc, .xls, .ppt, .msg)"),
    "sqlite": N_("an SQLite database"),
    "gguf": N_("a GGUF model file"),
    "numpy": N_("a NumPy array"),
    "parquet": N_("a Parquet table"),
    "hdf5": N_("HDF5 data"),
    "pickle": N_("a Python pickle"),
    "picture": N_("a picture"),
    "film": N_("a video"),
    "sound": N_("an audio recording"),
    "font": N_("a font"),
}


_MOST_READ = 20  # parts of a file that are remembered


class SeenFiles:
    """The files known to the model in a conversation, by path, with the SHA-256 of the content last seen, the lines it
    has read, and the replacements it has made in them."""

    def __init__(self) -> None:
        self._digests: dict[str, bytes] = {}
        self._lines: dict[str, deque[range]] = {}
        self._written: dict[tuple[str, Replacement], str] = {}

    @property
    def paths(self) -> tuple[str, ...]:
        """The known files."""
        return tuple(self._digests)

    def note(self, path: str, data: bytes) -> None:
        """Record that the model knows `path` with the content `data`."""
        digest = hashlib.sha256(data).digest()
        if self._digests.get(path) != digest:
            self._lines.pop(path, None)
        self._digests[path] = digest

    def assume(self, path: str) -> None:
        """Record that the model knows an unspecified content of `path`."""
        self._digests.setdefault(path, b"")

    def has(self, path: str) -> bool:
        """Return whether the model knows some content of `path`."""
        return path in self._digests

    def is_stale(self, path: str, data: bytes) -> bool:
        """Return whether `path` differs from what the model knows; false if it never saw it."""
        known = self._digests.get(path)
        return bool(known) and known != hashlib.sha256(data).digest()

    def note_lines(self, path: str, start: int, end: int) -> None:
        """Record that the model has read lines `start` to `end` of `path`, counted from 1."""
        self._lines.setdefault(path, deque(maxlen=_MOST_READ)).appendleft(range(start, end + 1))

    def lines_read(self, path: str) -> Sequence[range]:
        """Return the lines of the known content of `path` that the model has read, the newest first."""
        return self._lines.get(path, ())

    def note_edit(self, path: str, data: bytes, old: str, new: str) -> None:
        """Record that the model has edited `path`, whose text was `old` and is `new`."""
        lines = moved(self.lines_read(path), old, new)
        self.note(path, data)
        self._lines[path] = deque(lines, maxlen=_MOST_READ)

    def note_written(self, path: str, asked: Replacement, text: str) -> None:
        """Record that the replacement was made in `path`; `text`: its new_string as adapted to the file."""
        self._written[path, asked] = text

    def written(self, path: str, asked: Replacement) -> str:
        """Return what such a replacement has written into `path`; empty if none was made."""
        return self._written.get((path, asked), "")


def moved(ranges: Sequence[range], old: str, new: str) -> Sequence[range]:
    """Return where these lines of the text `old`, counted from 1, are in `new`. Those in which an edit began or ended
    include all that it changed."""
    if not ranges or old == new:
        return ranges
    before, after = (text.replace("\r\n", "\n").split("\n") for text in (old, new))
    first = _equal_lines(before, after)
    last = min(_equal_lines(before[::-1], after[::-1]), min(len(before), len(after)) - first)
    added = len(after) - len(before)

    def place(line: int, in_changed: int) -> int:
        if line <= first:
            return line
        return line + added if line > len(before) - last else in_changed

    return [range(place(lines.start, first + 1), place(lines.stop - 1, len(after) - last) + 1) for lines in ranges]


def _equal_lines(one: Sequence[str], other: Sequence[str]) -> int:
    """Return the number of lines up to the first that differs."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


LARGEST = 20_000_000
"""Maximum bytes of a file read as a whole."""


class TextFile(msgspec.Struct, frozen=True):
    """A loaded file. `path` is relative to the root."""

    path: str
    data: bytes
    decoded: Decoded

    @property
    def text(self) -> str:
        """The content with `\\n` newlines (unless the file mixes them)."""
        return self.decoded.text


def load(root: ProjectRoot, file_path: str, encoding: str = "") -> TextFile:
    """Load a text file. Raises ToolExecutionError: file_missing, file_not_text, file_unknown_encoding, …"""
    path = root.relative(file_path)
    data = root.read_bytes(path, LARGEST)
    return TextFile(path, data, _decode(path, data, encoding))


def load_existing(root: ProjectRoot, file_path: str) -> TextFile | None:
    """Like `load`, but None if the file is missing."""
    return load(root, file_path) if root.exists(file_path) else None


def refuse_stale(seen: SeenFiles, file: TextFile) -> None:
    """Raise file_changed_since if the model knows another version of `file`. Files it never read may be changed."""
    if seen.is_stale(file.path, file.data):
        raise ToolExecutionError("file_changed_since", path=shown(file.path))


_TINY = 3  # non-blank lines: replacing them loses little
_KEPT = 0.5
_LINES_SHOWN = 20
_CHARACTERS_SHOWN = 1_500


def refuse_unread(seen: SeenFiles, file: TextFile, content: str) -> None:
    """Raise write_unread, once, if the model would replace a file it never read.
    The error contains its first lines. Exempt are tiny files, and content that keeps half of the lines."""
    filled = [line.strip() for line in file.text.splitlines() if line.strip()]
    if seen.has(file.path) or len(filled) <= _TINY or file.text == content:
        return
    kept = {line.strip() for line in content.splitlines()}
    if sum(line in kept for line in filled) >= _KEPT * len(filled):
        return
    seen.note(file.path, file.data)
    lines = split_lines(file.text)
    first = "\n".join(lines[:_LINES_SHOWN])
    cut = first[:_CHARACTERS_SHOWN] + ("\n…" if len(lines) > _LINES_SHOWN or len(first) > _CHARACTERS_SHOWN else "")
    counted = f"It has {len(lines)} {plural(len(lines), 'line', 'lines')} and begins:"
    raise ToolExecutionError("write_unread", path=shown(file.path), text=f"{counted}\n{cut}\n")


def to_bytes(path: str, text: str, like: Decoded) -> bytes:
    """Encode `text` with the encoding and newlines of `like`. Raises file_unwritable for an unsupported character."""
    try:
        return encode(text, like)
    except UnicodeEncodeError as error:
        character = shown(error.object[error.start])
        reason = Phrase(
            "its encoding {encoding} has no character “{character}”", encoding=like.encoding, character=character
        )
        raise ToolExecutionError("file_unwritable", path=shown(path), reason=reason) from error


def metadata(root: ProjectRoot, path: str, decoded: Decoded) -> dict[str, Json]:
    """Return a file's metadata: size in bytes, local modification time, encoding, lines."""
    facts = root.stat(path)
    return {
        "size": facts.st_size,
        "modified": local_time(facts.st_mtime),
        "encoding": decoded.encoding,
        "total_lines": len(split_lines(decoded.text)),
    }


def local_time(seconds: float) -> str:
    """Format a time as ISO 8601 in local time without zone, in whole seconds."""
    return clock_time(seconds).replace(tzinfo=None).isoformat(timespec="seconds")


def _decode(path: str, data: bytes, encoding: str) -> Decoded:
    try:
        return decode(data, encoding)
    except (NotTextError, LookupError) as error:
        raise not_text(path, error, encoding, data[:HEAD], data[-HEAD:]) from error


def not_text(
    path: str, error: NotTextError | LookupError, encoding: str, head: bytes, tail: bytes = b""
) -> ToolExecutionError:
    """Return the error for an undecodable file, with its kind as far as its first and last bytes reveal it."""
    if isinstance(error, LookupError):
        reason = Phrase("there is no encoding “{encoding}”", encoding=encoding)
        return ToolExecutionError("file_unreadable", path=shown(path), reason=reason)
    if error.kind == "encoding" and not encoding:
        return ToolExecutionError("file_unknown_encoding", path=shown(path), likely=error.likely)
    if error.kind == "encoding":
        reason = Phrase("it is not valid {encoding}", encoding=encoding)
    elif kind := kind_of(head, tail):
        reason = Phrase(KIND_TEXTS[kind])
        from localllm.documents.workbooks import is_workbook  # only for what is no text

        if not encoding and (kind == "pdf" or path.lower().endswith(".docx") or is_workbook(path, head)):
            return ToolExecutionError("file_not_editable", path=shown(path), reason=reason)
        if kind == "sqlite":
            return ToolExecutionError("file_is_database", path=shown(path), reason=reason, quoted=quote(path))
    else:
        reason = Phrase("its content is binary")
    return ToolExecutionError("file_not_text", path=shown(path), reason=reason)


Result = TypeVar("Result")


class Patience:
    """A deadline for work that polls `over`, and returns its partial result then."""

    def __init__(self, seconds: float) -> None:
        self._end = time.monotonic() + seconds
        self._given_up = False

    @property
    def over(self) -> bool:
        """Whether the work must end."""
        return self._given_up or time.monotonic() > self._end

    def give_up(self) -> None:
        """End the work, as no one waits for it any more."""
        self._given_up = True


async def in_thread(work: Callable[[Patience], Result], seconds: float) -> Result:
    """Run `work` in a thread and return its result. It is asked to end after `seconds`, and on cancellation."""
    patience = Patience(seconds)
    try:
        return await asyncio.to_thread(work, patience)
    finally:
        patience.give_up()
