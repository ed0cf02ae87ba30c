"""`localllm models`: list the models of all reachable servers."""

import os
import shutil
import sys
from collections.abc import Iterator, Sequence

import click
import msgspec

from localllm.app.server_check import WITHOUT_SERVER, Answering, find_out, is_at
from localllm.base.errors import LLMConnectionError
from localllm.base.events import Json
from localllm.base.i18n import N_, _
from localllm.cli.interruption import finish
from localllm.cli.settings import load_here, print_error, say
from localllm.config.schema import SECRET_VARIABLES
from localllm.llm.discovery.servers import Server
from localllm.llm.providers.base import ModelInfo
from localllm.text.sanitising import clean, display_width, json_report
from localllm.text.wrapping import wrap
from localllm.tui.theme import Theme, choose_theme

_COLUMNS = {
    "model": N_("model"),
    "window": N_("window / most"),
    "loaded": N_("state"),
    "abilities": N_("abilities"),
    "size": N_("size"),
}

Row = tuple[str, ...]


@click.command()
@click.option("--json", "json", is_flag=True, help="Print one JSON object.")
@click.pass_context
def models(context: click.Context, json: bool) -> int:
    """List the models of every reachable server.

    With the context window each is loaded with, in tokens, and the largest possible one; ? if its server does not say.
    The one marked * is in use. The exit code is 5 if there is none.
    """
    project, loaded = load_here(context)
    answering = finish(lambda: find_out(loaded.settings.llm, project, loaded.allowed_environ(os.environ)))
    if unsent := loaded.unsent_keys(os.environ):
        say(
            _(
                "{variables} is not sent: the project's localllm.toml, which you have not trusted, chooses "
                "the server. To trust it: localllm config trust",
                variables=", ".join(unsent),
            )
        )
    if json:
        click.echo(as_json(answering))
    else:
        width = max(40, shutil.get_terminal_size().columns)
        for line in listing(answering, width, choose_theme(sys.stdout)):
            click.echo(line)
    if any(server.models for server in answering.servers):
        if answering.fault is not None and not json:
            print_error(answering.fault)
        return 0
    fault = answering.fault or LLMConnectionError("llm_none_found", addresses=_addresses(answering.servers))
    if not json:
        print_error(fault)
    return fault.exit_code


def _addresses(servers: Sequence[Server]) -> str:
    return ", ".join(server.base_url for server in servers) or "—"


def as_json(answering: Answering) -> str:
    """Format `servers` with their `models`, `used` (null for none), and `error` if the configured model is not
    usable."""
    used: Json = None
    if answering.provider and answering.provider not in WITHOUT_SERVER:
        place = {"provider": answering.provider, "base_url": answering.address}
        used = {**place, "model": answering.model.id, "context_window": answering.window}
    fault = answering.fault
    whole = {
        "servers": [_server_json(answering, server) for server in answering.servers if server.state != "absent"],
        "used": used,
        "error": fault and {"code": fault.code, "what": fault.what, "why": fault.why, "fix": fault.fix},
    }
    return json_report(whole)


def _server_json(answering: Answering, server: Server) -> dict[str, Json]:
    described: dict[str, Json] = {name: getattr(server, name) for name in ("software", "provider", "base_url", "state")}
    described["detail"] = server.detail
    described["models"] = [
        {
            **msgspec.structs.asdict(_as_told(answering, server, model)),
            "abilities": None if model.abilities is None else sorted(model.abilities),
            "used": _is_used(answering, server, model),
        }
        for model in server.models
    ]
    return described


def listing(answering: Answering, width: int, theme: Theme) -> Iterator[str]:
    """List each server with a line per model, in columns if these fit into `width` cells."""
    shown = [server for server in answering.servers if server.state not in ("absent", "foreign")]
    head = ("", *(_(_COLUMNS[name]) for name in ("model", "window", "loaded", "abilities", "size")))
    rows = [_row(answering, server, model) for server in shown for model in server.models]
    if rows:
        yield from (theme.paint("dim", line) for line in _laid_out(head, [head, *rows], width))
    for server in shown:
        yield from (theme.paint("bold", line) for line in wrap(_title(server), width))
        for model in server.models:
            row = _row(answering, server, model)
            style = "accent" if row[0] else ""
            yield from (theme.paint(style, line) for line in _laid_out(row, [head, *rows], width))
    if any(row[0] for row in rows):
        yield from ("", _("* marks the one in use."))


def _title(server: Server) -> str:
    """Return the server's name and address, and why it lists no models."""
    title = clean(f"{server.software or server.provider}  {server.base_url}", keep_newlines=False)
    match server.state:
        case "empty":
            return f"{title}  {_('(no model yet)')}"
        case "locked":
            variable = SECRET_VARIABLES.get(f"llm.{server.provider}.api_key", "")
            return f"{title}  {_('(needs a key: {detail})', detail=server.detail or variable)}"
        case "silent":
            return f"{title}  {_('(does not answer: {detail})', detail=server.detail)}"
        case _:
            return title


def _row(answering: Answering, server: Server, model: ModelInfo) -> Row:
    told = _as_told(answering, server, model)
    cells = (
        "*" if _is_used(answering, server, model) else "",
        told.id,
        f"{_tokens(told.context_window)} / {_tokens(told.max_context_window)}",
        {True: _("loaded"), False: "—", None: "?"}[told.loaded],
        "?" if told.abilities is None else " ".join(sorted(told.abilities)) or "—",
        " ".join(filter(None, (told.parameters, told.quantization))) or "?",
    )
    return tuple(clean(cell, keep_newlines=False) for cell in cells)


def _tokens(count: int) -> str:
    return f"{count:,}" if count else "?"


def _is_used(answering: Answering, server: Server, model: ModelInfo) -> bool:
    return (
        server.state == "ready"
        and model.id in (answering.model.id, f"{answering.model.id}:latest")
        and is_at(server, answering.address)
    )


def _as_told(answering: Answering, server: Server, model: ModelInfo) -> ModelInfo:
    """Return the model as listed; the one in use with its server's further description."""
    if not _is_used(answering, server, model):
        return model
    described = answering.model
    return msgspec.structs.replace(
        described,
        id=model.id,
        context_window=described.context_window or model.context_window,
        max_context_window=described.max_context_window or model.max_context_window,
        loaded=model.loaded if described.loaded is None else described.loaded,
        abilities=model.abilities if described.abilities is None else described.abilities,
        parameters=described.parameters or model.parameters,
        quantization=described.quantization or model.quantization,
    )


def _laid_out(row: Row, rows: Sequence[Row], width: int) -> Iterator[str]:
    """Format one row in the columns of all rows; if these are too wide, its name with the rest below it."""
    columns = [max(display_width(cells[place]) for cells in rows) for place in range(1, len(row))]
    mark, name, *rest = row
    gathered = f"{mark or ' '} {_padded(name, columns[0])}  {_joined(rest, columns[1:])}".rstrip()
    if 2 + sum(columns) + 2 * (len(columns) - 1) <= width:
        yield gathered
        return
    yield from _hang(f"{mark or ' '} ", name, width)
    yield from _hang("    ", _joined(rest, columns[1:]).rstrip(), width)


def _hang(head: str, text: str, width: int) -> Iterator[str]:
    first, *more = wrap(text, width - len(head))
    yield (head + first).rstrip()
    yield from (" " * len(head) + line for line in more)


def _joined(cells: Sequence[str], columns: Sequence[int]) -> str:
    return "  ".join(_padded(cell, column) for cell, column in zip(cells, columns, strict=True))


def _padded(cell: str, column: int) -> str:
    return cell + " " * (column - display_width(cell))
