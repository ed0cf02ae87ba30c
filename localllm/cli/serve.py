"""`localllm serve`: configure and start the ensemble server."""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager, nullcontext, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from localllm.app.late_sandbox import late_checker
from localllm.app.private_log import show_log, start_log
from localllm.base import logs, offline
from localllm.base.errors import ConfigurationError
from localllm.base.i18n import _
from localllm.base.paths import config_file
from localllm.cli.interruption import finish
from localllm.cli.serve_log import NEWEST, print_history, print_statistics
from localllm.cli.settings import load_here, print_error, say
from localllm.config.loader import SERVE_TOKEN, Loaded
from localllm.ensemble.agents import check_agents
from localllm.ensemble.answer_checks import AnswerChecks
from localllm.ensemble.auto_config import make_config
from localllm.ensemble.config import AgentConfig, EnsembleConfig
from localllm.ensemble.config_file import CONFIG_FILE, as_json, write_config
from localllm.ensemble.config_reach import (
    is_safe_in,
    refuse_far_reach,
    refuse_more_reach,
    refuse_unnamed_servers,
)
from localllm.ensemble.config_watch import (
    ConfigChanged,
    ConfigEvent,
    ConfigRefused,
    ConfigRestored,
    ConfigSource,
    ConfigWatch,
    FixedConfig,
)
from localllm.ensemble.server.packages import check_packages
from localllm.llm.addresses import server_root
from localllm.llm.offline_servers import reachable_offline
from localllm.text.sanitising import display_width
from localllm.tui.signals import ForcedEnd, add_handlers

if TYPE_CHECKING:
    from localllm.ensemble.request_log import RequestLog
    from localllm.ensemble.server.options import ServerOptions

_LEAST_TOKEN = 16  # characters
_SECONDS_TO_CLOSE = 5.0
_SAID = "CONFIG"
"""The log category of configuration events, which the user is shown in other words."""


class Site(NamedTuple):
    """The address of a server and its guards; `token_variable`: the variable of its token."""

    port: int
    options: "ServerOptions"
    token_variable: str
    keeps_log: bool


@click.command()
@click.option(
    "--config",
    "file",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="The configuration file.  [default: config.json, if there is one here]",
)
@click.option("--host", default="127.0.0.1", show_default=True, metavar="ADDRESS", help="The address to listen on.")
@click.option(
    "--port", default=8000, show_default=True, type=click.IntRange(0, 65535), help="The port; 0 picks a free one."
)
@click.option("--auto", is_flag=True, help="Make a configuration from the models found.")
@click.option("--write-config", is_flag=True, help="Write that configuration to config.json and exit.")
@click.option("--force", is_flag=True, help="With --write-config: overwrite an existing file.")
@click.option(
    "--token-env", metavar="NAME", help="The environment variable with the clients' token (LOCALLLM_SERVE_TOKEN)."
)
@click.option(
    "--max-runs", default=32, metavar="N", type=click.IntRange(1), help="Maximum number of requests at once (32)."
)
@click.option(
    "--max-seconds",
    metavar="S",
    type=click.FloatRange(0, min_open=True),
    help="Time limit of a request, in seconds.",
)
@click.option(
    "--max-body",
    default=4_000_000,
    metavar="BYTES",
    type=click.IntRange(1),
    help="Largest request, in bytes (4000000).",
)
@click.option("--no-log", is_flag=True, help="Keep no log of questions and answers.")
@click.option(
    "--allow-host", "hosts", multiple=True, metavar="NAME", help="Also answer requests that call the server by NAME."
)
@click.option(
    "--allow-origin",
    "origins",
    multiple=True,
    metavar="URL",
    help="Let pages of this web site use the server, such as https://chat.example.org.",
)
@click.option(
    "--history",
    metavar="[N|ID]",
    is_flag=False,
    flag_value=NEWEST,
    help="List the newest N requests of the log (20), or show the one with this id, and exit.",
)
@click.option("--stats", is_flag=True, help="Print statistics on each worker from the log, and exit.")
@click.option("--json", "json", is_flag=True, help="With --history or --stats: print one JSON object.")
@click.pass_context
def serve(context: click.Context, file: Path | None, **values: Any) -> int:
    """Serve an ensemble: several models answer a question, a reviewer merges their answers.

    As a web page, over HTTP at POST /generate, and as an OpenAI-compatible server at /v1. The models are those of
    config.json, where a change takes effect at once. A server that listens beyond loopback accepts requests only with
    the token in LOCALLLM_SERVE_TOKEN.
    """
    _refuse_contradictions(file, values)
    project, loaded = load_here(context)
    if values["history"] is not None:
        return print_history(values["history"], json=values["json"])
    if values["stats"]:
        return print_statistics(json=values["json"])
    environ = loaded.allowed_environ(os.environ)
    if values["write_config"]:
        return _write_config(loaded, environ, file or Path(CONFIG_FILE), force=values["force"])
    check_packages()
    site = _site(values)
    source = _source(project, loaded, environ, file, auto=values["auto"])
    start_log(loaded.settings.logging)
    show_log(sys.stderr, "DEBUG" if context.find_root().params["debug"] else "INFO", without={_SAID})
    forced_end = ForcedEnd()
    try:
        is_found = file is None and not values["auto"]
        with offline.own_network_only() if is_found else nullcontext():
            checks = AnswerChecks(late_checker(loaded.settings, project), Path.cwd())
            return asyncio.run(_serve(site, source, environ, _folder_of(file), checks, forced_end))
    finally:
        forced_end.call_off()


def _refuse_contradictions(file: Path | None, values: Mapping[str, Any]) -> None:
    """Raise usage errors for options that would otherwise be ignored."""
    if values["auto"] and file is not None and not values["write_config"]:
        raise click.UsageError(_("Give either --config, which names a configuration, or --auto, which makes one."))
    if values["force"] and not values["write_config"]:
        raise click.UsageError(_("--force needs --write-config."))
    if values["json"] and not values["stats"] and values["history"] is None:
        raise click.UsageError(_("--json needs --history or --stats."))


def _site(values: Mapping[str, Any]) -> Site:
    """Return the server's address and guards from the command line. Raises ConfigurationError for an invalid token."""
    from localllm.ensemble.server.options import ServerOptions

    options = ServerOptions(
        host=values["host"],
        token=_token(values["host"], values["token_env"]),
        allowed_hosts=values["hosts"],
        allowed_origins=values["origins"],
        max_body=values["max_body"],
        max_runs=values["max_runs"],
        run_seconds=values["max_seconds"] or 0.0,
    )
    return Site(values["port"], options, values["token_env"] or SERVE_TOKEN, not values["no_log"])


def _token(host: str, named: str | None) -> str:
    """Return the clients' token, from the `named` variable or the default one; empty if that is not set and the server
    is local. Raises ConfigurationError."""
    from localllm.ensemble.server.port import is_private

    variable = named or SERVE_TOKEN
    token = os.environ.get(variable, "").strip()
    if not token and not named and is_private(host):
        return ""
    if not token and not named:
        raise ConfigurationError("ensemble_needs_token", host=host, variable=variable)
    if not token:
        reason = _("It is not set, or empty")
    elif not (token.isascii() and token.isprintable()) or " " in token:
        reason = _("It holds characters other than printable ASCII")
    elif len(token) < _LEAST_TOKEN:
        reason = _("It has fewer than {count} characters and could be guessed", count=_LEAST_TOKEN)
    else:
        return token
    raise ConfigurationError("ensemble_bad_token", variable=variable, reason=reason)


def _source(
    project: Path, loaded: Loaded, environ: Mapping[str, str], file: Path | None, *, auto: bool
) -> ConfigSource:
    """Return the configuration: that of a file, which is watched, or a generated one.

    Raises ConfigurationError if it is missing or invalid; LLMConnectionError if none can be generated.
    """
    if auto:
        return FixedConfig(_made(loaded, environ))
    if file is None and not os.path.lexists(CONFIG_FILE):
        raise ConfigurationError("ensemble_unconfigured", folder=Path.cwd())

    used = file or Path(CONFIG_FILE)
    first: EnsembleConfig | None = None
    was_safe = False

    def is_safe() -> bool:
        return is_safe_in(config_file().parent, used, project)

    def before() -> None:
        nonlocal was_safe
        was_safe = is_safe()

    def check(config: EnsembleConfig) -> None:
        nonlocal first
        is_named = file is not None and (first is None or (was_safe and is_safe()))  # a link may have been replaced
        if file is None:
            refuse_far_reach(config, used)
        elif first is not None and not is_named:
            refuse_more_reach(config, first, used)
            refuse_unnamed_servers(config, used)
        check_agents(config, environ, _folder_of(file))
        for agent in _agents(config) if is_named else ():  # naming a file implies naming its servers: see --offline
            offline.name_address(agent.base_url)
        first = first or config

    return ConfigWatch(used, before=before, check=check, on_event=partial(_tell, used))


def _folder_of(file: Path | None) -> Path:
    """Return the folder of the configuration, to which paths of model files are relative."""
    return file.absolute().parent if file else Path.cwd()


def _made(loaded: Loaded, environ: Mapping[str, str]) -> EnsembleConfig:
    """Generate and print a configuration of discovered models. Raises LLMConnectionError."""
    made = finish(lambda: make_config(loaded.settings.llm, environ))
    for remark in made.remarks:
        say(str(remark))
    click.echo(as_json(made.config), nl=False)
    return made.config


def _write_config(loaded: Loaded, environ: Mapping[str, str], file: Path, *, force: bool) -> int:
    """Write a configuration of discovered models; return the exit code."""
    if os.path.lexists(file) and not force:
        raise ConfigurationError("ensemble_config_exists", file=file)
    write_config(_made(loaded, environ), file, overwrite=force)
    named = "" if file == Path(CONFIG_FILE) else f" --config {file}"
    say(_("Written: {file}. To use it: localllm serve{option}", file=file, option=named))
    return 0


async def _serve(
    site: Site,
    source: ConfigSource,
    environ: Mapping[str, str],
    root: Path,
    checks: AnswerChecks,
    forced_end: ForcedEnd,
) -> int:
    """Serve until a signal arrives; return the exit code. Raises ConfigurationError, PortTakenError."""
    from localllm.ensemble.server.port import PortTakenError, listen, url_of, who_answers
    from localllm.ensemble.server.running_ensemble import RunningEnsemble

    try:
        listening = listen(site.options.host, site.port)
    except PortTakenError as error:
        raise await who_answers(error, site.options.host, site.port, environ) from error
    running = RunningEnsemble(source, environ, root, checks, site.options, _request_log(site, source, environ))
    stop = _Stop(running.stop, site.options.stop_seconds, forced_end)
    stop.listen()
    url = url_of(listening)
    async with _followed(source):
        try:
            await running.serve(listening, lambda: _say_start(url, source, site))
        finally:
            forced_end.call_off()
            forced_end.begin(stop.exit_code, _SECONDS_TO_CLOSE)  # for running threads
    return stop.exit_code


def _request_log(site: Site, source: ConfigSource, environ: Mapping[str, str]) -> "RequestLog | None":
    """Open the request log, which masks the keys in use, now or after a change of the configuration; None if it is
    disabled."""
    from localllm.ensemble.log_database import log_file
    from localllm.ensemble.request_log import RequestLog

    if not site.keeps_log:
        return None
    log = RequestLog(log_file(), secrets={*_keys(source.current, environ), site.options.token})

    def keep_new_keys_out(event: ConfigEvent) -> None:
        if isinstance(event, ConfigChanged):
            log.keep_out(_keys(event.config, environ))

    if isinstance(source, ConfigWatch):
        source.listen(keep_new_keys_out)
    return log


def _keys(config: EnsembleConfig, environ: Mapping[str, str]) -> set[str]:
    """Return the API keys of the agents; an empty one among them is ignored."""
    return {environ.get(agent.api_key_env, "").strip() for agent in _agents(config)}


@asynccontextmanager
async def _followed(source: ConfigSource) -> AsyncGenerator[None]:
    """Follow changes of a configuration file during the block."""
    following = asyncio.create_task(source.follow()) if isinstance(source, ConfigWatch) else None
    if following is not None:
        following.add_done_callback(_note_end)
    try:
        yield
    finally:
        if following is not None:
            following.cancel()
            with suppress(asyncio.CancelledError):
                await following


def _note_end(following: asyncio.Task[None]) -> None:
    if not following.cancelled() and (error := following.exception()):
        logs.of("SERVER").error("changes of the configuration are not noticed any more", exc_info=error)


class _Stop:
    """Handle signals: the first lets requests finish, the second does not wait for them."""

    def __init__(self, stop: Callable[[], object], seconds: float, forced_end: ForcedEnd) -> None:
        """`stop` is called for each signal. `seconds`: time for requests to finish."""
        self._stop = stop
        self._seconds = seconds
        self._forced_end = forced_end
        self._number = 0

    @property
    def exit_code(self) -> int:
        """130 after Ctrl+C; 0 after SIGTERM, a regular end of a server."""
        return 128 + self._number if self._number not in (0, signal.SIGTERM) else 0

    def listen(self) -> None:
        """Install the handlers in the running event loop. On Windows Ctrl+C ends the program."""
        numbers = [signal.SIGINT, signal.SIGTERM]
        hangup = getattr(signal, "SIGHUP", None)
        if hangup is not None and signal.getsignal(hangup) is not signal.SIG_IGN:  # ignored under nohup
            numbers.append(hangup)
        with suppress(NotImplementedError):
            add_handlers(
                {each.name: partial(self._take, each) for each in numbers},
                lambda: self._forced_end.arm(self._seconds + _SECONDS_TO_CLOSE),
            )

    def _take(self, number: int) -> None:
        if self._number:
            self._forced_end.begin(128 + number)
        else:
            say(_("The server is stopping; requests in progress may finish. Ctrl+C again stops it at once."))
            self._number = number
        self._stop()


def _say_start(url: str, source: ConfigSource, site: Site) -> None:
    """Print the server's address, its agents, and how to stop it."""
    say(_("The ensemble is at {url} (a page for the browser; POST /generate; OpenAI-compatible: /v1)", url=url))
    _say_agents(source.current)
    if site.options.token:
        say(_("Requests need the token in {variable}.", variable=site.token_variable))
    if offline.is_on():
        say(reachable_offline())
    say(_("Ctrl+C stops it."))


def _say_agents(config: EnsembleConfig) -> None:
    """Print the reviewer and the workers, a line each."""
    rows = [(_("reviewer"), config.reviewer_agent), *((_("worker"), agent) for agent in config.worker_agents)]
    width = max(display_width(role) for role, _agent in rows)
    for role, agent in rows:
        place = server_root(agent.base_url) if agent.base_url else agent.provider
        say(f"  {role}{' ' * (width - display_width(role))}  {agent.name} · {agent.model} · {place}")


def _agents(config: EnsembleConfig) -> tuple[AgentConfig, ...]:
    return config.reviewer_agent, *config.worker_agents


def _tell(file: Path, event: ConfigEvent) -> None:
    """Print the result of a change of the file; a closed terminal does not end the server."""
    with suppress(OSError):
        match event:
            case ConfigChanged(_before, config):
                say(_("{file} has changed and is now in effect:", file=file))
                _say_agents(config)
            case ConfigRefused(error):
                print_error(error)
                say("  " + _("The previous configuration stays in use."))
            case ConfigRestored():
                say(_("{file} is valid again, and is the same as the configuration in use.", file=file))
