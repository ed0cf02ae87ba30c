"""Web access by the settings: the search engines, and the fetcher of pages."""

import asyncio
import os
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, TypeVar

import msgspec

from localllm.base.errors import LocalLLMError, ToolExecutionError, WebSearchError
from localllm.base.i18n import sentences
from localllm.config.schema import Settings, WebSettings
from localllm.web import robots
from localllm.web.addresses import shown_address
from localllm.web.browser.script_pages import PageRenderer
from localllm.web.engine_pool import EnginePool, open_pool
from localllm.web.engines import duckduckgo
from localllm.web.engines.base import SearchAnswer, SearchEngine
from localllm.web.engines.duplicate_results import unique
from localllm.web.fetching import Check, Fetcher
from localllm.web.page_reader import PageReader
from localllm.web.polite_reader import PoliteReader
from localllm.web.search_cache import SearchCache

T = TypeVar("T")

_TRIES = 2
"""Attempts to read a result without asking the user."""


class WebAccess:
    """The engines in order of use, the first with results wins; and the fetcher."""

    def __init__(
        self,
        engines: Sequence[SearchEngine],
        fetcher: Fetcher,
        *,
        max_results: int = 8,
        cache: SearchCache | None = None,
        clock: Callable[[], float] = time.monotonic,
        pause: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        """Create the access. `clock` returns seconds and `pause` sleeps for them, between the searches of one
        engine."""
        self.pool = EnginePool(engines, cache=cache, clock=clock, pause=pause)
        self.engines = self.pool.engines
        self.cache = cache
        self.fetcher = fetcher
        self.found: set[str] = set()
        """The addresses of all results so far that are shown unabbreviated, without those that failed."""
        self._read: dict[str, Any] = {}
        self._reading: dict[str, asyncio.Lock] = {}
        self._failures: Counter[str] = Counter()
        self._most = max_results

    async def search(self, query: str, only: str = "") -> tuple[SearchAnswer, list[WebSearchError]]:
        """Return the results of the first engine with any (`only` names one), and the errors of those before it.

        Raises WebSearchError if all fail.
        """
        failures: list[WebSearchError] = []
        nothing: SearchAnswer | None = None
        for engine in self.engines:
            if only and engine.name != only:
                continue
            try:
                answer = (await self.pool.ask(engine.name, query, self._most)).answer
            except WebSearchError as error:
                failures.append(error)
                continue
            if answer.results or answer.answers:
                answer = msgspec.structs.replace(answer, results=unique(answer.results))
                self.found |= {one.url for one in answer.results if self._is_readable(one.url)}
                return answer, failures
            nothing = nothing or answer
        if nothing is None and len(failures) > 1:
            raise WebSearchError("web_no_answer", reasons=sentences(*failures))
        if nothing is None:
            raise failures[0] if failures else WebSearchError("web_no_engine")
        return nothing, failures

    def _is_readable(self, url: str) -> bool:
        return url == shown_address(url) and self._failures[url] < _TRIES

    async def read_once(self, url: str, read: Callable[[], Awaitable[T]], keep: Callable[[T], T]) -> T:
        """Read a result once and cache it: the user has not allowed its host, to which the number and order of reads
        would leak information. `keep` makes the cached value."""
        async with self._reading.setdefault(url, asyncio.Lock()):
            if url in self._read:
                return self._read[url]
            try:
                found = await read()
            except LocalLLMError:
                self._failures[url] += 1
                if self._failures[url] >= _TRIES:
                    self.found.discard(url)
                raise
            self._read[url] = keep(found)
            return found


def open_web(settings: WebSettings, environ: Mapping[str, str] = os.environ) -> WebAccess:
    """Create the web access from these settings."""
    pool = open_pool(settings, environ)
    fetcher = Fetcher(allow_private=settings.allow_private, proxy=settings.proxy, seconds=settings.timeout)
    return WebAccess(pool.engines, fetcher, max_results=settings.max_results, cache=pool.cache)


def page_reader(settings: Settings, check: Check | None = None) -> PageReader | None:
    """Create the page reader of a research run, where `check` judges each address; None while the program is offline.

    Raises ToolExecutionError web_robots_no_package.
    """
    if settings.offline:
        return None
    web, research = settings.web, settings.research
    fetcher = Fetcher(
        allow_private=web.allow_private,
        proxy=web.proxy,
        seconds=web.timeout,
        user_agent=research.user_agent,
        check=check,
    )
    if research.respect_robots and not robots.is_installed():
        raise ToolExecutionError("web_robots_no_package")
    rules = robots.Robots(fetcher) if research.respect_robots else None
    renderer = PageRenderer(
        web.allow_private, seconds=research.browser_timeout, user_agent=research.user_agent, proxy=web.proxy
    )
    return PoliteReader(fetcher, rules, renderer if research.browser else None)


def has_two_engines(settings: WebSettings) -> bool:
    """Whether SearxNG is one of two choices: configured along with another engine."""
    others = {*settings.engines} - {"searxng"}
    if not duckduckgo.is_installed():
        others -= {"duckduckgo"}
    return bool(settings.searxng_url and others) and "searxng" in settings.engines
