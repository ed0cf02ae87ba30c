"""Tell which files git tracks: what `.gitignore` says does not concern them."""

import os
import struct
from pathlib import Path

from localllm.base.errors import LocalLLMError

_MOST_SEARCHED = 8
"""Names looked for in an index as it is; for more of them it is parsed, which takes longer than these."""
_WHOLE_PATHS = frozenset({2, 3})  # versions of the index that do not shorten paths
_SPLIT = b"link"  # an index whose entries are for the most part in another file

_Identity = tuple[int, int, int, int]


class TrackedFiles:
    """The files that the index of the repository around a folder lists. It is read when a name is asked for, at most
    once between two calls of `begin`, and parsed only where it must be."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._index: Path | None = None
        self._prefix = b""
        self._identity: _Identity | None = None
        self._contents: list[bytes] = []
        self._searched = 0
        self._parsed: frozenset[bytes] | None = frozenset()
        """Paths of the files, and of the folders around them with a `/`; None if it is not parsed yet."""
        self._is_current = False

    def begin(self) -> None:
        """Look anew whether the index has changed when the next name is asked for."""
        self._is_current, self._contents = False, []

    def holds(self, path: str) -> bool:
        """Return whether git tracks the file, or one in the folder, whose path then ends with `/`."""
        if not self._is_current:
            self._look()
            self._is_current = True
        name = self._prefix + os.fsencode(path)
        if self._parsed is None:
            self._searched += 1
            sought = name if name.endswith(b"/") else name + b"\0"
            if self._searched <= _MOST_SEARCHED and not any(sought in content for content in self._contents):
                return False
            self._parsed = _paths(self._contents, self._index)
            self._contents = []
        return name in self._parsed

    def _look(self) -> None:
        """Read the index if it has changed."""
        from localllm.sandbox.protect.repositories.index_entries import MOST_BYTES, content_of

        try:
            index = self._index or self._find()
            if index is None:
                return
            facts = index.stat()
            identity = facts.st_dev, facts.st_ino, facts.st_size, facts.st_mtime_ns
            if identity == self._identity and self._parsed is not None:
                return
            self._contents = [content_of(index, MOST_BYTES)]
            if _SPLIT in self._contents[0]:
                self._contents += [content_of(one, MOST_BYTES) for one in index.parent.glob("sharedindex.*")]
            versions = {struct.unpack_from(">4sL", content)[1] for content in self._contents}
            self._searched = 0 if versions <= _WHOLE_PATHS else _MOST_SEARCHED
            self._identity, self._parsed = identity, None
        except (LocalLLMError, OSError, ValueError, struct.error):
            self._index, self._identity, self._parsed = None, None, frozenset()

    def _find(self) -> Path | None:
        from localllm.sandbox.protect.repositories.repository import find_place

        root = Path(os.path.realpath(self._root))
        if place := find_place(root):
            self._index = place.folder / "index"
            below = os.fsencode(root.relative_to(place.top))
            self._prefix = b"" if below == b"." else below + b"/"
        return self._index


def _paths(contents: list[bytes], index: Path | None) -> frozenset[bytes]:
    from localllm.sandbox.protect.repositories.index_entries import entries_of, hash_size, settings_of

    if index is None:
        return frozenset()
    try:
        size = hash_size(settings_of(index))
        found = {path for content in contents for _, path in entries_of(content, size)}
    except (OSError, ValueError, IndexError, struct.error):
        return frozenset()
    folders = set[bytes]()
    for folder in {path.rpartition(b"/")[0] for path in found}:
        above = folder
        while above and above + b"/" not in folders:
            folders.add(above + b"/")
            above = above.rpartition(b"/")[0]
    return frozenset(found | folders)
