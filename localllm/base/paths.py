"""Where files are: the user's folders, the project's root, programs on the search path."""

import errno
import hashlib
import os
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Literal

import msgspec

from localllm.base.errors import ConfigurationError
from localllm.base.files import atomic_write, atomic_write_at, is_read_only, open_made
from localllm.base.i18n import Phrase

APPLICATION = "localllm"
SETTINGS_FILE = "localllm.toml"
CACHES = "indexes"
"""In `cache_folder`: a folder for each project."""


def config_file(environ: Mapping[str, str] = os.environ) -> Path:
    """The user's own settings file, there or not. LOCALLLM_CONFIG_DIR names another folder for it."""
    if folder := environ.get("LOCALLLM_CONFIG_DIR"):
        return Path(folder).expanduser() / SETTINGS_FILE
    return _user_folder(environ, "XDG_CONFIG_HOME", ".config") / SETTINGS_FILE


def state_folder(environ: Mapping[str, str] = os.environ) -> Path:
    """Where what the program must remember is kept (snapshots, trust, history), there or not.

    LOCALLLM_STATE_DIR names another folder.
    """
    if folder := environ.get("LOCALLLM_STATE_DIR"):
        return Path(folder).expanduser()
    return _user_folder(environ, "XDG_STATE_HOME", ".local/state")


def cache_folder(environ: Mapping[str, str] = os.environ) -> Path:
    """Where is kept what can be found out again at any time, there or not.

    LOCALLLM_CACHE_DIR names another folder; one that LOCALLLM_STATE_DIR names holds it as well.
    """
    if folder := environ.get("LOCALLLM_CACHE_DIR"):
        return Path(folder).expanduser()
    if environ.get("LOCALLLM_STATE_DIR"):
        return state_folder(environ) / "cache"
    return _user_folder(environ, "XDG_CACHE_HOME", ".cache")


def data_folder(environ: Mapping[str, str] = os.environ) -> Path:
    """Where the user's own results are (reports, tasks, their logs), there or not.

    LOCALLLM_DATA_DIR names another folder; one that LOCALLLM_STATE_DIR names holds it as well.
    """
    if folder := environ.get("LOCALLLM_DATA_DIR"):
        return Path(folder).expanduser()
    if environ.get("LOCALLLM_STATE_DIR"):
        return state_folder(environ) / "data"
    return _user_folder(environ, "XDG_DATA_HOME", ".local/share")


def session_key_file(environ: Mapping[str, str] = os.environ) -> Path:
    """The key by which the user's own sessions are known, there or not."""
    return state_folder(environ) / "session.key"


def _user_folder(environ: Mapping[str, str], variable: str, below_home: str) -> Path:
    """What platformdirs answers; on Linux computed here, because importing it costs 15 ms at every start."""
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
    """The project `start` is in: the nearest folder upwards with a localllm.toml or a .git, else `start` itself.

    The home folder, all above it, and / are no projects, unless `start` is just that. The path is absolute, links
    resolved.
    """
    start = start.resolve()
    no_projects = home_and_above()
    for folder in (start, *start.parents):
        if folder != start and (folder in no_projects or folder == folder.parent):
            return start
        if is_marked(folder):
            return folder
    return start


def is_marked(folder: Path) -> bool:
    """Whether there is what makes a folder a project: a localllm.toml or a .git."""
    return any(os.path.lexists(folder / name) for name in (SETTINGS_FILE, ".git"))


def home_and_above() -> tuple[Path, ...]:
    """The home folder and those it lies in, which are no projects; none where there is no home."""
    try:
        home = Path.home().resolve()
    except RuntimeError:  # neither HOME nor an entry for this user
        return ()
    return (home, *home.parents)


def is_in_project(path: Path, root: Path) -> bool:
    """Whether a path lies in the project at `root`, by its text or by where links lead, so that commands may write
    there. They do not run where the home folder, or what is above it, is the project."""
    base = Path(os.path.realpath(root))
    if base in home_and_above():
        return False
    places = os.path.abspath(path), os.path.realpath(path)  # noqa: PTH100 - Path.absolute keeps ".."
    return any(Path(place).is_relative_to(each) for place in places for each in (base, root.absolute()))


def projects_around(path: Path, root: Path) -> list[Path]:
    """The projects that a path lies in, so that commands may have written there: that at `root`, folders above it that
    look like one, and those in which there was a chat. Not the home folder, and nothing above it."""
    found = [root] if is_in_project(path, root) else []
    sessions, no_projects = state_folder() / "sessions", home_and_above()
    for place in dict.fromkeys((Path(os.path.abspath(path)), Path(os.path.realpath(path)))):  # noqa: PTH100 - as above
        for folder in (place, *place.parents[:-1]):
            is_known = (folder != place and is_marked(folder)) or (sessions / project_name(folder)).is_dir()
            if is_known and folder not in no_projects:
                found.append(folder)
    return found


def project_name(root: Path) -> str:
    """A name for the project at `root` that no other one on this machine has: for folders in `state_folder`."""
    return hashlib.sha256(os.fsencode(root.resolve())).hexdigest()[:16]


def project_folder(root: Path) -> Path:
    """Where the project's overflowing output and the user's commands are kept, there or not."""
    return root / ".localllm"


def ensure_project_folder(root: Path) -> Path:
    """`project_folder`, made if missing; it tells git to ignore it.

    ConfigurationError project_folder_unusable where it cannot be made, and where it is a link: a project one has
    been given could lead our files anywhere with it.
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
    """Where what belongs to a project is kept: its `sessions` in the user's state folder and its `caches` in that for
    caches, where no command can see them; overflowing output in `folder`.

    `place`: that is the project's own folder; one in the state folder, where the project's cannot be used, for the
    `reason`; or nowhere, where neither can be: then nothing can be made in `folder`. `other` is the folder that is not
    used now, and may have been at another time.
    """

    folder: Path
    place: Literal["project", "state", "nowhere"]
    other: Path
    sessions: Path
    caches: Path
    reason: object = ""

    def cache_file(self, name: str) -> Path:
        """Where a cache is kept; its folder is made if it can be."""
        with suppress(OSError):
            self.caches.mkdir(mode=0o700, parents=True, exist_ok=True)
        return self.caches / name

    @property
    def outputs(self) -> Path:
        """Where long output is kept."""
        return self.folder / "tool-output"

    @property
    def outputs_outside(self) -> Path:
        """Where it is kept while the project cannot hold it."""
        return (self.other if self.place == "project" else self.folder) / "tool-output"

    @property
    def older_sessions(self) -> Path:
        """Where earlier versions kept the logs of a project that could not hold them."""
        return self.outputs_outside.with_name("sessions")

    @property
    def outputs_anywhere(self) -> tuple[Path, ...]:
        """Where long output of this and other times may be; not where a link would lead, perhaps into another
        project."""
        return tuple(each / "tool-output" for each in (self.folder, self.other) if not each.is_symlink())


def find_storage(root: Path, environ: Mapping[str, str] = os.environ) -> Storage:
    """Where what belongs to the project at `root` is kept; nothing is made."""
    own, name = project_folder(root), project_name(root)
    state, sessions = state_folder(environ) / "projects" / name, state_folder(environ) / "sessions" / name
    caches = cache_folder(environ) / CACHES / name
    reason = _fault(own)
    folder, other = (state, own) if reason else (own, state)
    if caches.resolve().is_relative_to(root.resolve()):  # commands could write there, as they cannot in ours
        caches = folder
    place = "project" if not reason else "nowhere" if _fault(state) else "state"
    return Storage(folder, place, other, sessions, caches, reason)


def open_storage(root: Path, environ: Mapping[str, str] = os.environ) -> Storage:
    """As `find_storage`; the folder is there afterwards, wherever one can be made."""
    found = find_storage(root, environ)
    if found.place == "project":
        try:
            _make(found.folder)
        except OSError as error:  # what looked as if it could be written to cannot: a full disk, a sandbox around us
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
    """The folder in the project, which git is told to ignore. Raises OSError."""
    if sys.platform == "win32":
        folder.mkdir(exist_ok=True)
        if not os.path.lexists(folder / ".gitignore"):
            atomic_write(folder / ".gitignore", b"*\n")
        return
    opened = open_made(folder.parent, folder.name)  # a command may put a link in its place at any moment
    try:
        os.stat(".gitignore", dir_fd=opened, follow_symlinks=False)
    except FileNotFoundError:
        with suppress(FileExistsError):  # another program was faster
            atomic_write_at(opened, ".gitignore", b"*\n", create_only=True)
    finally:
        os.close(opened)


def _fault(folder: Path) -> object:
    """Why no file can be made in `folder`, or where it would be made; "" where one can, by all that can be seen."""
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


def search_path(project: Path, environ: Mapping[str, str] = os.environ) -> list[str]:
    """The folders of the search path without those that lie in the project, also by where links lead, and relative
    ones: a command may have put programs there, also into a `.venv/bin`."""
    root = Path(os.path.realpath(project))
    folders = environ.get("PATH", os.defpath).split(os.pathsep)
    return [folder for folder in folders if os.path.isabs(folder) and not _is_beneath(folder, root)]  # noqa: PTH117 - an empty path is no Path


def find_program(name: str, project: Path, environ: Mapping[str, str] = os.environ) -> str | None:
    """The program `name` on the search path, None where there is none. What lies in the project, or leads there, is
    passed over."""
    import shutil  # with its compressors it takes longer than the rest of this module

    root = Path(os.path.realpath(project))
    for folder in search_path(project, environ):
        found = shutil.which(name, path=folder)
        if found and not _is_beneath(found, root):
            return found
    return None


def _is_beneath(path: str, root: Path) -> bool:
    return any(Path(place).is_relative_to(root) for place in (os.path.abspath(path), os.path.realpath(path)))  # noqa: PTH100


def is_recorded(root: Path, folder: Path) -> bool:
    """Whether `folder` holds a record of a command that was begun in the project at `root` and has not ended, or whose
    program was killed."""
    try:
        begin = records_name(root)
        return any(name.startswith(begin) for name in os.listdir(folder))  # noqa: PTH208 - names
    except OSError:
        return False


def records_name(root: Path) -> str:
    """How the names of a project's records begin. They are bound to its folder, which may be moved, and not to its
    path, where another project may come to lie. Raises OSError."""
    about = root.stat()
    return f"{about.st_dev:x}-{about.st_ino:x}-"
