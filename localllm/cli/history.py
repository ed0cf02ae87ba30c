"""`localllm history`: the past sessions of a project."""

import sys
from pathlib import Path

import click

from localllm.base.errors import ConfigurationError
from localllm.base.events import Json
from localllm.base.i18n import _, ngettext
from localllm.base.paths import find_storage, session_key_file
from localllm.cli.settings import load_here, print_error, say
from localllm.sessions.export import FORMATS, Format, export, format_for, write_new
from localllm.sessions.index import Session, about, state, when
from localllm.sessions.log import Seal
from localllm.sessions.store import Sessions
from localllm.sessions.transcript import Transcript, begun_at, transcript_of
from localllm.text.sanitising import clean, json_report, shorten

_ABOUT = 70  # cells
EXIT_LEFT_ALONE = 1


@click.group()
def history() -> None:
    """List, read, export and delete the past sessions of this project.

    A session is named by its whole name or title, or the beginning of one. localllm --resume NAME goes on with one.
    """


@history.command("list")
@click.argument("words", nargs=-1)
@click.option("--json", "json", is_flag=True, help="Print one JSON object.")
@click.pass_context
def list_(context: click.Context, words: tuple[str, ...], json: bool) -> None:
    """List the sessions, the last worked in first; with WORDS, those in which something like it was asked for."""
    _unused, sessions = _open(context)
    found = sessions.search(" ".join(words)) if words else sessions.all()
    if json:
        click.echo(json_report({"sessions": list(map(_json, found))}))
        return
    if not found:
        say(_("Nothing was found for “{words}”.", words=" ".join(words)) if words else _("No sessions yet."))
    for one in found:
        words_of_it = shorten(clean(about(one), keep_newlines=False), _ABOUT)
        click.echo(f"{one.id}  {when(one)}  {words_of_it}  ({state(one)})")


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
@click.pass_context
def show(context: click.Context, name: str, to: Format) -> None:
    """Print the session NAME."""
    text = export(_transcript(context, name)[1], to)
    click.echo(clean(text) if sys.stdout.isatty() and to != "json" else text, nl=False)


@history.command("export")
@click.argument("name")
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False), required=False)
@click.option("--format", "to", type=click.Choice(FORMATS), help="Otherwise as the file's name ends; Markdown.")
@click.option("--force", is_flag=True, help="Overwrite a file that is there.")
@click.pass_context
def export_(context: click.Context, name: str, file: Path | None, to: Format | None, force: bool) -> int:
    """Write the session NAME into FILE: Markdown, a web page without scripts, or JSON."""
    project, transcript = _transcript(context, name)
    chosen = to or format_for(file.name if file else "")
    target = file or Path(f"session-{transcript.session_id}.{chosen}")
    if target.exists() and not force:
        if not sys.stdin.isatty():
            raise ConfigurationError("export_exists", file=target)
        if not click.confirm(
            clean(_("{file} is there already. Overwrite it? [y/N] ", file=target)), default=False, err=True
        ):
            say(_("Nothing was written."))
            return EXIT_LEFT_ALONE
        force = True
    write_new(project, target, export(transcript, chosen), overwrite=force)
    say(_("Written: {file}", file=target))
    return 0


@history.command()
@click.argument("names", nargs=-1, required=True, metavar="NAME...")
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.pass_context
def delete(context: click.Context, names: tuple[str, ...], yes: bool) -> int:
    """Delete sessions for good; one that is open in another program stays."""
    _unused, sessions = _open(context)
    found = {one.id: one for one in map(sessions.find, names)}
    if not yes:
        if not sys.stdin.isatty():
            raise ConfigurationError("history_needs_yes")
        for one in found.values():
            say(f"{one.id}  {when(one)}  {shorten(clean(about(one), keep_newlines=False), _ABOUT)}")
        if not click.confirm(
            ngettext("Delete {count} session for good?", "Delete {count} sessions for good?", len(found)),
            default=False,
            err=True,
        ):
            return EXIT_LEFT_ALONE
    deleted = sum(_deleted(sessions, name) for name in found)
    sessions.delete_orphans()
    say(_("{count} deleted.", count=deleted))
    return 0 if deleted == len(found) else ConfigurationError.exit_code


def _deleted(sessions: Sessions, session_id: str) -> bool:
    try:
        sessions.delete(session_id)
    except ConfigurationError as error:
        print_error(error)
        return False
    return True


def _open(context: click.Context) -> tuple[Path, Sessions]:
    """The project the program is started in, and its sessions."""
    project, _ = load_here(context)
    return project, Sessions.of_project(project, find_storage(project), Seal(session_key_file()))


def _transcript(context: click.Context, name: str) -> tuple[Path, Transcript]:
    """The project, and the session of it that the name means."""
    project, sessions = _open(context)
    session = sessions.find(name)
    read = sessions.read(session.id)
    return project, transcript_of(session.id, project.name, read.entries, read.torn_lines)
