"""Answers that say the same are recognised, and the one in the middle is found."""

from hypothesis import given
from hypothesis import strategies as st

from localllm.base.errors import LLMConnectionError
from localllm.ensemble import agreement
from localllm.ensemble.agreement import find_agreement, medoid, wording
from localllm.ensemble.records import WorkerAnswer
from localllm.text.near_duplicates import resemblance, signature
from tests.support.each import each

FAILED = LLMConnectionError("llm_empty", url="http://127.0.0.1:1", reason="")

SETS = (
    "A set keeps each value once and has no order, so looking a value up in it takes the same time however many there "
    "are. A list keeps what was put in, in its order, and is looked through from its beginning to its end. Use a set "
    "where you ask often whether something is in it, and a list where the order counts."
)
PYTHON = (
    "Pythonのリストは順序を保ち、重複を許します。集合は重複を許さず、順序もありません。"
    "要素が含まれるかを何度も調べるなら集合が速く、順序が大切ならリストを使います。"
)


def _answers(*texts: str | None) -> list[WorkerAnswer]:
    return [
        WorkerAnswer(agent=f"w{index}", model="m", text=text or "", error=None if text else FAILED)
        for index, text in enumerate(texts)
    ]


@each(
    "one, other",
    [
        ("Tokyo.", "tokyo"),
        ("東京です。", "東京です"),
        ("ＴＯＫＹＯ", "Tokyo"),
        ("It is  warm\nhere", "it is warm here."),
        ("```\nx = 1  \n```", "```\nx = 1\n```"),
    ],
)
def test_answers_in_the_same_words_stand_once(one: str, other: str) -> None:
    assert wording(one) == wording(other)
    assert [group.workers for group in find_agreement(_answers(one, "else", other)).groups] == [(0, 2), (1,)]


@each(
    "one, other",
    [("```\nX = 1\n```", "```\nx = 1\n```"), ("```\nif x:\n    y\n```", "```\nif x:\ny\n```"), ("1.5", "15")],
)
def test_other_words_or_other_code_stand_apart(one: str, other: str) -> None:
    assert wording(one) != wording(other)


def test_a_text_is_kept_as_the_first_worker_wrote_it() -> None:
    (group,) = find_agreement(_answers("Tokyo.", "tokyo")).groups
    assert group.text == "Tokyo."


@each(
    "texts, workers, value",
    [
        (("42", "The answer is 42.", "41"), (0, 1), "42"),
        (("42", "42", "41", "40"), None, ""),
        (("42", "41"), None, ""),
        (("42", "42.0"), (0, 1), "42"),
        (("42",), None, ""),
        (("42", None, "The answer is 42."), (0, 2), "42"),
        ((None, None), None, ""),
        (("はい。", "Yes", "いいえ"), (0, 1), "はい"),
        (("B) Paris", "(B)", "The answer is B.", "C"), (0, 1, 2), "B"),
        (("5 km", "5000 m", "6 km"), (0, 1), "5 km"),
        (("3.1", "3.1416", "3.14"), (0, 1, 2), "3.1"),
        ((SETS, SETS.replace("looked through", "read"), "Both are collections. Neither is better."), (0, 1), ""),
        ((PYTHON, PYTHON.replace("大切", "重要"), "どちらも集まりです。違いはありません。"), (0, 1), ""),
        ((SETS, SETS.replace("has no order", "does not have no order"), SETS.upper()), (0, 2), ""),
        (
            (f"{SETS} The answer is 42.", f"{SETS} The answer is 41.", f"{SETS} The answer is 42"),
            (0, 2),
            "42",
        ),
    ],
)
def test_two_thirds_make_a_consensus(
    texts: tuple[str | None, ...], workers: tuple[int, ...] | None, value: str
) -> None:
    consensus = find_agreement(_answers(*texts)).consensus
    assert (consensus.workers if consensus else None) == workers
    assert (consensus.value if consensus else "") == value


def test_the_most_frequent_opinion_comes_first_and_of_equals_the_first() -> None:
    agreement = find_agreement(_answers("1", "2", "3", "2.0", "1.0", "2"))
    assert [one.workers for one in agreement.opinions] == [(1, 3, 5), (0, 4), (2,)]


def test_a_number_changed_in_the_same_prose_is_another_opinion() -> None:
    one = f"{SETS} It was measured with 1000 values."
    assert len(find_agreement(_answers(one, one.replace("1000", "2000"))).opinions) == 2


@each(
    "texts, has_values",
    [
        (("42", "The answer is 41."), True),
        (("42", f"{SETS} {PYTHON}"), False),
        (("B", None), True),
        ((None,), False),
        (("There are 42.", "42"), True),
        (("There are 42.", "There are 41."), False),
    ],
)
def test_whether_all_answers_can_be_compared(texts: tuple[str | None, ...], has_values: bool) -> None:
    assert find_agreement(_answers(*texts)).has_values is has_values


def test_the_medoid_is_the_answer_nearest_to_the_others() -> None:
    near = (
        "The capital of Peru is Lima.",
        "Lima is the capital of Peru.",
        "The capital of Peru is Lima, on the coast.",
    )
    assert medoid(_answers("I cannot say anything about that.", *near)) == 1
    japanese = ("ペルーの首都はリマです。", "首都はリマです。", "ペルーの首都はリマだと思います。")
    assert medoid(_answers("わかりません。", *japanese)) == 1


def test_weight_and_then_place_decide_between_equally_near_answers() -> None:
    answers = _answers("alpha", "omega")
    assert medoid(answers) == 0
    assert medoid(answers, (1.0, 2.0)) == 1
    assert medoid(_answers(None, "omega"), (9.0, 1.0)) == 1
    assert medoid(_answers(None, None)) is None


WORDS = "the a cache process network request model time memory reads writes keeps holds fast slow new old because".split(" ")  # fmt: skip  # noqa: E501


@given(
    st.lists(st.sampled_from(WORDS), min_size=20, max_size=300),
    st.lists(st.tuples(st.integers(0, 299), st.sampled_from(["", "other", "one or two"])), max_size=12),
    st.booleans(),
)
def test_no_answer_that_says_the_same_is_passed_over_at_a_glance(
    words: list[str], changes: list[tuple[int, str]], is_japanese: bool
) -> None:
    changed = list(words)
    for place, by in changes:
        changed[place % len(words)] = by
    between = "" if is_japanese else " "
    one, other = between.join(words), between.join(changed)
    if is_japanese:
        one, other = (text.translate({ord("a") + at: ord("あ") + 2 * at for at in range(26)}) for text in (one, other))
    if resemblance(signature(one), signature(other)) >= agreement._SAME_PROSE:
        assert agreement._may_resemble(one, other)
