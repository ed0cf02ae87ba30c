"""Documents in folders: found, and read without following what took their place."""

import asyncio
import os
from pathlib import Path

import pytest

from localllm.base.errors import ResearchUsageError
from localllm.research import local_documents
from localllm.research.local_documents import LocalDocuments, read_document
from tests.support.word_files import make_docx
from tests.support.workbooks import make_workbook, table


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "docs"
    (folder / "deep").mkdir(parents=True)
    (folder / "pump.md").write_text("# The pump\n\nThe pump has a warranty of two years.\n")
    (folder / "deep/valve.txt").write_text("A valve\x1b[31m closes the pump.\n")
    (folder / "other.bin").write_text("pump")
    return folder


def search(folder: Path, query: str) -> list[str]:
    return [one.path.name for one in asyncio.run(LocalDocuments([folder]).search(query, 10))]


def test_they_are_found_best_first_and_cleaned(folder: Path) -> None:
    documents = LocalDocuments([folder])
    found = asyncio.run(documents.search("warranty of the pump", 10))
    assert [one.path for one in found] == [folder / "pump.md", folder / "deep/valve.txt"]
    assert found[0].title == "The pump"
    assert "\x1b" not in found[1].text
    assert not documents.remarks


def test_what_took_the_place_of_a_document_is_not_read(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder.parent / "secret.md").write_text("The pump of the secret.")
    (folder.parent / "deep").mkdir()
    (folder.parent / "deep/valve.txt").write_text("The valve of the secret.")

    def listed(documents: LocalDocuments) -> list[tuple[Path, str]]:
        del documents
        return [(folder, "pump.md"), (folder, "deep/valve.txt")]

    monkeypatch.setattr(LocalDocuments, "_files", listed)
    (folder / "pump.md").unlink()
    (folder / "pump.md").symlink_to(folder.parent / "secret.md")
    (folder / "deep").rename(folder / "elsewhere")
    (folder / "deep").symlink_to(folder.parent / "deep")
    documents = LocalDocuments([folder])
    assert asyncio.run(documents.search("secret pump valve", 10)) == []
    said = documents.remarks[0].plural.format(**documents.remarks[0].params)
    assert "2 documents could not be read: pump.md, valve.txt" in said
    assert "…" not in said, "all of them are named"


def test_office_files_and_tables_are_read(folder: Path) -> None:
    (folder / "rules.docx").write_bytes(
        make_docx(("Heading1", "Travel"), ("Normal", "A hotel costs at most 120 euros."))
    )
    (folder / "plan.xlsx").write_bytes(make_workbook({"May": table("Item,Budget", "Conference,900")}))
    (folder / "staff.csv").write_text("Name,Town\nSato,Osaka\n")
    documents = LocalDocuments([folder])
    for query, name, text in (
        ("hotel", "rules.docx", "120"),
        ("conference", "plan.xlsx", "900"),
        ("Sato", "staff.csv", "Osaka"),
    ):
        (found,) = asyncio.run(documents.search(query, 10))
        assert found.path.name == name
        assert text in found.text
    assert not documents.remarks


def test_documents_that_cannot_be_read_are_counted_by_kind(folder: Path) -> None:
    (folder / "broken.docx").write_bytes(b"PK no archive")
    for name in ("a.pptx", "deep/b.PPTX", "c.odt"):
        (folder / name).write_bytes(b"x")
    documents = LocalDocuments([folder])
    asyncio.run(documents.search("pump", 10))
    assert [one.plural.format(**one.params) for one in documents.remarks] == [
        "1 documents could not be read: broken.docx.",
        "3 documents of kinds that are not read were left out (.pptx 2, .odt 1).",
    ]


def test_of_many_kinds_that_are_not_read_the_most_frequent_are_named(folder: Path) -> None:
    for kind in ("doc", "xls", "ppt", "rtf", "epub", "msg"):
        (folder / f"a.{kind}").write_bytes(b"x")
    documents = LocalDocuments([folder])
    asyncio.run(documents.search("pump", 10))
    assert documents.remarks[0].params["count"] == 6
    assert str(documents.remarks[0].params["kinds"]).endswith(" 1, …")


def test_a_pipe_is_not_waited_for(folder: Path) -> None:
    (folder / "pump.md").unlink()
    os.mkfifo(folder / "pump.md")
    with pytest.raises(OSError, match="regular"):
        asyncio.run(read_document(folder, "pump.md"))


def test_no_more_is_held_than_there_is_room_for(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local_documents, "_LONGEST_TOGETHER", 60)
    documents = LocalDocuments([folder])
    assert len(asyncio.run(documents.search("pump", 10))) == 1
    assert documents.remarks[0].params == {"most": 1}


def test_a_folder_may_be_a_link_of_the_users(folder: Path) -> None:
    (folder.parent / "link").symlink_to(folder)
    assert search(folder.parent / "link", "warranty") == ["pump.md"]


def test_a_link_that_leads_out_of_the_project_is_not_followed(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "project").mkdir()
    (tmp_path / "project/docs").symlink_to(folder)
    with pytest.raises(ResearchUsageError) as caught:
        LocalDocuments([tmp_path / "project/docs"], tmp_path / "project")
    assert caught.value.key == "research_link_out"
    assert LocalDocuments([folder], tmp_path / "project")
    assert LocalDocuments([tmp_path / "project/docs"], tmp_path / "other")
