"""The program's own files: whether a project lies among them, and permissions that a command may have taken from the
user (`chmod 000`)."""

import os
import stat
import sys
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
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


def reopen(folders: Iterable[Path], *, deep: bool = False, files: int = _FILE) -> list[str]:
    """Give the user back the access that the mode of their own files and folders denies them; return their paths.

    Looked at are the folders above each of `folders` (which the user must be able to enter), itself, and what is in it;
    with `deep`, all below it. `files`: the permissions that a file needs. What belongs to somebody else stays, and so
    does everything on other systems than Linux, where no sandbox lets a command change these modes.
    """
    if sys.platform != "linux":
        return []
    opened: list[str] = []
    for folder in folders:
        for above in reversed(folder.parents):
            opened += _given(str(above), stat.S_IXUSR, follow=True)
        opened += _given(str(folder), stat.S_IRWXU, follow=True)
        opened += _reopened_below(str(folder), files, deep=deep)
    return list(dict.fromkeys(opened))


def reopen_all(environ: Mapping[str, str] = os.environ) -> list[str]:
    """`reopen` what a command may have closed: everything in the state folder, and the others' top."""
    folders = (config_file(environ).parent, cache_folder(environ), data_folder(environ))
    return [*reopen([state_folder(environ)], deep=True), *reopen(folders, files=stat.S_IRUSR)]


def reopen_at_start(project: Path, environ: Mapping[str, str] = os.environ) -> list[str]:
    """`reopen` what a command may have closed before the program was killed: at first only what is needed in the
    project."""
    state, name = state_folder(environ), project_name(project)
    needed = (state, state / "commands", state / "snapshots" / name, state / "sessions" / name)
    opened = [*reopen(needed), *reopen([config_file(environ).parent], files=stat.S_IRUSR)]
    return [*opened, *reopen_all(environ)] if opened else []


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
    return bool([*_given(str(file.parent), stat.S_IRWXU), *_given(str(file), _FILE)])


def _reopened_below(top: str, files: int, *, deep: bool) -> list[str]:
    opened: list[str] = []
    folders, left = deque([top]), _MOST
    while folders and left > 0:
        folder = folders.popleft()
        with suppress(OSError), os.scandir(folder) as entries:
            for entry in entries:
                left -= 1
                with suppress(OSError):
                    mode = entry.stat(follow_symlinks=False).st_mode
                    is_folder = stat.S_ISDIR(mode)
                    needed = stat.S_IRWXU if is_folder else files
                    if mode & needed != needed:
                        opened += _given(entry.path, needed)
                    if is_folder and deep and not folder.endswith(_CONTENTS):
                        folders.append(entry.path)
    return opened


def _given(path: str, needed: int, *, follow: bool = False) -> list[str]:
    """Add the permissions of which the user's own file or folder lacks one; return its path if it did."""
    if sys.platform != "linux":
        return []
    try:
        fd = os.open(path, os.O_PATH | os.O_CLOEXEC | (0 if follow else os.O_NOFOLLOW))
    except OSError:  # missing, or in a folder of somebody else's
        return []
    try:
        about = os.fstat(fd)
        is_ours = about.st_uid == os.geteuid() and (stat.S_ISDIR(about.st_mode) or stat.S_ISREG(about.st_mode))
        if not is_ours or about.st_mode & needed == needed:
            return []
        access = stat.S_IRWXU if stat.S_ISDIR(about.st_mode) else needed
        os.chmod(f"/proc/self/fd/{fd}", stat.S_IMODE(about.st_mode) | access)  # noqa: PTH101 - a descriptor's
    except OSError:
        return []
    finally:
        os.close(fd)
    return [path]
