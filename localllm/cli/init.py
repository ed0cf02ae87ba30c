"""`localllm init`: create a project in a folder."""

import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime
from functools import partial
from pathlib import Path

import click

from localllm.app.init import Step, analysed, present, set_up
from localllm.app.private_log import start_log
from localllm.app.work_folder import work_folder
from localllm.app.work_layout import make_work_folder, present_folders
from localllm.base import logs
from localllm.base.errors import ConfigurationError
from localllm.base.i18n import N_, _
from localllm.cli.settings import load_here, say
from localllm.config.schema import Settings
from localllm.safety.closed_files import closed_patterns
from localllm.text.sanitising import clean, display_width

_DONE = {
    "folder": N_("In {folder}:"),
    "made": N_("created"),
    "kept": N_("already there, left as it is"),
    "link": N_("is a link, left alone"),
    "moved": N_("moved"),
    "added": N_("added"),
    "refreshed": N_("updated"),
}

EXIT_LEFT_ALONE = 1

_OVERRIDES = (
    *(f"{stem}.override.{ending}" for stem in ("compose", "docker-compose") for ending in ("yaml", "yml")),
    ".env",
)
"""Further files docker compose reads."""


@click.command()
@click.option(
    "--work-dir",
    metavar="DIR",
    type=click.Path(path_type=Path),
    help="Use this folder instead of the current one; it then also holds reports, tasks and logs.",
)
@click.option("--clear", is_flag=True, help="Start over: existing files are renamed, never deleted.")
@click.option("--refresh", is_flag=True, help="Update the lines of LOCALLLM.md that are still as init wrote them.")
@click.option("--services", is_flag=True, help="Also create files to run SearxNG (web search) and Valkey with Docker.")
@click.option("--yes", is_flag=True, help="With --clear: do not ask.")
@click.pass_context
def init(context: click.Context, work_dir: Path | None, clear: bool, refresh: bool, services: bool, yes: bool) -> int:
    """Make a folder a project: localllm.toml, LOCALLLM.md and .localllm/.

    The research folders (cache, task, log, debug_log, history) are created as well: in your data folder, or in DIR.
    Nothing of yours is overwritten, so you can run this again at any time: an existing LOCALLLM.md keeps everything it
    has and gets the sections about the project that it lacks.
    """
    folder, settings = (work_dir or Path()).resolve(), Settings()
    own = settings.project
    with suppress(ConfigurationError):  # sets the language; an invalid settings file is no obstacle
        project, loaded = load_here(context)
        settings = loaded.settings
        own = settings.project if project.resolve() == folder.resolve() else own
    notes = own.memory_file
    work = work_folder(settings, given=work_dir)
    there = [*present(folder, notes), *(present_folders(work) if work_dir else [])] if clear else []
    if there and not _agrees(there, yes=yes):
        say(_("Nothing was changed."))
        return EXIT_LEFT_ALONE
    stamp = datetime.now().astimezone().strftime("%Y%m%d-%H%M%S") if there else ""
    closed = closed_patterns(settings.safety, folder) if folder.is_dir() else ()
    analyse = partial(analysed, exclude=(*own.exclude_patterns, *closed))
    steps = set_up(folder, notes=notes, services=services, stamp=stamp, refresh=refresh, analyse=analyse)
    made = make_work_folder(work, stamp=stamp if work_dir else "")
    start_log(settings.logging, work)
    logs.of("CONFIG").info("init in %r", str(folder))
    _print_steps(folder, [*steps, *made] if work_dir else steps)
    if not work_dir:
        is_new = any(step.done == "made" for step in made)
        say(_("Reports, tasks and logs: {folder} ({done})", folder=work, done=_(_DONE["made" if is_new else "kept"])))
    say(_("Next: localllm doctor checks that everything is ready; localllm starts the chat."))
    if services:
        logs.of("DOCKER").info("compose.yaml and the settings of SearxNG in %s", folder)
        say(
            _(
                "Web search: docker compose up -d starts SearxNG and Valkey; docker compose ps shows "
                "them healthy after half a minute. Try http://127.0.0.1:8888. The key in "
                "searxng/settings.yml is yours alone: git ignores that file."
            )
        )
        if foreign := [*_kept(steps, folder), *(name for name in _OVERRIDES if os.path.lexists(folder / name))]:
            names = ", ".join(foreign)
            say(
                _(
                    "Read these first, because docker does what they say and they were already there: {names}",
                    names=names,
                )
            )
    return 0


def _kept(steps: Sequence[Step], folder: Path) -> list[str]:
    """Return the existing files of the services."""
    names = [(step.path.relative_to(folder).as_posix(), step.done) for step in steps]
    return [name for name, done in names if done in ("kept", "link") and name.startswith(("compose", "searxng/"))]


def _agrees(there: Sequence[Path], *, yes: bool) -> bool:
    """Confirm that these may be moved aside; raises ConfigurationError if no user can be asked."""
    if yes:
        return True
    names = ", ".join(path.name for path in there)
    if not sys.stdin.isatty():
        raise ConfigurationError("init_needs_yes", names=names)
    return click.confirm(
        clean(_("Start over here? {names} will be renamed to NAME.old-DATE, nothing is deleted.", names=names)),
        default=False,
        err=True,
    )


def _print_steps(folder: Path, steps: Sequence[Step]) -> None:
    """Print a line per step."""
    say(_("In {folder}:", folder=folder))
    words = {step.done: _(_DONE[step.done]) for step in steps}
    column = max(map(display_width, (words[step.done] for step in steps))) + 2
    for step in steps:
        word = words[step.done]
        name = f"{step.path.relative_to(folder)}{'' if step.path.is_symlink() or not step.path.is_dir() else '/'}"
        target = f" → {step.to.name}" if step.to else ""
        name = _("{name}: {parts}", name=name, parts=", ".join(step.parts)) if step.parts else name
        click.echo(clean(f"{word}{' ' * (column - display_width(word))}{name}{target}", keep_newlines=False))
        for remark in step.remarks:
            say(clean(f"{' ' * column}{remark}", keep_newlines=False))
