"""Embeddings over a real HTTP server: abilities are probed, limits found, another model is noticed, words go on."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from localllm.base.errors import KnowledgeBaseUsageError, LLMConnectionError
from localllm.base.i18n import Phrase
from localllm.config.rag_settings import RagSettings
from localllm.config.schema import LLMSettings, OpenAISettings, Settings
from localllm.llm.discovery.servers import Server
from localllm.rag.embedder_selection import embedder_for_ingest, embedder_for_search
from localllm.rag.embedding import prefixes
from localllm.rag.language_probe import judge, script_of
from localllm.rag.records import Embedder
from tests.support.embedding_server import MODEL, EmbeddingServer

NAME = f"openai:{MODEL}"


@pytest.fixture
def server() -> Iterator[EmbeddingServer]:
    with EmbeddingServer() as running:
        yield running


def settings(server: EmbeddingServer, provider: str = "openai", model: str = "") -> Settings:
    rag = RagSettings(embedding_provider=provider, embedding_model=model)
    return Settings(rag=rag, llm=LLMSettings(provider="openai", openai=OpenAISettings(base_url=server.url)))


def test_an_embedder_that_is_set_and_cannot_be_used_is_an_error(server: EmbeddingServer, tmp_path: Path) -> None:
    server.broken = True
    with pytest.raises(KnowledgeBaseUsageError) as caught:
        asyncio.run(embedder_for_ingest(settings(server, model=MODEL), tmp_path, {}))
    assert caught.value.key == "rag_embedder_unusable"
    selected = asyncio.run(embedder_for_ingest(settings(server, "auto"), tmp_path, {}))
    assert selected.embedder is None
    assert selected.remark
    assert NAME in selected.remark.english


def test_another_person_s_server_embeds_only_where_there_is_no_other(
    server: EmbeddingServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def found(url: str, *, is_of_another: bool = False) -> Server:
        return Server(base_url=url, provider="openai", state="ready", is_of_another=is_of_another)

    async def selected(*servers: Server) -> int:
        async def discovered(*_: object) -> list[Server]:
            return list(servers)

        monkeypatch.setattr("localllm.llm.discovery.scan.discover", discovered)
        own.asked.clear()
        theirs.asked.clear()
        embedder = (await embedder_for_ingest(Settings(), tmp_path, {})).embedder
        assert embedder
        await embedder.aclose()
        return len(theirs.asked)

    own = server
    with EmbeddingServer() as theirs:
        of_another = found(theirs.url, is_of_another=True)
        assert asyncio.run(selected(of_another, found(own.url))) == 0
        assert own.asked
        assert asyncio.run(selected(of_another)) > 0


def test_a_collection_is_searched_with_a_server_that_offers_its_model(
    server: EmbeddingServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def discovered(*_: object) -> list[Server]:
        return [Server(base_url=server.url, provider="openai", state="ready")]

    async def embedded(recorded: Embedder, settings: Settings) -> Phrase | None:
        selected = await embedder_for_search(settings, tmp_path, {"OPENAI_API_KEY": "sk-secret"}, recorded)
        if selected.embedder:
            await selected.embedder.embed_query("words")
            await selected.embedder.aclose()
        return selected.remark

    monkeypatch.setattr("localllm.llm.discovery.scan.discover", discovered)
    assert asyncio.run(embedded(Embedder(NAME, 0), Settings())) is None
    assert server.asked == [["words"]]
    assert asyncio.run(embedded(Embedder("openai:other", 0), Settings())) is not None
    assert asyncio.run(embedded(Embedder(f"ollama:{MODEL}", 0), Settings())) is not None
    server.asked.clear()
    named = settings(server, "auto")
    monkeypatch.setattr("localllm.llm.discovery.scan.discover", None)
    assert asyncio.run(embedded(Embedder(NAME, 0), named)) is None
    assert server.asked == [["words"]]


def test_batches_and_texts_are_made_as_small_as_the_server_wants(tmp_path: Path) -> None:
    async def run() -> list[list[str]]:
        with EmbeddingServer(longest=400, most=5) as server:
            selected = await embedder_for_ingest(settings(server), tmp_path, {})
            assert selected.embedder
            server.asked.clear()
            texts = ["word " * 200, *(f"text {number}" for number in range(12))]
            vectors = await selected.embedder.embed_passages(texts)
            assert vectors[1:] == [tuple(server.vector(text)) for text in texts[1:]]
            await selected.embedder.aclose()
            return server.asked

    asked = asyncio.run(run())
    assert sum(len(texts) for texts in asked if len(texts) <= 5 and max(map(len, texts)) <= 400) == 13


def test_an_error_that_is_not_of_length_is_raised(server: EmbeddingServer, tmp_path: Path) -> None:
    async def run() -> None:
        selected = await embedder_for_ingest(settings(server), tmp_path, {})
        assert selected.embedder
        await server_gone(server, selected.embedder)

    async def server_gone(server: EmbeddingServer, embedder: object) -> None:
        server.longest = 0
        with pytest.raises(LLMConnectionError):
            await embedder.embed_passages(["text"])  # type: ignore[attr-defined]
        await embedder.aclose()  # type: ignore[attr-defined]

    asyncio.run(run())


@pytest.mark.parametrize(
    ("model", "query", "passage"),
    [
        ("intfloat/multilingual-e5-large", "query: ", "passage: "),
        ("nomic-embed-text:latest", "search_query: ", "search_document: "),
        ("cl-nagoya/ruri-v3-310m", "検索クエリ: ", "検索文書: "),
        ("embeddinggemma:300m", "task: search result | query: ", "title: none | text: "),
        ("bge-m3", "", ""),
    ],
)
def test_known_models_have_their_prefixes(model: str, query: str, passage: str) -> None:
    assert prefixes(model) == (query, passage)


def test_a_model_that_finds_no_answers_is_not_trusted() -> None:
    same = [[1.0, 0.0]] * 4
    assert judge(same, same).trust == 0
    apart = [[float(at == one) for at in range(4)] for one in range(4)]
    assert judge(apart, apart).trust == 1
    assert 0 < judge(apart, apart).similar < 1
    assert judge(apart, apart).unrelated == 0
    crowded = [[3.0, *row] for row in apart]
    assert judge(crowded, crowded).unrelated == 0.9
    assert 0.9 < judge(crowded, crowded).similar < 1


def test_the_script_of_a_query() -> None:
    assert script_of("error 404 とは何ですか") == "japanese"
    assert script_of("What is パスワード reset in the settings menu?") == "latin"
