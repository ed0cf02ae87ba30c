"""The program's own files: whether a project lies among them, and permissions that a command may have taken from the
user (`chmod 000`)."""

import os
import stat
import sys
import threading
from collections import deque
from collections.abc import Collection, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from localllm.base.errors import ConfigurationError
from localllm.base.i18n import ngettext
from localllm.base.paths import COLLECTIONS, cache_folder, config_file, data_folder, project_name, state_folder

_MOST = 20_000  # files and folders looked at, the least nested first
_CONTENTS = "/objects"  # a folder of many files, which are looked at when they are read
_FILE = stat.S_IRUSR | stat.S_IWUSR


def own_folder_around(
    root: Path, state: Path | None, cache: Path | None, data: Path | None, config: Path | None
) -> Path | None:
    """Return which of the program's folders the project at `root` (links resolved) is or lies in, if what is there is
    believed later; else None. Reports and tasks, in the data folder, may be a project, and so may what is in the config
    folder."""
    places = [Path(os.path.realpath(place)) for place in (state, cache, data and data / COLLECTIONS) if place]
    results = data and Path(os.path.realpath(data))
    for place in places:
        is_of_results = results and results != place and results.is_relative_to(place) and root.is_relative_to(results)
        if root.is_relative_to(place) and not is_of_results:
            return place
    return root if config and Path(os.path.realpath(config)) == root else None


def reopen(folders: Iterable[Path], *, deep: bool = False, files: int = _FILE, but: Collection[str] = ()) -> list[str]:
    """Give the user back the access that the mode of their own files and folders denies them; return their paths.

    Looked at are the folders above each of `folders` (which the user must be able to enter), itself, what is in it, and
    in the collections there; with `deep`, all below it. `files`: the permissions that a file right in it needs. What
    belongs to somebody else stays, and so does what is in `but`, and everything on other systems than Linux, where no
    sandbox lets a command change these modes.
    """
    if sys.platform != "linux":
        return []
    there = _looked_at(folders, files, deep=deep)
    return list(dict.fromkeys(each[0] for each in there if each[0] not in but and _given(*each)))


class Reopener:
    """Gives the user back what commands close of the program's own: all in the `state` folder; of `others` only what
    was open before the commands that run now, as the user may have closed the rest."""

    def __init__(self, state: Path, others: Iterable[Path]) -> None:
        self._state = state
        self._others = [folder for folder in others if folder != state]
        self._running = 0
        self._closed: frozenset[str] | None = None
        self._lock = threading.Lock()

    @contextmanager
    def during_command(self) -> Generator[None]:
        """Count a command as running in a `with` block, in which `reopen` is called before it starts."""
        with self._lock:
            self._closed = self._closed if self._running else None
            self._running += 1
        try:
            yield
        finally:
            with self._lock:
                self._running -= 1

    def reopen(self) -> list[str]:
        """Give back what commands have closed; return its paths."""
        with self._lock:
            opened = reopen([self._state], deep=True)
            there = _looked_at(self._others, stat.S_IRUSR)
            closed = frozenset(each[0] for each in there if _is_denied(*each))
            self._closed = closed if self._closed is None else self._closed & closed  # who opens it wants it open
            return [*opened, *reopen(self._others, files=stat.S_IRUSR, but=self._closed)]


def reopen_all(environ: Mapping[str, str] = os.environ) -> list[str]:
    """`reopen` what a command may have closed: everything in the state folder, and the others' top."""
    folders = (config_file(environ).parent, cache_folder(environ), data_folder(environ))
    return [*reopen([state_folder(environ)], deep=True), *reopen(folders, files=stat.S_IRUSR)]


def reopen_at_start(project: Path, environ: Mapping[str, str] = os.environ) -> list[str]:
    """`reopen` what a command may have closed before the program was killed: at first only what is needed in the
    project. Outside of the state folder only if a command may be the reason."""
    state, name = state_folder(environ), project_name(project)
    opened = reopen((state, state / "commands", state / "snapshots" / name, state / "sessions" / name))
    if opened or _has_entries(state / "commands"):
        opened += reopen([config_file(environ).parent], files=stat.S_IRUSR)
    return [*opened, *reopen_all(environ)] if opened else []


def _has_entries(folder: Path) -> bool:
    with suppress(OSError), os.scandir(folder) as entries:
        return next(entries, None) is not None
    return False


def closed_folder(error: Exception, environ: Mapping[str, str] = os.environ) -> ConfigurationError | None:
    """Return the error for a file or folder of the program's own that it may not use; None for any other."""
    if not isinstance(error, PermissionError) or not isinstance(error.filename, str):
        return None
    folders = (state_folder(environ), config_file(environ).parent, cache_folder(environ), data_folder(environ))
    if not any(Path(error.filename).is_relative_to(folder) for folder in folders):
        return None
    return ConfigurationError("own_folder_closed", path=error.filename, reason=error.strerror)


def reopened_notice(paths: Sequence[str]) -> str:
    """Tell the user what was closed, and that it is open again."""
    return ngettext(
        "A command had closed a file or folder of localllm's own (chmod); it is open again: {path}",
        "A command had closed {count} files or folders of localllm's own (chmod); they are open again: {path}, …",
        len(paths),
        path=paths[0],
    )


def reopen_file(file: Path) -> bool:
    """Give the user back the access to one of their own files, and to its folder; return whether it was denied."""
    if sys.platform != "linux":
        return False
    return any([_given(str(file.parent), stat.S_IRWXU), _given(str(file), _FILE)])  # both, in this order


def _looked_at(folders: Iterable[Path], files: int, *, deep: bool = False) -> Iterator[tuple[str, int, bool]]:
    """Yield each path to look at, the permissions it needs, and whether a link may lead to it. What is in a folder is
    looked for after that was yielded, and may have been opened."""
    for folder in folders:
        for above in reversed(folder.parents):
            yield str(above), stat.S_IXUSR, True
        yield str(folder), stat.S_IRWXU, True
        yield from _looked_at_below(str(folder), files, deep=deep)


def _looked_at_below(top: str, files: int, *, deep: bool) -> Iterator[tuple[str, int, bool]]:
    folders, left = deque([top]), _MOST
    while folders and left > 0:
        folder = folders.popleft()
        with suppress(OSError), os.scandir(folder) as entries:
            for entry in entries:
                left -= 1
                with suppress(OSError):
                    mode = entry.stat(follow_symlinks=False).st_mode
                    is_folder = stat.S_ISDIR(mode)
                    needed = stat.S_IRWXU if is_folder else files if folder == top else _FILE
                    if mode & needed != needed:
                        yield entry.path, needed, False
                    goes_on = deep or folder != top or entry.name == COLLECTIONS
                    if is_folder and goes_on and not folder.endswith(_CONTENTS):
                        folders.append(entry.path)


def _is_denied(path: str, needed: int, follow: bool) -> bool:
    with suppress(OSError):
        return os.stat(path, follow_symlinks=follow).st_mode & needed != needed  # noqa: PTH116 - it takes no links
    return False


def _given(path: str, needed: int, follow: bool = False) -> bool:
    """Add the permissions of which the user's own file or folder lacks one; return whether it did."""
    if sys.platform != "linux":
        return False
    try:
        fd = os.open(path, os.O_PATH | os.O_CLOEXEC | (0 if follow else os.O_NOFOLLOW))
    except OSError:  # missing, or in a folder of somebody else's
        return False
    try:
        about = os.fstat(fd)
        is_ours = about.st_uid == os.geteuid() and (stat.S_ISDIR(about.st_mode) or stat.S_ISREG(about.st_mode))
        if not is_ours or about.st_mode & needed == needed:
            return False
        access = stat.S_IRWXU if stat.S_ISDIR(about.st_mode) else needed
        os.chmod(f"/proc/self/fd/{fd}", stat.S_IMODE(about.st_mode) | access)  # noqa: PTH101 - a descriptor's
    except OSError:
        return False
    finally:
        os.close(fd)
    return True
