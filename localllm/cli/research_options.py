"""The command line options of a research run: their limits, and their merge with the settings."""

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import click

from localllm.base.i18n import _
from localllm.research.options import PRESETS

Command = TypeVar("Command", bound=Callable[..., object])

_HOST = re.compile(r"(?=.{1,253}$)[\w-]{1,63}(\.[\w-]{1,63})+")

_SETTINGS = {
    "query": "query_count",
    "min_search": "min_search",
    "max_search": "max_search",
    "min_validation": "min_validation",
    "max_validation": "max_validation",
    "retry": "retry",
    "max_minutes": "max_minutes",
    "max_tokens": "max_run_tokens",
    "max_pages": "max_pages",
    "language": "language",
}
"""Options for a setting of `[research]`."""

SHARED = ("preset", *_SETTINGS, "sites", "exclude_sites", "docs", "collections")
"""The names of a run's options in click."""

_PAIRS = (("min_search", "max_search"), ("min_validation", "max_validation"))

OPTIONS = (
    click.option("--preset", type=click.Choice([*PRESETS]), help="How thorough: rounds of checking and queries."),
    click.option("--query", type=click.IntRange(1, 10), metavar="N", help="Number of queries made from the question."),
    click.option("--min-search", type=click.IntRange(1, 20), metavar="N", help="Minimum number of sources."),
    click.option("--max-search", type=click.IntRange(1, 50), metavar="N", help="Sources read per round."),
    click.option("--min-validation", type=click.IntRange(0, 10), metavar="N", help="Minimum rounds of checking."),
    click.option(
        "--max-validation",
        type=click.IntRange(0, 10),
        metavar="N",
        help="Maximum rounds of checking; 0 checks nothing, and the report says so.",
    ),
    click.option("--language", type=click.Choice(["ja", "en"]), help="The language of the report."),
    click.option(
        "--sites", multiple=True, metavar="HOST", help="Only pages from this host; can be given several times."
    ),
    click.option("--exclude-sites", multiple=True, metavar="HOST", help="No pages from this host."),
    click.option(
        "--docs",
        multiple=True,
        metavar="FOLDER",
        type=click.Path(path_type=Path),
        help="Search the documents in this folder as well.",
    ),
    click.option(
        "-c",
        "--collection",
        "collections",
        multiple=True,
        metavar="NAME",
        help="Search the documents of this collection (localllm rag) as well.",
    ),
    click.option(
        "--max-minutes", type=click.FloatRange(0), metavar="N", help="Minutes the run may take; 0 means no limit."
    ),
    click.option("--max-tokens", type=click.IntRange(0), metavar="N", help="Tokens the run may use; 0 means no limit."),
    click.option("--max-pages", type=click.IntRange(0), metavar="N", help="Pages it may read; 0 means no limit."),
)
"""Those also stored in a task."""


def research_options(command: Command) -> Command:
    """Add the options of a run to a command."""
    for option in reversed(OPTIONS):
        command = option(command)
    return command


def given_options(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the given ones of `OPTIONS`, by their names in ResearchOptions, validated. Raises click.UsageError."""
    given = {name: values[option] for option, name in _SETTINGS.items() if values.get(option) is not None}
    _check_pairs(given)
    for name in ("sites", "exclude_sites"):
        if hosts := [host for value in values.get(name) or () for host in _hosts(name, value)]:
            given[name] = tuple(dict.fromkeys(hosts))
    if folders := values.get("docs"):
        given["docs"] = tuple(str(folder.expanduser().absolute()) for folder in folders)
    if collections := values.get("collections"):
        given["collections"] = tuple(dict.fromkeys(collections))
    return given


def _check_pairs(given: Mapping[str, Any]) -> None:
    for least, most in _PAIRS:
        if least in given and most in given and given[most] < given[least]:
            raise click.UsageError(
                _(
                    "--{most} {high} is less than --{least} {low}: it must be at least that.",
                    most=most.replace("_", "-"),
                    least=least.replace("_", "-"),
                    high=given[most],
                    low=given[least],
                )
            )


def _hosts(name: str, value: str) -> list[str]:
    """Parse the hosts in an option, written as hosts or addresses, separated by commas."""
    hosts = [one.strip().rpartition("://")[2].partition("/")[0].lower() for one in value.split(",") if one.strip()]
    for host in hosts:
        if not _HOST.fullmatch(host):
            option = name.replace("_", "-")
            raise click.UsageError(
                _("--{option}: “{host}” is not a host. Write it as example.org.", option=option, host=host)
            )
    return hosts
