"""Questions and documents of people who had read nothing of the retrieval, searched by words alone: bounds on what is
found, somewhat below what is (docs/rag.md), so that it does not get worse unseen."""

import asyncio
from itertools import pairwise
from pathlib import Path

import msgspec
import pytest

from localllm.config.rag_settings import RagSettings
from localllm.config.schema import Settings
from localllm.rag.knowledge_base import KnowledgeBase
from localllm.rag.records import Found

ROOT = Path(__file__).resolve().parents[2]
FIXTURES = ROOT / "tests" / "fixtures" / "three_collections"

pytestmark = pytest.mark.timeout(240)  # thousands of passages are taken in


class Question(msgspec.Struct, frozen=True):
    question: str
    collection: str | None
    file: str | None
    fact: str | None

    def is_answered_by(self, found: Found) -> bool:
        return any(
            hit.collection == self.collection
            and hit.file.endswith(f"/{self.file}")
            and flat(self.fact or "") in flat(hit.text)
            for hit in found.hits
        )


class Bounds(msgspec.Struct, frozen=True):
    """At least so many questions lead to the right collection, and to the fact; so many of the others find nothing; of
    so many pairs of questions, asked in one query, both facts are found."""

    collection: int
    fact: int
    refused: int
    both: int


SETS = {
    "storage/questions": Bounds(collection=26, fact=25, refused=8, both=16),
    "till/questions": Bounds(collection=26, fact=23, refused=6, both=13),
    "till/later_questions": Bounds(collection=22, fact=21, refused=3, both=12),
    "till/last_questions": Bounds(collection=21, fact=18, refused=6, both=4),
}


def flat(text: str) -> str:
    return "".join(text.split())


def places(name: str) -> dict[str, Path]:
    folder = (FIXTURES / name).parent
    return {"products": folder / "products", "rules": folder / "rules", "code": ROOT / "localllm"}


def questions(name: str) -> list[Question]:
    return msgspec.json.decode((FIXTURES / f"{name}.json").read_bytes(), type=list[Question])


@pytest.mark.parametrize("name", SETS)
def test_the_facts_are_there(name: str) -> None:
    gone = [
        f"{one.collection}/{one.file} no longer has {one.fact!r}: which line answers {one.question!r} now?"
        for one in questions(name)
        if one.collection and one.file and one.fact
        if flat(one.fact) not in flat((places(name)[one.collection] / one.file).read_text("utf-8"))
    ]
    assert not gone, "\n".join(gone)


@pytest.mark.parametrize("name", SETS)
def test_most_questions_lead_to_their_fact(name: str, tmp_path: Path) -> None:
    settings = Settings(rag=RagSettings(embedding_provider="none"))

    answerable = [one for one in questions(name) if one.collection]
    pairs = {f"{one.question} {two.question}": (one, two) for one, two in pairwise((*answerable, answerable[0]))}

    async def ask() -> dict[str, Found]:
        async with KnowledgeBase(settings, tmp_path, {"LOCALLLM_DATA_DIR": str(tmp_path)}) as knowledge:
            for collection, place in places(name).items():
                await knowledge.ingest([place], collection)
            asked = [*(one.question for one in questions(name)), *pairs]
            return {query: await knowledge.search(query, top_k=5) for query in asked}

    found = asyncio.run(ask())
    unanswered = [one for one in questions(name) if not one.collection]
    astray = [
        one.question
        for one in answerable
        if not (hits := found[one.question].hits) or hits[0].collection != one.collection
    ]
    missed = [one.question for one in answerable if not one.is_answered_by(found[one.question])]
    answered = [one.question for one in unanswered if found[one.question].hits]
    halved = [query for query, pair in pairs.items() if not all(one.is_answered_by(found[query]) for one in pair)]
    bounds = SETS[name]
    assert (len(answerable), len(unanswered)) == (30, 10)
    assert len(answerable) - len(astray) >= bounds.collection, astray
    assert len(answerable) - len(missed) >= bounds.fact, missed
    assert len(unanswered) - len(answered) >= bounds.refused, answered
    assert len(pairs) - len(halved) >= bounds.both, halved
