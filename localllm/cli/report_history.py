"""Research reports in `localllm history`."""

import sys
from datetime import datetime
from pathlib import Path

from localllm.app.report_formats import Format, rendered
from localllm.base.errors import ResearchUsageError
from localllm.base.events import Json
from localllm.base.i18n import N_, _
from localllm.cli.interruption import finish
from localllm.cli.settings import print_error
from localllm.research.run_history import PastRun, matching, past_runs
from localllm.research.run_store import RUN_ID
from localllm.text.sanitising import clean, shorten

_ABOUT = 60  # cells
_STATES = {
    "success": N_("report"),
    "partial": N_("partial report"),
    "failed": N_("failed"),
    "unfinished": N_("unfinished"),
}


def is_report(name: str) -> bool:
    """Whether a name is the id of a run, not of a session."""
    return bool(RUN_ID.fullmatch(name))


def reports(work: Path, words: str) -> list[PastRun]:
    """List the runs, newest first; with words, the matching ones. Errors of others are printed."""
    runs, faults = past_runs(work)
    for fault in faults:
        print_error(fault)
    return matching(runs, words) if words else runs


def report_line(run: PastRun) -> str:
    """Format a run in a line."""
    about = shorten(clean(run.facts.title or run.facts.question, keep_newlines=False), _ABOUT)
    return f"{run.id}  {when(run.facts.finish_at or run.facts.start_at)}  {about}  ({_(_STATES[_state(run)])})"


def report_json(run: PastRun) -> dict[str, Json]:
    """Convert a run to JSON."""
    facts = run.facts
    return {
        "id": run.id,
        "task": facts.task_id if facts.task_id != run.id else None,
        "status": run.status,
        "partial": facts.partial,
        "title": facts.title,
        "question": facts.question,
        "language": facts.language,
        "model": facts.model,
        "began": facts.start_at,
        "finished": facts.finish_at,
        "seconds": facts.seconds,
        "loops": facts.loops,
        "sources": facts.sources,
        "tokens": facts.tokens,
        "error": facts.error,
        "report": run.report and str(run.report),
        "resume": f"localllm research --resume {run.id}" if run.status != "success" else None,
    }


def check_terminal(form: Format) -> None:
    """Check that a report can be printed to standard output. Raises ResearchUsageError."""
    if form == "pdf" and sys.stdout.isatty():
        raise ResearchUsageError("report_pdf_on_terminal")


def report_content(work: Path, run: str, form: Format) -> bytes:
    """Return the report of a run. Raises LocalLLMError."""
    return finish(lambda: rendered(work, run, form))


def _state(run: PastRun) -> str:
    return "partial" if run.status == "success" and run.facts.partial else run.status


def when(moment: str) -> str:
    """Format a log's time for a list."""
    try:
        return datetime.fromisoformat(moment).astimezone().strftime("%Y-%m-%d %H:%M")
    except ValueError:
        return f"{'—':<16}"
