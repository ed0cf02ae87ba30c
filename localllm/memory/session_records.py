"""Maintain the session records: goal and results of each session in a few lines; old ones are condensed.

    - 2026-11-22 14:05 Make the login work (20261122-140500-ab12cd34)
      - decided: tokens expire after an hour
      - changed: login.py, tests/test_login.py
      - failed: `pytest -q`
      - done: A token that is too old is refused.

The newest ten stay whole, older ones keep their first line, and from the fifty-first on there is one line a month.
Only records in this form are condensed: what was added by hand stays.
"""

import re
from collections.abc import Iterator, Sequence
from datetime import datetime

import msgspec

from localllm.memory.document import Document, Item
from localllm.memory.document_texts import Language, in_language
from localllm.memory.entries import on_one_line
from localllm.memory.item_ids import ids_of
from localllm.memory.markdown_structure import content_column
from localllm.memory.notes import descends

WHOLE = 10
"""Number of newest records that keep all their lines."""
LISTED = 50
"""Number of records with a line of their own; older ones are counted by month."""

_LONGEST = 160  # characters of a line
_LANGUAGES: tuple[Language, ...] = ("en", "ja")
_LINES = {"decided": 2, "changed": 1, "taken_back": 1, "failed": 2, "broken_off": 1, "done": 3}
"""Maximum lines of each kind in a record, the most important kind first."""
_MOST = 8  # lines of a record

_FIRST = re.compile(r"(\d{4}-\d{2}-\d{2})(?: (\d{2}:\d{2}))? (.*) \(([\w-]{4,64})\)$")
_MONTH = re.compile(r"(\d{4}-\d{2}): (\d+) \S.*$")


class SessionRecord(msgspec.Struct, frozen=True):
    """A session's record. `when` is in the user's own time zone; the tuples are lines of text; `changed` and
    `taken_back` list files; `failed` are commands, `broken_off` the request that was interrupted."""

    session_id: str
    when: datetime
    goal: str
    decisions: tuple[str, ...] = ()
    results: tuple[str, ...] = ()
    changed: str = ""
    failed: tuple[str, ...] = ()
    broken_off: str = ""
    taken_back: str = ""


class Recorded(msgspec.Struct, frozen=True):
    """A record in the file: `when` as YYYY-MM-DD, with HH:MM if known; `text` all its lines, except open items,
    which the TODO list has; `is_work`: something was changed or decided, or a person edited it."""

    id: str
    session_id: str
    when: str
    goal: str
    text: str
    is_work: bool = False


def recorded(document: Document) -> tuple[Recorded, ...]:
    """Return the records that have a line of their own, the newest first."""
    return tuple(record for record, _ in _newest_first(document))


def last(document: Document, session_id: str = "") -> Recorded | None:
    """Return the newest record of work, else the newest of all, but not that of session `session_id`."""
    newest = [record for record in recorded(document) if record.session_id != session_id]
    return next((record for record in newest if record.is_work), newest[0] if newest else None)


def put(document: Document, record: SessionRecord) -> Document:
    """Add the session's record, replacing an earlier one of the session; condense old ones."""
    language = document.language
    lines = _lines_of(record, language)
    for known, item in _all(document):
        if known.session_id == record.session_id:
            return fold(_once(_replaced(document, item, lines), record.session_id))
    first = descends([known.when for known, _ in _all(document)])
    return fold(document.with_item("sessions", lines, first=first))


def _once(document: Document, session_id: str) -> Document:
    """Remove duplicates of a session's record, as from a merge, except edited ones."""
    twins = [item for known, item in _all(document) if known.session_id == session_id][1:]
    for item in reversed(twins):
        document = document.without(item) if _is_ours(item) else document
    return document


def fold(document: Document) -> Document:
    """Condense old records to a line, and very old ones to a count by month."""
    for _, item in sorted(_newest_first(document)[WHOLE:], key=lambda pair: -pair[1].start):
        if len(item.lines) > 1 and _is_ours(item):
            document = document.with_lines(item.start + 1, item.end, ())
    old = [(known, item) for known, item in _newest_first(document)[LISTED:] if len(item.lines) == 1]
    return _summed_up(document, old) if old else document


def remove(document: Document, session_id: str) -> Document:
    """Remove the record of the session, if any."""
    for known, item in _all(document):
        if session_id in (known.session_id, known.id):
            return document.without(item)
    return document


def _summed_up(document: Document, old: Sequence[tuple[Recorded, Item]]) -> Document:
    """Replace these records by a line a month, at the place of the first of each month."""
    months: dict[str, list[Item]] = {}
    for known, item in sorted(old, key=lambda pair: pair[1].start):
        months.setdefault(known.when[:7], []).append(item)
    counted = {found[1]: (item, int(found[2])) for item, found in _month_lines(document)}
    gone: list[Item] = []
    for month, items in months.items():
        line, count = counted.get(month, (items[0], 0))
        text = in_language("memory.month", document.language, month=month, count=count + len(items))
        document = document.with_first_line(line, text)
        gone += [item for item in items if item is not line]
    for item in sorted(gone, key=lambda item: -item.start):
        document = document.without(item)
    return document


def _month_lines(document: Document) -> Iterator[tuple[Item, re.Match[str]]]:
    for item in document.items("sessions"):
        if len(item.lines) == 1 and (found := _MONTH.match(item.content.rstrip())):
            yield item, found


def _newest_first(document: Document) -> list[tuple[Recorded, Item]]:
    """Return the records by time, newest first; those of the same minute by position, in the file's order."""
    found = _all(document)
    if not descends([known.when for known, _ in found]):
        found.reverse()
    return sorted(found, key=lambda pair: pair[0].when, reverse=True)


def _all(document: Document) -> list[tuple[Recorded, Item]]:
    found = [(match, item) for item in document.items("sessions") if (match := _FIRST.match(item.content.rstrip()))]
    ids = ids_of("sessions", [match[4] for match, _ in found])
    return [(_recorded(name, match, item), item) for (match, item), name in zip(found, ids, strict=True)]


def _recorded(name: str, match: re.Match[str], item: Item) -> Recorded:
    day, time, goal, session_id = match.groups()
    rest = [line.strip() for line in item.lines[1:] if line.strip()]
    text = "\n".join([item.content.rstrip(), *rest])
    return Recorded(name, session_id, f"{day} {time}" if time else day, goal, text, any(map(_tells_of_work, rest)))


def _tells_of_work(line: str) -> bool:
    return line.startswith(_labels("decided", "changed", "taken_back")) or not line.startswith(_labels(*_LINES))


def _lines_of(record: SessionRecord, language: Language) -> list[str]:
    goal = _short(record.goal) or in_language("memory.no_goal", language)
    lines = [f"{record.when:%Y-%m-%d %H:%M} {goal} ({record.session_id})"]
    parts = {
        "decided": record.decisions,
        "changed": (record.changed,),
        "taken_back": (record.taken_back,),
        "failed": record.failed,
        "broken_off": (record.broken_off,),
        "done": record.results,
    }
    for sort, most in _LINES.items():
        texts = [_short(text) for text in parts[sort]]
        lines += _sort_lines(in_language(f"memory.{sort}", language), texts, min(most, _MOST - len(lines)))
    return lines


def _sort_lines(label: str, texts: Sequence[str], most: int) -> Iterator[str]:
    """Yield at most `most` lines of one kind; the last has the number of omitted ones."""
    texts = [text for text in texts if text]
    for number, text in enumerate(texts[:most], start=1):
        more = f" (+{len(texts) - most})" if number == most < len(texts) else ""
        yield f"- {label}: {text}{more}"


def _short(text: str) -> str:
    """Return one line of at most _LONGEST characters, empty if there is no text."""
    if not any(character.isalnum() for character in text):
        return ""
    lines = [line for line in text.splitlines() if any(character.isalnum() for character in line)]
    line = on_one_line(" ".join(lines))
    return line if len(line) <= _LONGEST else line[: _LONGEST - 1].rstrip() + "…"


def _is_ours(item: Item) -> bool:
    """Return whether every nested line is a generated one."""
    labels = _labels(*_LINES)
    return all(line.strip().startswith(labels) for line in item.lines[1:] if line.strip())


def _labels(*sorts: str) -> tuple[str, ...]:
    """Return the beginnings of lines of these kinds, in both languages, as the file's may have changed."""
    return tuple(f"- {in_language(f'memory.{sort}', one)}: " for sort in sorts for one in _LANGUAGES)


def _replaced(document: Document, item: Item, lines: Sequence[str]) -> Document:
    """Replace the item's lines, if edited by a person only the first."""
    changed = document.with_first_line(item, lines[0])
    if not _is_ours(item):
        return changed
    indent = " " * content_column(item.lines[0])
    return changed.with_lines(item.start + 1, item.end, [indent + line for line in lines[1:]])
