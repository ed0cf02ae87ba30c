"""Commands on the model: /model, /models, /provider, /panel and /boss."""

import shlex
from collections.abc import Iterable, Sequence
from typing import Literal

import msgspec

from localllm.base.errors import ConfigurationError
from localllm.base.events import AgentEvent, Consulted, Consulting, Notice
from localllm.base.i18n import N_, _, ngettext
from localllm.config.registry import PROVIDERS
from localllm.llm.discovery.servers import Server
from localllm.llm.server_summary import model_note, obstacle, software_of
from localllm.tui.commands.context import ChatContext
from localllm.tui.commands.registry import Outcome, SlashCall, saying, slash, table
from localllm.tui.render.agents import consulted_lines, role_names
from localllm.tui.render.report import introduction_lines, notice_lines, wrapped
from localllm.tui.render.screen import Screen

_PROVIDER_TEXTS = {
    "auto": N_("the first server that is found, else embedded"),
    "azure": N_("asks Azure (llm.azure.endpoint): what you say leaves this machine"),
    "gemini": N_("asks Google's Gemini: what you say leaves this machine"),
    "gguf": N_("runs a model file (llm.gguf.file)"),
    "embedded": N_("answers from the project, without a model"),
    "scripted": N_("plays answers from a file"),
}


@slash("panel", usage=N_("QUESTION"), forms=N_("/panel why is it slow? | ask the panel this"))
async def panel(call: SlashCall) -> Outcome:
    """Ask two other views and a judge; set their models in [agents.panel]."""
    await _ask(call, "panel")


@slash("boss", usage=N_("QUESTION"), forms=N_("/boss why is it slow? | ask the boss this"))
async def boss(call: SlashCall) -> Outcome:
    """Ask the most experienced model; set in [agents.panel.boss]."""
    await _ask(call, "boss")


async def _ask(call: SlashCall, kind: Literal["panel", "boss"]) -> None:
    """Ask the panel or the boss, showing the replies, and the elapsed time meanwhile. The plan is added to the next
    request."""
    screen = call.screen
    if not call.arguments.strip():
        screen.print(
            (
                "warning",
                "  "
                + _(
                    N_("/boss QUESTION: the question for the boss")
                    if kind == "boss"
                    else N_("/panel QUESTION: the question for the panel")
                ),
            )
        )
        return

    asked = ""

    def show(event: AgentEvent) -> None:
        nonlocal asked
        match event:
            case Consulting(roles=roles):
                asked = role_names(roles)
            case Notice(text=text, level=level):
                screen.print_lines(notice_lines(text, level, screen.width))
            case Consulted():
                screen.erase()
                screen.print_lines(consulted_lines(event, screen.width))
                if event.plan:
                    screen.print(("dim", "  " + _("The agent reads the plan with your next request.")))
            case _:
                pass

    async with saying(screen, _(N_("asking the boss") if kind == "boss" else N_("asking the panel")), lambda: asked):
        await call.chat.consult(kind, call.arguments.strip(), show)


def _known_models(chat: ChatContext) -> Iterable[str]:
    """Return the models of the servers found by the last search."""
    return dict.fromkeys(model.id for server in chat.servers for model in server.models)


def _provider_names(_chat: ChatContext) -> Iterable[str]:
    return ("auto", *PROVIDERS)


@slash(
    "model",
    usage=N_("[name]"),
    choices=_known_models,
    forms=N_("/model | the current model\n/model qwen3 | the model with that name, or with that in its name"),
)
async def model(call: SlashCall) -> Outcome:
    """Show the model, or switch to another; part of its name is enough."""
    if not call.arguments:
        await call.chat.settled()
        _show_who(call)
        _dim(call.screen, _("/model NAME switches to another (part of the name is enough), /models lists them."))
        return
    await call.chat.use_model(call.arguments)
    _show_who(call)
    _say_how_to_keep(call, "llm.model", call.chat.model)


@slash("models")
async def models(call: SlashCall) -> Outcome:
    """List the models of every reachable server."""
    chat = call.chat
    servers = await chat.look_for_servers()
    ready = [server for server in servers if server.state == "ready"]
    if chat.server not in ready:
        call.screen.print(("bold", "  " + " · ".join(filter(None, (chat.provider_name, chat.provider_address)))))
        call.screen.print(("good", f"  * {chat.model or _('(not asked yet)')}"))
    for server in ready:
        _list(call, server)
    obstacles = [text for server in servers if (text := obstacle(server))]
    for text in obstacles:
        call.screen.print_lines(wrapped("! ", text, "warning", call.screen.width))
    if ready:
        _dim(call.screen, _("/model NAME switches to another (part of the name is enough), /models lists them."))
    elif not obstacles:
        _dim(call.screen, _("No model server can be reached."))


@slash(
    "provider",
    usage=N_("[name|address]"),
    choices=_provider_names,
    forms=N_(
        "/provider | the providers, and what was found\n"
        "/provider ollama | switch to that one\n"
        "/provider http://localhost:9000 | switch to the OpenAI-compatible server there"
    ),
)
async def provider(call: SlashCall) -> Outcome:
    """Show the providers, or switch to another: a server, the embedded engine, a script."""
    if not call.arguments:
        await _list_providers(call)
        return
    if "://" in call.arguments:
        await call.chat.use_address(call.arguments)
        _show_who(call)
        _say_how_to_keep(call, "llm.openai.base_url", call.arguments)
        return
    name = call.arguments.casefold()
    known = [*_provider_names(call.chat)]
    if name not in known:
        raise ConfigurationError("provider_unknown", provider=call.arguments, known=", ".join(known))
    await call.chat.use_provider(name)
    _show_who(call)
    _say_how_to_keep(call, "llm.provider", name)


def _say_how_to_keep(call: SlashCall, setting: str, value: str) -> None:
    command = f"localllm config set --user {setting} {shlex.quote(value)}"
    _dim(call.screen, _("To start with it next time: {command}", command=command))


def _show_who(call: SlashCall) -> None:
    introduction = msgspec.structs.replace(call.chat.introduction(), hint="")  # the user knows
    call.screen.print_lines(introduction_lines(introduction, call.screen.width))
    if stand_in := call.chat.stand_in:
        who = f"{stand_in.provider} ({stand_in.model})"
        text = _("It cannot be reached: {who} answers instead (llm.fallback_providers).", who=who)
        call.screen.print_lines(wrapped("! ", text, "warning", call.screen.width))


def _dim(screen: Screen, text: str) -> None:
    screen.print_lines(wrapped("  ", text, "dim", screen.width))


def _list(call: SlashCall, server: Server) -> None:
    """List a server and its models; the one in use is marked and described in full."""
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
    _dim(call.screen, _("/provider NAME switches to another."))


def _about(name: str, servers: Sequence[Server]) -> str:
    """Describe a provider; if it has several servers, the first usable one."""
    if name in _PROVIDER_TEXTS:
        return _(_PROVIDER_TEXTS[name])
    for server in servers:
        if server.state == "ready":
            count = ngettext("{count} model", "{count} models", len(server.models))
            return " · ".join((software_of(server), server.base_url, count))
    told = [text for server in servers if (text := obstacle(server))]
    if not servers:
        return _("none was found")
    return told[0] if told else _("cannot be reached ({url})", url=", ".join(server.base_url for server in servers))
