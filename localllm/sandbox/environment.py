"""Build the environment of a command, without secrets of the user or of toolchains."""

import locale
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from functools import cache
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from localllm.base.paths import SYSTEM_FOLDERS
from localllm.sandbox.dotfiles import CARGO, has_private_key, has_secret, is_git_secret
from localllm.sandbox.protect.repositories.repository import around
from localllm.sandbox.symlinks import resolve
from localllm.sandbox.system_secrets import GIVEN_TO_CONTAINERS, system_secrets

if TYPE_CHECKING:
    from localllm.sandbox.launcher.mount_table import MountTable

_SECRET = re.compile(
    r"(?i)\.?credentials(\.(json|toml|ya?ml|xml|ini|conf|cfg|db|txt))?|[._]netrc|\.pypirc|\.git-credentials|\.env"
    r"|.+\.(pfx|p12|keystore|jks|ppk)|id_(rsa|dsa|ecdsa|ed25519)|geminabox"
)
"""Names of files that contain nothing but secrets."""

_SETTINGS = re.compile(
    r"(?i)\.?pip\.conf|pip\.ini|\.?npmrc|\.condarc|condarc|\.yarnrc(\.yml)?|bunfig\.toml|\.bunfig\.toml|pipx_metadata\.json"
    r"|repos-config|(auth|token)\.json|settings\.xml|nuget\.config|uv\.toml|(pre|post)(de)?activate"
)
_SCRIPTS = frozenset({"activate.d", "deactivate.d"})
"""Folders of a conda environment: its documentation tells users to put keys into their files."""

_GIT_SECRETS = frozenset({"config", "config.worktree", "FETCH_HEAD"})
_KEYS = re.compile(r"(?i).+\.(pem|key)")

_LIBRARIES = (
    "__pycache__ conda-meta dist-packages doc docs gems include lib lib64 libexec man node_modules objects pkgs refs "
    "registry share site-packages src test testdata tests toolchains"
)
"""Folders that come with programs, and in which nobody puts settings: not searched."""

_MARK_OF_VENV = "pyvenv.cfg"
_MOST_PACKAGES = 200
_MOST_FOLDERS = 3_000
_MOST_ENTRIES = 60_000
_MOST_FOUND = 300  # each has to be hidden anew for every command


def secrets_in(folders: Iterable[Path]) -> list[Path]:
    """Return files with secrets below the folders, those near the top first, as far as a bounded search finds them.
    Symlinks are not followed."""
    return list(islice(_secrets(folders), _MOST_FOUND))


def _secrets(folders: Iterable[Path]) -> Iterator[Path]:
    passed_over = frozenset(_LIBRARIES.split())
    pending = list(dict.fromkeys(map(str, folders)))
    seen = set(pending)
    entries = 0
    for folder in pending:
        inside: list[os.DirEntry[str]] = []
        with suppress(OSError), os.scandir(folder) as found:
            inside += islice(found, _MOST_ENTRIES - entries)
        entries += len(inside)
        is_git = any(entry.name == "HEAD" for entry in inside)
        all_may = os.path.basename(folder) in _SCRIPTS  # noqa: PTH119 - strings
        if any(entry.name == _MARK_OF_VENV for entry in inside):
            yield from _secrets_of_packages(Path(folder, "src"))
        for entry in inside:
            if _is_folder(entry):
                if entry.name == "conda-meta" and has_secret(variables := Path(entry.path, "state")):
                    yield variables  # of `conda env config vars set`
                if entry.name not in passed_over and entry.path not in seen and len(pending) < _MOST_FOLDERS:
                    seen.add(entry.path)
                    pending.append(entry.path)
            elif (look := has_secret if all_may else _look(entry.name, is_git=is_git)) and look(Path(entry.path)):
                yield Path(entry.path)


def _secrets_of_packages(sources: Path) -> Iterator[Path]:
    """Yield the settings with secrets of the repositories that `pip install -e git+https://…` has cloned there."""
    with suppress(OSError), os.scandir(sources) as found:
        for package in islice(found, _MOST_PACKAGES):
            yield from filter(is_git_secret, _git_settings(Path(package.path, ".git")))


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir(follow_symlinks=False)
    except OSError:
        return False


def _look(name: str, *, is_git: bool) -> Callable[[Path], bool] | None:
    """Return the check whether a file of this name contains a secret; None if it cannot."""
    if _SECRET.fullmatch(name):
        return os.path.exists
    if _SETTINGS.fullmatch(name):
        return has_secret
    if _KEYS.fullmatch(name):
        return has_private_key
    if is_git and name in _GIT_SECRETS:
        return has_secret if name == "FETCH_HEAD" else is_git_secret
    return None


_KEPT = (
    "PATH TZ USER LOGNAME SHELL VIRTUAL_ENV CONDA_PREFIX CONDA_DEFAULT_ENV JAVA_HOME GOROOT "
    "PYENV_ROOT PYENV_VERSION RUSTUP_HOME RUSTUP_TOOLCHAIN CARGO_HOME NVM_DIR RBENV_ROOT SDKMAN_DIR"
)
"""Variables of the user that a command gets. Everything else may be a secret, or a means to control programs."""

_LOCALE = (
    "LANG LANGUAGE LC_ALL LC_CTYPE LC_COLLATE LC_MESSAGES LC_NUMERIC LC_TIME LC_MONETARY LC_PAPER LC_NAME LC_ADDRESS "
    "LC_TELEPHONE LC_MEASUREMENT LC_IDENTIFICATION"
)
"""locale(7): all there are; sshd passes on anything else with such a name. Kept if their values name a locale that this
machine has: for a missing one, each bash and perl would print a warning."""

_ONE_LOCALE = r"(C|POSIX|[a-z]{2,3}(_[A-Z]{2})?)(\.[A-Za-z0-9-]{1,12})?(@[a-z]{1,12})?"
_LOCALE_VALUE = re.compile(f"{_ONE_LOCALE}(:{_ONE_LOCALE})*")
_NAME_VALUE = re.compile(r"[A-Za-z0-9_.+/: -]{0,64}")
_NAMES = "TZ USER LOGNAME CONDA_DEFAULT_ENV PYENV_VERSION RUSTUP_TOOLCHAIN"
"""Kept if their values are short names; the other variables are paths."""

_SET = {
    "PAGER": "cat",
    "GIT_PAGER": "cat",
    "TERM": "dumb",
    "EDITOR": "true",
    "VISUAL": "true",
    "GIT_EDITOR": "true",
    "GIT_TERMINAL_PROMPT": "0",
    "NO_COLOR": "1",
    "ASAN_OPTIONS": "detect_leaks=0",  # leak detection would have to trace the process
    "TAR_OPTIONS": "--no-same-owner",  # the default except for root, which cannot change owners here either
}
"""Variables every command gets: there is no terminal, and nobody to answer."""

_OFFLINE = {
    "npm_config_fetch_retries": "0",
    "npm_config_update_notifier": "false",
    "npm_config_audit": "false",
    "npm_config_fund": "false",
    "PIP_RETRIES": "0",
    "PIP_DISABLE_PIP_VERSION_CHECK": "1",
    "UV_OFFLINE": "1",
    "GOPROXY": "off",
    "GOTOOLCHAIN": "local",
    "CARGO_NET_OFFLINE": "true",
    "BUNDLE_RETRY": "0",
}
"""Without a network: package managers fail at once, and do not retry for minutes."""

_DEFAULTS = {"PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8"}

_TOOLCHAINS = (
    ".local/bin .local/lib .local/pipx .local/share/pipx .local/share/uv .local/share/mise .local/share/fnm .pyenv "
    "miniconda3 anaconda3 miniforge3 mambaforge .rustup .cargo go/bin go/pkg .nvm .nodenv .volta .bun .deno .asdf "
    ".sdkman .m2/repository .gradle/wrapper .rbenv .rvm .gem .opam .ghcup .juliaup .dotnet .nix-profile"
)
"""What a command may read of a home: programs and their libraries. Settings: see `dotfiles`."""

_TAKEN_APART = ".cargo"
"""The toolchain of which each entry is shown separately, without those with secrets."""

_NOT_OF_CARGO = (*(name.removeprefix(".cargo/") for name in CARGO), "credentials", "credentials.toml")

_SETTINGS_AMONG_TOOLCHAINS = (".cargo/config", ".cargo/config.toml", ".opam/config")
"""Hidden if they contain a secret. See also `secrets_in`."""

_SECRETS_AMONG_TOOLCHAINS = (
    ".cargo/credentials .cargo/credentials.toml .gem/credentials .rbenv/vars .local/share/uv/credentials "
    ".rvm/user .sdkman/etc/config .opam/opam-init/private .deno/deployctl .dotnet/corefx"
)

_ALWAYS_HIDDEN = f"/home /root /run /var/run /tmp /var/tmp /mnt/wsl /mnt/wslg {GIVEN_TO_CONTAINERS}"
"""Besides homes: sockets and runtime secrets, and temporary files of other programs (tickets, session keys). The last
two hold sockets that other distributions of WSL bound by other names: Docker Desktop's, of the screen and the sound."""

_TEMPORARY = ("/tmp", "/var/tmp")  # noqa: S108 - to keep commands out of them

_SECRETS_NAMED_BY = (
    "GOOGLE_APPLICATION_CREDENTIALS KUBECONFIG AWS_SHARED_CREDENTIALS_FILE AWS_CONFIG_FILE DOCKER_CONFIG NETRC "
    "NPM_CONFIG_USERCONFIG PIP_CONFIG_FILE XAUTHORITY SSH_AUTH_SOCK GNUPGHOME XDG_CONFIG_HOME XDG_DATA_HOME "
    "XDG_STATE_HOME XDG_CACHE_HOME XDG_RUNTIME_DIR TMPDIR"
)
"""Variables that name a file or folder with secrets, which may be outside the home."""

_RUN_WITH = "KUBECONFIG AWS_CONFIG_FILE AWS_SHARED_CREDENTIALS_FILE DOCKER_CONFIG GNUPGHOME"
"""Those whose files also name programs, which the user's own tools run."""

_SETTINGS_OF_ENVIRONMENTS = ("pip.conf", ".condarc", "etc/npmrc")  # hidden if they contain a secret

_GIT_SETTINGS = ("config", "config.worktree")  # as above
_MOST_MODULES = 20_000  # folders

_ENVIRONMENT_MARKS = (_MARK_OF_VENV, "conda-meta")

_SHARED_MEMORY = "/dev/shm"  # noqa: S108 - as _TEMPORARY
_RUNTIME = "/run/user/"
_NOT_HOMES = "/ /bin /dev /etc /lib /opt /proc /sbin /sys /usr /var"


class Visibility(msgspec.Struct, frozen=True, kw_only=True):
    """What is hidden, as real paths. `shown`: readable although it is below something in `hidden`.

    `toolchains`: a name in the home → its real path. `links`: the names by which the user knows shown folders, if these
    are symlinks → the real paths. `homes_elsewhere`: the other paths of homes that are mounted twice.
    `of_all_programs`: where variables say that temporary files and sockets are.
    """

    homes: tuple[Path, ...]
    hidden: tuple[Path, ...]
    shown: tuple[Path, ...]
    toolchains: dict[str, Path]
    links: dict[str, Path] = {}
    homes_elsewhere: tuple[Path, ...] = ()
    of_all_programs: tuple[Path, ...] = ()

    @property
    def private(self) -> tuple[Path, ...]:
        """The hidden folders for which a command gets an empty one of its own, if there are namespaces."""
        return (*self.homes, *_real(map(Path, _TEMPORARY)))

    def is_around_home(self, folder: Path) -> bool:
        """Return whether a folder is a home of the user, or holds one, by whatever path."""
        return any(home.is_relative_to(folder) for home in (*self.homes, *self.homes_elsewhere))

    def is_too_wide(self, folder: Path) -> bool:
        """Return whether a folder is no project: `is_around_home`, it holds the temporary files of all programs, or is
        one with the system's programs."""
        runtime = () if sys.platform == "win32" else (f"{_RUNTIME}{os.getuid()}",)
        of_all = _real(map(Path, (*_TEMPORARY, _SHARED_MEMORY, *runtime)))
        holds_temporary = any(path.is_relative_to(folder) for path in of_all)
        is_of_system = folder in _real(map(Path, SYSTEM_FOLDERS.split()))
        return self.is_around_home(folder) or holds_temporary or is_of_system or folder in self.of_all_programs


def survey(environment: Mapping[str, str], also_hidden: Iterable[Path] = (), project: Path | None = None) -> Visibility:
    """Return what is hidden on this machine, and what is shown nevertheless, also of the repository `project` is part
    of.

    A command's home links to the toolchains of the first home only: settings of two homes do not mix.
    """
    from localllm.sandbox.home_elsewhere import (
        home_elsewhere,
        mounts_in,
        windows_homes,
    )  # only the first command needs them
    from localllm.sandbox.launcher.mount_table import mounts_here

    homes = _homes(environment)
    secrets = [home / name for home in homes for name in _SECRETS_AMONG_TOOLCHAINS.split()]
    secrets += [file for home in homes for name in _SETTINGS_AMONG_TOOLCHAINS if has_secret(file := home / name)]
    secrets += system_secrets()
    secrets += secrets_named_by(environment)
    root = project and project.resolve()
    found = {
        home: {name: real for name in _toolchains(home) if (real := _chosen_by_user(home / name, root))}
        for home in homes
    }
    programs = {str(path): real for path in _programs(environment) if (real := _chosen_by_user(path, root))}
    for_windows = windows_homes()
    programs = {path: real for path, real in programs.items() if not _is_for_windows(real, for_windows)}
    folders = programs.values()
    secrets += [file for folder in folders for name in _SETTINGS_OF_ENVIRONMENTS if has_secret(file := folder / name)]
    repository = around(project, [*homes, *map(Path, _ALWAYS_HIDDEN.split())]) if project else []
    places = [*repository, *(folder / ".git" for folder in (project.parents if project else ()))]
    secrets += [file for folder in places for file in _git_settings(folder) if is_git_secret(file)]
    toolchains = [path for names in found.values() for path in names.values()]
    plain = [*homes, *map(Path, _ALWAYS_HIDDEN.split()), *toolchains, *folders, *([root] if root else [])]
    elsewhere = [path for home in homes for path in home_elsewhere(home, plain)]
    closed = _real([*homes, *map(Path, _ALWAYS_HIDDEN.split()), *secrets, *elsewhere, *for_windows, *also_hidden])
    table = mounts_here()
    mounted = [point for home in homes for point in mounts_in(home, table.points)]
    automounters = map(Path, table.automounters())
    closed = tuple(dict.fromkeys((*closed, *automounters, *_aliases(table, (*closed, *mounted)))))
    tools = _beneath(closed, dict.fromkeys((*toolchains, *folders)))
    hidden = tuple(dict.fromkeys((*closed, *_real(secrets_in(tools)))))
    return Visibility(
        homes=homes,
        homes_elsewhere=tuple(_aliases(table, homes, parts=False)),
        of_all_programs=_real(
            Path(path)
            for name in ("TMPDIR", "XDG_RUNTIME_DIR")
            if os.path.isabs(path := environment.get(name, ""))  # noqa: PTH117 - an empty path is no Path
        ),
        hidden=hidden,
        shown=_beneath(hidden, dict.fromkeys((*tools, *repository))),
        toolchains=found[homes[0]] if homes else {},
        links={name: real for path, real in programs.items() if (name := os.path.abspath(path)) != str(real)},  # noqa: PTH100 - Path.absolute keeps `..`
    )


def secrets_named_by(environment: Mapping[str, str], *, with_programs: bool = False) -> list[Path]:
    """Return the files and folders with secrets that variables of the user name, each one or several; only those that
    also name programs, if `with_programs`. A relative one counts from the current folder, as for programs that the user
    starts there, but not that of a folder for all programs, which the specification has absolute."""
    variables_of_user = _RUN_WITH if with_programs else _SECRETS_NAMED_BY
    found: list[Path] = []
    for variable in variables_of_user.split():
        for path in map(Path, filter(None, environment.get(variable, "").split(os.pathsep))):
            if path.is_absolute():
                found.append(path)
            elif not variable.startswith(("XDG_", "TMPDIR")):
                with suppress(OSError):  # the current folder is gone
                    found.append(path.absolute())
    return found


def _chosen_by_user(path: Path, project: Path | None) -> Path | None:
    """Return what an existing folder really is; None where a symlink in the project leads to it outside, except to (a
    folder of) an environment, as `.venv` often is one: a command, or whoever wrote the project, could lay open any
    folder by it. It is resolved once, and mounted without following a symlink: a command may be exchanging it."""
    real, leads_out = resolve(str(path), project)
    folder = Path(real)
    if not _exists(folder):
        return None
    is_environment = any(_exists(around / mark) for around in (folder, folder.parent) for mark in _ENVIRONMENT_MARKS)
    return folder if is_environment or not leads_out else None


def _is_for_windows(folder: Path, homes: Iterable[Path]) -> bool:
    """Return whether programs in a home of Windows are for Windows itself: no command can run those, and to search
    their folders for secrets would take seconds."""
    is_inside = any(folder.is_relative_to(home) for home in homes)
    return is_inside and not any(_exists(around / _MARK_OF_VENV) for around in (folder, folder.parent))


def _git_settings(data: Path) -> Iterator[Path]:
    """Yield the config files of a repository, its submodules and linked work trees, given the folder with its data."""
    pending = [data]
    for folder in pending:
        yield from (folder / name for name in _GIT_SETTINGS)
        is_data = _exists(folder / "HEAD")
        if len(pending) < _MOST_MODULES and (is_data or folder != data):  # names of submodules may have slashes
            for above in (folder / "modules", folder / "worktrees") if is_data else (folder,):
                with suppress(OSError):
                    pending += [Path(entry) for entry in os.scandir(above) if entry.is_dir(follow_symlinks=False)]


def _toolchains(home: Path) -> list[str]:
    """Return the names of toolchains in the home."""
    names = [name for name in _TOOLCHAINS.split() if name != _TAKEN_APART]
    with suppress(OSError):
        inside = sorted(os.listdir(home / _TAKEN_APART))  # noqa: PTH208 - names are what is wanted
        names += [f"{_TAKEN_APART}/{name}" for name in inside if name not in _NOT_OF_CARGO]
    return names


def _homes(environment: Mapping[str, str]) -> tuple[Path, ...]:
    """Return the user's homes, by $HOME and by the user database. System folders do not count."""
    import pwd  # not on Windows

    named = [environment.get("HOME", "")]
    with suppress(KeyError):
        named.append(pwd.getpwuid(os.getuid()).pw_dir)
    return tuple(home for home in _real(map(Path, filter(None, named))) if _may_be_home(home))


def _may_be_home(path: Path) -> bool:
    return str(path) not in _NOT_HOMES.split() and Path("/usr") not in path.parents and _exists(path)


def _programs(environment: Mapping[str, str]) -> list[Path]:
    """Return the folders of PATH, whole environments for those that are part of one, and the Python this runs on."""
    found = [Path(sys.prefix), Path(sys.base_prefix)]
    for folder in map(Path, environment.get("PATH", "").split(os.pathsep)):
        if folder.is_absolute():
            found.append(folder)
            found += [folder.parent for mark in _ENVIRONMENT_MARKS if _exists(folder.parent / mark)]
    return [folder for folder in found if _exists(folder)]


def _beneath(folders: Iterable[Path], paths: Iterable[Path]) -> tuple[Path, ...]:
    """Return those of `paths` that are in one of the folders."""
    around = frozenset(folders)
    return tuple(path for path in paths if not around.isdisjoint(path.parents))


def _aliases(table: "MountTable", paths: Iterable[Path], *, parts: bool = True) -> list[Path]:
    """Return by which other paths the same can be reached, or with `parts` some of it: the root or the home may be
    mounted twice, as WSL, Fedora's atomic desktops and NixOS do it."""
    return [Path(name) for path in paths for name in table.aliases(str(path), parts=parts)]


def _real(paths: Iterable[Path]) -> tuple[Path, ...]:
    return tuple(dict.fromkeys(Path(os.path.realpath(path)) for path in paths))


def _exists(path: Path) -> bool:
    return os.path.exists(path)  # noqa: PTH110 - Path.exists raises if a folder on the way is unreadable


def variables(environment: Mapping[str, str], *, offline: bool = False, **fixed: str) -> dict[str, str]:
    """Return the variables for a command: an allow-list of the user's, and what makes programs work without a terminal.
    `offline`: and without a network."""
    kept = {name: value for name, value in environment.items() if _is_kept(name, value)}
    kept = {name: value for name, value in kept.items() if not _is_default(name, value, environment)}
    return {**_DEFAULTS, **kept, **_SET, **(_OFFLINE if offline else {}), **fixed}


def _is_kept(name: str, value: str) -> bool:
    if name in _LOCALE.split():
        return bool(_LOCALE_VALUE.fullmatch(value)) and (name == "LANGUAGE" or _is_installed(value))
    if name in _NAMES.split():
        return bool(_NAME_VALUE.fullmatch(value))
    return name in _KEPT.split() and "://" not in value


@cache
def _is_installed(name: str) -> bool:
    """Return whether this machine has the locale. Sets that of this process for a moment."""
    own = locale.setlocale(locale.LC_CTYPE)
    try:
        locale.setlocale(locale.LC_CTYPE, name)
    except locale.Error:
        return False
    finally:
        locale.setlocale(locale.LC_CTYPE, own)
    return True


def _is_default(name: str, value: str, environment: Mapping[str, str]) -> bool:
    """Return whether the value only follows from HOME, of which a command has its own."""
    return name == "CARGO_HOME" and value.rstrip("/") == f"{environment.get('HOME', '').rstrip('/')}/{_TAKEN_APART}"
