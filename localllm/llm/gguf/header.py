"""The beginning of a GGUF file: what it says of its model, read without the tensors.

The format: the magic bytes, a version, two counts, then keys with values, all little-endian (ggml's docs/gguf.md).
"""

import struct
from pathlib import Path
from typing import BinaryIO

import msgspec

_MAGIC = b"GGUF"
_VERSIONS = (2, 3)
_FORMATS = {0: "<B", 1: "<b", 2: "<H", 3: "<h", 4: "<I", 5: "<i", 6: "<f", 7: "<?", 10: "<Q", 11: "<q", 12: "<d"}
"""The types of a value that have a fixed size, as struct writes them."""

_LONGEST_TEXT = 65_536
_LONGEST_HEADER = 64 * 1024 * 1024
"""Bytes: the largest vocabularies take a third of it. What is longer is no header, and would take long to read."""

_SHORTEST_KEY, _SHORTEST_TEXT = 13, 8
"""Bytes: the length of a name, the kind of its value, the value; the length of a text."""

_MOST_TOKENS = 1 << 31
_SHOWN = 24

_Value = int | float | str | None


class NotGgufError(Exception):
    """The file is no GGUF file that can be read; its text says what it is instead."""


class Header(msgspec.Struct, frozen=True):
    """What a file says of its model. `context_length`: tokens it was trained for, 0 where that is not said."""

    architecture: str = ""
    size_label: str = ""
    context_length: int = 0


def read_header(file: Path) -> Header:
    """The header of `file`. Raises NotGgufError, OSError."""
    with file.open("rb") as stream:
        count = _begin(stream)
        try:
            return _header(stream, count)
        except struct.error as error:
            raise NotGgufError("it ends in the middle of its header") from error


def _begin(stream: BinaryIO) -> int:
    """How many keys follow. Raises NotGgufError."""
    start = stream.read(24)
    if start[:4] != _MAGIC:
        raise NotGgufError(f"it begins with {_shown(start)}" if start else "it is empty")
    if len(start) < 24:
        raise NotGgufError("it ends in the middle of its header")
    version, _, count = struct.unpack("<IQQ", start[4:])
    if version not in _VERSIONS:
        raise NotGgufError(f"it is of version {version:,}, or for another kind of machine")
    _check(count * _SHORTEST_KEY)
    return count


def _shown(start: bytes) -> str:
    text = start[:_SHOWN].decode("ascii", errors="replace")
    return f"“{' '.join(text.split())}”" if text.isascii() and any(map(str.isalnum, text)) else start[:4].hex(" ")


def _header(stream: BinaryIO, count: int) -> Header:
    """The keys up to the last that matters: the vocabulary, which comes behind, takes long to pass over."""
    found: dict[str, _Value] = {}
    for _ in range(count):
        _check(stream.tell())
        key = _text(stream)
        value = _value(stream, _number(stream, "<I"))
        if key.startswith("general.") or key.endswith(".context_length"):
            found[key] = value
        if f"{found.get('general.architecture')}.context_length" in found:
            break
    architecture = found.get("general.architecture")
    window = found.get(f"{architecture}.context_length")
    return Header(
        architecture=architecture if isinstance(architecture, str) else "",
        size_label=size if isinstance(size := found.get("general.size_label"), str) else "",
        context_length=window if isinstance(window, int) and 1 < window < _MOST_TOKENS else 0,
    )


def _value(stream: BinaryIO, kind: int) -> _Value:
    """A value; an array is passed over."""
    match kind:
        case _ if kind in _FORMATS:
            return _number(stream, _FORMATS[kind])
        case 8:  # a text
            return _text(stream)
        case 9:  # an array
            _pass_over(stream, _number(stream, "<I"), _number(stream, "<Q"))
            return None
        case _:
            raise NotGgufError(f"its header holds a value of the unknown kind {kind}")


def _pass_over(stream: BinaryIO, kind: int, count: int) -> None:
    match kind:
        case _ if kind in _FORMATS:
            _skip(stream, count * struct.calcsize(_FORMATS[kind]))
        case 8:  # of texts
            _check(count * _SHORTEST_TEXT)
            for _ in range(count):
                _skip(stream, _number(stream, "<Q"))
        case _:
            raise NotGgufError(f"its header holds an array of the unknown kind {kind}")


def _skip(stream: BinaryIO, length: int) -> None:
    _check(length)
    stream.seek(length, 1)


def _check(length: int) -> None:
    if length > _LONGEST_HEADER:
        raise NotGgufError("its header is damaged")


def _number(stream: BinaryIO, form: str) -> int:
    """Raises struct.error where the file has ended."""
    return struct.unpack(form, stream.read(struct.calcsize(form)))[0]


def _text(stream: BinaryIO) -> str:
    length = _number(stream, "<Q")
    text = stream.read(min(length, _LONGEST_TEXT))
    if len(text) < min(length, _LONGEST_TEXT):
        raise struct.error
    _skip(stream, length - len(text))
    return text.decode("utf-8", errors="replace")
