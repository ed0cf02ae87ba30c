"""The configured search engines, with their limits and a cache of answers."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping
from urllib.parse import urlsplit

import msgspec

from localllm.base import offline
from localllm.base.errors import WebSearchError
from localllm.config.registry import SEARCH_ENGINES, load
from localllm.config.schema import WebSettings
from localllm.text.sanitising import clean
from localllm.web.engine_guard import EngineGuard
from localllm.web.engines.base import FIRST_PAGE, ResultView, SearchAnswer, SearchEngine
from localllm.web.search_cache import SearchCache, open_cache, search_key

_MOST_SILENT, _LONGEST_SILENT = 20, 80
"""How many silent engines are named, and characters each."""


class EngineReply(msgspec.Struct, frozen=True):
    """An engine's answer; `was_kept` if it came from the cache or from a concurrent request."""

    answer: SearchAnswer
    was_kept: bool


class EnginePool:
    """The engines, in order. Users of one pool share rate limits, circuit breakers and the cache."""

    def __init__(
        self,
        engines: Iterable[SearchEngine],
        *,
        cache: SearchCache | None = None,
        clock: Callable[[], float] = time.monotonic,
        pause: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        """Create the pool. `clock` returns seconds and `pause` sleeps for them, between the searches of one engine."""
        self.engines = tuple(engines)
        self.cache = cache
        self._guards = {engine.name: EngineGuard(engine, clock=clock, pause=pause) for engine in self.engines}

    async def ask(self, name: str, query: str, limit: int, view: ResultView = FIRST_PAGE) -> EngineReply:
        """Return at most `limit` web pages from the engine `name`, cached or new.

        While the program is offline no engine is called, not even a local one: it would search the web itself.

        Raises:
            WebSearchError: The engine failed, or its circuit breaker is open.
        """
        guard, was_asked = self._guards[name], False

        async def search() -> SearchAnswer:
            nonlocal was_asked
            if offline.is_on():
                raise WebSearchError("search_offline")
            was_asked = True
            return await guard.search(query, limit, view)

        if self.cache is None:
            return EngineReply(_bounded(await search()), was_kept=False)
        wanted = () if view == FIRST_PAGE else (view.language, view.page, *filter(None, [view.country]))
        answer = await self.cache.answer(search_key(name, guard.engine.scope, query, limit, *wanted), search)
        return EngineReply(_bounded(answer), was_kept=not was_asked)


def open_pool(
    settings: WebSettings, environ: Mapping[str, str], *, cache_ttl: float | None = None, use_cache: bool = True
) -> EnginePool:
    """Create the configured engines, in order.

    Args:
        settings: The `[web]` settings.
        environ: Contains the cache's password.
        cache_ttl: Cache lifetime in seconds, overriding the settings' `cache_ttl`.
        use_cache: Whether to use the cache.
    """
    if cache_ttl is not None:
        settings = msgspec.structs.replace(settings, cache_ttl=cache_ttl)
    engines: list[SearchEngine] = [load(SEARCH_ENGINES[name])(settings) for name in dict.fromkeys(settings.engines)]
    return EnginePool(engines, cache=open_cache(settings, environ) if use_cache else None)


def _bounded(answer: SearchAnswer) -> SearchAnswer:
    """Drop results that are not web pages (a path would be taken for a local file), and truncate the names and reasons
    of the engines behind."""
    return msgspec.structs.replace(
        answer,
        results=tuple(one for one in answer.results if _is_of_the_web(one.url)),
        silent=tuple(clean(one[:_LONGEST_SILENT], keep_newlines=False) for one in answer.silent[:_MOST_SILENT]),
    )


def _is_of_the_web(url: str) -> bool:
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and bool(parts.netloc)
