"""Write a finished report to its destination: a user's file, standard output, a JSON object."""

import os
import sys
from pathlib import Path

import msgspec

from localllm.app.report_formats import FORMATS, Format, check_format, rendered, report_file
from localllm.app.research_setup import ResearchSetup
from localllm.base.errors import ConfigurationError, LocalLLMError, ResearchUsageError
from localllm.base.events import Json
from localllm.base.i18n import Phrase, _
from localllm.base.jsontext import encode_json
from localllm.cli.settings import say
from localllm.research.records import ResearchState
from localllm.sessions.export import write_new
from localllm.text.sanitising import clean, escape_json, json_report
from localllm.tui.headless import OutputFormat


class ReportOutput(msgspec.Struct, frozen=True, kw_only=True):
    """The destination of a report.

    output: the format of standard output. prints: whether the report is printed, if standard output is text. format: of
    the report; None means by the extension of `export`, else Markdown. export: a user's file for it; with `force` an
    existing one is overwritten.
    """

    output: OutputFormat = "text"
    prints: bool = False
    format: Format | None = None
    export: Path | None = None
    force: bool = False

    def check(self) -> None:
        """Check before a run that its report can be written. Raises LocalLLMError."""
        check_format(self._format)
        if self._format == "pdf" and self.prints and sys.stdout.isatty():
            raise ResearchUsageError("report_pdf_on_terminal")
        if self.export is None:
            return
        target = self.export.expanduser().absolute()
        if target.is_dir():
            raise ConfigurationError("session_unwritable", file=self.export, reason=Phrase("It is a folder"))
        if not os.access(target.parent, os.W_OK | os.X_OK):
            raise ConfigurationError(
                "session_unwritable",
                file=self.export,
                reason=Phrase("{folder} is not writable", folder=target.parent),
            )
        if target.exists() and not self.force:
            raise ResearchUsageError("research_export_exists", file=self.export)

    async def deliver(self, setup: ResearchSetup, state: ResearchState) -> LocalLLMError | None:
        """Write the report to its destination; return the error if that failed, since the report is in the history."""
        report = report_file(setup.work_folder, state.id)
        if self.output == "text":
            say(ended_line(state))
            say(_("Report: {file}", file=report))
        error = None
        try:
            await self._write(setup, state)
        except LocalLLMError as failed:
            error = failed
        if self.output != "text":
            whole = summary(state, report, None if error else self.export)
            self.print_json({"type": "Report", **whole, "error": error and _told(error)})
        return error

    async def _write(self, setup: ResearchSetup, state: ResearchState) -> None:
        prints = self.prints and self.output == "text"
        if not prints and self.export is None:
            return
        content = await rendered(setup.work_folder, state.id, self._format)
        if self.export is not None:
            write_new(setup.root, self.export.expanduser(), content, overwrite=self.force)
            say(_("Exported: {file}", file=self.export))
        if prints:
            write_bytes(content)

    def tell_failure(self, error: LocalLLMError | None, run: str) -> None:
        """Report a missing report to readers of JSON; `error` is None if the user stopped the run."""
        if self.output == "text":
            return
        told = error and _told(error)
        resume = f"localllm research --resume {run}" if run else None
        status = "interrupted" if error is None else "failed"
        whole = {"success": False, "status": status, "id": run or None, "error": told, "resume": resume}
        self.print_json({"type": "Report", **whole})

    def print_json(self, whole: dict[str, Json]) -> None:
        """Print one JSON object, on a line of its own for readers of events."""
        if self.output == "json":
            whole.pop("type", None)
            sys.stdout.write(json_report(whole) + "\n")
        else:
            sys.stdout.write(escape_json(encode_json(whole).decode()) + "\n")
        sys.stdout.flush()

    @property
    def _format(self) -> Format:
        ending = self.export.suffix.lower().lstrip(".") if self.export is not None else ""
        named = {"markdown": "md", "htm": "html"}.get(ending, ending)
        return self.format or (named if named in FORMATS else "md")


def _told(error: LocalLLMError) -> dict[str, Json]:
    return {"code": error.code, "what": error.what, "why": error.why, "fix": error.fix}


def write_bytes(content: bytes) -> None:
    """Write a report to standard output; for a terminal, control characters are removed."""
    if sys.stdout.isatty():
        sys.stdout.write(clean(content.decode("utf-8", "replace")))
        sys.stdout.flush()
        return
    sys.stdout.flush()
    sys.stdout.buffer.write(content)
    sys.stdout.buffer.flush()


def summary(state: ResearchState, report: Path, exported: Path | None) -> dict[str, Json]:
    """Summarise a run as a JSON object."""
    numbers = state.numbers
    labels = [claim.verdict.label if claim.verdict else "not_verified" for claim in state.claims]
    return {
        "success": True,
        "status": "success",
        "partial": state.partial,
        "id": state.id,
        "question": state.question,
        "title": state.title,
        "language": state.language,
        "model": state.model,
        "report": str(report),
        "exported": exported and str(exported),
        "loops": numbers.loops,
        "sources": _sources(state),
        "claims": {label: labels.count(label) for label in sorted(set(labels))},
        "searches": numbers.searches,
        "cache_hits": numbers.cache_hits,
        "pages": numbers.pages,
        "requests": numbers.requests,
        "tokens": numbers.tokens,
        "seconds": round(numbers.seconds, 3),
        "unanswered": list(state.unanswered),
        "error": None,
        "resume": None,
    }


def ended_line(state: ResearchState) -> str:
    """Summarise in a line how a run ended."""
    said = _(
        "{state}. Sources read: {sources}; supported claims in the report: {good} of {claims}; "
        "rounds of checking: {loops}.",
        state=_("Partial report") if state.partial else _("Done"),
        claims=len(state.claims),
        good=sum(claim.verdict is not None and claim.verdict.label == "supported" for claim in state.claims),
        sources=_sources(state),
        loops=state.numbers.loops,
    )
    return clean(said)


def _sources(state: ResearchState) -> int:
    return sum(source.state == "read" for source in state.sources)
