"""Documents of collections as sources of a run, over the real engine."""

import asyncio
from pathlib import Path

import pytest

from localllm.base.errors import KnowledgeBaseUsageError
from localllm.config.schema import Settings
from localllm.rag.knowledge_base import KnowledgeBase
from localllm.research.collection_documents import CollectionDocuments
from localllm.research.local_documents import JoinedDocuments, LocalDocuments


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    folder = tmp_path / "project" / "docs"
    folder.mkdir(parents=True)
    (folder / "pump.md").write_text("# Pump\n\nThe pump has a warranty of two years.\n\n## Care\n\nOil it.\n")
    (folder / "休暇.md").write_text("# 休暇\n\n有給休暇は年に十日です。\n", encoding="utf-8")
    return folder


@pytest.fixture
def knowledge(tmp_path: Path, docs: Path) -> KnowledgeBase:
    knowledge = KnowledgeBase(Settings(), tmp_path / "project", {"LOCALLLM_DATA_DIR": str(tmp_path / "data")})
    asyncio.run(knowledge.ingest([docs], "manuals"))
    return knowledge


def test_the_whole_text_of_a_document_whose_passage_fits(knowledge: KnowledgeBase, docs: Path) -> None:
    found = asyncio.run(CollectionDocuments(knowledge, ["manuals"]).search("warranty of the pump", 5))
    assert [(one.path, one.title) for one in found] == [(docs / "pump.md", "docs/pump.md")]
    assert "two years" in found[0].text
    assert "Oil it." in found[0].text


def test_a_document_that_is_gone_is_left_out_and_said(knowledge: KnowledgeBase, docs: Path) -> None:
    documents = CollectionDocuments(knowledge, ["manuals"])
    (docs / "pump.md").unlink()
    assert asyncio.run(documents.search("warranty of the pump", 5)) == []
    assert documents.remarks[0].params == {"file": "docs/pump.md"}


def test_a_collection_there_is_not_is_an_error_before_anything(knowledge: KnowledgeBase) -> None:
    with pytest.raises(KnowledgeBaseUsageError, match="none"):
        CollectionDocuments(knowledge, ["none"])


@pytest.mark.parametrize("name", ["docs", "docs/pump.md"])
def test_what_took_the_place_of_a_document_is_not_read(
    knowledge: KnowledgeBase, docs: Path, tmp_path: Path, name: str
) -> None:
    place = tmp_path / "project" / name
    place.rename(tmp_path / "elsewhere")
    place.symlink_to(tmp_path / "elsewhere")
    documents = CollectionDocuments(knowledge, ["manuals"])
    assert asyncio.run(documents.search("warranty of the pump", 5)) == []
    assert documents.remarks[0].params == {"file": "docs/pump.md"}


def test_documents_of_several_places_come_in_turn_and_once(knowledge: KnowledgeBase, docs: Path) -> None:
    joined = JoinedDocuments([LocalDocuments([docs]), CollectionDocuments(knowledge, ["manuals"])])
    found = asyncio.run(joined.search("warranty pump 有給休暇", 5))
    assert sorted(one.path.name for one in found) == ["pump.md", "休暇.md"]
