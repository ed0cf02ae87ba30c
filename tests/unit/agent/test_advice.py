"""The panel is made when it is first asked, once, and what was not made has nothing to forget or to close."""

from pathlib import Path

import pytest

from localllm.agent.advice import Panel
from localllm.agent.panel.multi_agent import MultiAgentSystem
from localllm.agent.panel.records import Dossier
from localllm.base.events import AgentEvent, Consulted
from localllm.config.schema import Settings
from localllm.llm.client import LLMClient
from tests.support.agents import scripted

pytestmark = pytest.mark.anyio


async def test_it_is_made_once_and_only_if_asked(tmp_path: Path) -> None:
    made: list[MultiAgentSystem] = []
    client = LLMClient(scripted("one", "two", "three", "four"), model="m", max_retries=0)

    def make() -> MultiAgentSystem:
        made.append(MultiAgentSystem(client, Settings(), tmp_path, {}))
        return made[-1]

    panel = Panel(make)
    panel.forget()
    await panel.aclose()
    assert made == []
    told: list[AgentEvent] = []
    dossier = Dossier(goal="g", problem="p")
    await panel.ask_three(dossier, told.append)
    await panel.ask_boss(dossier, [], told.append)
    assert [event.kind for event in told if isinstance(event, Consulted)] == ["panel", "boss"]
    (system,) = made
    assert len(system.consultation_history) == 2
    panel.forget()
    assert system.consultation_history == []
    await panel.aclose()
