"""Select the workers for a question: by patterns in it, and by the workers' descriptions."""

from collections.abc import Sequence
from functools import lru_cache

import msgspec

from localllm.base.events import Json
from localllm.ensemble.config import AgentConfig
from localllm.ensemble.pattern_search import PatternSearch
from localllm.text.bm25 import Bm25
from localllm.text.tokenising import terms

_SEARCHED = 4_000
"""Characters at each end of a question that are matched against descriptions: the request is before or after pasted
text."""


class Selection(msgspec.Struct, frozen=True, kw_only=True):
    """The selected workers, by index and in their order. `by`: the criteria, empty if all are asked. `note`: why all
    are asked despite a configured selection, empty otherwise."""

    workers: tuple[int, ...]
    by: tuple[str, ...] = ()
    note: str = ""

    def told(self) -> dict[str, Json]:
        """Return the entries for the result's `runtime`; empty without a selection."""
        told: dict[str, Json] = {"by": list(self.by)} if self.by else {}
        return told | ({"note": self.note} if self.note else {})


async def select_workers(
    question: str, workers: Sequence[AgentConfig], count: int, patterns: PatternSearch
) -> Selection:
    """Select workers for `question`; at least one.

    A worker with `when` is asked only if the pattern matches. Of the rest, `count` are selected whose descriptions
    match best, 0 for all; those without a description fill up, by weight, then in order.
    """
    fitting = await _by_pattern(question, workers, patterns)
    if not 0 < count < len(fitting.workers):
        return fitting
    scores = _scores(tuple(workers[index].description for index in fitting.workers), question)
    if not scores:
        note = "; ".join(filter(None, [fitting.note, "no description fits the question"]))
        return msgspec.structs.replace(fitting, note=note)

    def rank(index: int) -> tuple[float, bool, float]:
        worker = workers[index]
        return scores.get(worker.description, 0.0), not worker.description, worker.weight

    best = sorted(fitting.workers, key=rank, reverse=True)[:count]
    return Selection(workers=tuple(sorted(best)), by=(*fitting.by, "description"), note=fitting.note)


async def _by_pattern(question: str, workers: Sequence[AgentConfig], patterns: PatternSearch) -> Selection:
    everybody = tuple(range(len(workers)))
    wanted = sorted({worker.when for worker in workers if worker.when})
    if not wanted:
        return Selection(workers=everybody)
    answers = await patterns.found(wanted, question)
    if answers is None:
        return Selection(workers=everybody, note="the patterns took too long")
    found = dict(zip(wanted, answers, strict=True))
    chosen = tuple(index for index in everybody if found.get(workers[index].when, True))
    if not chosen:
        return Selection(workers=everybody, note="no pattern is found in the question")
    return Selection(workers=chosen, by=("when",) if len(chosen) < len(workers) else ())


def _scores(descriptions: tuple[str, ...], question: str) -> dict[str, float]:
    """Score the descriptions that match the question."""
    asked = question if len(question) <= 2 * _SEARCHED else f"{question[:_SEARCHED]}\n{question[-_SEARCHED:]}"
    return _index(descriptions).scores(terms(asked))


@lru_cache(maxsize=16)
def _index(descriptions: tuple[str, ...]) -> Bm25:
    return Bm25({text: terms(text) for text in descriptions if text})
