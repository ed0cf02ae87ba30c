"""Collections whose passages have vectors: what is found, and what is said where there are none."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from localllm.config.rag_settings import RagSettings
from localllm.config.schema import LLMSettings, OpenAISettings, Settings
from localllm.rag.knowledge_base import KnowledgeBase
from tests.support.embedding_server import DIMENSION, MODEL, EmbeddingServer

NAME = f"openai:{MODEL}"


@pytest.fixture
def server() -> Iterator[EmbeddingServer]:
    with EmbeddingServer() as running:
        yield running


@pytest.fixture
def leave(tmp_path: Path) -> Path:
    folder = tmp_path / "hr"
    folder.mkdir()
    (folder / "leave.md").write_text("# Time off\n\nEvery employee has an annual leave of 25 days.\n")
    (folder / "cars.md").write_text("# Cars\n\nCompany cars are parked in the garage.\n")
    return folder


def settings(server: EmbeddingServer, provider: str = "openai", model: str = "") -> Settings:
    rag = RagSettings(embedding_provider=provider, embedding_model=model)
    return Settings(rag=rag, llm=LLMSettings(provider="openai", openai=OpenAISettings(base_url=server.url)))


def base(chosen: Settings, folder: Path) -> KnowledgeBase:
    return KnowledgeBase(chosen, folder, {"LOCALLLM_DATA_DIR": str(folder / "data")})


def test_what_is_said_in_other_words_is_found(server: EmbeddingServer, leave: Path, tmp_path: Path) -> None:
    async def run() -> None:
        async with base(settings(server, "auto"), tmp_path) as knowledge:
            report = await knowledge.ingest([leave], "hr")
            embedder = report.collection.embedder
            assert embedder
            assert (embedder.name, embedder.dimension) == (NAME, DIMENSION)
            assert embedder.scripts == {"latin": 1.0, "japanese": 1.0}
            hit = (await knowledge.search("vacation", "hr")).hits[0]
            assert hit.file == "hr/leave.md"
            assert hit.scores.coverage == 0
            assert hit.scores.dense
            assert hit.scores.dense > embedder.similar["latin"]
            assert (await knowledge.search("quantum chromodynamics", "hr")).hits == ()
        assert server.asked[0] == ["a"]
        assert any(text.startswith("hr/leave.md > Time off\n") for texts in server.asked for text in texts)

    asyncio.run(run())


def test_another_model_leaves_words_alone_and_says_so(server: EmbeddingServer, leave: Path, tmp_path: Path) -> None:
    async def run() -> None:
        async with base(settings(server), tmp_path) as knowledge:
            await knowledge.ingest([leave], "hr")
        with EmbeddingServer("embed-other", dimension=24) as other:
            async with base(settings(other, model="embed-other"), tmp_path) as knowledge:
                found = await knowledge.search("leave of an employee", "hr")
                assert found.hits[0].scores.dense is None
                assert "localllm rag reindex hr" in found.remarks[0].english
                (leave / "new.md").write_text("Bicycles are repaired by the company.\n")
                report = await knowledge.ingest([leave], "hr")
                assert report.remarks == found.remarks
                assert (await knowledge.search("bicycles repaired", "hr")).hits
                report = await knowledge.reindex("hr")
                assert report.collection.embedder
                assert report.collection.embedder.dimension == 24
                found = await knowledge.search("leave of an employee", "hr")
                assert found.hits[0].scores.dense
                assert found.remarks == ()

    asyncio.run(run())


def test_a_dead_server_leaves_words_alone_and_says_so(server: EmbeddingServer, leave: Path, tmp_path: Path) -> None:
    async def run() -> None:
        async with base(settings(server), tmp_path) as knowledge:
            await knowledge.ingest([leave], "hr")
        server.broken = True
        async with base(settings(server), tmp_path) as knowledge:
            found = await knowledge.search("leave of an employee", "hr")
            assert found.hits[0].file == "hr/leave.md"
            assert NAME in found.remarks[0].english

    asyncio.run(run())


def test_a_dead_server_is_asked_once_for_all_that_a_query_asks(
    server: EmbeddingServer, leave: Path, tmp_path: Path
) -> None:
    async def run() -> None:
        async with base(settings(server), tmp_path) as knowledge:
            await knowledge.ingest([leave], "hr")
            await knowledge.ingest([leave], "cars")
        server.broken = True
        server.asked.clear()
        async with base(settings(server), tmp_path) as knowledge:
            found = await knowledge.search("How many days of annual leave are there? Where are company cars parked?")
            assert {hit.file for hit in found.hits} == {"hr/leave.md", "hr/cars.md"}
            assert len(found.remarks) == 2
        assert len(server.asked) == 1

    asyncio.run(run())


def test_a_model_of_a_cloud_is_asked_only_where_the_settings_name_it(leave: Path, tmp_path: Path) -> None:
    cloud = "embed-large:7b-cloud"

    async def run(server: EmbeddingServer) -> None:
        async with base(settings(server, "auto"), tmp_path) as knowledge:
            assert cloud not in str((await knowledge.ingest([leave], "auto")).collection.embedder)
        assert server.asked == []
        async with base(settings(server, model=cloud), tmp_path) as knowledge:
            await knowledge.ingest([leave], "hr")
            assert (await knowledge.search("vacation", "hr")).hits
        asked = len(server.asked)
        async with base(settings(server, "auto"), tmp_path) as knowledge:
            found = await knowledge.search("vacation", "hr")
            assert found.hits == ()
            assert found.remarks, "that it is found by its words alone is said"
        assert len(server.asked) == asked

    with EmbeddingServer(cloud) as server:
        asyncio.run(run(server))
