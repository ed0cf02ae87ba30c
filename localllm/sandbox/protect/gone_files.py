"""Know the protected files that commands of this process removed with the work tree they were in: /undo may bring back
what had been there, and nothing else."""

import stat
from collections.abc import Iterable
from hashlib import blake2b
from pathlib import Path

from localllm.base.folded_names import folded
from localllm.sandbox.protect.repositories.linked_trees import LinkedTrees

_MOST = 10_000  # files

_gone: dict[tuple[Path, str], set[bytes]] = {}
"""By project and path: hashes of the contents and modes from before the commands."""


def note_gone(root: Path, trees: LinkedTrees, missing: Iterable[str]) -> None:
    """Note those of the missing paths that have gone with the linked work tree or submodule they were in."""
    for path in missing:
        entry = trees.before[path]
        if entry.content is None or not stat.S_ISREG(entry.mode) or ".git" in folded(path).split("/"):
            continue
        if len(_gone) < _MOST and trees.took_along(path):
            _gone.setdefault((root, path), set()).add(_hash(entry.content, entry.mode))


def was_there(root: Path, path: str, content: bytes, mode: int) -> bool | None:
    """Return whether a file that has gone with its work tree had this content and mode before the command; None if none
    has gone from there."""
    known = _gone.get((root, path))
    return _hash(content, mode) in known if known else None


def _hash(content: bytes, mode: int) -> bytes:
    return blake2b(content, digest_size=32, salt=stat.S_IMODE(mode).to_bytes(2)).digest()
