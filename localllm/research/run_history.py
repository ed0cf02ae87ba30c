"""List and delete past research runs."""

import shutil
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Literal

import msgspec

from localllm.base.errors import ResearchError, ResearchUsageError
from localllm.research.report.report_files import report_files
from localllm.research.report.report_metadata import ReportMetadata, metadata_of, read_metadata
from localllm.research.run_store import HISTORY, RUN_ID, STORE, RunLock, RunStore, run_folder
from localllm.text.bm25 import Bm25
from localllm.text.tokenising import terms


class PastRun(msgspec.Struct, frozen=True):
    """A run: finished with a report, failed, or `unfinished`; the latter two can be resumed.

    `facts`: its metadata, current if it has none yet.
    """

    id: str
    status: Literal["success", "failed", "unfinished"]
    report: Path | None
    facts: ReportMetadata


def past_runs(work: Path) -> tuple[list[PastRun], list[ResearchError]]:
    """List all runs of a work folder, newest first, with the errors of unreadable ones."""
    history = work / HISTORY
    names = [one.name for one in history.iterdir() if RUN_ID.fullmatch(one.name)] if history.is_dir() else []
    runs: list[PastRun] = []
    faults: list[ResearchError] = []
    for name in sorted(names, reverse=True):
        if not (history / name / STORE).is_file():
            continue  # reserved for a task that has not run, or was deleted
        try:
            runs.append(past_run(work, name))
        except ResearchError as error:
            faults.append(error)
    return runs, faults


def past_run(work: Path, name: str) -> PastRun:
    """Return the run `name`. Raises ResearchUsageError for an unknown one, ResearchError for an unreadable one."""
    folder = run_folder(work, name)
    files = report_files(folder)
    if files.metadata.is_file():
        with suppress(ResearchError):  # an edited file: the store has all of it
            facts = read_metadata(files.metadata)
            return PastRun(name, facts.status, files.report if files.report.is_file() else None, facts)
    with RunStore(folder) as store:
        state = store.load_state()
    if state is None:
        raise ResearchUsageError("research_no_run", id=name, folder=work / HISTORY)
    is_done = state.next == "done"
    report = files.report if files.report.is_file() else None
    return PastRun(name, "success" if is_done else "unfinished", report, metadata_of(state))


def matching(runs: Sequence[PastRun], words: str) -> list[PastRun]:
    """Return the runs whose question or title matches the words, best first."""
    by_id = {run.id: run for run in runs}
    index = Bm25({run.id: terms(f"{run.facts.title}\n{run.facts.question}") for run in runs})
    return [by_id[name] for name, _score in index.best(terms(words), len(runs))]


def delete_run(work: Path, name: str) -> None:
    """Delete a run with its report, unless it is in use. Its id is not reused.

    Raises ResearchError.
    """
    folder = run_folder(work, name)
    try:
        with RunLock(folder):
            for entry in folder.iterdir():
                if entry.is_dir() and not entry.is_symlink():
                    shutil.rmtree(entry)
                else:
                    entry.unlink()
    except OSError as error:
        reason = error.strerror or str(error)
        raise ResearchError("research_undeletable", id=name, folder=folder, reason=reason) from error
