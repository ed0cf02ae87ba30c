"""The chat's built-in commands."""

import msgspec

from localllm.base.i18n import tr
from localllm.text.sanitising import clean, shorten
from localllm.tui.commands.background import ps, stop
from localllm.tui.commands.context import ChatContext
from localllm.tui.commands.context_window import compact, context
from localllm.tui.commands.memory import forget, memory, remember, todo
from localllm.tui.commands.models import boss, model, models, panel, provider
from localllm.tui.commands.project import analyze, init, map_
from localllm.tui.commands.registry import Leave, Outcome, SlashCall, SlashCommand, show_forms, slash, table
from localllm.tui.commands.rules import describe, mode, plan, rules
from localllm.tui.commands.sessions import export_, fork, rename, resume, sessions
from localllm.tui.commands.undo import checkpoint, rewind, undo
from localllm.tui.render.report import cost, wrapped
from localllm.tui.render.screen import Screen
from localllm.tui.theme import Style


@slash("help", usage="[command]", also=("?",))
async def help_(call: SlashCall) -> Outcome:
    """Show the commands, or one of them."""
    if call.arguments:
        _help_on(call, call.arguments.removeprefix("/"))
        return
    commands = [(command.signature, command.help) for command in call.commands.commands]
    aliases = [(f"/{alias.name}", alias.help) for alias in call.commands.aliases]
    table(call.screen, commands + aliases)
    for text in (tr("ui.help_one"), tr("ui.keys_help")):
        call.screen.print_lines(wrapped("  ", text, "dim", call.screen.width))


@slash("status")
async def status(call: SlashCall) -> Outcome:
    """Show the model, the session and what it has used."""
    chat = call.chat
    await chat.probe_sandbox()
    key = "start.window_assumed" if chat.assumes_window else "start.window"
    used = f"{chat.context_used:,} / " if chat.context_used else ""
    window = tr(key, count=f"{used}{chat.context_window:,}")
    of_session = msgspec.structs.replace(chat.usage, first_token_seconds=0.0)
    rows = [
        (tr("ui.status.project"), str(chat.root)),
        (tr("ui.status.model"), chat.model or tr("ui.model_unknown")),
        (tr("ui.status.server"), f"{chat.provider_name} · {chat.provider_address}"),
        (tr("ui.status.window"), window),
        (tr("ui.status.profile"), _profile(chat)),
        (tr("ui.status.sandbox"), chat.sandbox_level),
        (tr("ui.status.mode"), f"{chat.mode}: {tr(f'ui.mode.{chat.mode}')}"),
        (tr("ui.status.used"), cost(0, of_session, of_session.total_seconds) or tr("ui.status.nothing")),
        (tr("ui.status.session"), " ".join(filter(None, (chat.session_id, chat.keeping.title)))),
    ]
    table(call.screen, rows)


def _profile(chat: ChatContext) -> str:
    """The profile's name, and how many tools it offers."""
    offered = sum(tool.allowed and tool.offered for tool in chat.tools())
    return tr("ui.profile", name=chat.profile.name, count=offered)


@slash("tools")
async def tools(call: SlashCall) -> Outcome:
    """List the tools and what is allowed."""
    listed = call.chat.tools()
    for tool in (tool for tool in listed if tool.offered or not tool.allowed):
        risk = tr(f"ui.risk.{tool.risk}") if tool.allowed else tr("ui.tool_denied")
        style: Style = "dim" if not tool.allowed else ""
        line = f"{tool.name} ({risk})  {tool.description}"
        call.screen.print((style, "  " + shorten(clean(line, keep_newlines=False), call.screen.width - 2)))
    if left_out := ", ".join(tool.name for tool in listed if tool.allowed and not tool.offered):
        text = tr("ui.tools_left_out", name=call.chat.profile.name, tools=left_out)
        call.screen.print_lines(wrapped("  ", text, "dim", call.screen.width))
    for remembered in call.chat.rules():
        text = tr("ui.always_rule", rule=describe(remembered))
        call.screen.print_lines(wrapped("  ", text, "good", call.screen.width))


@slash("clear")
async def clear(call: SlashCall) -> Outcome:
    """Begin a new conversation."""
    call.chat.clear()
    call.screen.print(("", "  " + tr("ui.cleared")))


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


def unknown_command(screen: Screen, name: str, nearest: str) -> None:
    """Say that there is no such command, and which one may be meant."""
    screen.print(("warning", "  " + tr("ui.unknown_command", name=name)))
    hint = tr("ui.did_you_mean", name=nearest) if nearest else tr("ui.see_help")
    screen.print(("", "  " + hint))


COMMANDS: list[SlashCommand] = [
    *(help_, status, model, models, provider, mode, plan, tools, rules),
    *(context, compact, panel, boss, map_, analyze),
    *(todo, remember, forget, memory, init),
    *(undo, checkpoint, rewind),
    *(ps, stop),
    *(sessions, resume, rename, fork, export_, clear, exit_),
]
"""All commands, in the order /help shows them; a new one is a line here."""
