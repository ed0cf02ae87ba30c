"""The final answer of a reply is given while the reply is written, and all of it once the run has ended."""

import json
import random

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from localllm.ensemble.answer_stream import AnswerStream
from localllm.ensemble.review_reply import read_review
from tests.support.each import each

LABELS = {"A": (0,), "B": (1,)}

COMMENT = "- A (8/10): right.\n- B (2/10): wrong.\nBase: A"
PROSE = "The capital of France is Paris, which has been so since the tenth century.\n\nIts river is the Seine."
CODE = """Use this:

```python
# Final answer
print("## Evaluation")
```

It prints a line.

---

## Notes

- one
- two"""
SHORT = "42"
JAPANESE = "フランスの首都はパリです。\n\n| 都市 | 国 |\n|---|---|\n| パリ | フランス |\n\n以上です 🙂。"
ANSWERS = {"prose": PROSE, "code": CODE, "short": SHORT, "japanese": JAPANESE}


def streamed(reply: str, size: int) -> tuple[str, str, AnswerStream]:
    """What a stream gives of a reply in pieces of `size` characters: comment, answer, itself."""
    stream = AnswerStream()
    pieces = [piece for at in range(0, len(reply), size) for piece in stream.feed(reply[at : at + size])]
    parts = {part: "".join(piece.text for piece in pieces if piece.part == part) for part in ("comment", "answer")}
    return parts["comment"], parts["answer"], stream


def forms(answer: str) -> dict[str, str]:
    """The reply in every form that is asked for."""
    return {
        "english": f"## Evaluation\n{COMMENT}\n\n## Final answer\n{answer}\n",
        "japanese": f"## 評価\n{COMMENT}\n\n## 最終回答\n\n{answer}",
        "bold": f"**Evaluation**\n\n{COMMENT}\n\n**Final answer:**\n\n{answer}",
        "numbered": f"Here is my review.\n\n### 1. 評価\n{COMMENT}\n\n### 2. 最終回答\n---\n{answer}\n\n---\n",
        "json": json.dumps({"comment": COMMENT, "score_A": 8, "best": "A", "final_answer": answer}),
        "plain json": json.dumps(
            {"comment": COMMENT, "best": "A", "final_answer": answer}, ensure_ascii=False, indent=2
        ),
    }


@each("name", ANSWERS)
def test_the_answer_is_given_as_it_is_read_from_the_whole(name: str) -> None:
    for form, reply in forms(ANSWERS[name]).items():
        final = read_review(reply, LABELS).final_answer
        assert final == ANSWERS[name], form
        for size in (1, 3, 17, len(reply)):
            comment, answer, stream = streamed(reply, size)
            assert answer + stream.rest(final) == final, (form, size)
            assert comment.strip().endswith(COMMENT), (form, size)


@each("form", forms(PROSE))
def test_most_of_an_answer_is_given_before_the_reply_ends(form: str) -> None:
    answer = "\n\n".join(
        f"Paragraph {number} of an answer that is long enough to be worth showing." for number in range(9)
    )
    reply = forms(answer)[form]
    _, given, _ = streamed(reply, 5)
    assert len(given) > len(answer) * 0.8


def test_a_long_line_is_given_before_it_ends() -> None:
    stream = AnswerStream()
    stream.feed("## Evaluation\nfine\n## Final answer\n")
    given = "".join(piece.text for word in ("word " * 50).split(" ") for piece in stream.feed(f"{word} "))
    assert len(given) > 200


@each(
    "reply",
    [
        "No heading at all, only an answer.\n\nAnd more of it.",
        "<think>\n## Final answer\nno\n</think>\n## Evaluation\nx\n## Final answer\nyes",
        "## Evaluation\nx\n## Final answer\nfirst\n## Final answer\nsecond",
        "## Final answer\nyes\n\n## Evaluation\nA is right.",
        "## Evaluation\nx\n## Final answer\nyes\n\n---\nThis final answer combines answers A and B.",
        "```markdown\n## Evaluation\nx\n## Final answer\nyes\n```",
        "<evaluation>x</evaluation>\n<final_answer>\nyes\n</final_answer>",
        "## Evaluation\nx\n## Final answer\n(the final answer)\nyes",
        '{"comment": "x", "final_answer": "## Final answer\\nyes"}',
        '{"comment": "say \\"final_answer\\": \\"no\\"", "final_answer": "yes \\ud83d\\ude42\\\\ \\u00e9"}',
        '{"comment": "x", "final_answer": "cut o',
        "## Evaluation\nx",
        "",
    ],
)
def test_whatever_the_form_the_final_answer_is_there_at_the_end(reply: str) -> None:
    final = read_review(reply, LABELS).final_answer
    for size in (1, 4, 1_000):
        _, answer, stream = streamed(reply, size)
        whole = answer + stream.rest(final)
        assert whole == final or whole.endswith(f"\n\n{final}"), whole


def test_nothing_doubtful_is_given() -> None:
    """Replies after which the answer would have to be taken back if its beginning had been given."""
    for reply in (
        "No heading at all, only an answer that is long enough to be given.\n\nAnd more of it.",
        "<think>\n## Final answer\nno\n</think>\n## Evaluation\nx\n## Final answer\nyes",
        "## Evaluation\nx\n## Final answer\nyes\n\n---\nThis final answer combines answers A and B.",
        "```markdown\n## Evaluation\nx\n## Final answer\nyes\n```",
    ):
        final = read_review(reply, LABELS).final_answer
        _, answer, stream = streamed(reply, 1)
        assert answer + stream.rest(final) == final


@example("--*\n1\n", 1)
@given(st.text(alphabet="ab #*-\n`|。1", max_size=200), st.integers(1, 9))
def test_pieces_of_any_size_give_the_same(answer: str, size: int) -> None:
    reply = f"## Evaluation\nfine\n\n## Final answer\n{answer}"
    final = read_review(reply, LABELS).final_answer
    _, given_at_once, _ = streamed(reply, len(reply))
    _, given, stream = streamed(reply, size)
    assert given.startswith(given_at_once) or given_at_once.startswith(given)
    assert given + stream.rest(final) == final


@pytest.mark.parametrize("seed", range(3))
def test_json_in_pieces_of_changing_size(seed: int) -> None:
    chance = random.Random(seed)
    answer = "".join(chance.choice('ab "\\\n\t🙂é') for _ in range(300)).strip()
    reply = json.dumps({"comment": "c", "best": "A", "final_answer": answer})
    stream, given, at = AnswerStream(), "", 0
    while at < len(reply):
        size = chance.randint(1, 12)
        given += "".join(piece.text for piece in stream.feed(reply[at : at + size]) if piece.part == "answer")
        at += size
    final = read_review(reply, LABELS).final_answer
    assert given + stream.rest(final) == final == answer


def test_a_second_reply_is_read_anew() -> None:
    """A ranking comes before the review; and where the first reply has given an answer already, the end decides."""
    stream = AnswerStream()
    stream.feed("## Evaluation\nB > A")
    stream.begin()
    stream.feed("## Evaluation\nfine\n## Final answer\nyes\n")
    assert stream.rest("yes") == ""
    stream.begin()
    assert stream.feed("## Evaluation\nfine\n## Final answer\nno\n") == []
    assert stream.rest("no") == "\n\nno"
