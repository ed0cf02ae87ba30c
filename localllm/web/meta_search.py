"""Run several queries on all engines concurrently, and merge the results into one ranking of pages.

Each engine processes its own queries within its limits, so that a slow one does not delay the others; a failed one is
reported beside the results.
"""

import asyncio
from collections.abc import Mapping, Sequence

import msgspec

from localllm.base.errors import WebSearchError
from localllm.base.i18n import sentences
from localllm.config.schema import WebSettings
from localllm.text.privacy_mask import mask, without_marks
from localllm.web.canonical_urls import canonical_url
from localllm.web.engine_pool import EnginePool, EngineReply, open_pool
from localllm.web.engines.base import ResultView, SearchResult
from localllm.web.rank_fusion import fuse

_NOT_ASKED = ("search_engine_resting", "search_offline")
"""Errors raised without calling the engine."""


class FoundPage(msgspec.Struct, frozen=True):
    """A found page, under its plainest address."""

    url: str
    title: str
    snippet: str
    engines: tuple[str, ...]
    """Names in the settings, in their order."""
    queries: tuple[str, ...]
    """The queries that found it, as sent."""
    score: float
    """The rank fusion score; comparable within one answer only."""


class MetaAnswer(msgspec.Struct, frozen=True):
    """The pages found, best first, and the failures."""

    pages: tuple[FoundPage, ...]
    failures: tuple[WebSearchError, ...] = ()
    """Why engines did not answer, each reason of an engine once, in the order of the engines."""
    degraded: tuple[str, ...] = ()
    """The silent backend engines of an engine, as “google: timeout (searxng)”."""
    searches: int = 0
    """Number of searches sent to engines, failed ones included, retries not."""
    cache_hits: int = 0


class _Finding(msgspec.Struct, frozen=True):
    """The answer of one engine to one query, or its error."""

    engine: str
    query: str
    reply: EngineReply | WebSearchError


class MetaSearch:
    """All engines of a pool, searched together."""

    def __init__(self, pool: EnginePool) -> None:
        self.pool = pool

    async def search(
        self, queries: Sequence[str], *, language: str = "", limit: int = 10, page: int = 1, country: str = ""
    ) -> MetaAnswer:
        """Return all pages the queries find, best first.

        Args:
            queries: The queries, at least one. Each is masked before it is sent, even if masked before; duplicates are
                merged.
            language: The language of results (ISO 639-1); empty leaves it to the engines.
            limit: Results per engine and query.
            page: The page of results, from 1.
            country: The country of results (ISO 3166); empty leaves it to the engines.

        Raises:
            WebSearchError: There is no engine, no query left after masking, or no engine answered.
        """
        if not self.pool.engines:
            raise WebSearchError("web_no_engine")
        asked = _leaving(queries)
        view = ResultView(language, page, country)
        pairs = [(query, engine.name) for query in asked for engine in self.pool.engines]
        findings = await asyncio.gather(*(self._ask(engine, query, limit, view) for query, engine in pairs))
        answer = _merged(findings, [engine.name for engine in self.pool.engines])
        if not answer.pages and not any(_is_answered(finding) for finding in findings):
            raise _all_failed(answer.failures)
        return answer

    async def aclose(self) -> None:
        """Do nothing: each search closes its own connections."""

    async def _ask(self, engine: str, query: str, limit: int, view: ResultView) -> _Finding:
        try:
            return _Finding(engine, query, await self.pool.ask(engine, query, limit, view))
        except WebSearchError as error:
            return _Finding(engine, query, error)


def open_meta_search(
    settings: WebSettings, environ: Mapping[str, str], *, cache_ttl: float, use_cache: bool
) -> MetaSearch:
    """Create the configured engines, with or without the cache."""
    return MetaSearch(open_pool(settings, environ, cache_ttl=cache_ttl, use_cache=use_cache))


def _leaving(queries: Sequence[str]) -> list[str]:
    """Mask and deduplicate the queries; drop those with nothing left but masks."""
    asked = list(dict.fromkeys(text for query in queries if (text := " ".join(query.split()))))
    if not asked:
        raise WebSearchError("web_no_query")
    masked = dict.fromkeys(mask(query).text for query in asked)
    leaving = [query for query in masked if any(character.isalnum() for character in without_marks(query))]
    if not leaving:
        raise WebSearchError("search_only_private")
    return leaving


def _merged(findings: Sequence[_Finding], engines: Sequence[str]) -> MetaAnswer:
    rankings: list[list[str]] = []
    found: dict[str, list[tuple[_Finding, SearchResult]]] = {}
    for finding in findings:
        if isinstance(finding.reply, WebSearchError):
            continue
        results = finding.reply.answer.results
        rankings.append([canonical_url(result.url) for result in results])
        for place, result in zip(rankings[-1], results, strict=True):
            found.setdefault(place, []).append((finding, result))
    return MetaAnswer(
        pages=tuple(_page(found[place], score, engines) for place, score in fuse(rankings)),
        failures=tuple(error for name in engines for error in _failures(findings, name)),
        degraded=_degraded(findings),
        searches=sum(map(_was_asked, findings)),
        cache_hits=sum(isinstance(finding.reply, EngineReply) and finding.reply.was_kept for finding in findings),
    )


def _page(found: Sequence[tuple[_Finding, SearchResult]], score: float, engines: Sequence[str]) -> FoundPage:
    """Merge all findings of a page: its plainest address, the first title, the longest snippet."""
    by = {finding.engine for finding, _ in found}
    return FoundPage(
        url=min((result.url for _, result in found), key=lambda url: (not url.startswith("https:"), len(url))),
        title=next((result.title for _, result in found if result.title), ""),
        snippet=max((result.snippet for _, result in found), key=len),
        engines=tuple(name for name in engines if name in by),
        queries=tuple(dict.fromkeys(finding.query for finding, _ in found)),
        score=score,
    )


def _failures(findings: Sequence[_Finding], engine: str) -> list[WebSearchError]:
    """Return the reasons an engine failed, without duplicates; an open breaker only if there is no other reason."""
    errors: dict[str, WebSearchError] = {}
    for finding in findings:
        if finding.engine == engine and (error := _failure(finding)):
            errors.setdefault(str(error), error)
    causes = [error for error in errors.values() if error.key != "search_engine_resting"]
    return causes or list(errors.values())[:1]


def _failure(finding: _Finding) -> WebSearchError | None:
    """Return the error of a search; an empty answer counts as one if all backend engines were silent."""
    if isinstance(finding.reply, WebSearchError):
        return finding.reply
    answer = finding.reply.answer
    if answer.silent and not (answer.results or answer.answers):
        return WebSearchError("search_engines_silent", engine=finding.engine, engines=", ".join(answer.silent))
    return None


def _was_asked(finding: _Finding) -> bool:
    """Whether the engine was called, successfully or not."""
    if isinstance(finding.reply, WebSearchError):
        return finding.reply.key not in _NOT_ASKED
    return not finding.reply.was_kept


def _is_answered(finding: _Finding) -> bool:
    return _failure(finding) is None


def _degraded(findings: Sequence[_Finding]) -> tuple[str, ...]:
    return tuple(
        dict.fromkeys(
            f"{silent} ({finding.engine})"
            for finding in findings
            if isinstance(finding.reply, EngineReply)
            for silent in finding.reply.answer.silent
        )
    )


def _all_failed(failures: Sequence[WebSearchError]) -> WebSearchError:
    reasons = {str(error): error for error in failures}
    if len(reasons) == 1:
        return failures[0]
    return WebSearchError("web_no_answer", reasons=sentences(*reasons.values()))
