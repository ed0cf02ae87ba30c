"""Results of a search without the same page twice."""

from collections.abc import Iterable

from localllm.web.canonical_urls import canonical_url
from localllm.web.engines.base import SearchResult


def unique(results: Iterable[SearchResult]) -> tuple[SearchResult, ...]:
    """The first result of each page, in the order given."""
    first: dict[str, SearchResult] = {}
    for result in results:
        first.setdefault(canonical_url(result.url), result)
    return tuple(first.values())
