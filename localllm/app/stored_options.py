"""Read how runs and tasks are done from their files in the work folder, which commands may have written."""

from collections.abc import Sequence
from pathlib import Path

import msgspec

from localllm.app.report_formats import stored_run
from localllm.app.research_setup import ResearchSetup
from localllm.base.errors import ResearchError, ResearchUsageError
from localllm.base.paths import projects_around
from localllm.research.options import ResearchOptions
from localllm.research.run_store import STORE, run_folder


def stored_options(setup: ResearchSetup, run: str) -> ResearchOptions:
    """How a run was begun. Raises ResearchError, also as `check_documents` does."""
    state = stored_run(setup.work_folder, run)
    try:
        options = msgspec.convert(state.options, ResearchOptions)
    except msgspec.ValidationError as error:
        file = run_folder(setup.work_folder, run) / STORE
        raise ResearchError("research_damaged", id=run, file=file, reason=str(error)) from error
    check_documents(setup, run, options.docs)
    return options


def check_documents(setup: ResearchSetup, name: str, folders: Sequence[str]) -> None:
    """Raise ResearchUsageError where the run or task `name` is to search a folder of documents that its user has not
    named, as far as that can be known: a command may write into a work folder in the project, and have any folder of
    the user's read, from wherever it is run. Believed are folders in that project, and those of the settings."""
    if not (projects := projects_around(setup.work_folder, setup.root)):
        return
    named = [_real(folder) for folder in (*projects, *setup.settings.research.docs)]
    for folder in folders:
        real = _real(folder)
        if real is None or not any(one and real.is_relative_to(one) for one in named):
            raise ResearchUsageError("research_docs_unnamed", id=name, folder=folder, work=setup.work_folder)


def _real(folder: str | Path) -> Path | None:
    """The folder with links resolved; None for what can be none."""
    try:
        return Path(folder).expanduser().resolve()
    except (OSError, RuntimeError, ValueError):  # links in a circle; a home that nobody has; a NUL
        return None
