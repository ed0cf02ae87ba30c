"""Files that a rule closes to reading: nothing of them comes by way of collections or research."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from localllm.config.rag_settings import RagSettings
from localllm.config.schema import SafetySettings, Settings
from localllm.rag.knowledge_base import KnowledgeBase
from localllm.research.collection_documents import CollectionDocuments
from localllm.research.local_documents import LocalDocuments
from localllm.safety import rules
from localllm.safety.closed_files import closed_files
from tests.support.wire_server import WireServer, says
from tests.unit.app.test_app import app_over, state

__all__ = ["state"]

CLOSED = SafetySettings(deny=("read_file(secrets/)",))


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "project/secrets").mkdir(parents=True)
    (tmp_path / "project/secrets/vault.md").write_text("# Vault\n\nThe combination of the vault is zanzibar.\n")
    (tmp_path / "project/pump.md").write_text("# Pump\n\nThe pump has a warranty of two years.\n")
    return tmp_path / "project"


def base(project: Path, safety: SafetySettings) -> KnowledgeBase:
    settings = Settings(rag=RagSettings(embedding_provider="none"), safety=safety)
    environ = {"LOCALLLM_STATE_DIR": str(project.parent / "state")}
    return KnowledgeBase(settings, project, environ, closed=closed_files(safety, project, safety))


def test_what_was_taken_in_before_the_rule_is_found_no_more(project: Path) -> None:
    asyncio.run(base(project, SafetySettings()).ingest([project], "own"))
    assert asyncio.run(base(project, SafetySettings()).search("vault combination")).hits
    found = asyncio.run(base(project, CLOSED).search("vault combination"))
    assert (found.hits, found.nearest) == ((), ())
    assert asyncio.run(base(project, CLOSED).search("warranty of the pump")).hits
    documents = CollectionDocuments(base(project, CLOSED), ["own"])
    assert asyncio.run(documents.search("vault combination", 5)) == []


def test_the_next_ingest_takes_it_out_and_says_so_until_the_rule_is_gone(project: Path) -> None:
    before = asyncio.run(base(project, SafetySettings()).ingest([project], "own")).collection
    assert "Vault" in before.description
    report = asyncio.run(base(project, CLOSED).ingest([project], "own"))
    assert {one.file: one.reason for one in report.skipped} == {"project/secrets/vault.md": "closed"}
    assert "ault" not in report.collection.description
    assert asyncio.run(base(project, SafetySettings()).search("vault combination")).hits == ()
    assert asyncio.run(base(project, SafetySettings()).ingest([project], "own")).indexed == 1


def test_the_rules_are_read_once_a_search_and_once_an_ingest(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(5):
        (project / f"pump{number}.md").write_text(f"# Pump {number}\n\nThe pump has a warranty of two years.\n")
    read: list[object] = []

    def closed_to_reading(settings: SafetySettings, canonical: Callable[[str], str]) -> list[str]:
        read.append(settings)
        return rules.closed_to_reading(settings, canonical)

    monkeypatch.setattr("localllm.safety.closed_files.closed_to_reading", closed_to_reading)
    knowledge = base(project, CLOSED)
    asyncio.run(knowledge.ingest([project], "own"))
    assert len(read) == 1
    assert len(asyncio.run(knowledge.search("warranty of the pump")).hits) > 1
    assert len(read) == 2
    asyncio.run(LocalDocuments([project], project, closed_files(CLOSED, project, CLOSED)).search("warranty", 5))
    assert len(read) == 3


def test_folders_of_research_are_searched_without_it(project: Path) -> None:
    documents = LocalDocuments([project], project, closed_files(CLOSED, project, CLOSED))
    assert asyncio.run(documents.search("vault combination zanzibar", 5)) == []
    assert [one.path.name for one in asyncio.run(documents.search("warranty", 5))] == ["pump.md"]
    assert [one.params["count"] for one in documents.remarks] == [1]


def test_a_rule_of_one_s_own_closes_files_of_other_projects(tmp_path: Path, project: Path) -> None:
    """Each in its own project, also through a link; a rule of the project at hand closes nothing elsewhere."""
    (project / "localllm.toml").touch()
    (project / "linked.md").symlink_to("secrets/vault.md")
    here = tmp_path / "here"
    here.mkdir()
    settings = Settings(rag=RagSettings(embedding_provider="none"))
    environ = {"LOCALLLM_STATE_DIR": str(tmp_path / "state")}
    for own, there in ((SafetySettings(), True), (CLOSED, False)):
        closed = closed_files(CLOSED, here, own)
        assert closed()(str(project / "linked.md")) is not there
        knowledge = KnowledgeBase(settings, here, environ, closed=closed)
        asyncio.run(knowledge.ingest([project], "own"))
        assert bool(asyncio.run(knowledge.search("vault combination")).hits) is there
        assert asyncio.run(knowledge.search("warranty of the pump")).hits


@pytest.mark.anyio
async def test_the_chat_opens_collections_without_it(project: Path) -> None:
    own = base(project, SafetySettings())
    await own.ingest([project], "own")
    await own.aclose()
    with WireServer([says("Fine.")], models=("qwen3-32b",)) as server:
        async with app_over(project, server.url, deny=CLOSED.deny) as app:
            knowledge = app.knowledge()
            assert knowledge
            async with knowledge:
                assert (await knowledge.search("vault combination")).hits == ()
                assert (await knowledge.search("warranty of the pump")).hits
