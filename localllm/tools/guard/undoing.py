"""Taking one change of one file back: only where the file is as the change left it."""

import time
from collections.abc import Callable

import msgspec

from localllm.base.errors import LocalLLMError, ToolExecutionError
from localllm.base.i18n import Phrase, tr
from localllm.tools.guard.change_log import Change
from localllm.tools.guard.contents import Contents
from localllm.tools.guard.paths import ProjectRoot, shown
from localllm.tools.guard.states import ABSENT, content_of, is_in_state, is_unkept, mode_of


class Undone(msgspec.Struct, frozen=True, kw_only=True):
    """What became of one file when a change was taken back: `error` says why it was left as it is.

    `earlier` is when it had been changed (seconds since the epoch), where another program or session did it; else 0.
    """

    path: str
    deleted: bool = False
    earlier: float = 0.0
    error: LocalLLMError | None = None

    def __str__(self) -> str:
        if self.error:
            return str(self.error)
        line = tr("undo.deleted" if self.deleted else "undo.restored", path=shown(self.path))
        if not self.earlier:
            return line
        return tr("undo.earlier", line=line, when=time.strftime("%Y-%m-%d %H:%M", time.localtime(self.earlier)))


def take_back(
    root: ProjectRoot,
    change: Change,
    contents: Contents,
    *,
    keep: Callable[[ProjectRoot, str], str],
    earlier: float = 0.0,
) -> Undone:
    """Make the file what it was before `change`; `keep` keeps it as it is now. Whoever calls it holds `writing()`."""
    try:
        if not is_in_state(root, change.path, change.after):
            raise _changed_since(change, contents)
        if is_unkept(change.before):
            raise ToolExecutionError("undo_not_kept", path=shown(change.path))
        over = _kept_now(root, change, contents, keep)
        if change.before == ABSENT:
            root.delete(change.path)
            return Undone(path=change.path, deleted=True, earlier=earlier)
        content, mode = _content(change.path, change.before, contents), mode_of(change.before)
        root.write_bytes(change.path, content, mode=mode, over=over, create_only=change.after == ABSENT)
    except LocalLLMError as error:
        return Undone(path=change.path, error=error)
    return Undone(path=change.path, earlier=earlier)


def _kept_now(
    root: ProjectRoot, change: Change, contents: Contents, keep: Callable[[ProjectRoot, str], str]
) -> bytes | None:
    """What the file holds, which is kept; None where it is not there, or not to be kept."""
    if change.after == ABSENT or is_unkept(change.after):
        return None
    if keep(root, change.path) != change.after:  # changed just now
        raise _changed_since(change, contents)
    return _content(change.path, change.after, contents)


def _content(path: str, state: str, contents: Contents) -> bytes:
    try:
        return contents.get(content_of(state))
    except OSError as error:
        raise ToolExecutionError("undo_not_kept", path=shown(path)) from error


def _changed_since(change: Change, contents: Contents) -> ToolExecutionError:
    nowhere = Phrase("undo.was_absent")
    backup = nowhere if change.before == ABSENT else contents.path(content_of(change.before))
    return ToolExecutionError("undo_changed_since", path=shown(change.path), backup=backup)
