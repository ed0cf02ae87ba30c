"""Print HTML as PDF with the installed Chromium, without network access."""

import asyncio
import os
import re
import subprocess
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from localllm.base.errors import BrowserError
from localllm.documents.pdf_ideographs import with_ideographs
from localllm.web.browser.chromium import Chromium, browser_environment, on_path, reason_of, require_chromium
from localllm.web.browser.guard_proxy import GuardProxy

if TYPE_CHECKING:
    from playwright.async_api import Route

_SECONDS = 60.0
_SECONDS_FONTS = 10.0
_MARGIN = "18mm"
_JAPANESE = re.compile("[\u3040-\u30ff\u3400-\u9fff]")
_FONT_FILES = re.compile(
    r"(?i)cjk|notosans(?:mono)?jp|notoserifjp|ipa(?:ex)?[gm]|takao|vl-?gothic|hiragino|ヒラギノ|msgothic|meiryo"
)
_FONT_FOLDERS = (
    "/usr/share/fonts",
    "/usr/local/share/fonts",
    "/System/Library/Fonts",
    "/Library/Fonts",
    "~/.local/share/fonts",
    "~/.fonts",
)
_FOOTER = (
    "<div style='font-size:8px;width:100%;text-align:center;color:#666'>"
    "<span class='pageNumber'></span> / <span class='totalPages'></span></div>"
)


async def print_pdf(html: str, name: str, *, find: Callable[[], Path] = require_chromium) -> bytes:
    """Return a page as PDF: A4, pages numbered. External resources (pictures, styles, scripts) are left out.

    `name` is that of the file, for errors. Raises BrowserError: browser_no_package, browser_missing,
    browser_not_started, pdf_no_font, pdf_not_printed.
    """
    executable = find()
    if _JAPANESE.search(html) and not await asyncio.to_thread(has_japanese_font):
        raise BrowserError("pdf_no_font", file=name)
    guard = GuardProxy(())  # no host is allowed
    await guard.start()
    try:
        chromium = await Chromium.start(executable, guard.settings)
        try:
            data = await _printed(chromium, html, name)
        finally:
            await asyncio.shield(chromium.close())
    finally:
        guard.close()
    return await asyncio.to_thread(with_ideographs, data)


async def _printed(chromium: Chromium, html: str, name: str) -> bytes:
    from playwright.async_api import Error

    try:
        async with asyncio.timeout(_SECONDS):
            context = await chromium.browser.new_context(java_script_enabled=False, offline=True)
            await context.route("**/*", _nothing)
            page = await context.new_page()
            await page.set_content(html, wait_until="load", timeout=0)
            return await page.pdf(
                format="A4",
                margin={"top": _MARGIN, "bottom": _MARGIN, "left": _MARGIN, "right": _MARGIN},
                print_background=True,
                display_header_footer=True,
                header_template="<span></span>",
                footer_template=_FOOTER,
            )
    except (Error, TimeoutError) as error:
        raise BrowserError("pdf_not_printed", file=name, reason=reason_of(error)) from error


async def _nothing(route: "Route") -> None:
    await route.abort()


def has_japanese_font(environ: Mapping[str, str] = os.environ) -> bool:
    """Whether the browser has a font with Japanese characters."""
    if program := on_path("fc-list", environ):
        command = [program, ":lang=ja", "family"]
        with suppress(OSError, subprocess.SubprocessError):
            found = subprocess.run(
                command, capture_output=True, timeout=_SECONDS_FONTS, check=True, env=browser_environment(environ)
            )
            return bool(found.stdout.strip())
    folders = (Path(folder).expanduser() for folder in _FONT_FOLDERS)
    return any(_FONT_FILES.search(file.name) for folder in folders for file in folder.rglob("*.[ot]t[cf]"))
