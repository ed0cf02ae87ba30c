"""Rankings are fused by the places of their items alone."""

import pytest

from localllm.web.rank_fusion import K, fuse


def test_the_score_is_that_of_the_paper() -> None:
    fused = fuse([["a", "b"], ["b", "c"]])
    assert [one.item for one in fused] == ["b", "a", "c"]
    assert fused[0].score == pytest.approx(1 / 62 + 1 / 61)
    assert fused[1].score == pytest.approx(1 / 61)
    assert K == 60


def test_what_many_found_goes_before_what_one_found_first() -> None:
    rankings = [["x", "shared"], ["y", "shared"], ["z", "shared"]]
    assert fuse(rankings)[0].item == "shared"


def test_of_equal_ones_the_first_met_goes_first_and_a_double_counts_once() -> None:
    assert [one.item for one in fuse([["a", "a", "b"], ["c", "d"]])] == ["a", "c", "b", "d"]
    assert fuse([["a", "a"]])[0].score == pytest.approx(1 / 61)


def test_nothing_gives_nothing() -> None:
    assert fuse([]) == fuse([[], []]) == []
