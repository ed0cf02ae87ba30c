"""`localllm sandbox`: run a command in the sandbox, and report the sandbox's strength."""

import platform
import shlex
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import click
import msgspec

from localllm.app.late_sandbox import make_runner
from localllm.base.errors import LocalLLMError
from localllm.base.i18n import N_, _
from localllm.cli.interruption import finish
from localllm.cli.settings import load_here, print_error, say
from localllm.config.loader import left_out_notice
from localllm.safety.hard_links import close_other_names
from localllm.safety.rules import usable_rules
from localllm.sandbox.backend import Network
from localllm.sandbox.probe import remedies
from localllm.sandbox.runner import CommandResult, SandboxRunner
from localllm.sandbox.self_test import Attempt, attempts
from localllm.text.sanitising import clean, display_width, json_report
from localllm.text.wrapping import wrap
from localllm.tools.builtin import all_tools
from localllm.tools.command_reports import remarks_on
from localllm.tui.theme import Theme, choose_theme

_TRIALS = {
    "write": N_("change, delete or rename a file outside the project"),
    "attributes": N_("change permissions and times of a file outside"),
    "read": N_("read a secret of the user's"),
    "variables": N_("read the environment of another process"),
    "command_lines": N_("read the command line of another process"),
    "signals": N_("kill another process"),
    "tcp": N_("connect by TCP"),
    "udp": N_("send by UDP"),
    "unix": N_("connect to a Unix socket (of Docker, an agent, a database)"),
    "hooks": N_("leave a git hook"),
    "survivors": N_("leave a process running"),
    "files": N_("write in the project and to temporary files"),
    "servers": N_("a local server started by the command, reached by itself"),
}
KILLED_FOR = {
    "output": N_("Killed: its output did not end."),
    "processes": N_("Killed: it started too many processes."),
    "memory": N_("Killed: it used too much memory."),
    "disk": N_("Killed: it filled the disk."),
    "files": N_("Killed: it created too many files."),
    "time": N_("Killed: it ran too long."),
    "replaced": N_("Killed: a file it may not read or change was replaced from outside."),
    "protected": N_("Killed: it kept writing to protected files."),
}
_TRIED = {
    "forbidden": N_("Tried; must be blocked:"),
    "needed": N_("Tried; must work:"),
}

NOT_RUN = 125
TIMED_OUT = 124
"""Exit codes besides the command's own, as in `env` and `timeout`."""

_KILLED = 128  # plus the signal's number, as in shells


@click.command(context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@click.option("--probe", is_flag=True, help="Test what the sandbox blocks on this machine.")
@click.option("--json", "json", is_flag=True, help="With --probe: print one JSON object.")
@click.option(
    "--timeout", type=click.FloatRange(min=0, min_open=True), metavar="SECONDS", help="Kill it after this time."
)
@click.argument("command", nargs=-1, type=click.Path(readable=False))  # shells complete the names of files
@click.pass_context
def sandbox(context: click.Context, *, probe: bool, json: bool, timeout: float | None, command: tuple[str, ...]) -> int:
    """Run one command as the assistant would: localllm sandbox -- COMMAND…

    The sandbox, variables and limits are the same; its changes to the project stay, and /undo cannot undo them. One
    word is a line for bash, several are a program and its arguments. It gets no input; its output is printed when it
    ends. The exit code is the command's, 124 if it took too long, 125 if it was not run.
    """
    if probe == bool(command) or (json and not probe) or (probe and timeout):
        raise click.UsageError(_("Give a command after --, or --probe (with or without --json)."))
    project, loaded = load_here(context)
    safety, faulty_rules = usable_rules(loaded.settings.safety, loaded.unchecked, all_tools(), project)
    for error in (*loaded.left_out, *faulty_rules):
        say(left_out_notice(error))
    settings = msgspec.structs.replace(loaded.settings, safety=close_other_names(safety, project))
    accepted = bool(context.find_root().params["i_accept_no_sandbox"])
    runner = make_runner(settings, project, accept_no_sandbox=accepted)
    try:
        if probe:
            return _show(runner, project, loaded.settings.command_hosts, as_json=json)
        line = command[0] if len(command) == 1 else shlex.join(command)
        return _run(runner, line, timeout or safety.command_timeout)
    finally:
        runner.close()


def _run(runner: SandboxRunner, line: str, seconds: float) -> int:
    try:
        done = finish(lambda: runner.run(line, cwd=Path.cwd(), timeout=seconds))
    except LocalLLMError as error:
        print_error(error)
        return NOT_RUN
    _write(sys.stdout, done.stdout)
    _write(sys.stderr, done.stderr)
    if done.timed_out:
        say(f"localllm: {_('Killed: still running after {seconds:g} s.', seconds=seconds)}")
    elif done.excess:
        say(f"localllm: {_(KILLED_FOR[done.excess])}")
    for remark in remarks_on(done):
        say(str(remark))
    return _exit_code(done)


def _write(stream: object, text: str) -> None:
    """Print the command's output: unchanged to a file or a pipe, without control characters to a terminal."""
    is_terminal = bool(getattr(stream, "isatty", bool)())
    click.echo(clean(text) if is_terminal else text, nl=False, err=stream is sys.stderr)


def _exit_code(done: CommandResult) -> int:
    if done.timed_out:
        return TIMED_OUT
    return done.return_code if done.return_code >= 0 else _KILLED - done.return_code


class _Probed(msgspec.Struct, frozen=True, kw_only=True):
    """The output of `--probe`. `failed`: why each stronger level is not available; `fixes`: what would help."""

    level: str
    kernel: str
    reason: str
    network: Network
    network_hosts: tuple[str, ...]
    attempts: Sequence[Attempt]
    failed: Mapping[str, str]
    fixes: Sequence[str]


def _show(runner: SandboxRunner, project: Path, hosts: tuple[str, ...], *, as_json: bool) -> int:
    """Print the sandbox's strength; return 1 if something is missing."""
    kernel = platform.release()
    probed = _Probed(
        level=runner.level,
        kernel=kernel,
        reason=runner.reason,
        network=runner.network,
        network_hosts=hosts,
        attempts=_attempts(runner),
        failed=runner.failed_levels,
        fixes=[str(fix) for fix in remedies(runner.failed_levels, kernel)] if sys.platform == "linux" else [],
    )
    if as_json:
        click.echo(json_report(probed))
    else:
        width = max(40, shutil.get_terminal_size().columns)
        for line in listing(probed, project, width, choose_theme(sys.stdout)):
            click.echo(line)
    return int(probed.level == "none" or not all(attempt.ok for attempt in probed.attempts))


def _attempts(runner: SandboxRunner) -> Sequence[Attempt]:
    try:
        return finish(attempts) if runner.level != "none" else []
    except (LocalLLMError, OSError) as error:
        say(f"localllm: {error}")
        return []


_NETWORK = {
    "off": N_("Network: off"),
    "hosts": N_("Network: only {hosts}"),
    "not possible": N_("Network: off. safety.network_hosts has no effect: the level {level} cannot tell hosts apart"),
    "all": N_("Network: unrestricted"),
}


def listing(probed: _Probed, project: Path, width: int, theme: Theme) -> Iterator[str]:
    """List the strength, what was tried, and fixes; no line is wider than `width`."""
    key = (
        N_("Commands in {project}: not sandboxed (kernel {kernel}: {reason})")
        if probed.level == "none"
        else N_("Commands in {project}: level {level} (kernel {kernel})")
    )
    yield from _lines(_(key, project=project, level=probed.level, kernel=probed.kernel, reason=probed.reason), width)
    network = _NETWORK[probed.network]
    yield from _lines(_(network, hosts=", ".join(probed.network_hosts), level=probed.level), width)
    for kind in ("forbidden", "needed"):
        tried = [attempt for attempt in probed.attempts if attempt.kind == kind]
        if tried:
            yield from ("", *wrap(_(_TRIED[kind]), width))
            yield from _table(tried, width, theme)
    if probed.failed:
        yield from ("", *wrap(_("Better levels, and why they are not available here:"), width))
        for level, reason in probed.failed.items():
            yield from _lines(f"{level}: {reason}", width, "  ")
    if probed.fixes:
        yield from ("", *wrap(_("To fix it:"), width))
        for fix in probed.fixes:
            yield from _lines(fix, width, "→ ")


def _table(tried: Sequence[Attempt], width: int, theme: Theme) -> Iterator[str]:
    labels = [_label(attempt) for attempt in tried]
    column = max(map(display_width, labels)) + 4
    for attempt, label in zip(tried, labels, strict=True):
        first, *rest = wrap(_(_TRIALS[attempt.name]), width - column)
        padding = " " * (column - 2 - display_width(label))
        yield "  " + theme.paint("good" if attempt.ok else "error", label) + padding + first
        yield from (" " * column + line for line in rest)


def _label(attempt: Attempt) -> str:
    if attempt.kind == "forbidden":
        return _(N_("blocked") if attempt.ok else N_("NOT BLOCKED"))
    return _(N_("works") if attempt.ok else N_("does not work"))


def _lines(text: str, width: int, mark: str = "") -> Iterator[str]:
    first, *rest = wrap(clean(text), width - len(mark)) or [""]
    yield mark + first
    yield from (" " * len(mark) + line for line in rest)
