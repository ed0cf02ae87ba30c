"""Check what an index has cached: git believes it without a look at the files.

`git commit` stores the trees of folders as they are cached. With a forged one, `git status` and `git diff --cached`
show what is staged, and the commit contains something else. By other caches git knows which folders have no new files,
and which files have not changed. The format: gitformat-index(5).
"""

import hashlib
import re
from collections.abc import Iterator, Sequence

from localllm.sandbox.protect.repositories.index_entries import extensions_of

_TREES, _PART, _END = b"TREE", b"link", b"EOIE"
_OF_FILES = (b"UNTR", b"FSMN")  # untracked files; those that a file system monitor has seen
_NODE = re.compile(rb"([^\0]*)\0(-?\d{1,9}) (\d{1,9})\n")
_MODE, _HASH = 24, 40  # bytes before them in an entry
_STAGE, _INTENT_TO_ADD = 0x30, 0x20
_SPECIAL = 0x40 | _STAGE  # in the flags: there are more of them, or the entry is in conflict
_MODES = {mode.to_bytes(4, "big"): b"%o " % mode for mode in (0o100644, 0o100755, 0o120000, 0o160000)}
_FOLDER_ENTRY = b"40000 \0"
"""Begins the line of an entry of a sparse index that stands for a whole folder: its path ends with a slash."""
_NO_PART_OF_A_TREE = b"?"

Entries = Sequence[tuple[int, bytes]]
"""Offset and path of each entry of an index."""


def caches_of_files(content: bytes, hash_size: int, entries: Entries) -> frozenset[int]:
    """Return a number for each cache of what is known of files, which a command cannot know. Raises ValueError or
    struct.error where git cannot read the index."""
    every = extensions_of(content, hash_size, entries)
    return frozenset(hash(content[start:end]) for name, start, end in every if name in _OF_FILES)


def without_wrong_caches(content: bytes, hash_size: int, entries: Entries, known: frozenset[int]) -> bytes | None:
    """Return the index without its wrong caches, and with an old check sum; None if all are right: each tree that of
    the entries, what is cached of files among the `known`. Git makes them anew. Raises ValueError or struct.error where
    git cannot read the index."""
    extensions = list(extensions_of(content, hash_size, entries))
    wrong = [one for one in extensions if one[0] in _OF_FILES and hash(content[one[1] : one[2]]) not in known]
    cached = [one for one in extensions if one[0] == _TREES]
    is_part = any(name == _PART for name, _, _ in extensions)
    trees = [content[start + 8 : end] for _, start, end in cached]
    if trees and (is_part or not _are_right(trees, _trees(content, hash_size, entries), hash_size)):
        wrong += cached
    if not wrong:
        return None
    # The extension at the end has a hash of the others.
    kept = [content[one[1] : one[2]] for one in extensions if one not in wrong and one[0] != _END]
    return b"".join((content[: extensions[0][1]], *kept, content[-hash_size:]))


def _are_right(cached: Sequence[bytes], trees: dict[bytes, tuple[int, bytes]], hash_size: int) -> bool:
    try:
        return all(trees.get(folder) == known for one in cached for folder, known in _nodes(one, hash_size))
    except ValueError:
        return False


def _nodes(cached: bytes, hash_size: int) -> Iterator[tuple[bytes, tuple[int, bytes]]]:
    """Yield the path of each folder whose tree is cached, its number of entries and its hash. Raises ValueError."""
    at, above = 0, [(b"", 1)]
    while above:
        folder, left = above.pop()
        if not left:
            continue
        above.append((folder, left - 1))
        found = _NODE.match(cached, at)
        if found is None:
            raise ValueError(at)
        at, name, count = found.end(), found[1], int(found[2])
        inner = folder + name + b"/" if name else folder
        if count >= 0:
            yield inner, (count, cached[at : at + hash_size])
            at += hash_size
        above.append((inner, int(found[3])))
    if at != len(cached):
        raise ValueError(at)


def _trees(content: bytes, hash_size: int, entries: Entries) -> dict[bytes, tuple[int, bytes]]:
    """Return the number of entries and the hash of the tree of every folder: by its path with a slash behind it, the
    top by an empty one."""
    made: dict[bytes, tuple[int, bytes]] = {}
    within: list[tuple[bytes, int, list[bytes]]] = [(b"", 0, [])]
    new = hashlib.sha1 if hash_size == 20 else hashlib.sha256

    def close(number: int) -> None:
        folder, first, lines = within.pop()
        tree = b"".join(lines)
        is_entry = tree.startswith(_FOLDER_ENTRY)
        name = (
            lines[0][-hash_size:]
            if is_entry
            else new(b"tree %d\0%b" % (len(tree), tree), usedforsecurity=False).digest()
        )
        made[folder] = number - first, name
        if within:
            within[-1][2].append(b"40000 %b\0%b" % (folder[len(within[-1][0]) : -1], name))

    current = b""
    for number, (at, path) in enumerate(entries):  # often 100,000
        slash = path.rfind(b"/") + 1
        if path[:slash] != current:
            while not path.startswith(within[-1][0]):
                close(number)
            current = within[-1][0]
            for part in path[len(current) : slash].split(b"/")[:-1]:
                current += part + b"/"
                within.append((current, number, []))
        within[-1][2].append(_line(content, at, path[slash:], hash_size))
    while within:
        close(len(entries))
    return made


def _line(content: bytes, at: int, name: bytes, hash_size: int) -> bytes:
    """Return an entry as a tree has it."""
    end = at + _HASH + hash_size
    flags = content[end]
    if flags & _SPECIAL and (flags & _STAGE or content[end + 2] & _INTENT_TO_ADD):
        return _NO_PART_OF_A_TREE
    mode = content[at + _MODE : at + _MODE + 4]
    return (_MODES.get(mode) or b"%o " % int.from_bytes(mode, "big")) + name + b"\0" + content[at + _HASH : end]
