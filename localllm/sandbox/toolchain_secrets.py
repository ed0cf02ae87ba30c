"""Which files among toolchains of the home hold secrets: found by their names, wherever tools put them."""

import os
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path

from localllm.sandbox.dotfiles import has_private_key, has_secret, is_git_secret

_SECRET = re.compile(
    r"(?i)\.?credentials(\.(json|toml|ya?ml|xml|ini|conf|cfg|db|txt))?|[._]netrc|\.pypirc|\.git-credentials|\.env"
    r"|.+\.(pfx|p12|keystore|jks|ppk)|id_(rsa|dsa|ecdsa|ed25519)|geminabox"
)
"""Names of files that hold nothing else."""

_SETTINGS = re.compile(
    r"(?i)\.?pip\.conf|pip\.ini|\.?npmrc|\.condarc|condarc|\.yarnrc(\.yml)?|bunfig\.toml|\.bunfig\.toml|pipx_metadata\.json"
    r"|repos-config|(auth|token)\.json|settings\.xml|nuget\.config|uv\.toml"
)
_GIT_SETTINGS = frozenset({"config", "config.worktree", "FETCH_HEAD"})
_KEYS = re.compile(r"(?i).+\.(pem|key)")

_LIBRARIES = (
    "__pycache__ conda-meta dist-packages doc docs gems include lib lib64 libexec man node_modules objects pkgs refs "
    "registry share site-packages src test testdata tests toolchains"
)
"""Folders that programs come with, which nobody puts settings into: not looked into."""

_MOST_FOLDERS = 3_000
_MOST_ENTRIES = 60_000
_MOST_FOUND = 300  # each is closed again for every command


def secrets_in(folders: Iterable[Path]) -> list[Path]:
    """Files beneath the folders, those near the top first: as many as a bounded look finds. Links are not followed."""
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
        for entry in inside:
            if _is_folder(entry):
                if entry.name not in passed_over and entry.path not in seen and len(pending) < _MOST_FOLDERS:
                    seen.add(entry.path)
                    pending.append(entry.path)
            elif (look := _look(entry.name, is_git=is_git)) and look(Path(entry.path)):
                yield Path(entry.path)


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir(follow_symlinks=False)
    except OSError:
        return False


def _look(name: str, *, is_git: bool) -> Callable[[Path], bool] | None:
    """What tells whether a file of this name holds a secret; None where it holds none."""
    if _SECRET.fullmatch(name):
        return os.path.exists
    if _SETTINGS.fullmatch(name):
        return has_secret
    if _KEYS.fullmatch(name):
        return has_private_key
    if is_git and name in _GIT_SETTINGS:
        return has_secret if name == "FETCH_HEAD" else is_git_secret
    return None
