"""The part of `localllm history` that is about reports of research."""

import asyncio
import sys
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

from localllm.app.report_formats import Format, rendered
from localllm.base.errors import ResearchError, ResearchUsageError
from localllm.base.events import Json
from localllm.base.i18n import N_, _
from localllm.cli.settings import print_error
from localllm.research.run_history import PastRun, delete_run, matching, past_runs
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
    """Whether a name is that of a run, not of a session."""
    return bool(RUN_ID.fullmatch(name))


def reports(work: Path, words: str) -> list[PastRun]:
    """The runs, the newest first; with words, those they fit. What is wrong with others is said."""
    runs, faults = past_runs(work)
    for fault in faults:
        print_error(fault)
    return matching(runs, words) if words else runs


def report_line(run: PastRun) -> str:
    """A run in a line."""
    about = shorten(clean(run.facts.title or run.facts.question, keep_newlines=False), _ABOUT)
    return f"{run.id}  {when(run.facts.finish_at or run.facts.start_at)}  {about}  ({_(_STATES[_state(run)])})"


def report_json(run: PastRun) -> dict[str, Json]:
    """A run as JSON."""
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
    """See whether a report can be printed where standard output goes. Raises ResearchUsageError."""
    if form == "pdf" and sys.stdout.isatty():
        raise ResearchUsageError("report_pdf_on_terminal")


def report_content(work: Path, run: str, form: Format) -> bytes:
    """The report of a run. Raises LocalLLMError."""
    return asyncio.run(rendered(work, run, form))


def delete_reports(work: Path, names: Sequence[str]) -> int:
    """Delete runs; how many were. What is wrong with the others is said."""
    deleted = 0
    for name in names:
        try:
            delete_run(work, name)
        except ResearchError as error:
            print_error(error)
        else:
            deleted += 1
    return deleted


def _state(run: PastRun) -> str:
    return "partial" if run.status == "success" and run.facts.partial else run.status


def when(moment: str) -> str:
    """A moment of a log as it is listed."""
    try:
        return datetime.fromisoformat(moment).astimezone().strftime("%Y-%m-%d %H:%M")
    except ValueError:
        return f"{'—':<16}"
