"""Where things are: the user's folders, the project, and what we keep in it."""

import errno
import hashlib
import os
import sys
from collections.abc import Mapping
from pathlib import Path

from localllm.base.errors import ConfigurationError
from localllm.base.files import atomic_write
from localllm.base.i18n import Phrase

APPLICATION = "localllm"
SETTINGS_FILE = "localllm.toml"


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

    if variable == "XDG_CONFIG_HOME":
        return platformdirs.user_config_path(APPLICATION, appauthor=False)
    return platformdirs.user_state_path(APPLICATION, appauthor=False)


def find_project(start: Path) -> Path:
    """The project `start` is in: the nearest folder upwards with a localllm.toml or a .git, else `start` itself.

    The home folder, all above it, and / are no projects, unless `start` is just that. The path is absolute, links
    resolved.
    """
    start = start.resolve()
    no_projects = _home_and_above()
    for folder in (start, *start.parents):
        if folder != start and (folder in no_projects or folder == folder.parent):
            return start
        if any(os.path.lexists(folder / name) for name in (SETTINGS_FILE, ".git")):
            return folder
    return start


def _home_and_above() -> tuple[Path, ...]:
    try:
        home = Path.home().resolve()
    except RuntimeError:  # neither HOME nor an entry for this user
        return ()
    return (home, *home.parents)


def project_name(root: Path) -> str:
    """A name for the project at `root` that no other one on this machine has: for folders in `state_folder`."""
    return hashlib.sha256(os.fsencode(root.resolve())).hexdigest()[:16]


def project_folder(root: Path) -> Path:
    """Where the project's sessions, overflowing output and the like are kept, there or not."""
    return root / ".localllm"


def ensure_project_folder(root: Path) -> Path:
    """`project_folder`, made if missing; it tells git to ignore it.

    ConfigurationError project_folder_unusable where it cannot be made, and where it is a link: a project one has
    been given could lead our files anywhere with it.
    """
    folder = project_folder(root)
    try:
        folder.mkdir(exist_ok=True)
        if folder.is_symlink():
            raise ConfigurationError("project_folder_unusable", folder=folder, reason=Phrase("paths.link"))
        ignore = folder / ".gitignore"
        if not os.path.lexists(ignore):
            atomic_write(ignore, b"*\n")
    except OSError as error:
        reason = os.strerror(error.errno or errno.EIO)
        raise ConfigurationError("project_folder_unusable", folder=folder, reason=reason) from error
    return folder
