"""The command /todo: show and change the project's tasks."""

import asyncio
import re
import textwrap
import unicodedata
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Literal, cast

from localllm.agent.file_references import find_references
from localllm.base.errors import ToolExecutionError
from localllm.base.i18n import N_, _, ngettext
from localllm.memory.todo_actions import STATES, by_word, state_told, todo_text
from localllm.text.sanitising import clean, shorten
from localllm.tui.commands.context import ChatContext
from localllm.tui.commands.memory_reports import (
    change_memory,
    choice_note,
    first_word,
    print_indented,
    say_conflict,
    short_line,
)
from localllm.tui.commands.registry import Choice, Outcome, SlashCall, show_forms, slash, table
from localllm.tui.render.screen import Screen
from localllm.tui.render.todos import todo_row

if TYPE_CHECKING:
    from localllm.memory.todos import Plan, Todo

_PRIORITIES = {
    "high": N_("high"),
    "medium": N_("medium"),
    "low": N_("low"),
}

_STATES = {
    "planned": N_("To do: {id} {text}"),
    "doing": N_("In progress: {id} {text}"),
    "done": N_("Done: {id} {text}"),
    "dropped": N_("Dropped: {id} {text}"),
}

_STATE_NAMES = {
    "planned": N_("to do"),
    "doing": N_("in progress"),
    "done": N_("done"),
    "dropped": N_("dropped"),
}

Verb = Literal[
    "add", "start", "finish", "drop", "reopen", "high", "medium", "low", "edit", "move", "list", "all", "keep"
]

_VERBS: dict[Verb, str] = {
    "add": "add",
    "start": "start",
    "finish": "finish|done",
    "drop": "drop",
    "reopen": "reopen",
    "high": "high",
    "medium": "medium",
    "low": "low",
    "edit": "edit",
    "move": "move",
    "list": "list",
    "all": "all",
    "keep": "keep",
}

_VERB_OF = cast("dict[str, Verb]", by_word(cast("dict[str, str]", _VERBS)))

_ALONE: frozenset[Verb] = frozenset(("list", "all", "keep"))
"""Verbs without arguments: followed by words, they start a task."""

_NAME = re.compile(r"#?(?:\d+|t[bcdfghjkmnpqrstvwxz]{4,}(?:-\d+)?)")
"""A reference to a TODO: its number or id."""

_FILE = re.compile(r"""@(?:"[^"\n]+"|[^\s"]+)(?::\d+(?:-\d+)?)?""")

_MOST_LISTED = 30


def _verbs(_chat: ChatContext) -> Iterable[str]:
    return _VERBS


def _of_verb(chat: ChatContext, before: str) -> Iterable[Choice]:
    """Return the TODOs a verb applies to, as completions."""
    verb = _VERB_OF.get(before.lower())
    if verb in (None, "add", *_ALONE):
        return []
    is_finished = verb == "reopen"
    return [(todo.id, choice_note(todo.text)) for todo in chat.memory.known_todos() if todo.is_open != is_finished]


@slash(
    "todo",
    usage=N_("[ID|text|@file …]"),
    choices=_verbs,
    further=_of_verb,
    forms=N_(
        "/todo | what is open, the most urgent first\n"
        "/todo all | finished ones too\n"
        "/todo keep | add the open items of the model's plan to the list\n"
        "/todo 3 | show it in full, and what can be done with it\n"
        "/todo write the docs | add it; “(high)” at its end sets the priority\n"
        "/todo add start the server | add it, even if it begins with one of these words\n"
        "/todo high write the docs | add it with a priority: high, medium or low\n"
        "/todo @plan.md | add the parts of a plan; a pasted list works too\n"
        "/todo start 3 | mark it as started; also finish (or done), drop, reopen\n"
        "/todo low 3 | change the priority\n"
        "/todo edit 3 write the guide | change the text\n"
        "/todo move 3 1 | move it to the first place\n"
        "3 | its number in the list; its id, its line or the beginning of its text works too"
    ),
)
async def todo(call: SlashCall) -> Outcome:
    """List the TODOs, add one, or change one: start, finish, drop, reopen, edit, move."""
    first, rest = first_word(call.arguments)
    verb = _VERB_OF.get(first.lower())
    if verb == "keep" and not rest:
        await _keep_plan(call)
    elif not call.arguments.strip() or (verb in _ALONE and not rest):
        _list(call, whole=verb == "all")
    elif _NAME.fullmatch(_folded(call.arguments)):
        _show_one(call, call.arguments)
    elif verb is None and (meant := _misspelt(call.chat, first, rest)):
        words = clean(call.arguments.strip(), keep_newlines=False)
        told = _(
            "Did you mean /todo {meant}? As a task: /todo add {words}",
            meant=f"{meant} {clean(rest, keep_newlines=False)}",
            words=words,
        )
        print_indented(call.screen, told, "warning")
    elif verb is None or verb in _ALONE:
        await _add(call, call.arguments)
    elif not rest:
        show_forms(call, "todo")
    elif verb == "add" or (verb in ("high", "medium", "low") and _is_new(call.chat, rest)):
        await _add(call, rest if verb == "add" else f"{verb} {rest}")
    else:
        await _change(call, verb, rest)


async def _keep_plan(call: SlashCall) -> None:
    """Copy the open items of the model's plan to the project's list, which outlasts the session."""
    plan = call.chat.memory.plan
    if not plan.open_todos():
        print_indented(call.screen, _("The model's plan has no open items."))
        return
    added = await change_memory(call, "/todo", lambda memory: memory.take_over(plan.text))
    print_indented(call.screen, ngettext("{count} TODO was added.", "{count} TODOs were added.", added))


def _misspelt(chat: ChatContext, word: str, rest: str) -> str:
    """Return the verb a word nearly is, if the following text names a TODO; else ""."""
    near = get_close_matches(word.lower(), [known for known in _VERB_OF if known.isascii()], n=1, cutoff=0.7)
    if not near or not rest or _VERB_OF[near[0]] in ("add", *_ALONE):
        return ""
    named = first_word(rest)[0] if _VERB_OF[near[0]] in ("edit", "move") else rest
    return "" if _is_new(chat, named) else near[0]


def _folded(text: str) -> str:
    """Normalise a reference typed with an input method: ３ is 3."""
    return unicodedata.normalize("NFKC", text).strip().lower()


def _show_one(call: SlashCall, name: str) -> None:
    """Show all details of one TODO, and the commands for it."""
    if not call.chat.memory.is_there:
        raise ToolExecutionError("memory_unknown", wanted=name.strip(), near="")
    one = call.chat.memory.system.find_todo(name)
    facts = _(
        "{number}  {id}  {state}  priority {priority}",
        number=one.number,
        id=one.id,
        state=_(_STATE_NAMES[one.state]),
        priority=_(_PRIORITIES[one.priority]),
    )
    dates = ((N_("added {date}"), one.added), (N_("ended {date}"), one.finished))
    print_indented(call.screen, "  ".join([facts, *(_(key, date=date) for key, date in dates if date)]), "bold")
    for line in (one.text, *textwrap.dedent(one.details).splitlines()):
        print_indented(call.screen, clean(line, keep_newlines=False))
    print_indented(
        call.screen,
        _("/todo start {id}, done, drop, reopen, high, low, edit or move: see /help todo.", id=one.id),
        "dim",
    )


def _is_new(chat: ChatContext, text: str) -> bool:
    """Whether `text` matches nothing on the list, and is no unknown number or id."""
    if _NAME.fullmatch(_folded(text)):
        return False
    if not chat.memory.is_there:
        return True
    try:
        chat.memory.system.find_todo(text)
    except ToolExecutionError as error:
        return error.key == "memory_unknown"
    return False


def _list(call: SlashCall, *, whole: bool) -> None:
    memory, screen = call.chat.memory, call.screen
    every = memory.system.todos() if memory.is_there else ()
    shown = list(every) if whole else list(memory.open_todos())
    ids = {one.id for one in shown}
    planned = [one for one in memory.plan.open_todos() if one.id not in ids]
    if not (shown or planned):
        print_indented(screen, _("No TODOs. /todo TEXT adds one."))
    say_conflict(call)
    _rows(screen, shown if whole else shown[:_MOST_LISTED])
    finished = sum(not one.is_open for one in every)
    if len(shown) > _MOST_LISTED and not whole:
        print_indented(screen, _("… and {count} more: {how}", count=len(shown) - _MOST_LISTED, how="/todo all"), "dim")
    elif finished and not whole:
        print_indented(screen, _("{count} done or dropped: /todo all", count=finished), "dim")
    if planned:
        print_indented(screen, _("The model's plan in this session (/todo keep puts it on the list):"), "bold")
        for one in planned[:_MOST_LISTED]:
            print_indented(screen, shorten(todo_row(one), max(20, screen.width - 4)))


def _rows(screen: Screen, listed: "Sequence[Todo]") -> None:
    """Print a line per TODO, truncated; `/todo ID` shows all."""
    names = [f"{one.number:>3}  {one.id}" for one in listed]
    room = max(20, screen.width - max(map(len, names), default=0) - 4)
    table(screen, [(name, shorten(todo_row(one), room)) for name, one in zip(names, listed, strict=True)])


async def _add(call: SlashCall, text: str) -> None:
    """Add a task, or the items of a plan: from a file, a pasted list, or a long text."""
    first, rest = first_word(text)
    verb = _VERB_OF.get(first.lower())
    priority, task = (verb, rest) if verb in ("high", "medium", "low") and rest else ("", text)
    plan = await _plan(call.chat.root, task.strip())
    before = {one.id: one for one in call.chat.memory.known_todos() if one.is_open}
    added = await change_memory(
        call,
        "/todo",
        lambda memory: memory.put_todos(plan.text, priority, source=plan.source, first_line=plan.first_line),
    )
    match added.todos:
        case [one]:
            print_indented(call.screen, _told_of(one, before.get(one.id)))
        case several:
            print_indented(call.screen, ngettext("{count} TODO:", "{count} TODOs:", len(several)))
            _rows(call.screen, several[:_MOST_LISTED])
            if len(several) > _MOST_LISTED:
                print_indented(
                    call.screen,
                    _("… and {count} more: {how}", count=len(several) - _MOST_LISTED, how="/todo all"),
                    "dim",
                )
            print_indented(call.screen, _("/undo takes it back."), "dim")
    if added.finished:
        print_indented(
            call.screen,
            ngettext(
                "{count} item was left out: already done.", "{count} items were left out: already done.", added.finished
            ),
            "dim",
        )


def _told_of(added: "Todo", old: "Todo | None") -> str:
    """Describe the result of adding a task; `old`: the TODO that was on the list already."""
    if old is None:
        return _(_STATES[added.state], id=added.id, text=todo_text(added))
    if old.priority == added.priority:
        return _("Already on the list: {id} {text}", id=added.id, text=todo_text(added))
    priority = _(_PRIORITIES[added.priority])
    return _(
        "Already on the list; its priority is now {priority}: {id} {text}",
        priority=priority,
        id=added.id,
        text=short_line(added.text),
    )


async def _plan(root: Path, task: str) -> "Plan":
    """Return the plan: the text itself, or the content of the file it names."""
    from localllm.memory.todos import Plan, read_plan  # few tasks are files

    if not _FILE.fullmatch(task) or len(found := find_references(task)) != 1:
        return Plan(task, "")
    return await asyncio.to_thread(read_plan, root, found[0].path, found[0].first_line, found[0].line_count)


async def _change(call: SlashCall, verb: Verb, rest: str) -> None:
    """Apply the verb to the TODO that `rest` names or starts with."""
    name, more = first_word(rest)
    match verb:
        case "edit":
            one = await change_memory(call, "/todo", lambda memory: memory.set_todo_text(name, more))
            told = _("Now {id}: {text}", id=one.id, text=short_line(todo_row(one)))
        case "move" if more.strip().isdecimal():
            one = await change_memory(call, "/todo", lambda memory: memory.move_todo(name, int(more)))
            told = _("Now number {number}: {id} {text}", number=one.number, id=one.id, text=short_line(one.text))
        case "high" | "medium" | "low":
            one = await change_memory(call, "/todo", lambda memory: memory.set_todo_priority(rest, verb))
            told = _(
                "Priority {priority}: {id} {text}", priority=_(_PRIORITIES[verb]), id=one.id, text=short_line(one.text)
            )
        case "start" | "finish" | "drop" | "reopen":
            before = {one.id: one for one in call.chat.memory.known_todos()}
            one = await change_memory(call, "/todo", lambda memory: memory.set_todo_state(rest, STATES[verb]))
            told = state_told(one, before.get(one.id), short_line(one.text))
        case _:
            show_forms(call, "todo")
            return
    print_indented(call.screen, str(told))
