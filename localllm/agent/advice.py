"""Lazy access to the advice panel, which is created with the first question to it."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Literal

from localllm.agent.panel.records import Consultation, Dossier
from localllm.agent.react_agent import ReActAgent
from localllm.base.events import Emit

if TYPE_CHECKING:
    from localllm.agent.panel.multi_agent import MultiAgentSystem


class Panel:
    """An Advisers, asked by a stuck agent, or by the user with /panel and /boss. Created when first asked."""

    def __init__(self, make: "Callable[[], MultiAgentSystem]") -> None:
        self._make = make
        self._made: MultiAgentSystem | None = None

    async def ask_three(self, dossier: Dossier, emit: Emit, *, by_hand: bool = False) -> Consultation:
        """See Advisers."""
        return await self.system.ask_three(dossier, emit, by_hand=by_hand)

    async def ask_boss(
        self, dossier: Dossier, earlier: Sequence[Consultation], emit: Emit, *, by_hand: bool = False
    ) -> Consultation:
        """See Advisers."""
        return await self.system.ask_boss(dossier, earlier, emit, by_hand=by_hand)

    async def consult(self, kind: Literal["panel", "boss"], question: str, agent: ReActAgent, emit: Emit) -> None:
        """Ask on the user's request; the agent's model reads the plan with its next request.
        Raises LLMConnectionError panel_no_model if no role has a model."""
        from localllm.agent.consultation import consult

        await consult(self.system, kind, question, agent, emit)

    def forget(self) -> None:
        """Clear the consultation history, as its conversation is abandoned."""
        if self._made is not None:
            self._made.consultation_history.clear()

    async def aclose(self) -> None:
        """Close the connections, if any."""
        if self._made is not None:
            await self._made.aclose()

    @property
    def system(self) -> "MultiAgentSystem":
        """The panel itself, created on first access."""
        if self._made is None:
            self._made = self._make()
        return self._made
