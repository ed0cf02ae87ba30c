"""Find the repository a project belongs to: where its data is, and whether any of it leads elsewhere.

What a repository states about itself is not trusted: that its data is in another folder, that objects are stored
elsewhere. Git would follow it, and read or write there.
"""

import os
import stat
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

import msgspec

from localllm.base.errors import ToolExecutionError
from localllm.base.files import real_path
from localllm.base.folded_names import folded
from localllm.base.regular_files import NO_LINK, READ, opened
from localllm.sandbox.git_config import Setting, expanded, parse
from localllm.sandbox.protect.repositories.git_files import alternates_in, has_head, is_repository, led_to, said_in
from localllm.sandbox.symlinks import find_plain

_MOST_WHOLE = 1 << 22  # bytes of a config file or a list of alternates
MOST_FOLDERS = 20_000
"""In the data of one repository. A folder costs some microseconds."""
_MOST_ALTERNATES = 50
_MOST_INCLUDED = 50  # files of settings; each may include others
_OF_MODULE, _NOWHERE = "modules", "?"


class Place(msgspec.Struct, frozen=True):
    """Where a repository is. Symlinks in the paths are resolved.

    `top`: its work tree. `folder`: the data of that work tree. `common`: the data of the whole repository, another
    folder if the work tree is a linked one. `confirmed`: folders outside `top` whose own content says that they belong
    to it.
    """

    top: Path
    folder: Path
    common: Path
    confirmed: tuple[Path, ...] = ()


def find_place(root: Path) -> Place | None:
    """Return the repository that the folder `root` (symlinks resolved) is in, as git finds it; None if there is none,
    or it claims another work tree.

    Raises ToolExecutionError: "git_broken" for a `.git` of `root` that is no repository, "git_leads_out" for one that
    leads to a folder which does not confirm it.
    """
    place = _nearest(root)
    return place if place and _work_tree(place) in (None, place.top) else None


def _nearest(root: Path) -> Place | None:
    for top in (root, *root.parents):
        git = top / ".git"
        try:
            mode = git.lstat().st_mode
        except OSError:
            continue
        if stat.S_ISDIR(mode):
            if is_repository(git):
                return Place(top, git, _common(git))
            if top == root:  # git would use another one, around the project
                raise ToolExecutionError("git_broken", path=git)
        elif stat.S_ISREG(mode):
            return _of_gitfile(top, git)
        elif stat.S_ISLNK(mode):
            return _of_link(top, git)
    return None


def _common(folder: Path) -> Path:
    said = said_in(folder / "commondir")
    return _real(folder / said) if said else folder


def _of_link(top: Path, git: Path) -> Place:
    real = _real(git)
    if not real.is_relative_to(top) or not os.path.isdir(real):  # noqa: PTH112 - pathlib raises where a name is too long
        raise ToolExecutionError("git_leads_out", path=git, target=real)
    return Place(top, real, _common(real))


def _of_gitfile(top: Path, git: Path) -> Place:
    said = led_to(git)
    if not said:
        return Place(top, git, git)  # git will report what is wrong with it
    folder = _real(top / said)
    if folder.is_relative_to(top):
        return Place(top, folder, _common(folder))
    common = _common(folder)
    if folder.parent == common / "worktrees" and _real(folder / said_in(folder / "gitdir")) == git:
        return Place(top, folder, common, (common,))
    if is_repository(folder) and _work_tree(Place(top, folder, common)) == top:
        return Place(top, folder, common, (folder,))
    raise ToolExecutionError("git_leads_out", path=git, target=folder)


def _work_tree(place: Place) -> Path | None:
    """Return the work tree that the config names, as it does for submodules; None if it names none. The config that all
    work trees share names that of the main one."""
    shared = _settings(place.common / "config") if place.folder == place.common else []
    settings = [*shared, *_settings(place.folder / "config.worktree")]
    named = [one.value for one in settings if (one.section, one.name) == ("core", "worktree")]
    return _real(place.folder / named[-1]) if named else None


def around(root: Path, never: Iterable[Path]) -> list[Path]:
    """Return the folders outside `root` (symlinks resolved) that git and the project's own tools read: its commands
    may, too.

    For a folder of a repository, the whole repository; not if that is one of `never` (homes, `/tmp`) or contains one,
    nor if it has another owner. For a linked work tree or a submodule, the data of its repository if that confirms it.
    """
    try:
        place = find_place(root)
    except ToolExecutionError:
        return []
    if place is None:
        return []
    if place.top == root:
        return list(place.confirmed)
    if any(folder.is_relative_to(place.top) for folder in never) or not _has_one_owner(place.top / ".git", root):
        return []
    return [place.top, *place.confirmed]


class RepositoryCheck:
    """Checks whether a repository leads out of itself; what has not changed is not read again."""

    def __init__(self) -> None:
        from localllm.sandbox.protect.repositories.repository_kinds import (
            RepositoryKinds,  # only git needs them, not each start
        )

        self._kinds = RepositoryKinds(is_for_git=True)

    def refuse_leads(self, place: Place, root: Path, allowed_includes: Sequence[Path] | None = None) -> None:
        """Raise ToolExecutionError("git_leads_out") for a symlink, a list of alternates or a common folder that leads
        elsewhere than to the project, the repository's work tree, or what confirms it.

        With `allowed_includes`, also for config that includes a file elsewhere which is none of these.
        """
        inside = (root, place.top, *place.confirmed)
        for path, target in self._leads(place, includes=allowed_includes is not None):
            real = _real(target)
            is_included = allowed_includes is not None and path.name.startswith("config") and real in allowed_includes
            if not (is_included or any(real.is_relative_to(folder) for folder in inside)):
                raise ToolExecutionError("git_leads_out", path=path, target=real)

    def _leads(self, place: Place, *, includes: bool) -> Iterator[tuple[Path, Path]]:
        yield place.folder / "commondir", place.common
        yield from all_alternates(place.common / "objects")
        for folder in dict.fromkeys((place.folder, place.common)):
            yield from self._links(folder)
        if includes:
            for file in dict.fromkeys((place.common / "config", place.folder / "config.worktree")):
                yield from ((file, target) for target in _included(file))

    def _links(self, top: Path) -> Iterator[tuple[Path, Path]]:
        from localllm.sandbox.protect.repositories.repository_kinds import Data

        found = self._kinds.look([Data(str(top))], MOST_FOLDERS)
        if not found.is_complete:
            raise ToolExecutionError("git_too_many_folders", path=top, most=MOST_FOLDERS)
        for entry in found.strange:
            if entry.is_symlink():
                yield Path(entry.path), Path(entry.path)


def settings_of(place: Place) -> list[Setting]:
    """Return the settings in a repository's own config files, for this work tree."""
    return [*_settings(place.common / "config"), *_settings(place.folder / "config.worktree")]


def _not_known(_file: Path) -> None:
    return None


def all_settings_of(place: Place, home: str, read: Callable[[Path], bytes | None] = _not_known) -> list[Setting]:
    """Return the same with what these files include, under whichever condition: see `with_included`."""
    files = (place.common / "config", place.folder / "config.worktree")
    return [one for file in files for one in with_included(_settings(file), file.parent, home, read)]


def with_included(
    settings: Iterable[Setting], beside: Path, home: str, read: Callable[[Path], bytes | None] = _not_known
) -> Iterator[Setting]:
    """Yield the settings of a file in the folder `beside`, and those of the files that it includes, under whichever
    condition; these are named by their absolute paths. `read`: returns the content of one, or None to look there."""
    pending, seen = [(settings, beside)], set[Path]()
    for some, folder in pending:  # grows meanwhile
        for one in some:
            if one.section not in ("include", "includeif") or one.name != "path":
                yield one
                continue
            file = folder / expanded(one.value, home)
            yield one._replace(value=str(file))
            if file not in seen and len(seen) < _MOST_INCLUDED:
                seen.add(file)
                with suppress(ToolExecutionError):  # too large
                    content = read(file)
                    pending.append((list(parse(whole(file) if content is None else content)), file.parent))


def linked_git(data: Path) -> Path:
    """Return the `.git` of the linked work tree that the data claims to belong to."""
    return data / said_in(data / "gitdir")


def linked_data(root: Path, git: Path, said: str = "") -> Path | None:
    """Return the data of the linked work tree or submodule with the file `git`; None unless it is in the data of
    another repository of the project `root`, both name each other, and no path between them has a symlink or a package
    folder. The project itself is no work tree of a repository within it. `said`: where the file would lead, if it is
    missing."""
    said = said or led_to(git)
    data = find_plain(root, git.parent / said) if said else None
    if data is None or git.parent == root or find_plain(root, git) != git:
        return None
    if data.parent.name == "worktrees":
        common = data.parents[1]
        is_known = find_plain(root, data / said_in(data / "commondir")) == common and linked_git(data) == git
        return data if is_known and _has_data(common) and _place_in_git(root, common) != _NOWHERE else None
    named = [one.value for one in _settings(data / "config") if (one.section, one.name) == ("core", "worktree")]
    is_module = _place_in_git(root, data) == _OF_MODULE and len(named) == 1
    is_module &= not os.path.lexists(data / "commondir")
    return data if is_module and find_plain(root, data / named[0]) == git.parent else None


def _place_in_git(root: Path, data: Path) -> str:
    """Return where a folder of the project `root` is: where git keeps the data of submodules, nowhere in a `.git`, or
    elsewhere in one, where nothing looks for the settings and hooks of a repository."""
    parts = data.relative_to(root).parts
    first = next((at for at, part in enumerate(parts) if folded(part) == ".git"), len(parts))
    if first >= len(parts) - 1:
        return ""
    inside = parts[first + 1 :]
    inside = inside[2:] if inside[0] == "worktrees" else inside
    is_of_module = len(inside) > 1 and inside[0] == "modules" and is_repository(Path(root, *parts[: first + 1]))
    return _OF_MODULE if is_of_module else _NOWHERE


def _has_data(folder: Path) -> bool:
    """Return whether a folder has all the data of a repository, and is found as one: called `.git`, or with a HEAD."""
    is_seen = folder.name == ".git" or has_head(folder)
    return is_seen and not os.path.lexists(folder / "commondir") and is_repository(folder)


def data_folders(git: Path) -> list[Path]:
    """Return the folders with the data of the repository with this `.git`, which may be a file or a symlink: its own,
    and what its work trees share."""
    if os.path.islink(git):  # noqa: PTH114 - Path's may raise
        git = _real(git)
    if os.path.isfile(git) and (said := led_to(git)):  # noqa: PTH113 - Path's may raise
        git = _real(git.parent / said)
    return [git, _common(git)]


def all_alternates(objects: Path) -> Iterator[tuple[Path, Path]]:
    """Yield all alternates, also those of alternates: the list that names each, and where it leads. Raises
    ToolExecutionError("git_too_large")."""
    pending = [objects]
    for folder in pending:
        file = folder / "info" / "alternates"
        for target in alternates_in(whole(file), folder):
            yield file, target
            if len(pending) < _MOST_ALTERNATES:
                pending.append(_real(target))


def _included(file: Path) -> Iterator[Path]:
    home = os.path.expanduser("~")  # noqa: PTH111 - Path.home() raises where there is none
    for setting in _settings(file):
        if setting.section in ("include", "includeif") and setting.name == "path":
            yield file.parent / expanded(setting.value, home)


def _settings(file: Path) -> list[Setting]:
    return list(parse(whole(file)))


def _has_one_owner(*paths: Path) -> bool:
    try:
        return len({path.stat().st_uid for path in paths}) == 1
    except OSError:
        return False


def _real(path: Path) -> Path:
    try:
        return Path(real_path(path))
    except OSError:
        return Path("/")  # too many symlinks: it counts as leading out


def whole(path: Path) -> bytes:
    """Return the content of a file that must not be trusted in part; nothing if there is none. Follows symlinks, as git
    does."""
    try:
        with opened(os.open(_real(path), READ | NO_LINK)) as file:
            content = file.read(_MOST_WHOLE + 1)
    except OSError:
        return b""
    if len(content) > _MOST_WHOLE:
        raise ToolExecutionError("git_too_large", path=path, most=_MOST_WHOLE)
    return content
