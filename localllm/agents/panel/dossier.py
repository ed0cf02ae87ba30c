"""What is laid before others when the agent asks for advice, and what they answer."""

from collections.abc import Callable, Sequence
from typing import Protocol

import msgspec

from localllm.base.events import Emit, Opinion, ToolCall
from localllm.llm.messages import Message


class Attempt(msgspec.Struct, frozen=True):
    """A call and exactly what came of it; `count` times the same."""

    call: ToolCall
    result: str
    failed: bool
    count: int = 1


class Dossier(msgspec.Struct, frozen=True, kw_only=True):
    """A problem, short enough for anybody's window (at most 3,000 tokens): what the person wants, what is in the way,
    what was tried with its exact errors, and the pieces of files it is about. `left_out`: earlier attempts there was
    no room for."""

    goal: str
    problem: str
    attempts: tuple[Attempt, ...] = ()
    snippets: tuple[str, ...] = ()
    left_out: int = 0

    def text(self, room: int = 0) -> str:
        """All of it, as others read it; with `room`, what fits so many tokens: the pieces of files give way first, then
        the oldest attempts."""
        from localllm.agents.panel.laying_out import text_of  # few runs ever need advice

        return text_of(self, room)


class Consultation(msgspec.Struct, frozen=True, kw_only=True):
    """What came of asking. `plan` (at most 400 tokens) is for the agent's history; empty where nobody could answer:
    then `left_out` says who, and why. `is_sure`: the judge is confident enough that the boss need not be asked."""

    opinions: tuple[Opinion, ...] = ()
    plan: str = ""
    confidence: float = 0.0
    is_sure: bool = False
    left_out: tuple[str, ...] = ()


class Advisers(Protocol):
    """Whom a stuck agent asks. Neither method raises for a member that cannot answer; each emits a Consulted."""

    async def ask_three(self, dossier: Dossier, emit: Emit, *, by_hand: bool = False) -> Consultation:
        """The three wise: two opinions and a judge."""
        ...

    async def ask_boss(
        self, dossier: Dossier, earlier: Sequence[Consultation], emit: Emit, *, by_hand: bool = False
    ) -> Consultation:
        """The boss, who is shown what was advised `earlier`."""
        ...


def make_dossier(
    goal: str,
    problem: str,
    attempts: Sequence[Attempt],
    messages: Sequence[Message],
    *,
    unsolved: bool = False,
) -> Dossier:
    """The dossier on `problem`: of `attempts` the failed ones (all, where none has failed), equal ones once; of the
    files shown in `messages`, the pieces these attempts are about. `unsolved`: of the failed ones only those that have
    not succeeded since.

    The goal and every error text stay as they are, unless one alone would take the room of all others: then its middle,
    and of a result the lines that tell no error, are left out, with a note.
    """
    from localllm.agents.panel.laying_out import lay_out  # few runs ever need advice

    return lay_out(goal, problem, attempts, messages, unsolved=unsolved)


class Deferred:
    """Advisers that are made when they are first asked: few runs ever ask any."""

    def __init__(self, make: Callable[[], Advisers]) -> None:
        self._make = make

    async def ask_three(self, dossier: Dossier, emit: Emit, *, by_hand: bool = False) -> Consultation:
        """See Advisers."""
        return await self._make().ask_three(dossier, emit, by_hand=by_hand)

    async def ask_boss(
        self, dossier: Dossier, earlier: Sequence[Consultation], emit: Emit, *, by_hand: bool = False
    ) -> Consultation:
        """See Advisers."""
        return await self._make().ask_boss(dossier, earlier, emit, by_hand=by_hand)
