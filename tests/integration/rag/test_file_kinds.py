"""Files that a process of its own reads: Word, Excel and PDF, and what cannot be read."""

import asyncio
from pathlib import Path

import pytest

from localllm.documents import workbooks
from localllm.rag import file_blocks
from localllm.rag.chunking import Block
from localllm.rag.file_blocks import SkippedError, read_blocks
from tests.support.pdfs import make_pdf
from tests.support.word_files import make_docx
from tests.support.workbooks import make_workbook, table

_OLD = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"


def blocks(folder: Path, name: str, data: bytes) -> list[Block]:
    return asyncio.run(read_blocks(folder / name, data))


def test_a_word_file_has_titles(tmp_path: Path) -> None:
    data = make_docx(("Heading1", "Rules"), ("Heading2", "Leave"), ("Normal", "Ten days."))
    found = blocks(tmp_path, "rules.docx", data)
    assert [(block.text, block.headings, block.kind) for block in found] == [
        ("# Rules", ("Rules",), "heading"),
        ("## Leave", ("Rules", "Leave"), "heading"),
        ("Ten days.", ("Rules", "Leave"), "heading"),
    ]


def test_a_pdf_has_pages(tmp_path: Path) -> None:
    found = blocks(tmp_path, "a.pdf", make_pdf("The pump runs", "", "The pump stops"))
    assert [(block.text, block.kind, block.first) for block in found] == [
        ("The pump runs", "page", 1),
        ("The pump stops", "page", 3),
    ]


@pytest.mark.parametrize(
    ("name", "data", "reason"),
    [
        ("a.txt", b" \n ", "empty"),
        ("a.dat", b"\x00\x01\x02\x03" * 9, "binary"),
        ("a.pdf", b"%PDF-1.4 broken", "pdf_broken"),
        ("a.pdf", make_pdf("", ""), "pdf_pictures"),
        ("a.docx", b"PK\x03\x04 broken", "docx_broken"),
        ("a.xlsx", b"PK\x03\x04 broken", "workbook_broken"),
        ("a.xls", _OLD + bytes(600), "workbook_old"),
        ("a.xlsx", _OLD + "EncryptedPackage".encode("utf-16-le"), "workbook_locked"),
        ("a.xlsx", make_workbook({"a": table("a,b", "1,2"), "b": ""}), "no_text_column"),
        ("a.xlsx", make_workbook({"a": ""}), "empty"),
        ("a.csv", b"a,b\n1,2\n", "no_text_column"),
        ("a.jsonl", b"{", "bad_table"),
        ("a.ipynb", b"{}", "bad_table"),
    ],
)
def test_what_cannot_be_read_has_a_reason(name: str, data: bytes, reason: str, tmp_path: Path) -> None:
    with pytest.raises(SkippedError) as caught:
        blocks(tmp_path, name, data)
    assert caught.value.reason == reason


def test_too_many_pages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_blocks, "_MOST_PAGES", 2)
    with pytest.raises(SkippedError) as caught:
        blocks(tmp_path, "a.pdf", make_pdf("one", "two", "three"))
    assert (caught.value.reason, caught.value.detail) == ("pdf_pages", "3")


def test_the_sheets_of_a_workbook_have_rows(tmp_path: Path) -> None:
    desk = "Desk,Call the desk on the second floor before noon"
    data = make_workbook({"FAQ": table("Rules of 2026", "", "name,answer", desk), "Sums": table("a,b", "1,2")})
    found = blocks(tmp_path, "faq.xlsx", data)
    assert [(block.text, block.headings, block.kind, block.first) for block in found] == [
        ("Rules of 2026", ("FAQ",), "row", 1),
        ("name: Desk\nanswer: Call the desk on the second floor before noon", ("FAQ", "Desk"), "row", 4),
    ]
    assert {block.sheet for block in found} == {"FAQ"}
    (block,) = blocks(tmp_path, "faq.xlsx", make_workbook({"FAQ": table(",answer,answer", desk, "x,,y")}))[:1]
    assert block.text == "A: Desk\nanswer: Call the desk on the second floor before noon"
    assert (block.headings, block.first, block.sheet) == ((), 2, "")


def test_a_sheet_without_a_header_is_text(tmp_path: Path) -> None:
    note, second = "営業二課は展示会の追加費用のため超過。", "本社は移転の費用を含む。"
    plan = table("部門,責任者", "営業部,佐藤", "開発部,鈴木")
    sheets = {
        "計画": plan,
        "メモ": table(note),
        "注意": table(note, second),
        "様式": table("氏名,所属"),
        "数": table("1,2"),
    }
    found = blocks(tmp_path, "a.xlsx", make_workbook(sheets))
    assert [(block.text, block.sheet, block.first) for block in found[2:]] == [
        (note, "メモ", 1),
        (note, "注意", 1),
        (second, "注意", 2),
        ("氏名 所属", "様式", 1),
    ]
    assert [block.text for block in blocks(tmp_path, "a.xlsx", make_workbook({"メモ": table(note)}))] == [note]


def test_a_workbook_with_too_much_text_is_skipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workbooks, "_MOST_TEXT", 9)
    with pytest.raises(SkippedError) as caught:
        blocks(tmp_path, "a.xlsx", make_workbook({"a": table("name", "Desk", "Chair")}))
    assert caught.value.reason == "workbook_slow"
