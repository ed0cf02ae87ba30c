"""Each strategy comes to another result than a plain review of the same answers, and says how."""

import re
from pathlib import Path
from typing import Any

import pytest

from localllm.ensemble.answer_checks import Checked, code_in
from localllm.ensemble.config import AgentConfig
from localllm.ensemble.records import EnsembleResult, StrategyName
from tests.ensemble_servers import Gate, Play
from tests.ensemble_servers.asking import Asked, asking
from tests.support.ensemble_server import checks_in

pytestmark = pytest.mark.anyio

MERGED = "What the reviewer made of it all."
MERGING = f"## Evaluation\nok\n\n## Final answer\n{MERGED}"

GOOD = "Sorting a list of numbers is done with sorted(), which leaves the list as it is and returns another one."
WEAK = "Lists? You could write a loop that swaps neighbours until nothing changes any more, which is slow, but works."
WRONG = "Call list.order(), and then print what it gives back; there is no other way to do so in this language, ever."
OTHER = "There is also heapq, of which nlargest and nsmallest are of use where only a few of many numbers are wanted."


def _labels(prompt: str) -> dict[str, str]:
    """The answers in a prompt by their labels."""
    return dict(re.findall(r"--- Answer (\w+)[^\n]*\n(.*?)\n--- end", prompt, re.DOTALL))


def _reviewer(*, best: str = "", ranking: tuple[str, ...] = (), merged: str = MERGING) -> Play:
    """One that chooses and ranks these answers, and merges them to the same text."""

    def answer(body: dict[str, Any]) -> str:
        prompt = body["messages"][-1]["content"]
        label_of = {text: label for label, text in _labels(prompt).items()}
        if "## Choice" in prompt:
            return (
                f"## Evaluation\nfine\n\n## Choice\nBest: {label_of[best]}" if best in label_of else "None is any good."
            )
        if "## Ranking" in prompt:
            return f"## Evaluation\nseen\n\n## Ranking\n{' > '.join(label_of[text] for text in ranking)}"
        return merged

    return Play(answer)


async def _plain_review(asked: Asked, strategy: StrategyName) -> EnsembleResult:
    """The strategy's result; a plain review of the same answers is the merged text."""
    plain = await asked.result(stream=True, strategy="review")
    assert plain.final_answer == MERGED
    result = await asked.result(stream=True, strategy=strategy)
    assert result.runtime["strategy"] == strategy
    return result


def _agents(*weights: float) -> list[AgentConfig]:
    return [
        AgentConfig(name=f"w{number}", api_url="http://127.0.0.1:1", model="m", weight=weight)
        for number, weight in enumerate(weights, 1)
    ]


class TestVote:
    async def test_the_value_most_workers_give_wins_and_the_reviewer_is_not_asked(self) -> None:
        plays = map(Play, ("The answer is 42.", "41", "6 × 7 = 42.\n\n**42**", "42.0"))
        async with asking(*plays, reviewer=_reviewer()) as asked:
            result = await _plain_review(asked, "vote")
            assert len(asked.reviewer.chats) == 1, "the plain review alone"
        assert result.final_answer == "The answer is 42."
        assert result.runtime["vote"]["decided"] == "majority"
        assert [(one["votes"], one["workers"]) for one in result.runtime["vote"]["tally"]] == [
            (3.0, ["Worker 1", "Worker 3", "Worker 4"]),
            (1.0, ["Worker 2"]),
        ]
        assert "41" in result.review_comment
        assert "reviewer" not in result.runtime

    async def test_weight_multiplies_votes(self) -> None:
        async with asking(*map(Play, ("42", "42", "41")), reviewer=_reviewer()) as asked:
            asked.describe(*_agents(1, 1, 2.5))
            result = await _plain_review(asked, "vote")
        assert result.final_answer == "41"
        assert result.runtime["best"] == "w3"

    async def test_the_reviewer_decides_a_tie_between_those_that_are_tied(self) -> None:
        async with asking(*map(Play, ("42", "41", "40", "41", "42")), reviewer=_reviewer()) as asked:
            result = await _plain_review(asked, "vote")
            listed = _labels(asked.reviewer.chats[-1]["messages"][-1]["content"])
        assert result.final_answer == MERGED
        assert sorted(listed.values()) == ["41", "42"]
        assert result.runtime["vote"]["decided"] == "tie"
        assert "40" in result.review_comment, "the tally is told all the same"

    async def test_prose_is_reviewed_and_it_is_said(self) -> None:
        async with asking(*map(Play, (GOOD, WEAK)), reviewer=_reviewer()) as asked:
            result = await _plain_review(asked, "vote")
        assert result.final_answer == MERGED
        assert result.runtime["vote"]["decided"] == "review"
        assert result.runtime["vote"]["reason"]

    async def test_failed_workers_have_no_vote(self) -> None:
        async with asking(Play(fails=-1), Play("42"), Play(fails=-1), reviewer=_reviewer()) as asked:
            assert (await asked.result(strategy="vote")).final_answer == "42"
        async with asking(Play(fails=-1), reviewer=_reviewer()) as asked:
            result = await asked.result(strategy="vote")
        assert (result.final_answer, result.all_failed) == ("", True)


class TestSelf:
    async def test_the_model_with_the_greatest_weight_is_sampled_and_votes(self) -> None:
        said = ["7", "8", "The answer is 8.", "6"]
        async with asking(Play("1"), Play(list(said)), Play("2"), reviewer=_reviewer(), samples=4) as asked:
            asked.describe(*_agents(1, 2, 1))
            result = await asked.result(strategy="self")
            assert [server.answered for server in asked.workers] == [0, 4, 0]
            heats = {chat["options"]["temperature"] for chat in asked.workers[1].chats}
        assert sorted(answer.text for answer in result.answers) == sorted(said)
        assert [answer.agent for answer in result.answers] == ["w2 #1", "w2 #2", "w2 #3", "w2 #4"]
        assert result.final_answer in ("8", "The answer is 8.")
        assert heats == {0.7}
        assert result.runtime["sampled"] == {"agent": "w2", "samples": 4, "temperature": 0.7}

    async def test_its_own_temperature_counts_and_prose_is_reviewed(self) -> None:
        async with asking(Play([GOOD, WEAK, OTHER]), reviewer=_reviewer(), temperature=1.1) as asked:
            result = await asked.result(strategy="self", stream=True)
            assert {chat["options"]["temperature"] for chat in asked.workers[0].chats} == {1.1}
        assert result.final_answer == MERGED
        assert len(result.answers) == 3

    async def test_all_samples_are_asked_for_before_one_has_answered(self) -> None:
        gate = Gate()
        async with asking(Play("8", gate=gate), reviewer=_reviewer(), samples=5) as asked:
            run = asked.begin(strategy="self")
            await gate.holds(5)
            gate.open()
            assert (await run).final_answer == "8"


class TestBest:
    async def test_an_answer_is_handed_on_word_for_word(self) -> None:
        async with asking(*map(Play, (WRONG, GOOD, WEAK)), reviewer=_reviewer(best=GOOD)) as asked:
            result = await _plain_review(asked, "best")
        assert result.final_answer == GOOD
        assert result.runtime["best"] == "Worker 2"
        assert result.review_comment == "fine"

    async def test_a_choice_that_is_not_made_is_an_error_and_the_most_given_answer_stands_in(self) -> None:
        async with asking(*map(Play, (WRONG, GOOD, GOOD.upper(), WEAK)), reviewer=_reviewer()) as asked:
            result = await asked.result(strategy="best", stream=True)
        assert result.reviewer_error is not None
        assert result.reviewer_error.key == "ensemble_no_choice"
        assert (result.final_answer, result.runtime["fallback"]) == (GOOD, "Worker 2")
        assert "None is any good." in result.review_comment

    async def test_a_reviewer_that_fails_leaves_the_heaviest_answer(self) -> None:
        async with asking(*map(Play, (WRONG, GOOD, WEAK)), reviewer=Play(fails=-1)) as asked:
            asked.describe(*_agents(1, 1, 3))
            result = await asked.result(strategy="best")
        assert result.final_answer == WEAK
        assert result.reviewer_error is not None

    async def test_one_answer_needs_no_choice(self) -> None:
        async with asking(Play(fails=-1), Play(GOOD), reviewer=_reviewer()) as asked:
            result = await asked.result(strategy="best")
            assert not asked.reviewer.chats
        assert result.final_answer == GOOD


BROKEN = "Here:\n\n```python\nprint('hello'\n```\nThat prints it."
RUNS = "Here:\n\n```python\nprint('hello')\n```\nThat prints it."
RUNS_TOO = "```python\nimport sys\nsys.stdout.write('hello\\n')\n```"
COMPILES = "python3 -c \"import ast, os; ast.parse(open(os.environ['CODE']).read())\""


class TestCheck:
    async def test_of_code_the_answer_that_holds_is_handed_on(self) -> None:
        async with asking(*map(Play, (BROKEN, RUNS)), reviewer=_reviewer(best=BROKEN), check=COMPILES) as asked:
            result = await _plain_review(asked, "best")
            assert len(asked.reviewer.chats) == 1, "the plain review alone"
        assert result.final_answer == RUNS
        assert result.runtime["check"]["Worker 2"] == {"holds": True}
        assert result.runtime["check"]["Worker 1"] == {"holds": False}
        assert "SyntaxError" in result.runtime["check_output"]["Worker 1"]
        assert "Worker 2" in result.review_comment

    async def test_of_several_that_hold_the_reviewer_chooses(self) -> None:
        plays = map(Play, (BROKEN, RUNS, RUNS_TOO))
        async with asking(*plays, reviewer=_reviewer(best=RUNS_TOO), check=COMPILES) as asked:
            result = await asked.result(strategy="best", stream=True)
            listed = _labels(asked.reviewer.chats[0]["messages"][-1]["content"])
        assert sorted(listed.values()) == sorted((RUNS, RUNS_TOO))
        assert result.final_answer == RUNS_TOO

    async def test_where_none_holds_the_reviewer_chooses_among_all(self) -> None:
        async with asking(*map(Play, (BROKEN, RUNS)), reviewer=_reviewer(best=BROKEN), check="false") as asked:
            result = await asked.result(strategy="best", stream=True)
        assert result.final_answer == BROKEN
        assert "None of the answers" in result.review_comment

    async def test_the_answer_is_data_on_standard_input_and_in_files(self, tmp_path: Path) -> None:
        checks = checks_in(tmp_path)
        nasty = "$(touch pwned) `touch pwned`\n'; touch pwned; '\n```\n\"$(touch pwned)\"\n```"
        command = 'cmp - "$ANSWER" && grep -q touch "$CODE" && ! grep -q "\'; touch" "$CODE" && cat "$ANSWER"'
        try:
            (checked,) = await checks.check(command, [nasty])
        finally:
            checks.close()
        assert checked.holds, checked.remark
        assert checked.remark == nasty
        assert not list(tmp_path.iterdir())

    async def test_the_folder_can_be_read_but_not_changed_and_the_time_is_bounded(self, tmp_path: Path) -> None:
        (tmp_path / "expected.txt").write_text("42\n")
        tried: list[Checked] = []
        for command, seconds in (("cmp - expected.txt", 30), ("echo 41 > expected.txt", 30), ("sleep 60", 0.3)):
            checks = checks_in(tmp_path, seconds=seconds)
            try:
                tried += await checks.check(command, ["42\n"])
            finally:
                checks.close()
        held, wrote, slow = tried
        assert held.holds, held.remark
        assert (wrote.holds, slow.holds) == (False, False)
        assert (tmp_path / "expected.txt").read_text() == "42\n"

    async def test_what_rules_close_is_closed_to_a_check_and_the_rest_is_open(self, tmp_path: Path) -> None:
        folder = tmp_path / "app"
        (folder / "secrets").mkdir(parents=True)
        for name in (".env", "secrets/key.py", "open.py"):
            (folder / name).write_text("x = 1\n")
        checks = checks_in(folder, deny=("read_file(.env)", "read_file(secrets)"))
        try:
            for command, holds in (("cat .env", False), ("cat secrets/*", False), ("cat open.py", True)):
                (checked,) = await checks.check(command, ["x"])
                assert checked.holds is holds, command
                assert "x = 1" not in checked.remark or holds
        finally:
            checks.close()

    async def test_without_a_sandbox_nothing_is_run_and_the_reviewer_chooses(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("localllm.sandbox.runner.SandboxRunner.can_inspect", False)
        async with asking(*map(Play, (BROKEN, RUNS)), reviewer=_reviewer(best=BROKEN), check=COMPILES) as asked:
            result = await asked.result(strategy="best", stream=True)
        assert result.final_answer == BROKEN
        assert "error" in result.runtime["check"]

    def test_the_code_of_an_answer(self) -> None:
        assert code_in(RUNS) == "print('hello')"
        assert code_in("```\na\n```\nand\n~~~py\nb\n~~~") == "a\nb"
        assert code_in("no code") == "no code"


class TestRank:
    async def test_only_the_better_answers_are_merged(self) -> None:
        ranking = (GOOD, OTHER, WEAK, WRONG)
        async with asking(*map(Play, (WRONG, WEAK, GOOD, OTHER)), reviewer=_reviewer(ranking=ranking)) as asked:
            result = await _plain_review(asked, "rank")
            first, second = (_labels(chat["messages"][-1]["content"]) for chat in asked.reviewer.chats[1:])
        assert sorted(first.values()) == sorted(ranking)
        assert sorted(second.values()) == sorted((GOOD, OTHER))
        assert result.runtime["ranking"] == ["Worker 3", "Worker 4", "Worker 2", "Worker 1"]
        assert result.runtime["best"] == "Worker 3"
        assert "Worker 3 > Worker 4 > Worker 2 > Worker 1" in result.review_comment
        assert "seen" in result.review_comment
        assert result.final_answer == MERGED

    async def test_three_answers_of_many_are_merged(self) -> None:
        texts = [f"{GOOD} In short, take number {word}." for word in ("one", "two", "six", "ten", "few", "all", "any")]
        async with asking(*map(Play, texts), reviewer=_reviewer(ranking=tuple(reversed(texts)))) as asked:
            await asked.result(strategy="rank", stream=True)
            second = _labels(asked.reviewer.chats[1]["messages"][-1]["content"])
        assert sorted(second.values()) == sorted(texts[-3:])

    async def test_without_a_ranking_all_are_merged_and_it_is_said(self) -> None:
        reviewer = Play(["I cannot say which.", MERGING])
        async with asking(*map(Play, (WRONG, WEAK, GOOD)), reviewer=reviewer) as asked:
            result = await asked.result(strategy="rank", stream=True)
            assert len(_labels(asked.reviewer.chats[1]["messages"][-1]["content"])) == 3
        assert result.final_answer == MERGED
        assert "ranking" not in result.runtime
        assert "no ranking" in result.review_comment

    async def test_two_answers_are_merged_at_once(self) -> None:
        async with asking(*map(Play, (WEAK, GOOD)), reviewer=_reviewer()) as asked:
            result = await asked.result(strategy="rank", stream=True)
            assert len(asked.reviewer.chats) == 1
        assert result.final_answer == MERGED

    async def test_a_reviewer_that_fails_leaves_an_answer(self) -> None:
        async with asking(*map(Play, (WRONG, WEAK, GOOD)), reviewer=Play(fails=-1)) as asked:
            result = await asked.result(strategy="rank")
        assert result.reviewer_error is not None
        assert result.final_answer in (WRONG, WEAK, GOOD)
