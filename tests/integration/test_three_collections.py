"""Three collections (a product in Japanese, rules in English, the program's own code), searched by words alone: the
right one is found, the fact is among the five best, and what nobody answers finds nothing."""

import asyncio
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from localllm.config.rag_settings import RagSettings
from localllm.config.schema import Settings
from localllm.rag.knowledge_base import KnowledgeBase
from localllm.rag.records import Found

ROOT = Path(__file__).resolve().parents[2]
FIXTURES = ROOT / "tests" / "fixtures" / "knowledge"
QUESTIONS: dict[str, list[dict[str, Any]]] = tomllib.loads((FIXTURES / "questions.toml").read_text("utf-8"))


@pytest.fixture(scope="module")
def knowledge(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KnowledgeBase]:
    folder = tmp_path_factory.mktemp("knowledge")
    settings = Settings(rag=RagSettings(embedding_provider="none"))
    made = KnowledgeBase(settings, folder, {"LOCALLLM_DATA_DIR": str(folder)})

    async def fill() -> None:
        for name, place in (("product", FIXTURES / "product"), ("hr", FIXTURES / "hr"), ("code", ROOT / "localllm")):
            await made.ingest([place], name)

    asyncio.run(fill())
    yield made
    asyncio.run(made.aclose())


def search(knowledge: KnowledgeBase, ask: str) -> Found:
    return asyncio.run(knowledge.search(ask))


def test_the_collection_and_the_fact_are_found(knowledge: KnowledgeBase) -> None:
    astray: list[str] = []
    missed: list[str] = []
    for one in QUESTIONS["question"]:
        hits = search(knowledge, one["ask"]).hits
        if not hits or hits[0].collection != one["collection"]:
            astray.append(one["ask"])
        if not any(hit.file == one["file"] and one["fact"] in hit.text for hit in hits):
            missed.append(one["ask"])
    assert len(QUESTIONS["question"]) == 30
    assert len(astray) <= 3, astray
    assert len(missed) <= 3, missed


def test_what_nobody_answers_finds_nothing(knowledge: KnowledgeBase) -> None:
    found = {one["ask"]: search(knowledge, one["ask"]).hits for one in QUESTIONS["unanswered"]}
    assert len(found) == 10
    answered = {ask: [(hit.reference, hit.scores.coverage) for hit in hits] for ask, hits in found.items() if hits}
    assert len(answered) <= 1, answered
