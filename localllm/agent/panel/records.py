"""Data types of the panel (attempts, dossier, consultation), and the Protocol by which it is asked."""

from collections.abc import Sequence
from typing import Protocol

import msgspec

from localllm.base.events import Emit, Opinion, ToolCall
from localllm.llm.messages import Message, ToolSpec


class Attempt(msgspec.Struct, frozen=True):
    """A call and its exact result; `count` equal ones."""

    call: ToolCall
    result: str
    failed: bool
    count: int = 1


class MainPrompt(msgspec.Struct, frozen=True):
    """The agent's next prompt, which its server has cached except for the end: the conversation, and the tools
    offered."""

    messages: tuple[Message, ...]
    tools: tuple[ToolSpec, ...]


class Dossier(msgspec.Struct, frozen=True, kw_only=True):
    """A problem, short enough for any window (at most 3,000 tokens): the user's goal, the obstacle, attempts with their
    exact errors, and excerpts of the files concerned. `left_out`: number of earlier attempts omitted. `main`: the
    prompt it is taken from, for members who are asked there."""

    goal: str
    problem: str
    attempts: tuple[Attempt, ...] = ()
    snippets: tuple[str, ...] = ()
    left_out: int = 0
    main: MainPrompt | None = None


class Consultation(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a consultation. `plan` (at most 400 tokens) is added to the agent's history; if nobody could answer
    it is empty, and `left_out` says who, and why. `is_sure`: the judge is confident enough that the boss need not be
    asked. `verdict`: the plan's parts by name, if it has parts."""

    opinions: tuple[Opinion, ...] = ()
    plan: str = ""
    confidence: float = 0.0
    is_sure: bool = False
    left_out: tuple[str, ...] = ()
    verdict: dict[str, str] = {}


class Advisers(Protocol):
    """Advises a stuck agent. Neither method raises for a member that cannot answer; each emits a Consulted."""

    async def ask_three(self, dossier: Dossier, emit: Emit, *, by_hand: bool = False) -> Consultation:
        """Get two opinions and a judgement."""
        ...

    async def ask_boss(
        self, dossier: Dossier, earlier: Sequence[Consultation], emit: Emit, *, by_hand: bool = False
    ) -> Consultation:
        """Ask the boss, who sees the `earlier` advice."""
        ...
