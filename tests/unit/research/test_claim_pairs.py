from collections import Counter

from tests.support.claim_pairs import HALVES, claim_pairs, misplaced_citations


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


def test_no_source_stands_in_both_halves() -> None:
    passages = [{passage for pair in claim_pairs(half) for passage in pair.passages} for half in HALVES]
    assert not passages[0] & passages[1]


def test_each_claim_is_written_in_the_language_it_is_said_to_be_in() -> None:
    for pair in claim_pairs():
        languages = ["ja" if any(mark > "\u3000" for mark in text) else "en" for text in (pair.claim, *pair.passages)]
        assert pair.languages.split("-") == [languages[0], languages[1]], pair


def test_misplaced_claims_cite_what_they_were_not_written_for() -> None:
    written = {(pair.claim, pair.passages) for pair in claim_pairs()}
    misplaced = misplaced_citations()
    assert len(misplaced) >= 100
    assert not {(pair.claim, pair.passages) for pair in misplaced} & written
