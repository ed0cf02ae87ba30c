"""The repository a project belongs to: where its data lies, and whether any of it leads elsewhere.

What a repository says of itself is not believed: that its data is in another folder, that objects are kept elsewhere.
Git would follow it, and read or write there.
"""

import os
import re
import stat
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from localllm.base.errors import ToolExecutionError
from localllm.base.files import real_path
from localllm.base.regular_files import NO_LINK, READ, opened
from localllm.sandbox.git_config import Setting, parse
from localllm.sandbox.protect.symlinks import find_plain

_MOST = 1 << 16  # bytes of git's small files
_MOST_WHOLE = 1 << 22  # bytes of settings, and of a list of alternates
MOST_FOLDERS = 20_000
"""Of one repository's data. A folder costs some microseconds."""
_MOST_ALTERNATES = 50
_GITDIR = "gitdir: "
_HEAD = re.compile(rb"ref:\s*refs/|[0-9a-fA-F]{40}")


class Place(NamedTuple):
    """Where a repository is. Links in the paths are resolved.

    `top`: its work tree. `folder`: the data of that work tree. `common`: the data of the whole repository, which for a
    linked work tree is another folder. `confirmed`: folders outside of `top` that say themselves they belong to it.
    """

    top: Path
    folder: Path
    common: Path
    confirmed: tuple[Path, ...] = ()


def find_place(root: Path) -> Place | None:
    """The repository the folder `root` (links resolved) lies in, as git finds it; None where there is none, or where it
    claims another work tree.

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
            if _is_repository(git):
                return Place(top, git, _common(git))
            if top == root:  # git would go on to another one, around the project
                raise ToolExecutionError("git_broken", path=git)
        elif stat.S_ISREG(mode):
            return _of_gitfile(top, git)
        elif stat.S_ISLNK(mode):
            return _of_link(top, git)
    return None


def _is_repository(folder: Path) -> bool:
    """Git passes over a folder that is none, and goes on in the folder above."""
    has_data = os.path.isdir(folder / "objects") and os.path.isdir(folder / "refs")  # noqa: PTH112 - Path's may raise
    return has_head(folder) and (has_data or os.path.lexists(folder / "commondir"))


def has_head(folder: Path) -> bool:
    """Whether the HEAD of a repository is one that git believes."""
    head = folder / "HEAD"
    try:
        return str(head.readlink()).startswith("refs/")
    except OSError:
        return bool(_HEAD.match(_content(head)))


def _common(folder: Path) -> Path:
    said = _line(folder / "commondir")
    return _real(folder / said) if said else folder


def _of_link(top: Path, git: Path) -> Place:
    real = _real(git)
    if not real.is_relative_to(top) or not real.is_dir():
        raise ToolExecutionError("git_leads_out", path=git, target=real)
    return Place(top, real, _common(real))


def _of_gitfile(top: Path, git: Path) -> Place:
    said = _line(git)
    if not said.startswith(_GITDIR):
        return Place(top, git, git)  # git will say what is wrong with it
    folder = _real(top / said.removeprefix(_GITDIR))
    if folder.is_relative_to(top):
        return Place(top, folder, _common(folder))
    common = _common(folder)
    if folder.parent == common / "worktrees" and _real(folder / _line(folder / "gitdir")) == git:
        return Place(top, folder, common, (common,))
    if _is_repository(folder) and _work_tree(Place(top, folder, common)) == top:
        return Place(top, folder, common, (folder,))
    raise ToolExecutionError("git_leads_out", path=git, target=folder)


def _work_tree(place: Place) -> Path | None:
    """Where the settings say that the work tree is, as those of submodules do; None where they do not say it. What all
    work trees share says it of the first one."""
    shared = _settings(place.common / "config") if place.folder == place.common else []
    settings = [*shared, *_settings(place.folder / "config.worktree")]
    named = [one.value for one in settings if (one.section, one.name) == ("core", "worktree")]
    return _real(place.folder / named[-1]) if named else None


def around(root: Path, never: Iterable[Path]) -> list[Path]:
    """The folders outside `root` (links resolved) that git, and the project's own tools, read: its commands may, too.

    For a folder of a repository, all of that; not where it is one of `never` (homes, `/tmp`) or holds one, nor where
    it is somebody else's. For a linked work tree or a submodule the data of its repository, if that knows it as well.
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
    """Looks whether a repository leads out of itself; what did not change since the last time is not read again."""

    def __init__(self) -> None:
        from localllm.sandbox.protect.repository_kinds import RepositoryKinds  # only git needs them, not each start

        self._kinds = RepositoryKinds()

    def refuse_leads(self, place: Place, root: Path, allowed_includes: Sequence[Path] | None = None) -> None:
        """Raise ToolExecutionError("git_leads_out") for a link, a list of alternates or a common folder that leads
        elsewhere than to the project, the repository's work tree, or what confirms it.

        With `allowed_includes`, also for settings that include a file elsewhere which is none of these.
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
        from localllm.sandbox.protect.repository_kinds import Data

        found = self._kinds.look([Data(str(top))], MOST_FOLDERS)
        if not found.is_complete:
            raise ToolExecutionError("git_too_many_folders", path=top, most=MOST_FOLDERS)
        for entry in found.strange:
            if entry.is_symlink():
                yield Path(entry.path), Path(entry.path)


def settings_of(place: Place) -> list[Setting]:
    """What a repository's own settings files say, for this work tree."""
    return [*_settings(place.common / "config"), *_settings(place.folder / "config.worktree")]


def linked_git(data: Path) -> Path:
    """The `.git` of the linked work tree that its data is said to be of."""
    return data / _line(data / "gitdir")


def linked_data(root: Path, git: Path) -> Path | None:
    """The data of a linked work tree or a submodule with the file `git`, if it lies in that of another repository of
    the project `root`, and both tell of each other; no link or folder of packages may be on any of the ways."""
    said = _line(git)
    data = find_plain(root, git.parent / said.removeprefix(_GITDIR))
    owner = next((folder for folder in data.parents if folder.name == ".git"), None) if data else None
    if not said.startswith(_GITDIR) or data is None or owner is None or find_plain(root, git) != git:
        return None
    if data.parent.name == "worktrees":
        common = find_plain(root, data / _line(data / "commondir"))
        return data if common == data.parents[1] and linked_git(data) == git else None
    named = [one.value for one in _settings(data / "config") if (one.section, one.name) == ("core", "worktree")]
    is_module = "modules" in data.relative_to(owner).parts and len(named) == 1
    return data if is_module and find_plain(root, data / named[0]) == git.parent else None


def data_folders(git: Path) -> list[Path]:
    """Where the data of the repository with this `.git` lies, and what its work trees share: `.git` may be a file, or
    a link."""
    said = _line(git)
    if said.startswith(_GITDIR):
        git = _real(git.parent / said.removeprefix(_GITDIR))
    elif os.path.islink(git):  # noqa: PTH114 - Path's may raise
        git = _real(git)
    return [git, _common(git)]


def _alternates_in(content: bytes, objects: Path) -> list[Path]:
    """The folders of objects that a list of alternates (gitrepository-layout(5)) in the folder `objects` names."""
    lines = content.decode("utf-8", "surrogateescape").split("\n")
    return [objects / _unquoted(line.replace("\0", "")) for line in lines if line and not line.startswith("#")]


def _unquoted(line: str) -> str:
    """The line; of one in quotation marks, which git itself never writes, that it may lead anywhere."""
    return os.sep if line.startswith('"') else line


def all_alternates(objects: Path) -> Iterator[tuple[Path, Path]]:
    """All alternates, also those of alternates: the list each stands in, and where it leads. Raises
    ToolExecutionError("git_too_large")."""
    pending = [objects]
    for folder in pending:
        file = folder / "info" / "alternates"
        for target in _alternates_in(_whole(file), folder):
            yield file, target
            if len(pending) < _MOST_ALTERNATES:
                pending.append(_real(target))


def _included(file: Path) -> Iterator[Path]:
    for setting in _settings(file):
        if setting.section in ("include", "includeif") and setting.name == "path":
            value = setting.value
            yield Path.home() / value[2:] if value.startswith("~/") else file.parent / value


def _settings(file: Path) -> list[Setting]:
    return list(parse(_whole(file)))


def _has_one_owner(*paths: Path) -> bool:
    try:
        return len({path.stat().st_uid for path in paths}) == 1
    except OSError:
        return False


def _real(path: Path) -> Path:
    try:
        return Path(real_path(path))
    except OSError:
        return Path("/")  # more links than can be followed: it counts as leading out


def _line(path: Path) -> str:
    """What a file says, "" where it cannot be read."""
    return _content(path).decode("utf-8", "surrogateescape").strip().replace("\0", "")


def _whole(path: Path) -> bytes:
    """A file that must not be believed in part; a link is followed, as git does."""
    content = _content(_real(path), _MOST_WHOLE + 1)
    if len(content) > _MOST_WHOLE:
        raise ToolExecutionError("git_too_large", path=path, most=_MOST_WHOLE)
    return content


def _content(path: Path, most: int = _MOST) -> bytes:
    """The beginning of a regular file, nothing where there is none."""
    try:
        with opened(os.open(path, READ | NO_LINK)) as file:
            return file.read(most)
    except OSError:
        return b""
