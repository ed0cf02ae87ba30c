"""What is left of a plan at the end of a run is said."""

from datetime import date
from pathlib import Path

import pytest

from localllm.agent.checks.plan_checks import names_rest, open_items, open_steps
from localllm.agent.plan_mode import PlanMode
from localllm.agent.react_agent import ReActAgent
from localllm.agent.run_stats import AgentResult
from localllm.llm.client import LLMClient
from localllm.llm.messages import UserMessage
from localllm.memory.session_plan import SessionPlan
from localllm.memory.todos import add
from localllm.tui.headless import HeadlessConfirmer
from tests.support.agents import call, make_agent, make_tools, scripted

pytestmark = pytest.mark.anyio

EDIT = call("edit_file", file_path="a.md", old_string="one", new_string="two")
ADD = call("todo", action="add", text="- Add subtract\n- Add divide")
ANSWER = "I changed a.md as planned."


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "a.md").write_text("one\n")
    (folder / "b.md").write_text("one\n")
    return folder


def remarks(agent: ReActAgent) -> list[str]:
    return [said.text for said in agent.history.messages if isinstance(said, UserMessage)][1:]


class TestOwnList:
    async def ended(self, project: Path, *turns: dict[str, object] | str) -> tuple[AgentResult, list[str]]:
        tools = make_tools(project, confirmer=HeadlessConfirmer(approve_all=True))
        agent = make_agent(scripted(*turns), project, tools=tools)
        return await agent.execute_query("Add subtract and divide to a.md."), remarks(agent)

    async def test_open_items_are_told_once_and_stay_unverified(self, project: Path) -> None:
        started = call("todo", action="start", text="Add divide")
        result, told = await self.ended(project, ADD, started, EDIT, ANSWER, ANSWER)
        assert told == [
            "[Open in your plan: Add divide (in progress); Add subtract. Go on with it; finish what is done, or say "
            "what is left.]"
        ]
        assert (result.status, [str(one) for one in result.unverified]) == (
            "done",
            ["open in the plan: Add divide (in progress); Add subtract"],
        )

    async def test_finished_and_dropped_items_are_not(self, project: Path) -> None:
        done = [call("todo", action="finish", text="Add subtract"), call("todo", action="drop", text="Add divide")]
        result, told = await self.ended(project, ADD, EDIT, *done, ANSWER)
        assert (result.answer, told, list(result.unverified)) == (ANSWER, [], [])

    async def test_an_answer_that_says_what_is_left_is_let_be(self, project: Path) -> None:
        answer = f"{ANSWER} Divide remains to be written."
        result, told = await self.ended(project, ADD, EDIT, answer)
        assert (told, len(result.unverified)) == ([], 1)

    @pytest.mark.parametrize(
        "answer",
        [
            "Both parts are done: a.md has a section on subtract and one on how to divide.",
            "- **Subtract** – added to a.md\n- **Divide** – added to a.md",
        ],
    )
    async def test_items_that_the_answer_reports_on_are_not_asked_for(self, project: Path, answer: str) -> None:
        result, told = await self.ended(project, ADD, EDIT, answer)
        assert (told, list(result.unverified)) == ([], [])

    async def test_one_that_it_says_nothing_of_is(self, project: Path) -> None:
        answer = "I added subtract to a.md."
        _result, told = await self.ended(project, ADD, EDIT, answer, answer)
        assert told[0].startswith("[Open in your plan: Add divide. Go on")

    async def test_a_run_that_only_plans_is_let_be(self, project: Path) -> None:
        tools = make_tools(project, confirmer=HeadlessConfirmer(approve_all=True))
        agent = make_agent(scripted(ADD, "Two items."), project, tools=tools)
        result = await agent.execute_query("What is there to do in a.md?")
        assert (result.answer, result.unverified, remarks(agent)) == ("Two items.", (), [])

    @pytest.mark.parametrize(
        ("request_", "item"),
        [
            ("Change one to two in a.md, and put “write the docs” on the TODO list.", "Write the docs"),
            ("Add 'write docs' to my todos", "write docs"),
            ("TODO に「ドキュメントを書く」を入れて", "ドキュメントを書く"),
        ],
    )
    async def test_what_was_to_be_noted_is_not_to_be_done(self, project: Path, request_: str, item: str) -> None:
        tools = make_tools(project, confirmer=HeadlessConfirmer(approve_all=True))
        add = call("todo", action="add", text=item)
        agent = make_agent(scripted(EDIT, add, ANSWER), project, tools=tools)
        result = await agent.execute_query(request_)
        assert (result.answer, result.unverified, remarks(agent)) == (ANSWER, (), [])

    async def test_an_item_that_the_request_did_not_name_is_asked_for(self, project: Path) -> None:
        tools = make_tools(project, confirmer=HeadlessConfirmer(approve_all=True))
        agent = make_agent(scripted(EDIT, ADD, ANSWER, ANSWER), project, tools=tools)
        result = await agent.execute_query("Change a.md, and put “add divide” on the TODO list.")
        assert [str(one) for one in result.unverified] == ["open in the plan: Add subtract"]

    async def test_items_of_an_earlier_run_are_not_asked_for(self, project: Path) -> None:
        tools = make_tools(project, confirmer=HeadlessConfirmer(approve_all=True))
        agent = make_agent(scripted(ADD, "Planned; both are left to do.", EDIT, ANSWER), project, tools=tools)
        await agent.execute_query("Make a list of what is to be done in a.md.")
        assert (await agent.execute_query("Replace one by two in a.md.")).answer == ANSWER


PLAN = """The plan:

1. **Change** `one` to `two` in `a.md`.
2. Add a section on usage to b.md.
3. Create tests/test_a.py with two tests.
4. Run the tests in tests/test_a.py.
"""


class TestAcceptedPlan:
    def agent(self, project: Path, *turns: dict[str, object] | str) -> ReActAgent:
        self.is_planning = True
        client = LLMClient(scripted(PLAN, *turns), model="m")
        return ReActAgent(client, make_tools(project), middleware=[PlanMode(lambda: self.is_planning)])

    async def carried_out(self, agent: ReActAgent) -> AgentResult:
        await agent.execute_query("Plan it.")
        self.is_planning = False
        return await agent.execute_query("The plan is accepted. Carry it out step by step and check the result.")

    async def test_steps_whose_files_were_not_touched_are_told(self, project: Path) -> None:
        agent = self.agent(project, EDIT, ANSWER, ANSWER)
        result = await self.carried_out(agent)
        steps = "2. Add a section on usage to b.md.; 3. Create tests/test_a.py with two tests."
        assert steps in remarks(agent)[-1]
        assert result.status == "incomplete"
        assert [str(one) for one in result.unverified] == [f"steps of the plan look open: {steps}"]
        assert result.answer.endswith("with two tests."), "one full stop"

    async def test_a_plan_that_was_carried_out_is_let_be(self, project: Path) -> None:
        rest = [
            call("edit_file", file_path="b.md", old_string="one", new_string="# Usage"),
            call("write_file", file_path="tests/test_a.py", content="x = 1\n"),
        ]
        agent = self.agent(project, EDIT, *rest, "All four steps are done. I did not run the tests.")
        result = await self.carried_out(agent)
        assert (result.status, len(remarks(agent))) == ("done", 1)

    @pytest.mark.parametrize("question", ["Is that all?", "終わり？"])
    async def test_a_question_after_plan_mode_was_left_accepts_nothing(self, project: Path, question: str) -> None:
        agent = self.agent(project, "Yes.")
        await agent.execute_query("Plan it.")
        self.is_planning = False
        result = await agent.execute_query(question)
        assert (result.status, result.answer) == ("done", "Yes.")

    @pytest.mark.parametrize("question", ["Can you implement it now?", "進めてもらえますか？"])
    async def test_a_question_that_asks_for_the_work_accepts_it(self, project: Path, question: str) -> None:
        agent = self.agent(project, EDIT, ANSWER, ANSWER)
        await agent.execute_query("Plan it.")
        self.is_planning = False
        assert (await agent.execute_query(question)).status == "incomplete"

    async def test_a_later_request_is_not_measured_by_it(self, project: Path) -> None:
        agent = self.agent(project, EDIT, ANSWER, ANSWER, "It says two.")
        await self.carried_out(agent)
        assert (await agent.execute_query("What does a.md say?")).answer == "It says two."


@pytest.mark.parametrize(
    ("plan", "left"),
    [
        ("1. Read b.md.\n2. Look at src/c.py and d.md.", []),
        ("1. Edit b.md.", []),
        ("1. Edit a.md.\n2. Update the docs.", []),
        ("1. a.md を修正する\n2. b.md にテストを追加する", ["2. b.md にテストを追加する"]),
        (
            "1. b.md を作り、一覧を置く。\n2. c.md からリンクする。",
            ["1. b.md を作り、一覧を置く。", "2. c.md からリンクする。"],
        ),
        (
            "1. `b.py` に処理を足す（10行）。\n2. c.md の表を直します。",
            ["1. b.py に処理を足す（10行）。", "2. c.md の表を直します。"],
        ),
        ("1. b.md を消す\n2. c.toml に既定値を加えて、試す", ["1. b.md を消す", "2. c.toml に既定値を加えて、試す"]),
        (
            "1. d.html にナビを入れる\n2. a.py の値を 9 に変え、試す",
            ["1. d.html にナビを入れる", "2. a.py の値を 9 に変え、試す"],
        ),
        ("1. b.md を読んで、何を変えるか決める。\n2. b.py を実行し、c.md が作られるのを確かめる。", []),
        ("1. req.txt の依存を入れる\n2. テストが落ちたら b.py を直す", []),
        ("1. 環境に req.txt の依存を入れる\n2. 必要なら b.py を直す", []),
        ("1. b.py の直す箇所を探す\n2. c.csv の列の作りを確かめる", []),
        ("1. c.html のリンク切れを調べる。\n2. b.py を走らせて、直した箇所を見る", []),
        ("```\n1. Edit b.md.\n2. Edit c.md.\n```", []),
        ("1) Edit `a.md`\n2) Edit `docs/b.md`", ["2. Edit docs/b.md"]),
    ],
)
def test_steps_that_can_be_judged(plan: str, left: list[str]) -> None:
    assert open_steps(plan, {"a.md"}) == left


@pytest.mark.parametrize("answer", ["Divide is left.", "Next steps: divide.", "divide は残っています。"])
def test_an_answer_that_names_the_rest(answer: str) -> None:
    assert names_rest(answer)


def test_an_answer_that_does_not() -> None:
    assert not names_rest("I opened the file and added all of it.")


def test_the_step_in_progress_alone_is_not_left() -> None:
    plan = SessionPlan()
    plan.edit(lambda document: add(document, "[~] Run the tests", today=date(2026, 1, 1)))
    assert open_items("", plan) == []
    plan.edit(lambda document: add(document, "Fix it", today=date(2026, 1, 1)))
    assert open_items("", plan) == ["Run the tests (in progress)", "Fix it"]


@pytest.mark.parametrize(
    ("item", "answer", "is_open"),
    [
        ("Add tests for the parser", "I changed parser.py for the empty input; the crash is gone.", True),
        ("Update the docs and the changelog", "The bug in the and-operator is fixed.", True),
        ("Write the README section for the new flag", "I added the flag for new users.", True),
        ("parser のテストを追加", "parser を修正しました。", True),
        ("Add tests for the parser", "I fixed the parser and added tests.", False),
        ("parser のテストを追加", "parser を修正し、テストを追加しました。", False),
    ],
)
def test_an_item_is_open_unless_the_answer_reports_on_it(item: str, answer: str, is_open: bool) -> None:
    plan = SessionPlan()
    plan.edit(lambda document: add(document, item, today=date(2026, 1, 1)))
    assert open_items("", plan, "", answer) == ([item] if is_open else [])
