"""Each kind of file gives its text with its places, or the reason why not."""

import asyncio
import os
from pathlib import Path

import pytest

from localllm.rag import file_blocks
from localllm.rag.chunking import Block
from localllm.rag.document_files import listed_files, real_roots
from localllm.rag.file_blocks import SkippedError, read_blocks, read_content


def blocks(folder: Path, name: str, data: bytes) -> list[Block]:
    return asyncio.run(read_blocks(folder / name, data))


def test_a_web_page_has_its_titles(tmp_path: Path) -> None:
    html = b"<title>Pumps</title><nav>Home</nav><h1>Pumps</h1><p>They run.</p><h2>Care</h2><p>Wash.</p>"
    found = blocks(tmp_path, "a.html", html)
    assert [(block.text, block.headings) for block in found][-1] == ("Wash.", ("Pumps", "Care"))
    assert not any("Home" in block.text for block in found)


def test_a_huge_file_is_not_read(tmp_path: Path) -> None:
    with (tmp_path / "huge.pdf").open("wb") as file:
        file.truncate(500_000_000)
    with pytest.raises(SkippedError) as caught:
        read_content(tmp_path / "huge.pdf")
    assert (caught.value.reason, caught.value.detail) == ("large", "500 MB")


def test_a_file_that_changes_while_it_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "log.txt"
    file.write_text("one")
    fstat = os.fstat

    def touched(fd: int) -> os.stat_result:
        result = fstat(fd)
        file.write_text(file.read_text() + "x")
        return result

    monkeypatch.setattr(file_blocks.os, "fstat", touched)
    with pytest.raises(SkippedError) as caught:
        read_content(file)
    assert caught.value.reason == "changing"


def test_folders_are_listed_by_the_rules_of_the_repository(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / ".gitignore").write_text("*.log\n")
    docs = tmp_path / "docs"
    (docs / "deep").mkdir(parents=True)
    for name in ("a.md", "b.log", "deep/c.md"):
        (docs / name).write_text("text")
    (docs / "link.md").symlink_to(docs / "a.md")
    (docs / "node_modules").mkdir()
    (docs / "node_modules" / "x.md").write_text("text")
    roots = real_roots([docs, docs / "deep", docs / "b.log"], tmp_path)
    assert roots == [docs]
    assert [one.file for one in listed_files(roots, lambda _root: ["node_modules"])] == ["docs/a.md", "docs/deep/c.md"]
    assert [one.file for one in listed_files([docs / "b.log"], lambda _root: [])] == ["b.log"]
