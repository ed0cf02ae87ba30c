"""The end of a run is compared with what has happened in it: honest endings are let be, others are told once."""

import tomllib
from pathlib import Path
from typing import Any

import pytest

from localllm.agent.plan_mode import plan_note
from localllm.agent.react_agent import ReActAgent
from localllm.agent.run_stats import AgentResult
from localllm.base.events import Notice
from localllm.config.schema import AgentSettings, SafetySettings
from localllm.llm.messages import AssistantMessage, UserMessage
from localllm.llm.providers.base import ModelInfo
from localllm.llm.providers.scripted import Scripted
from localllm.tui.headless import HeadlessConfirmer
from tests.support.agents import Answering, call, make_agent, make_tools, play, scripted
from tests.support.tools import put
from tests.unit.agent.test_history import check_valid

pytestmark = pytest.mark.anyio

ENDINGS = tomllib.loads((Path(__file__).parent / "run-endings.toml").read_text(encoding="utf-8"))


def named(ending: dict[str, Any]) -> str:
    return ending["answer"].encode("ascii", "ignore").decode()[:30] or "ja"


TEST = """import unittest
from a import x


class T(unittest.TestCase):
    def test_x(self):
        self.assertLess(x, 3)
"""
TESTS = "python3 -B -m unittest -q"


def edit(old: str, new: str, path: str = "a.py") -> dict[str, Any]:
    return call("edit_file", file_path=path, old_string=old, new_string=new)


STEPS: dict[str, dict[str, Any]] = {
    "read": call("read_file", file_path="a.py"),
    "list": call("list_files", path="."),
    "edit": edit("x = 1", "x = 2"),
    "edit3": edit("x = 1", "x = 3"),
    "edit2": edit("x = 3", "x = 2"),
    "edit3_by_command": call("run_command", command="sed -i 's/x = 1/x = 3/' a.py"),
    "sed_and_test": call("run_command", command=f"sed -i 's/Text/Words/' README.md && {TESTS}"),
    "edit_readme": edit("Text.", "Text about x.", "README.md"),
    "edit_nowhere": edit("y = 1", "z = 1", "lib/me.py"),
    "bad_edit": edit("y = 1", "z = 1"),
    "weaken": edit("assertLess(x, 3)", "assertEqual(x, 1)", "test_a.py"),
    "break": edit("x = 1", "x = (2"),
    "unbreak": edit("x = (2", "x = 2"),
    "test": call("run_command", command=TESTS),
    "test_piped": call("run_command", command=f"{TESTS} 2>&1 | tail -3"),
    "build": call("run_command", command="python3 -m py_compile README.md || python3 -B -m compileall -q x"),
    "bad_build": call("run_command", command="make -f a.py"),
    "program": call("run_command", command="python3 -B a.py"),
    "git_status": call("run_command", command="git status --short || true"),
    "git_add": call("run_command", command="git init -q . && git add a.py"),
}


COMMANDS = {name for name, turn in STEPS.items() if turn["calls"][0]["name"] == "run_command"}


def endings(kind: str, *, with_commands: bool) -> list[dict[str, Any]]:
    """Those of runs that start programs, or the others; the former are tests/integration/test_command_endings.py."""
    return [ending for ending in ENDINGS[kind] if bool(COMMANDS & {*ending["did"]}) == with_commands]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return make_project(tmp_path)


def make_project(tmp_path: Path) -> Path:
    root = tmp_path / "project"
    root.mkdir()
    (root / "a.py").write_text("x = 1\n\n\ndef double():\n    return 2 * x\n")
    (root / "test_a.py").write_text(TEST)
    (root / "README.md").write_text("# Title\n\nText.\n")
    return root


def agent_for(project: Path, *turns: dict[str, Any] | str, attended: bool = False, mode: str = "ask") -> ReActAgent:
    """An agent in a one-shot with --yes, or in a chat where a person says yes to all."""
    confirmer = Answering(approve=True)
    confirmer.answers = "person" if attended else "yes"
    safety = SafetySettings(mode=mode)  # pyright: ignore[reportArgumentType]
    return make_agent(scripted(*turns), project, tools=make_tools(project, confirmer=confirmer, safety=safety))


def remarks(agent: ReActAgent) -> list[str]:
    """What it was told after answers of its own."""
    return [said.text for said in agent.history.messages if isinstance(said, UserMessage)][1:]


async def ended(project: Path, ending: dict[str, Any]) -> tuple[AgentResult, list[str]]:
    """How a run ends whose model gives the same answer whatever it is told, and what that is."""
    steps = [STEPS[name] for name in ending["did"]]
    agent = agent_for(project, *steps, *[ending["answer"]] * 4, attended=ending.get("attended", False))
    return await agent.execute_query(ending["request"]), remarks(agent)


async def check_honest(project: Path, ending: dict[str, Any]) -> None:
    """Nothing is said to it."""
    result, told = await ended(project, ending)
    assert told == []
    status = ending.get("status", "done")
    assert (result.status, len(result.unverified)) == (status, ending.get("unverified", 0)), result.unverified
    assert result.answer.startswith(ending["answer"])
    assert ("Not finished: " in result.answer) == (status != "done")


async def check_false(project: Path, ending: dict[str, Any]) -> None:
    """What speaks against it is said."""
    result, told = await ended(project, ending)
    assert ending["remark"] in told[0]
    assert len(told) == len(set(told)) <= 3
    assert result.status == ending["status"]
    assert result.unverified
    assert result.answer.startswith(ending["answer"])


@pytest.mark.parametrize("ending", endings("honest", with_commands=False), ids=named)
async def test_nothing_is_said_to_an_honest_ending(project: Path, ending: dict[str, Any]) -> None:
    await check_honest(project, ending)


@pytest.mark.parametrize("ending", endings("false", with_commands=False), ids=named)
async def test_what_speaks_against_an_ending_is_said(project: Path, ending: dict[str, Any]) -> None:
    await check_false(project, ending)


def test_there_are_enough_honest_endings() -> None:
    honest = ENDINGS["honest"]
    assert len(honest) >= 20
    assert sum(not COMMANDS & {*ending["did"]} for ending in honest) >= 5
    assert sum("```" in ending["answer"] for ending in honest) >= 5
    assert sum(not ending["request"].isascii() for ending in honest) >= 8


def called(agent: ReActAgent) -> list[str]:
    """The tools of all calls that the model's messages hold."""
    messages = [said for said in agent.history.messages if isinstance(said, AssistantMessage)]
    return [made.name for said in messages for made in said.tool_calls]


@pytest.mark.parametrize("ending", ENDINGS["action"], ids=named)
async def test_an_action_written_out_as_text_is_done_by_the_tools(project: Path, ending: dict[str, Any]) -> None:
    before = contents(project)
    agent = agent_for(project, ending["answer"], "It is done.")
    result = await agent.execute_query(ending["request"])
    assert called(agent) == ending["calls"]
    assert contents(project) != before
    assert result.answer == "It is done."
    check_valid(agent.history.messages)


@pytest.mark.parametrize("ending", ENDINGS["asked"], ids=named)
async def test_what_may_be_meant_otherwise_is_asked_for_as_a_call(project: Path, ending: dict[str, Any]) -> None:
    did = [STEPS[name] for name in ending.get("did", ())]
    agent = agent_for(project, *did, ending["answer"], "It could not be done.")
    result = await agent.execute_query(ending["request"])
    assert ending["remark"] in remarks(agent)[0]
    assert (len(called(agent)), result.status) == (len(did), "done")


@pytest.mark.parametrize("ending", ENDINGS["words"], ids=named)
async def test_nothing_of_an_honest_ending_is_done(project: Path, ending: dict[str, Any]) -> None:
    did = [STEPS[name] for name in ending.get("did", ())]
    agent = agent_for(project, *did, ending["answer"], "no more")
    result = await agent.execute_query(ending["request"])
    assert (result.status, result.answer, remarks(agent)) == ("done", ending["answer"], [])
    assert len(called(agent)) == len(did)


def test_there_are_enough_honest_endings_with_a_block() -> None:
    assert len(ENDINGS["words"]) >= 20


BY_COMMAND = "```bash\nsed -i 's/x = 1/x = 2/' a.py\n```"


async def test_what_is_done_in_place_of_a_text_is_told(project: Path) -> None:
    events = await play(agent_for(project, BY_COMMAND, "It is done."), "Set x to 2.")
    told = [event.text for event in events if isinstance(event, Notice)]
    assert told == ["The model wrote out a step instead of calling a tool: it is run as run_command."]


class TestNotDone:
    async def test_in_plan_mode(self, project: Path) -> None:
        agent = agent_for(project, BY_COMMAND, "The plan: x becomes 2.")
        agent.offer(plan_note())
        await agent.execute_query("Set x to 2.")
        assert called(agent) == []

    async def test_after_text_of_strangers(self, project: Path) -> None:
        agent = agent_for(project, BY_COMMAND, "It could not be done.")
        agent.tool_system.taint()
        await agent.execute_query("Set x to 2.")
        assert called(agent) == []
        assert "run_command" in remarks(agent)[0]

    async def test_where_the_tool_is_not_offered(self, project: Path) -> None:
        agent = agent_for(project, BY_COMMAND, "It could not be done.")
        agent.tool_system.offer_only({"read_file", "edit_file"})
        await agent.execute_query("Set x to 2.")
        assert called(agent) == []

    async def test_where_the_answer_was_cut(self, project: Path) -> None:
        agent = agent_for(project, {"text": BY_COMMAND, "finish": "length"})
        assert (await agent.execute_query("Set x to 2.")).status == "limit"
        assert called(agent) == []

    async def test_outside_the_project(self, project: Path) -> None:
        agent = agent_for(project, "../b.py\n```python\nx = 1\n```", "It could not be done.")
        await agent.execute_query("Create ../b.py.")
        assert called(agent) == []
        assert not (project.parent / "b.py").exists()

    async def test_a_dangerous_command_is_not_approved_by_yes(self, project: Path) -> None:
        tools = make_tools(project, confirmer=Answering(approve=True))
        tools._confirmer = HeadlessConfirmer(approve_all=True)
        agent = make_agent(scripted("```bash\nsudo rm -rf ~/*\n```", "It was refused."), project, tools=tools)
        result = await agent.execute_query("Delete the old files.")
        assert called(agent) == ["run_command"]
        assert (result.status, len(result.refused)) == ("refused", 1)


async def test_no_remark_costs_the_answer_at_the_last_step(project: Path) -> None:
    settings = AgentSettings(max_iterations=2)
    agent = make_agent(scripted(STEPS["bad_edit"], "Done."), project, settings=settings)
    result = await agent.execute_query("Set x to 2.")
    assert (result.status, remarks(agent)) == ("incomplete", [])


@pytest.mark.parametrize(
    ("request_", "answer"),
    [
        ("f(0) crashes. It must not.", "I updated f to handle 0."),
        ("0 で落ちる。落ちては困る。", "a.py を修正しました。"),
    ],
)
async def test_a_claim_without_any_call_is_not_verified(project: Path, request_: str, answer: str) -> None:
    agent = agent_for(project, answer, answer)
    result = await agent.execute_query(request_)
    assert remarks(agent) == ["[No file was changed in this run. Make the change now, or say that it is not done.]"]
    assert (result.status, [str(one) for one in result.unverified]) == (
        "done",
        ["the answer claims a change, but no file was changed"],
    )


@pytest.mark.parametrize(
    ("request_", "answer"),
    [
        ("What did we do last week?", "We changed the parser."),
        ("Write a commit message for it.", "I fixed the parser."),
        ("コミットメッセージを一行で。", "パーサーを修正しました。"),
        ("Shorter, please.", "I shortened it:\n\nThe parser is fast."),
        ("Python 3.12 の f 文字列", "引用符を自由に使えるようになりました。"),
        ("箇条書きにしてください", "箇条書きにしました。\n- 速い"),
        ("Have a look at a.py", "I made no changes. It sets x to 1."),
        ("Set x to 2.\n```python\nx = 1\n```\nin this snippet", "```python\nx = 2\n```"),
    ],
)
async def test_words_that_were_asked_for_claim_nothing(project: Path, request_: str, answer: str) -> None:
    agent = agent_for(project, answer)
    result = await agent.execute_query(request_)
    assert (result.status, result.unverified, remarks(agent)) == ("done", (), [])


async def test_what_an_earlier_request_changed_may_be_told(project: Path) -> None:
    agent = agent_for(project, STEPS["edit"], "x is 2.", "I changed x in a.py.")
    await agent.execute_query("Set x to 2.")
    result = await agent.execute_query("And?")
    assert (result.status, result.unverified) == ("done", ())


GUESS = edit("y = 1", "z = 1", "docs/guide.md")
IN_TEST = edit("y = 1", "z = 1", "test_a.py")
OF_EDIT = "[Your last edit of {path} was not made. Make it, or say that it is not done.]"


@pytest.mark.parametrize(
    ("request_", "steps", "answer", "path", "status"),
    [
        ("Set x to 2 in a.py and y to z in docs/guide.md.", [GUESS], "x is 2.", "docs/guide.md", "incomplete"),
        ("Set x to 2, and say so in the guide.", [GUESS], "I said so in docs/guide.md.", "docs/guide.md", "incomplete"),
        ("Set x to 2, and say so in the guide.", [GUESS, GUESS], "x is 2 there and here.", "docs/guide.md", "done"),
        ("Set x to 2.", [IN_TEST], "x is 2 now.", "test_a.py", "done"),
        ("x を 2 にし、ガイドに書いて", [GUESS, GUESS], "x を 2 にし、ガイドに書きました。", "docs/guide.md", "done"),
    ],
)
async def test_a_failed_edit_is_not_forgotten_with_the_next_file(
    project: Path, request_: str, steps: list[dict[str, Any]], answer: str, path: str, status: str
) -> None:
    agent = agent_for(project, *steps, STEPS["edit"], *[answer] * 3)
    result = await agent.execute_query(request_)
    assert OF_EDIT.format(path=path) in remarks(agent)
    assert (result.status, str(result.unverified[0])) == (status, f"the last edit to {path} was not applied")


@pytest.mark.parametrize(
    ("steps", "answer"),
    [
        ([edit("x = 1", "x = 2", "src/a.py"), STEPS["edit"]], "x is 2 in a.py."),
        ([GUESS, STEPS["edit"]], "x is 2 now."),
        ([IN_TEST, STEPS["edit"]], "x is 2 now. The test could not be changed: it has no y."),
        ([IN_TEST, STEPS["edit"]], "x は 2 です。test_a.py は変更できませんでした。"),
    ],
)
async def test_an_edit_that_was_a_guess_or_is_spoken_of_is_let_be(
    project: Path, steps: list[dict[str, Any]], answer: str
) -> None:
    agent = agent_for(project, *steps, answer, "no more")
    result = await agent.execute_query("Set x to 2.")
    assert (remarks(agent), result.status) == ([], "done")


WORDS = "[Nothing was changed. Make the change now with edit_file, or say why it cannot be made.]"


@pytest.mark.parametrize("attended", [True, False])
async def test_a_change_in_place_of_a_review_is_told(project: Path, attended: bool) -> None:
    agent = agent_for(project, STEPS["edit_readme"], "It looks fine; I added a word.", attended=attended)
    result = await agent.execute_query("Review README.md")
    told = () if attended else ("only words were asked for, and README.md changed",)
    assert (result.status, result.unverified, remarks(agent)) == ("done", told, [])


async def test_a_program_that_is_missing_is_still_so_after_another_edit(project: Path) -> None:
    missing = call("run_command", command="./no/pytest")
    agent = agent_for(project, STEPS["edit"], missing, edit("x = 2", "x = 4"), "All tests pass.", "They were not run.")
    await agent.execute_query("Set x to 4.")
    assert ["./no/pytest could not be run: no such program" in said for said in remarks(agent)] == [True]


STEPS_LISTED = "1. まず準備する。\n2. 次に実行する。\n3. 終わったら確認する。\n4. 片付ける。"


@pytest.mark.parametrize(
    ("request_", "answer", "told"),
    [
        ("手順を 4 項目、long.md に書いて", STEPS_LISTED, "there is no long.md. Write it with write_file, or"),
        (
            "shop.db の o の a を 2 に直して",
            "```sql\nUPDATE o SET a = 2;\n```",
            "Make the change now with run_command, or",
        ),
    ],
)
async def test_the_tool_that_is_named_is_the_one_that_can_do_it(
    project: Path, request_: str, answer: str, told: str
) -> None:
    (project / "shop.db").write_bytes(b"SQLite format 3\0" + b"\x10\0" * 50)
    agent = agent_for(project, answer, answer)
    await agent.execute_query(request_)
    assert [told in said for said in remarks(agent)] == [True]


@pytest.mark.parametrize(
    ("request_", "did", "answer"),
    [
        ("Fix double in a.py.", ["read"], "The function double in a.py doubles x: that is the bug. It should add."),
        ("Fix double in a.py.", ["read"], "To fix the bug, replace the asterisk with a plus in line 5 of a.py."),
        ("Fix double in a.py.", [], "I understand the problem."),
        ("Fix the failing test.", ["read"], "x is too large there; 2 is what the test wants."),
        ("Write tests for double.", ["read"], "double needs a test of zero, and one of a negative number."),
        ("a.py の double を直してください。", ["read"], "double は x を 2 倍にしています。足し算にすべきです。"),
        ("テストを追加してください", ["read"], "double には 0 のテストが必要です。"),
    ],
)
@pytest.mark.parametrize("attended", [True, False])
async def test_a_change_that_is_only_described_is_asked_for(
    project: Path, request_: str, did: list[str], answer: str, attended: bool
) -> None:
    agent = agent_for(project, *[STEPS[name] for name in did], answer, answer, attended=attended)
    result = await agent.execute_query(request_)
    assert (remarks(agent), result.status, result.unverified) == ([WORDS], "incomplete", ("nothing was changed",))


@pytest.mark.parametrize(
    ("request_", "did", "answer"),
    [
        ("Fix double in a.py.", ["read"], "double is right: it is 2 * x. No change is needed."),
        ("Fix double in a.py.", ["read"], "I could not find a bug in double."),
        ("Fix triple in a.py.", ["read"], "There is no triple in a.py."),
        ("Fix the grammar: he go home", [], "He goes home."),
        ("Rename x here:\n```python\nx = 1\n```", [], "It is `y = 1` then."),
        (
            "Write a haiku about this project.",
            ["read"],
            "One file, and one test / x is below three",
        ),
        ("Explain what to change in a.py.", ["read"], "Replace the asterisk with a plus in line 5."),
        ("Which name would you give x in a.py?", ["read"], "count."),
        ("Generate three names for the module.", ["read"], "counts, values, numbers"),
        ("Make your answer shorter.", ["read"], "x is 1."),
        ("Update me on the state of a.py.", ["read"], "It sets x to 1."),
        ("a.py の double を直して", ["read"], "double は正しく動いています。変更は不要です。"),
        ("この文を直して: 彼わ行く", [], "彼は行く。"),
        ("俳句を書いて", ["read"], "古池や 蛙飛び込む 水の音"),
        ("a.py の問題点をまとめて", ["read"], "x が定数です。"),
    ],
)
async def test_words_that_are_all_that_was_wanted(project: Path, request_: str, did: list[str], answer: str) -> None:
    agent = agent_for(project, *[STEPS[name] for name in did], answer, "no more")
    result = await agent.execute_query(request_)
    assert (remarks(agent), result.status, result.unverified) == ([], "done", ())


async def test_a_question_about_the_change_is_a_person_s_to_answer(project: Path) -> None:
    agent = agent_for(project, STEPS["read"], "Should double add, or multiply by three?", attended=True)
    result = await agent.execute_query("Fix double in a.py.")
    assert (remarks(agent), result.status) == ([], "done")


EMPTY = call("run_command", command="python3 -B -m unittest discover -s src")


@pytest.mark.parametrize(("request_", "did"), [("Set x to 2. The tests must pass.", ["edit"]), ("Run the tests.", [])])
async def test_a_test_command_that_found_no_tests(project: Path, request_: str, did: list[str]) -> None:
    (project / "src").mkdir()
    agent = agent_for(project, *[STEPS[name] for name in did], EMPTY, *["All tests pass."] * 2)
    result = await agent.execute_query(request_)
    assert [said for said in remarks(agent) if "ran, but found 0 tests" in said] == remarks(agent)
    assert (result.status, [*map(str, result.unverified)]) == (
        "done",
        ["python3 -B -m unittest discover -s src ran no tests"],
    )


@pytest.mark.parametrize(
    "answer",
    ["x is 2. There are no tests in src, so none ran.", "x を 2 にしました。テストは 1 件もありません。"],
)
async def test_nothing_is_asked_of_an_answer_that_says_that_there_are_no_tests(project: Path, answer: str) -> None:
    (project / "src").mkdir()
    agent = agent_for(project, STEPS["edit"], EMPTY, answer, "no more")
    result = await agent.execute_query("Set x to 2 and run the tests.")
    assert (remarks(agent), [*map(str, result.unverified)]) == (
        [],
        ["python3 -B -m unittest discover -s src ran no tests"],
    )


async def test_a_test_command_that_skipped_each_test(project: Path) -> None:
    put(
        project / "test_a.py",
        "import unittest\n@unittest.skip('x')\nclass T(unittest.TestCase):\n    def test(self): ...\n",
    )
    skipping = call("run_command", command="python3 -B -m unittest")
    agent = agent_for(project, STEPS["edit"], skipping, *["All tests pass."] * 2)
    result = await agent.execute_query("Set x to 2. The tests must pass.")
    assert [said for said in remarks(agent) if "ran, but found 0 tests" in said] == remarks(agent)
    assert [*map(str, result.unverified)] == ["python3 -B -m unittest ran no tests"]


async def test_after_a_check_of_syntax_alone_no_tests_are_taken_for_granted(project: Path) -> None:
    for name in ("a.sh", "b.sh"):
        (project / name).write_text("cd $1\n")
    check = call("run_command", command="sh -n a.sh")
    agent = agent_for(project, edit("$1", '"$1"', "a.sh"), check, edit("$1", '"$1"', "b.sh"), *["Quoted."] * 2)
    await agent.execute_query("Quote the variables in a.sh and b.sh.")
    assert remarks(agent) == [
        "[b.sh changed since sh -n a.sh. Run the tests if there are any, else such a check of it; or say that it "
        "was not checked.]"
    ]


def refusing_agent(project: Path, *turns: dict[str, Any] | str, feedback: str = "") -> ReActAgent:
    """An agent whose every change is refused by a person in a chat."""
    confirmer = Answering(approve=False, feedback=feedback)
    return make_agent(scripted(*turns), project, tools=make_tools(project, confirmer=confirmer))


async def test_what_the_user_said_instead_of_a_yes_is_asked_for_again(project: Path) -> None:
    answer = "x を 2 に直しました。"
    agent = refusing_agent(project, STEPS["edit"], answer, answer, feedback="定数を {使って}")
    await agent.execute_query("x を 2 に直して")
    said = "[It was not done: no file was changed. The user says: 定数を {使って}\nDo that now, or say why not.]"
    assert remarks(agent) == [said]


@pytest.mark.parametrize(
    ("request_", "answer"),
    [("Set x to 2 in a.py.", "I changed x to 2 in a.py."), ("x を 2 に直して", "x を 2 に直しました。")],
)
async def test_a_change_that_was_refused_is_not_claimed(project: Path, request_: str, answer: str) -> None:
    agent = refusing_agent(project, STEPS["edit"], answer, answer)
    result = await agent.execute_query(request_)
    assert remarks(agent) == ["[It was refused: no file was changed. Say so.]"]
    assert (result.status, [*result.unverified]) == (
        "incomplete",
        ["the answer claims a change, but no file was changed"],
    )


@pytest.mark.parametrize(
    "answer",
    ["You refused the edit; the fix is not in a.py.", "変更は許可されませんでした。", "What do you want instead?"],
)
async def test_an_answer_to_a_refusal_is_let_be(project: Path, answer: str) -> None:
    agent = refusing_agent(project, STEPS["edit"], answer)
    result = await agent.execute_query("Set x to 2 in a.py.")
    assert (result.status, remarks(agent)) == ("done", [])


BACK = edit("x = 2", "x = 1")


async def test_a_change_that_was_undone_again_is_no_change(project: Path) -> None:
    agent = agent_for(project, STEPS["edit"], BACK, *["I changed x to 2 in a.py."] * 3)
    result = await agent.execute_query("Set x to 2 in a.py.")
    assert remarks(agent)[0].startswith("[All files are as they were when the request came")
    assert result.status == "incomplete"
    assert "the answer claims a change, but the files are as they were before it" in map(str, result.unverified)


@pytest.mark.parametrize(
    ("request_", "answer"),
    [
        ("Set x to 2 in a.py, and revert it where that breaks.", "I changed x to 2, it broke, and I reverted it."),
        ("x を 2 にしてみて、だめなら戻してください。", "x を 2 に変更しましたが、元に戻しました。"),
    ],
)
async def test_an_answer_that_says_it_was_undone_is_let_be(project: Path, request_: str, answer: str) -> None:
    agent = agent_for(project, STEPS["edit"], BACK, answer)
    result = await agent.execute_query(request_)
    assert (result.status, remarks(agent)) == ("done", [])


async def test_a_change_that_is_made_once_more_is_one(project: Path) -> None:
    agent = agent_for(project, STEPS["edit"], BACK, STEPS["edit"], "I changed x to 2 in a.py.")
    result = await agent.execute_query("Set x to 2 in a.py.")
    assert (result.status, remarks(agent)) == ("done", [])


async def test_a_part_of_a_conflict_that_is_left_is_told(project: Path) -> None:
    (project / "a.py").write_text("<<<<<<< HEAD\nx = 1\n=======\nx = 2\n>>>>>>> other\n")
    part = edit("<<<<<<< HEAD\nx = 1\n=======\nx = 2\n", "x = 2\n")
    agent = agent_for(project, part, *["I resolved the conflict in a.py."] * 3)
    result = await agent.execute_query("Resolve the conflict in a.py.")
    assert "[a.py: Conflict markers are left, at line 2: resolve these as well.]" in remarks(agent)
    assert result.status == "incomplete"
    assert "a.py still holds a part of a merge conflict" in map(str, result.unverified)


GUESSED = "The tax is added in `core/tax.py:3`, by `with_tax`."


@pytest.mark.parametrize(("folder", "is_told"), [("src", True), ("vendor", False)])
async def test_a_guessed_folder_that_projects_usually_have_counts(project: Path, folder: str, is_told: bool) -> None:
    (project / "docs").mkdir()
    (project / "docs" / "vpn.py").write_text("DAYS = 90\n")
    agent = agent_for(project, *[f"It is in `{folder}/vpn.py`."] * 2, attended=True)
    result = await agent.execute_query("How long is a key valid?")
    assert bool(result.unverified) is is_told


async def test_a_file_that_was_only_guessed_is_looked_for(project: Path) -> None:
    (project / "core" / "pricing").mkdir(parents=True)
    (project / "core" / "pricing" / "tax.py").write_text("RATE = 1\n")
    agent = agent_for(project, GUESSED, STEPS["list"], "It is added in core/pricing/tax.py.", attended=True)
    result = await agent.execute_query("Where is the tax added?")
    assert remarks(agent) == [
        "[There is no core/tax.py; there is core/pricing/tax.py. Look there, and give the answer again.]"
    ]
    assert (result.status, result.unverified) == ("done", ())
    agent = agent_for(project, GUESSED, GUESSED, attended=True)
    result = await agent.execute_query("Where is the tax added?")
    assert len(remarks(agent)) == 1
    assert (result.status, result.unverified) == ("done", ("the answer names core/tax.py, which does not exist",))


@pytest.mark.parametrize(
    ("request_", "answer"),
    [
        ("Where is the tax?", "In core/pricing/tax.py, and pricing/tax.py for short."),
        ("Where is the tax?", "There is no core/tax.py."),
        ("Where is the tax?", "`core/tax.py` は存在しません。"),
        ("Add a rounded tax.", "Shall it be in core/tax.py?"),
        ("Where could the tax go?", "I would create core/tax.py for it."),
        ("Is core/tax.py used?", "core/tax.py is used nowhere."),
        ("Where is the tax?", "In lib/tax.py of https://example.org/core/tax.py."),
        ("Where is the tax?", "In core/rates.py."),
        ("Where is the tax?", "It is imported so:\n\n```\nopen('core/tax.py')\n```"),
    ],
)
async def test_a_file_that_may_be_meant_otherwise_is_let_be(project: Path, request_: str, answer: str) -> None:
    (project / "core" / "pricing").mkdir(parents=True)
    (project / "core" / "pricing" / "tax.py").write_text("RATE = 1\n")
    agent = agent_for(project, answer, "no more", attended=True)
    result = await agent.execute_query(request_)
    assert (result.answer, remarks(agent)) == (answer, [])


async def test_a_file_in_a_folder_that_is_closed_may_be_there(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object) -> bool:
        raise PermissionError(13, "Permission denied")

    (project / "core" / "pricing").mkdir(parents=True)
    (project / "core" / "pricing" / "tax.py").write_text("RATE = 1\n")
    monkeypatch.setattr(Path, "exists", refused)
    agent = agent_for(project, GUESSED, attended=True)
    result = await agent.execute_query("Where is the tax added?")
    assert (result.answer, result.status, remarks(agent)) == (GUESSED, "done", [])


async def test_tests_that_a_person_has_refused_are_not_asked_for(project: Path) -> None:
    safety = SafetySettings(mode="auto-edit")
    tools = make_tools(project, confirmer=Answering(approve=False), safety=safety)
    agent = make_agent(scripted(STEPS["edit"], STEPS["test"], "x is 2 now."), project, tools=tools)
    result = await agent.execute_query("Set x to 2 and run the tests.")
    assert (result.status, remarks(agent), len(result.unverified)) == ("done", [], 1)


async def test_it_may_say_once_told_that_the_failed_edit_is_not_needed(project: Path) -> None:
    agent = agent_for(project, STEPS["edit"], STEPS["bad_edit"], "Done.", "a.py:1 already has it: x is 2.")
    result = await agent.execute_query("Set x to 2.")
    assert len(remarks(agent)) == 1
    assert (result.status, len(result.unverified)) == ("done", 2)


async def test_whoever_answers_by_rules_is_told_nothing(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def describe(_self: Scripted, model: str, _listed: object = ()) -> ModelInfo:
        return ModelInfo(model, exact=True)

    monkeypatch.setattr(Scripted, "describe", describe)
    agent = agent_for(project, STEPS["bad_edit"], "I did nothing else; done.", "no more")
    result = await agent.execute_query("Set x to 2.")
    assert (result.status, remarks(agent)) == ("done", [])


@pytest.mark.parametrize("attended", [True, False])
async def test_a_one_shot_is_told_that_nobody_can_answer(project: Path, attended: bool) -> None:
    agent = agent_for(project, "It is.", attended=attended)
    await agent.execute_query("Is x 1?")
    assert ("Nobody can answer" in agent.history.messages[1].text) != attended


@pytest.mark.parametrize(
    "said", ["Yes, go ahead.", "You did not change anything.", "何も変更されていません。続けてください"]
)
async def test_a_go_ahead_stands_for_what_was_asked_before(project: Path, said: str) -> None:
    agent = agent_for(project, "x is 1. Shall I?", BY_COMMAND, "It is done.", attended=True)
    await agent.execute_query("Set x to 2.")
    await agent.execute_query(said)
    assert called(agent) == ["run_command"]


def contents(project: Path) -> dict[str, str]:
    return {file.name: file.read_text() for file in project.iterdir() if file.is_file()}


LONG = "x is defined in a.py:1, and double in a.py:4 returns twice that. " * 4
WRONG = f"{LONG}See also lib/b.py."


@pytest.mark.parametrize(
    ("answers", "attended", "expected"),
    [
        ((WRONG, "There is no lib/b.py."), False, f"{WRONG}\n\nThere is no lib/b.py."),
        ((WRONG, LONG), False, LONG),
        ((WRONG, "There is no lib/b.py."), True, "There is no lib/b.py."),
        (("See lib/b.py.", "There is no such file."), False, "There is no such file."),
    ],
)
async def test_a_correction_does_not_take_the_answer_away(
    project: Path, answers: tuple[str, str], attended: bool, expected: str
) -> None:
    (project / "lib").mkdir()
    (project / "lib" / "c.py").touch()
    agent = agent_for(project, STEPS["read"], *answers, attended=attended)
    result = await agent.execute_query("Where is double?")
    assert len(remarks(agent)) == 1
    assert result.answer == expected


async def test_an_answer_of_an_earlier_run_is_not_given_again(project: Path) -> None:
    (project / "lib").mkdir()
    (project / "lib" / "c.py").touch()
    agent = agent_for(project, STEPS["read"], WRONG, LONG, STEPS["list"], "Two.")
    await agent.execute_query("Where is double?")
    assert (await agent.execute_query("How many functions?")).answer == "Two."
