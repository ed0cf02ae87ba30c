"""Reading, listing, creating and writing whole files."""

import codecs
import os
import re
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from localllm.base import i18n
from localllm.base.directory_walk import Entry
from localllm.base.errors import SafetyViolationError, ToolExecutionError
from localllm.llm.messages import Image
from localllm.safety.tool_definition import Risk, Tool
from localllm.text.data_formats import new_fault
from localllm.tools.edit import edit_file
from localllm.tools.files import create_file, list_files, read_file, write_file
from localllm.tools.reading import HugeFile
from localllm.tools.text_files import Patience
from tests.support.each import each
from tests.support.pdfs import make_pdf
from tests.support.tools import make_context, preview, put, use
from tests.support.word_files import make_docx
from tests.support.workbooks import make_workbook, table

pytestmark = pytest.mark.anyio


async def refused(tool: Tool, root: Path, **arguments: object) -> str:
    with pytest.raises((ToolExecutionError, SafetyViolationError)) as caught:
        await use(tool, make_context(root), **arguments)
    return caught.value.key


def test_the_risks_are_those_the_person_is_told() -> None:
    assert [tool.risk for tool in (read_file, list_files, create_file, write_file)] == [
        Risk.SAFE,
        Risk.SAFE,
        Risk.MEDIUM,
        Risk.HIGH,
    ]
    assert create_file.writes == write_file.writes == ("file_path",)


# --- read_file


async def test_a_whole_file_is_its_content_headed_by_how_many_lines_it_has(tmp_path: Path) -> None:
    file = put(tmp_path / "src" / "a.py", "def f():\n    return 1\n")
    os.utime(file, (0, 1_700_000_000))
    output = await use(read_file, make_context(tmp_path), path="src/a.py")
    assert output.for_model == "src/a.py (2 lines)\ndef f():\n    return 1"
    assert output.payload == {
        "content": "def f():\n    return 1\n",
        "metadata": {
            "size": 22,
            "modified": time.strftime("%Y-%m-%dT%H:%M:%S", time.localtime(1_700_000_000)),
            "encoding": "utf-8",
            "total_lines": 2,
            "start_line": 1,
            "end_line": 2,
        },
    }
    assert str(output.summary) == "src/a.py (2 lines)"


async def test_a_part_is_headed_by_its_range(tmp_path: Path) -> None:
    put(tmp_path / "a", "".join(f"line {number}\n" for number in range(1, 11)))
    output = await use(read_file, make_context(tmp_path), file_path="a", start_line="3", max_lines=2)
    assert output.for_model == "a (lines 3-4 of 10)\nline 3\nline 4"
    assert output.payload["content"] == "line 3\nline 4\n"


async def test_a_long_file_is_cut_at_a_line_and_says_how_to_go_on(tmp_path: Path) -> None:
    put(tmp_path / "a", "".join(f"line {number:03}\n" for number in range(1, 201)))
    context = make_context(tmp_path, output_limit=1_200)
    first = await use(read_file, context, file_path="a")
    assert len(first.for_model) <= 1_200
    (found,) = re.findall(r"read on with start_line=(\d+)\]$", first.for_model)
    assert f"line {int(found) - 1:03}\n[" in first.for_model
    second = await use(read_file, context, file_path="a", start_line=int(found))
    assert second.for_model.splitlines()[1] == f"line {int(found):03}"


async def test_one_line_longer_than_the_limit_is_cut_and_told(tmp_path: Path) -> None:
    put(tmp_path / "min.js", "x" * 50_000 + "\nend\n")
    output = await use(read_file, make_context(tmp_path, output_limit=1_000), file_path="min.js")
    assert len(output.for_model) <= 1_000
    assert "[line 1 has 50000 characters; only its start is shown]" in output.for_model
    assert "start_line=2" in output.for_model


async def test_an_empty_file_is_said_to_be_empty(tmp_path: Path) -> None:
    put(tmp_path / "a")
    output = await use(read_file, make_context(tmp_path), file_path="a")
    assert (output.for_model, output.payload["content"]) == ("[a is empty]", "")


async def test_windows_and_japanese_files_read_as_plain_text(tmp_path: Path) -> None:
    put(tmp_path / "sjis.txt", "日本語のテキスト\r\n".encode("cp932"))
    put(tmp_path / "latin.txt", "café\n".encode("latin-1"))
    context = make_context(tmp_path)
    assert (await use(read_file, context, file_path="sjis.txt")).for_model.endswith("\n日本語のテキスト")
    for encoding in ("", "latin-1"):
        output = await use(read_file, context, file_path="latin.txt", encoding=encoding)
        assert output.for_model.endswith("\ncafé")


async def test_what_cannot_be_read_says_why(tmp_path: Path) -> None:
    put(tmp_path / "src" / "main.py", "1\n")
    put(tmp_path / "bin", b"\0\1")
    put(tmp_path / "tool", b"\x7fELF\0\1")
    os.mkfifo(tmp_path / "pipe")
    put(tmp_path / "cyrillic.txt", "Привет\n".encode("cp1251"))
    assert await refused(read_file, tmp_path, file_path="pipe") == "path_not_regular"
    assert await refused(read_file, tmp_path, file_path="bin") == "file_not_text"
    assert await refused(read_file, tmp_path, file_path="cyrillic.txt") == "file_unknown_encoding"
    assert await refused(read_file, tmp_path, file_path="cyrillic.txt", encoding="ascii") == "file_not_text"
    assert await refused(read_file, tmp_path, file_path="cyrillic.txt", encoding="nonsense") == "file_unreadable"
    assert await refused(read_file, tmp_path, file_path="src/main.py", start_line=2) == "file_bad_range"
    assert await refused(read_file, tmp_path, file_path="../x") == "path_outside"
    with pytest.raises(ToolExecutionError, match="a compiled program"):
        await use(read_file, make_context(tmp_path), file_path="tool")
    with pytest.raises(ToolExecutionError, match=r"Did you mean: src/main\.py\?"):
        await use(read_file, make_context(tmp_path), file_path="main.py")


async def test_a_folder_answers_with_what_is_in_it(tmp_path: Path) -> None:
    put(tmp_path / "src" / "main.py")
    put(tmp_path / "src" / "deep" / "a.py")
    output = await use(read_file, make_context(tmp_path), file_path="src")
    assert output.for_model.splitlines() == ["[src is a folder. What is in it:]", "src/deep/", "src/main.py"]


async def test_the_last_lines_are_counted_from_the_end(tmp_path: Path) -> None:
    put(tmp_path / "a", "1\n2\n3\n")
    context = make_context(tmp_path)
    assert (await use(read_file, context, file_path="a", start_line=-2)).for_model == "a (lines 2-3 of 3)\n2\n3"
    assert (await use(read_file, context, file_path="a", start_line=-9)).for_model == "a (3 lines)\n1\n2\n3"


async def test_the_encoding_is_told_where_it_is_not_the_usual(tmp_path: Path) -> None:
    for encoding in ("cp932", "euc_jp", "iso2022_jp", "utf-16-le"):
        put(tmp_path / encoding, "日本語のテキスト\n".encode(encoding))
        output = await use(read_file, make_context(tmp_path), file_path=encoding)
        assert output.for_model == f"{encoding} (1 line), {encoding}\n日本語のテキスト"
        assert output.payload["metadata"]["encoding"] == encoding
        assert str(output.summary) == f"{encoding} (1 line), {encoding}"


async def test_a_byte_order_mark_is_told_as_the_codec_that_leaves_it_out(tmp_path: Path) -> None:
    for encoding in ("utf-8-sig", "utf-16"):
        put(tmp_path / "a.csv", "日付,店舗\n".encode(encoding))
        output = await use(read_file, make_context(tmp_path), file_path="a.csv")
        assert output.for_model == f"a.csv (1 line), {encoding}\n日付,店舗"
    put(tmp_path / "a.csv", "日付,店舗\n".encode())
    output = await use(read_file, make_context(tmp_path), file_path="a.csv")
    assert output.for_model == "a.csv (1 line)\n日付,店舗"


_OLD_OFFICE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"


async def test_read_file_shows_a_workbook_by_lines(tmp_path: Path) -> None:
    rows = table("店,金額", *(f"店{at},{at}0" for at in range(1, 200)))
    (tmp_path / "a.xlsx").write_bytes(make_workbook({"Q1": rows}))
    whole = await use(read_file, make_context(tmp_path), file_path="a.xlsx")
    assert whole.for_model.startswith("--- sheet 1 of 1: Q1 (rows 1-200, columns A-B) ---\n店,金額\n店1,10\n")
    assert whole.payload["metadata"]["kind"] == "workbook"
    part = await use(read_file, make_context(tmp_path), file_path="a.xlsx", start_line=3, end_line=4)
    assert part.for_model == "a.xlsx (lines 3-4 of 201)\n店1,10\n店2,20"


async def test_read_file_shows_a_word_file_by_lines(tmp_path: Path) -> None:
    paragraphs = [("Heading1", "旅費規程"), *(("Normal", f"{at} 条") for at in range(1, 20))]
    (tmp_path / "旅費規程.DOCX").write_bytes(make_docx(*paragraphs))
    whole = await use(read_file, make_context(tmp_path), file_path="旅費規程.DOCX")
    assert whole.for_model.startswith("# 旅費規程\n")
    assert whole.payload["metadata"]["kind"] == "document"
    total = whole.payload["metadata"]["end_line"]
    part = await use(read_file, make_context(tmp_path), file_path="旅費規程.DOCX", start_line=total)
    assert part.for_model == f"旅費規程.DOCX (lines {total}-{total} of {total})\n19 条"


@pytest.mark.parametrize(
    ("name", "data", "error"),
    [
        ("a.docx", b"PK\x03\x04 broken", "docx_broken"),
        ("a.xlsx", b"PK\x03\x04 broken", "workbook_broken"),
        ("a.xls", _OLD_OFFICE + bytes(600), "workbook_old"),
        ("a.xlsx", _OLD_OFFICE + "EncryptedPackage".encode("utf-16-le"), "workbook_locked"),
        ("a.doc", _OLD_OFFICE + bytes(600), "file_not_text"),
        ("a.db", b"SQLite format 3\0" + bytes(600), "file_is_database"),
    ],
)
async def test_read_file_says_why_it_cannot_read_an_office_file(
    tmp_path: Path, name: str, data: bytes, error: str
) -> None:
    (tmp_path / name).write_bytes(data)
    assert await refused(read_file, tmp_path, file_path=name) == error


@pytest.mark.parametrize("tool", [edit_file, write_file])
async def test_what_read_file_shows_as_text_is_not_said_to_be_unreadable_when_it_is_edited(
    tmp_path: Path, tool: Tool
) -> None:
    for name, data in (
        ("a.docx", make_docx(("Normal", "Three years"))),
        ("a.xlsx", make_workbook({"Sheet1": table("Three")})),
        ("a.pdf", b"%PDF-1.7\n\0\xff"),
    ):
        (tmp_path / name).write_bytes(data)
        given = {"old_string": "Three", "new_string": "Four"} if tool is edit_file else {"content": "Four"}
        assert await refused(tool, tmp_path, file_path=name, **given) == "file_not_editable"
        assert (tmp_path / name).read_bytes() == data


# --- read_file: files too large to be loaded


@pytest.fixture(scope="module")
def huge(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """21 MB of lines of 30 bytes."""
    folder = tmp_path_factory.mktemp("huge")
    with (folder / "huge.log").open("wb") as file:
        for thousand in range(700):
            file.write(b"".join(b"line %06d ------------------\n" % (thousand * 1000 + n) for n in range(1, 1001)))
    return folder


@pytest.mark.parametrize(
    ("start", "count", "expected"),
    [
        (1, 2, ["huge.log (lines 1-2 of 700000)", "line 000001", "line 000002"]),
        (349_526, 1, ["huge.log (lines 349526-349526 of 700000)", "line 349526"]),
        (699_999, 5, ["huge.log (lines 699999-700000 of 700000)", "line 699999", "line 700000"]),
        (-1, 0, ["huge.log (lines 700000-700000 of 700000)", "line 700000"]),
    ],
)
async def test_lines_of_a_huge_file(huge: Path, start: int, count: int, expected: list[str]) -> None:
    output = await use(read_file, make_context(huge), file_path="huge.log", start_line=start, max_lines=count)
    assert [line.split(" --")[0] for line in output.for_model.splitlines()] == expected


async def test_a_huge_file_is_shown_by_its_first_and_last_lines(huge: Path) -> None:
    output = await use(read_file, make_context(huge, output_limit=1_000), file_path="huge.log")
    lines = output.for_model.splitlines()
    assert len(output.for_model) <= 1_000
    assert lines[1].startswith("line 000001 ")
    assert lines[-1].startswith("line 700000 ")
    (gap,) = (line for line in lines if line.startswith("["))
    (left_out, start) = map(int, re.findall(r"[0-9]+", gap))
    assert left_out + len(lines) - 2 == 700_000
    part = await use(read_file, make_context(huge), file_path="huge.log", start_line=start, max_lines=1)
    assert part.for_model.splitlines()[1].startswith(f"line {start:06} ")


@pytest.mark.parametrize("encoding", ["cp932", "utf-8-sig"])
async def test_the_encoding_of_a_huge_file_is_told(tmp_path: Path, encoding: str) -> None:
    row = "東京本店,1000,鉛筆\n"
    put(tmp_path / "huge.csv", ("日付,店舗\n" + row * (21_000_000 // len(row.encode("cp932")))).encode(encoding))
    for wanted in ({"max_lines": 1}, {}):
        output = await use(read_file, make_context(tmp_path), file_path="huge.csv", **wanted)
        title, first, *_ = output.for_model.split("\n")
        assert title.endswith(f"), {encoding}")
        assert first == "日付,店舗"


async def test_a_huge_file_that_is_no_text_is_refused(tmp_path: Path) -> None:
    with (tmp_path / "huge.log").open("wb") as file:
        file.truncate(20_000_001)
    assert await refused(read_file, tmp_path, file_path="huge.log") == "file_not_text"


def test_time_up_gives_what_was_counted(huge: Path) -> None:
    patience = Patience(seconds=3600)
    patience.give_up()
    with (huge / "huge.log").open("rb") as file:
        found = HugeFile(file, "utf-8", patience)
        assert not found.counted
        assert found.lines(30_000, 1, 100).text.startswith("line 030000")


# --- read_file: notebooks, PDFs, pictures


async def test_a_notebook_is_read_by_its_cells_or_as_json(tmp_path: Path) -> None:
    put(tmp_path / "a.ipynb", '{"cells": [{"cell_type": "code", "source": ["x = 1"], "outputs": []}]}')
    put(tmp_path / "b.ipynb", "not JSON")
    output = await use(read_file, make_context(tmp_path), file_path="a.ipynb")
    assert output.for_model.splitlines()[:2] == ["--- cell 1: code ---", "x = 1"]
    assert output.payload["metadata"]["kind"] == "notebook"
    raw = await use(read_file, make_context(tmp_path), file_path="a.ipynb", encoding="utf-8")
    assert raw.for_model.startswith('a.ipynb (1 line)\n{"cells"')
    assert "not JSON" in (await use(read_file, make_context(tmp_path), file_path="b.ipynb")).for_model


async def test_a_pdf_is_read_page_by_page(tmp_path: Path) -> None:
    put(tmp_path / "a.pdf", make_pdf("Hello", "World"))
    put(tmp_path / "scan.pdf", make_pdf(""))
    output = await use(read_file, make_context(tmp_path), file_path="a.pdf", start_line=3)
    assert output.for_model == "a.pdf (lines 3-4 of 4)\n--- page 2 of 2 ---\nWorld"
    assert await refused(read_file, tmp_path, file_path="scan.pdf") == "pdf_pictures"


async def test_a_picture_is_shown_to_a_model_that_may_see(tmp_path: Path) -> None:
    data = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\2\x80\0\0\1\xe0" + bytes(100)
    put(tmp_path / "a.png", data)
    put(tmp_path / "large.png", data + bytes(5_000_000))
    context = make_context(tmp_path)
    output = await use(read_file, context, file_path="a.png")
    assert output.images == (Image("image/png", data),)
    assert output.payload["image"] == {"format": "PNG", "width": 640, "height": 480}
    assert await refused(read_file, tmp_path, file_path="large.png") == "picture_too_large"
    blind = msgspec.structs.replace(context, sees=lambda: False)
    for name, size in (("a.png", "124"), ("large.png", "5,000,124")):
        output = await use(read_file, blind, file_path=name)
        assert output.images == ()
        assert output.for_model == (
            f"[{name} is a PNG picture of 640 × 480 pixels, {size} bytes. This model cannot see pictures.]"
        )


# --- list_files


@pytest.fixture
def project(tmp_path: Path) -> Path:
    for name in ("README.md", "src/a.py", "src/deep/b.py", "src/deep/c.ts", "node_modules/m.js", "out/x.log", ".env"):
        put(tmp_path / name)
    put(tmp_path / ".gitignore", "*.log\n")
    (tmp_path / "empty").mkdir()
    return tmp_path


async def test_all_files_of_the_project_a_line_each(project: Path) -> None:
    output = await use(list_files, make_context(project))
    assert output.for_model.splitlines() == [
        ".env",
        ".gitignore",
        "README.md",
        "empty/",
        "out/",
        "src/a.py",
        "src/deep/b.py",
        "src/deep/c.ts",
    ]
    assert output.payload["directories"] == ["empty/", "out/"]
    assert (output.payload["total"], output.payload["truncated"]) == (6, False)


async def test_one_folder_and_not_what_is_below(project: Path) -> None:
    output = await use(list_files, make_context(project), directory="src", recursive=False)
    assert output.for_model.splitlines() == ["src/a.py", "src/deep/"]


@pytest.mark.parametrize(
    ("path", "pattern", "expected"),
    [
        (".", "*.py", ["src/a.py", "src/deep/b.py"]),
        (".", "src/*.py", ["src/a.py"]),
        (".", "**/*.{py,ts}", ["src/a.py", "src/deep/b.py", "src/deep/c.ts"]),
        ("src", "deep/*.py", ["src/deep/b.py"]),
        ("src", "src/**/*.ts", ["src/deep/c.ts"]),
        (".", "deep", ["src/deep/b.py", "src/deep/c.ts"]),
        ("src/a.py", "", ["src/a.py"]),
    ],
)
async def test_a_pattern_chooses(project: Path, path: str, pattern: str, expected: list[str]) -> None:
    output = await use(list_files, make_context(project), path=path, pattern=pattern)
    assert output.payload["files"] == expected


async def test_a_word_that_no_name_is_chooses_the_names_that_have_it(project: Path) -> None:
    (project / "src/cart_items.py").touch()
    output = await use(list_files, make_context(project), pattern="cart")
    assert output.payload["files"] == ["src/cart_items.py"]
    assert output.for_model == "[no file is named cart; with it in their names:]\nsrc/cart_items.py"
    output = await use(list_files, make_context(project), pattern="nowhere")
    assert output.for_model == "[no files in . fit nowhere; .gitignore leaves some out]"


async def test_nothing_found_is_said(project: Path) -> None:
    output = await use(list_files, make_context(project), pattern="*.rs")
    assert output.for_model == "[no files in . fit *.rs; .gitignore leaves some out]"
    assert await refused(list_files, project, path="missing") == "file_missing"


@pytest.mark.parametrize("is_removed", [True, False])
async def test_a_folder_that_cannot_be_opened_is_named(
    project: Path, monkeypatch: pytest.MonkeyPatch, is_removed: bool
) -> None:
    def fails(*_: object, **__: object) -> Iterator[Entry]:
        if is_removed:
            (project / "src").rename(project / "elsewhere")
        raise PermissionError(13, "Permission denied")
        yield

    monkeypatch.setattr("localllm.tools.files.walk", fails)
    assert await refused(list_files, project, path="src") == ("file_missing" if is_removed else "file_unreadable")


async def test_preferred_files_come_first(project: Path) -> None:
    output = await use(list_files, make_context(project, include=("src/",)))
    assert output.payload["files"][:4] == ["src/a.py", "src/deep/b.py", "src/deep/c.ts", ".env"]


async def test_what_does_not_fit_is_folded_into_folders_with_counts(tmp_path: Path) -> None:
    for package in range(20):
        for module in range(20):
            put(tmp_path / f"package{package:02}" / f"module{module:02}.py")
    put(tmp_path / "main.py")
    output = await use(list_files, make_context(tmp_path, output_limit=1_000))
    lines = output.for_model.splitlines()
    assert len(output.for_model) <= 1_100
    assert lines[:2] == ["main.py", "package00/ (20 files)"]
    assert lines[-1] == "[400 of 401 files are not listed by name; list a folder, or give a pattern]"
    assert output.payload["truncated"]


async def test_a_preferred_folder_stays_open_while_others_are_folded(tmp_path: Path) -> None:
    for name in ("src", "vendor"):
        for number in range(30):
            put(tmp_path / name / f"file{number:02}.py")
    output = await use(list_files, make_context(tmp_path, output_limit=800, include=("src",)))
    assert "src/file29.py" in output.for_model
    assert "vendor/ (30 files)" in output.for_model


async def test_more_than_fits_even_folded_is_cut_and_counted(tmp_path: Path) -> None:
    for number in range(300):
        put(tmp_path / f"file{number:03}.txt")
    output = await use(list_files, make_context(tmp_path, output_limit=1_000))
    named = len(output.payload["files"])
    assert output.for_model.endswith(
        f"[{300 - named} of 300 files are not listed by name; list a folder, or give a pattern]"
    )


async def test_a_name_with_a_line_break_stays_on_one_line(tmp_path: Path) -> None:
    put(tmp_path / "a\nb")
    os.close(os.open(os.fsencode(tmp_path) + b"/\xff", os.O_CREAT))
    output = await use(list_files, make_context(tmp_path))
    assert output.for_model.splitlines() == ["a␊b", "<U+DCFF>"]


# --- create_file


async def test_a_file_is_created_with_its_folders(tmp_path: Path) -> None:
    context = make_context(tmp_path)
    shown = preview(create_file, context, file_path="src/new.py", content="a\nb\n")
    assert (shown.summary, shown.kind) == ("Create src/new.py", "diff")
    assert shown.detail == "--- /dev/null\n+++ b/src/new.py\n@@ -0,0 +1,2 @@\n+a\n+b\n"
    assert not (tmp_path / "src").exists()
    output = await use(create_file, context, file_path="src/new.py", content="a\nb\n")
    assert (tmp_path / "src" / "new.py").read_text() == "a\nb\n"
    assert output.for_model == "Created src/new.py (2 lines)."
    assert {key: output.payload[key] for key in ("file_path", "size", "created")} == {
        "file_path": "src/new.py",
        "size": 4,
        "created": True,
    }
    assert output.payload["metadata"]["total_lines"] == 2


async def test_creating_never_replaces(tmp_path: Path) -> None:
    put(tmp_path / "a", b"\0old")
    assert await refused(create_file, tmp_path, file_path="a", content="new") == "file_exists"
    with pytest.raises(ToolExecutionError):
        preview(create_file, make_context(tmp_path), file_path="a", content="new")
    assert await refused(create_file, tmp_path, file_path=".git/hooks/x", content="") == "path_protected"
    assert await refused(create_file, tmp_path, file_path="b", content="\ud800") == "file_unwritable"
    assert not (tmp_path / "b").exists()


# --- write_file


async def test_writing_keeps_encoding_mark_newlines_and_mode(tmp_path: Path) -> None:
    file = put(tmp_path / "a.txt", codecs.BOM_UTF8 + b"one\r\ntwo\r\n")
    file.chmod(0o750)
    context = make_context(tmp_path)
    shown = preview(write_file, context, file_path="a.txt", content="one\n2\n")
    assert shown.detail.splitlines()[2:] == ["@@ -1,2 +1,2 @@", " one", "-two", "+2"]
    output = await use(write_file, context, file_path="a.txt", content="one\n2\n")
    assert file.read_bytes() == codecs.BOM_UTF8 + b"one\r\n2\r\n"
    assert file.stat().st_mode & 0o777 == 0o750
    assert output.for_model == "Wrote a.txt (2 lines; 1 added, 1 removed)."
    assert (output.payload["created"], output.payload["changed"]) == (False, True)


async def test_a_text_that_has_no_line_of_the_old_one_is_told_to_have_replaced_it(project: Path) -> None:
    context, said = make_context(project), "[It replaced all that was in the file. To add to a file, use edit_file.]"
    first, second = ("\n".join(f"- item {number}" for number in numbers) for numbers in (range(5), range(5, 9)))
    writes = [(first, False), (second, True), (f"{second}\n- more\n", False), ("x\n", True), ("y", False)]
    for content, is_other in writes:
        written = await use(write_file, context, file_path="list.md", content=content)
        assert (said in written.for_model) == is_other


@each(
    ("path", "old", "new", "is_other"),
    [
        ("README.md", "# Weather station\n", "A new line.\n", True),
        ("買い物.txt", "卵とパン\nりんご\n", "- 牛乳を買う\n", True),
        ("README.md", "# Wether station\n", "# Weather station\n", False),
        ("README.md", "# Weather\n", "# Weather\n\nA new line.\n", False),
        ("買い物.txt", "卵とパンを買う\n", "卵とパンと牛乳を買う\n", False),
        ("VERSION", "1.0\n", "2.4\n", False),
        ("empty.txt", "\n", "A new line.\n", False),
    ],
)
async def test_a_short_text_is_told_to_have_been_replaced(
    project: Path, path: str, old: str, new: str, is_other: bool
) -> None:
    context = make_context(project)
    await use(write_file, context, file_path=path, content=old)
    written = await use(write_file, context, file_path=path, content=new)
    assert ("[It replaced all that was in the file." in written.for_model) == is_other


@each(
    ("path", "old", "new", "told"),
    [
        ("b.py", "def g(x):\n    return x\n", "def h(x):\n    return 2 * x\n", "[No longer in b.py: g. What was"),
        ("b.py", "import os\ndef g():\n    os.x()\n", "import os\ndef h():\n    pass\n", "[No longer in b.py: g."),
        ("b.js", "function f() {\n  a()\n}\n", "function h() {\n  b()\n}\n", "[No longer in b.js: f."),
        ("b.go", "package b\nfunc F() {}\n", "package b\nfunc H() int { return 1 }\n", "[No longer in b.go: F."),
        ("b.py", "def g(x):\n    return x\n", "def h(x):\n    return x\n", ""),  # renamed
        ("b.py", "def g(x):\n    return x\n", "def g(y):\n    return y\n", ""),
        ("b.txt", "def g(x): x\n", "def h(y): y\n", ""),
    ],
)
async def test_definitions_that_a_new_text_lacks_are_named(
    project: Path, path: str, old: str, new: str, told: str
) -> None:
    context = make_context(project)
    await use(write_file, context, file_path=path, content=old)
    written = await use(write_file, context, file_path=path, content=new)
    assert told in written.for_model
    assert bool(told) == ("No longer" in written.for_model)


async def test_windows_newlines_in_the_content_are_not_doubled(tmp_path: Path) -> None:
    file = put(tmp_path / "a.txt", "1\r\n")
    await use(write_file, make_context(tmp_path), file_path="a.txt", content="1\r\n2\r\n")
    assert file.read_bytes() == b"1\r\n2\r\n"


async def test_the_same_content_changes_nothing(tmp_path: Path) -> None:
    file = put(tmp_path / "a.txt", "same\r\n")
    os.utime(file, (0, 0))
    output = await use(write_file, make_context(tmp_path), file_path="a.txt", content="same\n")
    assert output.payload["changed"] is False
    assert file.stat().st_mtime == 0


async def test_a_new_file_is_written_as_given(tmp_path: Path) -> None:
    output = await use(write_file, make_context(tmp_path), file_path="d/a.txt", content="1\r\n")
    assert (tmp_path / "d" / "a.txt").read_bytes() == b"1\r\n"
    assert output.payload["created"] is True


async def test_what_must_not_be_written_is_refused_before_anyone_is_asked(tmp_path: Path) -> None:
    put(tmp_path / "bin", b"\0")
    put(tmp_path / "sjis.txt", "日本語です\n".encode("cp932"))
    cases = {"bin": "file_not_text", "localllm.toml": "path_protected", "sjis.txt": "file_unwritable"}
    for path, key in cases.items():
        assert await refused(write_file, tmp_path, file_path=path, content="😀") == key
        with pytest.raises((ToolExecutionError, SafetyViolationError)):
            preview(write_file, make_context(tmp_path), file_path=path, content="😀")
    assert (tmp_path / "sjis.txt").read_bytes() == "日本語です\n".encode("cp932")


async def test_the_model_reads_english_and_a_japanese_person_japanese(tmp_path: Path) -> None:
    i18n.set_language("ja")
    try:
        output = await use(create_file, make_context(tmp_path), file_path="a", content="1\n")
        with pytest.raises(ToolExecutionError, match="ファイル b はありません") as caught:
            await use(read_file, make_context(tmp_path), file_path="b")
        assert str(output.summary) == "a を作成しました（1 行）。"
    finally:
        i18n.set_language("en")
    assert output.for_model == "Created a (1 line)."
    assert caught.value.english.startswith("There is no file b.")


README = "# Project\n\n" + "".join(f"- point {number} of what it does\n" for number in range(9))


@pytest.mark.parametrize("count", [9, 900])
async def test_a_file_nobody_read_is_replaced_at_the_second_try(tmp_path: Path, count: int) -> None:
    file = put(tmp_path / "README.md", "# Project\n\n" + "".join(f"- point {number}\n" for number in range(count)))
    before = file.read_text()
    context = make_context(tmp_path)
    new = {"file_path": "README.md", "content": "# Tool\n\nIt does much.\n" + "More of it.\n" * count}
    with pytest.raises(ToolExecutionError) as caught:
        preview(write_file, context, **new)  # before anybody is asked
    assert caught.value.key == "write_unread"
    assert f"{count + 2} lines" in caught.value.english
    assert "- point 3\n" in caught.value.english
    assert len(caught.value.english) < 2_000
    assert file.read_text() == before
    preview(write_file, context, **new)
    await use(write_file, context, **new)
    assert file.read_text() == new["content"]


@pytest.mark.parametrize(
    ("before", "content"),
    [
        pytest.param("a\nb\n", "c\n", id="tiny"),
        pytest.param("", "c\n", id="empty"),
        pytest.param(README, README + "- one more\n", id="what it holds is known"),
        pytest.param(README, README, id="the same"),
    ],
)
async def test_a_file_that_loses_little_need_not_have_been_read(tmp_path: Path, before: str, content: str) -> None:
    file = put(tmp_path / "README.md", before)
    await use(write_file, make_context(tmp_path), file_path="README.md", content=content)
    assert file.read_text() == content


async def test_a_file_that_was_read_is_replaced_at_once(tmp_path: Path) -> None:
    file = put(tmp_path / "README.md", README)
    context = make_context(tmp_path)
    await use(read_file, context, file_path="README.md", end_line=2)
    await use(write_file, context, file_path="README.md", content="# Tool\n")
    assert file.read_text() == "# Tool\n"


PACKAGE = """{
  "name": "tool",
  "version": "1.0.0",
  "scripts": {
    "test": "node --test"
  },
  "dependencies": {
    "left-pad": "1.3.0"
  }
}
"""


@pytest.mark.parametrize(
    ("path", "before", "after"),
    [
        ("README.md", README, "# Project\n\n- point 0 of what it does\n- point 1 of what it does\n- new\n"),
        ("package.json", PACKAGE, '{\n  "name": "tool",\n  "version": "1.0.0"\n'),
    ],
)
async def test_a_small_file_that_loses_much_is_caught(tmp_path: Path, path: str, before: str, after: str) -> None:
    put(tmp_path / path, before)
    context = make_context(tmp_path)
    await use(read_file, context, file_path=path)
    assert "most of its lines" in str(preview(write_file, context, file_path=path, content=after).danger)


@pytest.mark.parametrize(
    ("path", "before", "after", "line"),
    [
        ("package.json", PACKAGE, PACKAGE.replace('"1.0.0",', '"1.0.0"'), 4),
        ("new.json", "", '{"a": 1,, }', 1),
        ("pyproject.toml", '[project]\nname = "a"\n', '[project]\nname = a\nversion = "1"\n', 2),
        ("ci.yaml", "on:\n  push:\n    tags: [a]\n", "on:\n  push:\n     tags: [a]\n    branches: [b]\n", 4),
        ("ci.yml", "a: 1\nb: 2\n", "a: 1\n\tb: 2\n", 2),
    ],
)
async def test_data_that_is_no_longer_valid_is_told(
    tmp_path: Path, path: str, before: str, after: str, line: int
) -> None:
    context = make_context(tmp_path)
    if before:
        put(tmp_path / path, before)
        await use(read_file, context, file_path=path)
    output = await use(write_file, context, file_path=path, content=after)
    assert f"Syntax errors that were not there before, at line {line}: fix them." in output.for_model


@pytest.mark.parametrize(
    ("path", "before", "after"),
    [
        ("tsconfig.json", "", '{\n  // strict\n  "strict": true,\n}\n'),
        ("tsconfig.json", '{ "a": 1, /* b */ }', '{ "a": 1, "b": 2, /* b */ }'),
        ("broken.json", "{", "{{"),
        ("a.toml", "", "a = 1\r\nb = 2\r\n"),
        ("a.yaml", "", "a: |\n  text: with: colons\n  \tb\nc:\n- d: e\n  f: g\nh: 'x: y'\ni: http://a:80/\n"),
        ("Makefile", "", "A := b\nall: a b\n\tcc \\\n    -o a\n\nifdef X\n  B = c\nendif\na: a.c\n# c\n\tcc a.c\n"),
        ("rules.mk", "", "define D\n    echo a\nendef\nall: A = b\nall:\n  # c\n  C ?= d\n\techo $(C)\n"),
        ("Makefile", "", "a: b\n\tcc\n\nifdef X\n  run: a\n\t./a\nelse\n  $(error no X)\n  undefine Y\nendif\n"),
        ("Makefile", "", ".RECIPEPREFIX = $(.EMPTY) $(.EMPTY)\nall:\n    echo a\n"),
        ("Makefile", "a:\n  b\nd:\n  b\n", "e: a\n\ta\na:\n  b\nc:\n\td\nd:\n  b\n"),
        ("a.yaml", "", "# c\n---\na: &x\n  - b\n  -\n    c: d\n...\n---\ne: {f: [g,\n  h]}\n"),
    ],
)
async def test_data_that_is_valid_or_was_not_is_not_remarked_on(
    tmp_path: Path, path: str, before: str, after: str
) -> None:
    if before:
        put(tmp_path / path, before)
    output = await use(write_file, make_context(tmp_path), file_path=path, content=after)
    assert "Syntax errors" not in output.for_model


@pytest.mark.parametrize(
    ("path", "before", "text", "line"),
    [
        ("Makefile", "", "all: a\na: a.c\n    cc a.c\n", 3),
        ("GNUmakefile", "", "all: a\n\ttrue\nrun: a\n  ./a Makefile\n", 4),
        ("Makefile", "", "all:\n  @curl http://a.example/b: c\n", 2),
        ("lib/rules.mk", "", "A = b\n\n%.o: %.c\n\n        $(CC) -c $<\n", 5),
        ("Makefile", "a:\n  b\n", "a:\n  b\nc:\n  d\n", 4),
        ("Makefile", "a:\n  b\n", "a:\n  b\nc:\n  b\n", 4),
    ],
)
async def test_a_recipe_that_begins_with_spaces_is_remarked_on(
    tmp_path: Path, path: str, before: str, text: str, line: int
) -> None:
    context = make_context(tmp_path)
    if before:
        put(tmp_path / path, before)
        await use(read_file, context, file_path=path)
    output = await use(write_file, context, file_path=path, content=text)
    assert output.for_model.endswith(
        f"Syntax errors that were not there before, at line {line}: fix them. (make: a recipe's line begins with "
        "spaces, and has to begin with a tab, \\t)"
    )


@pytest.mark.parametrize("passage", ['"', "'", '"\\', "/*", "'a", "a: ", "- ", "{", "[,", ": "])
@pytest.mark.parametrize("path", ["a.json", "a.yaml", "a.toml", "Makefile"])
def test_data_is_looked_at_in_bounded_time(path: str, passage: str) -> None:
    new_fault(path, "", passage * 60_000)  # would take minutes if it grew with the square: the time limit of a test


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("a.json", '{"a": %s}' % ("1" * 5_000)),
        ("a.toml", f"a = {'1' * 5_000}"),
        ("a.toml", f"a = {'[' * 3_000}{']' * 3_000}"),
        ("a.json", "[" * 100_000),
    ],
)  # Python reads no such number, and nothing nested so deep
def test_data_that_cannot_be_looked_at_is_not_remarked_on(path: str, text: str) -> None:
    assert new_fault(path, "", text) is None
    assert new_fault(path, text, "{") is not None or path == "a.json"


@pytest.mark.parametrize("tool", [write_file, create_file], ids=lambda tool: tool.name)
async def test_a_fence_around_the_content_is_left_out(tmp_path: Path, tool: Tool) -> None:
    context = make_context(tmp_path)
    fenced = "```python\nprint(1)\n```"
    output = await use(tool, context, file_path="a.py", content=fenced)
    assert (tmp_path / "a.py").read_text() == "print(1)\n"
    assert "fence" in output.for_model
    assert "fence" not in (await use(tool, context, file_path="a.md", content=fenced)).for_model
    assert (tmp_path / "a.md").read_text() == fenced
    two = "```\na\n```\n```\nb\n```\n"
    await use(tool, context, file_path="b.py", content=two)
    assert (tmp_path / "b.py").read_text() == two


@pytest.mark.parametrize(
    ("start", "end", "first", "last"),
    [(3, 5, 3, 5), (3, 0, 3, 10), (1, 4, 1, 4), (8, 99, 8, 10), (-3, -1, 8, 10), (1, -2, 1, 9), (5, 3, 3, 5)],
)
async def test_lines_from_here_to_there(tmp_path: Path, start: int, end: int, first: int, last: int) -> None:
    put(tmp_path / "a", "".join(f"line {number}\n" for number in range(1, 11)))
    output = await use(read_file, make_context(tmp_path), file_path="a", start_line=start, end_line=end)
    assert (output.payload["metadata"]["start_line"], output.payload["metadata"]["end_line"]) == (first, last)
    assert output.for_model.startswith(f"a (lines {first}-{last} of 10)\nline {first}\n")
    assert output.for_model.endswith(f"line {last}")


@pytest.mark.parametrize("end", [2, 3])
async def test_lines_of_a_huge_file_from_here_to_there(huge: Path, end: int) -> None:
    output = await use(read_file, make_context(huge), file_path="huge.log", start_line=2, end_line=end)
    assert output.for_model.startswith(f"huge.log (lines 2-{end} of 700000)\nline 000002")
    assert output.payload["metadata"]["end_line"] == end


@pytest.mark.parametrize(
    ("path", "count", "told"),
    [
        ("a.py", 400, "[400 lines in all: search_files finds a name, analyze_code lists what is where]"),
        ("a.txt", 400, "[400 lines in all: search_files finds a name]"),
        ("a.py", 160, "more lines; read on with start_line="),
    ],
)
async def test_a_file_of_many_pages_is_searched_rather_than_read_on(
    tmp_path: Path, path: str, count: int, told: str
) -> None:
    put(tmp_path / path, "".join(f"x{number:04} = 1\n" for number in range(count)))
    output = await use(read_file, make_context(tmp_path, output_limit=1_500), file_path=path)
    assert told in output.for_model.splitlines()[-1]
    assert output.for_model.startswith(f"{path} (lines 1-")


@pytest.mark.parametrize(("count", "reads_on"), [(400, True), (4_000, False)])
async def test_prose_of_few_pages_is_read_on_or_searched(tmp_path: Path, count: int, reads_on: bool) -> None:
    put(tmp_path / "a.md", "".join(f"Line {number:04}.\n" for number in range(count)))
    output = await use(read_file, make_context(tmp_path, output_limit=1_500), file_path="a.md")
    end = output.payload["metadata"]["end_line"]
    assert (f"[{count - end} more lines; read on with start_line={end + 1}]" in output.for_model) == reads_on
    assert output.for_model.splitlines()[-1] == f"[{count} lines in all: search_files finds a name]"


async def test_placeholders_in_a_new_file_are_named(tmp_path: Path) -> None:
    text = "# Guide\n\nInstall it.\n\n[Add usage section here]\n"
    for tool, name in ((write_file, "guide.md"), (create_file, "other.md")):
        output = await use(tool, make_context(tmp_path), file_path=name, content=text)
        assert output.for_model.endswith(
            "[Line 5 looks like a placeholder: write what belongs there, or say that it is missing.]"
        )
    context = make_context(tmp_path)
    await use(read_file, context, file_path="guide.md")
    more = await use(write_file, context, file_path="guide.md", content=text + "\nTODO: the rest goes here\n")
    assert "Line 7 looks" in more.for_model
    fine = await use(write_file, make_context(tmp_path), file_path="todo.md", content="- [ ] TODO: add tests\n")
    assert "placeholder" not in fine.for_model
