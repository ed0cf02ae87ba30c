"""Manage decisions (`- 2026-11-22 Text`) and preferences (`- Text`): one-line list items in LOCALLLM.md."""

import re
from datetime import date
from typing import Literal

import msgspec

from localllm.base.errors import ConfigurationError
from localllm.base.i18n import Phrase
from localllm.memory.document import Document, Item
from localllm.memory.entries import on_one_line, plain
from localllm.memory.item_ids import Named, ids_of, one_of

NoteKind = Literal["decisions", "preferences"]

_DATED = re.compile(r"[(（\[]?(\d{4}-\d{2}-\d{2})(?!\d)[)）\]]?(?:\s*+[:：-]\s++|\s++)(?=\S)")

_BULLET = re.compile(r"^(?:[-*+:：]\s+)+")  # would be parsed as part of the date or the list


class Note(msgspec.Struct, frozen=True):
    """A decision or a preference. `when` is an ISO date, empty if it has none."""

    id: str
    kind: NoteKind
    text: str
    when: str = ""


def notes(document: Document, kind: NoteKind) -> tuple[Note, ...]:
    """Return the notes of the section, in order."""
    return tuple(note for note, _ in _all(document, kind))


def newest(document: Document, kind: NoteKind) -> list[Note]:
    """Return the notes, the newest first: by date, then by the file's order."""
    found = list(notes(document, kind))
    if not descends([note.when for note in found]):
        found.reverse()
    return sorted(found, key=lambda note: note.when, reverse=True)


def add(document: Document, kind: NoteKind, text: str, *, today: date) -> tuple[Document, Note]:
    """Add a note unless one with the same text exists, which is returned instead. A decision gets its date.

    In a list with the newest first, it is put first. ToolExecutionError memory_text_empty.
    """
    line = _BULLET.sub("", on_one_line(text), count=1)
    before = notes(document, kind)
    for note in before:
        if plain(note.text) == plain(line):
            return document, note
    first = descends([note.when for note in before])
    content = f"{today.isoformat()} {line}" if kind == "decisions" else line
    changed = document.with_item(kind, [content], first=first)
    after = notes(changed, kind)
    added = next((note for note in after if plain(note.text) == plain(line)), None)
    if added is None or len(after) != len(before) + 1:
        raise ConfigurationError(
            "memory_layout", reason=Phrase("What would be written would be read back as something else")
        )
    return changed, added


def remove(document: Document, kind: NoteKind, wanted: str) -> tuple[Document, Note]:
    """Remove a note, by id or beginning of its text, including nested lines. Errors as `item_ids.one_of`."""
    note, item = _find(document, kind, wanted)
    return document.without(item), note


def descends(dates: list[str]) -> bool:
    """Return whether the newest are first: several dates, in descending order."""
    known = [one for one in dates if one]
    return len(set(known)) > 1 and known == sorted(known, reverse=True)


def _find(document: Document, kind: NoteKind, wanted: str) -> tuple[Note, Item]:
    found = _all(document, kind)
    return found[one_of(wanted, [Named(note.id, note.text) for note, _ in found])]


def _all(document: Document, kind: NoteKind) -> list[tuple[Note, Item]]:
    cut = [(item, *_split(item.content.strip(), kind)) for item in document.items(kind)]
    cut = [(item, when, text) for item, when, text in cut if text]
    ids = ids_of(kind, [text for _, _, text in cut])
    return [(Note(name, kind, text, when), item) for (item, when, text), name in zip(cut, ids, strict=True)]


def _split(content: str, kind: NoteKind) -> tuple[str, str]:
    """Split a decision into date and text."""
    dated = _DATED.match(content) if kind == "decisions" else None
    return (dated[1], content[dated.end() :]) if dated else ("", content)
