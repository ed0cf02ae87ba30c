"""Read a file and split it into blocks by its type; report why a file is skipped."""

import asyncio
import hashlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from localllm.base.regular_files import UNKNOWN, Stamp, is_settled, open_linkless, stamp_of
from localllm.documents.notebooks import notebook_text
from localllm.documents.pdf import PdfError, pdf_pages
from localllm.documents.word import WordError, word_markdown
from localllm.documents.workbooks import ENDINGS, WorkbookError, is_workbook, read_workbook
from localllm.rag.chunking import Block
from localllm.rag.records import SkipReason
from localllm.rag.structure import blocks_of, markdown_blocks, page_blocks
from localllm.rag.tables import BadTableError, NoTextColumnError, row_blocks, sheet_blocks, table_rows
from localllm.text.decoding import NotTextError, decode
from localllm.text.garbled import is_garbled
from localllm.web.extraction import NoTextError, extract
from localllm.web.fetching import Page

LARGEST = 20_000_000
"""Bytes of a text file."""
LARGEST_TABLE = 200_000_000
LARGEST_DOCUMENT = 100_000_000
"""Bytes of a PDF, Word or Excel file."""
_MOST_PAGES = 3_000
_PDF_SECONDS = 120.0
_READS = 3
"""Attempts to read a file that changes meanwhile."""

_TABLES = (".csv", ".tsv", ".jsonl", ".ndjson")
_DOCUMENTS = (".pdf", ".docx", *ENDINGS)


class SkippedError(Exception):
    """The file is skipped for this `reason`; `detail` completes its text."""

    def __init__(self, reason: SkipReason, detail: str = "") -> None:
        super().__init__(reason)
        self.reason: SkipReason = reason
        self.detail = detail


class Content(NamedTuple):
    """A consistent snapshot of a file; `stamp` is UNKNOWN if it may change without a change of its times."""

    data: bytes
    hash: str
    stamp: Stamp


def read_content(path: Path) -> Content:
    """Read a file by its real path, without following a link created since. Raises SkippedError if it is too large,
    unreadable, or changes while it is read."""
    try:
        for _ in range(_READS):
            with open_linkless(path) as file:
                before = os.fstat(file.fileno())
                limit = largest(path.name)
                if before.st_size > limit:
                    raise SkippedError("large", megabytes(before.st_size))
                data = file.read(limit + 1)
                after = os.fstat(file.fileno())
            if stamp_of(before) == stamp_of(after) and len(data) == after.st_size:
                stamp = stamp_of(after)
                return Content(data, content_hash(data), stamp if is_settled(stamp) else UNKNOWN)
    except OSError as error:
        raise SkippedError("unreadable", error.strerror or str(error)) from error
    raise SkippedError("changing")


def content_hash(data: bytes) -> str:
    """Return the hash that identifies a content."""
    return hashlib.blake2b(data, digest_size=16).hexdigest()


def largest(name: str) -> int:
    """Return the size limit of a file of this name, in bytes."""
    name = name.lower()
    return LARGEST_TABLE if name.endswith(_TABLES) else LARGEST_DOCUMENT if name.endswith(_DOCUMENTS) else LARGEST


def megabytes(size: int) -> str:
    """Format a size in megabytes."""
    return f"{size / 1_000_000:,.0f} MB"


async def read_blocks(path: Path, data: bytes) -> list[Block]:
    """Split the content `data` of a file into blocks. Raises SkippedError if no text can be extracted."""
    name = path.name.lower()
    if not data.strip():
        raise SkippedError("empty")
    if name.endswith(".pdf") or data.startswith(b"%PDF-"):
        found: Iterator[Block] = page_blocks(await _pages(data))
    elif name.endswith(".docx"):
        found = markdown_blocks(await _word(data), "heading")
    elif is_workbook(name, data):
        found = await _sheets(data)
    elif name.endswith((".html", ".htm", ".xhtml")):
        found = markdown_blocks(await _html(path, data), "heading")
    elif name.endswith(".ipynb"):
        found = markdown_blocks(_notebook(data), "heading")
    else:
        found = _of_text(path.name, _text(data))
    try:
        blocks = await asyncio.to_thread(lambda: [block for block in found if block.text.strip()])
    except NoTextColumnError as error:
        raise SkippedError("no_text_column") from error
    except BadTableError as error:
        raise SkippedError("bad_table", str(error)[:100]) from error
    if not blocks:
        raise SkippedError("empty")
    return blocks


def _of_text(name: str, text: str) -> Iterator[Block]:
    if name.lower().endswith(_TABLES):
        yield from row_blocks(table_rows(name, text))
    else:
        yield from blocks_of(name, text)


def _text(data: bytes) -> str:
    try:
        return decode(data).text
    except NotTextError as error:
        raise SkippedError(error.kind) from error


def _notebook(data: bytes) -> str:
    try:
        return notebook_text(data)
    except ValueError as error:
        raise SkippedError("bad_table", str(error)[:100]) from error


async def _pages(data: bytes) -> tuple[str, ...]:
    try:
        pages = (await pdf_pages(data, seconds=_PDF_SECONDS, most_pages=_MOST_PAGES)).pages
    except PdfError as error:
        reasons: dict[str, SkipReason] = {
            "missing": "pdf_missing",
            "encrypted": "pdf_encrypted",
            "broken": "pdf_broken",
            "slow": "pdf_slow",
            "pictures": "pdf_pictures",
            "pages": "pdf_pages",
        }
        raise SkippedError(reasons[error.trouble], f"{error.pages:,}" if error.pages else "") from error
    if is_garbled("\n".join(pages)):
        raise SkippedError("pdf_garbled")
    return pages


async def _word(data: bytes) -> str:
    try:
        return await word_markdown(data)
    except WordError as error:
        reasons: dict[str, SkipReason] = {"missing": "docx_missing", "broken": "docx_broken", "slow": "docx_slow"}
        raise SkippedError(reasons[error.trouble]) from error


async def _sheets(data: bytes) -> Iterator[Block]:
    try:
        book = await read_workbook(data)
    except WorkbookError as error:
        reasons: dict[str, SkipReason] = {
            "broken": "workbook_broken",
            "slow": "workbook_slow",
            "old": "workbook_old",
            "locked": "workbook_locked",
        }
        raise SkippedError(reasons[error.trouble]) from error
    if book.is_cut:
        raise SkippedError("workbook_slow")
    return sheet_blocks(book.sheets)


async def _html(path: Path, data: bytes) -> str:
    try:
        page = await extract(Page(url=path.as_uri(), media_type="text/html", charset="", data=data))
    except NoTextError as error:
        raise SkippedError("binary") from error
    has_title = page.title and page.title not in page.text[:200]
    return f"# {page.title}\n\n{page.text}" if has_title else page.text
