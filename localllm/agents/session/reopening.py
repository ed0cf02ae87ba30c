"""An earlier session, opened again to go on with."""

from typing import NamedTuple

from localllm.agents.prompting import system_prompt
from localllm.agents.session.replaying import Replayed, replay
from localllm.memory.sessions.entries import Adopted
from localllm.memory.sessions.index import Session
from localllm.memory.sessions.log import SessionLog
from localllm.memory.sessions.store import Sessions


class Reopened(NamedTuple):
    """Its name, its log, which is locked and written to from now on, and what it goes on with. `is_ours`: all of it was
    written by this user's program."""

    id: str
    log: SessionLog
    replayed: Replayed
    is_ours: bool


def reopen(sessions: Sessions, session: Session) -> Reopened:
    """Open a session. Raises ConfigurationError session_open, session_unknown, session_unreadable."""
    log = sessions.open_log(session.id)
    try:
        read = sessions.read(session.id)
        is_ours = sessions.is_ours(session) and not any(isinstance(entry, Adopted) for entry in read.entries)
        return Reopened(session.id, log, replay(read, system=system_prompt(), is_ours=is_ours), is_ours)
    except BaseException:
        log.close()
        raise
