"""TODO items: read, added, changed; and tasks taken from plan files.

    - [ ] Text (high) +2026-11-01
    - [x] Text +2026-11-01 ✓2026-11-22
    - [完了] 本文 (高)

`[ ]` planned, `[~]` begun, `[x]` done, `[-]` dropped; words such as 予定, 進行中, 完了 and 中止 say the same. An item
without a mark is planned. The id is made from the text, so nothing in the file carries it.
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
    """The priority a word stands for, English or Japanese; ToolExecutionError memory_bad_kind."""
    if known := PRIORITY_OF.get(text.strip().lower()):
        return known
    raise ToolExecutionError("memory_bad_kind", value=clean(text, keep_newlines=False), choices=", ".join(PRIORITIES))


class Todo(msgspec.Struct, frozen=True):
    """`number`: its place among all items of the section, from 1; `added`, `finished`: ISO dates, "" where unknown;
    `details`: the lines nested under it, as they are in the file."""

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
        """Whether something is still to be done."""
        return self.state in OPEN


def todos(document: Document) -> tuple[Todo, ...]:
    """The items of the TODO section in their order, finished ones too."""
    return tuple(todo for todo, _, _ in _all(document))


def find(document: Document, wanted: str) -> Todo:
    """The item meant by an id, a number of the list, or the beginning of the text (of an open one, where that decides).

    ToolExecutionError memory_unknown, or memory_ambiguous where several begin so.
    """
    return _find(document, wanted)[0]


def add(document: Document, text: str, priority: Priority | None = None, *, today: date) -> tuple[Document, Todo]:
    """A further item at the end of the list. One that is open already stays the only one: it is given back.

    What the text has in the notation of the file means what it means there. ToolExecutionError memory_text_empty where
    the text says nothing, memory_two_priorities where it has one and `priority` is another.
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
    """As `add`, for several texts with their priorities, in their order."""
    added: list[tuple[str, State]] = []
    for text, priority in tasks:
        document, todo = add(document, text, priority, today=today)
        added.append((plain(todo.text), todo.state))
        if len(tasks) == 1:
            return document, [todo]
    return document, [todo for todo in todos(document) if (plain(todo.text), todo.state) in added]


def take_over(document: Document, plan: str, *, today: date) -> tuple[Document, int]:
    """The document with the open items of a plan, and how many of them are new in it. An item that it has already is
    brought to the plan's state as long as it is open; what the user has finished, or the layout does not take, stays.
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
    """What the first line of a list's item says is to be done, and its priority; None where it is done, or empty."""
    task = parse_task(content)
    return (task.text, task.priority) if task.state in OPEN and parse(content.strip()).text.strip() else None


def set_state(document: Document, wanted: str, state: State, *, today: date) -> tuple[Document, Todo]:
    """Begin, finish, drop or reopen an item; its mark changes in its own style, and the day it ended is noted."""
    todo, item, parts = _find(document, wanted)
    if todo.state == state:
        return document, todo
    return _rewritten(document, todo, item, _in_state(document, parts, state, today.isoformat()))


def set_priority(document: Document, wanted: str, priority: Priority) -> tuple[Document, Todo]:
    """Another priority for an item, which keeps its id; the document as it is where that is its priority already."""
    todo, item, parts = _find(document, wanted)
    if todo.priority == priority:
        return document, todo
    return _rewritten(document, todo, item, parts._replace(priority=None if priority == "medium" else priority))


def set_text(document: Document, wanted: str, text: str, *, today: date) -> tuple[Document, Todo]:
    """Another text for an item, which gets another id by that; what is nested under it stays.

    Notation in the text counts as in `add`; what it does not say stays as it is. Errors as `add`.
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
    """Put an item at the place `to` of the list (from 1); what lies beyond the ends is the end."""
    todo, item, _ = _find(document, wanted)
    items = [item for _, item, _ in _all(document)]
    place = items[max(1, min(to, len(items))) - 1]
    if place == item:
        return document, todo
    changed = document.moved(item, place)
    after = todos(changed)
    if changed.pieces() != document.pieces():
        raise ConfigurationError(
            "memory_layout", reason=Phrase("What would be written there would be read as something else")
        )
    number = items.index(place) + 1
    return changed, after[number - 1]


def remove(document: Document, wanted: str) -> tuple[Document, Todo]:
    """Take an item out of the file, with all that is nested in it."""
    todo, item, _ = _find(document, wanted)
    return document.without(item), todo


def by_urgency(found: Sequence[Todo]) -> list[Todo]:
    """The open items: those begun first, then by priority, then in the order of the list."""
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
    """A task, with the priority it is given besides."""
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
    """What the task says of an item that is there already."""
    if task.priority:
        document, todo = set_priority(document, todo.id, task.priority)
    if task.state in (todo.state, "planned"):
        return document, todo
    _, item, parts = _find(document, todo.id)
    return _rewritten(document, todo, item, _in_state(document, parts, task.state, task.finished or today.isoformat()))


def _in_state(document: Document, parts: Parts, state: State, finished: str) -> Parts:
    """An item in another state, its mark in its own style. `finished`: the day, for one that is not open."""
    mark = restyled(parts.mark, state) if parts.mark else _mark_like(document, state)
    return parts._replace(mark=mark, state=state, finished="" if state in OPEN else finished)


def _mark_like(document: Document, state: State) -> str:
    """The mark of a new item: as the last item that has one writes it."""
    cut = (parse(item.content) for item in reversed(document.items("todo")))
    return restyled(next((parts.mark for parts in cut if parts.mark and parts.text), ""), state)


def _rewritten(document: Document, todo: Todo, item: Item, parts: Parts) -> tuple[Document, Todo]:
    changed = document.with_first_line(item, parts.line(japanese=document.language == "ja"))
    after = todos(changed)
    if len(after) != len(todos(document)):
        raise ConfigurationError(
            "memory_layout", reason=Phrase("What would be written there would be read as something else")
        )
    return changed, after[todo.number - 1]


def _only_new(before: Sequence[Todo], after: Sequence[Todo]) -> Todo:
    """The item that was added; ConfigurationError memory_layout where the file's layout made anything else of it."""
    old, new = [_content(todo) for todo in before], [_content(todo) for todo in after]
    place = next((at for at, (was, now) in enumerate(zip(old, new, strict=False)) if was != now), len(old))
    if new[:place] + new[place + 1 :] == old and len(new) > len(old):
        return after[place]
    raise ConfigurationError(
        "memory_layout", reason=Phrase("What would be written there would be read as something else")
    )


def _content(todo: Todo) -> tuple[str, str, str]:
    """What may not change when another item does. Line ends may: the last line of a file may have none."""
    return todo.text, todo.state, "\n".join(todo.details.splitlines())


LARGEST = 1_000_000
"""Bytes."""


class Plan(NamedTuple):
    """A text, the file it is from as the project names it, and which line of that it begins with."""

    text: str
    source: str
    first_line: int = 1


def read_plan(root: Path, name: str, first_line: int = 0, line_count: int = 0) -> Plan:
    """The file `name`, from the project's folder unless it is absolute; `first_line` 0 for all of it.

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
            name, Phrase(N_("its content is binary") if error.kind == "binary" else N_("Its encoding is not known"))
        ) from error
    except (ValueError, RuntimeError) as error:  # a NUL in the name, a home that nobody has
        raise _unreadable(name, str(error)) from error
    source = path.relative_to(root).as_posix() if path.is_relative_to(root) else str(path)
    if not first_line:
        return Plan(text, source)
    lines = text.splitlines(keepends=True)
    return Plan("".join(lines[first_line - 1 : first_line - 1 + line_count]), source, first_line)


def _read(root: Path, path: Path) -> bytes:
    """What the file holds. A link in the project leads nowhere outside it, as it may be anybody's; elsewhere the user
    knows where links lead."""
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
