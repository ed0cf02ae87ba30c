"""What every search engine offers."""

from typing import Protocol

import msgspec


class SearchResult(msgspec.Struct, frozen=True):
    """One page found: its title, address, and what the engine quotes of it. `engine` is who found it."""

    title: str
    url: str
    snippet: str
    engine: str


class SearchAnswer(msgspec.Struct, frozen=True):
    """What a search gave: the results, best first; `answers` are direct ones (a sum, a definition); `silent` names the
    engines behind that did not answer, each with why."""

    results: tuple[SearchResult, ...]
    answers: tuple[str, ...] = ()
    silent: tuple[str, ...] = ()


class ResultView(msgspec.Struct, frozen=True):
    """Which results are asked for: in a `language` (ISO 639-1, such as ja; empty: the engine's own choice), which
    `page` of them, from 1, and those meant for a `country` (ISO 3166, such as jp; empty leaves that too)."""

    language: str = ""
    page: int = 1
    country: str = ""


FIRST_PAGE = ResultView()


class EngineLimits(msgspec.Struct, frozen=True):
    """How an engine may be asked: `concurrency` searches at a time, `per_minute` of them, a tenth of these at once."""

    concurrency: int = 1
    per_minute: int = 30


class SearchEngine(Protocol):
    """A way to search the web."""

    @property
    def name(self) -> str:
        """Its name in the settings."""
        ...

    @property
    def limits(self) -> EngineLimits:
        """How it may be asked."""
        ...

    @property
    def scope(self) -> str:
        """What its answers depend on besides the query, such as an address and a language: what was found before is
        shown again only where that is the same."""
        ...

    async def search(self, query: str, limit: int, view: ResultView = FIRST_PAGE) -> SearchAnswer:
        """At most `limit` results, of the page and in the language of `view`. Raises WebSearchError."""
        ...

    async def check(self) -> tuple[str, ...]:
        """Find out whether it can be asked, as cheaply as that can be known; the engines behind it that are silent.

        Raises WebSearchError.
        """
        ...
