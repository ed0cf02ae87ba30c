"""Compare an answer with the passages of documents that it cites, by rule: references and numbers."""

from collections.abc import Iterator, Sequence
from itertools import permutations
from typing import Any, NamedTuple, cast

import msgspec

from localllm.base.lazy_patterns import late_pattern
from localllm.rag.citations import cited_sentences, points_to, read_reference, references_in
from localllm.rag.records import Hit
from localllm.text.quantities import quantities
from localllm.text.quantity import SOFT, Quantity
from localllm.text.quantity_agreement import agrees, near

_LEAST_COUNT = 10
"""A smaller number without a unit may count the answer's own points."""
_MOST_NUMBERS = 60
"""Of a passage: with more, nearly any number could be reckoned from two of them."""


class Unsupported(NamedTuple):
    """A reference that no passage has; with `quantity`, one that is not in the passages of that reference."""

    reference: str
    quantity: str = ""


def hits_in(payload: dict[str, Any]) -> list[Hit]:
    """Return the passages in the result of a search."""
    return msgspec.convert(payload.get("results") or [], list[Hit])


def unsupported(answer: str, hits: Sequence[Hit], known: Sequence[str], request: str) -> list[Unsupported]:
    """Return what an answer cites in vain. `known`: texts that the model was given; a file that they name may be cited,
    as it may have been read."""
    return list(dict.fromkeys([*_unknown(answer, hits, known), *_wrong_numbers(answer, hits, request)]))


def _unknown(answer: str, hits: Sequence[Hit], known: Sequence[str]) -> Iterator[Unsupported]:
    for written in references_in(answer):
        reference = read_reference(written)
        if reference is None or reference.place is None or any(points_to(reference, hit, overlap=True) for hit in hits):
            continue
        if not any(reference.file in text for text in known):
            yield Unsupported(written)


def _wrong_numbers(answer: str, hits: Sequence[Hit], request: str) -> Iterator[Unsupported]:
    """Yield the numbers of cited sentences that no passage of the cited files has, nor the request, and that are not
    reckoned from two of these."""
    asked = quantities(request)
    for sentence, cited in cited_sentences(answer, hits):
        files = {hit.file for hit in cited}
        near_by = [hit for hit in hits if hit.file in files]
        stated = [*asked, *(one for hit in near_by for one in quantities(_whole(hit)))]
        for one in quantities(sentence):
            written = sentence[one.span.start : one.span.end]
            if _is_idle(one, written) or any(agrees(one, other) for other in stated) or _is_reckoned(one, stated):
                continue
            yield Unsupported(cited[0].reference, written)


def _whole(hit: Hit) -> str:
    return "\n".join((hit.file, *hit.headings, hit.text))


def _is_idle(one: Quantity, written: str) -> bool:
    """Return whether it says nothing that a passage would have to: a place in an order, a small count, "1日" for each
    day, a share in words."""
    is_share = one.kind in ("percent", "ratio") and (one.is_word or "割" in written)
    is_count = one.kind in SOFT and abs(one.value) <= _LEAST_COUNT
    return one.kind == "ordinal" or is_count or is_share or bool(_ONE.match(written))


_ONE = late_pattern(r"(?i)\s*(?:[1１一]|one\b|an?\b)(?![\d０-９.,〇十百千万])")


def _is_reckoned(one: Quantity, stated: Sequence[Quantity]) -> bool:
    values = {other.value for other in stated if other.kind != "date"}
    if one.kind == "date" or len(values) > _MOST_NUMBERS:
        return one.kind != "date"
    pairs = cast("Iterator[tuple[float, float]]", permutations(values, 2))
    scale = 100.0 if one.kind in ("percent", "points") else 1.0
    return any(
        near(one, made)
        for a, b in pairs
        for made in (a + b, a - b, a * b, *((a / b * scale, abs(a - b) / b * scale) if b else ()))
    )
