"""Search the web and the user's folders for sources, and register them under unique ids."""

import hashlib
from collections.abc import Iterable, Sequence
from itertools import zip_longest
from urllib.parse import urlsplit

import msgspec

from localllm.base.errors import ResearchError, ResearchUsageError, WebSearchError
from localllm.base.i18n import N_
from localllm.base.jsontext import encode_json
from localllm.research.query_plan import more_words
from localllm.research.records import Purpose, Query, Remark, Source
from localllm.research.remark_texts import in_words, remark
from localllm.research.run_context import RunContext, remark_of
from localllm.research.run_events import QueryMade, SearchDone
from localllm.research.run_store import StoredPage

_FOUND_A_QUERY = 10
_KEPT_FOR_EACH_READ = 3
"""Found sources registered per page to read, since some pages are unreadable."""

_OFFLINE = remark(N_("The web was not searched, as this run was offline."))


class Found(msgspec.Struct, frozen=True):
    """A page or document that was found."""

    url: str
    title: str
    snippet: str = ""
    engines: tuple[str, ...] = ()
    queries: tuple[str, ...] = ()
    local: bool = False


class SearchRecord(msgspec.Struct, frozen=True):
    """A search as stored in the run's store."""

    found: tuple[Found, ...] = ()
    failures: tuple[Remark, ...] = ()
    searches: int = 0
    cache_hits: int = 0


async def search_sources(run: RunContext) -> None:
    """Run the queries of this round; retry with other words if they found too few sources.

    Raises ResearchError (research_search_dead) if no search worked and there is no source yet, ResearchUsageError
    (research_no_sources) if that was because the program is offline.
    """
    state = run.state
    new = await _search_once(run, [query for query in state.queries if query.round == state.round])
    usable = sum(source.state != "failed" for source in state.sources)
    if state.round == 0 and usable < run.options.min_search:
        more = more_words(state, run.options.query_count)
        tell_queries(run, more)
        new += await _search_once(run, [query for query in state.queries if query.text in more])
    if not new:
        run.remark(remark(N_("Round {round}: the search found nothing new."), round=state.round))


def tell_queries(run: RunContext, added: dict[str, tuple[str, ...]]) -> None:
    """Emit events for new queries, with the kinds of masked data."""
    purposes: dict[str, Purpose] = {query.text: query.purpose for query in run.state.queries}
    for text, kinds in added.items():
        run.tell(QueryMade(run=run.state.id, query=text, purpose=purposes[text], masked=kinds))


async def _search_once(run: RunContext, queries: Sequence[Query]) -> int:
    """Search the web and the folders with `queries`, local ones in the folders only; return the number of new
    sources."""
    if not queries:
        return 0
    texts = [query.text for query in queries]
    web = await _search_web(run, [query.text for query in queries if not query.local])
    local = await _search_folders(run, texts)
    for failure in web.failures:
        run.remark(failure)
    merged = [one for pair in zip_longest(local, web.found) for one in pair if one]
    if not merged and web.failures and not run.state.sources and run.documents is None:
        if all(failure == _OFFLINE for failure in web.failures):
            raise ResearchUsageError("research_no_sources")
        reasons = "; ".join(dict.fromkeys(in_words(failure).rstrip(".。") for failure in web.failures))
        raise ResearchError("research_search_dead", reasons=reasons, id=run.state.id)
    new = register(run, merged)
    run.state.numbers.searches += web.searches
    run.state.numbers.cache_hits += web.cache_hits
    failures = tuple(web.failures)
    run.tell(SearchDone(run=run.state.id, queries=len(texts), found=len(merged), new=new, failures=failures))
    return new


async def _search_web(run: RunContext, texts: Sequence[str]) -> SearchRecord:
    """Search with the engines; repeated searches in a run are answered from the store."""
    if run.search is None or not texts:
        return SearchRecord()
    language = run.language
    asked = [_with_sites(text, run.options.sites, run.options.exclude_sites) for text in texts]
    key = hashlib.sha256(encode_json([run.state.round, language, asked])).hexdigest()
    if kept := run.store.search(key, SearchRecord):
        return kept
    try:
        answer = await run.search.search(asked, language=language, limit=_FOUND_A_QUERY)
    except WebSearchError as error:  # not stored: a retry may find the engines working
        return SearchRecord(failures=(_failure(error),), searches=len(asked))
    back = dict(zip(asked, texts, strict=True))
    found = (
        Found(page.url, page.title, page.snippet, page.engines, tuple(back.get(one, one) for one in page.queries))
        for page in answer.pages
    )
    record = SearchRecord(
        found=tuple(one for one in found if _is_wanted(one.url, run.options.sites, run.options.exclude_sites)),
        failures=tuple(map(_failure, answer.failures))
        + tuple(
            remark(N_("The search engine {engine} gives only partial answers."), engine=one) for one in answer.degraded
        ),
        searches=answer.searches,
        cache_hits=answer.cache_hits,
    )
    if record.found or not record.failures:
        run.store.keep_search(key, record)
    return record


def _failure(error: WebSearchError) -> Remark:
    """Convert an error for the report, which is read later: offline it is the run that was, not the program that is."""
    return _OFFLINE if error.key == "search_offline" else remark_of(error)


async def _search_folders(run: RunContext, texts: Sequence[str]) -> list[Found]:
    """Return the matching documents, with their texts stored; those that match several queries first."""
    if run.documents is None:
        return []
    ranks: dict[str, float] = {}
    by: dict[str, list[str]] = {}
    titles: dict[str, str] = {}
    for text in texts:
        for rank, document in enumerate(await run.documents.search(text, _FOUND_A_QUERY)):
            path = str(document.path)
            ranks[path] = ranks.get(path, 0.0) + 1 / (60 + rank)
            by.setdefault(path, []).append(text)
            titles[path] = document.title
            if run.store.page(path) is None:
                run.store.keep_page(path, StoredPage(path, document.title, "local", run.state.today), document.text)
    for said in run.documents.remarks:
        run.remark(said)
    ranked = sorted(ranks, key=lambda path: (-ranks[path], path))
    return [Found(path, titles[path], "", ("local",), tuple(by[path]), local=True) for path in ranked]


def register(run: RunContext, found: Iterable[Found]) -> int:
    """Register each page under an id, or add this query to its known source; return the number of new ones."""
    state = run.state
    known = {_key(source): place for place, source in enumerate(state.sources)}
    most = run.options.max_search * _KEPT_FOR_EACH_READ
    new = 0
    for one in found:
        page = _key(one)
        if (place := known.get(page)) is not None:
            source = state.sources[place]
            state.sources[place] = msgspec.structs.replace(
                source,
                queries=tuple(dict.fromkeys((*source.queries, *one.queries))),
                engines=tuple(dict.fromkeys((*source.engines, *one.engines))),
            )
        elif new < most:
            known[page] = len(state.sources)
            new += 1
            state.sources.append(
                Source(
                    id=state.new_id("S"),
                    url=one.url,
                    title=one.title,
                    site=one.url if one.local else site_of(one.url),
                    queries=one.queries,
                    engines=one.engines,
                    round=state.round,
                    local=one.local,
                    snippet=one.snippet,
                )
            )
    return new


def _key(one: Found | Source) -> tuple[bool, str]:
    """Return the key for deduplication; a page and a document never share one."""
    return one.local, one.url if one.local else same_page(one.url)


def site_of(url: str) -> str:
    """Return the host of an address, without www."""
    try:
        host = urlsplit(url).hostname or ""
    except ValueError:
        host = ""
    return host.removeprefix("www.")


def same_page(url: str) -> str:
    """Normalise an address for comparison."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return url
    if parts.scheme not in ("http", "https"):
        return url
    query = f"?{parts.query}" if parts.query else ""
    return f"{parts.netloc.lower().removeprefix('www.')}{parts.path.rstrip('/')}{query}"


def _with_sites(text: str, sites: Sequence[str], without: Sequence[str]) -> str:
    """Add site operators to a query."""
    words = [" OR ".join(f"site:{site}" for site in sites)] if sites else []
    return " ".join([text, *words, *(f"-site:{site}" for site in without)])


def _is_wanted(url: str, sites: Sequence[str], without: Sequence[str]) -> bool:
    host = site_of(url)

    def is_below(site: str) -> bool:
        plain = site.lower().removeprefix("www.")
        return host == plain or host.endswith(f".{plain}")

    return (not sites or any(map(is_below, sites))) and not any(map(is_below, without))
