"""Show an ingest: its progress, and what it did."""

import sys
from collections.abc import Generator, Sequence
from contextlib import contextmanager

import click
import msgspec

from localllm.base.events import Json
from localllm.base.i18n import _, ngettext
from localllm.cli.settings import say
from localllm.rag.records import FileRecord, IngestEvent, IngestReport, OnEvent
from localllm.text.sanitising import clean, json_report, shorten

_MOST_SKIPPED = 20
"""Skipped files listed; `localllm rag show NAME` lists all."""


@contextmanager
def ingest_progress() -> Generator[OnEvent]:
    """Show a progress bar during an ingest, if standard error is a terminal."""
    if not sys.stderr.isatty():
        yield _say_who_waits
        return
    from rich.console import Console
    from rich.markup import escape
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TextColumn("{task.description}"))
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(_("looking for files"), total=None)

        def on_event(event: IngestEvent) -> None:
            _say_who_waits(event)
            name = escape(shorten(clean(event.file, keep_newlines=False), max(20, bar.console.width - 45)))
            bar.update(task, total=event.total or None, completed=event.done, description=name)

        yield on_event


def _say_who_waits(event: IngestEvent) -> None:
    if event.kind == "waiting":
        say(_("Waiting: {who} has locked the collection.", who=event.detail))
    elif event.kind == "resumed":
        say(_("Resuming an interrupted ingest."))


def print_ingest_report(report: IngestReport, *, json: bool) -> None:
    """Print what an ingest did, and the files it skipped."""
    for remark in report.remarks:
        say(str(remark))
    if json:
        fields: dict[str, Json] = {
            "collection": msgspec.to_builtins(report.collection),
            "indexed": report.indexed,
            "unchanged": report.unchanged,
            "removed": report.removed,
            "chunks": report.chunks,
            "skipped": [{**msgspec.to_builtins(one), "why": str(one.why)} for one in report.skipped],
        }
        click.echo(json_report(fields))
        return
    click.echo(
        _(
            "{name}: {indexed} indexed (passages: {chunks}), {unchanged} unchanged, {removed} gone, {skipped} skipped",
            name=report.collection.name,
            indexed=f"{report.indexed:,}",
            chunks=f"{report.chunks:,}",
            unchanged=f"{report.unchanged:,}",
            removed=f"{report.removed:,}",
            skipped=f"{len(report.skipped):,}",
        )
    )
    telling = [one for one in report.skipped if one.reason != "empty"]
    print_skipped(telling, most=_MOST_SKIPPED, name=report.collection.name)
    if empty := len(report.skipped) - len(telling):
        said = ngettext("  skipped {count} file without any text", "  skipped {count} files without any text", empty)
        click.echo(said)
    if not report.collection.files:
        say(_("The collection is empty: there was nothing to take in."))
    if report.collection.description and report.chunks:
        click.echo(f"  {clean(report.collection.description, keep_newlines=False)}")


def print_skipped(skipped: Sequence[FileRecord], *, most: int, name: str = "") -> None:
    """Print the files a collection skipped, and why; from `most` on only their number."""
    for one in skipped[:most]:
        click.echo(clean(_("  skipped {file}: {why}", file=one.file, why=one.why or ""), keep_newlines=False))
    if len(skipped) > most:
        click.echo(_("  and {count} more: localllm rag show {name}", count=len(skipped) - most, name=name))
