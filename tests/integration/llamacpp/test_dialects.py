"""The choice of the dialect at llama.cpp's real server: its own words decide, and its grammar holds."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import msgspec
import pytest

from localllm.agent.panel.verdict import verdict_schema
from localllm.base.errors import LLMConnectionError
from localllm.base.events import Json
from localllm.llm.client import LLMClient
from localllm.llm.messages import Completion, SystemMessage, UserMessage
from localllm.llm.tool_calling.router import DialectSetting, Question, Speaking
from tests.support.dialects import REQUEST, TOOLS
from tests.support.llama import Served

pytestmark = pytest.mark.anyio


@asynccontextmanager
async def talking(served: Served, setting: DialectSetting = "auto") -> AsyncIterator[tuple[LLMClient, str]]:
    """A client, and the dialect it speaks."""
    speaking = Speaking(setting)
    async with served.provider() as provider:
        client = LLMClient(provider, max_tokens=500, temperature=0.8, max_retries=0, speaking=speaking)
        request = msgspec.structs.replace(REQUEST, model=await client.resolve_model())
        question = Question(provider, client.info, request, lambda _: None)
        yield client, speaking.dialect(question).name


async def ask(client: LLMClient, text: str) -> Completion:
    return await client.complete((SystemMessage("Be brief."), UserMessage(text)), TOOLS)


async def test_a_judge_is_held_to_the_form_of_a_verdict(toolless: Served, caller: Served) -> None:
    for served in (toolless, caller):
        async with talking(served) as (client, _):
            asked = (SystemMessage("Judge."), UserMessage("Which is better?"))
            said = (await client.complete(asked, schema=verdict_schema())).message.text
        assert said.lstrip().startswith("{")
        assert '"verdict"' in said


@pytest.mark.parametrize("number", range(8))
async def test_a_template_that_knows_no_tools_gets_steps_that_always_parse(toolless: Served, number: int) -> None:
    async with talking(toolless) as (client, dialect):
        assert (client.info.abilities, dialect) == (frozenset(), "structured")
        try:
            done = await ask(client, f"Look at number {number}")
        except LLMConnectionError as error:
            if error.key != "llm_empty":  # a final answer without a word is a step as well
                raise
            return
    assert done.finish_reason in ("stop", "length")
    for call in done.message.tool_calls:
        assert call.name in {tool.name for tool in TOOLS}
        if done.finish_reason == "stop":
            msgspec.json.decode(call.arguments, type=dict[str, Json])
    assert '"action"' not in done.message.text


async def test_a_template_that_knows_tools_is_spoken_to_natively(caller: Served) -> None:
    async with talking(caller) as (_, dialect):
        assert dialect == "native"


async def test_plain_text_is_taken_by_every_model(small: Served) -> None:
    async with talking(small, "text") as (client, dialect):
        assert dialect == "text"
        assert (await ask(client, "Tell me")).message.text
