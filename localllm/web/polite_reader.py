"""Read pages for research: obey robots.txt, one request at a time per host, redirects included."""

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime

import msgspec

from localllm.base.errors import SafetyViolationError, ToolExecutionError
from localllm.web.addresses import host_of, is_usual_port, parsed_url, place_of, shown_address
from localllm.web.browser.script_pages import PageRenderer, needs_scripts
from localllm.web.extraction import extract_html, page_text
from localllm.web.fetching import Fetcher, Moved, Page
from localllm.web.host_turns import HostTurns
from localllm.web.page_reader import PageReader, ReadPage
from localllm.web.robots import Robots, SiteRules, site_of

_MOVES = 5  # redirects to other sites
_EXTRACTED_AT_ONCE = 2  # pages; each takes memory many times its size
_BUSY = frozenset({429, 503})
_PAUSE_OF_BUSY = 5.0
"""Seconds to pause a busy host."""

_KINDS = {"pdf": "pdf", "text": "text"}


def _host_of(url: str) -> str:
    """Return the host for rate limiting; a non-default port counts as a host of its own."""
    checked = parsed_url(url)
    return host_of(checked) if is_usual_port(checked) else place_of(checked)


def now() -> str:
    """Return the current time in ISO 8601."""
    return datetime.now(UTC).isoformat(timespec="seconds")


class PoliteReader(PageReader):
    """Read pages of the public web. `robots` is None to ignore robots.txt, `renderer` None to read script-rendered
    pages as they are."""

    def __init__(
        self,
        fetcher: Fetcher,
        robots: Robots | None,
        renderer: PageRenderer | None = None,
        *,
        turns: HostTurns | None = None,
        clock: Callable[[], str] = now,
    ) -> None:
        self._fetcher = fetcher
        self._robots = robots
        self._renderer = renderer
        self._turns = turns or HostTurns()
        self._clock = clock
        self._extracting = asyncio.Semaphore(_EXTRACTED_AT_ONCE)

    async def read(self, url: str) -> ReadPage:
        """Read the page at `url`. Raises ToolExecutionError (web_…, pdf_…), SafetyViolationError."""
        page = await self._found(url)
        accessed = self._clock()
        async with self._extracting:
            found = await page_text(page)
        read = ReadPage(page.url, found.title, found.text, _KINDS.get(found.by, "html"), accessed)
        if read.kind == "html" and self._renderer and needs_scripts(page.data.decode("latin-1"), found.text):
            return await self._rendered(read, self._renderer)
        return read

    async def aclose(self) -> None:
        """End the browser, if it was started. Connections are closed with their page."""
        if self._renderer:
            await self._renderer.aclose()

    async def _rendered(self, read: ReadPage, renderer: PageRenderer) -> ReadPage:
        """Return the page rendered in the browser, or as it was read if that fails or has less text."""
        try:
            async with self._turns.turn(_host_of(read.url)):
                rendered = await renderer.render(read.url)
            self._fetcher.checked(rendered.url)
            if (rules := await self._rules_of(rendered.url)) is not None:
                rules.check(rendered.url)
        except (ToolExecutionError, SafetyViolationError) as error:
            return msgspec.structs.replace(read, failure=error)
        async with self._extracting:
            found = await extract_html(rendered.html)
        if len(found.text) <= len(read.text):
            return read
        return ReadPage(rendered.url, found.title or read.title, found.text, "browser", read.accessed)

    async def _found(self, url: str) -> Page:
        target = url
        for _ in range(_MOVES + 1):
            page = await self._visit(target)
            if isinstance(page, Page):
                return page
            target = page.to
        raise ToolExecutionError("web_redirects", url=shown_address(url), count=_MOVES)

    async def _visit(self, url: str) -> Page | Moved:
        """Fetch the page, or return its redirect to another site."""
        target = str(self._fetcher.checked(url))
        site = site_of(target)
        async with self._turns.turn(_host_of(target)) as turn:
            rules = await self._rules_of(target)
            if rules is not None:
                turn.pause = max(turn.pause, rules.delay)
                rules.check(target)

            def stays(_before: str, after: str) -> bool:
                return site_of(after) == site and (rules is None or rules.allows(after))

            try:
                return await self._fetcher.fetch(target, stays)
            except ToolExecutionError as error:
                if error.params.get("status") in _BUSY:
                    turn.pause = max(turn.pause, _PAUSE_OF_BUSY)
                raise

    async def _rules_of(self, url: str) -> SiteRules | None:
        if self._robots is None:
            return None
        try:
            return await self._robots.rules_for(url)
        except SafetyViolationError as error:  # the page's address is refused, not that of robots.txt
            raise SafetyViolationError(error.key, **{**error.params, "url": shown_address(url)}) from error
