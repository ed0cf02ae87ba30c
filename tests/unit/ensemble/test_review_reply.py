"""Replies of reviewers are read as comment and final answer, whatever the model made of the form."""

import tomllib
from pathlib import Path
from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from localllm.ensemble.review_json import review_schema
from localllm.ensemble.review_reply import read_review
from tests.support.each import each

REPLIES = Path(__file__).parent / "review_replies"
LABELS = {"A": (0,), "B": (1,), "C": (2, 3)}


def _cases() -> list[dict[str, Any]]:
    return [
        case | {"from": file.stem}
        for file in sorted(REPLIES.glob("*.toml"))
        for case in tomllib.loads(file.read_text(encoding="utf-8"))["case"]
    ]


@each("case", _cases(), lambda case: f"{case['from']}: {case['name']}")
def test_a_reply_is_divided_into_comment_and_final_answer(case: dict[str, Any]) -> None:
    review = read_review(case["reply"], LABELS)
    assert review.final_answer == case["final"].strip("\n")
    assert review.is_parsed == case.get("parsed", True)
    assert [text for text in case["comment"] if text not in review.comment] == []
    assert [text for text in case.get("absent", ()) if text in review.comment] == []
    if "scores" in case:
        assert review.scores == {at: score for label, score in case["scores"].items() for at in LABELS[label]}
    if "best" in case:
        assert review.best == LABELS[case["best"]][0]


_LATIN = (
    "the",
    "capital",
    "is",
    "Lima",
    "because",
    "100 °C",
    "x=3",
    "`code`",
    "**bold**",
    "1.",
    "-",
    "{",
    "}",
    "#",
    "|",
)
_OTHERS = ("東京は日本の首都です", "正しい", "final", "answer", "evaluation", "評価", "最終", "最終回答", "42")
_WORDS = st.sampled_from((*_LATIN, *_OTHERS))
_LINE = st.lists(_WORDS, min_size=1, max_size=8).map(lambda words: "So " + " ".join(words) + ".")
_CODE = st.sampled_from(
    ("```python\n# Final answer\nprint(1)\n```", "```\n## Evaluation\n```", "~~~md\n## 最終回答\n**評価**\n~~~")
)
_TEXT = st.lists(st.one_of(_LINE, _CODE), min_size=1, max_size=5).map("\n\n".join)
_NAMES = st.sampled_from(
    (
        ("Evaluation", "Final answer"),
        ("Evaluation of the answers", "Final Answer"),
        ("Review", "FINAL ANSWER"),
        ("評価", "最終回答"),
        ("各回答の評価", "最終的な回答"),
        ("Assessment", "Final integrated response"),
    )
)
_STYLES = st.sampled_from(
    (
        "## {}\n",
        "### {}:\n",
        "# **{}**\n\n",
        "**{}**\n",
        "**{}:**\n\n",
        "__{}__\n",
        "【{}】\n",
        "■ {}\n",
        "{}：\n",
        "{}:\n\n",
        "{}\n=====\n",
        "{}\n-----\n",
        "＃＃　{}\n",
        "## 🎯 {}\n",
        "<h3>{}</h3>\n",
    )
)
_NUMBERED = st.sampled_from((("", ""), ("1. ", "2. "), ("1) ", "2) "), ("Step 1: ", "Step 2: "), ("①", "②")))
_BEFORE = st.sampled_from(("", "Here is my review:\n\n", "<think>## Final answer\nno</think>\n", "はい。\n\n", "---\n"))
_AFTER = st.sampled_from(("", "\n", "\n\n---\n", "  \n"))


@given(_TEXT, _TEXT, _NAMES, _STYLES, _NUMBERED, _BEFORE, _AFTER)
def test_any_style_of_headings_gives_back_both_texts(
    comment: str, final: str, names: tuple[str, str], style: str, numbers: tuple[str, str], before: str, after: str
) -> None:
    first, second = (style.format(number + name) for number, name in zip(numbers, names, strict=True))
    review = read_review(f"{before}{first}{comment}\n\n{second}{final}{after}", LABELS)
    assert (review.comment, review.final_answer, review.is_parsed) == (comment, final, True)


@given(_TEXT, _TEXT, _NAMES, st.sampled_from(("## {}\n", "**{}**\n", "【{}】\n")))
def test_reversed_order_gives_back_both_texts(comment: str, final: str, names: tuple[str, str], style: str) -> None:
    review = read_review(f"{style.format(names[1])}{final}\n\n{style.format(names[0])}{comment}", LABELS)
    assert (review.comment, review.final_answer) == (comment, final)


@given(_TEXT, _TEXT, st.sampled_from(list(LABELS)), st.integers(0, 10), st.booleans())
def test_an_object_of_the_schema_gives_back_all_of_it(
    comment: str, final: str, best: str, score: int, is_fenced: bool
) -> None:
    said = {"comment": comment, **{f"score_{label}": score for label in LABELS}, "best": best, "final_answer": final}
    assert list(said) == review_schema(list(LABELS), "best", "final_answer")["required"]
    text = msgspec.json.encode(said).decode()
    review = read_review(f"So:\n\n```json\n{text}\n```" if is_fenced else text, LABELS)
    assert (review.comment, review.final_answer, review.best) == (comment, final, LABELS[best][0])
    assert review.scores == dict.fromkeys(range(4), float(score))


_ANYTHING = st.lists(
    st.one_of(
        st.text(max_size=20),
        st.sampled_from(
            (
                "\n## Final answer\n",
                "\n**評価:** ",
                "```",
                "<think>",
                "</think>",
                '{"comment": "',
                '"}',
                "\n---\n",
                "\n====\n",
            )
        ),
    ),
    max_size=12,
).map("".join)


@given(_ANYTHING)
def test_no_reply_fails_and_what_has_no_form_is_the_answer_as_a_whole(reply: str) -> None:
    review = read_review(reply, LABELS)
    if not review.is_parsed:
        assert not review.comment
        kept = iter(reply.replace("\r\n", "\n"))
        assert all(character in kept for character in review.final_answer)  # in its order, at most without thinking


def test_a_longer_label_is_not_read_as_the_shorter_one_it_begins_with() -> None:
    labels = {"qwen3": (0,), "qwen3:8b": (1,)}
    review = read_review("## Evaluation\nqwen3:8b: 9/10\nqwen3: 4/10\nBest: qwen3:8b\n## Final answer\nx", labels)
    assert review.scores == {0: 4.0, 1: 9.0}
    assert review.best == 1
