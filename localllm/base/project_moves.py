"""Where a project was before its folder was renamed or moved: told by a file of ours in it, which only that very folder
has. A copy of the project has another, and so no part in what is kept of the first."""

import os
import stat
from contextlib import suppress
from pathlib import Path

from localllm.base.files import atomic_write
from localllm.base.paths import project_folder

_MARKS = "marks"


def note_place(kept: Path, root: Path) -> None:
    """Remember in the folder `kept` where the project is now. What cannot be written is left: it is only a comfort."""
    mark = _mark(root)
    if not mark:
        return
    file, place = kept / _MARKS / mark, os.fsencode(root)
    with suppress(OSError):
        if not file.exists() or file.read_bytes() != place:
            file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            atomic_write(file, place, mode=0o600)


def earlier_place(kept: Path, root: Path) -> Path | None:
    """Where the project was when its place was last noted in `kept`; None where it still is there, or never was."""
    if not (mark := _mark(root)):
        return None
    try:
        before = Path(os.fsdecode((kept / _MARKS / mark).read_bytes()))
    except OSError:
        return None
    return None if _mark(before) == mark else before


def _mark(root: Path) -> str:
    """What tells the project's folder from every other on this machine, "" where there is nothing."""
    try:
        facts = (project_folder(root) / ".gitignore").lstat()
    except OSError:
        return ""
    return f"{facts.st_dev}-{facts.st_ino}-{facts.st_mtime_ns}" if stat.S_ISREG(facts.st_mode) else ""
