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
"""Who it was is not known: commands in the background, and tests, may write the file."""

_MOST = 10  # changes that are told one by one
_LONGEST = 120  # cells of a text


class TodoNews:
    """Compares the list with what the model knows of it, which is how it was when its last run ended."""

    def __init__(self, memory: ProjectMemory) -> None:
        self._memory = memory
        self._version: object = None
        self._known: Mapping[str, Todo] | None = None
        self._was_taken = False

    def seen(self) -> None:
        """A run has ended: the model knows the list as it is now, if it was told what `take` gave. A file that cannot
        be read leaves what it knew."""
        if self._known is None or (self._was_taken and self._version != self._memory.version):
            self._look()
        self._was_taken = False

    def take(self) -> str:
        """What has changed since, once, for the model; "" where nothing has."""
        told = self._changed()
        self._was_taken = True  # only now: a run may be broken off, and end, while this is looked up
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
    """What a reader of the list before would not know, item by item."""
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
