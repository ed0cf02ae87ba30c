"""Search the memory: entries of LOCALLLM.md and of past sessions, ranked by their words."""

import threading
from collections.abc import Iterable, Iterator
from datetime import date

import msgspec

from localllm.memory import markdown_structure, notes, session_records, todos
from localllm.memory.document import Document
from localllm.memory.notes import NoteKind
from localllm.memory.section_kinds import SectionKind
from localllm.text.bm25 import Bm25
from localllm.text.tokenising import terms

_RECENCY = 0.05  # maximum bonus on the score, for entries of today: it decides between equal matches
_HALF_AGE = 30  # days after which half of that is left


class MemoryEntry(msgspec.Struct, frozen=True):
    """A searchable entry. `kind`: todo, decision, preference, session, dna, folders, style, notes, or one of the
    sessions' own; `id` is unique within the kind; `when`: an ISO date or time, empty if unknown; `heading` and
    `more_words` are searched as well; `untrusted`: it may contain untrusted text."""

    id: str
    kind: str
    text: str
    when: str = ""
    heading: str = ""
    more_words: str = ""
    untrusted: bool = False


class Found(msgspec.Struct, frozen=True):
    """An entry and its score; only the order of scores is meaningful."""

    entry: MemoryEntry
    score: float


class Recall:
    """An incremental index: entries unchanged since the last search are not indexed again."""

    def __init__(self) -> None:
        self._index = Bm25()
        self._entries: dict[str, MemoryEntry] = {}
        self._lock = threading.Lock()

    def search(self, query: str, entries: Iterable[MemoryEntry], *, today: date) -> list[Found]:
        """Return the matching `entries`, best first.
        Ties are ordered by date, then by position, the newest or last first."""
        with self._lock:
            self._follow(entries)
            scores = self._index.scores(terms(query))
            found = [
                Found(entry := self._entries[name], score * _recency(entry, today)) for name, score in scores.items()
            ]
            places = {id(entry): place for place, entry in enumerate(self._entries.values())}
        found.sort(key=lambda one: (one.score, one.entry.when, places[id(one.entry)]), reverse=True)
        return found

    def _follow(self, entries: Iterable[MemoryEntry]) -> None:
        current = {f"{entry.kind}/{entry.id}": entry for entry in entries}
        for name in self._entries.keys() - current.keys():
            self._index.remove(name)
        for name, entry in current.items():
            known = self._entries.get(name)
            if known is not entry and known != entry:
                self._index.add(name, terms("\n".join(filter(None, (entry.heading, entry.text, entry.more_words)))))
        self._entries = current


def entries_of(document: Document) -> Iterator[MemoryEntry]:
    """Yield all entries of the document: items of the managed lists, and blocks of other sections."""
    for todo in todos.todos(document):
        text = f"{todo.text}\n{todo.details}".strip()
        yield MemoryEntry(todo.id, "todo", text, todo.finished or todo.added)
    kinds: tuple[tuple[NoteKind, str], ...] = (("decisions", "decision"), ("preferences", "preference"))
    for section, kind in kinds:
        for note in notes.notes(document, section):
            yield MemoryEntry(note.id, kind, note.text, note.when)
    for record in session_records.recorded(document):
        yield MemoryEntry(record.id, "session", record.text, record.when)
    yield from _blocks(document)


_LISTS: frozenset[SectionKind] = frozenset({"todo", "decisions", "preferences", "sessions"})


def _blocks(document: Document) -> Iterator[MemoryEntry]:
    """Yield the blocks outside the managed lists: `kind` is the section's, else notes."""
    heading = ""
    for block in document.blocks:
        if block.kind == "heading":
            heading = block.title
        spans = (one for one in document.sections.values() if one.body <= block.start < one.end)
        section = next((one.kind for one in spans), None)
        if block.kind in ("heading", "blank", "rule", "front") or (block.kind == "item" and section in _LISTS):
            continue
        text = "".join(document.lines(block.start, block.end)).strip()
        if any(character.isalnum() for character in text):
            kind = section if section and section not in _LISTS else "notes"
            yield MemoryEntry(str(block.start), kind, _without_marker(text), heading=heading)


def _without_marker(text: str) -> str:
    """Return an item's text without its marker; other text unchanged."""
    first, newline, rest = text.partition("\n")
    return markdown_structure.item_content(first) + newline + rest


def _recency(entry: MemoryEntry, today: date) -> float:
    try:
        age = max(0, (today - date.fromisoformat(entry.when[:10])).days)
    except ValueError:
        return 1.0
    return 1 + _RECENCY * _HALF_AGE / (_HALF_AGE + age)
