"""DuckDuckGo, through the package ddgs if installed (called duckduckgo-search until 2025)."""

import asyncio
import importlib
import importlib.util
import re
from collections.abc import Callable
from typing import Any

from localllm.base import offline
from localllm.base.errors import WebSearchError
from localllm.base.i18n import N_, Phrase, _
from localllm.config.schema import WebSettings
from localllm.text.sanitising import clean
from localllm.web.engines.base import FIRST_PAGE, EngineLimits, ResultView, SearchAnswer, SearchResult

Ask = Callable[[str, int, ResultView], list[dict[str, Any]]]
"""The search function of ddgs: query, number of results and view; returns title, href and body of each. Raises its own
exceptions."""

_REGIONS = {"en": "us-en", "ja": "jp-jp", "ko": "kr-kr", "sv": "se-sv", "da": "dk-da", "cs": "cz-cs", "uk": "ua-uk"}
"""DuckDuckGo's regions (country-language) of languages whose country has a different code."""

_SAME_CODES = frozenset(["de", "es", "fi", "fr", "hu", "it", "nl", "no", "pl", "pt", "ro", "ru", "tr"])
"""Languages whose region is their code twice: de-de."""

_LONGEST_REASON = 200
_PASSING = frozenset({"RatelimitException", "TimeoutException"})
"""Transient exceptions of ddgs, by name, because it is imported late."""


def is_installed() -> bool:
    """Whether the package is installed, without importing it."""
    try:
        return importlib.util.find_spec("ddgs") is not None
    except ModuleNotFoundError:  # its source tree is open, but not running
        return False


class DuckDuckGo:
    """DuckDuckGo's results. `proxy` is a proxy's address; `ask` replaces the package in tests."""

    name = "duckduckgo"
    scope = ""
    limits = EngineLimits(concurrency=1, per_minute=20)

    def __init__(self, *, seconds: float = 20.0, proxy: str = "", ask: Ask | None = None) -> None:
        self._seconds = seconds
        self._proxy = proxy
        self._ask = ask or self._by_package

    async def search(self, query: str, limit: int, view: ResultView = FIRST_PAGE) -> SearchAnswer:
        """Return at most `limit` results. Checks `offline` first, since the package opens its own connections."""
        if offline.is_on():
            raise WebSearchError("search_offline")
        try:
            async with asyncio.timeout(self._seconds):
                found = await asyncio.to_thread(self._ask, query, limit, view)
        except WebSearchError:
            raise
        except TimeoutError as error:
            raise WebSearchError("duckduckgo_failed", retryable=True, reason=f"{self._seconds:g} s") from error
        except Exception as error:  # the package passes on any exception of its HTTP library and parsers
            if "No results" in str(error):
                return SearchAnswer(())
            raise WebSearchError(
                "duckduckgo_failed",
                retryable=type(error).__name__ in _PASSING,
                reason=_reason(error),
            ) from error
        return SearchAnswer(
            tuple(
                SearchResult(str(item.get("title", "")), str(item["href"]), str(item.get("body", "")), self.name)
                for item in found[:limit]
                if item.get("href")
            )
        )

    async def check(self) -> tuple[str, ...]:
        """Check that the package is installed. Sends nothing."""
        if not is_installed():
            raise WebSearchError("duckduckgo_missing")
        return ()

    def _by_package(self, query: str, limit: int, view: ResultView) -> list[dict[str, Any]]:
        try:
            ddgs: Any = importlib.import_module("ddgs")
            engines: Any = importlib.import_module("ddgs.engines")
        except ImportError as error:
            raise WebSearchError("duckduckgo_missing") from error
        if self.name not in engines.ENGINES["text"]:  # the package would ask all its other engines
            raise WebSearchError("duckduckgo_failed", reason=_("this release of the package ddgs does not ask it"))
        client = ddgs.DDGS(timeout=int(self._seconds), proxy=self._proxy or None)
        wanted: dict[str, Any] = {"region": region} if (region := _region(view)) else {}
        if view.page > 1:
            wanted["page"] = view.page
        return client.text(query, max_results=limit, backend=self.name, **wanted)


_FAULTS = (
    (r"(?i)dns|name or service not known|getaddrinfo|no records found|resolve", N_("its name cannot be resolved")),
    (r"(?i)connection refused|connect error|network is unreachable|no route", N_("no connection is possible")),
    (r"(?i)certificate|\btls\b|\bssl\b", N_("its certificate was not accepted")),
)
"""What the messages of the package, which quote its HTTP library, come to."""


def _reason(error: Exception) -> str | Phrase:
    """Return why the search failed, in plain words where the message is a known one of the HTTP library."""
    said = f"{type(error).__name__}: {error}"
    if known := next((words for pattern, words in _FAULTS if re.search(pattern, said)), ""):
        return Phrase(known)
    return clean(str(error) or type(error).__name__, keep_newlines=False)[:_LONGEST_REASON]


def _region(view: ResultView) -> str:
    """Return DuckDuckGo's region for a language and a country; empty if it has none, which leaves it to the engine."""
    language, country = view.language, view.country
    if language and country:
        region = _REGIONS.get(language, "")
        return region if region.startswith(f"{country}-") else f"{country}-{language}"
    return f"{language}-{language}" if language in _SAME_CODES else _REGIONS.get(language, "")


def make(settings: WebSettings) -> DuckDuckGo:
    """Create the engine from the settings."""
    return DuckDuckGo(seconds=settings.timeout, proxy=settings.proxy)
