"""Reports of past runs, rendered anew in the formats they can be had in."""

from pathlib import Path

import msgspec

from localllm.base.errors import ResearchUsageError
from localllm.research.options import ResearchOptions
from localllm.research.records import ResearchState
from localllm.research.report import build_report
from localllm.research.report_files import FORMATS, Format, render, report_files
from localllm.research.run_store import HISTORY, RunStore, run_folder

__all__ = ["FORMATS", "Format", "rendered", "report_file", "stored_options", "stored_run"]


def report_file(work: Path, run: str) -> Path:
    """Where the report of a run is, in Markdown, there or not."""
    return report_files(work / HISTORY / run).report


def stored_run(work: Path, run: str) -> ResearchState:
    """A run as it was saved last. Raises ResearchError."""
    with RunStore(run_folder(work, run)) as store:
        state = store.load_state()
    if state is None:
        raise ResearchUsageError("research_no_run", id=run, folder=work / HISTORY)
    return state


def stored_options(work: Path, run: str) -> ResearchOptions:
    """How a run was begun. Raises ResearchError."""
    return msgspec.convert(stored_run(work, run).options, ResearchOptions)


async def rendered(work: Path, run: str, form: Format) -> bytes:
    """The report of a run. Raises ResearchError; ResearchUsageError where it is not finished."""
    state = stored_run(work, run)
    if state.next != "done":
        raise ResearchUsageError("research_unfinished", id=run)
    return render(build_report(state), form).encode()
