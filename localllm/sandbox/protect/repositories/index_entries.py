"""Parse the entries of an index of git. The format: gitformat-index(5)."""

import os
import struct
from collections.abc import Iterator, Sequence
from pathlib import Path

from localllm.base.regular_files import READ, opened
from localllm.sandbox.git_config import parse

MOST_BYTES = 128_000_000
"""Of an index, of all its paths, and of all indexes that are new in one scan; some 500,000 files."""
_MOST_SETTINGS = 1 << 20
_LONGEST = 4096  # bytes of a path
_CUT = 0xFFF  # stands for this length and any greater one
_EXTENDED = 0x4000


def settings_of(index: Path) -> Path:
    """Return the config file of the repository that an index belongs to."""
    folder = index.parent
    return (folder.parents[1] if folder.parent.name == "worktrees" else folder) / "config"


def hash_size(settings: Path) -> int:
    """Return the bytes of a hash in the repository with this config file. Raises OSError or ValueError."""
    try:
        found = list(parse(content_of(settings, _MOST_SETTINGS)))
    except FileNotFoundError:
        return 20
    formats = [one.value for one in found if (one.section, one.name) == ("extensions", "objectformat")]
    return 32 if formats[-1:] == ["sha256"] else 20


def content_of(path: Path, most: int) -> bytes:
    """Return the content of a file. Raises OSError, or ValueError if it is larger than `most` bytes."""
    with opened(os.open(path, READ)) as file:
        content = file.read(most + 1)
    if len(content) > most:
        raise ValueError(path)
    return content


def entries_of(content: bytes, hash_size: int) -> Iterator[tuple[int, bytes]]:
    """Yield the offset and the path of each entry. Raises ValueError, IndexError or struct.error where git might read
    others."""
    signature, version, count = struct.unpack_from(">4sLL", content)
    if signature != b"DIRC" or version not in (2, 3, 4):
        raise ValueError(version)
    at, path, total = 12, b"", 0
    starts: list[int] = []
    for _ in range(count):
        starts.append(at)
        begin = at + 42 + hash_size
        flags = content[begin - 2] << 8 | content[begin - 1]
        if flags & _EXTENDED:
            begin += 2
        kept = 0
        if version == 4:
            cut, begin = _varint(content, begin)
            kept = len(path) - cut
            if kept < 0:
                raise ValueError(cut)
        end = content.index(b"\0", begin)
        path = path[:kept] + content[begin:end]
        total += len(path)
        if len(path) > _LONGEST or total > MOST_BYTES or min(len(path), _CUT) != flags & _CUT:
            raise ValueError(at)
        yield starts[-1], path
        at = end + 1 if version == 4 else at + (end - at + 8) // 8 * 8
    _check_blocks(content, hash_size, [*starts, at])


def extensions_of(
    content: bytes, hash_size: int, entries: Sequence[tuple[int, bytes]]
) -> Iterator[tuple[bytes, int, int]]:
    """Yield the name, start and end of each extension behind the `entries`. Raises ValueError, IndexError or
    struct.error where git might read others."""
    at, last = 12, len(content) - hash_size
    if entries:
        at, path = entries[-1]
        name = at + 42 + hash_size + (2 if content[at + 40 + hash_size] & _EXTENDED >> 8 else 0)
        if content[7] == 4:
            at = content.index(b"\0", _varint(content, name)[1]) + 1
        else:
            at += (name + len(path) - at + 8) // 8 * 8
    while at <= last - 8:
        name, size = struct.unpack_from(">4sL", content, at)
        end = at + 8 + size
        if end > last:
            raise ValueError(at)
        yield name, at, end
        at = end


def _varint(content: bytes, at: int) -> tuple[int, int]:
    """Return a number of variable length, and the offset after it."""
    byte = content[at]
    value = byte & 0x7F
    while byte & 0x80:
        at += 1
        byte = content[at]
        value = (value + 1) << 7 | byte & 0x7F
        if value > _LONGEST:
            raise ValueError(value)
    return value, at + 1


def _check_blocks(content: bytes, hash_size: int, starts: list[int]) -> None:
    """Check the offsets in the EOIE and IEOT extensions, from which git reads the blocks of a large index in parallel.
    Raises ValueError if they are not those of the entries."""
    last = len(content) - hash_size
    at = last - 12 - hash_size
    if content[max(at, 0) : at + 4] != b"EOIE":
        return
    (at,) = struct.unpack_from(">L", content, at + 8)
    if at != starts[-1]:
        raise ValueError(at)
    while at < last:
        name, size = struct.unpack_from(">4sL", content, at)
        if name == b"IEOT":
            number = 0
            for begin, length in struct.iter_unpack(">LL", content[at + 12 : at + 8 + size]):
                if starts[number] != begin:
                    raise ValueError(begin)
                number += length
        at += 8 + size
