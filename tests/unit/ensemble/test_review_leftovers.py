"""What a final answer has of the review."""

import pytest

from localllm.ensemble.review_leftovers import (
    is_undecided,
    names_label,
    without_references,
    without_scores,
)
from localllm.ensemble.review_reply import read_review

LABELS = {"A": (0,), "B": (1,), "K117": (2,)}
ANSWER = "Mount Fuji is 3,776 m high."


@pytest.mark.parametrize(
    "scores",
    [
        "**Scores:**\n- A: 8\n- **B**: 9/10 (clear)",
        "### Ratings\n\n| Answer | Score |\n|---|---|\n| Answer A | 7 |\n| Answer B | 9 |",
        "## 点数\n回答A：7点\n回答B：9点",
        "Scores:\n1. Answer K117 (8/10): right",
    ],
)
def test_a_section_of_scores_is_cut_off(scores: str) -> None:
    assert without_scores(f"{ANSWER}\n\n{scores}", LABELS) == (ANSWER, scores)
    assert without_scores(f"{ANSWER}\n\n---\n\n{scores}\n", LABELS).answer == ANSWER


def test_numbers_are_labels_only_where_none_was_scored_by_its_label() -> None:
    scored = f"{ANSWER}\n\n## Scores\nAnswer 1: 7/10\nAnswer 2: 9/10"
    for evaluation, is_cut in (("Both are right.", True), ("- A (7/10): right.", False)):
        review = read_review(f"## Evaluation\n{evaluation}\n\n## Final answer\n{scored}", LABELS)
        assert review.final_answer == (ANSWER if is_cut else scored)


@pytest.mark.parametrize(
    "rest",
    [
        "## Scores\nLima: 3\nCusco: 1",
        "## Scores\nAnswer A: 7/10\n\nThe match went on.",
        "Scores are in the table.",
        "## Scores",
        "",
    ],
)
def test_other_sections_stay(rest: str) -> None:
    assert without_scores(f"{ANSWER}\n{rest}", LABELS).answer == f"{ANSWER}\n{rest}"
    assert without_scores("## Scores\nA: 7", LABELS).answer == "## Scores\nA: 7"


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("It is high (see Answer A).", "It is high."),
        ("It is high (Answer A and Answer K117).", "It is high."),
        ("富士山です（回答Aより）。", "富士山です。"),
        ("富士山です（回答A・回答Bを参照）。", "富士山です。"),
        ("回答Aの通り、富士山です。", "富士山です。"),
        ("正しいです。回答K117によると、標高は3776mです。", "正しいです。標高は3776mです。"),
        ("As Answer A says, the peak is high.", "The peak is high."),
        ("According to answer B, it is.", "It is."),
        ("Bots reply. Answer a, or b, is a menu (answer a).", "Bots reply. Answer a, or b, is a menu (answer a)."),
        ("See (a) and answer C (see Answer Z).", "See (a) and answer C (see Answer Z)."),
        ("The answer is a mountain (see below).", "The answer is a mountain (see below)."),
    ],
)
def test_references_to_labels_are_dropped(answer: str, expected: str) -> None:
    assert without_references(answer, LABELS) == expected
    assert without_references(answer, {}) == answer


def test_an_answer_that_speaks_of_a_label_is_seen() -> None:
    assert names_label("Answer A is right: Lima.", LABELS)
    assert names_label("回答Bが正しく、リマです。", LABELS)
    assert not names_label("The answer and all of it. Plan A is best. The answer as such.", LABELS)
    assert not names_label("Bots answer a question, and an agent a day sees the response a client gets.", LABELS)


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        ("I cannot decide.", True),
        ("Sorry, I can't decide which answer is best.", True),
        ("**I am unable to judge.**", True),
        ("判断できません。", True),
        ("どの回答が正しいか判断できません。", True),
        ("I cannot decide for you: take the train if it rains.", False),
        ("You cannot choose the port.", False),
        ("この情報だけでは原因を判断できません。ログを見せてください。", False),
        ("Lima.", False),
    ],
)
def test_a_reply_that_decides_nothing(reply: str, expected: bool) -> None:
    assert is_undecided(reply) is expected
