"""Load the options of runs and tasks from the work folder, whose files commands may have written."""

import hashlib
import os
import shlex
import unicodedata
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
from localllm.config.editor import write_value
from localllm.research.options import ResearchOptions
from localllm.research.run_store import STORE, run_folder
from localllm.research.tasks import Task

_MOST_NAMED = 100  # of a kind, per work folder
_MOST_TASKS = 1_000  # per work folder
_LARGEST = 10_000_000  # bytes of the file


def stored_options(setup: ResearchSetup, run: str) -> ResearchOptions:
    """Return the options of a stored run. Raises ResearchError, also as `check_named`."""
    state = stored_run(setup.work_folder, run)
    try:
        options = msgspec.convert(state.options, ResearchOptions)
    except msgspec.ValidationError as error:
        file = run_folder(setup.work_folder, run) / STORE
        raise ResearchError("research_damaged", id=run, file=file, reason=str(error)) from error
    check_named(setup, run, docs=options.docs, collections=options.collections)
    return options


def check_named(setup: ResearchSetup, name: str, *, docs: Sequence[str] = (), collections: Sequence[str] = ()) -> None:
    """Raise ResearchUsageError if the run or task `name` would search a folder of documents or a collection its user
    has not named: a command could write to a work folder in a project, and have any of the user's documents read.
    Trusted are folders in that project (of several around it the innermost: commands of that one see no more), folders
    and collections in the settings, and those named for this work folder before."""
    if not (docs or collections) or not (projects := projects_around(setup.work_folder, setup.root)):
        return
    settings, before, work = setup.settings.research, _read(), setup.work_folder
    inner = _innermost(work, projects)
    named = [_real(folder) for folder in (*inner, *settings.docs, *before.folders.get(_key(work), []))]
    for folder in docs:
        real = _real(folder)
        if real is None or not any(one and real.is_relative_to(one) for one in named):
            listed = shlex.quote(write_value((*settings.docs, folder)))
            raise ResearchUsageError("research_docs_unnamed", id=name, folder=folder, work=work, listed=listed)
    known = {_composed(one) for one in (*settings.collections, *before.collections.get(_key(work), []))}
    for collection in collections:
        if _composed(collection) not in known:
            listed = shlex.quote(write_value((*settings.collections, collection)))
            raise ResearchUsageError("research_collection_unnamed", id=name, name=collection, work=work, listed=listed)


def _innermost(work: Path, projects: Sequence[Path]) -> list[Path]:
    """Return the project nearest to the work folder. If its path leads through links, commands of two projects may
    decide what is there: then the one that lies in the other, if any does."""
    places = Path(os.path.abspath(work)), Path(os.path.realpath(work))  # noqa: PTH100 - Path.absolute keeps ".."
    around = [[each for each in projects if place.is_relative_to(each)] for place in places]
    nearest = [max(found, key=lambda each: len(each.parts)).resolve() for found in around if found]
    return [each for each in nearest if all(each.is_relative_to(other) for other in nearest)]


def remember_named(setup: ResearchSetup, *, docs: Sequence[str] = (), collections: Sequence[str] = ()) -> None:
    """Store that the user has named these folders of documents and collections for this work folder. If that fails, the
    user is asked to name them again."""
    real = [str(one) for folder in docs if (one := _real(folder))]
    if not (real or collections) or not projects_around(setup.work_folder, setup.root):
        return

    def put(named: _Named) -> None:
        named.folders = _with(named.folders, _key(setup.work_folder), real)
        named.collections = _with(named.collections, _key(setup.work_folder), [_composed(one) for one in collections])

    with suppress(ConfigurationError):
        change_file(_file(), _read, put)


def check_task(setup: ResearchSetup, task: Task) -> None:
    """Raise ResearchUsageError if the user has neither added the task, as it is now, nor run it by its id: in a work
    folder in a project a command could write one, and have anything of the project searched for."""
    if not projects_around(setup.work_folder, setup.root):
        return
    if _digest(task) not in _read().tasks.get(_key(setup.work_folder), []):
        raise ResearchUsageError("task_unnamed", id=task.id, work=setup.work_folder, state=state_folder())


def remember_task(setup: ResearchSetup, task: Task) -> None:
    """Store that the task is the user's. If that fails, the user is asked to name it again."""
    if not projects_around(setup.work_folder, setup.root):
        return

    def put(named: _Named) -> None:
        named.tasks = _with(named.tasks, _key(setup.work_folder), [_digest(task)], _MOST_TASKS)

    with suppress(ConfigurationError):
        change_file(_file(), _read, put)


def _digest(task: Task) -> str:
    options = {name: value for name, value in task.options.items() if value is not None}  # as in the file
    asked = task.id, task.prompt, options, task.schedule
    return hashlib.sha256(msgspec.json.encode(asked, order="sorted")).hexdigest()


class _Named(msgspec.Struct):
    """The file's content: work folders → the folders of documents, and the collections, named for them, and digests of
    the user's tasks, newest last."""

    folders: dict[str, list[str]] = {}
    collections: dict[str, list[str]] = {}
    tasks: dict[str, list[str]] = {}


def _with(named: dict[str, list[str]], work: str, new: Sequence[str], most: int = _MOST_NAMED) -> dict[str, list[str]]:
    """Merge `new` names for the work folder `work` into the named ones."""
    if not new:
        return named
    of_work = list(dict.fromkeys([*named.get(work, []), *new]))[-most:]
    return newest({**{key: value for key, value in named.items() if key != work}, work: of_work})


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
    """Resolve a folder's links; None if it is invalid."""
    try:
        return Path(folder).expanduser().resolve()
    except (OSError, RuntimeError, ValueError):  # circular links; a user without a home; a NUL
        return None


def _composed(name: str) -> str:
    """Normalise the name of a collection as the knowledge base does."""
    return unicodedata.normalize("NFC", name)
