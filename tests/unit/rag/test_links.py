"""Links that came with a project, or that a command made meanwhile, lead an ingest nowhere outside."""

import asyncio
from pathlib import Path

import pytest

from localllm.base.errors import KnowledgeBaseUsageError
from localllm.config.rag_settings import RagSettings
from localllm.config.schema import Settings
from localllm.rag.knowledge_base import KnowledgeBase
from localllm.rag.records import IngestEvent

SECRET = "The vault combination is zanzibar."


@pytest.fixture
def knowledge(tmp_path: Path) -> KnowledgeBase:
    (tmp_path / "project/docs").mkdir(parents=True)
    (tmp_path / "project/docs/note.md").write_text("The pump has a warranty of two years.\n")
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret/note.md").write_text(f"{SECRET}\n")
    settings = Settings(rag=RagSettings(embedding_provider="none"))
    return KnowledgeBase(settings, tmp_path / "project", {"LOCALLLM_STATE_DIR": str(tmp_path / "state")})


@pytest.mark.parametrize("swapped", ["docs", "docs/deep"])
def test_a_folder_that_becomes_a_link_meanwhile_is_not_read_through(
    knowledge: KnowledgeBase, tmp_path: Path, swapped: str
) -> None:
    folder = tmp_path / "project" / swapped
    folder.mkdir(exist_ok=True)
    (folder / "note.md").write_text("The pump has a warranty of two years.\n")

    def on_event(event: IngestEvent) -> None:
        if event.kind == "listed":
            folder.rename(tmp_path / "project/elsewhere")
            folder.symlink_to(tmp_path / "secret")

    report = asyncio.run(knowledge.ingest([tmp_path / "project/docs"], "docs", on_event))
    assert "unreadable" in {one.reason for one in report.skipped}
    if report.indexed:
        assert asyncio.run(knowledge.search("vault combination", "docs")).hits == ()


@pytest.mark.parametrize("named", ["docs", "deep/docs/below", "deep/docs/note.md"])
@pytest.mark.parametrize("in_project", [False, True])
def test_a_link_that_leads_out_of_the_project_is_said_and_not_followed(
    knowledge: KnowledgeBase, tmp_path: Path, named: str, in_project: bool
) -> None:
    project = tmp_path / "project"
    (project / "docs").rename(project / "elsewhere")
    (project / "deep").mkdir()
    for link in (project / "docs", project / "deep/docs"):
        link.symlink_to(tmp_path / "secret")
    (tmp_path / "secret/below").mkdir()
    with pytest.raises(KnowledgeBaseUsageError) as caught:
        asyncio.run(knowledge.ingest([project / named], "docs", in_project=in_project))
    assert caught.value.key == "rag_link_out"
    assert str(tmp_path / "secret") in str(caught.value)
    assert knowledge.collections() == []


def test_what_is_read_is_judged_not_what_the_path_looks_like(knowledge: KnowledgeBase, tmp_path: Path) -> None:
    """The system goes up from where a link leads, so what looks like docs/secret is tmp_path/secret."""
    project = tmp_path / "project"
    (tmp_path / "deep").mkdir()
    (project / "docs/secret").mkdir()
    (project / "docs/out").symlink_to(tmp_path / "deep")
    with pytest.raises(KnowledgeBaseUsageError) as caught:
        asyncio.run(knowledge.ingest([project / "docs/out/../secret"], "docs"))
    assert caught.value.key == "rag_link_out"


def test_links_of_ones_own_home_are_followed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (tmp_path / "disk").mkdir()
    (tmp_path / "disk/note.md").write_text("The pump has a warranty of two years.\n")
    (home / "Documents").symlink_to(tmp_path / "disk")
    monkeypatch.setenv("HOME", str(home))
    settings = Settings(rag=RagSettings(embedding_provider="none"))
    knowledge = KnowledgeBase(settings, home, {"LOCALLLM_STATE_DIR": str(tmp_path / "state")})
    assert asyncio.run(knowledge.ingest([home / "Documents"], "docs")).indexed == 1


def test_what_lies_outside_and_links_within_are_taken_in(knowledge: KnowledgeBase, tmp_path: Path) -> None:
    project = tmp_path / "project"
    (project / "manuals").symlink_to(project / "docs")
    (tmp_path / "short").symlink_to(tmp_path / "secret")
    report = asyncio.run(knowledge.ingest([project / "manuals", tmp_path / "short"], "docs"))
    assert report.indexed == 2
