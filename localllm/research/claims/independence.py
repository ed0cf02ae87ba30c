"""Count independent sources: a copy counts with its original, a site once."""

from collections.abc import Iterable

from localllm.research.records import ResearchState, Source
from localllm.research.run_context import RunContext
from localllm.text.near_duplicates import counterpart
from localllm.text.quotes import difference


def origins(state: ResearchState, evidence: Iterable[str]) -> set[str]:
    """Return the sites of evidence; a copy counts as its original's site."""
    sources = {one.id: one for one in state.sources}
    of = {one.id: one.source for one in state.evidence}
    return {_origin(sources, sources[of[name]]) for name in evidence if name in of}


def is_disputed_by_copies(run: RunContext, source: Source, words: str) -> bool:
    """Whether copies on other sites differ in this sentence, and on at least as many sites as have it unchanged.

    The order of reading does not show which page is the original. Differing pages of one site are editions.
    """
    same, other = {source.site}, set[str]()
    for copy in _copies(run.state, source):
        text = run.store.text(copy.text_hash)
        if span := counterpart(words, text):
            (other if difference(words, text[span.start : span.end]) else same).add(copy.site)
    other -= {source.site}
    return bool(other) and len(other) >= len(same)


def _copies(state: ResearchState, source: Source) -> list[Source]:
    """Return the other sources with nearly the same text."""
    first = source.copy_of or source.id
    return [one for one in state.sources if first in (one.id, one.copy_of) and one.id != source.id and one.text_hash]


def _origin(sources: dict[str, Source], source: Source) -> str:
    original = sources.get(source.copy_of, source)
    return original.site or original.url
