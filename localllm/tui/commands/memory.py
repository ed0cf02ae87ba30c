"""Commands about what is remembered of the project: /todo, /remember, /forget, /memory."""

import asyncio
import re
import textwrap
import unicodedata
from collections.abc import Awaitable, Callable, Iterable, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeVar, cast

from localllm.agent.file_references import find_references
from localllm.base.errors import ToolExecutionError
from localllm.base.i18n import N_, _, ngettext
from localllm.memory.todo_actions import STATES, by_word, state_told, todo_text
from localllm.text.sanitising import clean, shorten
from localllm.tui.commands.context import ChatContext
from localllm.tui.commands.registry import Choice, Outcome, SlashCall, show_forms, slash, table
from localllm.tui.render.report import wrapped
from localllm.tui.render.screen import Screen
from localllm.tui.render.todos import todo_row

if TYPE_CHECKING:
    from localllm.memory.external_memory import ExternalMemorySystem
    from localllm.memory.session_records import Recorded
    from localllm.memory.todos import Plan, Todo

_PRIORITIES = {
    "high": N_("high"),
    "medium": N_("medium"),
    "low": N_("low"),
}
_KINDS = {
    "todo": N_("TODO"),
    "decision": N_("decision"),
    "preference": N_("preference"),
    "session": N_("session"),
    "conversation": N_("conversation"),
    "answer": N_("answer"),
    "dna": N_("project"),
    "folders": N_("folders"),
    "style": N_("style"),
    "notes": N_("note"),
}
_STATES = {
    "planned": N_("To do: {id} {text}"),
    "doing": N_("In progress: {id} {text}"),
    "done": N_("Done: {id} {text}"),
    "dropped": N_("Dropped: {id} {text}"),
}
_TOLD = {
    "preference": "[The user has noted a preference: {text}]",
    "decision": "[The user has noted a decision: {text}]",
}
_REMEMBERED = {
    "preference": N_("Noted as a preference: {id} {text}"),
    "decision": N_("Noted as a decision: {id} {text}"),
}
_STATE_NAMES = {
    "planned": N_("to do"),
    "doing": N_("in progress"),
    "done": N_("done"),
    "dropped": N_("dropped"),
}
_MEMORY = {
    "todos": N_("Open TODOs"),
    "decisions": N_("Decisions"),
    "preferences": N_("Preferences"),
    "sessions": N_("Last sessions"),
}

T = TypeVar("T")
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
"""With words behind them they are the beginning of a task."""

_DECISION = re.compile(r"(?:decision|decided|決定事項|決定)\s*[:：]\s*", re.IGNORECASE)
_PREFERENCE = re.compile(r"(?:preference|prefer|好みと方針|好み|方針)\s*[:：]\s*", re.IGNORECASE)

_NAME = re.compile(r"#?(?:\d+|t[bcdfghjkmnpqrstvwxz]{4,}(?:-\d+)?)")
"""What names a TODO: its number or id."""

_FILE = re.compile(r"""@(?:"[^"\n]+"|[^\s"]+)(?::\d+(?:-\d+)?)?""")

_MOST_LISTED = 30
_MOST_SHOWN = 5
"""Of each kind, by /memory."""
_MOST_RECORDS = 3
_MOST_FOUND = 10
_LONGEST_FOUND = 480  # cells of an entry
_LONGEST_HEADING = 60
_LONGEST_NOTE = 60  # cells beside a completion


def _verbs(_chat: ChatContext) -> Iterable[str]:
    return _VERBS


def _of_verb(chat: ChatContext, before: str) -> Iterable[Choice]:
    """The TODOs a verb may be about."""
    verb = _VERB_OF.get(before.lower())
    if verb in (None, "add", *_ALONE):
        return []
    is_finished = verb == "reopen"
    return [(todo.id, _note(todo.text)) for todo in chat.memory.known_todos() if todo.is_open != is_finished]


@slash(
    "todo",
    usage=N_("[ID|text|@file …]"),
    choices=_verbs,
    further=_of_verb,
    forms=N_(
        "/todo | what is open, the most urgent first\n"
        "/todo all | finished ones too\n"
        "/todo keep | put what is open of the model's plan on the list\n"
        "/todo 3 | all of it, and what can be done with it\n"
        "/todo write the docs | add it; “(high)” at its end is its priority\n"
        "/todo add start the server | add it, also where it begins with a word of these here\n"
        "/todo high write the docs | add it with a priority: high, medium or low\n"
        "/todo @plan.md | add the parts of a plan; of a pasted list likewise\n"
        "/todo start 3 | begun; finish (or done), drop and reopen likewise\n"
        "/todo low 3 | another priority\n"
        "/todo edit 3 write the guide | other words\n"
        "/todo move 3 1 | to the first place\n"
        "3 | its number in the list; its id, how its text begins, or its line will do as well"
    ),
)
async def todo(call: SlashCall) -> Outcome:
    """List what is to be done, add to it, or say how far it is: start, finish, drop, reopen, edit, move."""
    first, rest = _split(call.arguments)
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
        _print(call.screen, told, "warning")
    elif verb is None or verb in _ALONE:
        await _add(call, call.arguments)
    elif not rest:
        show_forms(call, "todo")
    elif verb == "add" or (verb in ("high", "medium", "low") and _is_new(call.chat, rest)):
        await _add(call, rest if verb == "add" else f"{verb} {rest}")
    else:
        await _change(call, verb, rest)


async def _keep_plan(call: SlashCall) -> None:
    """Put what is open of the model's plan on the list, which outlasts the session."""
    plan = call.chat.memory.plan
    if not plan.open_todos():
        _print(call.screen, _("Nothing is open in a plan of the model's."))
        return
    added = await _changed(call, "/todo", lambda memory: memory.take_over(plan.text))
    _print(call.screen, ngettext("{count} TODO was added.", "{count} TODOs were added.", added))


def _misspelt(chat: ChatContext, word: str, rest: str) -> str:
    """The verb that a word is nearly, where what follows it is on the list; else ""."""
    near = get_close_matches(word.lower(), [known for known in _VERB_OF if known.isascii()], n=1, cutoff=0.7)
    if not near or not rest or _VERB_OF[near[0]] in ("add", *_ALONE):
        return ""
    named = _split(rest)[0] if _VERB_OF[near[0]] in ("edit", "move") else rest
    return "" if _is_new(chat, named) else near[0]


def _folded(text: str) -> str:
    """What names something, as it is written without an input method: ３ is 3."""
    return unicodedata.normalize("NFKC", text).strip().lower()


def _show_one(call: SlashCall, name: str) -> None:
    """All there is of one TODO, and what can be done with it."""
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
    _print(call.screen, "  ".join([facts, *(_(key, date=date) for key, date in dates if date)]), "bold")
    for line in (one.text, *textwrap.dedent(one.details).splitlines()):
        _print(call.screen, clean(line, keep_newlines=False))
    _print(
        call.screen,
        _("/todo start {id}, done, drop, reopen, high, low, edit or move: see /help todo.", id=one.id),
        "dim",
    )


def _is_new(chat: ChatContext, text: str) -> bool:
    """Whether nothing on the list is meant by `text`, and it is no number or id that is not there."""
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
        _print(screen, _("No TODOs. /todo TEXT adds one."))
    _say_conflict(call)
    _rows(screen, shown if whole else shown[:_MOST_LISTED])
    finished = sum(not one.is_open for one in every)
    if len(shown) > _MOST_LISTED and not whole:
        _print(screen, _("… and {count} more: {how}", count=len(shown) - _MOST_LISTED, how="/todo all"), "dim")
    elif finished and not whole:
        _print(screen, _("{count} done or dropped: /todo all", count=finished), "dim")
    if planned:
        _print(screen, _("The model's plan in this session (/todo keep puts it on the list):"), "bold")
        for one in planned[:_MOST_LISTED]:
            _print(screen, shorten(todo_row(one), max(20, screen.width - 4)))


def _rows(screen: Screen, listed: "Sequence[Todo]") -> None:
    """A line for each; what does not fit on it, `/todo ID` shows."""
    names = [f"{one.number:>3}  {one.id}" for one in listed]
    room = max(20, screen.width - max(map(len, names), default=0) - 4)
    table(screen, [(name, shorten(todo_row(one), room)) for name, one in zip(names, listed, strict=True)])


def _say_conflict(call: SlashCall) -> None:
    """Warn where git has left two versions in the file."""
    if line := call.chat.memory.conflict:
        name = clean(call.chat.memory.name, keep_newlines=False)
        _print(
            call.screen,
            _(
                "{file} has an unsettled git conflict from line {line:,} on; both sides are read. "
                "Settle it in an editor.",
                file=name,
                line=line,
            ),
            "warning",
        )


async def _add(call: SlashCall, text: str) -> None:
    """Put a task on the list, or the parts of a plan: of a file, of a list that was pasted, of a long text."""
    first, rest = _split(text)
    verb = _VERB_OF.get(first.lower())
    priority, task = (verb, rest) if verb in ("high", "medium", "low") and rest else ("", text)
    plan = await _plan(call.chat.root, task.strip())
    before = {one.id: one for one in call.chat.memory.known_todos() if one.is_open}
    added = await _changed(
        call,
        "/todo",
        lambda memory: memory.put_todos(plan.text, priority, source=plan.source, first_line=plan.first_line),
    )
    match added.todos:
        case [one]:
            _print(call.screen, _told_of(one, before.get(one.id)))
        case several:
            _print(call.screen, ngettext("{count} TODO:", "{count} TODOs:", len(several)))
            _rows(call.screen, several[:_MOST_LISTED])
            if len(several) > _MOST_LISTED:
                _print(
                    call.screen,
                    _("… and {count} more: {how}", count=len(several) - _MOST_LISTED, how="/todo all"),
                    "dim",
                )
            _print(call.screen, _("/undo takes it back."), "dim")
    if added.finished:
        _print(
            call.screen,
            ngettext(
                "{count} item was left out: already done.", "{count} items were left out: already done.", added.finished
            ),
            "dim",
        )


def _told_of(added: "Todo", old: "Todo | None") -> str:
    """What became of a task that was added; `old`: what was on the list of it already."""
    if old is None:
        return _(_STATES[added.state], id=added.id, text=todo_text(added))
    if old.priority == added.priority:
        return _("It is on the list already: {id} {text}", id=added.id, text=todo_text(added))
    priority = _(_PRIORITIES[added.priority])
    return _(
        "It is on the list already; its priority is {priority} now: {id} {text}",
        priority=priority,
        id=added.id,
        text=_short(added.text),
    )


async def _plan(root: Path, task: str) -> "Plan":
    """What is to be done: the text itself, or what the file holds that is all it names."""
    from localllm.memory.todos import Plan, read_plan  # few tasks are files

    if not _FILE.fullmatch(task) or len(found := find_references(task)) != 1:
        return Plan(task, "")
    return await asyncio.to_thread(read_plan, root, found[0].path, found[0].first_line, found[0].line_count)


async def _change(call: SlashCall, verb: Verb, rest: str) -> None:
    """What the verb says of the TODO that `rest` begins with, or is."""
    name, more = _split(rest)
    match verb:
        case "edit":
            one = await _changed(call, "/todo", lambda memory: memory.set_todo_text(name, more))
            told = _("Is now {id}: {text}", id=one.id, text=_short(todo_row(one)))
        case "move" if more.strip().isdecimal():
            one = await _changed(call, "/todo", lambda memory: memory.move_todo(name, int(more)))
            told = _("Is number {number} now: {id} {text}", number=one.number, id=one.id, text=_short(one.text))
        case "high" | "medium" | "low":
            one = await _changed(call, "/todo", lambda memory: memory.set_todo_priority(rest, verb))
            told = _(
                "Priority {priority}: {id} {text}", priority=_(_PRIORITIES[verb]), id=one.id, text=_short(one.text)
            )
        case "start" | "finish" | "drop" | "reopen":
            before = {one.id: one for one in call.chat.memory.known_todos()}
            one = await _changed(call, "/todo", lambda memory: memory.set_todo_state(rest, STATES[verb]))
            told = state_told(one, before.get(one.id), _short(one.text))
        case _:
            show_forms(call, "todo")
            return
    _print(call.screen, str(told))


@slash(
    "remember",
    usage=N_("TEXT"),
    forms=N_("/remember use tabs | keep a preference\n/remember decision: SQLite | keep a decision"),
)
async def remember(call: SlashCall) -> Outcome:
    """Keep a preference for all sessions; with “decision:” before it, a decision."""
    kind, text = _kind_of(call.arguments.strip())
    if not text:
        _print(call.screen, _("/remember TEXT · /remember decision: TEXT"), "warning")
        return
    name = await _changed(call, "/remember", lambda memory: memory.remember(text, kind))
    shown = clean(" ".join(text.split()), keep_newlines=False)
    call.chat.memory.tell(_TOLD[kind].format(text=shown))
    _print(call.screen, _(_REMEMBERED[kind], id=name, text=shown))


def _kind_of(text: str) -> tuple[Literal["decision", "preference"], str]:
    """What it is, as a word before it may say, and the rest."""
    bare = f"{text}:"  # the word alone says what it is, and nothing else
    if (found := _DECISION.match(text)) or (found := _DECISION.fullmatch(bare)):
        return "decision", text[found.end() :]
    found = _PREFERENCE.match(text) or _PREFERENCE.fullmatch(bare)
    return "preference", text[found.end() :] if found else text


def _forgettable(chat: ChatContext) -> Iterable[Choice]:
    return [(name, _note(f"{_(_KINDS[kind])}: {text}")) for name, kind, text in chat.memory.known_entries()]


@slash(
    "forget",
    usage=N_("ID"),
    choices=_forgettable,
    forms=N_("/forget pbdkw | what has this id: /memory and /todo show them\n/forget use tabs | what begins so"),
)
async def forget(call: SlashCall) -> Outcome:
    """Take a TODO, decision, preference or session record out of the memory."""
    wanted = call.arguments.strip()
    if not wanted or not call.chat.memory.is_there:
        _print(call.screen, _("/forget ID, or how the text begins. /memory shows what is kept."), "warning")
        return
    gone = await _changed(call, "/forget", lambda memory: memory.forget(wanted))
    if gone.kind in ("decision", "preference"):
        call.chat.memory.tell(
            f"[The user has taken this back, it no longer holds: {clean(gone.text, keep_newlines=False)}]"
        )
    kind = _(_KINDS[gone.kind])
    _print(call.screen, _("Forgotten ({kind}): “{text}”", kind=kind, text=_short(gone.text)))
    _print(call.screen, _("/undo takes it back."), "dim")


@slash(
    "memory",
    usage=N_("[words]"),
    forms=N_("/memory | what is remembered\n/memory database | search it, and past sessions"),
)
async def memory(call: SlashCall) -> Outcome:
    """Show what is remembered, or search it and past sessions."""
    if call.arguments.strip():
        await _search(call, call.arguments.strip())
        return
    kept, screen = call.chat.memory, call.screen
    if kept.is_there:
        _say_conflict(call)
        _overview(kept.system, screen)
        _print(screen, _("Kept in {file}, which is yours to edit.", file=clean(kept.name, keep_newlines=False)), "dim")
    else:
        _print(
            screen,
            _(
                "Nothing is kept yet. /todo TEXT and /remember TEXT do, in {file}; /init also "
                "describes the project there.",
                file=clean(kept.name, keep_newlines=False),
            ),
        )
    _show_instructions(call)


def _overview(kept: "ExternalMemorySystem", screen: Screen) -> None:
    """The most important of each kind, and how many more there are."""
    urgent, decisions, preferences = kept.open_todos(), kept.decisions(), kept.preferences()
    records = kept.session_records()
    parts: list[tuple[str, Sequence[tuple[str, str]], int, int]] = [
        ("todos", [(one.id, _note(todo_row(one))) for one in urgent[:_MOST_SHOWN]], len(urgent), _MOST_SHOWN),
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
            _print(screen, _(_MEMORY[name]), "bold")
            table(screen, rows)
        if total > most:
            how = "/todo" if name == "todos" else _("/memory WORDS searches")
            _print(screen, _("… and {count} more: {how}", count=total - most, how=how), "dim")


def _goal(record: "Recorded") -> str:
    """What a session was for: its first line, without the date."""
    return _short(record.text.strip().partition("\n")[0].removeprefix(record.when), _LONGEST_NOTE)


def _show_instructions(call: SlashCall) -> None:
    files, is_told = call.chat.memory.instructions(call.chat.profile)
    if not files:
        return
    _print(
        call.screen,
        _(N_("Instructions the model was given") if is_told else N_("Instructions the model will be given")),
        "bold",
    )
    for file in files:
        key = (
            N_(
                "{path} ({count} character, the first {kept} of them)",
                "{path} ({count} characters, the first {kept} of them)",
            )
            if file.is_cut
            else N_("{path} ({count} character)", "{path} ({count} characters)")
        )
        path = clean(file.path, keep_newlines=False)
        _print(call.screen, _(key, path=path, count=f"{file.size:,}", kept=f"{len(file.text):,}"))


async def _search(call: SlashCall, words: str) -> None:
    found, total = await call.chat.memory.system.recall(words, _MOST_FOUND)
    if not found:
        _print(call.screen, _("Nothing is remembered about “{words}”.", words=clean(words, keep_newlines=False)))
    rows = [
        (
            " ".join(filter(None, (_(_KINDS[one["kind"]]), str(one["when"])[:10]))),
            ": ".join(filter(None, (_short(one["heading"], _LONGEST_HEADING), _short(one["text"])))),
        )
        for one in found
    ]
    table(call.screen, rows)
    if total > len(found):
        _print(call.screen, _("… and {count} more: narrower words find others", count=total - len(found)), "dim")


async def _changed(call: SlashCall, command: str, change: "Callable[[ExternalMemorySystem], Awaitable[T]]") -> T:
    """Make a change, and say so where the file was made for it."""
    memory = call.chat.memory
    was_there = memory.is_there
    answer = await memory.change(command, change)
    if not was_there and memory.is_there:
        _print(call.screen, _("{file} was made.", file=clean(memory.name, keep_newlines=False)), "dim")
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
