"""`localllm task`: schedule questions to research later, or repeatedly."""

import asyncio
import os
import shlex
import sys
import unicodedata
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec

from localllm.app.report_formats import report_file
from localllm.app.research_setup import ResearchSetup
from localllm.app.stored_options import remember_named, remember_task
from localllm.app.task_runs import local_now, run_task, task_options
from localllm.app.task_units import AGENT, agent_files, crontab_line, folder_variables, unit_files
from localllm.base.errors import ConfigurationError, LocalLLMError, ResearchError
from localllm.base.events import Json
from localllm.base.files import atomic_write
from localllm.base.i18n import N_, Phrase, _, ngettext
from localllm.base.jsontext import decode_json, encode_json
from localllm.base.named_paths import follow
from localllm.cli.interruption import InterruptedRun, finish
from localllm.cli.report_output import ReportOutput, summary
from localllm.cli.research_options import given_options, research_options
from localllm.cli.research_run import EXIT_PARTIAL, RunDisplay
from localllm.cli.research_settings import setup_here, work_folder_here
from localllm.cli.settings import print_error, say
from localllm.research.local_documents import LocalDocuments
from localllm.research.options import ResearchOptions
from localllm.research.otel_tracer import open_tracer
from localllm.research.records import ResearchState
from localllm.research.remark_texts import in_words
from localllm.research.schedules import make_schedule
from localllm.research.tasks import STATUSES, Task, TaskStore
from localllm.text.sanitising import clean, display_width, json_report, shorten

if TYPE_CHECKING:
    from localllm.cli.handed_over_runs import Workers

_STATUSES = {
    "scheduled": N_("scheduled"),
    "running": N_("running"),
    "completed": N_("completed"),
    "failed": N_("failed"),
}
_Wanted = Mapping[str, Task | None]
"""Tasks to be run: ids → as they were found to be waiting; None if they were named."""

_ABOUT = 60  # cells
EXIT_LEFT_ALONE = 1

work_dir_option = click.option(
    "--work-dir", metavar="DIR", type=click.Path(path_type=Path), help="The folder of reports, tasks and logs."
)


@click.group()
def task() -> None:
    """Keep questions for research as tasks, and run those that are due.

    A task is a YAML file in the folder task/ of the work folder. Without a time it is due at once; cron or systemd can
    run what is due (localllm task units).
    """


@task.command()
@click.argument("words", nargs=-1, metavar="QUESTION")
@click.option("--prompt", metavar="TEXT", help="The question, as an option.")
@click.option("--every", default="", metavar="TIME", help="Repeat it: 30m, 6h, 1d, 2w; hourly, daily, weekly.")
@click.option("--at", default="", metavar="TIME", help='Not before then: 09:30, or "2026-12-01 09:30".')
@research_options
@work_dir_option
@click.option("--json", "json", is_flag=True, help="Print one JSON object.")
@click.pass_context
def add(context: click.Context, words: tuple[str, ...], json: bool, **values: Any) -> None:
    """Add a task. Its id is printed."""
    if words and values["prompt"]:
        raise click.UsageError(_("Give either a question or --prompt, not both."))
    options = given_options(values)
    if values["preset"]:
        options["preset"] = values["preset"]
    setup = setup_here(context, values)
    LocalDocuments([Path(folder) for folder in options.get("docs", ())], setup.root)  # refuses what cannot be searched
    remember_named(setup, docs=options.get("docs", ()), collections=options.get("collections", ()))
    now = local_now()
    schedule = make_schedule(values["every"], values["at"], now)
    options = decode_json(encode_json(options), dict[str, Json])  # tuples become lists
    added = TaskStore(setup.work_folder).add(" ".join(words) or values["prompt"] or "", options, schedule, now)
    remember_task(setup, added)
    task_options(setup, added)
    if json:
        click.echo(json_report(_json(added)))
        return
    click.echo(added.id)
    said = _("Task {id} is due {when}.", id=added.id, when=_shown(added.next_run)) if added.next_run else ""
    say(said or _("Task {id} is due now: localllm task run {id}", id=added.id))


@task.command("list")
@click.option("--status", type=click.Choice(STATUSES), help="List only tasks with this status.")
@click.option("--json", "json", is_flag=True, help="Print one JSON object.")
@work_dir_option
@click.pass_context
def list_(context: click.Context, status: str | None, json: bool, work_dir: Path | None) -> int:
    """List the tasks, the oldest first."""
    tasks, faults = TaskStore(work_folder_here(context, work_dir)).all()
    tasks = [one for one in tasks if status in (None, one.status)]
    if json:
        click.echo(json_report({"tasks": list(map(_json, tasks)), "faults": [str(fault) for fault in faults]}))
    else:
        for line in _listing(tasks):
            click.echo(line)
        if not tasks and not faults:
            say(_('No tasks yet. localllm task add "QUESTION" adds one.'))
    for fault in faults:
        print_error(fault)
    return 1 if faults else 0


@task.command()
@click.argument("name", metavar="ID")
@click.option("--json", "json", is_flag=True, help="Print one JSON object.")
@work_dir_option
@click.pass_context
def show(context: click.Context, name: str, json: bool, work_dir: Path | None) -> None:
    """Print the task ID as it stands in its file."""
    store = TaskStore(work_folder_here(context, work_dir))
    found = store.read(name)
    click.echo(json_report(_json(found)) if json else clean(store.text(name)), nl=json)


@task.command()
@click.argument("names", nargs=-1, required=True, metavar="ID...")
@click.option("--yes", is_flag=True, help="Do not ask.")
@work_dir_option
@click.pass_context
def delete(context: click.Context, names: tuple[str, ...], yes: bool, work_dir: Path | None) -> int:
    """Delete tasks for good; running tasks and all reports are kept."""
    store = TaskStore(work_folder_here(context, work_dir))
    found = {name: store.read(name) for name in names}
    if not yes:
        if not sys.stdin.isatty():
            raise ConfigurationError("task_needs_yes")
        for line in _listing([*found.values()]):
            say(line)
        if not click.confirm(
            ngettext("Delete {count} task for good?", "Delete {count} tasks for good?", len(found)),
            default=False,
            err=True,
        ):
            return EXIT_LEFT_ALONE
    failed = 0
    for name in found:
        try:
            store.delete(name)
        except ResearchError as error:
            failed = error.exit_code
            print_error(error)
    return failed


@task.command()
@click.argument("names", nargs=-1, metavar="[ID...]")
@click.option("--due", is_flag=True, help="Run those that are due, and those left behind by a runner that died.")
@click.option("--all", "all_", is_flag=True, help="Run all that are waiting, even if not yet due.")
@click.option(
    "--output",
    type=click.Choice(["text", "json", "stream-json"]),
    default="text",
    help="Standard output: a line for each report (the default), one JSON object, or each event as a JSON line.",
)
@click.option("--api", metavar="URL", help="The address of the model's server.")
@click.option("--model", metavar="NAME", help="The model to use; by default the one in the settings.")
@click.option("--trace", is_flag=True, help="Send traces of the runs to an OpenTelemetry receiver (see [trace]).")
@click.option("--queue", metavar="URL", help="Hand the tasks to workers, through this Redis or Valkey.")
@work_dir_option
@click.pass_context
def run(context: click.Context, names: tuple[str, ...], due: bool, all_: bool, **values: Any) -> int:
    """Run tasks, one after the other.

    Several runners can be at work at once: none runs a task that another has taken. With --queue, workers run them
    (localllm worker), and this waits for them. Running it allows the searches and pages of these runs. The exit code is
    that of the worst run: 3 for a partial report.
    """
    if bool(names) + due + all_ != 1:
        raise click.UsageError(_("Name the tasks, or give --due or --all."))
    setup = setup_here(context, values)
    wanted = dict.fromkeys(names) if names else chosen_tasks(setup, due_only=due)
    if not wanted:
        say(_("No task is due."))
    report = ReportOutput(output=values["output"])
    if values["queue"]:
        return _hand_over(setup, wanted, report, values["queue"])
    return run_tasks(setup, wanted, report, trace=values["trace"])


def _hand_over(setup: ResearchSetup, wanted: _Wanted, report: ReportOutput, queue: str) -> int:
    """Have workers run these tasks concurrently; return the worst exit code."""
    from localllm.cli.handed_over_runs import Workers

    workers = Workers(setup, queue, shows_stages=report.output == "text")
    runs = _Runs(setup, report, {}, trace=False, workers=workers)
    try:
        finish(lambda: runs.run_together(wanted))
    except InterruptedRun as stopped:
        report.tell_failure(None, "")
        say(_("The workers continue. Run the same command again to collect their results."))
        return stopped.exit_code
    runs.tell()
    return runs.code


@task.command()
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False), required=False)
@click.option(
    "--minutes", type=click.IntRange(1, 1440), default=15, show_default=True, metavar="N", help="How often to check."
)
@click.option("--print", "print_", is_flag=True, help="Print the files and a line for crontab; write nothing.")
@work_dir_option
@click.pass_context
def units(context: click.Context, folder: Path | None, minutes: int, print_: bool, work_dir: Path | None) -> None:
    """Write a systemd timer, or on macOS a launchd agent, into FOLDER that runs what is due.

    FOLDER is where systemd or launchd looks for yours, unless you name another one. The tasks run with the settings of
    the current folder, and with your XDG_STATE_HOME and the like.
    """
    work = work_folder_here(context, work_dir)
    variables = folder_variables(os.environ)
    for one in (work, Path.cwd(), *variables.values()):
        if any(unicodedata.category(character) == "Cc" for character in str(one)):
            raise click.UsageError(
                _(
                    "{folder}: systemd, launchd and cron cannot read a name with control characters (line breaks). "
                    "Rename it.",
                    folder=clean(str(one), keep_newlines=False),
                )
            )
    on_macos = sys.platform == "darwin"
    files = (agent_files if on_macos else unit_files)(work, Path.cwd(), minutes, variables)
    if print_:
        for name, text in files.items():
            click.echo(f"# {name}\n{text}")
        click.echo(f"# crontab -e\n{crontab_line(work, Path.cwd(), minutes, variables)}")
        return
    settings = Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config")
    target = folder or (Path.home() / "Library" / "LaunchAgents" if on_macos else settings / "systemd" / "user")
    for name, text in files.items():
        _write_unit(target / name, text)
        say(_("Written: {file}", file=target / name))
    command = "systemctl --user daemon-reload; systemctl --user enable --now localllm-tasks.timer"
    if on_macos:
        command = f"launchctl bootstrap gui/$(id -u) {shlex.quote(str(target / f'{AGENT}.plist'))}"
    say(_("Next: {command}", command=command))


def _write_unit(file: Path, text: str) -> None:
    """Write a unit. Raises ConfigurationError, also for a link in a project that leads out of it."""
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        leads_out = follow(file, Path.cwd()).leads_out
        if not leads_out:
            atomic_write(file, text.encode())
    except OSError as error:
        raise ConfigurationError("session_unwritable", file=file, reason=error.strerror or error) from error
    if leads_out:
        raise ConfigurationError("session_unwritable", file=file, reason=Phrase("It is a link to another file"))


def chosen_tasks(setup: ResearchSetup, *, due_only: bool) -> _Wanted:
    """Return the pending tasks, with `due_only` the due ones; unreadable files are reported."""
    store = TaskStore(setup.work_folder)
    tasks, faults = store.all()
    for fault in faults:
        print_error(fault)
    if due_only:
        return {one.id: one for one in store.due(local_now())}
    return {one.id: one for one in tasks if one.status in ("scheduled", "running")}


def run_tasks(
    setup: ResearchSetup,
    wanted: _Wanted,
    report: ReportOutput,
    *,
    trace: bool = False,
    given: dict[str, Any] | None = None,
    preset: str | None = None,
) -> int:
    """Run these tasks in sequence; return the worst exit code. `given` and `preset` override a task's own options."""
    given = {**(given or {}), **({"preset": preset} if preset else {})}
    runs = _Runs(setup, report, given, trace=trace)
    try:
        finish(lambda: runs.run(wanted))
    except InterruptedRun as stopped:
        report.tell_failure(None, runs.display.run)
        say(_("The task is still due; its run continues the next time it is run."))
        return stopped.exit_code
    runs.tell()
    return runs.code


class _Runs:
    """The runs of several tasks with their results. `workers` execute them, if given."""

    def __init__(
        self,
        setup: ResearchSetup,
        report: ReportOutput,
        given: dict[str, Any],
        *,
        trace: bool,
        workers: "Workers | None" = None,
    ) -> None:
        self.display = RunDisplay(report.output, sys.stdout, sys.stderr)
        self.code = 0
        self._setup = setup
        self._report = report
        self._given = given
        self._trace = trace
        self._workers = workers
        self._ended: list[dict[str, Json]] = []

    async def run(self, wanted: _Wanted) -> None:
        """Run tasks in sequence; a failure does not affect the others, except the lack of a model."""
        for name, found in wanted.items():
            await self._run_one(name, found)
            if self.code == 5:
                return

    async def run_together(self, wanted: _Wanted) -> None:
        """Run all tasks concurrently, by workers; a failure does not affect the others."""
        async with asyncio.TaskGroup() as group:
            for name, found in wanted.items():
                group.create_task(self._run_one(name, found))

    async def _run_one(self, name: str, found: Task | None) -> None:
        """Run a task, and print its result."""
        try:
            state = await self._run(name, found)
        except LocalLLMError as error:
            self.code = max(self.code, error.exit_code)
            print_error(error)
            self._note({"success": False, "status": "failed", "task": name, "error": {"code": error.code}})
            return
        if state is None:
            say(_("Task {id} is running elsewhere.", id=name))
            self._note({"success": False, "status": "running", "task": name, "error": None})
        else:
            await self._tell_end(name, state)

    async def _run(self, name: str, found: Task | None) -> ResearchState | None:
        if self._workers is not None:
            elsewhere = self._workers.carry_out
            return await run_task(self._setup, name, self.display.handle, found=found, elsewhere=elsewhere)
        options = self._options(name)
        tracer = open_tracer(self._setup.settings.trace, os.environ, asked=self._trace)
        try:
            return await run_task(
                self._setup,
                name,
                self.display.handle,
                found=found,
                options=options,
                tracer=tracer,
                showing=lambda task, options: self.display.showing(options, title=f"{task.id} {task.prompt}"),
            )
        finally:
            if tracer is not None and (trouble := tracer.close()):
                say(in_words(trouble))

    def _options(self, name: str) -> ResearchOptions | None:
        if not self._given:
            return None
        task = TaskStore(self._setup.work_folder).read(name)
        return task_options(self._setup, task, **self._given)

    async def _tell_end(self, name: str, state: ResearchState) -> None:
        if state.partial and not self.code:
            self.code = EXIT_PARTIAL
        if self._report.output == "text":
            if error := await self._report.deliver(self._setup, state):
                print_error(error)
                self.code = self.code or error.exit_code
            if not self._report.prints and not sys.stdout.isatty():
                click.echo(str(report_file(self._setup.work_folder, state.id)))
        else:
            self._note({"task": name, **summary(state, report_file(self._setup.work_folder, state.id), None)})

    def _note(self, ended: dict[str, Json]) -> None:
        self._ended.append(ended)
        if self._report.output == "stream-json":
            self._report.print_json({"type": "Report", **ended})

    def tell(self) -> None:
        """Print the results of all runs, if one JSON object is requested."""
        if self._report.output == "json":
            self._report.print_json({"tasks": list(self._ended)})


def _listing(tasks: Sequence[Task]) -> list[str]:
    """Format a line per task."""
    words = {name: _(text) for name, text in _STATUSES.items()}
    column = max(map(display_width, words.values()))
    lines: list[str] = []
    for one in tasks:
        word = words[one.status]
        when = _shown(one.next_run) if one.next_run else "—"
        about = shorten(clean(one.prompt, keep_newlines=False), _ABOUT)
        padding = " " * (column - display_width(word))
        lines.append(f"{one.id}  {word}{padding}  {when:<16}  {about}")
    return lines


def _shown(moment: str | None) -> str:
    """Format a time of a task's file in local time."""
    if not moment:
        return ""
    try:
        return datetime.fromisoformat(moment).astimezone().strftime("%Y-%m-%d %H:%M")
    except (ValueError, OverflowError):
        return clean(moment, keep_newlines=False)


def _json(task: Task) -> dict[str, Json]:
    return msgspec.to_builtins(task)
