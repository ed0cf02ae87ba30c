"""The text files of the project as the tools see them: loaded whole, written back in their own encoding."""

from datetime import UTC, datetime
from typing import NamedTuple

from localllm.base.errors import ToolExecutionError
from localllm.base.events import Json
from localllm.base.i18n import Phrase
from localllm.text.decoding import Decoded, NotTextError, decode, encode, split_lines
from localllm.tools.guard.paths import ProjectRoot, shown

LARGEST = 20_000_000
"""Bytes of the largest file that is read whole."""


class TextFile(NamedTuple):
    """A file as it was read. `path` is relative to the root."""

    path: str
    data: bytes
    decoded: Decoded

    @property
    def text(self) -> str:
        """The content with `\\n` newlines (unless the file mixes them)."""
        return self.decoded.text


def load(root: ProjectRoot, file_path: str, encoding: str = "") -> TextFile:
    """Read a text file. Raises ToolExecutionError: file_missing, file_not_text, file_unknown_encoding, …"""
    path = root.relative(file_path)
    data = root.read_bytes(path, LARGEST)
    return TextFile(path, data, _decode(path, data, encoding))


def load_existing(root: ProjectRoot, file_path: str) -> TextFile | None:
    """The same; None where there is no such file yet."""
    return load(root, file_path) if root.exists(file_path) else None


def to_bytes(path: str, text: str, like: Decoded) -> bytes:
    """`text` in the encoding and with the newlines of `like`; file_unwritable where the encoding lacks a character."""
    try:
        return encode(text, like)
    except UnicodeEncodeError as error:
        character = shown(error.object[error.start])
        reason = Phrase("files.no_character", encoding=like.encoding, character=character)
        raise ToolExecutionError("file_unwritable", path=shown(path), reason=reason) from error


def metadata(root: ProjectRoot, path: str, decoded: Decoded) -> dict[str, Json]:
    """What the answers of the file tools say of a file: size in bytes, time (local) of the last change, encoding,
    lines."""
    facts = root.stat(path)
    return {
        "size": facts.st_size,
        "modified": local_time(facts.st_mtime),
        "encoding": decoded.encoding,
        "total_lines": len(split_lines(decoded.text)),
    }


def local_time(seconds: float) -> str:
    """A time as ISO 8601 without a zone, in whole seconds of the local clock."""
    return datetime.fromtimestamp(seconds, UTC).astimezone().replace(tzinfo=None).isoformat(timespec="seconds")


def _decode(path: str, data: bytes, encoding: str) -> Decoded:
    try:
        return decode(data, encoding)
    except NotTextError as error:
        if error.kind == "encoding" and not encoding:
            raise ToolExecutionError("file_unknown_encoding", path=shown(path)) from error
        reason = (
            Phrase("files.binary") if error.kind == "binary" else Phrase("files.not_in_encoding", encoding=encoding)
        )
        raise ToolExecutionError("file_not_text", path=shown(path), reason=reason) from error
    except LookupError as error:
        reason = Phrase("files.no_encoding", encoding=encoding)
        raise ToolExecutionError("file_unreadable", path=shown(path), reason=reason) from error
