"""Research tasks: a YAML file each in `task/` of the work folder; runners take one at a time.

A runner holds the task's lock while it works, and releases it however it ends: a task that is `running` without a lock
is taken again.
"""

import os
import socket
from collections.abc import Generator
from contextlib import contextmanager
from datetime import date, datetime
from pathlib import Path
from typing import Any, Literal, cast, get_args

import msgspec

from localllm.base.errors import ResearchError, ResearchUsageError
from localllm.base.events import Json
from localllm.base.file_lock import try_lock
from localllm.base.files import write_own
from localllm.base.i18n import Phrase
from localllm.base.regular_files import read_regular
from localllm.research.run_store import RUN_ID, reserve_run
from localllm.research.schedules import Schedule, check_schedule, next_time, read_time

TASKS = "task"

Status = Literal["scheduled", "running", "completed", "failed"]
STATUSES: tuple[Status, ...] = get_args(Status)

_LARGEST = 200_000  # bytes of a file
_NUMBERS = ("tag:yaml.org,2002:int", "tag:yaml.org,2002:float")
_LONGEST_NUMBER = 100  # characters
_MOST_RUNS, _LONGEST_ERROR = 100, 500  # runs of a task, the newest; characters


class TaskRun(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """A run of a task. `status` is empty while it can be resumed; `error` is why it stopped."""

    id: str
    started_at: str
    finished_at: str = ""
    status: Literal["", "success", "failed"] = ""
    partial: bool = False
    error: str = ""


class Runner(msgspec.Struct, frozen=True):
    """The process that works on a task."""

    pid: int
    host: str


class Task(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A question to research once or repeatedly.

    id: YYYY-NNNN, shared with its first run. options: overrides of the settings for its runs, by the names of
    ResearchOptions; and `preset`. schedule: when it is due; None means at once, and once. next_run: the next due time,
    ISO 8601; None if there is none. runs: the newest hundred, newest last.
    """

    id: str
    prompt: str
    status: Status = "scheduled"
    created_at: str
    updated_at: str | None = None
    options: dict[str, Json] = {}
    schedule: Schedule | None = None
    next_run: str | None = None
    runner: Runner | None = None
    runs: tuple[TaskRun, ...] = ()

    @property
    def unfinished(self) -> TaskRun | None:
        """The last run, if it can be resumed."""
        return self.runs[-1] if self.runs and self.runs[-1].status == "" else None

    @property
    def progress(self) -> tuple[Status, str | None, tuple[TaskRun, ...]]:
        """What changes with each run."""
        return self.status, self.next_run, self.runs

    def is_due(self, now: datetime) -> bool:
        """Whether it is due. A `running` one is due as well, in case its runner is dead."""
        if self.status == "scheduled":
            return self.next_run is None or read_time(self.next_run) <= now
        return self.status == "running"


class TaskStore:
    """The tasks of a work folder."""

    def __init__(self, work: Path) -> None:
        self._work = work
        self.folder = work / TASKS

    def add(self, prompt: str, options: dict[str, Json], schedule: Schedule | None, now: datetime) -> Task:
        """Create a task under an id that no other task or run gets. Raises ResearchError."""
        if not prompt.strip():
            raise ResearchUsageError("research_no_question")
        name, _folder = reserve_run(self._work, now.year)
        while self.file(name).exists():  # one created by hand
            name, _folder = reserve_run(self._work, now.year)
        task = Task(
            id=name,
            prompt=prompt.strip(),
            created_at=written(now),
            options=options,
            schedule=schedule,
            next_run=schedule.at if schedule else None,
        )
        self.write(task)
        return task

    def all(self) -> tuple[list[Task], list[ResearchError]]:
        """Return all tasks, oldest first, with the errors of unreadable files."""
        tasks: list[Task] = []
        faults: list[ResearchError] = []
        files = self.folder.glob("*.yaml") if self.folder.is_dir() else ()
        for file in sorted(files):
            try:
                tasks.append(self.read(file.stem))
            except ResearchError as error:
                faults.append(error)
        return tasks, faults

    def due(self, now: datetime) -> list[Task]:
        """Return the due tasks, the longest due first."""
        tasks = [task for task in self.all()[0] if task.is_due(now)]
        return sorted(tasks, key=lambda task: (task.next_run or task.created_at, task.id))

    def read(self, name: str) -> Task:
        """Read the task `name`. Raises ResearchUsageError for an unknown one, ResearchError for a damaged file."""
        file = self.file(name)
        task = _task_of(self.text(name), file)
        if task.id != name:
            raise ResearchError("task_damaged", file=file, reason=Phrase("Its id is {id}", id=task.id))
        return task

    def text(self, name: str) -> str:
        """Return the text of the task's file. Raises as `read`."""
        file = self.file(name)
        try:
            return read_regular(file, _LARGEST).decode()
        except FileNotFoundError:
            raise ResearchUsageError("task_none", id=name, folder=self.folder) from None
        except (OSError, UnicodeDecodeError) as error:
            raise ResearchError("task_damaged", file=file, reason=str(error)) from error

    def delete(self, name: str) -> None:
        """Delete a task that is not in use; its reports are kept. Raises ResearchError."""
        self.read(name)
        with self.locked(name) as is_ours:
            if not is_ours:
                raise ResearchUsageError("task_running", id=name)
            self.file(name).unlink(missing_ok=True)
            self._lock_file(name).unlink(missing_ok=True)

    @contextmanager
    def taken(self, name: str, now: datetime, found: Task | None = None) -> Generator["TakenTask | None"]:
        """Lock a task to work on it; None if another process works on it, or has done so since it was `found`. Raises
        ResearchError."""
        with self.locked(name) as is_ours:
            task = self.read(name) if is_ours else None
            if task is None or (found and task.progress != found.progress):
                yield None
                return
            yield TakenTask(self, msgspec.structs.replace(task, runner=Runner(os.getpid(), socket.gethostname())), now)

    def write(self, task: Task) -> None:
        """Write a task, replacing its file. Raises ResearchError."""
        import yaml

        text = yaml.safe_dump(_plain(task), allow_unicode=True, default_flow_style=False, sort_keys=False, width=100)
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            write_own(self.file(task.id), text.encode())
        except OSError as error:
            reason = error.strerror or str(error)
            raise ResearchError("task_unsaved", id=task.id, folder=self.folder, reason=reason) from error

    def file(self, name: str) -> Path:
        """Return the path of the task's file, which need not exist. Raises ResearchUsageError for an invalid id."""
        if not RUN_ID.fullmatch(name):
            raise ResearchUsageError("task_none", id=name, folder=self.folder)
        return self.folder / f"{name}.yaml"

    @contextmanager
    def locked(self, name: str) -> Generator[bool]:
        """Try to lock a task; yields whether that succeeded. Raises ResearchError."""
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            held = os.open(self._lock_file(name), os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o600)
        except OSError as error:
            reason = error.strerror or str(error)
            raise ResearchError("task_unsaved", id=name, folder=self.folder, reason=reason) from error
        try:
            yield try_lock(held)
        finally:
            os.close(held)  # releases the lock

    def _lock_file(self, name: str) -> Path:
        return self.file(name).with_name(f".{name}.lock")


class TakenTask:
    """A task in progress; each change is saved at once."""

    def __init__(self, store: TaskStore, task: Task, now: datetime) -> None:
        self._store = store
        self.task = task
        self._keep(now, status="running")

    def begin(self, run: str, now: datetime) -> None:
        """Record that a run started or was resumed."""
        others = tuple(one for one in self.task.runs if one.id != run)
        known = next((one for one in self.task.runs if one.id == run), TaskRun(run, written(now)))
        self._keep(now, runs=(*others, msgspec.structs.replace(known, error=""))[-_MOST_RUNS:])

    def succeed(self, now: datetime, *, partial: bool) -> None:
        """Record that the run has ended."""
        self._end(now, "completed", {"finished_at": written(now), "status": "success", "partial": partial})

    def fail(self, now: datetime, error: str, *, can_go_on: bool) -> None:
        """Record that the run failed; with `can_go_on` the next run resumes it."""
        ended = {} if can_go_on else {"finished_at": written(now), "status": "failed"}
        self._end(now, "failed", {**ended, "error": error[:_LONGEST_ERROR]})

    def put_back(self, now: datetime) -> None:
        """Record that the user stopped the run: the task is due as before and will resume the run."""
        self._keep(now, status="scheduled", runner=None)

    def _end(self, now: datetime, status: Status, of_run: dict[str, Any]) -> None:
        task = self.task
        runs = task.runs
        if task.unfinished:
            runs = (*runs[:-1], msgspec.structs.replace(runs[-1], **of_run))
        again = next_time(task.schedule, now) if task.schedule and task.schedule.every else None
        next_run = again.isoformat(timespec="minutes") if again else None
        self._keep(now, status="scheduled" if again else status, runner=None, runs=runs, next_run=next_run)

    def _keep(self, now: datetime, **changed: Any) -> None:
        self.task = msgspec.structs.replace(self.task, updated_at=written(now), **changed)
        self._store.write(self.task)


def written(moment: datetime) -> str:
    """Format a time for the task's file."""
    return moment.isoformat(timespec="seconds")


def _task_of(text: str, file: Path) -> Task:
    import yaml

    try:
        plain: Any = type("Plain", (yaml.SafeLoader,), {"compose_node": _composed})
        read = yaml.load(text, plain)  # noqa: S506 - a safe loader
        if not isinstance(read, dict):
            raise ResearchError("task_damaged", file=file, reason=Phrase("It is not a task"))
        values = cast("dict[str, Any]", _as_text(read))
        options = cast("dict[str, Any]", values.get("options") or {})
        values["options"] = {name: value for name, value in options.items() if value is not None}
        task = msgspec.convert(values, Task)
        if task.next_run is not None:
            read_time(task.next_run)
        if task.schedule:
            check_schedule(task.schedule)
        return task
    except ResearchUsageError as error:
        raise ResearchError("task_damaged", file=file, reason=error.what.rstrip(".。")) from error
    except (yaml.YAMLError, AttributeError, ValueError, LookupError, OverflowError, RecursionError) as error:  # of yaml
        reason = " ".join(str(error).split()).rstrip(".")
        raise ResearchError("task_damaged", file=file, reason=reason) from error


def _composed(loader: Any, parent: Any, index: Any) -> Any:
    """Compose a node as yaml does, but reject references, which could expand without limit, and endless numbers such as
    1:1:1, which take quadratic time."""
    import yaml

    if loader.check_event(yaml.AliasEvent):
        raise yaml.YAMLError("a reference (*) is not read")
    node = cast("Any", yaml.SafeLoader).compose_node(loader, parent, index)
    if node.tag in _NUMBERS and len(node.value) > _LONGEST_NUMBER:
        raise yaml.YAMLError(f"a number of {len(node.value)} characters")
    return node


def _as_text(value: Any) -> Any:
    """Convert times parsed by YAML back to text."""
    match value:
        case dict():
            return {str(key): _as_text(item) for key, item in cast("dict[Any, Any]", value).items()}
        case list():
            return [_as_text(item) for item in cast("list[Any]", value)]
        case date():
            return value.isoformat()
        case _:
            return value


def _plain(task: Task) -> dict[str, Json]:
    """Return the content of the file: the required fields, and others that are not empty."""
    whole = cast("dict[str, Json]", msgspec.to_builtins(task))
    always = ("id", "prompt", "status", "created_at", "updated_at", "options")
    return {name: value for name, value in whole.items() if name in always or value}
