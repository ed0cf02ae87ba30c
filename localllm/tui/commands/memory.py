"""Commands on the project's memory: /remember, /forget, /memory."""

import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Literal

from localllm.base.i18n import N_, _
from localllm.text.sanitising import clean
from localllm.tui.commands.context import ChatContext
from localllm.tui.commands.memory_reports import change_memory, choice_note, print_indented, say_conflict, short_line
from localllm.tui.commands.registry import Choice, Outcome, SlashCall, slash, table
from localllm.tui.render.screen import Screen
from localllm.tui.render.todos import todo_row

if TYPE_CHECKING:
    from localllm.memory.external_memory import ExternalMemorySystem
    from localllm.memory.session_records import Recorded

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

_TOLD = {
    "preference": "[The user has noted a preference: {text}]",
    "decision": "[The user has noted a decision: {text}]",
}

_REMEMBERED = {
    "preference": N_("Noted as a preference: {id} {text}"),
    "decision": N_("Noted as a decision: {id} {text}"),
}

_MEMORY = {
    "todos": N_("Open TODOs"),
    "decisions": N_("Decisions"),
    "preferences": N_("Preferences"),
    "sessions": N_("Last sessions"),
}

_DECISION = re.compile(r"(?:decision|decided|決定事項|決定)\s*[:：]\s*", re.IGNORECASE)

_PREFERENCE = re.compile(r"(?:preference|prefer|好みと方針|好み|方針)\s*[:：]\s*", re.IGNORECASE)

_MOST_SHOWN = 5
"""Entries per kind, shown by /memory."""

_MOST_RECORDS = 3

_MOST_FOUND = 10

_LONGEST_HEADING = 60

_LONGEST_NOTE = 60  # cells beside a completion


@slash(
    "remember",
    usage=N_("TEXT"),
    forms=N_("/remember use tabs | keep a preference\n/remember decision: SQLite | keep a decision"),
)
async def remember(call: SlashCall) -> Outcome:
    """Keep a preference for all sessions; with “decision:” before it, a decision."""
    kind, text = _kind_of(call.arguments.strip())
    if not text:
        print_indented(call.screen, _("/remember TEXT · /remember decision: TEXT"), "warning")
        return
    name = await change_memory(call, "/remember", lambda memory: memory.remember(text, kind))
    shown = clean(" ".join(text.split()), keep_newlines=False)
    call.chat.memory.tell(_TOLD[kind].format(text=shown))
    print_indented(call.screen, _(_REMEMBERED[kind], id=name, text=shown))


def _kind_of(text: str) -> tuple[Literal["decision", "preference"], str]:
    """Return the kind of an entry, given by an optional first word, and the rest."""
    bare = f"{text}:"  # the word alone gives the kind and nothing else
    if (found := _DECISION.match(text)) or (found := _DECISION.fullmatch(bare)):
        return "decision", text[found.end() :]
    found = _PREFERENCE.match(text) or _PREFERENCE.fullmatch(bare)
    return "preference", text[found.end() :] if found else text


def _forgettable(chat: ChatContext) -> Iterable[Choice]:
    return [(name, choice_note(f"{_(_KINDS[kind])}: {text}")) for name, kind, text in chat.memory.known_entries()]


@slash(
    "forget",
    usage=N_("ID"),
    choices=_forgettable,
    forms=N_(
        "/forget pbdkw | the item with this id, from /memory or /todo\n"
        "/forget use tabs | the item that begins like this"
    ),
)
async def forget(call: SlashCall) -> Outcome:
    """Remove a TODO, decision, preference or session record from the memory."""
    wanted = call.arguments.strip()
    if not wanted or not call.chat.memory.is_there:
        print_indented(
            call.screen, _("/forget ID, or the beginning of the text. /memory shows what is remembered."), "warning"
        )
        return
    gone = await change_memory(call, "/forget", lambda memory: memory.forget(wanted))
    if gone.kind in ("decision", "preference"):
        call.chat.memory.tell(
            f"[The user has taken this back, it no longer holds: {clean(gone.text, keep_newlines=False)}]"
        )
    kind = _(_KINDS[gone.kind])
    print_indented(call.screen, _("Forgotten ({kind}): “{text}”", kind=kind, text=short_line(gone.text)))
    print_indented(call.screen, _("/undo takes it back."), "dim")


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
        say_conflict(call)
        _overview(kept.system, screen)
        print_indented(
            screen, _("Kept in {file}, which you can edit.", file=clean(kept.name, keep_newlines=False)), "dim"
        )
    else:
        print_indented(
            screen,
            _(
                "Nothing is remembered yet. /todo TEXT and /remember TEXT add to {file}; /init also "
                "describes the project there.",
                file=clean(kept.name, keep_newlines=False),
            ),
        )
    _show_instructions(call)


def _overview(kept: "ExternalMemorySystem", screen: Screen) -> None:
    """Show the most important entries of each kind, and the number of the others."""
    urgent, decisions, preferences = kept.open_todos(), kept.decisions(), kept.preferences()
    records = kept.session_records()
    parts: list[tuple[str, Sequence[tuple[str, str]], int, int]] = [
        ("todos", [(one.id, choice_note(todo_row(one))) for one in urgent[:_MOST_SHOWN]], len(urgent), _MOST_SHOWN),
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
            print_indented(screen, _(_MEMORY[name]), "bold")
            table(screen, rows)
        if total > most:
            how = "/todo" if name == "todos" else _("/memory WORDS searches")
            print_indented(screen, _("… and {count} more: {how}", count=total - most, how=how), "dim")


def _goal(record: "Recorded") -> str:
    """Return a session's goal: its first line, without the date."""
    return short_line(record.text.strip().partition("\n")[0].removeprefix(record.when), _LONGEST_NOTE)


def _show_instructions(call: SlashCall) -> None:
    files, is_told = call.chat.memory.instructions(call.chat.profile)
    if not files:
        return
    print_indented(
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
        print_indented(call.screen, _(key, path=path, count=f"{file.size:,}", kept=f"{len(file.text):,}"))


async def _search(call: SlashCall, words: str) -> None:
    found, total = await call.chat.memory.system.recall(words, _MOST_FOUND)
    if not found:
        print_indented(
            call.screen, _("Nothing is remembered about “{words}”.", words=clean(words, keep_newlines=False))
        )
    rows = [
        (
            " ".join(filter(None, (_(_KINDS[one["kind"]]), str(one["when"])[:10]))),
            ": ".join(filter(None, (short_line(one["heading"], _LONGEST_HEADING), short_line(one["text"])))),
        )
        for one in found
    ]
    table(call.screen, rows)
    if total > len(found):
        print_indented(call.screen, _("… and {count} more: use more specific words", count=total - len(found)), "dim")
