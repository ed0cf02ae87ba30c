"""Choose the workers that are asked: by a pattern found in the question, by what they are described as good at."""

from collections.abc import Sequence
from functools import lru_cache

import msgspec

from localllm.base.events import Json
from localllm.ensemble.config import AgentConfig
from localllm.ensemble.pattern_search import PatternSearch
from localllm.text.bm25 import Bm25
from localllm.text.tokenising import terms

_SEARCHED = 4_000
"""Characters of each end of a question that are compared with descriptions: what is wanted stands before or behind
what is pasted."""


class Selection(msgspec.Struct, frozen=True, kw_only=True):
    """The workers that are asked, by index and in their order. `by`: what chose them, empty where all are asked.
    `note`: why all are asked although a choice is configured, empty where none is or it was made."""

    workers: tuple[int, ...]
    by: tuple[str, ...] = ()
    note: str = ""

    def told(self) -> dict[str, Json]:
        """What the result's `runtime` tells of it; nothing where nothing was chosen."""
        told: dict[str, Json] = {"by": list(self.by)} if self.by else {}
        return told | ({"note": self.note} if self.note else {})


async def select_workers(
    question: str, workers: Sequence[AgentConfig], count: int, patterns: PatternSearch
) -> Selection:
    """Whom to ask about `question`; never nobody.

    A worker with `when` is asked only where that is found. Of those left, `count` are chosen whose descriptions fit the
    question best, 0 for all: those without a description fill up, by their weight and then their order.
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
    """How well each description fits, without those that do not."""
    asked = question if len(question) <= 2 * _SEARCHED else f"{question[:_SEARCHED]}\n{question[-_SEARCHED:]}"
    return _index(descriptions).scores(terms(asked))


@lru_cache(maxsize=16)
def _index(descriptions: tuple[str, ...]) -> Bm25:
    return Bm25({text: terms(text) for text in descriptions if text})
