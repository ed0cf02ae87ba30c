"""Find what of a user's home lies elsewhere: behind symlinks on another disk, and the Windows home of WSL."""

import os
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path

_PROGRAMS = "/bin /boot /etc /lib /lib32 /lib64 /nix /opt /proc /sbin /snap /sys /usr /var/cache /var/lib"

_PERSONAL = "Desktop Documents Downloads Music Pictures Public Templates Videos"
_NAMED_BY_USER = re.compile(r'^XDG_\w+_DIR="\$HOME/([^"/\n]+)', re.MULTILINE)
"""In `~/.config/user-dirs.dirs`: their names in the user's language."""

_FOR_PROGRAMS = frozenset(
    """.asdf .bun .bundle .cabal .cache .cargo .conda .cpan .cpanm .deno .dotnet .gem .ghcup .gradle .ivy2 .juliaup
    .julia .linuxbrew .m2 .mamba .nix-profile .nix-defexpr .nodenv .npm .npm-global .npm-packages .nuget .nvm
    .opam .pnpm-store .pyenv .rbenv .rustup .rvm .sbt .sdkman .stack .venv .venvs .virtualenvs .volta .yarn
    miniconda3""".split()
)
"""Toolchains, environments and caches: on the disk where there is room for them, and seen where they are."""

_MOST_ENTRIES = 2_000
_DRIVES = ("/mnt", "/")
"""Where WSL mounts the disks of Windows, by a letter."""


def home_elsewhere(home: Path, inside: Iterable[Path]) -> list[Path]:
    """Return where settings, documents and the like of a home really are, if symlinks in it lead to another place; the
    whole disk where it does not heed case.

    `inside`: folders that are closed or the project, in which nothing is looked for.
    """
    tops = [f"{folder}/" for folder in inside]
    tops += [f"{folder}/" for folder in _PROGRAMS.split()]
    found = dict.fromkeys(os.path.realpath(link) for link in _links(home))
    far = [Path(path) for path in found if path.count("/") > 1 and not f"{path}/".startswith(tuple(tops))]
    return [_by_any_name(path) for path in far if _is_plain(path)]


def _is_plain(path: Path) -> bool:
    """Return whether it is a folder or a regular file. Many a shell's history is a link to /dev/null."""
    return os.path.isdir(path) or os.path.isfile(path)  # noqa: PTH112, PTH113 - pathlib raises for a closed folder


def mounts_in(home: Path, points: Iterable[str]) -> list[Path]:
    """Return those of the mount points at which settings, documents and the like of a home are."""
    personal = _personal(home)
    inside = [point for point in points if point.startswith(f"{home}/")]
    return [Path(point) for point in inside if _is_personal(point[len(f"{home}/") :].partition("/")[0], personal)]


def _personal(home: Path) -> set[str]:
    personal = {*_PERSONAL.split()}
    with suppress(OSError, ValueError):
        personal |= {*_NAMED_BY_USER.findall((home / ".config/user-dirs.dirs").read_text(encoding="utf-8"))}
    return personal


def _is_personal(name: str, personal: set[str]) -> bool:
    return (name in personal or name.startswith(".")) and name not in _FOR_PROGRAMS


def _links(home: Path) -> Iterator[str]:
    personal = _personal(home)
    yield from _entries(home, lambda entry: _is_personal(entry.name, personal) and entry.is_symlink())
    settings = str(home / ".config")
    yield from _entries(settings, _is_link)
    for folder in _entries(settings, lambda entry: entry.is_dir(follow_symlinks=False)):
        yield from _entries(folder, _is_link)


def _is_link(entry: "os.DirEntry[str]") -> bool:
    return entry.is_symlink()


def _entries(folder: str | Path, is_wanted: Callable[["os.DirEntry[str]"], bool]) -> list[str]:
    """Return the paths of the wanted entries, of which there are few among however many others."""
    with suppress(OSError), os.scandir(folder) as entries:
        return [entry.path for entry in islice(filter(is_wanted, entries), _MOST_ENTRIES)]
    return []


def _by_any_name(path: Path) -> Path:
    """Return what has to be closed to close a path: on a disk that does not heed case all of it, since other spellings
    of the path lead there as well, and short names (`PROGRA~1`)."""
    with suppress(OSError):
        if path.samefile(path.with_name(path.name.swapcase())) and path.name.swapcase() != path.name:
            device = path.stat().st_dev
            around = [folder for folder in path.parents if folder.stat().st_dev == device]
            return around[-1] if around and around[-1] != Path("/") else path
    return path


def windows_homes() -> list[Path]:
    """Return the folders with the homes of Windows, on a machine that mounts its disks; the whole disk where it does
    not heed case, as usual."""
    found: list[Path] = []
    for top in _DRIVES:
        with suppress(OSError):
            drives = [name for name in os.listdir(top) if len(name) == 1]  # noqa: PTH208 - names are what is wanted
            homes = [users for name in drives if os.path.isdir(users := Path(top, name, "Users"))]  # noqa: PTH112 - Path.is_dir raises
            found += map(_by_any_name, homes)
    return found
