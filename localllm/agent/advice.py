"""The panel, loaded with the first question to it."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Literal

from localllm.agent.panel.records import Consultation, Dossier
from localllm.agent.react_agent import ReActAgent
from localllm.base.events import Emit

if TYPE_CHECKING:
    from localllm.agent.panel.multi_agent import MultiAgentSystem


class Panel:
    """Whom a stuck agent asks, and the person with /panel and /boss. Made when it is first asked. An Advisers."""

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
        """Ask because the person wants to; the agent's model reads the plan with its next request. Raises
        LLMConnectionError panel_no_model where no role has a model."""
        from localllm.agent.consultation import consult

        await consult(self.system, kind, question, agent, emit)

    def forget(self) -> None:
        """Forget what was advised: the conversation it was for is not gone on with."""
        if self._made is not None:
            self._made.consultation_history.clear()

    async def aclose(self) -> None:
        """Close the connections, if there are any."""
        if self._made is not None:
            await self._made.aclose()

    @property
    def system(self) -> "MultiAgentSystem":
        """The panel itself, made now if it is not there yet."""
        if self._made is None:
            self._made = self._make()
        return self._made
