"""What the panel is shown of a stuck run, what it answers, and the Protocol by which it is asked."""

from collections.abc import Sequence
from typing import Protocol

import msgspec

from localllm.base.events import Emit, Opinion, ToolCall
from localllm.llm.messages import Message, ToolSpec


class Attempt(msgspec.Struct, frozen=True):
    """A call and exactly what came of it; `count` times the same."""

    call: ToolCall
    result: str
    failed: bool
    count: int = 1


class MainPrompt(msgspec.Struct, frozen=True):
    """What the agent's model would be asked next, which its server has read all but the end of: the conversation, and
    the tools it is offered."""

    messages: tuple[Message, ...]
    tools: tuple[ToolSpec, ...]


class Dossier(msgspec.Struct, frozen=True, kw_only=True):
    """A problem, short enough for anybody's window (at most 3,000 tokens): what the person wants, what is in the way,
    what was tried with its exact errors, and the pieces of files it is about. `left_out`: earlier attempts there was
    no room for. `main`: what it is taken from, for those who are asked there."""

    goal: str
    problem: str
    attempts: tuple[Attempt, ...] = ()
    snippets: tuple[str, ...] = ()
    left_out: int = 0
    main: MainPrompt | None = None


class Consultation(msgspec.Struct, frozen=True, kw_only=True):
    """What came of asking. `plan` (at most 400 tokens) is for the agent's history; empty where nobody could answer:
    then `left_out` says who, and why. `is_sure`: the judge is confident enough that the boss need not be asked.
    `verdict`: the plan's parts by name, where it has parts."""

    opinions: tuple[Opinion, ...] = ()
    plan: str = ""
    confidence: float = 0.0
    is_sure: bool = False
    left_out: tuple[str, ...] = ()
    verdict: dict[str, str] = {}


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
