"""Count sources that are independent of each other: a copy counts with its original, a site once."""

from collections.abc import Iterable

from localllm.research.records import ResearchState, Source
from localllm.research.run_context import RunContext
from localllm.text.near_duplicates import counterpart
from localllm.text.quotes import difference


def origins(state: ResearchState, evidence: Iterable[str]) -> set[str]:
    """The sites that evidence comes from, each of a copy that of its original."""
    sources = {one.id: one for one in state.sources}
    of = {one.id: one.source for one in state.evidence}
    return {_origin(sources, sources[of[name]]) for name in evidence if name in of}


def is_disputed_by_copies(run: RunContext, source: Source, words: str) -> bool:
    """Whether copies of a page on other sites have a sentence of it otherwise, and no more have it as it is.

    Which page was read first tells nothing of which is the original. Pages of one site that differ are two editions.
    """
    same, other = {source.site}, set[str]()
    for copy in _copies(run.state, source):
        text = run.store.text(copy.text_hash)
        if span := counterpart(words, text):
            (other if difference(words, text[span.start : span.end]) else same).add(copy.site)
    other -= {source.site}
    return bool(other) and len(other) >= len(same)


def _copies(state: ResearchState, source: Source) -> list[Source]:
    """All sources with nearly the same text as this one, but itself."""
    first = source.copy_of or source.id
    return [one for one in state.sources if first in (one.id, one.copy_of) and one.id != source.id and one.text_hash]


def _origin(sources: dict[str, Source], source: Source) -> str:
    original = sources.get(source.copy_of, source)
    return original.site or original.url
