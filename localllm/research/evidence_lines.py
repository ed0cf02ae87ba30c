"""Format evidence for a model: a line per piece, with id and source, within a token limit."""

import re
from collections.abc import Callable, Sequence
from pathlib import Path

from localllm.research.cited_sentences import tidy
from localllm.research.records import Evidence, ResearchState

_LENGTHS = (900, 600, 400, 280, 200, 140)
"""Characters per piece: the first length at which all fit."""

_LONGEST_TITLE = 60


def evidence_lines(
    state: ResearchState, evidence: Sequence[Evidence], room: int, estimate: Callable[[str], int]
) -> str:
    """Format as much evidence as fits into `room` tokens, in the order it was found; pieces at the end of `evidence`
    are dropped if even the shortest form does not fit."""
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
    """Group the evidence into batches of at most `most` pieces whose full lines fit into `room` tokens."""
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
    return f"[{evidence.id}] {shown} ({_origin(state, evidence)})"


def _origin(state: ResearchState, evidence: Evidence) -> str:
    source = state.source(evidence.source)
    site = Path(source.site).name if source.local else source.site
    return f"{tidy(source.title)[:_LONGEST_TITLE]}; {site}"


def without_origins(state: ResearchState, evidence: Sequence[Evidence], text: str) -> str:
    """Remove the "(title; site)" of evidence lines that a model copied into its text."""
    for origin in dict.fromkeys(_origin(state, one) for one in evidence):
        words = r"\s+".join(map(re.escape, origin.split())).replace(";", "[;；]")
        text = re.sub(rf"(?P<stop>[.。!?！？]?)[^\S\n]?[(（]{words}[)）]{_IDS_AND_STOP}", _kept, text)
    return text


_IDS_AND_STOP = r"(?P<ids>(?:[^\S\n]?\[[^\]\n]{1,60}\]){0,3})(?P<again>[.。]?)"


def _kept(found: re.Match[str]) -> str:
    """Return what surrounds an origin, with one full stop."""
    return found["stop"] + found["ids"] + ("" if found["stop"] else found["again"])


def _number(evidence: Evidence) -> int:
    return int(evidence.id[1:])
