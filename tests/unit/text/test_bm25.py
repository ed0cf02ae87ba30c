"""Ranking by words: rarity, length, frequency; documents that come and go."""

import math

import pytest

from localllm.text.bm25 import Bm25


def test_score_is_that_of_the_formula() -> None:
    index = Bm25({"a": ["cat", "cat", "dog"], "b": ["dog"]})
    weight = math.log(1 + (2 - 1 + 0.5) / (1 + 0.5))
    assert index.scores(["cat"]) == {"a": pytest.approx(weight * 2 * 2.2 / (2 + 1.2 * (0.25 + 0.75 * 3 / 2)))}


def test_rare_terms_and_short_documents_come_first() -> None:
    index = Bm25({"rare": ["x", "filler"], "common": ["y", "filler"], "other": ["y"], "long": ["y"] + ["filler"] * 9})
    assert [name for name, _ in index.best(["x", "y"], 9)] == ["rare", "other", "common", "long"]
    assert index.weight("x") > index.weight("y") > 0


def test_only_documents_with_a_term_have_a_score() -> None:
    index = Bm25({"a": ["x"], "b": ["y"]})
    assert set(index.scores(["x", "unknown"])) == {"a"}
    assert index.scores([]) == {}
    assert Bm25().best(["x"], 3) == []


def test_a_term_in_every_document_never_harms() -> None:
    assert all(score > 0 for score in Bm25({"a": ["x"], "b": ["x"]}).scores(["x"]).values())


def test_adding_and_removing_leaves_what_a_new_index_would_have() -> None:
    index = Bm25({"a": ["x", "y"], "b": ["x"], "c": ["z"]})
    index.add("a", ["y", "z", "z"])
    index.remove("c")
    index.remove("never there")
    fresh = Bm25({"a": ["y", "z", "z"], "b": ["x"]})
    assert index.scores(["x", "y", "z"]) == fresh.scores(["x", "y", "z"])
    assert len(index) == 2
    assert "c" not in index


def test_equal_scores_come_by_name() -> None:
    assert [name for name, _ in Bm25({"b": ["x"], "a": ["x"], "c": ["x"]}).best(["x"], 2)] == ["a", "b"]
