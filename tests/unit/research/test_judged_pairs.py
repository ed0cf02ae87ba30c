from collections import Counter

import pytest

from localllm.text.quotes import find_quote
from tests.support.claim_pairs import claim_pairs
from tests.support.judged_pairs import Judged, checked, judged_pairs, pair_id

pytestmark = pytest.mark.anyio


def test_the_pairs_judged_are_half_true_and_half_lies_with_misplaced_citations_among_them() -> None:
    for judge in {one.judge for one in judged_pairs()}:
        pairs = [one.pair for one in judged_pairs() if one.judge == judge]
        assert len({pair_id(pair) for pair in pairs}) == len(pairs)
        assert Counter(pair.label for pair in pairs) == {True: 40, False: 40}
        assert {pair.half for pair in pairs} == {"open", "held"}
        assert sum(pair.kind == "misplaced" for pair in pairs) >= 10


def test_each_played_verdict_but_not_found_quotes_one_of_its_passages_letter_by_letter() -> None:
    played = [one for one in judged_pairs() if one.judge == "played"]
    assert {one.verdict for one in played} <= {"supported", "partial", "contradicted", "not_found"}
    for one in played:
        assert bool(one.quote) is (one.verdict != "not_found"), one
        assert not one.quote or any(one.quote in passage for passage in one.pair.passages), one


async def test_a_verdict_is_played_back_through_the_mechanics_and_its_quote_is_looked_for() -> None:
    true = next(one for one in judged_pairs() if one.pair.label and one.pair.kind == "plain")
    lie = next(one for one in claim_pairs("open") if one.kind == "number" and not one.label)
    given = [
        true,
        true._replace(quote="These words stand nowhere on the page."),
        true._replace(verdict="contradicted"),
        Judged(lie, "supported", lie.passages[0], "played"),
    ]
    settled = await checked(given)
    assert find_quote(true.quote, settled[0].quote)
    assert [(one.label, one.by) for one in settled] == [
        ("supported", "model"),
        ("not_verified", "mechanics"),
        ("contradicted", "model"),
        ("not_found", "mechanics"),
    ]
