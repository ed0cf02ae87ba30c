"""Restore what a repository lost: only what is still missing or corrupt. No link is followed, since a command may have
placed one where the repository was."""

import errno
import io
import os
import re
import shutil
import stat
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager, suppress
from functools import cache, partial
from pathlib import Path, PurePosixPath
from typing import IO
from uuid import uuid4

import msgspec

from localllm.base.errors import LocalLLMError, ToolExecutionError
from localllm.base.files import is_temporary
from localllm.base.jsontext import decode_msgpack
from localllm.safety.path_names import shown
from localllm.safety.paths import ProjectRoot
from localllm.sandbox.dotfiles import git_settings_of_user
from localllm.sandbox.protect.protected_paths import is_protected
from localllm.sandbox.protect.repositories.git_files import led_to, line_of
from localllm.sandbox.protect.repositories.git_index import names_refused_path
from localllm.sandbox.protect.repositories.git_settings import harmless_settings, leads_inside
from localllm.sandbox.protect.repositories.index_entries import settings_of
from localllm.snapshots.blob_store import Contents
from localllm.snapshots.change_log import UNSTAGED
from localllm.snapshots.file_state import Known, content_of, losses_of, mode_of
from localllm.snapshots.project_scan import Sign, sign_of
from localllm.snapshots.repository_losses import is_sound
from localllm.snapshots.repository_objects import (
    Objects,
    RepositoryFiles,
    entries_in_index,
    id_in,
    ids_in_log,
    is_object,
    is_ref,
    is_whole_object,
    loose_name,
    packed_refs,
)

HEAD_LOG = "logs/HEAD"
_CHUNK = 1 << 20
_ObjectsOf = Callable[[str], Objects | None]
_MOST_READ = 500_000_000  # bytes of one file that is examined
_MODE = ~0o111  # git executes none of its data


class Loss(msgspec.Struct, frozen=True, array_like=True):
    """A file to restore: its stored version (None: a folder), and the sign of what was left in its place, if any."""

    known: Known | None = None
    left: Sign | None = None


def contents_of(contents: Contents, state: str) -> set[str]:
    """Return the contents needed to restore a state."""
    return {losses_of(state), *(content_of(known.state) for known in files_lost(contents, state).values())}


def files_lost(contents: Contents, state: str) -> dict[str, Known]:
    """Return the stored versions of the files lost after a state."""
    try:
        losses = _decoded(contents.get(losses_of(state)))
    except (OSError, msgspec.DecodeError):
        return {}
    return {path: loss.known for path, loss in losses.items() if loss.known}


def restore(root: ProjectRoot, state: str, contents: Contents, since: float) -> int:
    """Restore what is still missing; return the number of files. `since` is the time of the loss (seconds since the
    epoch): later files in the way are kept. Raises ToolExecutionError if nothing is missing, or other files are in the
    way of everything."""
    try:
        losses = _decoded(contents.get(losses_of(state)))
    except (OSError, msgspec.DecodeError) as error:
        raise ToolExecutionError("undo_not_kept", path=".git") from error
    done = 0
    failures: list[ToolExecutionError] = []
    objects = cache(partial(_objects, root))
    for path in sorted(filter(_may_be_written, losses), key=_order):
        try:
            with root.open_to_owner(path):
                done += _brought_back(root, path, losses, contents, since, objects)
        except ToolExecutionError as error:
            failures.append(error)
        except FileNotFoundError:
            failures.append(ToolExecutionError("undo_not_kept", path=shown(path)))
        except OSError as error:
            failures.append(ToolExecutionError("file_unwritable", path=shown(path), reason=error.strerror))
    if failed := [error for error in failures if not done or error.key != "undo_changed_since"]:
        raise failed[0]
    return done


def _brought_back(
    root: ProjectRoot, path: str, losses: dict[str, Loss], contents: Contents, since: float, objects: _ObjectsOf
) -> bool:
    """Restore one missing file or folder; return whether a file was restored. Raises OSError, ToolExecutionError."""
    known, left = losses[path].known, losses[path].left
    if other := _ref_in_the_way(root, path):
        if known is None or "/logs/" in path:
            return False
        aside = path.replace("/refs/", "/refs/undo/", 1)
        if differs(root, aside, known, contents) and _is_ref_to_something(aside, known, contents, objects):
            _put_back(root, aside, known, contents)
        raise ToolExecutionError("undo_in_the_way", path=shown(path), other=shown(other), aside=shown(aside))
    _clear(root, path, since)
    if known is None:
        with root.open_parent(f"{path}x", make=True):
            return False
    if not differs(root, path, known, contents):
        return False
    is_packed = not left and _packed(path) not in losses and _is_packed_since(root, path, since)
    if is_packed or _was_mended(root, path, left):
        backup = contents.path(content_of(known.state))
        raise ToolExecutionError("undo_changed_since", path=shown(path), backup=backup)
    if not _is_ref_to_something(path, known, contents, objects):
        raise ToolExecutionError("undo_not_kept", path=shown(path))
    _put_back(root, path, known, contents)
    return True


def _ref_in_the_way(root: ProjectRoot, path: str) -> str:
    """Return the ref (for a log: its log) that now exists in place of this one's folder, or in a folder of its name; ""
    for none."""
    top, found, name = path.partition("/refs/")
    folders = [f"{top}{found}{name[:at]}" for at, letter in enumerate(name) if letter == "/"]
    for folder in folders:
        with suppress(OSError):
            if is_ref(data := read(root, folder)) or ids_in_log(data):
                return folder
    if found:
        with suppress(OSError), root.open_parent(f"{path}/x") as folder:
            inner = sorted(os.listdir(folder))  # noqa: PTH208 - by its descriptor
            return f"{path}/{inner[0]}" if inner else ""
    return ""


def _objects(root: ProjectRoot, top: str) -> Objects | None:
    """Return the objects in the folder of a repository; None if it keeps them elsewhere."""
    files = RepositoryFiles(root.path / top, {}, watch=False)
    files.refresh()
    if "objects/" not in files.folders or "objects/info/alternates" in files.files:
        return None
    return Objects(files.files.keys(), lambda path, last=0: read(root, f"{top}/{path}", last), (), lambda _: False)


def _is_ref_to_something(path: str, known: Known, contents: Contents, objects_of: _ObjectsOf) -> bool:
    """Whether it is no ref, or its object exists: a dangling ref makes git fail."""
    top, found, _ = path.partition("/refs/")
    name = id_in(contents.get(content_of(known.state))) if found and not top.endswith("/logs") else ""
    return not name or not (objects := objects_of(top)) or objects.has(name)


def _is_known_commondir(_data: Path, copy: Path) -> bool:
    return line_of(copy.read_bytes()) == "../.."


def _is_known_gitdir(data: Path, copy: Path) -> bool:
    """Whether it points to a work tree that points back."""
    git = data / line_of(copy.read_bytes())
    said = led_to(git)
    return bool(said) and os.path.realpath(git.parent / said) == str(data)


def _is_index(data: Path, copy: Path) -> bool:
    """Whether the index lets git read and write only paths it tracks."""
    return not names_refused_path(copy, settings_of(data / "index"))


_WRITTEN = re.compile(
    r"(?:.*/)?\.git/(?:worktrees/[^/]+/)*(?:modules/.+/)?(?:"  # what is below modules may have any name
    r"[A-Z_]+_(?:HEAD|MSG|MODE|EDITMSG)|HEAD|index|config|packed-refs|shallow|description|info/(?:exclude|sparse-checkout)"
    r"|(?:refs|logs)/(?!(?:refs/)?replace/)(?!\.)(?!.*/\.).*|objects/(?!info/(?:http-)?alternates).*|lfs/objects/.*|)"
    r"|(?:.*/)?\.git/(?:modules/.+/)?worktrees/[^/]+/(?:commondir|gitdir)",
    re.DOTALL,
)
_JUDGED = {"commondir": _is_known_commondir, "gitdir": _is_known_gitdir, "index": _is_index}
"""Checks of files by which git finds other files, before they are restored, with the folder of their data. A background
command may have changed such a file just before it was stored."""


def _may_be_written(path: str) -> bool:
    """Whether the file can be restored without anything outside the sandbox executing its content. A command can fake a
    loss of any file, so hooks, attributes, references to other repositories, replaced objects and pending steps are
    never restored, nor the log of a branch with a name that a program trusts."""
    in_data = f"/{path}".rpartition("/.git/")[2]  # the repository may lie in a folder `logs`
    _, is_log, ref = f"/{in_data}".rpartition("/logs/")
    is_trusted_log = bool(is_log) and is_protected(ref)
    return bool(_WRITTEN.fullmatch(path)) and ".." not in path.split("/") and not is_trusted_log


def _order(path: str) -> tuple[bool, bool, bool, str]:
    """Sort objects first, HEAD last: if the program is killed, git sees no half-restored repository."""
    return path.endswith("/HEAD"), path.endswith("/packed-refs"), not is_object(path), path


def _was_mended(root: ProjectRoot, path: str, left: Sign | None) -> bool:
    """Whether a valid file was placed there since."""
    try:
        with _opened(root, path) as file:
            if left == sign_of(os.fstat(file)):
                return False
        data = read(root, path)
    except OSError:
        return False
    return is_sound(path.partition(".git/")[2], data)


def _packed(path: str) -> str:
    return f"{path.partition('/refs/')[0]}/packed-refs"


def _is_packed_since(root: ProjectRoot, path: str, since: float) -> bool:
    """Whether a ref is in packed-refs, written after it was lost."""
    try:
        with _opened(root, _packed(path)) as file:
            if os.fstat(file).st_ctime <= since:
                return False
        return f"refs/{path.partition('/refs/')[2]}" in (packed_refs(read(root, _packed(path))) or {})
    except OSError:
        return False


def _kept(root: ProjectRoot, path: str, copy: Path) -> IO[bytes]:
    """Open the stored version; of settings, only those that cannot make git execute something or use other places."""
    data, _, name = path.rpartition("/")
    if name != "config":
        return copy.open("rb")
    user = git_settings_of_user(os.environ)
    return io.BytesIO(
        harmless_settings(copy.read_bytes(), lambda address: leads_inside(root.path, root.path / data, address, user))
    )


def _put_back(root: ProjectRoot, path: str, known: Known, contents: Contents) -> None:
    data, _, name = path.rpartition("/")
    copy = contents.path(content_of(known.state))
    if name in _JUDGED and not _JUDGED[name](root.path / data, copy):
        if name == "index":
            raise ToolExecutionError("undo_not_kept", path=shown(path))
        return
    if (loose := loose_name(path)) and not is_whole_object(
        loose, copy.read_bytes()
    ):  # stored while a command forged it
        raise ToolExecutionError("undo_not_kept", path=shown(path))
    with _kept(root, path, copy) as source, root.open_parent(path, make=True) as folder:
        for left in os.listdir(folder):  # noqa: PTH208 - by its descriptor
            if is_temporary(left):
                os.unlink(left, dir_fd=folder)
        temporary = f".localllm-{uuid4().hex[:12]}.tmp"
        target = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600, dir_fd=folder)
        try:
            with open(target, "wb", closefd=False) as file:
                shutil.copyfileobj(source, file, _CHUNK)
            os.fchmod(target, mode_of(known.state) & _MODE)
            os.replace(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
        except OSError:
            with suppress(FileNotFoundError):
                os.unlink(temporary, dir_fd=folder)
            raise
        finally:
            os.close(target)


def _clear(root: ProjectRoot, path: str, since: float) -> None:
    """Remove links and other non-folders in place of the parent folders, and a non-file in place of the file."""
    parts = path.rstrip("/").split("/")
    for at in range(1, len(parts) + 1):
        is_file = at == len(parts) and not path.endswith("/")
        try:
            with root.open_parent("/".join(parts[:at])) as folder:
                facts = os.stat(parts[at - 1], dir_fd=folder, follow_symlinks=False)
                wanted = stat.S_ISREG(facts.st_mode) if is_file else stat.S_ISDIR(facts.st_mode)
                if wanted:
                    continue
                if facts.st_ctime > since:
                    raise ToolExecutionError("undo_changed_since_made", path=shown("/".join(parts[:at])))
                if stat.S_ISDIR(facts.st_mode):
                    os.rmdir(parts[at - 1], dir_fd=folder)
                else:
                    os.unlink(parts[at - 1], dir_fd=folder)
        except FileNotFoundError:
            return


def open_file(folder: int, path: str) -> int:
    """Open a regular file of an open folder, by the last part of its path. Raises OSError."""
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
    file = os.open(path.rpartition("/")[2], flags, dir_fd=folder)
    if not stat.S_ISREG(os.fstat(file).st_mode):
        os.close(file)
        raise FileNotFoundError(path)
    return file


@contextmanager
def _opened(root: ProjectRoot, path: str) -> Generator[int]:
    with root.open_parent(path) as folder:
        file = open_file(folder, path)
    try:
        yield file
    finally:
        os.close(file)


def read(root: ProjectRoot, path: str, last: int = 0) -> bytes:
    """Read a file, or its `last` bytes. Raises OSError."""
    with _opened(root, path) as file, os.fdopen(os.dup(file), "rb") as data:
        size = os.fstat(file).st_size
        if last:
            data.seek(-min(last, size), os.SEEK_END)
        elif size > _MOST_READ:
            raise OSError(errno.EFBIG, os.strerror(errno.EFBIG))
        return data.read(last or _MOST_READ)


def staged_entries(root: ProjectRoot, top: str) -> dict[str, str]:
    """Return the objects in a repository's index by file; empty if it cannot be read, or is of version 4."""
    with suppress(OSError):
        return dict(entries_in_index(read(root, f"{top}index"), 20))
    return {}


def still_staged(root: ProjectRoot, staged: Mapping[str, tuple[str, float]]) -> list[str]:
    """Return the files whose entry in git's index is still the one in `staged` (see Change), made at that time, and
    which no later commit has taken."""
    found: list[str] = []
    entries: dict[str, dict[str, str]] = {}
    for path, (name, since) in staged.items():
        folders = (f"{folder}/" if str(folder) != "." else "" for folder in PurePosixPath(path).parents)
        top = next((folder for folder in folders if (root.path / folder / ".git").is_dir()), None)
        if top is None:
            continue
        now = entries.setdefault(top, staged_entries(root, f"{top}.git/"))
        is_there = bool(now) and now.get(path.removeprefix(top), UNSTAGED) == name
        if is_there and not _has_moved_since(root, f"{top}.git/{HEAD_LOG}", since):
            found.append(path)
    return found


def _has_moved_since(root: ProjectRoot, log: str, since: float) -> bool:
    """Return whether HEAD's log was written to after `since` (seconds since the epoch)."""
    try:
        return root.stat(log).st_mtime > since
    except LocalLLMError:
        return False


def differs(root: ProjectRoot, path: str, known: Known, contents: Contents) -> bool:
    """Whether a file differs from its copy, or is missing. Raises FileNotFoundError if there is no copy."""
    copy = contents.path(content_of(known.state))
    size = copy.stat().st_size
    try:
        with _opened(root, path) as file, os.fdopen(os.dup(file), "rb") as one, copy.open("rb") as other:
            if os.fstat(file).st_size != size:
                return True
            while data := one.read(_CHUNK):
                if data != other.read(_CHUNK):
                    return True
    except OSError:
        return True
    return False


def encoded(losses: dict[str, Loss]) -> bytes:
    """Serialise losses: see `restore`."""
    return msgspec.msgpack.encode({os.fsencode(path): loss for path, loss in losses.items()})


def _decoded(data: bytes) -> dict[str, Loss]:
    found = decode_msgpack(data, dict[bytes, Loss])
    return {os.fsdecode(path): loss for path, loss in found.items()}
