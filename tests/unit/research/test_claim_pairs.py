from collections import Counter
from itertools import combinations

from localllm.research.claims.claim_checks import refuse
from tests.support.claim_pairs import HALVES, PARTS, ClaimPair, Half, claim_pairs, misplaced_citations


def test_the_pairs_are_many_and_evenly_split() -> None:
    pairs = claim_pairs()
    assert sum(pair.label for pair in pairs) >= 260
    assert sum(not pair.label for pair in pairs) >= 160
    assert len({(pair.claim, pair.passages) for pair in pairs}) == len(pairs)
    for label in (True, False):
        halves = Counter(pair.half for pair in pairs if pair.label is label)
        assert abs(halves["open"] - halves["held"]) <= 0.1 * halves.total()
    languages = Counter(pair.languages for pair in pairs if pair.label)
    assert languages["ja-en"] >= 0.5 * languages.total()


def test_the_fresh_pairs_are_true_ones_of_all_languages_and_read_by_name_only() -> None:
    fresh = claim_pairs("fresh")
    assert all(pair.label for pair in fresh)
    assert len({(pair.claim, pair.passages) for pair in fresh}) == len(fresh)
    assert Counter(pair.languages for pair in fresh) == {"ja-en": 120, "en-en": 40, "ja-ja": 40, "en-ja": 20}
    assert {pair.half for pair in claim_pairs()} == {"open", "held"}


def test_no_source_stands_in_two_halves() -> None:
    passages = [{passage for pair in claim_pairs(half) for passage in pair.passages} for half in PARTS]
    assert not any(one & other for one, other in combinations(passages, 2))


def test_each_claim_is_written_in_the_language_it_is_said_to_be_in() -> None:
    for pair in [pair for half in PARTS for pair in claim_pairs(half)]:
        languages = ["ja" if any(mark > "\u3000" for mark in text) else "en" for text in (pair.claim, *pair.passages)]
        assert pair.languages.split("-") == [languages[0], languages[1]], pair


def test_misplaced_claims_cite_what_they_were_not_written_for() -> None:
    written = {(pair.claim, pair.passages) for pair in claim_pairs()}
    misplaced = misplaced_citations()
    assert len(misplaced) >= 100
    assert not {(pair.claim, pair.passages) for pair in misplaced} & written


def test_independent_true_claims_are_seldom_rejected() -> None:
    """Both halves are what the rules were mended with."""
    refused = {half: sum(map(_is_refused, _true(half))) / len(_true(half)) for half in HALVES}
    assert refused["open"] <= 0.03
    assert refused["held"] <= 0.03


def test_wrong_numbers_and_citations_are_mostly_rejected() -> None:
    lies = [pair for pair in claim_pairs() if not pair.label and pair.kind in ("number", "date", "unit", "share")]
    assert sum(map(_is_refused, lies)) >= 0.65 * len(lies)
    misplaced = misplaced_citations()
    assert sum(map(_is_refused, misplaced)) >= 0.85 * len(misplaced)


def _true(half: Half) -> list[ClaimPair]:
    return [pair for pair in claim_pairs(half) if pair.label]


def _is_refused(pair: ClaimPair) -> bool:
    return refuse(pair.claim, pair.passages, today="2026-11-24") is not None
