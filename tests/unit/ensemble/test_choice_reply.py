"""Choices and rankings are read, whatever form a model gives them."""

from hypothesis import given
from hypothesis import strategies as st

from localllm.ensemble.choice_reply import read_choice, read_ranking
from tests.support.each import each

LABELS = {"A": (0,), "B": (1, 3), "C": (2,)}

CHOICES = [
    (
        "## Evaluation\n- A (3/10): wrong.\n- B (9/10): right.\n\n## Choice\nBest: B",
        1,
        "- A (3/10): wrong.\n- B (9/10): right.",
    ),
    ("## 評価\n回答Aは誤り。\n\n## 選択\n最良：C", 2, "回答Aは誤り。"),
    ("**Evaluation**\nA is wrong.\n\n**Best answer: B**", 1, "A is wrong."),
    ("### 1. Evaluation\nA is wrong.\n### 2. Choice\n**C**", 2, "A is wrong."),
    ("## Evaluation\nBoth fine.\n\nBest: A", 0, "Both fine.\n\nBest: A"),
    ("## Evaluation\nA: 4/10\nB: 8/10\nC: 5/10", 1, "A: 4/10\nB: 8/10\nC: 5/10"),
    ('{"comment": "B is right.", "score_A": 2, "score_B": 9, "score_C": 4, "best": "B"}', 1, "B is right."),
    ('{"comment": "C is right.", "score_A": 2, "score_B": 4, "score_C": 9}', 2, "C is right."),
    ("<think>Best: A</think>\n## Evaluation\nok\n## Choice\nBest: Answer C", 2, "ok"),
    ("## Evaluation\nok\n## Choice\nI choose answer B, because it is right.", 1, "ok"),
    ("Choice: B", 1, ""),
    ("## Evaluation\nThe best answer is C.", 2, "The best answer is C."),
    ("## Evaluation\nNone of them is any good.", None, "None of them is any good."),
    ("## Evaluation\nA: 5/10\nB: 5/10\n## Choice\nA or B", None, "A: 5/10\nB: 5/10"),
    ("", None, ""),
]


@each("reply, best, comment", CHOICES)
def test_a_choice_is_read(reply: str, best: int | None, comment: str) -> None:
    review = read_choice(reply, LABELS)
    assert (review.best, review.comment) == (best, comment)
    assert review.final_answer == ""


RANKINGS = [
    ("## Evaluation\nok\n\n## Ranking\nB > C > A", "BCA", "ok"),
    ("## 評価\nよい。\n## 順位\nC ＞ A ＞ B", "CAB", "よい。"),
    ("## Evaluation\nok\n## Ranking\n1. C\n2. B\n3. A", "CBA", "ok"),
    ("## Evaluation\nok\n## Ranking\n1. Answer B – right\n2. Answer A – nearly", "BAC", "ok"),
    ("**Ranking:** B > A > C", "BAC", ""),
    ("## Evaluation\nB is best.\n\nB > A > C", "BAC", "B is best.\n\nB > A > C"),
    ("## Evaluation\nA: 3/10\nB: 9/10\nC: 6/10", "BCA", "A: 3/10\nB: 9/10\nC: 6/10"),
    ('{"comment": "c", "score_A": 3, "score_B": 5, "score_C": 9}', "CBA", "c"),
    ('{"comment": "c", "score_B": 5}', "BAC", "c"),
    ("## Evaluation\nok\n## Ranking\nC is the best.", "CAB", "ok"),
    ("## Evaluation\nA: 3/10, B: 9/10, C: 6/10\n## Ranking\nC first.", "BCA", "A: 3/10, B: 9/10, C: 6/10"),
    ("## Evaluation\nNo idea.", "", "No idea."),
]


@each("reply, order, comment", RANKINGS)
def test_a_ranking_is_read(reply: str, order: str, comment: str) -> None:
    ranking = read_ranking(reply, LABELS)
    assert (ranking.order, ranking.comment) == (tuple(order), comment)


@given(
    st.permutations("ABC"),
    st.sampled_from((" > ", "\n", ", ", " ＞ ")),
    st.sampled_from(("## Ranking\n", "【順位】\n")),
)
def test_any_order_is_given_back(order: list[str], between: str, heading: str) -> None:
    assert read_ranking(f"## Evaluation\nA B C\n\n{heading}{between.join(order)}", LABELS).order == tuple(order)


@given(st.text(max_size=80))
def test_no_reply_fails(reply: str) -> None:
    assert read_choice(reply, LABELS).best in (None, 0, 1, 2)
    assert len(read_ranking(reply, LABELS).order) in (0, 3)
