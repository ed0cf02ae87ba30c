"""SearxNG, a self-hosted search engine, through its JSON API (docs.searxng.org/dev/search_api.html)."""

from collections.abc import Sequence
from typing import Any
from urllib.parse import urlsplit

import msgspec

from localllm.base.errors import WebSearchError
from localllm.base.jsontext import decode_json
from localllm.config.schema import WebSettings
from localllm.text.sanitising import clean
from localllm.web.engines.base import FIRST_PAGE, EngineLimits, ResultView, SearchAnswer, SearchResult
from localllm.web.engines.duplicate_results import unique
from localllm.web.engines.http import EngineUnreachableError, Reply, get

_OK = 200
_LONGEST_REASON = 200

PLACES = ("http://127.0.0.1:8888", "http://127.0.0.1:8080")
"""Default addresses: as `localllm init --services` starts it, and its own default."""


class _Result(msgspec.Struct):
    url: str = ""
    title: str | None = ""
    content: str | None = ""
    engine: str = ""
    engines: list[str] = []


class _Refusal(msgspec.Struct):
    error: str = ""


class _Answer(msgspec.Struct):
    query: str
    results: list[_Result]
    answers: list[Any] = []
    unresponsive_engines: list[list[str]] = []


class SearxNG:
    """The SearxNG at `url`, which may be local, since the user configures it."""

    name = "searxng"
    limits = EngineLimits(concurrency=1, per_minute=60)

    def __init__(
        self,
        url: str = "",
        *,
        categories: Sequence[str] = (),
        seconds: float = 20.0,
        places: Sequence[str] = PLACES,
    ) -> None:
        """Without a `url`, use the first of `places` that answers; without `categories`, SearxNG's default."""
        self._places = (_base(url),) if url else tuple(places)
        self._categories = ",".join(categories)
        self._seconds = seconds

    @property
    def scope(self) -> str:
        """The addresses and categories."""
        return " ".join([*self._places, self._categories]).rstrip()

    async def search(self, query: str, limit: int, view: ResultView = FIRST_PAGE) -> SearchAnswer:
        """Return the answer of the first address that has one."""
        failure: WebSearchError | None = None
        for place in self._places:
            try:
                return await self._ask(place, query, limit, view)
            except WebSearchError as error:
                failure = failure or error
        raise failure or WebSearchError("searxng_unreachable", url="", reason="")

    async def check(self) -> tuple[str, ...]:
        """Run a test search: only that shows whether JSON is enabled and the backend engines answer."""
        answer = await self.search("test", 1)
        if answer.silent and not answer.results and not answer.answers:
            raise WebSearchError("search_engines_silent", engine=self.name, engines=", ".join(answer.silent))
        return answer.silent

    async def _ask(self, place: str, query: str, limit: int, view: ResultView) -> SearchAnswer:
        parameters = {"q": query, "format": "json"}
        wanted = {"categories": self._categories, "language": _locale(view), "pageno": str(view.page)}
        parameters |= {name: value for name, value in wanted.items() if value not in ("", "1")}
        try:
            reply = await get(f"{place}/search", parameters, seconds=self._seconds)
        except EngineUnreachableError as error:
            raise WebSearchError(
                "searxng_unreachable", retryable=error.timed_out, url=place, reason=str(error)
            ) from error
        if reply.status != _OK:
            raise _refusal(place, reply)
        return _understood(place, reply.data, limit)


def _locale(view: ResultView) -> str:
    """Return SearxNG's language code: ja, or with a country ja-JP; it has no country alone."""
    return f"{view.language}-{view.country.upper()}" if view.language and view.country else view.language


def _base(url: str) -> str:
    """Return the address without a search path, a query or a trailing slash, which users copy along."""
    parts = urlsplit(url if "://" in url else f"http://{url}")
    path = parts.path.rstrip("/").removesuffix("/search")
    return f"{parts.scheme}://{parts.netloc}{path}"


def _refusal(place: str, reply: Reply) -> WebSearchError:
    match reply.status:
        case 400:
            return WebSearchError("searxng_refused", url=place, reason=_reason(reply.data))
        case 403:
            return WebSearchError("searxng_no_json", url=place)
        case 429:
            return WebSearchError("searxng_limited", retryable=True, retry_after=reply.retry_after, url=place)
        case status:
            return WebSearchError(
                "searxng_unreachable",
                retryable=reply.is_passing,
                retry_after=reply.retry_after,
                url=place,
                reason=f"HTTP {status}",
            )


def _reason(data: bytes) -> str:
    """Return the reason of a rejection on one line, if given."""
    try:
        said = decode_json(data, _Refusal).error
    except msgspec.DecodeError:
        said = ""
    return clean(said, keep_newlines=False)[:_LONGEST_REASON].rstrip(".") or "HTTP 400"


def _understood(place: str, data: bytes, limit: int) -> SearchAnswer:
    try:
        answer = decode_json(data, _Answer)
    except msgspec.DecodeError as error:
        raise WebSearchError("searxng_not_one", url=place) from error
    return SearchAnswer(
        results=unique(
            SearchResult(
                result.title or "", result.url, result.content or "", ", ".join(result.engines) or result.engine
            )
            for result in answer.results
            if result.url
        )[:limit],
        answers=tuple(text for item in answer.answers if (text := _answer(item))),
        silent=tuple(": ".join(map(str, engine)) for engine in answer.unresponsive_engines),
    )


def _answer(item: Any) -> str:
    """Return a direct answer: a string in old versions, an object with a text in new ones."""
    match item:
        case str():
            return item
        case {"answer": str(text)}:
            return text
        case _:
            return ""


def make(settings: WebSettings) -> SearxNG:
    """Create the engine from the settings."""
    return SearxNG(settings.searxng_url, categories=settings.searxng_categories, seconds=settings.timeout)
