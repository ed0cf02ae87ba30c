"""Data types of the panel (attempts, dossier, consultation), and the Protocol by which it is asked."""

from collections.abc import Iterable, Sequence
from typing import Protocol

import msgspec

from localllm.base.events import Emit, Opinion, ToolCall
from localllm.base.i18n import N_
from localllm.llm.messages import Message, ToolSpec

ROLE_NAMES = {
    "conservative": N_("conservative"),
    "progressive": N_("progressive"),
    "judge": N_("judge"),
    "boss": N_("boss"),
}


class Attempt(msgspec.Struct, frozen=True):
    """A call and its exact result; `count` equal ones."""

    call: ToolCall
    result: str
    failed: bool
    count: int = 1


def merge_equal(attempts: Iterable[Attempt], *, by_result: bool = False) -> list[Attempt]:
    """Merge equal calls into the last one, with their count and newest result; `by_result`: only those that had the
    same result."""
    found: dict[tuple[str, str, str], Attempt] = {}
    for attempt in attempts:
        key = attempt.call.name, attempt.call.arguments, attempt.result if by_result else ""
        before = found.pop(key, None)
        count = attempt.count + (before.count if before else 0)
        found[key] = msgspec.structs.replace(attempt, count=count)
    return list(found.values())


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
