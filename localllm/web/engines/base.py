"""The interface of a search engine."""

from typing import Protocol

import msgspec


class SearchResult(msgspec.Struct, frozen=True):
    """A result: title, address, and snippet. `engine` is the one that found it."""

    title: str
    url: str
    snippet: str
    engine: str


class SearchAnswer(msgspec.Struct, frozen=True):
    """The answer to a search: the results, best first; `answers` are direct ones (a sum, a definition); `silent` lists
    the backend engines that did not answer, with reasons."""

    results: tuple[SearchResult, ...]
    answers: tuple[str, ...] = ()
    silent: tuple[str, ...] = ()


class ResultView(msgspec.Struct, frozen=True):
    """The requested results: in a `language` (ISO 639-1, such as ja; empty: the engine's choice), which `page` of them,
    from 1, and for a `country` (ISO 3166, such as jp; empty: the engine's choice)."""

    language: str = ""
    page: int = 1
    country: str = ""


FIRST_PAGE = ResultView()


class EngineLimits(msgspec.Struct, frozen=True):
    """The limits of an engine: `concurrency` parallel searches, `per_minute` searches, in bursts of a tenth of that."""

    concurrency: int = 1
    per_minute: int = 30


class SearchEngine(Protocol):
    """A search engine."""

    @property
    def name(self) -> str:
        """Its name in the settings."""
        ...

    @property
    def limits(self) -> EngineLimits:
        """Its limits."""
        ...

    @property
    def scope(self) -> str:
        """What its answers depend on besides the query, such as an address and a language: part of the cache key."""
        ...

    async def search(self, query: str, limit: int, view: ResultView = FIRST_PAGE) -> SearchAnswer:
        """Return at most `limit` results for `view`. Raises WebSearchError."""
        ...

    async def check(self) -> tuple[str, ...]:
        """Check cheaply whether it is usable; return the silent backend engines.

        Raises WebSearchError.
        """
        ...
