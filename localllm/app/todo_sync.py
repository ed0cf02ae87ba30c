"""Report to the model what the user or another program changed in the TODO list."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from localllm.base.errors import LocalLLMError
from localllm.memory.project_memory import ProjectMemory
from localllm.text.sanitising import clean, shorten

if TYPE_CHECKING:
    from localllm.memory.todos import Todo

_PRIORITIES = {
    "high": "high",
    "medium": "medium",
    "low": "low",
}
_STATES = {
    "planned": "To do: {id} {text}",
    "doing": "In progress: {id} {text}",
    "done": "Done: {id} {text}",
    "dropped": "Dropped: {id} {text}",
}

CHANGED = "The TODO list was changed, by the user or a program"
"""The author is unknown: background commands, and tests, may write the file."""

_MOST = 10  # changes reported individually
_LONGEST = 120  # cells of a text


class TodoNews:
    """Compare the list with the version the model knows: that at the end of its last run."""

    def __init__(self, memory: ProjectMemory) -> None:
        self._memory = memory
        self._version: object = None
        self._known: Mapping[str, Todo] | None = None
        self._was_taken = False

    def seen(self) -> None:
        """Record at the end of a run that the model knows the current list, if it was sent the result of `take`. An
        unreadable file changes nothing."""
        if self._known is None or (self._was_taken and self._version != self._memory.version):
            self._look()
        self._was_taken = False

    def take(self) -> str:
        """Return the changes since, once, for the model; "" for none."""
        told = self._changed()
        self._was_taken = True  # last, since a run may be interrupted during the look-up
        return told

    def _changed(self) -> str:
        before = self._known
        if before is None or self._version == self._memory.version or not self._look():
            return ""
        changes = [shorten(clean(change, keep_newlines=False), _LONGEST) for change in _changes(before, self._known)]
        if not changes:
            return ""
        more = [f"+{len(changes) - _MOST}"] if len(changes) > _MOST else []
        return f"[{CHANGED}: {' · '.join([*changes[:_MOST], *more])}]"

    def _look(self) -> bool:
        version = self._memory.version
        try:
            todos = self._memory.system.todos() if self._memory.is_there else ()
        except LocalLLMError:
            return False
        self._version, self._known = version, {todo.id: todo for todo in todos}
        return True


def _changes(before: "Mapping[str, Todo]", now: "Mapping[str, Todo] | None") -> "Iterator[str]":
    """Yield the changes between two lists, item by item."""
    now = now or {}
    for name, todo in now.items():
        old = before.get(name)
        priority = _PRIORITIES[todo.priority]
        if old is None and todo.is_open:
            said = _STATES[todo.state].format(id=name, text=todo.text)
            yield said if todo.priority == "medium" else f"{said} ({priority})"
        elif old is not None and old.state != todo.state:
            yield _STATES[todo.state].format(id=name, text=todo.text)
        elif old is not None and old.priority != todo.priority:
            yield f"Priority {priority}: {name} {todo.text}"
    for name, todo in before.items():
        if name not in now and todo.is_open:
            yield f"Removed: {name} {todo.text}"
