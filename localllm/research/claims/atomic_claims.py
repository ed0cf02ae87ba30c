"""Split the sentences of a draft into atomic claims, each of which is checked separately.

The model's split is used only if it is equivalent: no word or number added, and together nothing left out. Otherwise
the sentence itself is the claim.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple, cast

import msgspec

from localllm.base.events import Json
from localllm.base.lazy_patterns import late_pattern
from localllm.research.claims.claim_polarity import is_negated
from localllm.research.model_calls import BudgetSpent
from localllm.research.records import Claim, Section, Sentence
from localllm.research.role_answers import NUMBER, TEXT, AnswerUnusable, answer_schema, several
from localllm.research.run_context import RunContext
from localllm.text.quantities import quantities
from localllm.text.quantity_agreement import agrees
from localllm.text.tokenising import terms

_CLAIMS = answer_schema(claims=several(sentence=NUMBER, text=TEXT, entity=TEXT, attribute=TEXT, period=TEXT))

_MOST_SENTENCES = 6
_MOST_TOKENS = 260
"""Tokens of the sentences in one request: their claims take about three times as many, with the JSON around them."""

_MOST_CLAIMS = 6
"""Claims of a sentence."""

_SENTENCES_BEFORE = 2
_LEAST_SHARE = 0.75
"""Share of a sentence's terms that its claims must contain."""

_LONGEST_LABEL = 80
_HIRAGANA = late_pattern(r"[\u3041-\u3096\u30fc]+")


class _Batch(NamedTuple):
    """Consecutive sentences and the text before them."""

    before: tuple[str, ...]
    sentences: tuple[Sentence, ...]


async def split_draft(run: RunContext) -> list[Claim]:
    """Split the draft into claims, in order. Unchanged sentences keep their claims with ids and verdicts."""
    known = _known_claims(run)
    entities = run.state.brief.entities if run.state.brief else ()
    claims: list[Claim] = []
    for section in run.state.sections:
        told = (section.heading, *entities)
        made: dict[str, list[Claim]] = {}
        for batch in _batches(run, section, known):
            made.update(await _split(run, batch, told))
        for sentence in section.sentences:
            of = known.get(sentence.id) or made.get(sentence.id) or [_whole(sentence)]
            claims += [one if one.id else msgspec.structs.replace(one, id=run.state.new_id("C")) for one in of]
    return claims


def _known_claims(run: RunContext) -> dict[str, list[Claim]]:
    """Return the already judged claims of unchanged sentences, by sentence."""
    now = {one.id: one for section in run.state.sections for one in section.sentences}
    known: dict[str, list[Claim]] = {}
    for claim in run.state.claims:
        sentence = now.get(claim.sentence)
        if (
            sentence
            and claim.verdict
            and (claim.taken_from, claim.evidence) == (_line(sentence.text), sentence.evidence)
        ):
            known.setdefault(sentence.id, []).append(claim)
    return known


def _batches(run: RunContext, section: Section, known: dict[str, list[Claim]]) -> Iterator[_Batch]:
    """Yield batches of sentences to split; sentences without citations are skipped, since they are rejected anyway."""
    taken: list[Sentence] = []
    start = size = 0
    for place, sentence in enumerate(section.sentences):
        is_wanted = sentence.id not in known and bool(sentence.evidence)
        length = run.roles.estimate(sentence.text)
        if taken and (not is_wanted or len(taken) == _MOST_SENTENCES or size + length > _MOST_TOKENS):
            yield _batch(section, start, taken)
            taken, size = [], 0
        if is_wanted:
            start = start if taken else place
            taken.append(sentence)
            size += length
    if taken:
        yield _batch(section, start, taken)


def _batch(section: Section, start: int, taken: Sequence[Sentence]) -> _Batch:
    before = section.sentences[max(0, start - _SENTENCES_BEFORE) : start]
    return _Batch(tuple(_line(one.text) for one in before), tuple(taken))


async def _split(run: RunContext, batch: _Batch, told: Sequence[str]) -> dict[str, list[Claim]]:
    """Split the sentences of a batch; a sentence maps to no claims if the model's are unusable."""
    numbered = [f"{number}. {_line(one.text)}" for number, one in enumerate(batch.sentences, 1)]
    values = {"before": " ".join(batch.before), "sentences": "\n".join(numbered)}
    try:
        answer = await run.roles.ask("splitter", values, _CLAIMS)
    except (AnswerUnusable, BudgetSpent):
        return {}
    given = cast("list[dict[str, Json]]", answer["claims"])
    before = list(batch.before)
    made: dict[str, list[Claim]] = {}
    for number, sentence in enumerate(batch.sentences, 1):
        claims = [_claim(sentence, one) for one in given if one["sentence"] == number]
        if is_split_of([one.text for one in claims], sentence.text, [*told, *before[-_SENTENCES_BEFORE:]]):
            made[sentence.id] = claims
        before.append(_line(sentence.text))
    return made


def _claim(sentence: Sentence, given: dict[str, Json]) -> Claim:
    text, *labels = (_line(str(given[name])) for name in ("text", "entity", "attribute", "period"))
    entity, attribute, period = (one[:_LONGEST_LABEL] for one in labels)
    taken_from = _line(sentence.text)
    return Claim("", sentence.id, text, sentence.evidence, None, entity, attribute, period, taken_from)


def _whole(sentence: Sentence) -> Claim:
    text = _line(sentence.text)
    return Claim("", sentence.id, text, sentence.evidence, taken_from=text)


def _line(text: str) -> str:
    return " ".join(text.split())


def is_split_of(claims: Sequence[str], sentence: str, before: Sequence[str] = ()) -> bool:
    """Whether claims are equivalent to a sentence, with names from `before` allowed: nothing added, nothing left
    out."""
    if not 1 <= len(claims) <= _MOST_CLAIMS or not all(claims):
        return False
    ours = _told(sentence)
    known = ours.union(*map(_told, before))
    if any(not _told(one) or not _told(one) <= known for one in claims):
        return False
    stated, claimed = quantities(sentence), [one for claim in claims for one in quantities(claim)]
    if any(not any(agrees(one, other) for other in stated) for one in claimed):
        return False
    if any(not any(agrees(one, other) for other in claimed) for one in stated):
        return False
    if is_negated(sentence) != any(map(is_negated, claims)):
        return False
    held = ours & set[str]().union(*map(_told, claims))
    return len(held) >= _LEAST_SHARE * len(ours)


def _told(text: str) -> set[str]:
    """Return the terms of a text without hiragana, which is mostly endings."""
    return {one for one in terms(text) if not _HIRAGANA.fullmatch(one)}
