"""The basic chat commands, and the list of all commands."""

from collections.abc import Sequence

import msgspec

from localllm.base.events import Usage
from localllm.base.i18n import N_, _, ngettext
from localllm.llm.offline_servers import reachable_offline
from localllm.text.sanitising import clean, shorten
from localllm.tui.commands.background import ps, stop
from localllm.tui.commands.config import config
from localllm.tui.commands.context import ChatContext, answering_model
from localllm.tui.commands.context_window import compact, context
from localllm.tui.commands.copy import copy
from localllm.tui.commands.diff import diff
from localllm.tui.commands.doctor import doctor
from localllm.tui.commands.ensemble import ensemble
from localllm.tui.commands.knowledge import collections, rag
from localllm.tui.commands.market import market
from localllm.tui.commands.memory import forget, memory, remember
from localllm.tui.commands.models import boss, model, models, panel, provider
from localllm.tui.commands.project import analyze, init, map_
from localllm.tui.commands.registry import Leave, Outcome, SlashCall, SlashCommand, show_forms, slash, table
from localllm.tui.commands.research import research
from localllm.tui.commands.rules import describe, mode, plan, rules
from localllm.tui.commands.sessions import export_, fork, rename, resume, sessions
from localllm.tui.commands.todo import todo
from localllm.tui.commands.undo import checkpoint, redo, rewind, undo
from localllm.tui.render.activity import duration
from localllm.tui.render.report import cost, wrapped
from localllm.tui.render.screen import Screen
from localllm.tui.theme import Style

_RISKS = {
    "safe": N_("safe"),
    "medium": N_("medium risk"),
    "high": N_("high risk"),
    "highest": N_("highest risk"),
}
_MODE_TEXTS = {
    "plan": N_("reads only; answers with a plan"),
    "ask": N_("asks before it changes files or runs commands"),
    "auto-edit": N_("changes files, asks before commands"),
    "auto": N_("asks only about dangerous commands and ask rules"),
}


@slash(
    "help",
    usage=N_("[command]"),
    also=("?",),
    forms=N_("/help | all commands and keys\n/help todo | how one of them is used"),
)
async def help_(call: SlashCall) -> Outcome:
    """Show the commands, or one of them."""
    if call.arguments:
        _help_on(call, call.arguments.removeprefix("/"))
        return
    commands = [(command.signature, command.help) for command in call.commands.commands]
    aliases = [(f"/{alias.name}", alias.help) for alias in call.commands.aliases]
    table(call.screen, commands + aliases)
    for text in (
        _("/help COMMAND shows every way to write one of them."),
        _(
            "Enter sends; Alt+Enter, Ctrl+J, or \\ at the end of a line, starts a new line. @path names a "
            "file, !COMMAND runs it as you, Shift+Tab changes the mode, Ctrl+R searches earlier input, "
            "Ctrl+D leaves. While it works: Enter sends at once, Alt+Enter or Tab queues a request, Up "
            "takes the last one back, Esc or Ctrl+C stops."
        ),
    ):
        call.screen.print_lines(wrapped("  ", text, "dim", call.screen.width))


@slash("status")
async def status(call: SlashCall) -> Outcome:
    """Show the model, the session and what it has used."""
    chat = call.chat
    await chat.probe_sandbox()
    key = N_("{count} tokens assumed") if chat.assumes_window else N_("{count} tokens")
    used = f"{chat.context_used:,} / " if chat.context_used else ""
    window = _(key, count=f"{used}{chat.context_window:,}")
    rows = [
        (_("project"), str(chat.root)),
        (_("model"), answering_model(chat) or _("(not asked yet)")),
        (_("server"), _server(chat)),
        (_("context window"), window),
        (_("profile"), _profile(chat)),
        (_("sandbox"), chat.sandbox_level),
        *([(_("network"), reachable_offline())] if chat.settings.offline else []),
        (_("mode"), f"{chat.mode}: {_(_MODE_TEXTS[chat.mode])}"),
        (_("used so far"), _used(chat.usage) or _("nothing yet")),
        (_("session"), " ".join(filter(None, (chat.session_id, chat.keeping.title)))),
    ]
    table(call.screen, rows)


def _server(chat: ChatContext) -> str:
    own = " · ".join(filter(None, (chat.provider_name, chat.provider_address)))
    if stand_in := chat.stand_in:
        other = " · ".join(filter(None, (stand_in.provider, stand_in.address)))
        return _("{model} (instead of {other})", model=other, other=own)
    return own


def _used(usage: Usage) -> str:
    """Format a session's usage; its time is the model's alone, without tools and questions."""
    of_session = msgspec.structs.replace(usage, first_token_seconds=0.0)
    used = cost(0, of_session, 0)
    if usage.total_seconds < 1:
        return used
    return " · ".join(filter(None, (used, _("the model answered for {time}", time=duration(usage.total_seconds)))))


def _profile(chat: ChatContext) -> str:
    """Return the profile's name, and the number of tools it offers."""
    offered = sum(tool.allowed and tool.offered for tool in chat.tools())
    return ngettext("{name} ({count} tool)", "{name} ({count} tools)", offered, name=chat.profile.name)


@slash("tools")
async def tools(call: SlashCall) -> Outcome:
    """List the tools and what is allowed."""
    listed = call.chat.tools()
    for tool in (tool for tool in listed if tool.offered or not tool.allowed):
        risk = _(_RISKS[tool.risk]) if tool.allowed else _("denied by a rule")
        style: Style = "dim" if not tool.allowed else ""
        line = f"{tool.name} ({risk})  {tool.description}"
        call.screen.print((style, "  " + shorten(clean(line, keep_newlines=False), call.screen.width - 2)))
    if left_out := ", ".join(tool.name for tool in listed if tool.allowed and not tool.offered):
        text = _(
            "The {name} profile does not offer these; a model that calls them anyway is still served: {tools}.",
            name=call.chat.profile.name,
            tools=left_out,
        )
        call.screen.print_lines(wrapped("  ", text, "dim", call.screen.width))
    if call.chat.settings.offline:
        text = _("Offline: the web is neither searched nor read.")
        call.screen.print_lines(wrapped("  ", text, "dim", call.screen.width))
    elif not call.chat.settings.web.enabled:
        text = _("Searching and reading the web are off. To turn it on: /config web.enabled true")
        call.screen.print_lines(wrapped("  ", text, "dim", call.screen.width))
    for remembered in call.chat.rules():
        text = _("always allowed: {rule}", rule=describe(remembered))
        call.screen.print_lines(wrapped("  ", text, "good", call.screen.width))


@slash("clear", also=("new",))
async def clear(call: SlashCall) -> Outcome:
    """Start a new conversation."""
    call.chat.clear()
    call.screen.print(("", "  " + _("A new conversation begins.")))


@slash("exit", also=("quit",))
async def exit_(call: SlashCall) -> Outcome:
    """Leave the chat."""
    return Leave()


def _help_on(call: SlashCall, name: str) -> None:
    match call.commands.find(name):
        case SlashCommand() as command:
            screen, also = call.screen, ", ".join(f"/{other}" for other in command.also)
            title = f"{command.signature} ({also})" if also else command.signature
            screen.print(("accent", f"  {title}"))
            screen.print_lines(wrapped("  ", command.help, "", screen.width))
            show_forms(call, command.name)
        case None:
            unknown_command(call.screen, name, call.commands.nearest(name))
        case alias:
            table(call.screen, [(f"/{alias.name}", alias.request)])


def unknown_command(screen: Screen, name: str, nearest: Sequence[str]) -> None:
    """Report an unknown command, with the nearest known ones."""
    screen.print(("warning", "  " + _("There is no command /{name}.", name=name)))
    names = _(" or ").join(f"/{near}" for near in nearest)
    hint = _("Did you mean {names}?", names=names) if nearest else _("/help lists the commands.")
    screen.print(("", "  " + hint))


COMMANDS: list[SlashCommand] = [
    *(help_, status, model, models, provider, mode, plan, tools, rules, config, doctor),
    *(context, compact, panel, boss, research, market, ensemble, map_, analyze),
    *(todo, remember, forget, memory, init),
    *(rag, collections),
    *(diff, undo, redo, checkpoint, rewind),
    *(ps, stop),
    *(sessions, resume, rename, fork, export_, copy, clear, exit_),
]
"""All commands, in the order of /help; add new ones here."""
