"""`localllm market`: a market scan of Japan and abroad, with sourced insights."""

import os
import sys
from pathlib import Path
from typing import Any, NamedTuple

import click

from localllm.app.market_setup import open_broad_researcher
from localllm.app.research_log import log_event
from localllm.app.research_setup import ResearchSetup
from localllm.base import logs
from localllm.base.errors import ConfigurationError, LocalLLMError, ResearchUsageError
from localllm.base.i18n import Phrase, _
from localllm.base.jsontext import decode_json, encode_json
from localllm.cli.interruption import InterruptedRun, finish
from localllm.cli.main import EXIT_INTERRUPTED, is_piped, read_whole
from localllm.cli.report_output import write_bytes
from localllm.cli.research_run import EXIT_PARTIAL
from localllm.cli.research_settings import setup_here
from localllm.cli.settings import print_error, say
from localllm.research.market.broad_researcher import check_input
from localllm.research.market.market_records import Constraints, MarketResult, ResearcherInput
from localllm.research.market.market_report import FORMATS, Format, render
from localllm.research.options import ResearchOptions, options_for
from localllm.research.run_events import ResearchEvent
from localllm.sessions.export import write_new
from localllm.text.sanitising import clean, escape_json
from localllm.tui.headless import OutputFormat
from localllm.tui.render.market_progress import MarketProgress
from localllm.tui.render.screen import Screen
from localllm.tui.theme import choose_theme


@click.command()
@click.argument("words", nargs=-1, metavar="[THEME]")
@click.option("--regions", metavar="LIST", help="jp, global, or both separated by a comma.  [default: jp,global]")
@click.option("--max-results", type=int, metavar="N", help="Results per search, 1 to 100.")
@click.option("--pages", type=int, metavar="N", help="Pages read for each purpose, 0 to 10; 0: result lists only.")
@click.option("--language", type=click.Choice(["ja", "en"]), help="The language of the report.")
@click.option("--api", metavar="URL", help="The address of the model's server.")
@click.option("--model", metavar="NAME", help="The model to use; by default the one in the settings.")
@click.option("--no-cache", is_flag=True, help="Search again, even for what was searched for recently.")
@click.option("--format", "format_", type=click.Choice(FORMATS), help="The report's format.  [default: md]")
@click.option("--export", metavar="FILE", type=click.Path(path_type=Path), help="Also write the report into FILE.")
@click.option("--force", is_flag=True, help="With --export: overwrite an existing file.")
@click.option(
    "--output",
    type=click.Choice(["text", "json", "stream-json"]),
    default="text",
    help="Standard output: the report, one JSON object, or each event as a JSON line.",
)
@click.option(
    "--work-dir", metavar="DIR", type=click.Path(path_type=Path), help="The folder of reports, tasks and logs."
)
@click.pass_context
def market(context: click.Context, words: tuple[str, ...], **values: Any) -> int:
    """Scan the market of THEME: its size, competitors, trends, rules and needs in Japan; startups, technology and best
    practices abroad, and which of those could be applied in Japan.

    Running it allows the searches and pages of this scan. Each insight is checked against the sentence it comes from.
    """
    theme = " ".join(words) or (read_whole(sys.stdin).strip() if is_piped(sys.stdin) else "")
    asked = ResearcherInput(theme=theme, constraints=_constraints(values))
    check_input(asked)
    if values["force"] and values["export"] is None:
        raise click.UsageError(_("--force needs --export."))
    setup = setup_here(context, values)
    output = _Output(values["output"], _format(values["format_"], values["export"]), values["export"], values["force"])
    output.check()
    given: dict[str, Any] = {"use_cache": not values["no_cache"]}
    if values["language"]:
        given["language"] = values["language"]
    return _scan(setup, options_for(setup.settings.research, **given), asked, output)


class _Output(NamedTuple):
    """The destination of the result."""

    output: OutputFormat
    format: Format
    export: Path | None
    force: bool

    def check(self) -> None:
        """Check before a scan that its report can be written. Raises LocalLLMError."""
        if self.export is None:
            return
        target = self.export.expanduser().absolute()
        reason = Phrase("It is a folder") if target.is_dir() else None
        if not os.access(target.parent, os.W_OK | os.X_OK):
            reason = Phrase("{folder} is not writable", folder=target.parent)
        if reason is not None:
            raise ConfigurationError("session_unwritable", file=self.export, reason=reason)
        if target.exists() and not self.force:
            raise ResearchUsageError("research_export_exists", file=self.export)

    def deliver(self, root: Path, result: MarketResult) -> None:
        """Write the result to its destination. Raises LocalLLMError."""
        content = render(result, self.format).encode("utf-8", "replace")
        if self.output == "json":
            self.write(render(result, "json"))
        elif self.output == "stream-json":
            self.write_line({"type": "MarketResult", **decode_json(encode_json(result), dict[str, Any])})
        elif result.success:
            write_bytes(content)
        if self.export is not None and result.success:
            write_new(root, self.export.expanduser(), content, overwrite=self.force)
            say(_("Exported: {file}", file=self.export))

    def write(self, text: str) -> None:
        """Write to standard output."""
        sys.stdout.write(escape_json(text))
        sys.stdout.flush()

    def write_line(self, whole: object) -> None:
        """Write one JSON object on a line."""
        self.write(encode_json(whole).decode() + "\n")


class _Display:
    """Show the progress of a scan: on standard error, if it is a terminal; with `stream-json` each event as a line."""

    def __init__(self, output: _Output) -> None:
        self._output = output
        screen = Screen(sys.stderr, choose_theme(sys.stderr))
        self._progress = MarketProgress(screen) if sys.stderr.isatty() else None
        self.run = ""

    def handle(self, event: ResearchEvent) -> None:
        """Show an event, and log it."""
        self.run = event.run
        log_event(event)
        if self._output.output == "stream-json":
            self._output.write_line(event)
        if self._progress is not None:
            self._progress.handle(event)


def _scan(setup: ResearchSetup, options: ResearchOptions, asked: ResearcherInput, output: _Output) -> int:
    """Run the scan and write its result; return the exit code."""
    display = _Display(output)

    async def work() -> tuple[MarketResult, LocalLLMError | None]:
        async with open_broad_researcher(setup, options, display.handle) as researcher:
            return await researcher.execute(asked), researcher.failure

    try:
        result, failure = finish(work)
    except (InterruptedRun, KeyboardInterrupt) as stopped:
        say(_("Stopped. What was done is in your history: localllm history show {id}", id=display.run or "—"))
        return stopped.exit_code if isinstance(stopped, InterruptedRun) else EXIT_INTERRUPTED
    except LocalLLMError as error:
        logs.of("RUN").error("no scan %s %s", error.code, error.english)
        raise
    output.deliver(setup.root, result)
    if failure is not None:
        logs.of("RUN").error("%s %s %s", result.execution_id, failure.code, failure.english)
        print_error(failure)
        return failure.exit_code
    say(_ended(result))
    return EXIT_PARTIAL if result.partial else 0


def _ended(result: MarketResult) -> str:
    """Summarise in a line how a scan ended."""
    findings = result.data.findings if result.data else ()
    return clean(
        _(
            "{state}. Insights supported: {good} of {count}; pages read: {pages}. Saved: localllm history show {id}",
            state=_("Partial report") if result.partial else _("Done"),
            good=sum(one.supported for one in findings),
            count=len(findings),
            pages=result.metrics.pages_read,
            id=result.execution_id,
        )
    )


def _constraints(values: dict[str, Any]) -> Constraints:
    given: dict[str, Any] = {"max_results": values["max_results"], "pages": values["pages"]}
    if values["regions"] is not None:
        regions = [one.strip().lower() for one in values["regions"].split(",")]
        given["regions"] = tuple(dict.fromkeys(regions))
    return Constraints(**given)


def _format(given: Format | None, export: Path | None) -> Format:
    """Return the report's format: as given, else by the file name, else Markdown."""
    if given is not None:
        return given
    match export.suffix.lower() if export is not None else "":
        case ".html" | ".htm":
            return "html"
        case ".json":
            return "json"
        case _:
            return "md"
