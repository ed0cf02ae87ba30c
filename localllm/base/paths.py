"""Locate files: the user's folders, the project's root and storage, programs on the search path."""

import errno
import hashlib
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Literal

import msgspec

from localllm.base.environment import HOMEBREW, TOOLCHAINS
from localllm.base.errors import ConfigurationError
from localllm.base.files import atomic_write, atomic_write_at, is_read_only, open_made
from localllm.base.i18n import Phrase
from localllm.base.shims import is_shim, is_shim_folder

APPLICATION = "localllm"
SETTINGS_FILE = "localllm.toml"
_MARKS = (SETTINGS_FILE, ".git")
COLLECTIONS = "collections"
"""Subfolder with collections of documents: of the user's in `data_folder`, of projects' in `state_folder`."""
CACHES = "indexes"
"""Subfolder of `cache_folder` with a folder for each project."""


def config_file(environ: Mapping[str, str] = os.environ) -> Path:
    """Return the path of the user's settings file. LOCALLLM_CONFIG_DIR overrides its folder."""
    if folder := environ.get("LOCALLLM_CONFIG_DIR"):
        return Path(folder).expanduser() / SETTINGS_FILE
    return _user_folder(environ, "XDG_CONFIG_HOME", ".config") / SETTINGS_FILE


def state_folder(environ: Mapping[str, str] = os.environ) -> Path:
    """Return the folder of persistent state (snapshots, trust, history).

    LOCALLLM_STATE_DIR overrides it.
    """
    if folder := environ.get("LOCALLLM_STATE_DIR"):
        return Path(folder).expanduser()
    return _user_folder(environ, "XDG_STATE_HOME", ".local/state")


def cache_folder(environ: Mapping[str, str] = os.environ) -> Path:
    """Return the folder of caches, which can be rebuilt at any time.

    LOCALLLM_CACHE_DIR overrides it; else it is within LOCALLLM_STATE_DIR if that is set.
    """
    if folder := environ.get("LOCALLLM_CACHE_DIR"):
        return Path(folder).expanduser()
    if environ.get("LOCALLLM_STATE_DIR"):
        return state_folder(environ) / "cache"
    return _user_folder(environ, "XDG_CACHE_HOME", ".cache")


def data_folder(environ: Mapping[str, str] = os.environ) -> Path:
    """Return the folder of the user's results (reports, tasks, their logs).

    LOCALLLM_DATA_DIR overrides it; else it is within LOCALLLM_STATE_DIR if that is set.
    """
    if folder := environ.get("LOCALLLM_DATA_DIR"):
        return Path(folder).expanduser()
    if environ.get("LOCALLLM_STATE_DIR"):
        return state_folder(environ) / "data"
    return _user_folder(environ, "XDG_DATA_HOME", ".local/share")


def session_key_file(environ: Mapping[str, str] = os.environ) -> Path:
    """Return the file of the key that authenticates the user's sessions."""
    return state_folder(environ) / "session.key"


def _user_folder(environ: Mapping[str, str], variable: str, below_home: str) -> Path:
    """Return the same as platformdirs. On Linux computed here, as importing that costs 15 ms at every start."""
    if sys.platform == "linux" and "ANDROID_ROOT" not in environ:
        base, home = environ.get(variable, ""), environ.get("HOME", "")
        if base.startswith("/"):
            return Path(base, APPLICATION)
        if home.startswith("/"):
            return Path(home, below_home, APPLICATION)
    import platformdirs

    find = {
        "XDG_CONFIG_HOME": platformdirs.user_config_path,
        "XDG_STATE_HOME": platformdirs.user_state_path,
        "XDG_CACHE_HOME": platformdirs.user_cache_path,
        "XDG_DATA_HOME": platformdirs.user_data_path,
    }
    return find[variable](APPLICATION, appauthor=False)


def find_project(start: Path) -> Path:
    """Return the project of `start`: the nearest folder upwards with a localllm.toml or a .git, else `start` itself.

    The home folder, its parents, and / are no projects, unless `start` is exactly that; nor is a folder above it that
    another user has marked, such as /tmp. The path is absolute, with links resolved.
    """
    start = start.resolve()
    no_projects = home_and_above()
    owners = {_owner(start), 0} - {None}
    if hasattr(os, "geteuid"):  # not on Windows
        owners.add(os.geteuid())
    for folder in (start, *start.parents):
        if folder != start and (folder in no_projects or folder == folder.parent):
            return start
        if is_marked(folder) if folder == start else any(_owner(folder / name) in owners for name in _MARKS):
            return folder
    return start


def is_marked(folder: Path) -> bool:
    """Return whether the folder is marked as a project by a localllm.toml or a .git."""
    return any(os.path.lexists(folder / name) for name in _MARKS)


def _owner(path: Path) -> int | None:
    """Return the number of the user who owns a file, no link followed; None if it cannot be found."""
    try:
        return path.lstat().st_uid
    except OSError:
        return None


def home_and_above() -> tuple[Path, ...]:
    """Return the home folder and its parents, which are no projects; empty if there is no home."""
    try:
        home = Path.home().resolve()
    except RuntimeError:  # neither HOME nor a passwd entry
        return ()
    return (home, *home.parents)


def is_in_project(path: Path, root: Path) -> bool:
    """Return whether a path lies in the project at `root`, literally or through links, so that commands may write
    there. False if the project is the home folder or a parent of it, as commands do not run there."""
    base = Path(os.path.realpath(root))
    if base in home_and_above():
        return False
    places = os.path.abspath(path), os.path.realpath(path)  # noqa: PTH100 - Path.absolute keeps ".."
    return any(Path(place).is_relative_to(each) for place in places for each in (base, root.absolute()))


def projects_around(path: Path, root: Path) -> list[Path]:
    """Return the projects a path lies in, where commands may have written: that at `root`, parent folders marked as
    projects, and those with chat sessions. Without the home folder and its parents."""
    found = [root] if is_in_project(path, root) else []
    no_projects = home_and_above()
    for place in dict.fromkeys((Path(os.path.abspath(path)), Path(os.path.realpath(path)))):  # noqa: PTH100 - as above
        for folder in (place, *place.parents[:-1]):
            is_project = (folder != place and is_marked(folder)) or has_sessions(folder)
            if is_project and folder not in no_projects:
                found.append(folder)
    return found


def has_sessions(folder: Path) -> bool:
    """Return whether there are chat sessions of the folder: it is a project then, marked or not."""
    return (state_folder() / "sessions" / project_name(folder)).is_dir()


def is_project(folder: Path) -> bool:
    """Return whether commands may have run in the folder: it has chat sessions, or is marked and no clone of a program
    that manages toolchains. The home folder and its parents are the caller's to leave out."""
    return has_sessions(folder) or (is_marked(folder) and not _is_toolchain(folder))


def _is_toolchain(folder: Path) -> bool:
    is_in_home = folder.name in TOOLCHAINS and folder.parent in home_and_above()[:1]
    return is_in_home or folder.name == ".linuxbrew" or folder.as_posix() in HOMEBREW


def project_name(root: Path) -> str:
    """Return a name of the project at `root` that is unique on this machine, for folders in `state_folder`."""
    return hashlib.sha256(os.fsencode(root.resolve())).hexdigest()[:16]


def project_folder(root: Path) -> Path:
    """Return the project's folder for overflowing output and the user's commands."""
    return root / ".localllm"


def ensure_project_folder(root: Path) -> Path:
    """Return `project_folder`, created if missing and ignored by git.

    Raises ConfigurationError project_folder_unusable if it cannot be created, or is a link: a foreign project could
    redirect our files with one.
    """
    folder = project_folder(root)
    if folder.is_symlink():
        raise ConfigurationError("project_folder_unusable", folder=folder, reason=Phrase("It is a symbolic link"))
    try:
        _make(folder)
    except OSError as error:
        raise ConfigurationError("project_folder_unusable", folder=folder, reason=_reason(error)) from error
    return folder


class Storage(msgspec.Struct, frozen=True):
    """Where a project's data is stored: `sessions` in the user's state folder and `caches` in the cache folder, out of
    reach of commands; overflowing output in `folder`.

    `place` of `folder`: "project"; "state", if the project's cannot be used for `reason`; or "nowhere", if neither can:
    then nothing can be created in `folder`. `other` is the folder not in use now, but possibly at another time.
    """

    folder: Path
    place: Literal["project", "state", "nowhere"]
    other: Path
    sessions: Path
    caches: Path
    reason: object = ""

    def cache_file(self, name: str) -> Path:
        """Return the path of a cache file, creating its folder if possible."""
        with suppress(OSError):
            self.caches.mkdir(mode=0o700, parents=True, exist_ok=True)
        return self.caches / name

    @property
    def outputs(self) -> Path:
        """The folder for long output."""
        return self.folder / "tool-output"

    @property
    def outputs_outside(self) -> Path:
        """The folder for long output while the project's own is unusable."""
        return (self.other if self.place == "project" else self.folder) / "tool-output"

    @property
    def older_sessions(self) -> Path:
        """The folder where earlier versions stored the session logs of a project with an unusable folder."""
        return self.outputs_outside.with_name("sessions")

    @property
    def outputs_anywhere(self) -> tuple[Path, ...]:
        """All folders that may contain long output, except links, which could lead into another project."""
        return tuple(each / "tool-output" for each in (self.folder, self.other) if not each.is_symlink())


def find_storage(root: Path, environ: Mapping[str, str] = os.environ) -> Storage:
    """Determine where the data of the project at `root` is stored, without creating anything."""
    own, name = project_folder(root), project_name(root)
    state, sessions = state_folder(environ) / "projects" / name, state_folder(environ) / "sessions" / name
    caches = cache_folder(environ) / CACHES / name
    reason = _fault(own)
    folder, other = (state, own) if reason else (own, state)
    if caches.resolve().is_relative_to(root.resolve()):  # commands could write there, unlike in ours
        caches = folder
    place = "project" if not reason else "nowhere" if _fault(state) else "state"
    return Storage(folder, place, other, sessions, caches, reason)


def open_storage(root: Path, environ: Mapping[str, str] = os.environ) -> Storage:
    """Like `find_storage`, but create the folder where possible."""
    found = find_storage(root, environ)
    if found.place == "project":
        try:
            _make(found.folder)
        except OSError as error:  # it looked writable, but the disk is full or a sandbox forbids it
            state, own = found.other, found.folder
            caches = state if found.caches == own else found.caches
            found = Storage(state, "state", own, found.sessions, caches, _reason(error))
        else:
            return found
    try:
        found.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError:
        return msgspec.structs.replace(found, place="nowhere")
    return found


def _make(folder: Path) -> None:
    """Create the folder in the project with a .gitignore for itself. Raises OSError."""
    if sys.platform == "win32":
        folder.mkdir(exist_ok=True)
        if not os.path.lexists(folder / ".gitignore"):
            atomic_write(folder / ".gitignore", b"*\n")
        return
    opened = open_made(folder.parent, folder.name)  # a command may replace it with a link at any moment
    try:
        os.stat(".gitignore", dir_fd=opened, follow_symlinks=False)
    except FileNotFoundError:
        with suppress(FileExistsError):  # another process was faster
            atomic_write_at(opened, ".gitignore", b"*\n", create_only=True)
    finally:
        os.close(opened)


def _fault(folder: Path) -> object:
    """Explain why no file can be created in `folder`, or its nearest existing parent. "" if none is apparent."""
    if folder.is_symlink():
        return Phrase("It is a symbolic link")
    there = next(each for each in (folder, *folder.parents) if os.path.lexists(each))
    try:
        if not there.is_dir():
            return os.strerror(errno.ENOTDIR)
        if os.access(there, os.W_OK | os.X_OK):
            return ""
        return os.strerror(errno.EROFS if is_read_only(there) else errno.EACCES)
    except OSError as error:
        return _reason(error)


def _reason(error: OSError) -> str:
    return os.strerror(error.errno or errno.EIO)


SYSTEM_FOLDERS = "/ /bin /sbin /lib /lib64 /usr /usr/bin /usr/sbin /usr/lib /nix /nix/store"
"""Folders of the system's programs: these are run, even if somebody has chatted there once, or keeps them in git. So no
command of a model is."""


def search_path(project: Path, environ: Mapping[str, str] = os.environ) -> list[str]:
    """Return the folders of the search path, without relative ones, those of shims, which run what the project's files
    name, and those in a project, this or any other of the user, also through links: a command may have put programs
    there, even into a `.venv/bin`."""
    return list(_safe_folders(environ, _project_check(project)))


def find_program(name: str, project: Path, environ: Mapping[str, str] = os.environ) -> str | None:
    """Return the path of the program `name`, or None.
    Programs that lie in a project, or whose links lead there, are skipped, and so are shims."""
    import shutil  # with its compressors it takes longer to import than the rest of this module

    is_in_project = _project_check(project)
    for folder in _safe_folders(environ, is_in_project):
        found = shutil.which(name, path=folder)
        if found and not is_in_project(found) and not is_shim(found):
            return found
    return None


def passed_over(name: str, project: Path, environ: Mapping[str, str] = os.environ) -> str | None:
    """Return the path of a program that is installed, but only where `find_program` skips it; else None."""
    import shutil

    found = shutil.which(name, path=environ.get("PATH"))
    return None if not found or find_program(name, project, environ) else found


def _safe_folders(environ: Mapping[str, str], is_in_project: Callable[[str], bool]) -> Iterator[str]:
    for folder in environ.get("PATH", os.defpath).split(os.pathsep):
        if not os.path.isabs(folder) or is_shim_folder(folder):  # noqa: PTH117 - an empty path is no Path
            continue
        if not is_in_project(folder):
            yield folder


def _project_check(project: Path) -> Callable[[str], bool]:
    """Return the check whether a path lies in the project or in any other, literally or through links. For one search:
    it remembers what it has found of each folder."""
    nobodys = {*home_and_above(), *map(Path, SYSTEM_FOLDERS.split())}
    known = {Path(os.path.realpath(project)): True}

    def check(path: str) -> bool:
        for place in dict.fromkeys((os.path.abspath(path), os.path.realpath(path))):  # noqa: PTH100 - a string
            for folder in (Path(place), *Path(place).parents):
                if folder not in known:
                    known[folder] = folder not in nobodys and is_project(folder)
                if known[folder]:
                    return True
        return False

    return check


def is_recorded(root: Path, folder: Path) -> bool:
    """Return whether `folder` has a record of a command in the project at `root` that has not ended, or whose program
    was killed. A folder that cannot be read may have one."""
    try:
        begin = records_name(root)
        return any(name.startswith(begin) for name in os.listdir(folder))  # noqa: PTH208 - names
    except PermissionError:
        return True
    except OSError:
        return False


def records_name(root: Path) -> str:
    """Return the name prefix of a project's records. It identifies the folder, which may be moved, not its path, where
    another project may be later. Raises OSError."""
    about = root.stat()
    return f"{about.st_dev:x}-{about.st_ino:x}-"
