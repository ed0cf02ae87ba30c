"""Questions by people who do not know the documents' words, to three collections, searched by words alone: a bound on
what is found, so that it does not get worse unseen. What it is with vectors: docs/rag.md."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest

from localllm.config.rag_settings import RagSettings
from localllm.config.schema import Settings
from localllm.rag.knowledge_base import KnowledgeBase
from localllm.rag.records import Found, Hit

ROOT = Path(__file__).resolve().parents[2]
FIXTURES = ROOT / "tests" / "fixtures" / "spoken_questions"

pytestmark = pytest.mark.timeout(240)  # a thousand passages are taken in


class Question(msgspec.Struct, frozen=True):
    id: str
    question: str
    collection: str | None
    expected: tuple[str, ...]
    fact: str
    kind: str

    def is_answered_in(self, hit: Hit) -> bool:
        return any(name.endswith(hit.file) for name in self.expected)


QUESTIONS = [
    msgspec.json.decode(line, type=Question) for line in (FIXTURES / "questions.jsonl").read_text("utf-8").splitlines()
]


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Found]:
    folder = tmp_path_factory.mktemp("knowledge")
    settings = Settings(rag=RagSettings(embedding_provider="none"))

    async def ask() -> dict[str, Found]:
        async with KnowledgeBase(settings, folder, {"LOCALLLM_DATA_DIR": str(folder)}) as knowledge:
            for name in ("ja_product", "en_hr"):
                await knowledge.ingest([FIXTURES / name], name)
            await knowledge.ingest([ROOT / "localllm" / "llm", ROOT / "localllm" / "base"], "code")
            return {one.id: await knowledge.search(one.question) for one in QUESTIONS}

    return asyncio.run(ask())


def of_kind(*kinds: str) -> Sequence[Question]:
    return [one for one in QUESTIONS if one.kind in kinds]


def test_the_expected_files_are_there() -> None:
    missing = [
        name
        for one in QUESTIONS
        for name in one.expected
        if not ((FIXTURES if one.collection != "code" else ROOT) / name).is_file()
    ]
    assert missing == []


def test_what_is_named_is_found(answers: dict[str, Found]) -> None:
    """By a code, an identifier, or the documents' own words, typing errors included."""
    asked = of_kind("direct", "identifier", "error-code", "typo")
    found = [one.id for one in asked if any(map(one.is_answered_in, answers[one.id].hits))]
    assert len(asked) == 10
    assert len(found) >= 8, found


def test_of_what_is_said_in_other_words_some_is_found_and_more_is_pointed_to(answers: dict[str, Found]) -> None:
    asked = of_kind("paraphrase", "exploring")
    found = [one.id for one in asked if any(map(one.is_answered_in, answers[one.id].hits))]
    near = [one.id for one in asked if any(map(one.is_answered_in, answers[one.id].nearest))]
    assert len(asked) == 20
    assert len(found) >= 2, found
    assert len(found) + len(near) >= 8, (found, near)


def test_what_nobody_answers_finds_nothing(answers: dict[str, Found]) -> None:
    asked = of_kind("unanswerable")
    answered = [one.id for one in asked if answers[one.id].hits]
    assert len(asked) == 12
    assert len(answered) <= 1, answered
