"""Show evidence to a model: a line for each piece, with its id and source, within the tokens there are."""

from collections.abc import Callable, Sequence
from pathlib import Path

from localllm.research.cited_sentences import tidy
from localllm.research.records import Evidence, ResearchState

_LENGTHS = (900, 600, 400, 280, 200, 140)
"""Characters of a piece, the first at which all of them fit."""

_LONGEST_TITLE = 60


def evidence_lines(
    state: ResearchState, evidence: Sequence[Evidence], room: int, estimate: Callable[[str], int]
) -> str:
    """As much of the evidence as `room` tokens hold, in the order it was found; what is last in `evidence` is left out
    where even the shortest form of all does not fit."""
    chosen = list(evidence)
    while chosen:
        for length in _LENGTHS:
            shown = "\n".join(_line(state, one, length) for one in sorted(chosen, key=_number))
            if estimate(shown) <= room:
                return shown
        chosen = chosen[: len(chosen) * 4 // 5]
    return ""


def batches(
    state: ResearchState, evidence: Sequence[Evidence], room: int, estimate: Callable[[str], int], most: int
) -> list[list[Evidence]]:
    """The evidence in groups of at most `most` pieces whose full lines fit `room` tokens each."""
    groups: list[list[Evidence]] = []
    spent = room
    for one in evidence:
        tokens = estimate(_line(state, one, _LENGTHS[0])) + 1
        if not groups or spent + tokens > room or len(groups[-1]) == most:
            groups.append([])
            spent = 0
        groups[-1].append(one)
        spent += tokens
    return groups


def _line(state: ResearchState, evidence: Evidence, length: int) -> str:
    text = tidy(evidence.text)
    shown = text if len(text) <= length else text[: length - 1] + "…"
    source = state.source(evidence.source)
    site = Path(source.site).name if source.local else source.site
    return f"[{evidence.id}] {shown} ({tidy(source.title)[:_LONGEST_TITLE]}; {site})"


def _number(evidence: Evidence) -> int:
    return int(evidence.id[1:])
