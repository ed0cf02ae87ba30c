"""The request log in `localllm serve`: --history and --stats."""

import shutil
import sys
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

import click
import msgspec

from localllm.base.events import Json
from localllm.base.i18n import N_, _, ngettext
from localllm.base.jsontext import decode_json
from localllm.cli.settings import say
from localllm.ensemble.log_database import LoggedAnswer, LoggedRun, find_run, log_file, read_runs
from localllm.ensemble.log_statistics import LogStatistics, WorkerStatistics, statistics
from localllm.text.sanitising import clean, display_width, json_report, shorten

NEWEST = "20"
"""Number of runs shown by --history without a value."""

_SHOWN_OF_ID = 12  # characters, sufficient to identify a run
_MOST_DIGITS = 6  # of a number; an id may also consist of digits
_PIPED_COLUMNS = 200  # without a terminal that sets a width
_LEAST_ABOUT = 12  # cells
_OUTCOMES = {
    "answered": N_("answered"),
    "reviewer_failed": N_("reviewer failed"),
    "all_failed": N_("no answer"),
    "broken_off": N_("cancelled"),
}


def print_history(which: str, *, json: bool, file: Path | None = None) -> int:
    """Print the newest runs if `which` is a number, else the run with this id prefix; return the exit code.

    Raises RequestLogError for an unreadable log or an unknown run; click.UsageError for a number below 1.
    """
    file = file or log_file()
    if not which.strip():
        raise _wrong_number()
    if not which.lstrip("+-").isdecimal() or len(which) > _MOST_DIGITS:
        _print_run(find_run(file, which), json=json)
        return 0
    if int(which) < 1:
        raise _wrong_number()
    runs = read_runs(file, int(which))
    if json:
        click.echo(json_report({"file": str(file), "runs": [run_json(run) for run in runs]}))
        return 0
    if not runs:
        say(_("No request has been logged yet ({file}).", file=file))
    for run in runs:
        click.echo(_line(run, _columns()))
    return 0


def print_statistics(*, json: bool, file: Path | None = None) -> int:
    """Print statistics of the workers; return the exit code. Raises RequestLogError for an unreadable log."""
    file = file or log_file()
    found = statistics(file)
    if json:
        click.echo(json_report({"file": str(file), **_statistics_json(found)}))
        return 0
    if not found.runs:
        say(_("No request has been logged yet ({file}).", file=file))
        return 0
    for line in _summary(found):
        click.echo(line)
    click.echo()
    for line in _table(_rows(found.workers), _columns()):
        click.echo(line)
    for line in _failures(found.workers):
        click.echo(line)
    return 0


def _wrong_number() -> click.UsageError:
    return click.UsageError(_("--history takes the number of requests to list, or the id of one."))


def run_json(run: LoggedRun) -> dict[str, Json]:
    """Convert a run to JSON."""
    fields: dict[str, Json] = msgspec.to_builtins(run)
    best = run.answers[run.best].agent if run.best is not None and run.best < len(run.answers) else None
    return {**fields, "at": _iso(run.at), "best": best, "runtime": decode_json(run.runtime, dict[str, Json])}


def _print_run(run: LoggedRun, *, json: bool) -> None:
    if json:
        click.echo(json_report(run_json(run)))
        return
    click.echo(clean(f"{run.run_id}  {_when(run.at)}  {_seconds(run.seconds)}  {_(_OUTCOMES[run.outcome])}"))
    for heading, text, length in _texts(run):
        click.echo(f"\n## {clean(heading, keep_newlines=False)}\n\n{clean(text).rstrip()}")
        if length > len(text):
            click.echo(_("[cut: the first {kept:,} of {length:,} characters]", kept=len(text), length=length))


def _texts(run: LoggedRun) -> Iterator[tuple[str, str, int]]:
    """Yield the parts of a run: heading, text and its length before truncation."""
    lengths = run.characters
    yield _("Question"), run.prompt, lengths.get("prompt", 0)
    if run.error:
        yield _("The reviewer's error"), run.error, 0
    yield _("Final answer"), run.final_answer, lengths.get("final_answer", 0)
    yield _("Review"), run.review_comment, lengths.get("review_comment", 0)
    for answer in run.answers:
        text = answer.text if not answer.error else _("Error: {error}", error=answer.error)
        yield _answer_heading(answer, run), text, 0 if answer.error else answer.characters


def _answer_heading(answer: LoggedAnswer, run: LoggedRun) -> str:
    heading = f"{answer.agent} · {answer.model} · {_seconds(answer.seconds)}"
    return f"{heading} · {_('best')}" if run.best == answer.worker else heading


def _line(run: LoggedRun, columns: int) -> str:
    answered = sum(not one.error for one in run.answers)
    head = f"{_when(run.at)}  {run.run_id[:_SHOWN_OF_ID]}  {_seconds(run.seconds):>8}  {answered}/{len(run.answers)}  "
    if run.outcome != "answered":
        head += f"({_(_OUTCOMES[run.outcome])}) "
    about = clean(" ".join(run.prompt.split()), keep_newlines=False)
    return clean(head) + shorten(about, max(_LEAST_ABOUT, columns - display_width(head)))


def _summary(found: LogStatistics) -> Iterator[str]:
    parts = [f"{_(word)} {found.outcomes[name]}" for name, word in _OUTCOMES.items() if name in found.outcomes]
    yield ngettext(
        "{count} request since {when}: {parts}",
        "{count} requests since {when}: {parts}",
        found.runs,
        when=_when(found.since or 0.0),
        parts=", ".join(parts),
    )
    if found.p50_seconds is not None and found.p95_seconds is not None:
        yield _(
            "Time of a request: 50 % within {p50}, 95 % within {p95}",
            p50=_seconds(found.p50_seconds),
            p95=_seconds(found.p95_seconds),
        )


def _rows(workers: Sequence[WorkerStatistics]) -> Iterator[tuple[str, ...]]:
    yield (
        *(_("worker"), _("model"), _("asked"), _("answered"), _("failed"), _("not waited for")),
        *(_("50 %"), _("95 %"), _("best")),
    )
    for one in workers:
        yield (
            *(clean(one.agent, keep_newlines=False), clean(one.model, keep_newlines=False)),
            *map(str, (one.asked, one.answered, one.failed, one.skipped)),
            "—" if one.p50_seconds is None else _seconds(one.p50_seconds),
            "—" if one.p95_seconds is None else _seconds(one.p95_seconds),
            f"{one.best}/{one.judged}" if one.judged else "—",
        )


def _table(rows: Iterator[tuple[str, ...]], columns: int) -> Iterator[str]:
    """Format rows as lines: two columns of text, the others numbers. Names are truncated if the lines would be too
    long."""
    cells = list(rows)
    widths = [max(display_width(row[place]) for row in cells) for place in range(len(cells[0]))]
    over = sum(widths) + 2 * (len(widths) - 1) - columns
    for place in (1, 0):
        less = max(0, min(over, widths[place] - 10))
        widths[place] -= less
        over -= less
    for row in cells:
        texts = [_padded(shorten(text, width), width) for text, width in zip(row[:2], widths, strict=False)]
        numbers = [_padded(text, -width) for text, width in zip(row[2:], widths[2:], strict=True)]
        yield "  ".join([*texts, *numbers]).rstrip()


def _padded(text: str, width: int) -> str:
    """Pad a text to so many cells, right-aligned if `width` is negative."""
    padding = " " * (abs(width) - display_width(text))
    return padding + text if width < 0 else text + padding


def _failures(workers: Sequence[WorkerStatistics]) -> Iterator[str]:
    if any(one.errors for one in workers):
        yield ""
    for one in workers:
        if one.errors:
            codes = ", ".join(f"{code} × {count}" for code, count in sorted(one.errors.items()))
            yield _("Failures of {agent}: {codes}", agent=clean(one.agent, keep_newlines=False), codes=codes)


def _statistics_json(found: LogStatistics) -> dict[str, Json]:
    return {**msgspec.to_builtins(found), "since": None if found.since is None else _iso(found.since)}


def _seconds(seconds: float) -> str:
    return _("{seconds:.1f} s", seconds=seconds)


def _when(moment: float) -> str:
    return datetime.fromtimestamp(moment, UTC).astimezone().strftime("%Y-%m-%d %H:%M")


def _iso(moment: float) -> str:
    return datetime.fromtimestamp(moment, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _columns() -> int:
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else _PIPED_COLUMNS
