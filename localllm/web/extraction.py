"""Extract the text of a page without boilerplate.

With the optional package trafilatura, the main text is extracted (main_text.py); otherwise all text except scripts,
navigation and forms.
"""

import asyncio
import codecs
import re
import threading
from concurrent.futures import Future

import msgspec

from localllm.base.errors import ToolExecutionError
from localllm.documents.html_text import html_text
from localllm.documents.pdf import PdfError, read_pdf
from localllm.text.decoding import NotTextError, decode
from localllm.text.sanitising import clean
from localllm.web.addresses import shown_address
from localllm.web.fetching import Page
from localllm.web.main_text import main_text

_SECONDS = 20.0
_FREE_THREADS = threading.BoundedSemaphore(6)
"""A page may block its thread long after its timeout. So these threads are separate from the shared pool, do not delay
the program's exit, and while all are blocked, no main text is extracted."""

_SECONDS_TO_BEGIN, _SECONDS_BETWEEN_LOOKS = 20.0, 0.02
"""How long a page waits for a free thread: several are read at once, each in about half a second."""

_SNIFFED = 4_096
_SHORTEST = 400  # characters; a shorter page is taken as a whole
_CHARSET = re.compile(
    rb"""<meta[^>]{0,300}?charset\s*+=\s*+(?:["']\s*+)?([\w.:-]{1,40})|encoding=["']([\w.:-]{1,40})["']""", re.I
)
_WIDER = {"shift_jis": "cp932", "iso8859-1": "cp1252", "ascii": "cp1252", "euc_kr": "cp949", "gb2312": "gb18030"}
"""Supersets of encodings that browsers use for these names (encoding.spec.whatwg.org)."""

_NOT_OF_THE_WEB = frozenset(
    {"unicode-escape", "raw-unicode-escape", "idna", "punycode", "undefined", "utf-7", "mbcs", "oem"}
)
"""Codecs that no browser supports; they would let a page encode any character in ASCII, or fail."""

_ALIASES = {"x-sjis": "cp932", "windows-31j": "cp932", "x-euc-jp": "euc_jp"}


_UNREADABLE = "\N{REPLACEMENT CHARACTER}"
_FEW_UNREADABLE, _UNREADABLE_SHARE = 2, 0.005
"""Undecodable characters, in number and share, up to which the declared encoding is accepted."""


class NoTextError(Exception):
    """The page contains no readable text."""


class Extracted(msgspec.Struct, frozen=True):
    """A page's title ("" for none), its text, and the extractor: trafilatura, html, text or pdf."""

    title: str
    text: str
    by: str


async def page_text(page: Page) -> Extracted:
    """Extract the text of a page. Raises ToolExecutionError (web_no_text, web_pdf_large, pdf_…)."""
    if page.cut and _is_pdf(page):  # its cross-reference table is at the end
        raise ToolExecutionError("web_pdf_large", url=shown_address(page.url), megabytes=len(page.data) / 1e6)
    try:
        return await extract(page)
    except NoTextError as error:
        kind = clean(page.media_type, keep_newlines=False)
        raise ToolExecutionError("web_no_text", url=shown_address(page.url), kind=kind or "?") from error
    except PdfError as error:
        where = shown_address(page.url)
        raise ToolExecutionError(f"pdf_{error.trouble}", path=where, pages=error.pages) from error


async def extract(page: Page) -> Extracted:
    """Extract the text of a page. Raises NoTextError, and PdfError for a PDF without text."""
    kind = page.media_type
    if _is_pdf(page):
        found = await read_pdf(page.data)
        return Extracted(found.title, found.text, "pdf")
    if kind in ("text/html", "application/xhtml+xml", "") and _looks_like_html(page.data):
        return await extract_html(decoded(page))
    if kind in ("text/html", "") or kind.startswith("text/") or kind.rpartition("+")[2] in _TEXT_KINDS:
        return Extracted("", decoded(page), "text")
    raise NoTextError


def _is_pdf(page: Page) -> bool:
    return page.media_type == "application/pdf" or page.data.startswith(b"%PDF-")


_TEXT_KINDS = frozenset({"json", "xml", "application/json", "application/xml", "application/javascript", "yaml"})


def _looks_like_html(data: bytes) -> bool:
    return b"<" in data[:_SNIFFED]


def decoded(page: Page) -> str:
    """Decode a page in the encoding its server declares, else the one it declares itself, else a detected one.

    A declared encoding that fails on many characters is skipped. Raises NoTextError for binary data.
    """
    data = page.data
    named = dict.fromkeys(map(_codec, (page.charset, _named_in(data[:_SNIFFED]))))
    texts = [data.decode(codec, "replace") for codec in named if codec]
    for text in texts:
        if text.count(_UNREADABLE) <= max(_FEW_UNREADABLE, len(text) * _UNREADABLE_SHARE):
            return text
    try:
        return decode(data[: data.rfind(b"\n") + 1] if page.cut and b"\n" in data else data).text
    except NotTextError as error:
        if texts:
            return texts[0]
        if error.kind == "binary":
            raise NoTextError from error
        return data.decode("utf-8" if page.cut else "cp1252", "replace")


def _named_in(head: bytes) -> str:
    if head.startswith((codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return ""
    found = _CHARSET.search(head)
    return (found[1] or found[2]).decode("ascii", "ignore") if found else ""


def _codec(name: str) -> str:
    """Return the codec for an encoding name of the web; "" for an unknown or non-text one."""
    try:
        codec = codecs.lookup(_ALIASES.get(name.lower(), name or "?"))
    except (LookupError, ValueError):
        return ""
    if codec.name in _NOT_OF_THE_WEB:
        return ""
    wider = _WIDER.get(codec.name, codec.name)
    return wider if getattr(codec, "_is_text_encoding", True) else ""


async def extract_html(html: str) -> Extracted:
    """Extract the text of an HTML page."""
    plain = await asyncio.to_thread(html_text, html)
    main = await _main_text(html) if len(plain.text) >= _SHORTEST else ""
    if main:
        return Extracted(plain.title, main, "trafilatura")
    return Extracted(plain.title, plain.text, "html")


async def _main_text(html: str) -> str:
    """Extract the page's main text; "" if there is none, after a timeout, or if no thread is free."""
    try:
        async with asyncio.timeout(_SECONDS_TO_BEGIN):
            while not _FREE_THREADS.acquire(blocking=False):  # noqa: ASYNC110 - threads give them back
                await asyncio.sleep(_SECONDS_BETWEEN_LOOKS)
    except TimeoutError:
        return ""
    found: Future[str] = Future()
    found.set_running_or_notify_cancel()  # so that cancelling the wait does not cancel it

    def look() -> None:
        try:
            found.set_result(main_text(html))
        except Exception as error:  # noqa: BLE001 - raised where it is waited for
            found.set_exception(error)
        finally:
            _FREE_THREADS.release()

    threading.Thread(target=look, name="main-text", daemon=True).start()
    try:
        async with asyncio.timeout(_SECONDS):
            return await asyncio.wrap_future(found)
    except TimeoutError:
        return ""
