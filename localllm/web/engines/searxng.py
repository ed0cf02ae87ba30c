"""SearxNG, a search engine one runs oneself, over its JSON (docs.searxng.org/dev/search_api.html)."""

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import msgspec

from localllm.base.errors import WebSearchError
from localllm.config.schema import WebSettings
from localllm.web.engines.base import SearchAnswer, SearchResult
from localllm.web.engines.results import unique

if TYPE_CHECKING:
    import httpx

PLACES = ("http://127.0.0.1:8888", "http://127.0.0.1:8080")
"""Where it is looked for where no address is set: as `localllm init --services` starts it, and as it is by itself."""

_LARGEST = 5_000_000


class _Result(msgspec.Struct):
    url: str = ""
    title: str | None = ""
    content: str | None = ""
    engine: str = ""
    engines: list[str] = []


class _Answer(msgspec.Struct):
    query: str
    results: list[_Result]
    answers: list[Any] = []
    unresponsive_engines: list[list[str]] = []


class SearxNG:
    """The SearxNG at `url`, which may be on this machine or in its network: it is the user who names it."""

    name = "searxng"

    def __init__(self, url: str = "", *, seconds: float = 20.0, places: Sequence[str] = PLACES) -> None:
        """Without a `url` it is the first of `places` at which one answers."""
        self._places = (_base(url),) if url else tuple(places)
        self._seconds = seconds

    async def search(self, query: str, limit: int) -> SearchAnswer:
        """The answer of the first place that has one."""
        failure: WebSearchError | None = None
        for place in self._places:
            try:
                return await self._ask(place, query, limit)
            except WebSearchError as error:
                failure = failure or error
        raise failure or WebSearchError("searxng_unreachable", url="", reason="")

    async def check(self) -> None:
        """Search for a word: only that shows whether it answers in JSON."""
        await self.search("test", 1)

    async def _ask(self, place: str, query: str, limit: int) -> SearchAnswer:
        import httpx

        try:
            async with httpx.AsyncClient(trust_env=False, follow_redirects=False, timeout=self._seconds) as client:
                parameters, headers = {"q": query, "format": "json"}, {"accept-encoding": "identity"}
                request = client.build_request("GET", f"{place}/search", params=parameters, headers=headers)
                async with asyncio.timeout(self._seconds):
                    response = await client.send(request, stream=True)
                    data = await _beginning(response)
        except TimeoutError as error:
            raise WebSearchError("searxng_unreachable", url=place, reason=type(error).__name__) from error
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            reason = str(error) or type(error).__name__
            raise WebSearchError("searxng_unreachable", url=place, reason=reason) from error
        return _understood(place, response.status_code, data, limit)


def _base(url: str) -> str:
    """The address without what people copy along: a path of search, a query, a slash at the end."""
    parts = urlsplit(url if "://" in url else f"http://{url}")
    path = parts.path.rstrip("/").removesuffix("/search")
    return f"{parts.scheme}://{parts.netloc}{path}"


async def _beginning(response: "httpx.Response") -> bytes:
    """The body, as much of it as an answer may have."""
    data = bytearray()
    try:
        async for piece in response.aiter_raw():
            data += piece
            if len(data) > _LARGEST:
                break
    finally:
        await response.aclose()
    return bytes(data[:_LARGEST])


def _understood(place: str, status_code: int, data: bytes, limit: int) -> SearchAnswer:
    match status_code:
        case 200:
            pass
        case 403:
            raise WebSearchError("searxng_no_json", url=place)
        case 429:
            raise WebSearchError("searxng_limited", url=place)
        case status:
            raise WebSearchError("searxng_unreachable", url=place, reason=f"HTTP {status}")
    try:
        answer = msgspec.json.decode(data, type=_Answer)
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
    """A direct answer: a text in old versions, an object with a text in new ones."""
    match item:
        case str():
            return item
        case {"answer": str(text)}:
            return text
        case _:
            return ""


def make(settings: WebSettings) -> SearxNG:
    """Make it as the settings say."""
    return SearxNG(settings.searxng_url, seconds=settings.timeout)
