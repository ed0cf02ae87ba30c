"""The panel on a real server: what its cache keeps of the main conversation."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from localllm.agent.history import with_remark
from localllm.agent.panel.dossier import make_dossier
from localllm.agent.panel.multi_agent import MultiAgentSystem
from localllm.base.events import AgentEvent, Consulted, ToolCall, Usage
from localllm.config.schema import AgentsSettings, PanelSettings, Settings
from localllm.llm.client import LLMClient
from localllm.llm.messages import AssistantMessage, Message, SystemMessage, ToolMessage, ToolSpec, UserMessage
from tests.support.llama import Served

pytestmark = pytest.mark.anyio

TOOLS = (ToolSpec("read_file", "Read a file.", {"type": "object", "properties": {"path": {"type": "string"}}}),)
SENT: tuple[Message, ...] = (
    SystemMessage("You are an agent. " * 40),
    UserMessage("Fix the prices. " * 20),
    AssistantMessage("", (ToolCall("c1", "read_file", '{"path": "prices.py"}'),)),
    ToolMessage("c1", "read_file", "x = 1\n" * 40),
)
ANEW = 40
"""Tokens at the end of a prompt that no later one has: where an answer begins, and the tokens on the border."""


@asynccontextmanager
async def asked(served: Served) -> AsyncGenerator[tuple[LLMClient, MultiAgentSystem]]:
    """A client of the server, whose answers are short, and the panel beside it."""
    async with served.provider() as provider:
        client = LLMClient(provider, model="tiny", max_tokens=20, max_retries=0, temperature=0.0)
        settings = Settings(agents=AgentsSettings(panel=PanelSettings(max_tokens=100)))
        panel = MultiAgentSystem(client, settings, Path(), {})
        yield client, panel
        await panel.aclose()


async def main_request(client: LLMClient, messages: tuple[Message, ...] = SENT) -> Usage:
    return (await client.complete(messages, TOOLS, accepts_empty=True)).usage


async def ask_three(panel: MultiAgentSystem) -> Consulted:
    told: list[AgentEvent] = []
    dossier = make_dossier("Fix the prices.", "The same step.", (), SENT, tools=TOOLS)
    await panel.ask_three(dossier, told.append)
    (event,) = [event for event in told if isinstance(event, Consulted)]
    return event


async def test_one_slot_reads_the_conversation_once(single: Served) -> None:
    async with asked(single) as (client, panel):
        before = await main_request(client)
        event = await ask_three(panel)
        after = await main_request(client, with_remark(SENT, event.plan))
    assert [one.role for one in event.opinions] == ["conservative", "progressive", "judge"]
    assert event.left_out == ()
    assert event.usage.cached_tokens >= 3 * (before.prompt_tokens - ANEW)
    assert after.cached_tokens >= before.prompt_tokens - ANEW


async def test_of_two_slots_one_is_left_to_the_conversation(talker: Served) -> None:
    async with asked(talker) as (client, panel):
        await main_request(client)
        before = {slot["id"]: slot.get("id_task", -1) for slot in await talker.slots()}
        event = await ask_three(panel)
        after = {slot["id"]: slot.get("id_task", -1) for slot in await talker.slots()}
    own = max(before, key=lambda slot: before[slot])
    assert after.pop(own) == before.pop(own)
    assert after != before
    assert event.left_out == ()
