"""`localllm doctor`: find problems of the installation, with fixes."""

import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import click

from localllm import __version__
from localllm.base.errors import ConfigurationError
from localllm.base.i18n import set_language
from localllm.base.paths import find_project
from localllm.cli.interruption import finish
from localllm.cli.settings import load_here
from localllm.config.loader import Loaded
from localllm.config.schema import Settings
from localllm.integrations.doctor.checks import examine
from localllm.integrations.doctor.inputs import Finding, Surroundings, look_around
from localllm.text.sanitising import json_report
from localllm.tui.render.doctor_report import report_lines
from localllm.tui.theme import Theme, choose_theme


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
    """List the findings with the terminal codes of `theme`; no line is wider than `width`."""
    for line in report_lines(findings, project, width):
        yield "".join(theme.paint(style, text) for style, text in line)
