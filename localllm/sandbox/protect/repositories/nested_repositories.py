"""Recognise a new repository over files that a repository around it has: `git push` there would send the user's work to
another remote, while `git status` says the same in both."""

import os
import struct
from pathlib import Path

from localllm.base.folded_names import folded
from localllm.sandbox.git_config import parse
from localllm.sandbox.protect.repositories.git_files import led_to
from localllm.sandbox.protect.repositories.git_settings import local_address
from localllm.sandbox.protect.repositories.index_entries import (
    MOST_BYTES,
    content_of,
    entries_of,
    extensions_of,
    hash_size,
    settings_of,
)

_MOST_SETTINGS = 1 << 19  # bytes
_SPLIT = b"link"  # an index whose entries are for the most part in another file


def diverts_pushes(top: Path, settings: bytes) -> bool:
    """Return whether a repository with these settings and its work tree at `top` may send files of a repository around
    to another machine."""
    return bool(remotes_elsewhere(settings)) and any(_is_tracked(top, above) for above in top.parents)


def settings_in(data: Path) -> bytes:
    """Return the settings of the repository with this data, or that of a linked work tree. Raises OSError, or
    ValueError for a file that is too long."""
    try:
        return content_of(settings_of(data / "index"), _MOST_SETTINGS)
    except FileNotFoundError:
        return b""


def remotes_elsewhere(settings: bytes) -> set[str]:
    """Return the addresses of remotes on other machines."""
    remotes = (one.value for one in parse(settings) if (one.section, one.name) == ("remote", "url"))
    return {address for address in remotes if not local_address(address)}


def work_tree_in(settings: bytes, data: Path) -> Path | None:
    """Return the work tree that the settings of the repository with this data name; None if they name none."""
    named = [one.value for one in parse(settings) if (one.section, one.name) == ("core", "worktree")]
    return Path(os.path.normpath(data / named[-1])) if named else None


def _is_tracked(top: Path, above: Path) -> bool:
    """Return whether the repository with its work tree at `above`, if there is one, has files in the folder `top`, or
    cannot be read."""
    git = above / ".git"
    data = git if git.is_dir() else git.parent / (led_to(git) or ".git")
    try:
        content, size = content_of(data / "index", MOST_BYTES), hash_size(settings_of(data / "index"))
        entries = list(entries_of(content, size))
        is_split = any(name == _SPLIT for name, _, _ in extensions_of(content, size, entries))
    except (FileNotFoundError, NotADirectoryError):
        return False
    except (OSError, ValueError, IndexError, struct.error):
        return True
    inside = folded(f"{top.relative_to(above)}/")
    paths = (folded(os.fsdecode(path)) for _, path in entries)
    return is_split or any(
        path.startswith(inside) or (path.endswith("/") and inside.startswith(path)) for path in paths
    )
