"""Score retrieval on questions whose sources are known: recall, nDCG and MRR of the best k hits."""

import csv
import io
from collections.abc import Mapping, Sequence
from math import log2
from pathlib import Path
from typing import NamedTuple, cast

import msgspec

from localllm.base.errors import KnowledgeBaseUsageError
from localllm.base.events import Json
from localllm.rag.citations import points_to, read_reference
from localllm.rag.knowledge_base import KnowledgeBase
from localllm.rag.records import Hit
from localllm.text.decoding import NotTextError, decode

_QUESTION, _SOURCES = ("question", "query", "q"), ("sources", "source", "expected", "file")


class Question(NamedTuple):
    """A question, its relevant references (none: nothing should be found), and the collection to search."""

    text: str
    sources: tuple[str, ...]
    collection: str = ""


class Outcome(NamedTuple):
    """The result of a question: the rank of each source (from 1; 0: not found)."""

    question: Question
    ranks: tuple[int, ...]
    found: int
    """Number of hits."""

    @property
    def first(self) -> int:
        """The rank of the first relevant hit; 0 for none."""
        return min((rank for rank in self.ranks if rank), default=0)


class Evaluation(NamedTuple):
    """The scores over all questions with sources, and how many of those without were left unanswered."""

    outcomes: tuple[Outcome, ...]
    top_k: int

    @property
    def answerable(self) -> list[Outcome]:
        """The outcomes whose sources are known."""
        return [one for one in self.outcomes if one.question.sources]

    @property
    def recall(self) -> float:
        """The mean share of a question's sources among the hits."""
        return _mean([sum(map(bool, one.ranks)) / len(one.ranks) for one in self.answerable])

    @property
    def ndcg(self) -> float:
        """Normalised discounted cumulative gain, every source worth the same (Järvelin and Kekäläinen 2002)."""
        return _mean(
            [
                _gain([rank for rank in one.ranks if rank]) / _gain(range(1, min(len(one.ranks), self.top_k) + 1))
                for one in self.answerable
            ]
        )

    @property
    def mrr(self) -> float:
        """The mean reciprocal rank of the first relevant hit."""
        return _mean([1 / one.first if one.first else 0.0 for one in self.answerable])

    @property
    def refused(self) -> tuple[int, int]:
        """Of the questions without sources: how many found nothing, and their number."""
        without = [one for one in self.outcomes if not one.question.sources]
        return sum(not one.found for one in without), len(without)


def _gain(ranks: Sequence[int]) -> float:
    return sum(1 / log2(rank + 1) for rank in ranks)


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0


async def evaluate(knowledge: KnowledgeBase, questions: Sequence[Question], collection: str, top_k: int) -> Evaluation:
    """Search for every question and rank its sources. Raises KnowledgeBaseError."""
    outcomes: list[Outcome] = []
    for question in questions:
        found = await knowledge.search(question.text, question.collection or collection, top_k)
        ranks = tuple(_rank(source, found.hits) for source in question.sources)
        outcomes.append(Outcome(question, ranks, len(found.hits)))
    return Evaluation(tuple(outcomes), top_k)


def _rank(source: str, hits: Sequence[Hit]) -> int:
    """Return the rank of the first hit at a source (0: none); a source with lines matches a hit that overlaps them."""
    reference = read_reference(source)
    for number, hit in enumerate(hits, 1):
        if source == hit.reference or (reference and points_to(reference, hit, overlap=True)):
            return number
    return 0


def read_questions(file: Path) -> list[Question]:
    """Read questions from a file: JSON lines, a JSON list, or CSV, with `question`, `sources` (a list, or one text
    separated by ;) and optionally `collection`. Raises KnowledgeBaseUsageError."""
    try:
        text = decode(file.read_bytes()).text
        rows = _rows(file.suffix.lower(), text)
        questions = [_question(row, number) for number, row in enumerate(rows, 1)]
    except OSError as error:
        raise KnowledgeBaseUsageError("rag_eval_unreadable", file=file, reason=error.strerror or str(error)) from error
    except (NotTextError, ValueError, msgspec.DecodeError, csv.Error) as error:
        raise KnowledgeBaseUsageError("rag_eval_unreadable", file=file, reason=str(error)) from error
    if not questions:
        raise KnowledgeBaseUsageError("rag_eval_empty", file=file)
    return questions


def _rows(suffix: str, text: str) -> Sequence[Mapping[str, Json]]:
    if suffix in (".csv", ".tsv"):
        return list(csv.DictReader(io.StringIO(text), delimiter="\t" if suffix == ".tsv" else ","))
    if text.lstrip().startswith("["):
        return msgspec.json.decode(text, type=list[dict[str, Json]])
    return [msgspec.json.decode(line, type=dict[str, Json]) for line in text.splitlines() if line.strip()]


def _question(row: Mapping[str, Json], number: int) -> Question:
    text = next((str(row[name]) for name in _QUESTION if row.get(name)), "").strip()
    if not text:
        raise ValueError(f"question {number} has no text")
    given: Json = next((row[name] for name in _SOURCES if row.get(name)), "")
    sources = cast("list[Json]", given) if isinstance(given, list) else str(given).split(";")
    return Question(
        text, tuple(str(one).strip() for one in sources if str(one).strip()), str(row.get("collection") or "").strip()
    )
