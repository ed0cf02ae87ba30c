"""Extract the text of a PDF file, page by page, with the package pypdf if installed.

A PDF may be crafted to exhaust time or memory. So it is read in a helper process, which can be killed and has
limits.
"""

from typing import Literal

import msgspec

from localllm.documents.helper_process import DiedError, SlowError, ask, package_place

_SECONDS = 30.0
_MOST_TEXT = 5_000_000  # characters; a thousand dense pages
_MOST_PAGES = 20_000
_LONGEST_TITLE = 300
_WITHOUT_TEXT = "[no text on this page: it is a picture, or blank]"

Trouble = Literal["missing", "encrypted", "broken", "slow", "pictures", "pages"]


class PdfError(Exception):
    """Why there is no text: pypdf is `missing`, the file is `encrypted` or `broken`, reading was too `slow`, its
    pages are `pictures`, or there are too many `pages`."""

    def __init__(self, trouble: Trouble, pages: int = 0) -> None:
        super().__init__(trouble)
        self.trouble: Trouble = trouble
        self.pages = pages


class PdfText(msgspec.Struct, frozen=True):
    """The title in the metadata of a PDF ("" if none), and the text of all pages, each under a line
    `--- page 3 of 12 ---`; pages without text are marked."""

    title: str
    text: str


class PdfPages(msgspec.Struct, frozen=True):
    """The title in the metadata of a PDF ("" if none), and the text of each page ("" for a picture)."""

    title: str
    pages: tuple[str, ...]


class _Answer(msgspec.Struct):
    pages: list[str]
    title: str = ""
    trouble: Trouble | None = None
    count: int = 0


async def pdf_text(data: bytes, seconds: float = _SECONDS) -> str:
    """Return the text of all pages. Raises PdfError."""
    return (await read_pdf(data, seconds)).text


async def read_pdf(data: bytes, seconds: float = _SECONDS) -> PdfText:
    """Return the title and the text. Raises PdfError."""
    found = await pdf_pages(data, seconds=seconds)
    total = len(found.pages)
    parts = [
        f"--- page {number} of {total} ---\n{page or _WITHOUT_TEXT}\n" for number, page in enumerate(found.pages, 1)
    ]
    return PdfText(found.title, "".join(parts))


async def pdf_pages(data: bytes, *, seconds: float = _SECONDS, most_pages: int = _MOST_PAGES) -> PdfPages:
    """Return the title and the text of each page. Raises PdfError, also if no page has text."""
    if (place := package_place("pypdf")) is None:
        raise PdfError("missing")
    try:
        answer = await ask(serve, place, data, _Answer, _MOST_TEXT, most_pages, seconds=seconds)
    except SlowError as error:
        raise PdfError("slow") from error
    except DiedError as error:
        raise PdfError("broken") from error
    if answer.trouble:
        raise PdfError(answer.trouble, answer.count)
    pages = tuple(page.strip() for page in answer.pages)
    if not any(pages):
        raise PdfError("pictures", len(pages))
    return PdfPages(" ".join(answer.title.split())[:_LONGEST_TITLE], pages)


def serve() -> None:
    """Run in the helper process: read a PDF from standard input, print the fields of _Answer as JSON."""
    import importlib
    import io
    import json
    import sys
    from contextlib import suppress

    sys.path.append(sys.argv[2])
    with suppress(ImportError, OSError, ValueError):  # Windows has no limits; macOS rejects this one
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (int(sys.argv[3]), int(sys.argv[3])))
    pypdf = importlib.import_module("pypdf")
    importlib.import_module("pypdf.errors")
    pages: list[str] = []
    title = ""
    trouble = None
    count = 0
    try:
        reader = pypdf.PdfReader(io.BytesIO(sys.stdin.buffer.read()))
        if reader.is_encrypted and not reader.decrypt(""):
            trouble = "encrypted"
        elif (count := len(reader.pages)) > int(sys.argv[5]):
            trouble = "pages"
        else:
            room = int(sys.argv[4])
            for page in reader.pages:
                text = page.extract_text() if room > 0 else "[too much text: left out]"
                room -= len(text)
                pages.append(text)
            with suppress(AttributeError, LookupError, TypeError, ValueError, pypdf.errors.PyPdfError):
                title = str(getattr(reader.metadata, "title", None) or "")
    except Exception as error:  # noqa: BLE001 - whatever a broken file causes in the package
        trouble = "encrypted" if "cryptography" in str(error) else "broken"
    answer = {"pages": pages, "title": title, "trouble": trouble, "count": count}
    sys.stdout.buffer.write(json.dumps(answer).encode())
