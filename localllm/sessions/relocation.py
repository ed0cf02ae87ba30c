"""Move logs to the current session folder of the project, from earlier folders."""

import errno
import os
import sys
from contextlib import suppress
from pathlib import Path

from localllm.base.errors import ConfigurationError
from localllm.base.files import open_folder, write_own
from localllm.base.paths import project_name
from localllm.base.project_state import earlier_place, note_place
from localllm.sessions.entries import Adopted, Began, encode, starts
from localllm.sessions.log import INDEX, SUFFIX, hold, make_folder, open_log


def settle(folder: Path, root: Path, older: Path) -> None:
    """Move the project's logs into `folder`, from `older` or the folder of its previous path.
    Cheap if there are none; logs that cannot be moved stay."""
    with suppress(OSError):
        _move_all(older, folder)
        if before := earlier_place(folder.parent, root):
            _move_all(folder.with_name(project_name(before)), folder)
        if folder.is_dir():
            note_place(folder.parent, root)


def _move_all(source: Path, folder: Path) -> None:
    try:
        logs = [file for file in source.iterdir() if file.suffix == SUFFIX]
    except FileNotFoundError:
        return
    make_folder(folder)
    for log in logs:
        if not os.path.lexists(folder / log.name):
            with suppress(FileNotFoundError):  # another process was faster
                log.rename(folder / log.name)
    remove_if_empty(source)


def adopt(log: Path, folder: Path, patience: float = 0.0) -> None:
    """Copy a log in the project to `folder` and, once the copy is verified, remove the original.

    An earlier copy is reused; an original that cannot be removed is ignored from then on. A command could have changed
    the log: `Adopted` in the copy marks it. Raises ConfigurationError session_open if another process has it open for
    longer than `patience` seconds; OSError if it cannot be read or copied.
    """
    copy = folder / log.name
    with open_log(log) as file:
        if not hold(file.fileno(), patience):
            raise ConfigurationError("session_open", id=log.stem)
        about = os.fstat(file.fileno())
        if log.parent.is_symlink() or log.parent.parent.is_symlink():  # it may belong to another project
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
        if not os.path.samestat(about, log.lstat()):
            raise FileNotFoundError  # another process was faster
        data = file.read()
        if not os.path.lexists(copy):
            make_folder(folder)
            write_own(copy, _marked(data))
            os.utime(copy, ns=(about.st_atime_ns, about.st_mtime_ns))
            _sync(folder)
        if copy.read_bytes().startswith((_marked(data), data)):
            with suppress(OSError):
                log.unlink()


def remove_if_empty(folder: Path) -> None:
    """Remove a folder without logs, with its index."""
    with suppress(OSError):
        if {file.name for file in folder.iterdir()} <= {INDEX}:
            (folder / INDEX).unlink(missing_ok=True)
            folder.rmdir()


def _marked(data: bytes) -> bytes:
    first, end, rest = data.partition(b"\n")
    mark = encode(Adopted()) + b"\n"
    return first + end + mark + rest if end and first.startswith(starts(Began)) else mark + data


def _sync(folder: Path) -> None:
    """Sync a folder so that its names survive a power failure."""
    if sys.platform != "win32":
        fd = open_folder(folder)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)
