"""Remove duplicate pages from search results."""

from collections.abc import Iterable

from localllm.web.canonical_urls import canonical_url
from localllm.web.engines.base import SearchResult


def unique(results: Iterable[SearchResult]) -> tuple[SearchResult, ...]:
    """Return the first result of each page, in the given order."""
    first: dict[str, SearchResult] = {}
    for result in results:
        first.setdefault(canonical_url(result.url), result)
    return tuple(first.values())
