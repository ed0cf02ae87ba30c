"""Serper, a paid API for Google's results, through its JSON API (serper.dev)."""

import os
from collections.abc import Mapping
from typing import Any

import msgspec

from localllm.base.errors import WebSearchError
from localllm.base.jsontext import decode_json
from localllm.base.lazy_patterns import late_pattern
from localllm.config.loader import secret
from localllm.config.schema import SerperSettings, WebSettings
from localllm.llm.addresses import is_loopback
from localllm.text.sanitising import clean
from localllm.web.engines.base import FIRST_PAGE, EngineLimits, ResultView, SearchAnswer, SearchResult
from localllm.web.engines.duplicate_results import unique
from localllm.web.engines.http import EngineUnreachableError, Reply, post_json

_OK = 200
_MOST = 100
"""Most results per search."""

_LONGEST_REASON = 200
_KEY = late_pattern(r"[A-Za-z0-9_-]{20,200}")
_LOCALE = late_pattern(r"(?P<language>[a-z]{2,3})(?:[_-](?P<country>[A-Za-z]{2}))?(?:[.@].*)?")
_BY_COUNTRY = ("pt", "zh")
"""Languages that Google distinguishes by country: pt-br, zh-tw."""


class _Result(msgspec.Struct):
    link: str = ""
    title: str = ""
    snippet: str = ""


class _Answer(msgspec.Struct, rename="camel"):
    search_parameters: dict[str, Any] | None = None
    organic: list[_Result] | None = None
    answer_box: dict[str, Any] = {}


class _Refusal(msgspec.Struct):
    message: str


class Serper:
    """Serper at `base_url`, with the API `key`. An empty `language` (hl) or `country` (gl) is left to Google."""

    name = "serper"
    limits = EngineLimits(concurrency=8, per_minute=300)

    def __init__(
        self, base_url: str, key: str, *, language: str = "", country: str = "", seconds: float = 20.0, proxy: str = ""
    ) -> None:
        self._url = base_url.rstrip("/").removesuffix("/search")
        self._key = key
        self._region = {name: value for name, value in (("gl", country), ("hl", language)) if value}
        self._seconds = seconds
        self._proxy = proxy

    @property
    def scope(self) -> str:
        """The address and the region."""
        return f"{self._url} {self._region}"

    async def search(self, query: str, limit: int, view: ResultView = FIRST_PAGE) -> SearchAnswer:
        """Return at most `limit` results. A requested language or country overrides the settings."""
        await self.check()
        body = {"q": query, **self._region, "num": min(limit, _MOST)}
        if view.language:
            body["hl"] = view.language
        if view.country:
            body["gl"] = view.country
        if view.page > 1:
            body["page"] = view.page
        try:
            reply = await post_json(
                f"{self._url}/search", body, {"x-api-key": self._key}, seconds=self._seconds, proxy=self._proxy
            )
        except EngineUnreachableError as error:
            reason = self._shown(str(error))
            raise WebSearchError(
                "serper_unreachable", retryable=error.timed_out, url=self._url, reason=reason
            ) from error
        if reply.status != _OK:
            raise self._refusal(reply)
        return self._understood(reply.data, limit)

    async def check(self) -> tuple[str, ...]:
        """Check key and address. Sends nothing, since each search costs money."""
        self.check_key()
        return ()

    def check_key(self) -> None:
        """Check that the key is well-formed and transmitted confidentially. Raises WebSearchError."""
        if not self._key:
            raise WebSearchError("serper_no_key")
        if not _KEY.fullmatch(self._key):
            raise WebSearchError("serper_key_malformed")
        if not self._url.startswith("https://") and not is_loopback(self._url):
            raise WebSearchError("serper_insecure", url=self._url)

    def _refusal(self, reply: Reply) -> WebSearchError:
        match reply.status:
            case 400:
                return WebSearchError("serper_bad_request", reason=self._shown(_message(reply.data)))
            case 401 | 403:
                return WebSearchError("serper_key_refused", status=reply.status)
            case 429:
                return WebSearchError("serper_limited", retryable=True, retry_after=reply.retry_after)
            case status:
                return WebSearchError(
                    "serper_unreachable",
                    retryable=reply.is_passing,
                    retry_after=reply.retry_after,
                    url=self._url,
                    reason=f"HTTP {status}",
                )

    def _understood(self, data: bytes, limit: int) -> SearchAnswer:
        try:
            answer = decode_json(data, _Answer)
        except msgspec.DecodeError as error:
            raise WebSearchError("serper_not_one", url=self._url) from error
        if answer.organic is None and answer.search_parameters is None:
            raise WebSearchError("serper_not_one", url=self._url)
        found = (
            SearchResult(item.title, item.link, item.snippet, self.name) for item in answer.organic or () if item.link
        )
        direct = answer.answer_box.get("answer") or answer.answer_box.get("snippet")
        return SearchAnswer(unique(found)[:limit], answers=(direct,) if isinstance(direct, str) else ())

    def _shown(self, text: str) -> str:
        """Return an error text on one line, with the key removed."""
        return clean(text.replace(self._key, "…"), keep_newlines=False)[:_LONGEST_REASON].rstrip(".")


def _message(data: bytes) -> str:
    """Return the reason of a rejection; "?" if there is none."""
    try:
        return decode_json(data, _Refusal).message
    except msgspec.DecodeError:
        return "?"


def region(settings: SerperSettings, environ: Mapping[str, str]) -> tuple[str, str]:
    """Return language and country of the results: as configured, else from the user's locale, else none."""
    names = (environ.get(variable, "") for variable in ("LC_ALL", "LC_MESSAGES", "LANG"))
    found = _LOCALE.fullmatch(next(filter(None, names), ""))
    language, country = (found["language"], (found["country"] or "").lower()) if found else ("", "")
    if language in _BY_COUNTRY and country:
        language = f"{language}-{country}"
    return settings.language or language, settings.country or country


def make(settings: WebSettings) -> Serper:
    """Create the engine from the settings, with the key in the environment."""
    language, country = region(settings.serper, os.environ)
    return Serper(
        settings.serper.base_url,
        secret("web.serper.api_key", os.environ),
        language=language,
        country=country,
        seconds=settings.timeout,
        proxy=settings.proxy,
    )
