"""What a review makes of the answers, and what is left where the reviewer does not do its part."""

import re
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from localllm.llm.messages import UserMessage
from tests.ensemble_servers import Play
from tests.ensemble_servers.asking import asking

pytestmark = pytest.mark.anyio

PERU = "The capital of Peru is Lima, on the coast of the Pacific. It was founded by the Spanish in 1535."
CHILE = "Santiago is where the government of Chile sits. Some say Valparaíso, because of the parliament there."
CUSCO = "Cusco was the capital of the Incas, and lies high up in the mountains; it is a city of today as well."


def _label_of(prompt: str, text: str) -> str:
    """The label under which an answer stands in a prompt."""
    found = re.search(rf"--- Answer (\w+)[^\n]*\n{re.escape(text)}", prompt)
    assert found, f"{text!r} is not in the prompt"
    return found[1]


def _reviewing(text: str, *, best: str = PERU) -> Callable[[dict[str, Any]], str]:
    """A reviewer that writes `text`, in which X stands for the label of the answer `best`."""

    def answer(body: dict[str, Any]) -> str:
        return text.replace("X", _label_of(body["messages"][-1]["content"], best))

    return answer


GOOD = "## Evaluation\n- X (9/10): right.\nBase: X\n\n## Final answer\nLima."


async def test_labels_scores_and_the_base_are_told_by_name() -> None:
    async with asking(*map(Play, (CHILE, PERU)), reviewer=Play(_reviewing(GOOD))) as asked:
        result = await asked.result()
    assert (result.final_answer, result.review_comment) == (
        "Lima.",
        "- Worker 2 (9/10): right.\nBase: Worker 2",
    )
    assert result.runtime["best"] == "Worker 2"
    assert result.runtime["scores"] == {"Worker 2": 9.0}
    assert result.runtime["reviewer"] == "Reviewer"
    assert sorted(result.runtime["labels"].values()) == [["Worker 1"], ["Worker 2"]]


async def test_the_reviewer_sees_no_names_unless_it_is_to() -> None:
    async with asking(*map(Play, (CHILE, PERU)), reviewer=Play(GOOD)) as asked:
        await asked.result()
        asked.change(anonymous=False)
        result = await asked.result()
        hidden, named = (chat["messages"][-1]["content"] for chat in asked.reviewer.chats)
    assert "Worker 1" not in hidden
    assert named.index("Agent: Worker 1") < named.index(CHILE) < named.index("Agent: Worker 2") < named.index(PERU)
    assert result.runtime["labels"] == {"Worker 1": ["Worker 1"], "Worker 2": ["Worker 2"]}


async def test_each_run_has_an_order_of_its_own() -> None:
    async with asking(*map(Play, (CHILE, PERU, CUSCO)), reviewer=Play(GOOD)) as asked:
        for _ in range(12):
            await asked.result()
        prompts = [chat["messages"][-1]["content"] for chat in asked.reviewer.chats]
    assert len({tuple(_label_of(prompt, text) for text in (CHILE, PERU, CUSCO)) for prompt in prompts}) > 1


async def test_answers_in_the_same_words_stand_once_and_agreement_is_told() -> None:
    async with asking(*map(Play, ("42", "The answer is 42.", "41", "42")), reviewer=Play(GOOD)) as asked:
        result = await asked.result()
        prompt = asked.reviewer.chats[0]["messages"][-1]["content"]
    assert result.runtime["duplicates"] == [["Worker 1", "Worker 4"]]
    assert result.runtime["consensus"] == {"answer": "42", "workers": ["Worker 1", "Worker 2", "Worker 4"], "of": 4}
    assert "from 2 workers" in prompt
    assert "3 of 4 workers agree" in prompt


async def test_a_failed_worker_is_an_error_in_the_prompt() -> None:
    async with asking(Play(PERU), Play(fails=-1), reviewer=Play(GOOD)) as asked:
        await asked.result()
        prompt = asked.reviewer.chats[0]["messages"][-1]["content"]
    assert prompt.count("returned an error") == 1


@pytest.mark.parametrize(
    ("worker", "stream", "is_json"),
    [(PERU, False, True), (PERU, True, False), ("```python\nprint(1)\n```", False, False)],
)
async def test_json_is_asked_for_where_nobody_watches_and_there_is_no_code(
    worker: str, stream: bool, is_json: bool
) -> None:
    reply = {"comment": "fine", "score_A": 8, "best": "A", "final_answer": "Lima."} if is_json else None
    said = msgspec.json.encode(reply).decode() if reply else GOOD
    async with asking(Play(worker), reviewer=Play(said)) as asked:
        result = await asked.result(stream=stream)
        sent = asked.reviewer.chats[0]
    assert ("format" in sent) == is_json
    assert ("score_A" in sent["messages"][-1]["content"]) == is_json
    assert result.final_answer == "Lima."
    if is_json:
        assert result.runtime["scores"] == {"Worker 1": 8.0}


async def test_the_reviewers_own_system_message_and_the_clients_reach_it() -> None:
    async with asking(Play(PERU), reviewer=Play(GOOD), system="You are strict.") as asked:
        await asked.result(system="Answer in rhymes.", history=(UserMessage("Hello"),))
        first, last = asked.reviewer.chats[0]["messages"]
    assert (first["role"], first["content"]) == ("system", "You are strict.")
    assert "Answer in rhymes." in last["content"]
    assert "Hello" in last["content"]


async def test_a_question_in_japanese_is_reviewed_in_japanese() -> None:
    async with asking(Play(PERU), reviewer=Play("## 評価\nよい。\n## 最終回答\nリマです。")) as asked:
        result = await asked.result("ペルーの首都は？")
        assert "# ユーザーの質問" in asked.reviewer.chats[0]["messages"][-1]["content"]
        asked.change(review_language="en")
        await asked.result("ペルーの首都は？")
        assert "# The user's question" in asked.reviewer.chats[1]["messages"][-1]["content"]
    assert result.final_answer == "リマです。"


@pytest.mark.parametrize(
    ("question", "second", "final"),
    [
        ("オーストラリアの首都はどこ？", "キャンベラです。", "キャンベラです。"),
        ("オーストラリアの首都はどこ？", "还是堪培拉，澳大利亚的首都。", "澳大利亚的首都是堪培拉。"),
        ("「オーストラリアの首都」を中国語にして。", None, "澳大利亚的首都是堪培拉。"),
        ("What is the capital of Australia?", None, "澳大利亚的首都是堪培拉。"),
    ],
)
async def test_a_question_in_japanese_is_answered_in_japanese(question: str, second: str | None, final: str) -> None:
    said = ["澳大利亚的首都是堪培拉。", *([second] if second else [])]
    async with asking(Play("キャンベラ"), reviewer=Play(said)) as asked:
        result = await asked.result(question)
        assert len(asked.reviewer.chats) == 1 + bool(second)
    assert (result.final_answer, result.reviewer_error) == (final, None)


async def test_a_review_without_form_is_the_answer_and_the_comment_says_so() -> None:
    async with asking(Play(PERU), reviewer=Play("Lima, of course.")) as asked:
        result = await asked.result()
    assert result.final_answer == "Lima, of course."
    assert result.review_comment
    assert result.reviewer_error is None


async def test_a_final_answer_that_was_left_out_is_asked_for_once() -> None:
    said = ["## Evaluation\nAll are right.\n\n## Final answer\n", "## Final answer\nLima."]
    async with asking(Play(PERU), reviewer=Play(said)) as asked:
        result = await asked.result()
        first, second = asked.reviewer.chats
    assert (result.final_answer, result.review_comment) == ("Lima.", "All are right.")
    assert [message["role"] for message in second["messages"]] == ["user", "assistant", "user"]
    assert second["messages"][0] == first["messages"][0]
    assert result.reviewer_error is None


async def test_a_reviewer_that_decides_nothing_is_asked_once_more_before_an_answer_stands_in() -> None:
    for second, final in (("Lima.", "Lima."), ("I cannot decide.", PERU)):
        async with asking(*map(Play, (CUSCO, PERU, PERU)), reviewer=Play(["I cannot decide.", second])) as asked:
            result = await asked.result()
            assert len(asked.reviewer.chats) == 2
        assert result.final_answer == final


async def test_no_label_of_the_review_is_left_in_the_final_answer() -> None:
    labelled = "## Evaluation\nAll are right.\n\n## Final answer\nLima (see Answer X). Answer X is right."
    for again, final in (
        ("## Final answer\nLima it is.", "Lima it is."),
        ("## Final answer\nAnswer X is right.", "Lima. Answer X is right."),
    ):
        second = _reviewing(again)

        def answer(body: dict[str, Any], second: Callable[[dict[str, Any]], str] = second) -> str:
            if len(body["messages"]) == 1:
                return _reviewing(labelled)(body)
            return second({"messages": body["messages"][:1]})

        async with asking(*map(Play, (PERU, CUSCO, CHILE)), reviewer=Play(answer)) as asked:
            result = await asked.result()
            assert len(asked.reviewer.chats) == 2
            label = _label_of(asked.reviewer.chats[0]["messages"][0]["content"], PERU)
        assert result.final_answer == final.replace("X", label)
        assert result.review_comment == "All are right."


async def test_the_answer_it_liked_best_stands_in_for_one_that_is_not_written() -> None:
    said = _reviewing("## Evaluation\n- X (9/10): right.\nBase: X\n\n## Final answer\n", best=CHILE)

    def answer(body: dict[str, Any]) -> str:
        return said(body) if len(body["messages"]) == 1 else "## Evaluation\nNo more to say.\n## Final answer\n"

    async with asking(*map(Play, (PERU, PERU + "!!", CHILE)), reviewer=Play(answer)) as asked:
        result = await asked.result()
    assert result.final_answer == CHILE
    assert result.runtime["fallback"] == "Worker 3"
    assert result.reviewer_error is not None
    assert result.reviewer_error.key == "ensemble_no_final_answer"
    assert "Worker 3 (9/10): right." in result.review_comment


async def test_the_answer_in_the_middle_stands_in_for_a_reviewer_that_fails() -> None:
    near = PERU.replace("founded", "built")
    async with asking(*map(Play, (CUSCO, PERU, near)), reviewer=Play(fails=-1)) as asked:
        result = await asked.result()
    assert result.final_answer == PERU
    assert result.runtime["fallback"] == "Worker 2"
    assert result.reviewer_error is not None


async def test_without_any_answer_there_is_no_review() -> None:
    async with asking(Play(fails=-1), reviewer=Play(GOOD)) as asked:
        result = await asked.result()
    assert (result.final_answer, result.reviewer_error) == ("", None)
    assert not asked.reviewer.chats
