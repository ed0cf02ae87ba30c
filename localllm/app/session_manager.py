"""Session lifecycle: resume, fork, close, summarise, clean up crashed and expired sessions.

A session's log that has no `Ended` at its end is closed by the next program that is started in the project; whoever
closes a log holds its lock, so that nobody does it twice.
"""

import asyncio
import os
import time
from collections.abc import Awaitable, Callable, Coroutine, Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from localllm.app.session import Conversation, Project
from localllm.base import logs
from localllm.base.errors import ConfigurationError, LocalLLMError
from localllm.base.i18n import _, ngettext
from localllm.base.project_state import tidy_caches
from localllm.base.regular_files import clock_time
from localllm.llm.messages import AssistantMessage, UserMessage
from localllm.sessions.entries import Adopted, Ended, Entry, Planned, Tainted
from localllm.sessions.index import Session, requests
from localllm.sessions.log import SessionLog, read_session
from localllm.sessions.store import Pruned, Sessions
from localllm.text.sanitising import clean, shorten

if TYPE_CHECKING:
    from localllm.agent.replay import Reopened
    from localllm.memory.document import Document
    from localllm.sessions.transcript import Transcript


class Closing:
    """Closes the sessions of the project at `root`. `memory` names its LOCALLLM.md, which is not made for this; with
    `record` off nothing is written into it."""

    def __init__(self, sessions: Sessions, root: Path, memory: str, *, record: bool = True) -> None:
        self._sessions = sessions
        self._root = root
        self._memory = memory
        self._record = record

    def close(self, log: SessionLog) -> bool:
        """Close the log of a session after what is to be remembered of it was; whether it was still to be closed.
        Raises nothing: what could not be written is tried again with the next start."""
        try:
            return log.is_open and self._end(log)
        except (LocalLLMError, OSError) as error:
            logs.of("MEMORY").warning("the end of session %s was not recorded: %s", log.file.stem, error)
            return False
        finally:
            log.close()

    def _end(self, log: SessionLog) -> bool:
        entries = read_session(log.file).entries
        if not entries or isinstance(entries[-1], Ended):
            return False
        self._remember(log.file.stem, entries, log.file.stat().st_mtime)
        log.append(Ended(time=time.time()))
        return True

    def close_killed(self, is_wanted: Callable[[Session], bool] = lambda _session: True) -> list[str]:
        """Close the sessions that were killed, and no program has open; their names. The oldest comes first, so that of
        records of one minute the newest is the last."""
        killed = [one for one in self._sessions.all() if not one.ended and self._sessions.is_ours(one)]
        return [one.id for one in reversed(killed) if is_wanted(one) and self._close_killed(one)]

    def _close_killed(self, session: Session) -> bool:
        try:
            log = SessionLog.resume(self._sessions.file_of(session.id).parent, session.id, patience=0.0)
        except LocalLLMError:  # it goes on
            return False
        if not self.close(log):
            return False
        with suppress(OSError):  # nobody has worked in it
            os.utime(log.file, (session.changed, session.changed))
        return True

    def _remember(self, session_id: str, entries: Sequence[Entry], changed: float) -> None:
        if not (self._record and (self._root / self._memory).is_file() and os.access(self._root, os.W_OK)):
            return
        # most sessions leave nothing to write, and each ends with the person waiting
        from localllm.memory import session_records, todos
        from localllm.memory.memory_file import MemoryFile
        from localllm.sessions import transcript

        since = transcript.after(entries, Ended)
        is_work = transcript.gist_of(since, self._memory).is_worth_keeping
        plan = "" if any(isinstance(entry, Adopted | Tainted) for entry in entries) else _last_plan(since)
        if not (is_work or plan):
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
            MemoryFile(self._root, self._memory).edit(put)


def _is_obeyed(root: Path, memory: str) -> bool:
    """Whether a link makes the project's memory one with a text that assistants obey, which is asked about in every
    mode. The text that the settings name as the memory it is in any case."""
    from localllm.base.instruction_files import is_instruction, linked_instructions

    path = os.path.relpath(os.path.realpath(root / memory), os.path.realpath(root))
    return (path != memory and is_instruction(path)) or path in linked_instructions(root)


@contextmanager
def _own_write(folder: Path, file: str) -> Generator[None]:
    """Let `/undo` know what is written to a file meanwhile as localllm's own; that it cannot be noted stops nothing."""
    from localllm.safety.paths import ProjectRoot
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
    """The model's plan as it was left; "" where nothing became of one."""
    return next((entry.text for entry in reversed(entries) if isinstance(entry, Planned)), "")


_SOON = 1.0
"""Seconds after which a chat tidies up: by then the prompt is there."""

_WORDS = 60  # cells of a request in a line


class Keeping:
    """The sessions of a project. `current` gives the conversation that is going on, `change_to` goes on with another in
    its place, `notify` tells the person something. What may take a while is done in threads, one after another.

    `welcome` is what the person should know of the session that he goes on with, a line each; `stood` what he asked
    last in it, and what was answered, "" where nothing was.
    """

    def __init__(
        self,
        project: Project,
        current: Callable[[], Conversation],
        change_to: Callable[[Conversation], None],
        notify: Callable[[str], Awaitable[None]],
    ) -> None:
        self._project = project
        self._notify = notify
        self._current = current
        self._change_to = change_to
        self._settings = project.settings.sessions
        self.sessions = Sessions.of_project(project.root, project.storage, project.seal)
        memory = project.settings.project.memory_file
        self._closing = Closing(self.sessions, project.root, memory, record=self._settings.record)
        self._lock = asyncio.Lock()
        self._tidied = False
        self._tidying: asyncio.Task[None] | None = None
        self._at_work: set[asyncio.Task[None]] = set()
        self.welcome: Sequence[str] = ()
        self.stood: tuple[str, str] = ("", "")

    @property
    def known(self) -> Sequence[Session]:
        """All sessions as they were last looked at, told without waiting."""
        return self.sessions.known

    async def find(self, words: str = "") -> Sequence[Session]:
        """All sessions, the last worked in first; or those in which something like `words` was asked for, the best
        first."""
        async with self._lock:
            if words.strip():
                return await asyncio.to_thread(self.sessions.search, words)
            return await asyncio.to_thread(self.sessions.all)

    async def resume(self, wanted: str = "") -> Sequence[str]:
        """Go on with the session whose name begins so, or whose title this is; with the newest where nothing is said.
        What the person should know of it. Raises ConfigurationError, and then all stays as it is."""
        reopened = await self._reopen(wanted)
        self.stood = _last_exchange(reopened)
        self._change_to(Conversation(self._project, reopened))
        self.welcome = _told_of(reopened)
        return self.welcome

    @property
    def last_said(self) -> Sequence[str]:
        """What the person asked last in the session that he goes on with, in a line; where nobody is shown more."""
        request, _unused = self.stood
        return [_("Last request: {words}", words=_shown(request))] if request.strip() else []

    def broken_off(self) -> str:
        """The request in whose middle the last session was broken off; "" where it was not, or is gone on with. Reads a
        file."""
        return self.sessions.broken_off()

    async def fork(self, point: int = 0) -> Sequence[str]:
        """Go on in a copy of this session, or of what it was at that checkpoint; as `resume`."""
        session_id = self._kept()
        async with self._lock:
            copy = await asyncio.to_thread(self.sessions.fork, session_id, point)
        return await self.resume(copy)

    async def transcript(self) -> "Transcript":
        """This session as a person reads it again. Raises ConfigurationError."""
        from localllm.sessions.transcript import transcript_of  # few are ever exported

        session_id = self._kept()
        read = await asyncio.to_thread(self.sessions.read, session_id)
        return transcript_of(session_id, self._project.root.name, read.entries, read.torn_lines)

    @property
    def title(self) -> str:
        """What the person calls this session."""
        return self._current().title

    def rename(self, title: str) -> None:
        """Call this session so; "" for nothing."""
        self._current().rename(title)

    @property
    def is_kept(self) -> bool:
        """Whether this session can be gone on with later: something was said, and could be written down."""
        return self._current().is_kept

    @property
    def failure(self) -> str:
        """Why this session cannot be written down; "" where it can."""
        return self._current().failure

    async def adopt(self) -> None:
        """Bring what an earlier version kept in the project to where no command finds it."""
        async with self._lock:
            await asyncio.to_thread(self.sessions.adopt_sealed)

    def tidy_soon(self) -> None:
        """Close what was killed and delete what is too old, in a moment."""
        self._tidying = self._begin(self._tidy(after=_SOON))

    def close_soon(self, log: SessionLog) -> None:
        """Close a session that is over, while other things go on."""
        self._begin(self._close(log))

    async def end(self, log: SessionLog) -> None:
        """Close the last session, and end what is still to be done."""
        await self._close(log)
        if not self._tidied:
            await self._tidy()
        if self._tidying is not None:
            self._tidying.cancel()
        await asyncio.gather(*self._at_work, return_exceptions=True)

    def _kept(self) -> str:
        """The name of this session. Raises session_empty, or session_unkept, where there is no log of it."""
        if not self._current().is_kept and self.failure:
            raise ConfigurationError("session_unkept", reason=self.failure)
        if not self._current().is_kept:
            raise ConfigurationError("session_empty")
        return self._current().id

    async def _reopen(self, wanted: str) -> "Reopened":
        from localllm.agent.replay import reopen  # most sessions are new ones

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
        """What is open, here or elsewhere, is left alone: its log is locked."""
        tidy_caches(self._project.storage)
        self.sessions.adopt_sealed()
        self._closing.close_killed()
        self.sessions.correct_future()
        return self.sessions.prune(keep_days=self._settings.keep_days, keep_count=self._settings.keep_count)

    def _told_of_pruned(self, pruned: Pruned) -> Iterator[str]:
        """What the person should know of it, a line each. That with each new session one goes is as he has set it."""
        if pruned.old:
            yield ngettext(
                "{count} session was deleted: nobody had worked in it for {days} days (sessions.keep_days).",
                "{count} sessions were deleted: nobody had worked in them for {days} days (sessions.keep_days).",
                len(pruned.old),
                days=self._settings.keep_days,
            )
        if len(pruned.surplus) > 1:
            yield ngettext(
                "{count} session was deleted: the newest {most} are kept (sessions.keep_count).",
                "{count} sessions were deleted: the newest {most} are kept (sessions.keep_count).",
                len(pruned.surplus),
                most=self._settings.keep_count,
            )


def _told_of(reopened: "Reopened") -> list[str]:
    """What the person should know of a session he goes on with, a line each."""
    replayed = reopened.replayed
    name = _shown(replayed.title or reopened.id)
    resumed = _("Going on with {name} ({requests}).", name=name, requests=requests(replayed.turns))
    return [
        resumed,
        *(
            []
            if reopened.is_ours
            else [
                _(
                    "Not all of this session is known to be yours, for it lay in the project: what it "
                    "holds is treated as a stranger's text."
                )
            ]
        ),
        *replayed.lost,
    ]


def _last_exchange(reopened: "Reopened") -> tuple[str, str]:
    """What the person said last, and what the model answered it."""
    history = reopened.replayed.history
    behind = takewhile(lambda message: not isinstance(message, UserMessage), reversed(history.messages))
    answers = (message.text for message in behind if isinstance(message, AssistantMessage))
    return next(iter(history.words[-1:]), ""), next(filter(str.strip, answers), "")


def _shown(text: str) -> str:
    return shorten(clean(" ".join(text.split()), keep_newlines=False), _WORDS)
