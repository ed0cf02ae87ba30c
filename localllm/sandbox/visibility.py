"""What a command sees of the machine: its variables, what it may read, and a home of its own that is thrown away."""

import os
import stat
import sys
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path

import msgspec

_KEPT = (
    "PATH LANG LANGUAGE TERM TZ USER LOGNAME SHELL VIRTUAL_ENV CONDA_PREFIX CONDA_DEFAULT_ENV JAVA_HOME GOROOT "
    "PYENV_ROOT PYENV_VERSION RUSTUP_HOME RUSTUP_TOOLCHAIN CARGO_HOME NVM_DIR RBENV_ROOT SDKMAN_DIR"
)
"""Variables a command gets from the user's; all of LC_… besides. Everything else may be a secret, or a lever."""

_SET = {
    "PAGER": "cat",
    "GIT_PAGER": "cat",
    "GIT_EDITOR": "true",
    "GIT_TERMINAL_PROMPT": "0",
    "NO_COLOR": "1",
    "ASAN_OPTIONS": "detect_leaks=0",  # the search for leaks would have to trace the process
}
"""Variables every command gets: there is no terminal, and nobody to answer."""

_DEFAULTS = {"PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8"}

_TOOLCHAINS = (
    ".gitconfig .config/git .local/bin .local/lib .local/pipx .local/share/pipx .local/share/uv .local/share/mise "
    ".local/share/fnm .pyenv miniconda3 anaconda3 miniforge3 mambaforge .rustup .cargo go .nvm .nodenv .volta .bun "
    ".deno .asdf .sdkman .m2/repository .gradle/wrapper .rbenv .rvm .gem .opam .ghcup .juliaup .dotnet .nix-profile"
)
"""What of a home a command may read: programs and their libraries, and what git needs to know."""

_SECRETS_AMONG_TOOLCHAINS = (
    ".cargo/credentials .cargo/credentials.toml .gem/credentials .config/git/credentials .rvm/user .sdkman/etc/config"
)

_SYSTEM_SECRETS = (
    "/etc/shadow /etc/shadow- /etc/gshadow /etc/gshadow- /etc/sudoers /etc/sudoers.d /etc/ssh /etc/ssl/private "
    "/etc/pki/tls/private /etc/kubernetes /etc/wireguard /etc/NetworkManager/system-connections /etc/krb5.keytab "
    "/var/lib/docker /var/lib/containerd /var/lib/kubelet /var/lib/rancher /var/spool/cron /var/mail /var/backups"
)
"""Closed to ordinary users anyway; the assistant may be running as root."""

_ALWAYS_HIDDEN = "/home /root /run /tmp /var/tmp"
"""Besides homes: sockets and run-time secrets, and the temporary files of other programs (tickets, session keys)."""

_SECRETS_NAMED_BY = (
    "GOOGLE_APPLICATION_CREDENTIALS KUBECONFIG AWS_SHARED_CREDENTIALS_FILE AWS_CONFIG_FILE DOCKER_CONFIG NETRC "
    "NPM_CONFIG_USERCONFIG PIP_CONFIG_FILE XAUTHORITY SSH_AUTH_SOCK GNUPGHOME XDG_CONFIG_HOME XDG_DATA_HOME "
    "XDG_STATE_HOME XDG_CACHE_HOME XDG_RUNTIME_DIR TMPDIR"
)
"""Variables that name a file or a folder with secrets, which need not lie in the home."""

_NOT_HOMES = "/ /bin /dev /etc /lib /opt /proc /sbin /sys /usr /var"


class Visibility(msgspec.Struct, frozen=True, kw_only=True):
    """What is hidden, as real paths. `shown` may be read although it lies beneath something in `hidden`.

    `toolchains`: a name in the home → where that really is.
    """

    homes: tuple[Path, ...]
    hidden: tuple[Path, ...]
    shown: tuple[Path, ...]
    toolchains: dict[str, Path]


def survey(environment: Mapping[str, str], also_hidden: Iterable[Path] = ()) -> Visibility:
    """What is to be hidden on this machine, and what shown all the same."""
    homes = _homes(environment)
    secrets = [home / name for home in homes for name in _SECRETS_AMONG_TOOLCHAINS.split()]
    secrets += [Path(path) for path in _SYSTEM_SECRETS.split() if os.access(path, os.R_OK)]
    secrets += [path for name in _SECRETS_NAMED_BY.split() if (path := Path(environment.get(name, ""))).is_absolute()]
    hidden = _real([*homes, *map(Path, _ALWAYS_HIDDEN.split()), *secrets, *also_hidden])
    names = _TOOLCHAINS.split()
    found = [(name, _real([home / name])[0]) for home in homes for name in names if _exists(home / name)]
    shown = _real([*(path for _, path in found), *_programs(environment)])
    return Visibility(
        homes=homes,
        hidden=hidden,
        shown=tuple(path for path in shown if any(folder in path.parents for folder in hidden)),
        toolchains=dict(reversed(found)),  # so that the first home counts
    )


def _homes(environment: Mapping[str, str]) -> tuple[Path, ...]:
    """The user's home, by the variable and by the list of users. Places of the system do not count."""
    import pwd  # not on Windows

    named = [environment.get("HOME", "")]
    with suppress(KeyError):
        named.append(pwd.getpwuid(os.getuid()).pw_dir)
    return tuple(home for home in _real(map(Path, filter(None, named))) if _may_be_home(home))


def _may_be_home(path: Path) -> bool:
    return str(path) not in _NOT_HOMES.split() and Path("/usr") not in path.parents and _exists(path)


def _programs(environment: Mapping[str, str]) -> list[Path]:
    """The folders of PATH, whole environments where these are part of one, and the Python this runs on."""
    found = [Path(sys.prefix), Path(sys.base_prefix)]
    for folder in map(Path, environment.get("PATH", "").split(os.pathsep)):
        if folder.is_absolute():
            found.append(folder)
            found += [folder.parent for mark in ("pyvenv.cfg", "conda-meta") if _exists(folder.parent / mark)]
    return [folder for folder in found if _exists(folder)]


def _real(paths: Iterable[Path]) -> tuple[Path, ...]:
    return tuple(dict.fromkeys(Path(os.path.realpath(path)) for path in paths))


def _exists(path: Path) -> bool:
    return os.path.exists(path)  # noqa: PTH110 - Path.exists raises where a folder on the way is closed


def variables(environment: Mapping[str, str], **fixed: str) -> dict[str, str]:
    """The variables for a command: an allow-list of the user's, and what makes programs work without a terminal."""
    names = _KEPT.split()
    kept = {name: value for name, value in environment.items() if name in names or name.startswith("LC_")}
    return {**_DEFAULTS, **kept, **_SET, **fixed}


class Scratch:
    """A folder for one command: for its temporary files, and as its home, where links lead to the toolchains."""

    def __init__(self, toolchains: Mapping[str, Path]) -> None:
        base = Path(os.environ.get("TMPDIR") or "/tmp").resolve()  # noqa: S108 - the name below it is a random one
        self.folder = base / f"localllm-{os.urandom(8).hex()}"
        self.temporary = self.folder / "tmp"
        self.home = self.folder / "home"
        self.folder.mkdir(mode=0o700)
        self.temporary.mkdir()
        self.home.mkdir()
        for name, target in toolchains.items():
            link = self.home / name
            link.parent.mkdir(parents=True, exist_ok=True)
            link.symlink_to(target)

    def __enter__(self) -> "Scratch":
        return self

    def __exit__(self, *failure: object) -> None:
        self.remove()

    def remove(self) -> None:
        """Delete it, also what a command has made read-only. What cannot be deleted stays."""
        import shutil

        try:
            shutil.rmtree(self.folder)
        except OSError:
            for folder, _, _ in os.walk(self.folder):
                os.chmod(folder, stat.S_IRWXU)  # noqa: PTH101 - os.walk gives strings
            shutil.rmtree(self.folder, ignore_errors=True)
