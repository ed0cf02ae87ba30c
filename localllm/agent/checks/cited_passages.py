"""Compare an answer with the passages of documents that it cites, by rule: references and numbers.

A number may be reckoned from those of the passages and the request (12 months, 10 % off, 30 days after a date), in
several steps if the answer shows them.
"""

import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import chain, permutations
from typing import Any, NamedTuple

import msgspec

from localllm.agent.checks.uncited_numbers import Numbers, uncited_numbers
from localllm.base.i18n import Phrase
from localllm.base.lazy_patterns import late_pattern
from localllm.rag.citations import points_to, read_reference, references_in, sentences_with_citations
from localllm.rag.records import Hit
from localllm.safety.path_names import shown
from localllm.text.calculations import is_result
from localllm.text.quantities import quantities
from localllm.text.quantity import SOFT, Quantity
from localllm.text.quantity_agreement import agrees, near

_LEAST_COUNT = 10
"""A smaller number without a unit may count the answer's own points."""
_MOST_NUMBERS = 60
"""Of a passage: with more, nearly any number could be reckoned from two of them."""
_RATES = (4.0, 7.0, 12.0, 52.0, 365.0)
"""Between weeks, months, quarters and years: 500 yen a month are 6,000 yen a year."""
_FACTORS = frozenset({12.0, 24.0, 52.0, 60.0, 360.0, 365.0, 366.0})
"""What people reckon with and no passage says: … × 30 ÷ 365."""
_SECONDS = (60.0, 3_600.0, 86_400.0, 604_800.0)
"""Of the units in which a duration is multiplied: 1,200 yen an hour for eight hours."""
_DAY = 86_400.0


class Unsupported(NamedTuple):
    """A reference that no passage has; with `quantity`, one that is not in the passages of that reference, or without
    a reference in no passage at all."""

    reference: str
    quantity: str = ""

    @property
    def for_model(self) -> str:
        """What is wrong, for the model."""
        if not self.quantity:
            return f"no search found {self.reference}"
        return f"{self.quantity} is {'not in the passage cited' if self.reference else 'in no passage found'}"

    @property
    def phrase(self) -> Phrase:
        """What is wrong, for the user."""
        if not self.quantity:
            return unfound(self.reference)
        if not self.reference:
            return Phrase("{quantity} is in no passage found", quantity=self.quantity)
        return Phrase("{quantity} is not in {reference}", quantity=self.quantity, reference=shown(self.reference))


def unfound(reference: str) -> Phrase:
    """Describe for the user a reference that no passage has."""
    return Phrase("no search found {reference}", reference=shown(reference))


def hits_in(payload: dict[str, Any]) -> list[Hit]:
    """Return the passages in the result of a search."""
    return msgspec.convert(payload.get("results") or [], list[Hit])


def unsupported(
    answer: str,
    hits: Sequence[Hit],
    known: Sequence[str],
    request: str,
    read: Sequence[str] = (),
    *,
    are_source: bool = False,
) -> list[Unsupported]:
    """Return what an answer cites in vain. `known`: texts that the model was given; a file that they name may be cited,
    as it may have been read. `read`: those that may be the content of such a file. `are_source`: the passages were
    searched for this answer, which has nothing else to go by than what was read."""
    sentences = sentences_with_citations(_CODE.sub("", answer), hits)
    return list(
        dict.fromkeys(
            [
                *_unknown(answer, hits, known),
                *_wrong_numbers(sentences, hits, request, read),
                *_loose_numbers(sentences, hits, request, read, are_source=are_source),
            ]
        )
    )


def made_up(answer: str, request: str, read: Sequence[str]) -> list[Unsupported]:
    """Return the numbers of an answer that nothing which was `read` has, where no search gave a passage."""
    sentences = [(sentence, False) for sentence, _ in sentences_with_citations(_CODE.sub("", answer), ())]
    return [Unsupported("", one) for one in dict.fromkeys(uncited_numbers(sentences, [request], read, request))]


def _unknown(answer: str, hits: Sequence[Hit], known: Sequence[str]) -> Iterator[Unsupported]:
    for written in references_in(answer):
        reference = read_reference(written)
        if reference is None or not (reference.place or reference.heading or _is_document(reference.file)):
            continue
        if any(points_to(reference, hit, overlap=True) for hit in hits):
            continue
        if not any(_names(text, reference.file) for text in known):
            yield Unsupported(written)


_DOCUMENTS = (".md", ".markdown", ".rst", ".txt", ".pdf", ".docx", ".html", ".htm", ".csv", ".tsv", ".xlsx")


def _is_document(file: str) -> bool:
    """Return whether it is a document's name: in brackets also stands what only looks like a file's, as [example.org]
    or [Node.js]."""
    return file.casefold().endswith(_DOCUMENTS)


def _names(text: str, file: str) -> bool:
    """Return whether a text names a file, which is spelt as in a reference."""
    return file in text or file in unicodedata.normalize("NFKC", text)


_Sentences = Sequence[tuple[str, tuple[Hit, ...]]]
_CODE = late_pattern(r"(?ms)^[ \t]*(?:```|~~~).*?(?:^[ \t]*(?:```|~~~)[ \t]*$|\Z)")


def _wrong_numbers(
    sentences: _Sentences, hits: Sequence[Hit], request: str, read: Sequence[str]
) -> Iterator[Unsupported]:
    """Yield the numbers of cited sentences that no passage of the cited files has, nor the request, nor what was read
    of these files, and that do not follow from these in steps that the answer takes."""
    asked = quantities(request)
    of_files: dict[frozenset[str], _Stated] = {}
    earlier: list[Quantity] = []
    for sentence, cited in sentences:
        files = frozenset(hit.file for hit in cited)
        if files and files not in of_files:
            passages = [_whole(hit) for hit in hits if hit.file in files]
            of_files[files] = _Stated(asked, passages, [text for text in read if any(_names(text, f) for f in files)])
        if not files:
            earlier += quantities(sentence)
            continue
        stated, is_doubted = of_files[files], False
        for one in earlier:
            if stated.supports(one):
                stated.reckon_with(one)
        earlier.clear()
        found = quantities(sentence)
        for at, one in enumerate(found):
            written = sentence[one.span.start : one.span.end]
            if _is_idle(one, written):
                continue
            if stated.supports(one) or (not is_doubted and is_result(sentence, found, at)):
                stated.reckon_with(one)
            else:
                is_doubted = True
                yield Unsupported(cited[0].reference, written)


def _loose_numbers(
    sentences: _Sentences, hits: Sequence[Hit], request: str, read: Sequence[str], *, are_source: bool
) -> Iterator[Unsupported]:
    """Yield the numbers of sentences without a reference that nothing has, in an answer with a reference elsewhere, or
    whose source the passages are."""
    if (hits and are_source) or any(cited for _, cited in sentences):
        marked = [(sentence, bool(cited)) for sentence, cited in sentences]
        yield from (
            Unsupported("", one) for one in uncited_numbers(marked, [request, *map(_whole, hits)], read, request)
        )


def _whole(hit: Hit) -> str:
    return "\n".join((hit.file, *hit.headings, hit.text))


def _is_idle(one: Quantity, written: str) -> bool:
    """Return whether it says nothing that a passage would have to: a place in an order, a small count, "1日" for each
    day, a share in words."""
    is_share = one.kind in ("percent", "ratio") and (one.is_word or "割" in written)
    is_count = one.kind in SOFT and abs(one.value) <= _LEAST_COUNT
    is_factor = one.kind == "number" and one.value in _FACTORS
    return one.kind == "ordinal" or is_count or is_share or is_factor or bool(_ONE.match(written))


_ONE = late_pattern(
    r"(?i)\s*(?:[1１一]|one\b|an?\b)(?![\d０-９.,〇十百千万億兆]|\s?(?:hundred|thousand|million|billion|trillion)\b)"
)


class _Stated:
    """The numbers that a sentence may have: those of the request, of `passages` and of what was `read`, and what is
    reckoned from the first two."""

    def __init__(self, asked: Sequence[Quantity], passages: Iterable[str], read: Iterable[str]) -> None:
        self._numbers = [*asked, *chain.from_iterable(map(quantities, passages))]
        self._read = read

    def supports(self, one: Quantity) -> bool:
        """Return whether the number is one of these."""
        return (
            any(agrees(one, other) for other in self._numbers)
            or self._is_reckoned(one)
            or any(agrees(one, other) for other in self._numbers_read)
        )

    def reckon_with(self, one: Quantity) -> None:
        """Take a number of the answer, which follows from these, as one that others may follow from."""
        if len(self._values) < _MOST_NUMBERS and not any(agrees(one, other) for other in self._numbers):
            self._numbers.append(one)
            for name in ("_lengths", "_figures", "_bare", "_shares", "_ratios", "_plain", "_values"):
                self.__dict__.pop(name, None)

    @cached_property
    def _numbers_read(self) -> list[Quantity]:
        return list(chain.from_iterable(map(quantities, self._read)))

    def _is_reckoned(self, one: Quantity) -> bool:
        if one.kind == "date":
            return Numbers(self._numbers).give(one)
        if len(self._values) > _MOST_NUMBERS or (one.kind == "number" and one.value in self._bare):
            return True
        is_length, is_share = _is_length(one), one.kind in ("percent", "points")
        values = self._lengths if is_length else self._shares if is_share else self._figures
        least, most = sorted((one.value / 2, one.value * 2))  # `near` accepts no more
        if any(near(one, value) for value in values[bisect_left(values, least) : bisect_right(values, most)]):
            return True
        exact = one._replace(bound="")  # "up to 45" is not half of any number that stands here
        return _is_plain(one) and any(
            near(exact, value) for a in self._plain for r in _RATES for value in (a * r, a / r)
        )

    @cached_property
    def _lengths(self) -> list[float]:
        """Durations in seconds, reckoned from durations, times of day, and plain numbers."""
        stated = [one.value for one in self._numbers if _is_length(one)]
        times = [60 * one.value for one in self._numbers if one.kind == "time"]
        counts = [*self._plain, *(value / _DAY for value in stated if value % _DAY == 0)]  # eight hours on five days
        made = {value for a, b in permutations(stated, 2) for value in (a + b, a - b)}
        made |= {value for a in stated for b in counts for value in (a * b, *((a / b,) if b else ()))}
        made |= {abs(a - b) for a, b in permutations(times, 2)}
        return sorted(made | {value for one in self._plain for value in (one, one / 1_000)})  # timeout_ms = 30000

    @cached_property
    def _figures(self) -> list[float]:
        """Other numbers, reckoned from such numbers and durations in their units."""
        shares = {one.value / 100 for one in self._numbers if one.kind in ("percent", "points")}
        made = {value for a in self._plain for b in shares for value in (a * b, a + a * b, a - a * b)}
        made |= {value for a in self._plain for b in self._bare - {a} for value in (a + b, a - b, a * b)}
        made |= {one.value * 1.024**power for one in self._numbers if one.kind == "data" for power in range(-3, 4)}
        return sorted(made | set(self._ratios))

    @cached_property
    def _bare(self) -> set[float]:
        """The numbers as they are written in a calculation (5 × 40 = 200 EUR): without their units."""
        lengths = [one.value for one in self._numbers if _is_length(one)]
        return self._plain | {value / unit for value in lengths for unit in _SECONDS if value % unit == 0}

    @cached_property
    def _shares(self) -> list[float]:
        """Percentages."""
        made = {value for a, b in permutations(self._values, 2) for value in (a + b, a - b, a * b)}
        return sorted(made | {100 * value for value in self._ratios})

    @cached_property
    def _ratios(self) -> list[float]:
        return [value for a, b in permutations(self._values, 2) if b for value in (a / b, abs(a - b) / b)]

    @cached_property
    def _plain(self) -> set[float]:
        """The numbers but dates, times of day, and durations in seconds."""
        return {one.value for one in self._numbers if _is_plain(one)}

    @cached_property
    def _values(self) -> set[float]:
        return {one.value for one in self._numbers if one.kind != "date"}


def _is_length(one: Quantity) -> bool:
    return one.kind == "duration" and one.unit == "s"


def _is_plain(one: Quantity) -> bool:
    return one.kind not in ("date", "time") and not _is_length(one)
