"""A collection whose vectors llama.cpp makes: they are stored and searched, texts that are too long for the server
are cut, and one that makes none is said at once. What the tiny model finds alike means nothing."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from localllm.base.errors import KnowledgeBaseUsageError
from localllm.config.rag_settings import RagSettings
from localllm.config.schema import LLMSettings, OpenAISettings, Settings
from localllm.rag.embedder_selection import embedder_for_ingest
from localllm.rag.knowledge_base import KnowledgeBase
from localllm.rag.sparse_vectors import SparseVector
from tests.integration.llamacpp.conftest import ModelFile
from tests.support.embedding_llama import serving_embeddings
from tests.support.llama import Served
from tests.support.tiny_gguf import WIDTH


@pytest.fixture(scope="module")
def embedder(model_file: ModelFile) -> Iterator[str]:
    with serving_embeddings(model_file("plain")) as address:
        yield address


def settings(address: str, provider: str = "openai") -> Settings:
    llm = LLMSettings(provider="openai", openai=OpenAISettings(base_url=address))
    return Settings(llm=llm, rag=RagSettings(embedding_provider=provider, embedding_model="tiny", floor=0.0))


def test_more_passages_than_go_at_once_have_vectors(embedder: str, tmp_path: Path) -> None:
    folder = tmp_path / "docs"
    folder.mkdir()
    rows = [f'{{"text": "the file number {number} is a test of tools"}}' for number in range(70)]
    (folder / "rows.jsonl").write_text("\n".join(rows))

    async def run() -> None:
        async with KnowledgeBase(settings(embedder), tmp_path, {"LOCALLLM_DATA_DIR": str(tmp_path)}) as knowledge:
            report = await knowledge.ingest([folder], "docs")
            recorded = report.collection.embedder
            assert report.chunks == 70
            assert recorded
            assert (recorded.name, recorded.dimension) == ("openai:tiny", WIDTH)
            assert set(recorded.scripts) == {"latin", "japanese"}
            store = knowledge._find("docs")[0]
            with store.reading("docs") as reader:
                found = reader.search(SparseVector((), ()), [1.0] + [0.0] * (WIDTH - 1), 100, 64)
            assert len(found.dense) == 70
            assert all(-1.001 < one.score < 1.001 for one in found.dense)
            assert (await knowledge.search("number 7")).hits

    asyncio.run(run())


def test_a_text_that_is_too_long_for_the_server_is_cut(embedder: str, tmp_path: Path) -> None:
    async def run() -> tuple[int, int]:
        made = (await embedder_for_ingest(settings(embedder), tmp_path, {})).embedder
        assert made
        vectors = await made.embed_passages(["the file", "the file " * 3_000, "a test"])
        await made.aclose()
        return len(vectors), len(vectors[1])

    assert asyncio.run(run()) == (3, WIDTH)


def test_a_server_that_makes_none_is_said_before_anything_is_taken_in(talker: Served, tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("the file")

    async def run() -> None:
        environ = {"LOCALLLM_DATA_DIR": str(tmp_path / "data"), "OPENAI_API_KEY": talker.process.api_key}
        async with KnowledgeBase(settings(talker.address), tmp_path, environ) as knowledge:
            with pytest.raises(KnowledgeBaseUsageError) as caught:
                await knowledge.ingest([tmp_path / "a.md"], "docs")
            assert caught.value.key == "rag_embedder_unusable"
            assert "cannot make embeddings" in caught.value.what
            assert not knowledge.collection("docs").chunks

    asyncio.run(run())
