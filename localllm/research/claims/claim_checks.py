"""Reject claims by rule, without a model; a claim that passes is not yet supported.

A number, name, direction or superlative that no passage has is a reason to reject. Rules are ordered by certainty;
wrongly rejecting true claims costs more than the false ones found are worth.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from localllm.base.events import Json
from localllm.base.i18n import N_
from localllm.base.lazy_patterns import late_pattern
from localllm.research.claims.claim_names import is_japanese, missing_code, missing_name
from localllm.research.claims.claim_polarity import (
    added_superlative,
    is_denial_turned,
    is_negated,
    is_negation_invented,
    is_reversed,
)
from localllm.research.claims.claim_quantities import is_idle, missing_quantity
from localllm.research.records import Evidence
from localllm.text.numerals import fold
from localllm.text.quantities import quantities
from localllm.text.quantity_agreement import agrees
from localllm.text.sentences import split_sentences
from localllm.text.tokenising import terms


class Refusal(NamedTuple):
    """The reason to reject a claim: a translatable text and its parameters."""

    reason: str
    params: dict[str, Json]


def refuse(claim: str, passages: Sequence[str], *, today: str, context: Sequence[str] = ()) -> Refusal | None:
    """Return the first rule by which the passages cannot support a claim; None if a model must judge.

    Names in `context` (a page's title and beginning) need not be repeated in a passage.
    """
    given = [one for one in passages if one.strip()]
    if not given:
        return Refusal(N_("There is no passage for it."), {})
    if missing := missing_quantity(claim, given, today):
        return Refusal(N_("“{quantity}” is not in the passages cited."), {"quantity": missing})
    if missing := missing_code(claim, given) or missing_name(claim, [*given, *context]):
        return Refusal(N_("The passages cited do not mention “{name}”."), {"name": missing})
    if is_reversed(claim, _clauses_about(claim, given)):
        return Refusal(N_("The passages cited point in the opposite direction."), {})
    if _is_negation_added(claim, given) or _is_negation_dropped(claim, given):
        return Refusal(N_("The passages cited and the claim differ by a negation."), {})
    if added_superlative(claim, given):
        return Refusal(N_("The claim goes further than the passages cited (“first”, “only”, “all”, “largest”)."), {})
    if _is_unrelated(claim, given):
        return Refusal(N_("The passages cited are about something else."), {})
    return None


_ATTRIBUTES = late_pattern(
    r"(?i)\b(?:calls?|called|describ\w+|conclud\w+|recommend\w*|argue[sd]?|insists?)\b|と(?:評|断言|述べ|呼|結論|主張|総括)"
)


def refuse_quoted(claim: str, sentence: str) -> Refusal | None:
    """Reject a claim by the one quoted sentence, if both are in one language: it differs from the claim only by a
    negation, or has hardly any word of an attributed statement."""
    if is_japanese(claim) != is_japanese(sentence):
        return None
    wanted = _term_set(claim)
    shared = len(wanted & _term_set(sentence))
    if shared >= 0.4 * len(wanted) and is_denial_turned(claim, sentence) and not _is_remainder(claim, [sentence]):
        return Refusal(N_("The passages cited and the claim differ by a negation."), {})
    has_numbers = any(not is_idle(one, claim) for one in quantities(claim))
    if not has_numbers and _ATTRIBUTES.search(claim) and shared < 0.25 * len(wanted):
        return Refusal(N_("The passages cited are about something else."), {})
    return None


_CLAUSE = late_pattern(r";|；|、|,\s(?=while|but|whereas|against|and\b|compared)|\bwhile\b|\bagainst\b|\bwhereas\b")


def _clauses_about(claim: str, passages: Sequence[str]) -> list[str]:
    """Return the clauses with a number of the claim; without numbers, those with most of its terms."""
    clauses = [
        part
        for passage in passages
        for start, end in split_sentences(passage)
        for part in _CLAUSE.split(passage[start:end])
    ]
    numbers = [one for one in quantities(claim) if not is_idle(one, claim) and one.kind not in ("date", "quarter")]
    if numbers:
        return [one for one in clauses if any(agrees(number, two) for number in numbers for two in quantities(one))]
    wanted = _term_set(claim)
    return [one for one in clauses if len(wanted & _term_set(one)) >= 0.5 * len(wanted)]


def _is_negation_added(claim: str, passages: Sequence[str]) -> bool:
    """Whether a claim negates what a passage says in nearly the same words without a negation."""
    if _is_remainder(claim, passages) or not is_negation_invented(claim, passages):
        return False
    wanted = _term_set(claim)
    sentences = [passage[start:end] for passage in passages for start, end in split_sentences(passage)]
    return any(len(wanted & _term_set(one)) >= 0.6 * len(wanted) for one in sentences)


def _is_remainder(claim: str, passages: Sequence[str]) -> bool:
    """Whether a claim may state the remainder: "20 % are not exported", "2,300 did not finish"."""
    stated = [one for passage in passages for one in quantities(passage)]
    claimed = [one for one in quantities(claim) if not is_idle(one, claim)]
    return any(one.kind == "percent" or not any(agrees(one, other) for other in stated) for one in claimed)


def _is_negation_dropped(claim: str, passages: Sequence[str]) -> bool:
    """Whether the one sentence that resembles the claim negates it."""
    if is_negated(claim):
        return False
    wanted = _term_set(claim)
    if len(wanted) < 3:
        return False
    near: list[str] = []
    for passage in passages:
        for start, end in split_sentences(passage):
            if len(wanted & _term_set(passage[start:end])) >= 0.75 * len(wanted):
                near.append(passage[start:end])
    return bool(near) and all(is_negated(one) and len(_term_set(one)) < 2 * len(wanted) for one in near)


def _is_unrelated(claim: str, passages: Sequence[str]) -> bool:
    """Whether claim and passages are in one language and share no term."""
    everything = "\n".join(passages)
    if is_japanese(claim) != is_japanese(everything):
        return False
    if any(not is_idle(one, claim) for one in quantities(claim)):
        return False  # the claim's numbers are there
    wanted = _term_set(claim)
    shared = wanted & _term_set(everything)
    return len(wanted) >= 4 and len(shared) < 0.15 * len(wanted)


@lru_cache(maxsize=512)
def _term_set(text: str) -> frozenset[str]:
    return frozenset(terms(text))


def support_score(claim: str, passage: str) -> float:
    """Score how much of a claim a passage may contain, 0 to 1: terms, parts of words and numbers. For ranking only."""
    wanted, given = _term_set(claim), _term_set(passage)
    numbers = [one for one in quantities(claim) if not is_idle(one, claim)]
    stated = quantities(passage)
    held = sum(any(agrees(one, other) for other in stated) for one in numbers)
    share = held / len(numbers) if numbers else 0.5
    if is_japanese(claim) != is_japanese(passage):
        latin = {one for one in wanted if one.isascii() and not one.isdigit()}
        common = len(latin & given) / len(latin) if latin else 0.3
        return 0.6 * share + 0.4 * common
    words = len(wanted & given) / max(1, len(wanted))
    ours, theirs = _pieces(claim), _pieces(passage)
    return 0.5 * words + 0.2 * len(ours & theirs) / max(1, len(ours)) + 0.3 * share


@lru_cache(maxsize=512)
def _pieces(text: str) -> frozenset[str]:
    plain = fold(text).lower()
    return frozenset(plain[at : at + 4] for at in range(len(plain) - 3))


def best_passages(claim: str, evidence: Sequence[Evidence], limit: int = 3) -> list[Evidence]:
    """Return the passages most likely to support a claim, best first; ties in the given order."""
    return sorted(evidence, key=lambda one: -support_score(claim, one.text))[:limit]
