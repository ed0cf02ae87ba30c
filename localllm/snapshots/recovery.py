"""After a program was killed: what it had changed is found and made undoable, what it left half written is removed."""

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import msgspec

from localllm.base.errors import LocalLLMError
from localllm.base.files import is_temporary
from localllm.safety.paths import ProjectRoot
from localllm.snapshots.change_log import Begun, Change, ChangeLog, Ended, Line, TakenBack
from localllm.snapshots.file_state import is_in_state, look

Finder = Callable[[Begun], list[Change]]
"""What a call that never ended has changed."""


def recover(root: ProjectRoot, log: ChangeLog, dead: list[str], find: Finder) -> list[Change]:
    """Record what the `dead` programs' calls had changed by when they were killed; these changes.

    Whoever calls it holds the journal's lock.
    """
    changes: list[Change] = []
    logged = log.read()
    open_calls = [begun for begun in logged.open_calls if begun.program in dead]
    for begun in open_calls:
        changes += [msgspec.structs.replace(one, turn=begun.turn, program=begun.program) for one in find(begun)]
    undoing = {name for begun in open_calls for name in begun.undoes}
    undone = [one for one in logged.changes if one.name in undoing and is_in_state(root, one.path, one.before)]
    lines: list[Line] = [*changes, TakenBack(tuple(one.name for one in undone))]
    log.append([*lines, *(Ended(begun.call) for begun in open_calls)])
    return changes


def changed_by(root: ProjectRoot, begun: Begun, make: Callable[[str, str, str], Change]) -> list[Change]:
    """What a call on known files has changed; what it left half written beside them is removed.

    `make` gives the change of a path, its state before and after.
    """
    changes: list[Change] = []
    for path, before in begun.paths.items():
        with suppress(LocalLLMError, OSError):
            root.remove_leftovers(path)
        with suppress(LocalLLMError):  # something else stands there now: what was kept of it can still be named
            if (after := look(root, path)) != before and not begun.undoes:
                changes.append(make(path, before, after))
    return changes


def remove_temporaries(folder: Path) -> None:
    """Remove what `atomic_write` left in `folder`."""
    for file in folder.glob("*"):
        if is_temporary(file.name):
            file.unlink()
