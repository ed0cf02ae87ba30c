"""Read how runs and tasks are done from their files in the work folder, which commands may have written."""

import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import msgspec

from localllm.app.report_formats import stored_run
from localllm.app.research_setup import ResearchSetup
from localllm.base.errors import ConfigurationError, ResearchError, ResearchUsageError
from localllm.base.jsontext import decode_json
from localllm.base.paths import projects_around, state_folder
from localllm.base.project_state import change_file, name_of, newest
from localllm.base.regular_files import read_regular
from localllm.research.options import ResearchOptions
from localllm.research.run_store import STORE, run_folder

_MOST_FOLDERS = 100
_LARGEST = 10_000_000  # bytes of the file of them


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
    named: a command may write into a work folder in a project, and have any folder of the user's read, from wherever it
    is run. Believed are folders in that project, those of the settings, and those named for this work folder before."""
    if not folders or not (projects := projects_around(setup.work_folder, setup.root)):
        return
    before = _read().folders.get(_key(setup.work_folder), [])
    named = [_real(folder) for folder in (*projects, *setup.settings.research.docs, *before)]
    for folder in folders:
        real = _real(folder)
        if real is None or not any(one and real.is_relative_to(one) for one in named):
            raise ResearchUsageError("research_docs_unnamed", id=name, folder=folder, work=setup.work_folder)


def remember_documents(setup: ResearchSetup, folders: Sequence[str]) -> None:
    """Keep in mind that the user has named these folders of documents for what is in this work folder. Where that
    cannot be kept, he is asked to name them again."""
    real = [str(one) for folder in folders if (one := _real(folder))]
    if not real or not projects_around(setup.work_folder, setup.root):
        return

    def put(named: _Named) -> None:
        before = named.folders.pop(_key(setup.work_folder), [])
        named.folders[_key(setup.work_folder)] = list(dict.fromkeys([*before, *real]))[-_MOST_FOLDERS:]
        named.folders = newest(named.folders)

    with suppress(ConfigurationError):
        change_file(_file(), _read, put)


class _Named(msgspec.Struct):
    """The file: work folders → the folders of documents that were named for them. The newest come last."""

    folders: dict[str, list[str]] = {}


def _file() -> Path:
    return state_folder() / "documents.json"


def _read() -> _Named:
    try:
        return decode_json(read_regular(_file(), _LARGEST), _Named)
    except (OSError, msgspec.DecodeError):
        return _Named()


def _key(work: Path) -> str:
    return name_of(Path(os.path.realpath(work)))


def _real(folder: str | Path) -> Path | None:
    """The folder with links resolved; None for what can be none."""
    try:
        return Path(folder).expanduser().resolve()
    except (OSError, RuntimeError, ValueError):  # links in a circle; a home that nobody has; a NUL
        return None
