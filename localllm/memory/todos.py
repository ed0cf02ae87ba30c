"""The TODO section: items with a state, a priority, dates and an id, written as the file's own style has it.

    - [ ] Text (high) +2026-11-01
    - [x] Text +2026-11-01 ✓2026-11-22
    - [完了] 本文 (高)

`[ ]` planned, `[~]` begun, `[x]` done, `[-]` dropped; words such as 予定, 進行中, 完了 and 中止 say the same. An item
without a mark is planned. The id is made from the text, so nothing in the file carries it.
"""

import re
import unicodedata
from collections.abc import Sequence
from datetime import date
from typing import Literal, NamedTuple

import msgspec

from localllm.base.errors import ConfigurationError, ToolExecutionError
from localllm.base.i18n import Phrase
from localllm.memory.document import Document, Item
from localllm.memory.entries import Named, ids_of, one_of, plain, tidy
from localllm.text.cleaning import clean

State = Literal["planned", "doing", "done", "dropped"]
Priority = Literal["high", "medium", "low"]

OPEN: tuple[State, ...] = ("doing", "planned")
PRIORITIES: tuple[Priority, ...] = ("high", "medium", "low")

_MARKS: dict[State, tuple[str, str, str]] = {
    "planned": (" ", "todo", "予定"),
    "doing": ("~", "doing", "進行中"),
    "done": ("x", "done", "完了"),
    "dropped": ("-", "dropped", "中止"),
}
"""How we write a state: in a checkbox, as an English word, as a Japanese word."""

_READ: dict[State, str] = {
    "planned": "|todo|open|planned|予定|未着手|未完了|未対応|未",
    "doing": "~|/|doing|wip|in progress|進行中|作業中|対応中|着手",
    "done": "x|✓|✔|☑|done|完了|済|済み|対応済|対応済み",
    "dropped": "-|dropped|cancelled|canceled|won't do|wontfix|中止|取消|取り消し|取りやめ|見送り",
}
_STATE_OF: dict[str, State] = {mark: state for state, marks in _READ.items() for mark in marks.split("|")}

_MARK = re.compile(r"([\[［【])([^\[\]［］【】]{0,12})([\]］】])(?![(:\[])(\s*)")
_PRIORITY_OF: dict[str, Priority] = {
    "high": "high", "高": "high", "medium": "medium", "中": "medium", "low": "low", "低": "low"
}  # fmt: skip
_WRITTEN: dict[Priority, tuple[str, str]] = {"high": ("high", "高"), "medium": ("medium", "中"), "low": ("low", "低")}
_DATE = r"\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])"
_DATES = re.compile(rf"(?:\s{{1,9}}\+(?P<added>{_DATE}))?(?:\s{{1,9}}[✓✗](?P<finished>{_DATE}))?$")
_PRIORITY = re.compile(r"\s{0,9}[(（](high|medium|low|高|中|低)[)）]$", re.IGNORECASE)


def as_priority(text: str) -> Priority:
    """The priority a word stands for, English or Japanese; ToolExecutionError memory_bad_kind."""
    if known := _PRIORITY_OF.get(text.strip().lower()):
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
        return self.state in OPEN


class _Parts(NamedTuple):
    """The first line of an item, cut up: `mark` with brackets and the space after it, "" where there is none."""

    mark: str
    state: State
    text: str
    priority: Priority | None
    added: str
    finished: str
    tail: str

    def line(self, japanese: bool) -> str:
        priority = f" ({_WRITTEN[self.priority][japanese]})" if self.priority else ""
        added = f" +{self.added}" if self.added else ""
        sign = "✓" if self.state == "done" else "✗"
        finished = f" {sign}{self.finished}" if self.finished else ""
        return f"{self.mark}{self.text}{priority}{added}{finished}{self.tail}"


def todos(document: Document) -> tuple[Todo, ...]:
    """The items of the TODO section in their order, finished ones too."""
    return tuple(todo for todo, _, _ in _all(document))


def find(document: Document, wanted: str) -> Todo:
    """The item meant by an id, a number of the list, or the beginning of the text (of an open one, where that decides).

    ToolExecutionError memory_unknown, or memory_ambiguous where several begin so.
    """
    return _find(document, wanted)[0]


def add(document: Document, text: str, priority: Priority = "medium", *, today: date) -> tuple[Document, Todo]:
    """A further item at the end of the list. One that is open already stays the only one: it is given back.

    ToolExecutionError memory_text_empty where the text says nothing.
    """
    title, *details = tidy(text)
    if priority != "medium":
        title = _PRIORITY.sub("", title) or title
    before, same = todos(document), plain(_parts(title).text)
    for todo in before:
        if todo.is_open and not details and plain(todo.text) == same:
            return (document, todo) if priority == "medium" else set_priority(document, todo.id, priority)
    explicit = priority != "medium" or _PRIORITY.search(title) is not None
    mark = _mark_like(document, "planned")
    parts = _Parts(mark, "planned", title, priority if explicit else None, today.isoformat(), "", "")
    changed = document.with_item("todo", [parts.line(document.language == "ja"), *details])
    return changed, _only_new(before, todos(changed))


def set_state(document: Document, wanted: str, state: State, *, today: date) -> tuple[Document, Todo]:
    """Begin, finish, drop or reopen an item; its mark changes in its own style, and the day it ended is noted."""
    todo, item, parts = _find(document, wanted)
    if todo.state == state:
        return document, todo
    finished = "" if state in OPEN else today.isoformat()
    mark = _restyled(parts.mark, state) if parts.mark else _mark_like(document, state)
    return _rewritten(document, todo, item, parts._replace(mark=mark, state=state, finished=finished))


def set_priority(document: Document, wanted: str, priority: Priority) -> tuple[Document, Todo]:
    todo, item, parts = _find(document, wanted)
    if todo.priority == priority:
        return document, todo
    return _rewritten(document, todo, item, parts._replace(priority=None if priority == "medium" else priority))


def set_text(document: Document, wanted: str, text: str) -> tuple[Document, Todo]:
    """Another text for an item, which gets another id by that; what is nested under it stays."""
    title, *more = tidy(text)
    if more:
        title = " ".join([title, *(line.strip() for line in more)])
    todo, item, parts = _find(document, wanted)
    return _rewritten(document, todo, item, parts._replace(text=title))


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
        raise ConfigurationError("memory_layout", reason=Phrase("memory.would_mix"))
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


def _all(document: Document) -> list[tuple[Todo, Item, _Parts]]:
    every = [(item, _parts(item.content)) for item in document.items("todo")]
    cut = [(item, parts) for item, parts in every if parts.text]
    ids = ids_of("todo", [parts.text for _, parts in cut])
    found: list[tuple[Todo, Item, _Parts]] = []
    for number, ((item, parts), name) in enumerate(zip(cut, ids, strict=True), start=1):
        details = "".join(item.lines[1:]).rstrip("\r\n")
        priority = parts.priority or "medium"
        todo = Todo(name, number, parts.text, parts.state, priority, parts.added, parts.finished, details)
        found.append((todo, item, parts))
    return found


def _find(document: Document, wanted: str) -> tuple[Todo, Item, _Parts]:
    found = _all(document)
    named = [Named(todo.id, todo.text, str(todo.number), likely=todo.is_open) for todo, _, _ in found]
    return found[one_of(wanted, named)]


def _parts(content: str) -> _Parts:
    bare = content.rstrip()
    tail = content[len(bare) :]
    mark, state = "", "planned"
    if (match := _MARK.match(bare)) and (known := _state(match)):
        mark, state = match[0], known
        bare = bare[match.end() :]
    added = finished = ""
    if dates := _DATES.search(bare):
        added, finished = dates["added"] or "", dates["finished"] or ""
        bare = bare[: dates.start()]
    priority = None
    if (match := _PRIORITY.search(bare)) and match.start():
        priority = _PRIORITY_OF[match[1].lower()]
        bare = bare[: match.start()]
    return _Parts(mark, state, bare, priority, added, finished, tail)


def _state(mark: re.Match[str]) -> State | None:
    """The state a mark stands for. After a checkbox there is white space, or it is none."""
    name = unicodedata.normalize("NFKC", mark[2]).strip().lower()
    if len(name) <= 1 and name.isascii() and not mark[4] and mark.end() < len(mark.string):
        return None
    return _STATE_OF.get(name)


def _restyled(mark: str, state: State) -> str:
    """The mark with another state, written the same way: checkbox, English or Japanese word, its brackets."""
    match = _MARK.match(mark)
    if match is None:
        return f"[{_MARKS[state][0]}] "
    word = match[2].strip()
    style = 0 if len(word) <= 1 and word not in ("未", "済") else 1 if word.isascii() else 2
    return f"{match[1]}{_MARKS[state][style]}{match[3]}{match[4] or ('' if style == 2 else ' ')}"


def _mark_like(document: Document, state: State) -> str:
    """The mark of a new item: as the last item that has one writes it."""
    cut = (_parts(item.content) for item in reversed(document.items("todo")))
    return _restyled(next((parts.mark for parts in cut if parts.mark and parts.text), ""), state)


def _rewritten(document: Document, todo: Todo, item: Item, parts: _Parts) -> tuple[Document, Todo]:
    changed = document.with_first_line(item, parts.line(document.language == "ja"))
    after = todos(changed)
    if len(after) != len(todos(document)):
        raise ConfigurationError("memory_layout", reason=Phrase("memory.would_mix"))
    return changed, after[todo.number - 1]


def _only_new(before: Sequence[Todo], after: Sequence[Todo]) -> Todo:
    """The item that was added; ConfigurationError memory_layout where the file's layout made anything else of it."""
    old, new = [_content(todo) for todo in before], [_content(todo) for todo in after]
    place = next((at for at, (was, now) in enumerate(zip(old, new, strict=False)) if was != now), len(old))
    if new[:place] + new[place + 1 :] == old and len(new) > len(old):
        return after[place]
    raise ConfigurationError("memory_layout", reason=Phrase("memory.would_mix"))


def _content(todo: Todo) -> tuple[str, str, str]:
    """What may not change when another item does. Line ends may: the last line of a file may have none."""
    return todo.text, todo.state, "\n".join(todo.details.splitlines())
