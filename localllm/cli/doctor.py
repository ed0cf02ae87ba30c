"""`localllm doctor`: find problems of the installation, with fixes."""

import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import click

from localllm import __version__
from localllm.base.errors import ConfigurationError
from localllm.base.i18n import N_, _, set_language
from localllm.base.paths import find_project
from localllm.cli.interruption import finish
from localllm.cli.settings import load_here
from localllm.config.loader import Loaded
from localllm.config.schema import Settings
from localllm.integrations.doctor.checks import examine
from localllm.integrations.doctor.inputs import STATUSES, Finding, Status, Surroundings, look_around
from localllm.text.sanitising import clean, display_width, json_report
from localllm.text.wrapping import wrap
from localllm.tui.theme import Style, Theme, choose_theme

_STATUSES = {
    "problem": N_("problem"),
    "warning": N_("warning"),
    "note": N_("info"),
    "ok": N_("ok"),
}

_STYLES: dict[Status, Style] = {"problem": "error", "warning": "warning", "note": "accent", "ok": "good"}
_LEAST_TEXT = 30  # cells; with less room beside the columns, the text is below them


@click.command()
@click.option("--json", "json", is_flag=True, help="Print one JSON object.")
@click.pass_context
def doctor(context: click.Context, json: bool) -> int:
    """Find problems, and say how to fix them.

    Checks the settings, model servers, sandbox, git, terminal and folders, as a chat started here would find them.
    Changes nothing. The exit code is 1 if there is a problem.
    """
    here = _surroundings(context)
    if not _can_show("日本語"):
        set_language("en")  # instead of a row of question marks
    findings = finish(lambda: examine(here))
    if json:
        click.echo(as_json(findings))
    else:
        _print(listing(findings, here.project, here.screen.columns, choose_theme(sys.stdout)))
    return int(any(finding.status == "problem" for finding in findings))


def _surroundings(context: click.Context) -> Surroundings:
    """Return the surroundings with the settings, or with the defaults if these cannot be loaded."""
    try:
        project, loaded = load_here(context)
        return look_around(project, loaded, os.environ, None)
    except ConfigurationError as error:
        return look_around(find_project(Path.cwd()), Loaded(settings=Settings()), os.environ, error)


def _can_show(text: str) -> bool:
    try:
        text.encode(sys.stdout.encoding or "ascii")
    except UnicodeEncodeError:
        return False
    return True


def _print(lines: Iterator[str]) -> None:
    """Print the lines with unencodable characters replaced: this command must not fail."""
    encoding = sys.stdout.encoding or "ascii"
    for line in lines:
        click.echo(line.encode(encoding, "replace").decode(encoding))


def as_json(findings: Sequence[Finding]) -> str:
    """Format all findings as a JSON object: `ok` is false if there is a problem."""
    whole = {
        "version": __version__,
        "ok": all(finding.status != "problem" for finding in findings),
        "findings": findings,
    }
    return json_report(whole)


def listing(findings: Sequence[Finding], project: Path, width: int, theme: Theme) -> Iterator[str]:
    """List the findings, each with its fix below it, and their number; no line is wider than `width`."""
    yield from wrap(clean(_("localllm {version} in {project}", version=__version__, project=project)), width)
    yield ""
    labels = {status: _(_STATUSES[status]) for status in STATUSES}
    status_column = max(map(display_width, labels.values())) + 2
    name_column = max((display_width(finding.name) for finding in findings), default=0) + 2
    for finding in findings:
        label = labels[finding.status]
        head = theme.paint(_STYLES[finding.status], label) + " " * (status_column - display_width(label))
        yield from _rows(head, status_column, finding, name_column, width)
    yield ""
    yield from wrap(_summary(findings), width)


def _rows(head: str, status_column: int, finding: Finding, name_column: int, width: int) -> Iterator[str]:
    head += finding.name.ljust(name_column)
    indent = status_column + name_column
    if width - indent < _LEAST_TEXT:
        yield head.rstrip()
        head, indent = "  ", 2
    first, *rest = _text(finding, width - indent)
    yield head + first
    for line in rest:
        yield " " * indent + line


def _text(finding: Finding, room: int) -> Iterator[str]:
    yield from wrap(clean(finding.what), room)
    if finding.fix:
        first, *rest = wrap(clean(finding.fix), room - 2)
        yield f"→ {first}"
        yield from (f"  {line}" for line in rest)


def _summary(findings: Sequence[Finding]) -> str:
    problems = sum(finding.status == "problem" for finding in findings)
    warnings = sum(finding.status == "warning" for finding in findings)
    if not problems and not warnings:
        return _("Everything is as it should be.")
    return _(
        "Problems: {problems}, warnings: {warnings}. The fix for each follows its →.",
        problems=problems,
        warnings=warnings,
    )
