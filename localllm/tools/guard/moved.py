"""A project whose folder was renamed or moved finds its snapshots again: by a file of ours in it, which only that very
folder has. A copy of the project has another, and so no part in them."""

import os
import stat
from contextlib import suppress
from pathlib import Path

from localllm.base.files import atomic_write
from localllm.base.paths import project_folder, project_name
from localllm.tools.guard.programs import Programs, make_folder

_MARKS = "marks"


def note_place(snapshots: Path, root: Path) -> None:
    """Remember where the project is that has snapshots now. What cannot be written is left: it is only a comfort."""
    mark = _mark(root)
    if not mark:
        return
    file, place = snapshots / _MARKS / mark, os.fsencode(root)
    with suppress(OSError):
        if not file.exists() or file.read_bytes() != place:
            make_folder(file.parent)
            atomic_write(file, place, mode=0o600)


def follow(snapshots: Path, root: Path) -> None:
    """Give the project the snapshots it had in another place, where it has none in this one, is no longer there, and no
    program works on them."""
    new = snapshots / project_name(root)
    if new.exists() or not (mark := _mark(root)):
        return
    with suppress(OSError):
        before = Path(os.fsdecode((snapshots / _MARKS / mark).read_bytes()))
        old = snapshots / project_name(before)
        if _mark(before) != mark and old.is_dir() and not Programs(old / "programs").living():
            old.rename(new)
            note_place(snapshots, root)


def _mark(root: Path) -> str:
    """What tells the project's folder from every other on this machine, "" where there is nothing."""
    try:
        facts = (project_folder(root) / ".gitignore").lstat()
    except OSError:
        return ""
    return f"{facts.st_dev}-{facts.st_ino}-{facts.st_mtime_ns}" if stat.S_ISREG(facts.st_mode) else ""
