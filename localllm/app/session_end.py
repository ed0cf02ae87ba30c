"""The end of a session: what is to be remembered of it goes into LOCALLLM.md, once, however the session ended.

A log that has no `Ended` at its end is closed by the next program that is started in the project; whoever closes a log
holds its lock, so that nobody does it twice.
"""

import os
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from localllm.base import logs
from localllm.base.errors import LocalLLMError
from localllm.base.regular_files import clock_time
from localllm.sessions.entries import Ended, Entry
from localllm.sessions.index import Session
from localllm.sessions.log import SessionLog, read_session
from localllm.sessions.store import Sessions

if TYPE_CHECKING:
    from localllm.memory.document import Document


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
        """Close the sessions that were killed, and no program has open; their names."""
        killed = [one for one in self._sessions.all() if not one.ended and self._sessions.is_ours(one)]
        return [one.id for one in killed if is_wanted(one) and self._close_killed(one)]

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
        from localllm.memory import session_records
        from localllm.memory.memory_file import MemoryFile
        from localllm.sessions import summary

        if not summary.gist_of(summary.after(entries, Ended), self._memory).is_worth_keeping:
            return
        gist, when = summary.gist_of(entries, self._memory), clock_time(changed)

        def put(document: "Document") -> tuple["Document", None]:
            return session_records.put(document, summary.record_of(session_id, gist, when, document)), None

        MemoryFile(self._root, self._memory).edit(put)
