"""Commands about who answers: /model, /models, /provider, /panel and /boss."""

import shlex
from collections.abc import Iterable, Sequence
from typing import Literal

import msgspec

from localllm.base.errors import ConfigurationError
from localllm.base.events import AgentEvent, Consulted, Notice
from localllm.base.i18n import has_message, tr
from localllm.config.registry import PROVIDERS
from localllm.llm.discovery.servers import Server
from localllm.llm.server_summary import model_note, obstacle, software_of
from localllm.tui.commands.context import ChatContext
from localllm.tui.commands.registry import Outcome, SlashCall, saying, slash, table
from localllm.tui.render.agents import consulted_lines
from localllm.tui.render.report import introduction_lines, notice_lines, wrapped
from localllm.tui.render.screen import Screen


@slash("panel", usage="QUESTION")
async def panel(call: SlashCall) -> Outcome:
    """Ask two other views and a judge; models of their own in [agents.panel]."""
    await _ask(call, "panel")


@slash("boss", usage="QUESTION")
async def boss(call: SlashCall) -> Outcome:
    """Ask the most experienced model; set in [agents.panel.boss]."""
    await _ask(call, "boss")


async def _ask(call: SlashCall, kind: Literal["panel", "boss"]) -> None:
    """Ask, show what is said, and the time while nothing is. The plan goes to the agent with the next request."""
    screen = call.screen
    if not call.arguments.strip():
        screen.print(("warning", "  " + tr("boss.usage" if kind == "boss" else "panel.usage")))
        return

    def show(event: AgentEvent) -> None:
        match event:
            case Notice(text=text, level=level):
                screen.print_lines(notice_lines(text, level, screen.width))
            case Consulted():
                screen.erase()
                screen.print_lines(consulted_lines(event, screen.width))
                if event.plan:
                    screen.print(("dim", "  " + tr("panel.goes_along")))
            case _:
                pass

    async with saying(screen, tr("boss.asking" if kind == "boss" else "panel.asking")):
        await call.chat.consult(kind, call.arguments.strip(), show)


def _known_models(chat: ChatContext) -> Iterable[str]:
    """Those of the servers as last looked at."""
    return dict.fromkeys(model.id for server in chat.servers for model in server.models)


def _provider_names(_chat: ChatContext) -> Iterable[str]:
    return ("auto", *PROVIDERS)


@slash("model", usage="[name]", choices=_known_models)
async def model(call: SlashCall) -> Outcome:
    """Show the model, or change to another; a part of its name will do."""
    if not call.arguments:
        await call.chat.settled()
        _show_who(call)
        _dim(call.screen, tr("ui.how_to_change_model"))
        return
    await call.chat.use_model(call.arguments)
    _show_who(call)
    name = shlex.quote(call.chat.model)
    _dim(call.screen, tr("ui.how_to_keep", command=f"localllm config set --user llm.model {name}"))


@slash("models")
async def models(call: SlashCall) -> Outcome:
    """List the models of every server that can be reached."""
    chat = call.chat
    servers = await chat.look_for_servers()
    ready = [server for server in servers if server.state == "ready"]
    if chat.server not in ready:
        call.screen.print(("bold", "  " + " · ".join(filter(None, (chat.provider_name, chat.provider_address)))))
        call.screen.print(("good", f"  * {chat.model or tr('ui.model_unknown')}"))
    for server in ready:
        _list(call, server)
    for server in servers:
        if text := obstacle(server):
            call.screen.print_lines(wrapped("! ", text, "warning", call.screen.width))
    _dim(call.screen, tr("ui.how_to_change_model") if ready else tr("ui.no_servers"))


@slash("provider", usage="[name]", choices=_provider_names)
async def provider(call: SlashCall) -> Outcome:
    """Show who can answer, or change to another: a server, the embedded engine, a script."""
    if not call.arguments:
        await _list_providers(call)
        return
    name = call.arguments.casefold()
    known = [*_provider_names(call.chat)]
    if name not in known:
        raise ConfigurationError("provider_unknown", provider=call.arguments, known=", ".join(known))
    await call.chat.use_provider(name)
    _show_who(call)
    _dim(call.screen, tr("ui.how_to_keep", command=f"localllm config set --user llm.provider {name}"))


def _show_who(call: SlashCall) -> None:
    introduction = msgspec.structs.replace(call.chat.introduction(), hint="")  # the person knows
    call.screen.print_lines(introduction_lines(introduction, call.screen.width))


def _dim(screen: Screen, text: str) -> None:
    screen.print_lines(wrapped("  ", text, "dim", screen.width))


def _list(call: SlashCall, server: Server) -> None:
    """A server and its models; the one in use is marked, with all that its server has told since."""
    screen, chat = call.screen, call.chat
    screen.print(("bold", f"  {software_of(server)}  {server.base_url}"))
    rows: list[tuple[str, str]] = []
    for info in server.models:
        in_use = server == chat.server and info.id == chat.model
        told = chat.model_info if in_use and chat.model_info.id == info.id else info
        rows.append((f"{'*' if in_use else ' '} {info.id}", model_note(told)))
    table(screen, rows, "")


async def _list_providers(call: SlashCall) -> None:
    servers = sorted(await call.chat.look_for_servers(), key=lambda server: server != call.chat.server)
    rows: list[tuple[str, str]] = []
    for name in _provider_names(call.chat):
        mark = "*" if name == call.chat.provider_name else " "
        rows.append((f"{mark} {name}", _about(name, [server for server in servers if server.provider == name])))
    table(call.screen, rows)
    _dim(call.screen, tr("ui.how_to_change_provider"))


def _about(name: str, servers: Sequence[Server]) -> str:
    """What can be said of a provider; of several servers, of the first that can be used."""
    if has_message(f"ui.provider.{name}"):
        return tr(f"ui.provider.{name}")
    for server in servers:
        if server.state == "ready":
            count = tr("ui.provider.models", count=len(server.models))
            return " · ".join((software_of(server), server.base_url, count))
    told = [text for server in servers if (text := obstacle(server))]
    if not servers:
        return tr("ui.provider.none")
    return told[0] if told else tr("ui.provider.absent", url=", ".join(server.base_url for server in servers))
