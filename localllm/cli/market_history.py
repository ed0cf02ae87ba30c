"""Market scans in `localllm history`."""

from pathlib import Path

from localllm.app.report_formats import Format
from localllm.base.errors import ResearchError
from localllm.base.events import Json
from localllm.base.i18n import N_, _
from localllm.cli.interruption import finish
from localllm.cli.report_history import when
from localllm.cli.settings import print_error
from localllm.research.market.agent_log import EXECUTION_ID, AgentLog, matching
from localllm.research.market.market_records import MarketResult
from localllm.research.market.market_report import render
from localllm.text.sanitising import clean, shorten

_ABOUT = 60  # cells


def is_scan(name: str) -> bool:
    """Whether a name is the id of a market scan."""
    return bool(EXECUTION_ID.fullmatch(name))


def scans(work: Path, words: str) -> list[MarketResult]:
    """List the scans, newest first; with words, the matching ones. Errors of the log are printed."""
    try:
        found = AgentLog(work).all()
    except ResearchError as error:
        print_error(error)
        return []
    return matching(found, words) if words else found


def scan_line(scan: MarketResult) -> str:
    """Format a scan in a line."""
    about = shorten(clean(scan.theme, keep_newlines=False), _ABOUT)
    return f"{scan.execution_id}  {when(scan.started_at)}  {about}  ({_(_state(scan))})"


def scan_json(scan: MarketResult) -> dict[str, Json]:
    """Convert a scan to JSON."""
    return {
        "id": scan.execution_id,
        "session": scan.session_id,
        "theme": scan.theme,
        "success": scan.success,
        "partial": scan.partial,
        "language": scan.data.language if scan.data else None,
        "model": scan.data.model if scan.data else None,
        "began": scan.started_at,
        "finished": scan.finished_at,
        "seconds": scan.metrics.execution_time / 1_000,
        "tokens": scan.metrics.tokens_used,
        "insights": len(scan.data.findings) if scan.data else 0,
        "error": scan.error.what if scan.error else None,
    }


def scan_content(work: Path, name: str, form: Format) -> bytes:
    """Return the report of a scan. Raises ResearchUsageError if there is none, BrowserError for a PDF."""
    scan = AgentLog(work).find(name)
    if form != "pdf":
        return render(scan, form).encode("utf-8", "replace")
    from localllm.app.report_formats import check_format
    from localllm.web.browser.pdf_export import print_pdf

    check_format(form)
    return finish(lambda: print_pdf(render(scan, "html"), f"{name}.pdf"))


def _state(scan: MarketResult) -> str:
    if not scan.success:
        return N_("failed")
    return N_("partial report") if scan.partial else N_("market scan")
