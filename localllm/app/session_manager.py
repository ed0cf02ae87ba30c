"""Session lifecycle: resume, fork, close, summarise, clean up crashed and expired sessions.

A session log without `Ended` at its end is closed by the next program started in the project; closing holds the log's
lock, so that it happens only once.
"""

import asyncio
import os
import time
from collections.abc import Awaitable, Callable, Coroutine, Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from localllm.app.open_project import OpenProject
from localllm.app.session import Conversation
from localllm.base import logs
from localllm.base.errors import ConfigurationError, LocalLLMError
from localllm.base.events import ConfirmationAnswered, RunFinished, RunStarted, ToolFinished, ToolStarted
from localllm.base.i18n import _, ngettext
from localllm.base.project_state import tidy_caches
from localllm.base.regular_files import clock_time
from localllm.llm.messages import AssistantMessage, UserMessage
from localllm.safety.paths import ProjectRoot
from localllm.safety.rules import guarded_from_notes
from localllm.sessions.entries import Adopted, Changed, Ended, Entry, Forked, Planned, Tainted
from localllm.sessions.index import Session, requests
from localllm.sessions.log import SessionLog, SessionStream
from localllm.sessions.store import Pruned, Sessions
from localllm.text.sanitising import clean, shorten

if TYPE_CHECKING:
    from localllm.agent.replay import Reopened
    from localllm.memory.document import Document
    from localllm.sessions.transcript import Transcript


class Closing:
    """Close the sessions of the project at `root`. `memory` is its LOCALLLM.md, which is not created for this; without
    `record` nothing is written to it, nor where it is `closed`, the user's words forbid it, or another folder has taken
    the project's place."""

    def __init__(
        self, sessions: Sessions, root: Path, memory: str, *, record: bool = True, closed: Sequence[str] = ()
    ) -> None:
        self._sessions = sessions
        self._root = root
        self._memory = memory
        self._record = record
        self._closed = closed
        self._folder = _identity(root)

    def close(self, log: SessionLog) -> bool:
        """Close the log of a session after updating the memory; return whether it was open. Raises nothing: failed
        writes are retried at the next start."""
        try:
            return log.is_open and self._end(log)
        except (LocalLLMError, OSError) as error:
            logs.of("MEMORY").warning("the end of session %s was not recorded: %s", log.file.stem, error)
            return False
        finally:
            log.close()

    def _end(self, log: SessionLog) -> bool:
        last: Entry | None = None
        entries: list[Entry] = []
        for last in SessionStream(log.file).entries:
            entries += _in_brief(last)
        if last is None or isinstance(last, Ended):
            return False
        self._remember(log.file.stem, entries, log.file.stat().st_mtime)
        log.append(Ended(time=time.time()))
        return True

    def close_killed(self) -> list[str]:
        """Close the sessions of killed programs; return their names. Oldest first, so that of records with equal times
        the newest is last."""
        killed = [one for one in self._sessions.all() if not one.ended and self._sessions.is_ours(one)]
        return [one.id for one in reversed(killed) if self._close_killed(one)]

    def _close_killed(self, session: Session) -> bool:
        try:
            log = SessionLog.resume(self._sessions.file_of(session.id).parent, session.id, patience=0.0)
        except LocalLLMError:  # it is retried
            return False
        if not self.close(log):
            return False
        with suppress(OSError):  # nobody has worked in it
            os.utime(log.file, (session.changed, session.changed))
        return True

    def _remember(self, session_id: str, entries: Sequence[Entry], changed: float) -> None:
        if not (self._record and (self._root / self._memory).is_file() and os.access(self._root, os.W_OK)):
            return
        if _identity(self._root) != self._folder:
            logs.of("MEMORY").warning("session %s: %s is another folder by now", session_id, self._root)
            return
        if any(isinstance(entry, Adopted) for entry in entries):  # the user's own words may be forged, too
            return
        # most sessions have nothing to write, and the user waits for each to end
        from localllm.app.unwanted_notes import ends_without_changes, leaves_file
        from localllm.memory import session_records, todos
        from localllm.memory.memory_file import MemoryFile
        from localllm.sessions import transcript

        since = transcript.after(entries, Ended)
        work = transcript.gist_of(since, self._memory)
        is_work = work.is_worth_keeping
        plan = "" if any(isinstance(entry, Tainted) for entry in entries) else _last_plan(since)
        if not (is_work or plan):
            return
        if ends_without_changes(since):  # what has changed files before is recorded all the same
            plan, is_work = "", bool(work.files)
        file = MemoryFile(self._root, self._memory, self._closed)
        if not (is_work or plan) or file.is_closed or leaves_file(since, (self._memory, file.real_name)):
            logs.of("MEMORY").info("session %s: rules or requests keep it out of %s", session_id, self._memory)
            return
        if _is_obeyed(self._root, self._memory):
            logs.of("MEMORY").warning("session %s: %s is a text that assistants obey", session_id, self._memory)
            return
        gist, when = transcript.gist_of(entries, self._memory), clock_time(changed)

        def put(document: "Document") -> tuple["Document", None]:
            if is_work:
                document = session_records.put(document, transcript.record_of(session_id, gist, when, document))
            return todos.take_over(document, plan, today=when.date())[0], None

        with _own_write(self._root, self._memory):
            file.edit(put)


def _in_brief(entry: Entry) -> tuple[Entry, ...]:
    """Return what `_remember` needs of an entry: without messages and results a log is small."""
    match entry:
        case ToolStarted(arguments={"command": command}):
            return (msgspec.structs.replace(entry, arguments={"command": command}),)
        case ToolFinished():
            return (msgspec.structs.replace(entry, payload={}),)
        case RunStarted() | RunFinished() | ConfirmationAnswered() | Changed() | Planned():
            return (entry,)
        case Tainted() | Adopted() | Forked() | Ended():
            return (entry,)
        case _:
            return ()


def _identity(folder: Path) -> tuple[int, int]:
    """Return the device and inode of a folder itself, of a link its own; zeros if there is none."""
    try:
        about = os.lstat(folder)
    except OSError:
        return 0, 0
    return about.st_dev, about.st_ino


def _is_obeyed(root: Path, memory: str) -> bool:
    """Whether the memory is, by a link, also an instruction file of assistants, whose changes need confirmation in
    every mode. The configured memory file is one in any case."""
    from localllm.base.instruction_files import is_instruction, linked_instructions

    path = os.path.relpath(os.path.realpath(root / memory), os.path.realpath(root))
    return (path != memory and is_instruction(path)) or path in linked_instructions(root)


@contextmanager
def _own_write(folder: Path, file: str) -> Generator[None]:
    """Record writes to a file during the block as localllm's own for `/undo`; a failure to record is ignored."""
    from localllm.snapshots.file_state import look
    from localllm.snapshots.store import Snapshots

    root, path, before = ProjectRoot(folder).for_any_name(), "", ""
    with suppress(LocalLLMError, OSError):
        path = root.relative(file)
        before = look(root, path)
    yield
    with suppress(LocalLLMError, OSError):
        if before:
            Snapshots.of_project(folder).note_own(path, before, look(root, path))


def _last_plan(entries: Sequence[Entry]) -> str:
    """Return the model's last plan; "" if it has none."""
    return next((entry.text for entry in reversed(entries) if isinstance(entry, Planned)), "")


_SOON = 1.0
"""Seconds after which a chat cleans up: by then the prompt is shown."""

_WORDS = 60  # cells of a request in a line


class Keeping:
    """The sessions of a project. `current` returns the current conversation, `change_to` replaces it by another,
    `notify` shows the user a message, `use_model` switches to a session's model and returns why it did not. Slow
    operations run in threads, one after another.

    `welcome` has notes on the resumed session, a line each; `stood` its last request and answer, "" for none.
    """

    def __init__(
        self,
        project: OpenProject,
        current: Callable[[], Conversation],
        change_to: Callable[[Conversation], None],
        notify: Callable[[str], Awaitable[None]],
        use_model: Callable[[str], Awaitable[str]],
    ) -> None:
        self._project = project
        self._use_model = use_model
        self._notify = notify
        self._current = current
        self._change_to = change_to
        self._settings = project.settings.sessions
        self.sessions = Sessions.of_project(project.root, project.storage, project.seal)
        memory, record = project.memory, self._settings.record
        closed = [*memory.closed, *guarded_from_notes(project.settings.safety, ProjectRoot(project.root).relative)]
        self._closing = Closing(self.sessions, project.root, memory.name, record=record, closed=closed)
        self._lock = asyncio.Lock()
        self._tidied = False
        self._tidying: asyncio.Task[None] | None = None
        self._at_work: set[asyncio.Task[None]] = set()
        self.welcome: Sequence[str] = ()
        self.stood: tuple[str, str] = ("", "")

    @property
    def known(self) -> Sequence[Session]:
        """The sessions as of the last scan, without waiting."""
        return self.sessions.known

    def change_project(self, project: OpenProject) -> None:
        """Resume sessions with the changed settings of `project`."""
        self._project = project

    async def find(self, words: str = "") -> Sequence[Session]:
        """List all sessions, most recently used first; or those with requests similar to `words`, best first."""
        async with self._lock:
            if words.strip():
                return await asyncio.to_thread(self.sessions.search, words)
            return await asyncio.to_thread(self.sessions.all)

    async def resume(self, wanted: str = "") -> Sequence[str]:
        """Resume the session with this name prefix or title, by default the newest; return notes for the user. Raises
        ConfigurationError without changing anything."""
        reopened = await self._reopen(wanted)
        left = await self._use_model(reopened.replayed.model) if reopened.replayed.model else ""
        self.stood = _last_exchange(reopened)
        conversation = Conversation(self._project, reopened)
        conversation.last_answer = self.stood[1]
        self._change_to(conversation)
        self.welcome = [*_told_of(reopened), *filter(None, [left])]
        return self.welcome

    @property
    def last_said(self) -> Sequence[str]:
        """Return the last request of the resumed session in a line, for displays that show no more."""
        request, _unused = self.stood
        return [_("Last request: {words}", words=_shown(request))] if request.strip() else []

    def broken_off(self) -> str:
        """Return the request during which the last session was interrupted; "" if it was not, or was resumed. Reads a
        file."""
        return self.sessions.broken_off()

    async def fork(self, point: int = 0) -> Sequence[str]:
        """Continue in a copy of this session, or of its state at a checkpoint; as `resume`."""
        session_id = self._kept()
        async with self._lock:
            copy = await asyncio.to_thread(self.sessions.fork, session_id, point)
        return await self.resume(copy)

    async def transcript(self) -> "Transcript":
        """Return this session as a readable transcript. Raises ConfigurationError."""
        from localllm.sessions.transcript import transcript_of  # few are ever exported

        session_id = self._kept()
        read = await asyncio.to_thread(self.sessions.read, session_id)
        return transcript_of(session_id, self._project.root.name, read.entries, read.torn_lines)

    @property
    def title(self) -> str:
        """The user's title of this session."""
        return self._current().title

    def rename(self, title: str) -> None:
        """Set the title of this session; "" for none."""
        self._current().rename(title)

    @property
    def is_kept(self) -> bool:
        """Whether this session can be resumed later: there was a message, and it could be logged."""
        return self._current().is_kept

    @property
    def failure(self) -> str:
        """Why this session cannot be logged; "" if it can."""
        return self._current().failure

    async def adopt(self) -> None:
        """Move data that an earlier version stored in the project to a place commands cannot access."""
        async with self._lock:
            await asyncio.to_thread(self.sessions.adopt_sealed)

    def tidy_soon(self) -> None:
        """Schedule the clean-up of killed and expired sessions."""
        self._tidying = self._begin(self._tidy(after=_SOON))

    def close_soon(self, log: SessionLog) -> None:
        """Close a finished session in the background."""
        self._begin(self._close(log))

    async def end(self, log: SessionLog) -> None:
        """Close the last session, and complete pending work."""
        await self._close(log)
        if not self._tidied:
            await self._tidy()
        if self._tidying is not None:
            self._tidying.cancel()
        await asyncio.gather(*self._at_work, return_exceptions=True)

    def _kept(self) -> str:
        """Return the name of this session. Raises session_empty, or session_unkept, if it has no log."""
        if not self._current().is_kept and self.failure:
            raise ConfigurationError("session_unkept", reason=self.failure)
        if not self._current().is_kept:
            raise ConfigurationError("session_empty")
        return self._current().id

    async def _reopen(self, wanted: str) -> "Reopened":
        from localllm.agent.replay import reopen  # most sessions are new

        async with self._lock:
            if wanted.strip():
                session = await asyncio.to_thread(self.sessions.find, wanted)
            else:
                session = await asyncio.to_thread(self.sessions.newest)
            if session.id == self._current().id:
                raise ConfigurationError("session_is_this")
            return await asyncio.to_thread(reopen, self.sessions, session)

    def _begin(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.create_task(work)
        self._at_work.add(task)
        task.add_done_callback(self._at_work.discard)
        return task

    async def _close(self, log: SessionLog) -> None:
        if log.is_open:
            async with self._lock:
                await asyncio.to_thread(self._closing.close, log)

    async def _tidy(self, after: float = 0.0) -> None:
        await asyncio.sleep(after)
        async with self._lock:
            if self._tidied:
                return
            self._tidied = True
            try:
                pruned = await asyncio.to_thread(self._tidy_now)
            except OSError as error:
                logs.of("MEMORY").warning("the sessions cannot be tidied: %s", error)
                return
        for text in self._told_of_pruned(pruned):
            await self._notify(text)

    def _tidy_now(self) -> Pruned:
        """Clean up now; open sessions, here or elsewhere, are skipped, since their logs are locked."""
        tidy_caches(self._project.storage)
        self.sessions.adopt_sealed()
        self._closing.close_killed()
        self.sessions.correct_future()
        return self.sessions.prune(keep_days=self._settings.keep_days, keep_count=self._settings.keep_count)

    def _told_of_pruned(self, pruned: Pruned) -> Iterator[str]:
        """Return notes on deleted sessions, a line each. Deleting one per new session is the user's setting and is not
        reported."""
        if pruned.old:
            yield ngettext(
                "{count} session was deleted: not used for {days} days (sessions.keep_days).",
                "{count} sessions were deleted: not used for {days} days (sessions.keep_days).",
                len(pruned.old),
                days=self._settings.keep_days,
            )
        if len(pruned.surplus) > 1:
            yield ngettext(
                "{count} session was deleted: at most {most} are kept (sessions.keep_count).",
                "{count} sessions were deleted: at most {most} are kept (sessions.keep_count).",
                len(pruned.surplus),
                most=self._settings.keep_count,
            )


def _told_of(reopened: "Reopened") -> list[str]:
    """Return notes on a resumed session, a line each."""
    replayed = reopened.replayed
    name = _shown(replayed.title or reopened.id)
    resumed = _("Continuing {name} ({requests}).", name=name, requests=requests(replayed.turns))
    return [
        resumed,
        *(
            []
            if reopened.is_ours
            else [
                _(
                    "This session was stored in the project, so not all of it is known to be yours: its "
                    "contents are not trusted."
                )
            ]
        ),
        *replayed.lost,
    ]


def _last_exchange(reopened: "Reopened") -> tuple[str, str]:
    """Return the last user message, and the model's answer."""
    history = reopened.replayed.history
    behind = takewhile(lambda message: not isinstance(message, UserMessage), reversed(history.messages))
    answers = (message.text for message in behind if isinstance(message, AssistantMessage))
    return next(iter(history.words[-1:]), ""), next(filter(str.strip, answers), "")


def _shown(text: str) -> str:
    return shorten(clean(" ".join(text.split()), keep_newlines=False), _WORDS)
