"""PDFs as text, and those that have none to give."""

import io

import pypdf
import pytest

from localllm.documents.pdf import PdfError, pdf_text
from tests.support.pdfs import make_pdf

pytestmark = pytest.mark.anyio


async def trouble(data: bytes, seconds: float = 30.0) -> tuple[str, int]:
    with pytest.raises(PdfError) as caught:
        await pdf_text(data, seconds)
    return caught.value.trouble, caught.value.pages


async def test_pages_come_under_their_numbers() -> None:
    assert await pdf_text(make_pdf("First words", "Second words")) == (
        "--- page 1 of 2 ---\nFirst words\n--- page 2 of 2 ---\nSecond words\n"
    )


async def test_what_gives_no_text_says_why() -> None:
    locked = io.BytesIO()
    writer = pypdf.PdfWriter(clone_from=io.BytesIO(make_pdf("Secret")))
    writer.encrypt("password", algorithm="RC4-128")
    writer.write(locked)
    assert await trouble(locked.getvalue()) == ("encrypted", 0)
    assert await trouble(b"%PDF-1.7\nnot really") == ("broken", 0)
    assert await trouble(make_pdf("", "")) == ("pictures", 2)
    assert await trouble(make_pdf("x"), seconds=0.001) == ("slow", 0)
