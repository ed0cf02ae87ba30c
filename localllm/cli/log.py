"""`localllm log`: show and follow the program's log."""

import sys
import time
from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path

import click

from localllm.base import logs
from localllm.base.i18n import _
from localllm.base.jsontext import encode_json
from localllm.base.lazy_patterns import late_pattern
from localllm.base.log_records import LEVELS, Follower, LogRecord, Wanted, read_log, records, stamp
from localllm.cli.research_settings import work_folder_here
from localllm.cli.settings import say
from localllm.text.sanitising import clean, escape_json
from localllm.tui.theme import Style, Theme, choose_theme

CATEGORIES: dict[str, tuple[str, ...]] = {
    "RUN": ("RUN",),
    "WEB": ("WEB",),
    "LLM": ("LLM", "GGUF"),
    "OLLAMA": ("LLM", "GGUF"),
    "CONFIG": ("CONFIG",),
    "DOCKER": ("DOCKER",),
    "SYSTEM": ("SYSTEM", "APP", "CLI"),
    "AGENT": ("AGENT",),
    "TOOL": ("TOOL",),
    "SANDBOX": ("SANDBOX",),
    "MEMORY": ("MEMORY",),
    "TRACE": ("TRACE",),
    "ENSEMBLE": ("ENSEMBLE", "SERVER", "CONFIG"),
}
"""The categories a user can name, and those in the file they stand for."""

_AGO = late_pattern(r"(\d{1,6})\s*(s|m|min|h|d|w)")
_SECONDS = {"s": 1, "m": 60, "min": 60, "h": 3_600, "d": 86_400, "w": 604_800}
_STYLES: dict[str, Style] = {"DEBUG": "dim", "WARNING": "warning", "ERROR": "error", "CRITICAL": "error"}
_LOOKED_AFTER = 0.3  # seconds between polls


@click.command()
@click.option("-f", "--follow", is_flag=True, help="Keep printing new records, until Ctrl+C.")
@click.option(
    "--level",
    type=click.Choice(LEVELS[:-1], case_sensitive=False),
    default="DEBUG",
    help="Only records of this level and above.",
)
@click.option(
    "--category",
    "categories",
    multiple=True,
    type=click.Choice([*CATEGORIES], case_sensitive=False),
    metavar="NAME",
    help="Only this category (RUN, WEB, LLM, …); can be given several times.",
)
@click.option("--since", default="", metavar="TIME", help="Only records since then: 30m, 2h, 1d ago; 09:30, or a date.")
@click.option(
    "-n",
    "--lines",
    "most",
    type=click.IntRange(0),
    metavar="N",
    help="The last N records; 0 for all.  [default: 100, all with --since]",
)
@click.option("--debug-log", is_flag=True, help="Read the debug log, which is written with logging.debug.")
@click.option("--json", "json", is_flag=True, help="Print each record as a JSON line.")
@click.option(
    "--work-dir", metavar="DIR", type=click.Path(path_type=Path), help="The folder of reports, tasks and logs."
)
@click.pass_context
def log(
    context: click.Context,
    follow: bool,
    level: str,
    categories: Sequence[str],
    since: str,
    most: int | None,
    debug_log: bool,
    json: bool,
    work_dir: Path | None,
) -> None:
    """Print the program's log, the newest at the end.

    It is one file per day in the folder log of the work folder. OLLAMA is the same as LLM.
    """
    folder = work_folder_here(context, work_dir) / (logs.DEBUG_LOG if debug_log else logs.LOG)
    chosen = frozenset(name for one in categories for name in CATEGORIES[one.upper()])
    wanted = Wanted(level.upper(), chosen, stamp(_moment(since)) if since else "")
    follower = Follower(folder)
    number = most if most is not None else 0 if since else 100
    show = _Printer(choose_theme(sys.stdout), as_json=json)
    any_shown = False
    for record in read_log(folder, wanted, number):
        show.print(record)
        any_shown = True
    if follow:
        _follow(follower, wanted, show)
    elif not any_shown:
        say(_("No such records in the log ({folder}).", folder=folder))


def _follow(follower: Follower, wanted: Wanted, show: "_Printer") -> None:
    """Print new records until interrupted; a closed standard output is noticed with the next record."""
    while True:
        for record in filter(wanted.has, records(follower.new_lines())):
            show.print(record)
        time.sleep(_LOOKED_AFTER)


class _Printer:
    def __init__(self, theme: Theme, *, as_json: bool) -> None:
        self._theme = theme
        self._as_json = as_json

    def print(self, record: LogRecord) -> None:
        """Print a record; for a terminal, control characters are removed."""
        if self._as_json:
            message = record.text.partition("] [")[2].partition("] ")[2].rstrip("\n")
            fields = {"time": record.time, "level": record.level, "category": record.category, "message": message}
            click.echo(escape_json(encode_json(fields).decode()))
            return
        for line in clean(record.text).rstrip("\n").split("\n"):
            click.echo(self._theme.paint(_STYLES.get(record.level, ""), line), color=True)


def _moment(since: str) -> datetime:
    """Parse a time. Raises click.UsageError."""
    now = datetime.now().astimezone()
    if match := _AGO.fullmatch(since.strip().lower()):
        return now - timedelta(seconds=int(match[1]) * _SECONDS[match[2]])
    try:
        if ":" in since and "-" not in since:
            hour = datetime.strptime(since.strip(), "%H:%M")  # noqa: DTZ007 - of today, in this zone
            today = now.replace(hour=hour.hour, minute=hour.minute, second=0, microsecond=0)
            return today if today <= now else today - timedelta(days=1)
        return datetime.fromisoformat(since.strip()).astimezone()
    except (ValueError, OverflowError) as error:
        raise click.UsageError(
            _("--since: “{since}” is not a time. Write 30m, 2h, 1d, 09:30 or 2026-12-01.", since=since)
        ) from error
