"""Sessions in a few words, for lists."""

from localllm.base.i18n import tr
from localllm.base.regular_files import clock_time
from localllm.memory.sessions.index import Session


def requests(count: int) -> str:
    """How many requests."""
    return tr("session.turns", count=count)


def when(session: Session) -> str:
    """When it was last worked in."""
    return f"{clock_time(session.changed):%Y-%m-%d %H:%M}"


def about(session: Session) -> str:
    """What it is about: its title and how it began, which may hold anything."""
    return f"{session.title}: {session.first}" if session.title else session.first


def state(session: Session, *, current: str = "") -> str:
    """How many requests it has, and what else is worth knowing."""
    parts = [requests(session.turns)]
    if session.id == current:
        parts.append(tr("session.this"))
    return " · ".join(parts)
