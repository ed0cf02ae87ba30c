"""The chat model's help: an order of passages, a description; and none where its answer is of no use."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from localllm.config.schema import LLMSettings, LMStudioSettings
from localllm.llm.factory import make_client
from localllm.rag.chat_model import ChatModel
from localllm.rag.records import Hit, Scores
from tests.support.wire_server import Reply, WireServer, fails, says

pytestmark = pytest.mark.anyio

HITS = [Hit(collection="c", path=f"/{name}", file=name, text=name * 9, scores=Scores(0.5)) for name in ("a", "b", "c")]


@asynccontextmanager
async def model_saying(*turns: Reply) -> AsyncIterator[tuple[ChatModel, WireServer]]:
    with WireServer(list(turns), models=("m",)) as server:
        settings = LLMSettings(provider="lmstudio", lmstudio=LMStudioSettings(base_url=server.url), max_retries=0)
        client = make_client(settings, Path(), {})
        try:
            yield ChatModel(client), server
        finally:
            await client.aclose()


async def test_passages_stand_as_the_model_orders_them_without_those_that_do_not_help() -> None:
    async with model_saying(says('{"scores": [1, 0, 3]}')) as (model, server):
        hits, remark = await model.rerank("what?", HITS)
        asked = server.bodies()[-1]
    assert [(hit.file, hit.scores.rerank) for hit in hits] == [("c", 1.0), ("a", 1 / 3)]
    assert remark is None
    assert "[2] bbbbbbbbb" in asked["messages"][-1]["content"]
    assert asked["temperature"] == 0


@pytest.mark.parametrize(
    "reply", [says("I would say the first."), says('{"scores": [1, 2]}'), says('{"scores": ["x"]}'), fails(500)]
)
async def test_an_answer_of_no_use_changes_nothing_and_is_said(reply: Reply) -> None:
    async with model_saying(reply) as (model, _server):
        hits, remark = await model.rerank("what?", HITS)
    assert hits == HITS
    assert remark is not None


async def test_a_description_is_one_line() -> None:
    async with model_saying(says('```json\n{"description": "Manuals of\\n pumps."}\n```')) as (model, _server):
        assert await model.describe("Titles:\n- Pumps") == "Manuals of pumps."


@pytest.mark.parametrize(
    ("said", "description"),
    [
        ("Meeting notes, onboarding and travel policy.", "Meeting notes, onboarding and travel policy."),
        ('**Description:** "Manuals of pumps and their parts."\n', "Manuals of pumps and their parts."),
        ("会議の記録と出張の規則。", "会議の記録と出張の規則。"),
        ("I cannot describe these documents.", ""),
        ("Here is a description of the documents:", ""),
        ("Notes of meetings.\nAsk about dates.", ""),
        ("申し訳ありませんが、わかりません。", ""),
        ("word " * 36, ""),
        ('{"text": "Manuals of the pumps"}', ""),
    ],
)
async def test_a_sentence_alone_is_a_description(said: str, description: str, caplog: pytest.LogCaptureFixture) -> None:
    async with model_saying(says(said)) as (model, _server):
        assert await model.describe("Titles:\n- Pumps") == description
    assert ("the model's description could not be read" in caplog.text) is (not description)


@pytest.mark.parametrize("reply", [says("Manuals."), says(json.dumps({"description": "x" * 500})), fails(500)])
async def test_without_a_usable_one_there_is_none(reply: Reply) -> None:
    async with model_saying(reply) as (model, _server):
        assert await model.describe("Titles:\n- Pumps") == ""
