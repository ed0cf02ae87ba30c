"""`localllm history`: past sessions of a project, research reports, market scans."""

import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import click

from localllm.app.report_formats import FORMATS, Format
from localllm.app.work_folder import work_folder
from localllm.base.errors import ConfigurationError, ResearchError
from localllm.base.events import Json
from localllm.base.i18n import _, ngettext
from localllm.base.paths import find_storage, session_key_file
from localllm.cli.market_history import is_scan, scan_content, scan_json, scan_line, scans
from localllm.cli.report_history import (
    check_terminal,
    is_report,
    report_content,
    report_json,
    report_line,
    reports,
)
from localllm.cli.report_output import write_bytes
from localllm.cli.settings import load_here, print_error, say
from localllm.research.market.agent_log import AgentLog
from localllm.research.run_history import delete_run, past_run
from localllm.sessions.export import Format as SessionFormat
from localllm.sessions.export import export, format_for, write_new
from localllm.sessions.index import Session, about, state, when
from localllm.sessions.log import Seal
from localllm.sessions.store import Sessions
from localllm.sessions.transcript import Transcript, begun_at, transcript_of
from localllm.text.sanitising import clean, json_report, shorten

_ABOUT = 70  # cells
EXIT_LEFT_ALONE = 1

_work_dir = click.option(
    "--work-dir", metavar="DIR", type=click.Path(path_type=Path), help="The folder of reports, tasks and logs."
)


@click.group()
def history() -> None:
    """List, read, export and delete past sessions of this project, research reports and market scans.

    Name a session by its name or title, or the beginning of one; a report or market scan by its id, such as 2026-0003
    or m-0123456789ab.
    localllm --resume NAME resumes a session, localllm research --resume ID a run that has no report yet.
    """


@history.command("list")
@click.argument("words", nargs=-1)
@click.option("--kind", type=click.Choice(["session", "report", "market"]), help="List only this kind.")
@click.option("--json", "json", is_flag=True, help="Print one JSON object.")
@_work_dir
@click.pass_context
def list_(context: click.Context, words: tuple[str, ...], kind: str | None, json: bool, work_dir: Path | None) -> None:
    """List sessions, reports and market scans, the newest first.

    With WORDS, only those with a similar request.
    """
    wanted = " ".join(words)
    _unused, sessions, work = _open(context, work_dir)
    found = [] if kind in ("report", "market") else sessions.search(wanted) if words else sessions.all()
    runs = [] if kind in ("session", "market") else reports(work, wanted)
    markets = [] if kind in ("session", "report") else scans(work, wanted)
    if json:
        whole = {"sessions": list(map(_json, found)), "reports": list(map(report_json, runs))}
        click.echo(json_report({**whole, "scans": list(map(scan_json, markets))}))
        return
    if not found and not runs and not markets:
        say(_("Nothing was found for “{words}”.", words=wanted) if words else _("No sessions and no reports yet."))
    for one in found:
        words_of_it = shorten(clean(about(one), keep_newlines=False), _ABOUT)
        click.echo(f"{one.id}  {when(one)}  {words_of_it}  ({state(one)})")
    for run in runs:
        click.echo(report_line(run))
    for scan in markets:
        click.echo(scan_line(scan))


def _json(session: Session) -> dict[str, Json]:
    return {
        "id": session.id,
        "title": session.title,
        "first": session.first,
        "turns": session.turns,
        "began": session.began or begun_at(session.id),
        "changed": session.changed,
        "ended": session.ended,
        "forked_from": session.forked_from,
    }


@history.command()
@click.argument("name")
@click.option("--format", "to", type=click.Choice(FORMATS), default="md", show_default=True)
@_work_dir
@click.pass_context
def show(context: click.Context, name: str, to: Format, work_dir: Path | None) -> None:
    """Print the session NAME, or the report or market scan with that id."""
    project, sessions, work = _open(context, work_dir)
    if is_report(name) or is_scan(name):
        check_terminal(to)
        write_bytes(_content(work, name, to))
        return
    text = export(_transcript(project, sessions, name), _of_session(to))
    click.echo(clean(text) if sys.stdout.isatty() and to != "json" else text, nl=False)


@history.command("export")
@click.argument("name")
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False), required=False)
@click.option(
    "--format",
    "to",
    type=click.Choice(FORMATS),
    help="The format; by default from the file's name, otherwise Markdown.",
)
@click.option("--force", is_flag=True, help="Overwrite an existing file.")
@_work_dir
@click.pass_context
def export_(
    context: click.Context, name: str, file: Path | None, to: Format | None, force: bool, work_dir: Path | None
) -> int:
    """Write the session NAME, or the report or scan with that id, to FILE: Markdown, a web page, or JSON.

    A report can also be exported as PDF if Chromium is installed.
    """
    project, sessions, work = _open(context, work_dir)
    is_kept = is_report(name) or is_scan(name)
    chosen = to or ("pdf" if is_kept and file and file.suffix.lower() == ".pdf" else None)
    chosen = chosen or format_for(file.name if file else "")
    if is_kept:
        target, content = file or Path(f"report-{name}.{chosen}"), _content(work, name, chosen)
    else:
        transcript = _transcript(project, sessions, name)
        target = file or Path(f"session-{transcript.session_id}.{chosen}")
        content = export(transcript, _of_session(chosen)).encode("utf-8", "replace")
    if target.exists() and not force:
        if not sys.stdin.isatty():
            raise ConfigurationError("export_exists", file=target)
        if not click.confirm(
            clean(_("{file} already exists. Overwrite it? [y/N] ", file=target)), default=False, err=True
        ):
            say(_("Nothing was written."))
            return EXIT_LEFT_ALONE
        force = True
    write_new(project, target, content, overwrite=force)
    say(_("Written: {file}", file=target))
    return 0


@history.command()
@click.argument("names", nargs=-1, required=True, metavar="NAME...")
@click.option("--yes", is_flag=True, help="Do not ask.")
@_work_dir
@click.pass_context
def delete(context: click.Context, names: tuple[str, ...], yes: bool, work_dir: Path | None) -> int:
    """Delete sessions, reports and market scans for good; one that is open in another program is kept."""
    _unused, sessions, work = _open(context, work_dir)
    runs = [past_run(work, name) for name in dict.fromkeys(names) if is_report(name)]
    markets = [AgentLog(work).find(name) for name in dict.fromkeys(names) if is_scan(name)]
    others = (name for name in names if not is_report(name) and not is_scan(name))
    found = {one.id: one for one in map(sessions.find, others)}
    count = len(found) + len(runs) + len(markets)
    if not yes:
        if not sys.stdin.isatty():
            raise ConfigurationError("history_needs_yes")
        for one in found.values():
            say(f"{one.id}  {when(one)}  {shorten(clean(about(one), keep_newlines=False), _ABOUT)}")
        for run in runs:
            say(report_line(run))
        for scan in markets:
            say(scan_line(scan))
        question = (
            ngettext("Delete {count} report for good?", "Delete {count} reports for good?", count)
            if not found and not markets
            else ngettext("Delete {count} session for good?", "Delete {count} sessions for good?", count)
            if not runs and not markets
            else _("Delete sessions and reports, {count} in all, for good?", count=count)
        )
        if not click.confirm(question, default=False, err=True):
            return EXIT_LEFT_ALONE
    deleted = sum(_is_deleted(sessions.delete, name) for name in found)
    deleted += sum(_is_deleted(partial(delete_run, work), run.id) for run in runs)
    deleted += sum(_is_deleted(AgentLog(work).delete, scan.execution_id) for scan in markets)
    if found:
        sessions.delete_orphans()
    say(_("{count} deleted.", count=deleted))
    return 0 if deleted == count else ConfigurationError.exit_code


def _is_deleted(delete: Callable[[str], object], name: str) -> bool:
    """Delete one of them; return whether that was possible. An error is printed."""
    try:
        delete(name)
    except (ConfigurationError, ResearchError) as error:
        print_error(error)
        return False
    return True


def _content(work: Path, name: str, form: Format) -> bytes:
    """Return the content of a report or a market scan. Raises LocalLLMError."""
    return scan_content(work, name, form) if is_scan(name) else report_content(work, name, form)


def _open(context: click.Context, work_dir: Path | None) -> tuple[Path, Sessions, Path]:
    """Return the current project, its sessions, and the work folder."""
    project, loaded = load_here(context)
    sessions = Sessions.of_project(project, find_storage(project), Seal(session_key_file()))
    return project, sessions, work_folder(loaded.settings, given=work_dir)


def _of_session(form: Format) -> SessionFormat:
    """Return the format for a session. Raises click.UsageError."""
    if form == "pdf":
        raise click.UsageError(_("pdf is only for reports: a session can be exported as md, html or json."))
    return form


def _transcript(project: Path, sessions: Sessions, name: str) -> Transcript:
    """Return the transcript of the named session."""
    session = sessions.find(name)
    read = sessions.read(session.id)
    return transcript_of(session.id, project.name, read.entries, read.torn_lines)
