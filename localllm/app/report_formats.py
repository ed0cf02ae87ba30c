"""Render the reports of past runs in an export format."""

from pathlib import Path
from typing import Literal, get_args

from localllm.base.errors import ResearchUsageError
from localllm.research.records import ResearchState
from localllm.research.report.report import build_report
from localllm.research.report.report_files import render, report_files
from localllm.research.run_store import HISTORY, RunStore, run_folder

Format = Literal["md", "html", "json", "pdf"]
FORMATS: tuple[Format, ...] = get_args(Format)


def report_file(work: Path, run: str) -> Path:
    """Return the path of a run's Markdown report, which need not exist."""
    return report_files(work / HISTORY / run).report


def stored_run(work: Path, run: str) -> ResearchState:
    """Load a run's last saved state. Raises ResearchError."""
    with RunStore(run_folder(work, run)) as store:
        state = store.load_state()
    if state is None:
        raise ResearchUsageError("research_no_run", id=run, folder=work / HISTORY)
    return state


def check_format(form: Format) -> None:
    """Check that a format is available on this machine. Raises BrowserError for PDF without a browser."""
    if form == "pdf":
        from localllm.web.browser.chromium import require_chromium

        require_chromium()


async def rendered(work: Path, run: str, form: Format) -> bytes:
    """Render the report of a run. Raises ResearchError; ResearchUsageError if it is not finished, BrowserError."""
    state = stored_run(work, run)
    if state.next != "done":
        raise ResearchUsageError("research_unfinished", id=run)
    report = build_report(state)
    if form != "pdf":
        return render(report, form).encode("utf-8", "replace")
    from localllm.web.browser.pdf_export import print_pdf

    return await print_pdf(render(report, "html"), f"report-{run}.pdf")
