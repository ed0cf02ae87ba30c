"""Make past sessions searchable: the user's requests, and the passages of the answers."""

from collections.abc import Callable, Iterable
from itertools import accumulate, chain, repeat
from typing import TYPE_CHECKING, TypeVar

from localllm.sessions.index import Session, when

if TYPE_CHECKING:
    from localllm.memory.search import MemoryEntry

T = TypeVar("T")

_PASSAGE = 240  # characters of a passage: a search shows all of it
_ANSWERS = 400_000  # characters of the newest sessions' answers


class Findable:
    """Creates the search entries of sessions, again only if a session has changed.
    `is_ours`: whether this user's program began a session."""

    def __init__(self, is_ours: Callable[[Session], bool]) -> None:
        self._is_ours = is_ours
        self._requests: dict[str, tuple[Session, MemoryEntry]] = {}
        self._passages: dict[str, tuple[Session, list[MemoryEntry]]] = {}

    def requests(self, sessions: Iterable[Session]) -> "list[MemoryEntry]":
        """Return an entry with title and requests for each session."""
        self._requests = _followed(self._requests, sessions, self._request)
        return [entry for _, entry in self._requests.values()]

    def passages(self, sessions: Iterable[Session]) -> "list[MemoryEntry]":
        """Return the passages of the answers of `sessions` (newest first), limited to `_ANSWERS` characters."""
        sessions = list(sessions)
        sizes = accumulate(sum(len(answer.text) for answer in session.answers) for session in sessions)
        newest = [session for session, size in zip(sessions, sizes, strict=True) if size <= _ANSWERS]
        self._passages = _followed(self._passages, newest, self._passages_of)
        return list(chain.from_iterable(entries for _, entries in self._passages.values()))

    def _request(self, session: Session) -> "MemoryEntry":
        from localllm.memory.search import MemoryEntry  # imports the parser of LOCALLLM.md; few search

        return MemoryEntry(
            session.id,
            "conversation",
            session.said,
            when(session),
            heading=session.title,
            more_words=session.words,
            untrusted=not self._is_ours(session),
        )

    def _passages_of(self, session: Session) -> "list[MemoryEntry]":
        """Return the passages; the first of each answer comes with its question."""
        from localllm.memory.search import MemoryEntry
        from localllm.memory.task_splitting import chunk

        passages = chain.from_iterable(
            zip(chain([answer.question], repeat("")), chunk(answer.text, _PASSAGE), strict=False)
            for answer in session.answers
        )
        changed, untrusted = when(session), session.is_tainted or not self._is_ours(session)
        return [
            MemoryEntry(f"{session.id}/{number}", "answer", passage, changed, heading=question, untrusted=untrusted)
            for number, (question, passage) in enumerate(passages, 1)
        ]


def _followed(
    known: dict[str, tuple[Session, T]], sessions: Iterable[Session], make: Callable[[Session], T]
) -> dict[str, tuple[Session, T]]:
    """Return the result of `make` for each session, by id; computed again only for changed ones."""
    before = ((session, known.get(session.id)) for session in sessions)
    return {one.id: old if old and old[0] == one else (one, make(one)) for one, old in before}
