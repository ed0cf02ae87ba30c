"""Read, add and change TODO items, and read tasks from plan files.

    - [ ] Text (high) +2026-11-01
    - [x] Text +2026-11-01 ✓2026-11-22
    - [完了] 本文 (高)

`[ ]` planned, `[~]` doing, `[x]` done, `[-]` dropped; words such as 予定, 進行中, 完了 and 中止 are equivalent.
An item without a mark is planned. The id is computed from the text, so it is not stored in the file.
"""

import errno
import os
from collections.abc import Sequence
from contextlib import suppress
from datetime import date
from pathlib import Path
from textwrap import dedent
from typing import NamedTuple

import msgspec

from localllm.base.errors import ConfigurationError, ToolExecutionError
from localllm.base.files import open_folder, real_path
from localllm.base.i18n import N_, Phrase
from localllm.base.regular_files import read_beneath, read_regular
from localllm.memory.document import Document, Item
from localllm.memory.entries import (
    OPEN,
    PRIORITIES,
    PRIORITY_OF,
    Parts,
    Priority,
    State,
    ends_in_priority,
    parse,
    parse_task,
    plain,
    restyled,
    tidy,
)
from localllm.memory.item_ids import Named, ids_of, one_of
from localllm.text.decoding import NotTextError, decode
from localllm.text.sanitising import clean

_PRIORITIES = {
    "high": N_("high"),
    "medium": N_("medium"),
    "low": N_("low"),
}


def as_priority(text: str) -> Priority:
    """Return the priority for an English or Japanese word; ToolExecutionError memory_bad_kind."""
    if known := PRIORITY_OF.get(text.strip().lower()):
        return known
    raise ToolExecutionError("memory_bad_kind", value=clean(text, keep_newlines=False), choices=", ".join(PRIORITIES))


class Todo(msgspec.Struct, frozen=True):
    """A TODO. `number`: its position among all items of the section, from 1; `added`, `finished`: ISO dates, empty
    if unknown; `details`: the nested lines as in the file."""

    id: str
    number: int
    text: str
    state: State = "planned"
    priority: Priority = "medium"
    added: str = ""
    finished: str = ""
    details: str = ""

    @property
    def is_open(self) -> bool:
        """Whether it is not done or dropped."""
        return self.state in OPEN


def todos(document: Document) -> tuple[Todo, ...]:
    """Return the items of the TODO section in order, including finished ones."""
    return tuple(todo for todo, _, _ in _all(document))


def find(document: Document, wanted: str) -> Todo:
    """Return an item by id, number in the list, or beginning of the text (open items are preferred).

    ToolExecutionError memory_unknown, or memory_ambiguous if several match.
    """
    return _find(document, wanted)[0]


def add(document: Document, text: str, priority: Priority | None = None, *, today: date) -> tuple[Document, Todo]:
    """Add an item at the end of the list; return the existing one if it is open already.

    Notation of the file in the text counts. ToolExecutionError memory_text_empty if there is no text,
    memory_two_priorities if it contains one other than `priority`.
    """
    title, *details = tidy(text)
    task = _as_given(title, priority)
    before = todos(document)
    for todo in before:
        if todo.is_open and not details and plain(todo.text) == plain(task.text):
            return _brought_to(document, todo, task, today)
    finished = "" if task.state in OPEN else task.finished or today.isoformat()
    added = task.added or finished or today.isoformat()
    priority = None if task.priority == "medium" else task.priority
    parts = task._replace(mark=_mark_like(document, task.state), priority=priority, added=added, finished=finished)
    changed = document.with_item("todo", [parts.line(japanese=document.language == "ja"), *details])
    return changed, _only_new(before, todos(changed))


def add_several(
    document: Document, tasks: Sequence[tuple[str, Priority | None]], *, today: date
) -> tuple[Document, list[Todo]]:
    """Add several texts with their priorities, in order, as `add`."""
    added: list[tuple[str, State]] = []
    for text, priority in tasks:
        document, todo = add(document, text, priority, today=today)
        added.append((plain(todo.text), todo.state))
        if len(tasks) == 1:
            return document, [todo]
    return document, [todo for todo in todos(document) if (plain(todo.text), todo.state) in added]


def take_over(document: Document, plan: str, *, today: date) -> tuple[Document, int]:
    """Merge the open items of a plan; return the number of new ones.

    Open items get the plan's state; finished ones, or those that the layout does not allow, stay.
    """
    added = 0
    for todo in todos(Document(plan)):
        known = next((one for one in todos(document) if plain(one.text) == plain(todo.text)), None)
        with suppress(ConfigurationError, ToolExecutionError):
            if known is None and todo.is_open:
                document, known = add(
                    document, "\n".join((todo.text, dedent(todo.details))), todo.priority, today=today
                )
                added += 1
            if known is not None and known.is_open:
                document, _ = set_state(document, known.id, todo.state, today=today)
    return document, added


def open_task(content: str) -> tuple[str, Priority | None] | None:
    """Return task and priority of a list item's first line; None if it is done or empty."""
    task = parse_task(content)
    return (task.text, task.priority) if task.state in OPEN and parse(content.strip()).text.strip() else None


def set_state(document: Document, wanted: str, state: State, *, today: date) -> tuple[Document, Todo]:
    """Set an item's state; its mark keeps its style, and the end date is noted."""
    todo, item, parts = _find(document, wanted)
    if todo.state == state:
        return document, todo
    return _rewritten(document, todo, item, _in_state(document, parts, state, today.isoformat()))


def set_priority(document: Document, wanted: str, priority: Priority) -> tuple[Document, Todo]:
    """Set an item's priority; its id stays. An unchanged document is returned as is."""
    todo, item, parts = _find(document, wanted)
    if todo.priority == priority:
        return document, todo
    return _rewritten(document, todo, item, parts._replace(priority=None if priority == "medium" else priority))


def set_text(document: Document, wanted: str, text: str, *, today: date) -> tuple[Document, Todo]:
    """Replace an item's text, which changes its id; nested lines stay.

    Notation in the text counts as in `add`; what it omits stays. Raises the errors of `add`.
    """
    title, *more = tidy(text)
    if more:
        title = " ".join([title, *(line.strip() for line in more)])
    task = _as_given(title, None)
    todo, item, parts = _find(document, wanted)
    if (task.mark or task.finished) and (task.state != todo.state or task.finished):
        parts = _in_state(document, parts, task.state, task.finished or today.isoformat())
    priority = None if task.priority == "medium" else task.priority or parts.priority
    changed = parts._replace(text=task.text, priority=priority, added=task.added or parts.added)
    return _rewritten(document, todo, item, changed)


def move(document: Document, wanted: str, to: int) -> tuple[Document, Todo]:
    """Move an item to position `to` of the list (from 1), clamped to its ends."""
    todo, item, _ = _find(document, wanted)
    items = [item for _, item, _ in _all(document)]
    place = items[max(1, min(to, len(items))) - 1]
    if place == item:
        return document, todo
    changed = document.moved(item, place)
    after = todos(changed)
    if changed.pieces() != document.pieces():
        raise ConfigurationError(
            "memory_layout", reason=Phrase("What would be written would be read back as something else")
        )
    number = items.index(place) + 1
    return changed, after[number - 1]


def remove(document: Document, wanted: str) -> tuple[Document, Todo]:
    """Remove an item from the file, including nested lines."""
    todo, item, _ = _find(document, wanted)
    return document.without(item), todo


def by_urgency(found: Sequence[Todo]) -> list[Todo]:
    """Return the open items: those in progress first, then by priority, then in the order of the list."""
    still_open = (todo for todo in found if todo.is_open)
    return sorted(still_open, key=lambda todo: (OPEN.index(todo.state), PRIORITIES.index(todo.priority), todo.number))


def _all(document: Document) -> list[tuple[Todo, Item, Parts]]:
    every = [(item, parse(item.content)) for item in document.items("todo")]
    cut = [(item, parts) for item, parts in every if parts.text]
    ids = ids_of("todo", [parts.text for _, parts in cut])
    found: list[tuple[Todo, Item, Parts]] = []
    for number, ((item, parts), name) in enumerate(zip(cut, ids, strict=True), start=1):
        details = "".join(item.lines[1:]).rstrip("\r\n")
        priority = parts.priority or "medium"
        todo = Todo(name, number, parts.text, parts.state, priority, parts.added, parts.finished, details)
        found.append((todo, item, parts))
    return found


def _find(document: Document, wanted: str) -> tuple[Todo, Item, Parts]:
    found = _all(document)
    named = [Named(todo.id, todo.text, str(todo.number), likely=todo.is_open) for todo, _, _ in found]
    return found[one_of(wanted, named)]


def _as_given(title: str, priority: Priority | None) -> Parts:
    """Parse a task and combine it with the given priority."""
    task = parse_task(title)
    other = ends_in_priority(task.text)
    said = [one for one in (priority, task.priority, other) if one]
    if other or len(set(said)) > 1:
        first, second = (said * 2)[:2]
        raise ToolExecutionError(
            "memory_two_priorities",
            text=clean(title, keep_newlines=False),
            first=Phrase(_PRIORITIES[first]),
            second=Phrase(_PRIORITIES[second]),
        )
    return task._replace(priority=said[0] if said else None)


def _brought_to(document: Document, todo: Todo, task: Parts, today: date) -> tuple[Document, Todo]:
    """Apply the notation of a task to an existing item."""
    if task.priority:
        document, todo = set_priority(document, todo.id, task.priority)
    if task.state in (todo.state, "planned"):
        return document, todo
    _, item, parts = _find(document, todo.id)
    return _rewritten(document, todo, item, _in_state(document, parts, task.state, task.finished or today.isoformat()))


def _in_state(document: Document, parts: Parts, state: State, finished: str) -> Parts:
    """Change an item's state, keeping the style of its mark. `finished`: the date for a closed one."""
    mark = restyled(parts.mark, state) if parts.mark else _mark_like(document, state)
    return parts._replace(mark=mark, state=state, finished="" if state in OPEN else finished)


def _mark_like(document: Document, state: State) -> str:
    """Return the mark of a new item in the style of the last marked one."""
    cut = (parse(item.content) for item in reversed(document.items("todo")))
    return restyled(next((parts.mark for parts in cut if parts.mark and parts.text), ""), state)


def _rewritten(document: Document, todo: Todo, item: Item, parts: Parts) -> tuple[Document, Todo]:
    changed = document.with_first_line(item, parts.line(japanese=document.language == "ja"))
    after = todos(changed)
    if len(after) != len(todos(document)):
        raise ConfigurationError(
            "memory_layout", reason=Phrase("What would be written would be read back as something else")
        )
    return changed, after[todo.number - 1]


def _only_new(before: Sequence[Todo], after: Sequence[Todo]) -> Todo:
    """Return the added item; ConfigurationError memory_layout if the change affected others."""
    old, new = [_content(todo) for todo in before], [_content(todo) for todo in after]
    place = next((at for at, (was, now) in enumerate(zip(old, new, strict=False)) if was != now), len(old))
    if new[:place] + new[place + 1 :] == old and len(new) > len(old):
        return after[place]
    raise ConfigurationError(
        "memory_layout", reason=Phrase("What would be written would be read back as something else")
    )


def _content(todo: Todo) -> tuple[str, str, str]:
    """Return what must not change with another item. Line ends may: the last line may have none."""
    return todo.text, todo.state, "\n".join(todo.details.splitlines())


LARGEST = 1_000_000
"""Maximum size of a plan file, in bytes."""


class Plan(NamedTuple):
    """A text, its file as named by the project, and the line there where it begins."""

    text: str
    source: str
    first_line: int = 1


def read_plan(root: Path, name: str, first_line: int = 0, line_count: int = 0) -> Plan:
    """Read the file `name`, relative to the project's folder; `first_line` 0 for all of it.

    ToolExecutionError todo_file_unreadable.
    """
    try:
        path = root / Path(name).expanduser()
        text = decode(_read(root, path)).text
    except OSError as error:
        reason = (
            Phrase("It is a pipe or a device, not a file")
            if error.errno == errno.EINVAL
            else os.strerror(error.errno or errno.EIO)
        )
        raise _unreadable(name, reason) from error
    except NotTextError as error:
        raise _unreadable(
            name,
            Phrase(N_("its content is binary") if error.kind == "binary" else N_("Its encoding is not recognised")),
        ) from error
    except (ValueError, RuntimeError) as error:  # a NUL in the name, an unknown home folder
        raise _unreadable(name, str(error)) from error
    source = path.relative_to(root).as_posix() if path.is_relative_to(root) else str(path)
    if not first_line:
        return Plan(text, source)
    lines = text.splitlines(keepends=True)
    return Plan("".join(lines[first_line - 1 : first_line - 1 + line_count]), source, first_line)


def _read(root: Path, path: Path) -> bytes:
    """Read a file. Links within the project must not leave it; elsewhere they are the user's own."""
    if not path.is_relative_to(root):
        return read_regular(path.resolve(), LARGEST)
    top, real = Path(real_path(root)), Path(real_path(path))
    if not real.is_relative_to(top):
        raise OSError(errno.EXDEV, os.strerror(errno.EXDEV), str(path))
    folder = open_folder(top)
    try:
        return read_beneath(folder, str(real.relative_to(top)), LARGEST)
    finally:
        os.close(folder)


def _unreadable(name: str, reason: object) -> ToolExecutionError:
    return ToolExecutionError(
        "todo_file_unreadable", file=clean(name, keep_newlines=False), reason=reason, limit=LARGEST
    )
