"""What the model is told of the memory at the start: a few lines, however long the history is."""

from collections.abc import Sequence
from typing import NamedTuple

from localllm.base.i18n import english
from localllm.memory import notes, session_records, todos
from localllm.memory.document import Document
from localllm.memory.todos import Todo
from localllm.text.sanitising import clean

_LONGEST = 240  # bytes of a line


class _Part(NamedTuple):
    """A heading and its lines, the most important first; at most `share` of the room before all others had theirs.

    `total`: how many there are in all, where lines left out are worth mentioning, else 0; `more` mentions them.
    """

    heading: str
    lines: tuple[str, ...]
    share: float
    total: int = 0
    more: str = "memory.digest_more"


def digest(document: Document, limit_bytes: int, *, searchable: bool = True) -> str:
    """Open TODOs, decisions, preferences and the last session's record, in at most `limit_bytes` of UTF-8; "" where
    there is nothing. `searchable`: whether the model has the tool that finds the rest."""
    parts = [part for part in _parts(document, searchable=searchable) if part.lines]
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


def _parts(document: Document, *, searchable: bool) -> list[_Part]:
    urgent = todos.by_urgency(todos.todos(document))
    decisions = notes.newest(document, "decisions")
    preferences = notes.notes(document, "preferences")
    last = session_records.last(document)
    session = [line.strip() for line in last.text.splitlines()] if last else []
    more = "memory.digest_more_found" if searchable else "memory.digest_more"
    made = [f"- {note.when} {note.text}".replace("-  ", "- ") for note in decisions[:20]]
    return [
        _part("todos", [_todo_line(todo) for todo in urgent[:50]], 0.45, len(urgent)),
        _part("decisions", made, 0.2, len(decisions))._replace(more=more),
        _part("preferences", [f"- {note.text}" for note in preferences[:20]], 0.15),
        _part("session", session, 0.2),
    ]


def _part(name: str, lines: Sequence[str], share: float, total: int = 0) -> _Part:
    return _Part(english(f"memory.digest_{name}"), tuple(_short(line) for line in lines), share, total)


def _todo_line(todo: Todo) -> str:
    facts = [english("memory.digest_doing")] if todo.state == "doing" else []
    if todo.priority != "medium":
        facts.append(english(f"memory.digest_{todo.priority}"))
    more = f" ({', '.join(facts)})" if facts else ""
    return f"- {todo.id}{more} {todo.text}"


def _short(line: str) -> str:
    """A line of at most _LONGEST bytes with nothing invisible in it."""
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
            more = [english(part.more, count=part.total - count)] if part.total > count else []
            lines += [part.heading, *part.lines[:count], *more]
    return lines
