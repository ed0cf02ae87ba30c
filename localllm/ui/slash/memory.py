"""Commands about what is remembered of the project: /todo, /remember, /forget, /memory."""

import re
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Literal, TypeVar

from localllm.base.i18n import tr
from localllm.text.cleaning import clean, shorten
from localllm.ui.report import wrapped
from localllm.ui.screen import Screen
from localllm.ui.slash.context import ChatContext
from localllm.ui.slash.registry import Choice, Outcome, SlashCall, slash
from localllm.ui.slash.table import table
from localllm.ui.todo_lines import todo_row, todo_text

if TYPE_CHECKING:
    from localllm.memory.external_memory import ExternalMemorySystem
    from localllm.memory.session_records import Recorded
    from localllm.memory.todos import Todo

T = TypeVar("T")
Verb = Literal["add", "start", "finish", "drop", "reopen", "high", "medium", "low", "edit", "move", "all"]

_VERBS: dict[Verb, str] = {
    "add": "add|追加",
    "start": "start|着手|開始",
    "finish": "finish|done|完了",
    "drop": "drop|中止",
    "reopen": "reopen|再開",
    "high": "high|高",
    "medium": "medium|中",
    "low": "low|低",
    "edit": "edit|編集",
    "move": "move|移動",
    "all": "all|全部|すべて",
}
_VERB_OF: dict[str, Verb] = {word: verb for verb, words in _VERBS.items() for word in words.split("|")}

_DECISION = re.compile(r"(?:decision|decided|決定事項|決定)\s*[:：]\s*", re.IGNORECASE)
_PREFERENCE = re.compile(r"(?:preference|prefer|好みと方針|好み|方針)\s*[:：]\s*", re.IGNORECASE)

_MOST_LISTED = 30
_MOST_SHOWN = 5
"""Of each kind, by /memory."""
_MOST_RECORDS = 3
_MOST_FOUND = 10
_LONGEST_FOUND = 300  # characters of an entry
_LONGEST_NOTE = 60  # cells beside a completion


def _verbs(_chat: ChatContext) -> Iterable[str]:
    return _VERBS


def _of_verb(chat: ChatContext, before: str) -> Iterable[Choice]:
    """The TODOs a verb may be about."""
    verb = _VERB_OF.get(before.lower())
    if verb in (None, "add", "all"):
        return []
    is_finished = verb == "reopen"
    return [(todo.id, _note(todo.text)) for todo in chat.memory.known_todos() if todo.is_open != is_finished]


@slash("todo", usage="[ID|text …]", choices=_verbs, further=_of_verb)
async def todo(call: SlashCall) -> Outcome:
    """List what is to be done, add to it, or say how far it is: start, finish, drop, reopen, edit, move."""
    first, rest = _split(call.arguments)
    verb = _VERB_OF.get(first.lower())
    if not call.arguments.strip() or (verb == "all" and not rest):
        _list(call, whole=verb == "all")
    elif verb is None or verb == "all":
        await _add(call, call.arguments)
    elif not rest:
        _print(call.screen, tr("memory.usage_todo"), "warning")
    elif verb == "add":
        await _add(call, rest)
    else:
        await _change(call, verb, rest)


def _list(call: SlashCall, *, whole: bool) -> None:
    memory, screen = call.chat.memory, call.screen
    every = memory.system.todos() if memory.is_there else ()
    shown = list(every) if whole else list(memory.open_todos())
    if not shown:
        _print(screen, tr("memory.no_todos"))
    table(screen, [(f"{one.number:>3}  {one.id}", todo_row(one)) for one in shown[: None if whole else _MOST_LISTED]])
    finished = sum(not one.is_open for one in every)
    if len(shown) > _MOST_LISTED and not whole:
        _print(screen, tr("memory.more", count=len(shown) - _MOST_LISTED, how="/todo all"), "dim")
    elif finished and not whole:
        _print(screen, tr("memory.finished_ones", count=finished), "dim")


async def _add(call: SlashCall, text: str) -> None:
    first, rest = _split(text)
    verb = _VERB_OF.get(first.lower())
    priority, task = (verb, rest) if verb in ("high", "medium", "low") and rest else ("medium", text)
    name = await _changed(call, "/todo", lambda memory: memory.add_todo(task.strip(), priority))
    added = next(one for one in call.chat.memory.known_todos() if one.id == name)
    _print(call.screen, tr(f"todo.{added.state}", id=added.id, text=todo_text(added)))


async def _change(call: SlashCall, verb: Verb, rest: str) -> None:
    """What the verb says of the TODO that `rest` begins with, or is."""
    name, more = _split(rest)
    match verb:
        case "edit":
            one = await _changed(call, "/todo", lambda memory: memory.set_todo_text(name, more))
            told = tr("memory.renamed", id=one.id, text=_short(one.text))
        case "move" if more.strip().isdecimal():
            one = await _changed(call, "/todo", lambda memory: memory.move_todo(name, int(more)))
            told = tr("memory.moved", number=one.number, id=one.id, text=_short(one.text))
        case "high" | "medium" | "low":
            one = await _changed(call, "/todo", lambda memory: memory.set_todo_priority(rest, verb))
            told = tr("memory.priority", priority=tr(f"memory.priority.{verb}"), id=one.id, text=_short(one.text))
        case "start" | "finish" | "drop" | "reopen":
            one = await _changed(call, "/todo", lambda memory: _state(memory, verb, rest))
            told = tr(f"todo.{one.state}", id=one.id, text=_short(one.text))
        case _:
            told = tr("memory.usage_todo")
    _print(call.screen, told)


def _state(
    memory: "ExternalMemorySystem", verb: Literal["start", "finish", "drop", "reopen"], wanted: str
) -> "Awaitable[Todo]":
    match verb:
        case "start":
            return memory.start_todo(wanted)
        case "finish":
            return memory.finish_todo(wanted)
        case "drop":
            return memory.drop_todo(wanted)
        case "reopen":
            return memory.reopen_todo(wanted)


@slash("remember", usage="TEXT")
async def remember(call: SlashCall) -> Outcome:
    """Keep a preference for all sessions; with “decision:” before it, a decision."""
    text = call.arguments.strip()
    if not text:
        _print(call.screen, tr("memory.usage_remember"), "warning")
        return
    kind, text = _kind_of(text)
    name = await _changed(call, "/remember", lambda memory: memory.remember(text, kind))
    shown = clean(" ".join(text.split()), keep_newlines=False)
    call.chat.memory.tell(tr(f"memory.told_{kind}", text=shown))
    _print(call.screen, tr(f"memory.remembered_{kind}", id=name, text=shown))


def _kind_of(text: str) -> tuple[Literal["decision", "preference"], str]:
    """What it is, as a word before it may say, and the rest."""
    if found := _DECISION.match(text):
        return "decision", text[found.end() :]
    found = _PREFERENCE.match(text)
    return "preference", text[found.end() :] if found else text


def _forgettable(chat: ChatContext) -> Iterable[Choice]:
    return [(name, _note(f"{tr(f'memory.kind.{kind}')}: {text}")) for name, kind, text in chat.memory.known_entries()]


@slash("forget", usage="ID", choices=_forgettable)
async def forget(call: SlashCall) -> Outcome:
    """Take a TODO, decision, preference or session record out of the memory."""
    wanted = call.arguments.strip()
    if not wanted or not call.chat.memory.is_there:
        _print(call.screen, tr("memory.usage_forget"), "warning")
        return
    gone = await _changed(call, "/forget", lambda memory: memory.forget(wanted))
    if gone.kind in ("decision", "preference"):
        call.chat.memory.tell(tr("memory.told_forgotten", text=clean(gone.text, keep_newlines=False)))
    kind = tr(f"memory.kind.{gone.kind}")
    _print(call.screen, f"{tr('memory.forgotten', kind=kind, text=_short(gone.text))} {tr('memory.undo')}")


@slash("memory", usage="[words]")
async def memory(call: SlashCall) -> Outcome:
    """Show what is remembered, or search it and past sessions."""
    if call.arguments.strip():
        await _search(call, call.arguments.strip())
        return
    kept, screen = call.chat.memory, call.screen
    if kept.is_there:
        _overview(kept.system, screen)
        _print(screen, tr("memory.file", file=clean(kept.name, keep_newlines=False)), "dim")
    else:
        _print(screen, tr("memory.nothing", file=clean(kept.name, keep_newlines=False)))
    _show_instructions(call)


def _overview(kept: "ExternalMemorySystem", screen: Screen) -> None:
    """The most important of each kind, and how many more there are."""
    urgent, decisions, preferences = kept.open_todos(), kept.decisions(), kept.preferences()
    records = kept.session_records()
    parts: list[tuple[str, Sequence[tuple[str, str]], int, int]] = [
        ("todos", [(one.id, todo_row(one)) for one in urgent[:_MOST_SHOWN]], len(urgent), _MOST_SHOWN),
        (
            "decisions",
            [(one.id, f"{one.when} {one.text}".strip()) for one in decisions[:_MOST_SHOWN]],
            len(decisions),
            _MOST_SHOWN,
        ),
        ("preferences", [(one.id, one.text) for one in preferences[:_MOST_SHOWN]], len(preferences), _MOST_SHOWN),
        (
            "sessions",
            [(one.when, _goal(one)) for one in records[:_MOST_RECORDS]],
            len(records),
            _MOST_RECORDS,
        ),
    ]
    for name, rows, total, most in parts:
        if rows:
            _print(screen, tr(f"memory.{name}"), "bold")
            table(screen, rows)
        if total > most:
            how = "/todo" if name == "todos" else tr("memory.search_how")
            _print(screen, tr("memory.more", count=total - most, how=how), "dim")


def _goal(record: "Recorded") -> str:
    """What a session was for: its first line, without the date."""
    return _short(record.text.strip().partition("\n")[0].removeprefix(record.when), _LONGEST_NOTE)


def _show_instructions(call: SlashCall) -> None:
    files, is_told = call.chat.memory.instructions(call.chat.profile)
    if not files:
        return
    _print(call.screen, tr("memory.instructions" if is_told else "memory.instructions_next"), "bold")
    for file in files:
        key = "memory.instructions_cut" if file.is_cut else "memory.instructions_whole"
        path = clean(file.path, keep_newlines=False)
        _print(call.screen, tr(key, path=path, count=f"{file.size:,}", kept=f"{len(file.text):,}"))


async def _search(call: SlashCall, words: str) -> None:
    found = await call.chat.memory.system.search_memory(words, _MOST_FOUND)
    if not found:
        _print(call.screen, tr("memory.none_found", words=clean(words, keep_newlines=False)))
    rows = [
        (
            " ".join(filter(None, (tr(f"memory.kind.{one['kind']}"), str(one["when"])[:10]))),
            _short(f"{one['heading']}: {one['text']}" if one["heading"] else str(one["text"]), _LONGEST_FOUND),
        )
        for one in found
    ]
    table(call.screen, rows)


async def _changed(call: SlashCall, command: str, change: "Callable[[ExternalMemorySystem], Awaitable[T]]") -> T:
    """Make a change, and say so where the file was made for it."""
    memory = call.chat.memory
    was_there = memory.is_there
    answer = await memory.change(command, change)
    if not was_there and memory.is_there:
        _print(call.screen, tr("memory.file_made", file=clean(memory.name, keep_newlines=False)), "dim")
    return answer


def _split(text: str) -> tuple[str, str]:
    """The first word, and the rest."""
    first, *rest = text.split(None, 1) or [""]
    return first, rest[0] if rest else ""


def _short(text: str, most: int = _LONGEST_FOUND) -> str:
    return shorten(clean(" ".join(text.split()), keep_newlines=False), most)


def _note(text: str) -> str:
    return _short(text, _LONGEST_NOTE)


def _print(screen: Screen, text: str, style: Literal["", "dim", "bold", "warning"] = "") -> None:
    screen.print_lines(wrapped("  ", text, style, screen.width))
