"""Count sources that are independent of each other: a copy counts with its original, a site once."""

from collections.abc import Iterable

from localllm.research.records import ResearchState, Source


def origins(state: ResearchState, evidence: Iterable[str]) -> set[str]:
    """The sites that evidence comes from, each of a copy that of its original."""
    sources = {one.id: one for one in state.sources}
    of = {one.id: one.source for one in state.evidence}
    return {_origin(sources, sources[of[name]]) for name in evidence if name in of}


def _origin(sources: dict[str, Source], source: Source) -> str:
    original = sources.get(source.copy_of, source)
    return original.site or original.url
