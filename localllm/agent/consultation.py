"""Consultations on the user's request: prepare the conversation for the panel or the boss."""

from collections.abc import Sequence
from typing import Literal

from localllm.agent.history import History
from localllm.agent.panel.dossier import Read, cut_middle, make_dossier
from localllm.agent.panel.multi_agent import MultiAgentSystem
from localllm.agent.panel.records import Attempt, Consultation, Dossier
from localllm.agent.react_agent import ReActAgent
from localllm.base.errors import LLMConnectionError
from localllm.base.events import Emit
from localllm.llm.messages import AssistantMessage, ToolSpec

_SAID_TOKENS = 80
_EARLIER = 2
"""Number of earlier consultations shown to the boss."""


async def consult(
    panel: MultiAgentSystem, kind: Literal["panel", "boss"], question: str, agent: ReActAgent, emit: Emit
) -> None:
    """Have the panel or the boss answer `question` in the context of the agent's conversation. The agent's model reads
    the plan with its next request. Raises LLMConnectionError panel_no_model if no role has a model."""
    if not panel.llm_clients:
        raise LLMConnectionError("panel_no_model")
    history = agent.history
    can_go_on = history.is_answered and not history.open_calls
    tools = agent.tool_system.specs() if can_go_on else None
    dossier = dossier_by_hand(question, history, agent.ladder.attempts, agent.read_now, tools)
    if kind == "boss":
        earlier = [Consultation(plan=event.plan) for event in panel.consultation_history[-_EARLIER:]]
        given = await panel.ask_boss(dossier, earlier, emit, by_hand=True)
    else:
        given = await panel.ask_three(dossier, emit, by_hand=True)
    if given.plan:
        agent.offer(
            (
                ("The person asked a more experienced model: “{question}” Its advice, for your information:\n{plan}")
                if kind == "boss"
                else ("The person asked a panel of other models: “{question}” Its plan, for your information:\n{plan}")
            ).format(question=question, plan=given.plan)
        )


def dossier_by_hand(
    question: str,
    history: History,
    attempts: Sequence[Attempt] = (),
    read: Read | None = None,
    tools: Sequence[ToolSpec] | None = None,
) -> Dossier:
    """Create a dossier with the question as goal: the conversation's subject, the failures of its last run, and its
    files with their current text from `read`. `tools`: see make_dossier."""
    return make_dossier(
        question, _situation(history), attempts, history.messages, unsolved=True, read=read, tools=tools
    )


def _situation(history: History) -> str:
    """Summarise what the user and the agent said last."""
    texts = (message.text.strip() for message in reversed(history.messages) if isinstance(message, AssistantMessage))
    answer = next(filter(None, texts), "")
    if not answer:
        return "The person asks, before anything was done."
    said = cut_middle(history.words[-1], _SAID_TOKENS) if history.words else "—"
    return (
        "The person asks, in the middle of a conversation with the agent.\n"
        f"The person said last: {said}\n"
        f"The agent said last: {cut_middle(answer, _SAID_TOKENS)}"
    )
