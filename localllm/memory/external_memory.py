"""Store notes, TODOs and records in LOCALLLM.md, and build their digest for the prompt."""

import asyncio
import re
from collections.abc import Callable, Iterable, Sequence
from datetime import date, datetime
from pathlib import Path
from typing import Literal, NamedTuple, Protocol, cast, get_args

import msgspec

from localllm.base.errors import ToolExecutionError
from localllm.base.events import Json
from localllm.base.lazy_patterns import late_pattern
from localllm.memory import notes, session_records, todos
from localllm.memory.document import Document
from localllm.memory.item_ids import Named, one_of, refuse_vague
from localllm.memory.memory_file import NAME, Change, MemoryFile, T
from localllm.memory.notes import Note, NoteKind
from localllm.memory.search import MemoryEntry, Recall, entries_of
from localllm.memory.section_kinds import kind_of
from localllm.memory.session_records import Recorded, SessionRecord
from localllm.memory.task_splitting import TASK_SIZE, chunk, parts_of, refuse_many
from localllm.memory.todos import Priority, State, Todo, as_priority
from localllm.text.sanitising import clean, shorten
from localllm.text.secret_masking import has_secret, masked

_DIGEST = {
    "style": "Coding style:",
    "dna": "About the project:",
    "todos": "Open TODOs:",
    "todos_in_file": 'Open TODOs (when one is done, edit its line in the file: "- [x]"):',
    "more": "(and {count} more)",
    "more_found": "(and {count} more: recall finds them)",
    "decisions": "Decisions:",
    "preferences": "Preferences:",
    "session": "Last session:",
    "doing": "in progress",
    "high": "high",
    "low": "low",
}

_LONGEST = 240  # bytes of a line
_UNWRITTEN = late_pattern(r"<!--.*|[^\n<]*[:：][^\S\n]*<!--[^\n]*-->\s*", re.DOTALL)
"""An unanswered placeholder of init: a comment, with or without a label."""
_FORBIDS = late_pattern(
    r"\b(?:never|not|don['’]t|avoid|hands off|read-only|generated|forbidden)\b"
    r"|禁止|触ら|触れ|変更しない|編集しない|ないこと",
    re.IGNORECASE,
)


class _Part(NamedTuple):
    """A heading and its lines by importance. `share` is their maximum share of the room in the first round.

    `total`: number of lines in all, if omitted ones are to be mentioned, else 0; `more` mentions them.
    """

    heading: str
    lines: tuple[str, ...]
    share: float
    total: int = 0
    more: str = "(and {count} more)"


def digest(document: Document, limit_bytes: int, *, searchable: bool = True, session_id: str = "") -> str:
    """Build the model's initial summary in at most `limit_bytes` of UTF-8; empty if there is nothing.

    Contains open TODOs, coding style and description of the project, decisions, preferences and the last session's
    record. `searchable`: whether the model has the tools that find the rest and change TODOs. `session_id`: the
    session to be told, whose own record is left out.
    """
    parts = [part for part in _parts(document, searchable=searchable, session_id=session_id) if part.lines]
    taken = [0] * len(parts)
    for shared in (True, False):
        for index, part in enumerate(parts):
            while taken[index] < len(part.lines):
                taken[index] += 1
                own = _size([part._replace(total=0)], taken[index : index + 1])
                if _size(parts, taken) > limit_bytes or (shared and own > part.share * limit_bytes):
                    taken[index] -= 1
                    break
    return "\n".join(_lines(parts, taken))


def _parts(document: Document, *, searchable: bool, session_id: str) -> list[_Part]:
    urgent = todos.by_urgency(todos.todos(document))
    decisions = notes.newest(document, "decisions")
    preferences = notes.notes(document, "preferences")
    last = session_records.last(document, session_id)
    session = [line.strip() for line in last.text.splitlines()] if last else []
    todos_heading = "todos" if searchable else "todos_in_file"
    more = "(and {count} more: recall finds them)" if searchable else "(and {count} more)"
    made = [f"- {note.when} {note.text}".replace("-  ", "- ") for note in decisions[:20]]
    return [
        _part(todos_heading, [_todo_line(todo) for todo in urgent[:50]], 0.35, len(urgent)),
        _part("style", _described(document, "style"), 0.25),
        _part("dna", _described(document, "dna"), 0.15),
        _part("decisions", made, 0.15, len(decisions))._replace(more=more),
        _part("preferences", [f"- {note.text}" for note in preferences[:20]], 0.15),
        _part("session", session, 0.15),
    ]


def _described(document: Document, kind: Literal["style", "dna"]) -> list[str]:
    """Return what a section says of the project, with its sub-headings; prohibitions come first."""
    lines = [
        f"- {entry.text}" if kind_of(entry.heading) == kind else f"- {entry.heading}: {entry.text}"
        for entry in entries_of(document)
        if entry.kind == kind and not _UNWRITTEN.fullmatch(entry.text)
    ]
    return sorted(lines, key=lambda line: not _FORBIDS.search(line))


def _part(name: str, lines: Sequence[str], share: float, total: int = 0) -> _Part:
    return _Part(_DIGEST[name], tuple(_short(line) for line in lines), share, total)


def _todo_line(todo: Todo) -> str:
    facts = ["in progress"] if todo.state == "doing" else []
    if todo.priority != "medium":
        facts.append(_DIGEST[todo.priority])
    more = f" ({', '.join(facts)})" if facts else ""
    return f"- {todo.id}{more} {todo.text}"


def _short(line: str) -> str:
    """Return a line of at most _LONGEST bytes without invisible characters."""
    data = clean(line, keep_newlines=False).encode()
    if len(data) <= _LONGEST:
        return data.decode()
    return data[: _LONGEST - 3].decode(errors="ignore").rstrip() + "…"


def _size(parts: Sequence[_Part], taken: Sequence[int]) -> int:
    return len("\n".join(_lines(parts, taken)).encode())


def _lines(parts: Sequence[_Part], taken: Sequence[int]) -> list[str]:
    lines: list[str] = []
    for part, count in zip(parts, taken, strict=True):
        if count:
            more = [part.more.format(count=part.total - count)] if part.total > count else []
            lines += [part.heading, *part.lines[:count], *more]
    return lines


RememberedKind = Literal["todo", "decision", "preference"]

_LONGEST_SHOWN = 100  # cells
_SECTIONS: dict[str, NoteKind] = {"decision": "decisions", "preference": "preferences"}


class Added(NamedTuple):
    """The TODOs made from a task; `finished`: number of items of its list omitted as done."""

    todos: tuple[Todo, ...]
    finished: int = 0


class Editable(Protocol):
    """Storage of the document: the project's file, or a session."""

    def read(self) -> Document:
        """Return the current document."""
        ...

    def edit(self, change: "Change[T]") -> T:
        """Apply a change and return its result."""
        ...


class ExternalMemorySystem:
    """The project's memory. Methods that change the file run in a thread, as they may wait for a lock.

    `sessions` returns the search entries of past sessions; identical objects are not indexed again. `closed`: see
    MemoryFile; `file`: other storage of the document. Errors are those of MemoryFile, and ToolExecutionError
    memory_unknown, memory_ambiguous, memory_vague, memory_text_empty, memory_two_priorities, memory_secret,
    memory_bad_kind.
    """

    def __init__(
        self,
        root: Path,
        memory_file: str = NAME,
        *,
        sessions: Callable[[], Iterable[MemoryEntry]] = tuple,
        now: Callable[[], datetime] = datetime.now,
        closed: Sequence[str] = (),
        file: Editable | None = None,
    ) -> None:
        self.file = file or MemoryFile(root, memory_file, closed)
        self._sessions = sessions
        self._now = now
        self._recall = Recall()

    async def add_todo(self, task: str, priority: str = "medium") -> str:
        """Add a task to the TODO list unless it is open already; return its id.
        With the default priority, one at the end of the text, such as “(high)”, counts."""
        return (await self.put_todo(task, "" if priority == "medium" else priority)).id

    async def put_todo(self, task: str, priority: str = "") -> Todo:
        """Add a task as `add_todo`; return the TODO."""
        wanted, today = as_priority(priority) if priority else None, self._today()
        _refuse_secret(task)
        return await self._edit(lambda document: todos.add(document, task, wanted, today=today))

    async def put_todos(self, task: str, priority: str = "", *, source: str = "", first_line: int = 1) -> Added:
        """Add a task, split into several TODOs if it is a list or too large.
        `source` is the file it is from, where it begins at `first_line`. ToolExecutionError also memory_too_many."""
        parts = parts_of(task, await self.chunk_large_task(task), source, first_line)
        wanted, today = as_priority(priority) if priority else None, self._today()
        refuse_many(parts)
        _refuse_secret(*(part.text for part in parts.parts))
        tasks: list[tuple[str, Priority | None]] = [(part.text, part.priority or wanted) for part in parts.parts]
        put = await self._edit(lambda document: todos.add_several(document, tasks, today=today))
        return Added(tuple(put), parts.finished)

    def parts_of(self, task: str) -> list[str]:
        """Return the titles of the TODOs that `put_todos` would create.
        ToolExecutionError memory_too_many, memory_text_empty."""
        parts = parts_of(task, chunk(task, TASK_SIZE))
        refuse_many(parts)
        _refuse_secret(*(part.text for part in parts.parts))
        return [part.title for part in parts.parts]

    def refuse_priority(self, priority: str) -> None:
        """Raise ToolExecutionError memory_bad_kind for an unknown priority; "" is accepted."""
        if priority:
            as_priority(priority)

    async def take_over(self, plan: str) -> int:
        """Merge a plan (Markdown of another list) into the list; return the number of added items."""
        today = self._today()
        return await self._edit(lambda document: todos.take_over(document, plan, today=today))

    async def set_todo_state(self, wanted: str, state: State) -> Todo:
        """Set the state; done and dropped get today's date.
        `wanted`, here and below: id, number in the list, or beginning of the text."""
        today = self._today()
        return await self._edit(lambda document: todos.set_state(document, wanted, state, today=today))

    async def set_todo_priority(self, wanted: str, priority: str) -> Todo:
        """Set the priority: high, medium or low."""
        priority_ = as_priority(priority)
        return await self._edit(lambda document: todos.set_priority(document, wanted, priority_))

    async def set_todo_text(self, wanted: str, text: str) -> Todo:
        """Replace the text, which changes the id."""
        _refuse_secret(text)
        today = self._today()
        return await self._edit(lambda document: todos.set_text(document, wanted, text, today=today))

    async def move_todo(self, wanted: str, to: int) -> Todo:
        """Move an item to position `to` of the list, from 1."""
        return await self._edit(lambda document: todos.move(document, wanted, to))

    def todos(self) -> tuple[Todo, ...]:
        """Return the whole list in order, including finished items."""
        return todos.todos(self.file.read())

    def find_todo(self, wanted: str) -> Todo:
        """Return the item meant by `wanted`. ToolExecutionError memory_unknown, memory_ambiguous."""
        return todos.find(self.file.read(), wanted)

    def open_todos(self) -> list[Todo]:
        """Return the open items, the most urgent first."""
        return todos.by_urgency(self.todos())

    async def remember(self, text: str, kind: str = "preference") -> str:
        """Store a preference, a decision or a todo; return its id."""
        if kind == "todo":
            return await self.add_todo(text)
        section, today = _section(kind), self._today()
        _refuse_secret(text)
        note = await self._edit(lambda document: notes.add(document, section, text, today=today))
        return note.id

    async def forget(self, wanted: str) -> MemoryEntry:
        """Delete and return a todo, decision, preference or session record."""
        return await self._edit(lambda document: _forget(document, wanted))

    def forgettable(self) -> list[MemoryEntry]:
        """Return the entries that `forget` can delete."""
        return _forgettable(self.file.read())

    def decisions(self) -> list[Note]:
        """Return the decisions, the newest first."""
        return notes.newest(self.file.read(), "decisions")

    def preferences(self) -> tuple[Note, ...]:
        """Return the preferences in the order of the file."""
        return notes.notes(self.file.read(), "preferences")

    async def record_session(self, record: SessionRecord) -> None:
        """Store a session's record, replacing an earlier one of the session. Old records are condensed."""
        await self._edit(lambda document: (session_records.put(document, record), None))

    def session_records(self) -> tuple[Recorded, ...]:
        """Return the records that have a line of their own, the newest first."""
        return session_records.recorded(self.file.read())

    async def chunk_large_task(self, task: str, max_size: int = 2000) -> list[str]:
        """Split the task into parts of at most `max_size` characters between headings, items and sentences.

        Joined, they are the task except white space at the borders. ValueError unless `max_size` is positive.
        """
        return await asyncio.to_thread(chunk, task, max_size)

    async def search_memory(self, query: str, limit: int = 10) -> list[dict[str, Json]]:
        """Search the memory; return the best first.
        Keys: `id`, `kind`, `text`, `when`, `heading`, `untrusted` (may contain untrusted text), `score`."""
        return (await self.recall(query, limit))[0]

    async def recall(self, query: str, limit: int = 10) -> tuple[list[dict[str, Json]], int]:
        """Search the memory; also return the total number of results."""
        return await asyncio.to_thread(self._search, query, limit)

    def digest(self, limit_bytes: int = 1200, *, searchable: bool = True, session_id: str = "") -> str:
        """Build the summary for the model, as `digest`."""
        return digest(self.file.read(), limit_bytes, searchable=searchable, session_id=session_id)

    def _search(self, query: str, limit: int) -> tuple[list[dict[str, Json]], int]:
        entries = [*entries_of(self.file.read()), *self._sessions()]
        found = self._recall.search(query, entries, today=self._today())
        best = [
            cast("dict[str, Json]", msgspec.to_builtins(one.entry)) | {"score": round(one.score, 3)}
            for one in found[: max(0, limit)]
        ]
        return best, len(found)

    async def _edit(self, change: "Change[T]") -> T:
        return await asyncio.to_thread(self.file.edit, change)

    def _today(self) -> date:
        return self._now().date()


def _section(kind: str) -> NoteKind:
    if section := _SECTIONS.get(kind):
        return section
    choices = ", ".join(get_args(RememberedKind))
    raise ToolExecutionError("memory_bad_kind", value=clean(kind, keep_newlines=False), choices=choices)


def _refuse_secret(*texts: str) -> None:
    """Raise ToolExecutionError memory_secret if a text contains a key or a password."""
    if found := next(filter(has_secret, texts), ""):
        shown = shorten(clean(masked(found), keep_newlines=False), _LONGEST_SHOWN)
        raise ToolExecutionError("memory_secret", text=shown)


def _forgettable(document: Document) -> list[MemoryEntry]:
    return [entry for entry in entries_of(document) if entry.kind in (*_SECTIONS, "todo", "session")]


def _forget(document: Document, wanted: str) -> tuple[Document, MemoryEntry]:
    forgettable = _forgettable(document)
    numbers = {todo.id: str(todo.number) for todo in todos.todos(document)}  # only TODO lists show numbers
    named = [Named(entry.id, entry.text, numbers.get(entry.id, "")) for entry in forgettable]
    index = one_of(wanted, named)
    refuse_vague(wanted, named[index], named)
    entry = forgettable[index]
    if entry.kind == "todo":
        return todos.remove(document, entry.id)[0], entry
    if entry.kind == "session":
        return session_records.remove(document, entry.id), entry
    return notes.remove(document, _SECTIONS[entry.kind], entry.id)[0], entry
