"""Find secrets of the machine outside the home: of services, and those that containers get as files."""

import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path

from localllm.sandbox.dotfiles import has_secret

_SECRETS = (
    "/etc/shadow /etc/shadow- /etc/gshadow /etc/gshadow- /etc/sudoers /etc/sudoers.d /etc/ssh /etc/ssl/private "
    "/etc/pki/tls/private /etc/kubernetes /etc/wireguard /etc/NetworkManager/system-connections /etc/krb5.keytab "
    "/var/lib/docker /var/lib/containers /var/lib/containerd /var/lib/kubelet /var/lib/rancher /var/lib/cloud "
    "/var/spool /var/mail /var/backups /var/log /var/crash /var/lib/systemd/coredump"
)
"""Mostly unreadable for ordinary users anyway, but the assistant may run as root. Logs and dumps contain text and
memory of other programs."""

GIVEN_TO_CONTAINERS = "/workspaces/.codespaces /etc/secrets /vault/secrets /mnt/secrets-store"
"""Where GitHub's codespaces, Render, Vault and Kubernetes put them, besides /run. Everybody can read those."""

_SETTINGS = (
    "/etc/pip.conf /etc/xdg/pip/pip.conf /etc/npmrc /usr/etc/npmrc /usr/local/etc/npmrc /etc/conda/.condarc "
    "/etc/apt/auth.conf"
)
"""For all users of the machine: closed if they contain a secret."""

_OF_SERVICES = ("/etc", "/var/lib")
_NEEDED = frozenset({"/etc/gitconfig", "/var/lib/apt", "/var/lib/dpkg"})
"""Git and apt stop where they cannot read these."""

_DEEPEST = 3  # levels: /var/lib/postgresql/15/main
_MOST_ENTRIES = 20_000
_MOST_CLOSED = 200  # each has to be hidden anew for every command


def system_secrets() -> list[Path]:
    """Return the files and folders of the machine that a command must not read, as far as this process could."""
    known = [Path(path) for path in _SECRETS.split() if os.access(path, os.R_OK)]
    settings = [file for file in map(Path, _SETTINGS.split()) if has_secret(file)]
    return [*known, *settings, *islice(_closed_to_others(), _MOST_CLOSED)]


def _closed_to_others() -> Iterator[Path]:
    """Yield what not everybody may read of the settings and data of services, but this process, as root or by a group:
    passwords of databases, and these themselves. A bounded look, the top first."""
    pending = [(folder, 1) for folder in _OF_SERVICES]
    entries = 0
    for folder, depth in pending:
        inside: list[os.DirEntry[str]] = []
        with suppress(OSError), os.scandir(folder) as found:
            inside += islice(found, _MOST_ENTRIES - entries)
        entries += len(inside)
        for entry in inside:
            if entry.path in _NEEDED or (is_folder := _is_folder(entry)) is None:
                continue
            if _is_closed(entry, is_folder=is_folder):
                yield Path(entry.path)
            elif is_folder and depth < _DEEPEST:
                pending.append((entry.path, depth + 1))


def _is_folder(entry: os.DirEntry[str]) -> bool | None:
    """Return whether it is a folder; None for what is neither that nor a file."""
    try:
        return True if entry.is_dir(follow_symlinks=False) else False if entry.is_file(follow_symlinks=False) else None
    except OSError:
        return None


def _is_closed(entry: os.DirEntry[str], *, is_folder: bool) -> bool:
    try:
        mode = entry.stat(follow_symlinks=False).st_mode
    except OSError:
        return False
    may_others = mode & (stat.S_IXOTH if is_folder else stat.S_IROTH)
    return not may_others and os.access(entry.path, os.R_OK)
