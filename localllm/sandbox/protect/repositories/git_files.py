"""Read the small files by which git finds the data of a repository, byte for byte as git does.

Any difference would make us take another folder for the repository than git does: a zero byte ends the text, blanks
belong to the path, trailing `\\n` and `\\r` do not. See setup.c and object-file.c of git.
"""

import os
import re
from pathlib import Path

from localllm.base.files import real_path
from localllm.base.regular_files import NO_LINK, READ, opened

ELSEWHERE = os.sep
"""Returned for a file of which git might read something else: too long, not a regular file, or unreadable. As a path it
leads out of every project."""

_MOST = 1 << 14  # bytes; no path is longer
_LONGEST_HEAD = 255  # bytes of HEAD that git reads
_GITFILE = b"gitdir: "
_HEAD = re.compile(rb"ref:[ \t\n\r]*refs/|[0-9a-fA-F]{40}")


def has_head(folder: Path) -> bool:
    """Return whether HEAD is one by which git recognises a repository (validate_headref)."""
    head = folder / "HEAD"
    try:
        return os.fsdecode(head.readlink()).startswith("refs/")
    except OSError:
        pass
    try:
        with opened(os.open(head, READ | NO_LINK)) as file:
            return bool(_HEAD.match(file.read(_LONGEST_HEAD)))
    except OSError:
        return False


def is_repository(folder: Path) -> bool:
    """Return whether git takes the folder for the data of a repository (is_git_directory); if not, it goes on in the
    parent folder. With an unreadable `commondir` it counts as a repository that leads out of the project."""
    common = said_in(folder / "commondir")
    shared = folder / common if common else folder
    is_whole = all(os.access(shared / name, os.X_OK) for name in ("objects", "refs"))
    return has_head(folder) and (common == ELSEWHERE or is_whole)


def said_in(path: Path) -> str:
    """Return the path in a `commondir`, or in the `gitdir` of a linked work tree; "" if there is none. Follows
    symlinks."""
    content = _content(path)
    return ELSEWHERE if content is None else line_of(content)


def led_to(git: Path) -> str:
    """Return where a `.git` that is a file points (read_gitfile_gently); "" if git does not accept the file."""
    content = _content(git)
    return ELSEWHERE if content is None else gitfile_target(content)


def gitfile_target(content: bytes) -> str:
    """Return the same as `led_to`, given the content of the file."""
    return line_of(content.removeprefix(_GITFILE)) if content.startswith(_GITFILE) else ""


def line_of(content: bytes) -> str:
    """Return the text of a one-line file: up to a zero byte, without trailing line ends."""
    return os.fsdecode(content.rstrip(b"\r\n").partition(b"\0")[0])


def alternates_in(content: bytes, objects: Path) -> list[Path]:
    """Return the object folders that a list of alternates (gitrepository-layout(5)) in the folder `objects` names. `..`
    is removed as git does it: after the symlinks to `objects` are resolved, before any in the names are."""
    lines = os.fsdecode(content.partition(b"\0")[0]).split("\n")
    try:
        real = real_path(objects)
    except OSError:
        real = ELSEWHERE
    named = [_unquoted(line) for line in lines if line and not line.startswith("#")]
    return [Path(os.path.normpath(os.path.join(real, name))) for name in named]  # noqa: PTH118 - strings


def _unquoted(line: str) -> str:
    """Return the line; ELSEWHERE for a quoted one, which may lead anywhere and which git itself never writes."""
    return ELSEWHERE if line.startswith('"') else line


def _content(path: Path) -> bytes | None:
    """Return the whole file; b"" if there is none, None if it is too long or cannot be read."""
    if not os.path.lexists(path):
        return b""
    try:
        with opened(os.open(path, READ)) as file:
            content = file.read(_MOST + 1)
    except OSError:
        return None
    return content if len(content) <= _MOST else None
