"""Read script-rendered pages in the browser, and detect which pages need it."""

import asyncio
import re
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from localllm.base.errors import BrowserError, ToolExecutionError
from localllm.base.lazy_patterns import late_pattern
from localllm.web.addresses import checked_url, shown_address
from localllm.web.browser.chromium import Chromium, reason_of, require_chromium
from localllm.web.browser.guard_proxy import GuardProxy, NextProxy
from localllm.web.fetching import LARGEST

if TYPE_CHECKING:
    from playwright.async_api import Page, Route

_LITTLE_TEXT = 200  # characters; a page with more is not rendered
_NO_TEXT = 40
_QUIET = 5.0  # seconds to wait for network idle after loading
_END = 5.0
_MOST_RECEIVED = 30_000_000  # bytes of a page with all its requests
_UNNEEDED = frozenset({"image", "media", "font", "texttrack", "eventsource", "websocket", "manifest", "other"})
"""Resource types without text."""

_MADE_BY_SCRIPTS = late_pattern(
    r"(?i)id=[\"']?(?:root|app|__next|__nuxt|___gatsby|react-root|main-app|ember\d+)\b|<app-root|ng-app|data-reactroot"
    r"|<noscript>(?:(?!</noscript>).){0,500}javascript"
)
"""The root elements of frameworks, and the messages of such pages without scripts."""

_WITHOUT_PEERS = """
for (const name of ['RTCPeerConnection', 'webkitRTCPeerConnection', 'WebTransport']) delete self[name];
"""


def needs_scripts(html: str, text: str) -> bool:
    """Whether a page is rendered by scripts: it has scripts, and hardly any text or an empty root element."""
    if len(text) >= _LITTLE_TEXT or not re.search(r"<script\b", html, re.IGNORECASE):
        return False
    return len(text.strip()) < _NO_TEXT or bool(_MADE_BY_SCRIPTS.search(html))


class RenderedPage(msgspec.Struct, frozen=True):
    """A page after its scripts have run: the final address, and its HTML."""

    url: str
    html: str


class PageRenderer:
    """Render pages, one at a time, in one browser that is started for the first one.

    `allowed` are the `host:port` that may be private; `seconds` is the timeout of a page; `proxy` is `web.proxy`. If
    the browser is not available, every `render` raises the error. `guard` creates the proxy; tests give it names.
    """

    def __init__(
        self,
        allowed: tuple[str, ...] = (),
        *,
        seconds: float = 30.0,
        user_agent: str = "",
        proxy: str = "",
        find: Callable[[], Path] = require_chromium,
        guard: Callable[[tuple[str, ...], NextProxy | None], GuardProxy] = GuardProxy,
    ) -> None:
        self._allowed = tuple(place.lower() for place in allowed)
        self._seconds = seconds
        self._user_agent = user_agent
        self._proxy = proxy
        self._find = find
        self._make_guard = guard
        self._guard: GuardProxy | None = None
        self._chromium: Chromium | None = None
        self._failure: BrowserError | None = None
        self._turn = asyncio.Lock()

    async def render(self, url: str) -> RenderedPage:
        """Render the page at `url`. Raises BrowserError, ToolExecutionError web_status, SafetyViolationError."""
        from playwright.async_api import Error

        async with self._turn:
            target = str(checked_url(url, self._allowed))
            chromium, guard = await self._running()
            guard.allow_more(_MOST_RECEIVED)
            try:
                async with asyncio.timeout(self._seconds):
                    rendered = await self._in_new_profile(chromium, target)
                    checked_url(rendered.url, self._allowed)  # otherwise it is the proxy's error page
                    return rendered
            except TimeoutError as error:
                await self._stop()  # a hanging browser is ended
                raise BrowserError("browser_slow", url=shown_address(url), seconds=self._seconds) from error
            except Error as error:
                if not chromium.browser.is_connected():
                    await self._stop()
                raise BrowserError("browser_page_failed", url=shown_address(url), reason=reason_of(error)) from error
            except asyncio.CancelledError:
                await self._stop()
                raise
            finally:
                guard.allow_more(0)

    async def aclose(self) -> None:
        """End the browser, if it runs."""
        await self._stop()

    async def _running(self) -> tuple[Chromium, GuardProxy]:
        """Return the browser and its proxy, starting them if needed. A failed start is not retried."""
        if self._failure is not None:
            raise self._failure
        if self._chromium is None or self._guard is None:
            try:
                executable = self._find()
                self._guard = self._make_guard(self._allowed, _following(self._proxy))
                await self._guard.start()
                self._chromium = await Chromium.start(executable, self._guard.settings)
            except BrowserError as error:
                self._failure = error
                await self._stop()
                raise
            except BaseException:
                await self._stop()
                raise
        return self._chromium, self._guard

    async def _stop(self) -> None:
        chromium, guard = self._chromium, self._guard
        self._chromium = self._guard = None
        try:
            if chromium is not None:
                await asyncio.shield(chromium.close())
        finally:
            if guard is not None:
                guard.close()

    async def _in_new_profile(self, chromium: Chromium, url: str) -> RenderedPage:
        """Load the page in a new browser context."""
        context = await chromium.browser.new_context(
            accept_downloads=False, service_workers="block", user_agent=self._user_agent or _agent(chromium)
        )
        try:
            await context.add_init_script(_WITHOUT_PEERS)
            await context.route("**/*", _only_needed)
            return await _read(await context.new_page(), url)
        finally:
            with suppress(TimeoutError):
                async with asyncio.timeout(_END):
                    await context.close()


async def _only_needed(route: "Route") -> None:
    if route.request.resource_type in _UNNEEDED:
        await route.abort()
    else:
        await route.continue_()


async def _read(page: "Page", url: str) -> RenderedPage:
    from playwright.async_api import TimeoutError as TooSlowError

    answer = await page.goto(url, wait_until="domcontentloaded", timeout=0)
    if answer is not None and answer.status >= 400:
        raise ToolExecutionError("web_status", url=shown_address(page.url), status=answer.status)
    with suppress(TooSlowError):
        await page.wait_for_load_state("networkidle", timeout=_QUIET * 1000)
    return RenderedPage(page.url, (await page.content())[:LARGEST])


def _agent(chromium: Chromium) -> str:
    """Return the browser's user agent, which pages check for features, with this program's name."""
    version = chromium.browser.version.partition(".")[0]
    return (
        "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) "
        f"HeadlessChrome/{version}.0.0.0 Safari/537.36 localllm"
    )


def _following(proxy: str) -> NextProxy | None:
    try:
        return NextProxy.of(proxy) if proxy else None
    except ValueError as error:
        raise BrowserError("browser_proxy") from error
