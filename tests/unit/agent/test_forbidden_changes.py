"""What changes a file in a run that is to change nothing is not passed over."""

import subprocess
from pathlib import Path

import pytest

from localllm.agent.run_stats import AgentResult
from localllm.config.schema import SafetySettings
from localllm.llm.messages import UserMessage
from localllm.tui.headless import HeadlessConfirmer
from tests.support.agents import Answering, call, make_agent, make_tools, scripted

pytestmark = pytest.mark.anyio

EDIT = call("edit_file", file_path="a.py", old_string="x = 1", new_string="x = 2")
BACK = call("edit_file", file_path="a.py", old_string="x = 2", new_string="x = 1")
ANSWER = "x should be 2."


async def ended(folder: Path, request: str, *turns: dict[str, object] | str) -> tuple[AgentResult, list[str]]:
    (folder / "a.py").write_text("x = 1\n")
    tools = make_tools(folder, confirmer=HeadlessConfirmer(approve_all=True))
    agent = make_agent(scripted(*turns), folder, tools=tools)
    result = await agent.execute_query(request)
    return result, [said.text for said in agent.history.messages if isinstance(said, UserMessage)][1:]


REVIEWS = [
    "Review a.py. Don't change anything, just list the problems.",
    "Check a.py without changing any files",
    "Review a.py. Don't edit the files in this project.",
    "What is wrong in a.py? Do not make any changes.",
    "a.py をレビューしてください。変更はしないでください。",
    "a.py は何も変更せず、問題だけ挙げて。",
    "Look into a.py - no changes.",
    "Don't change anything yet.",
    "Don't change anything\nWhat is x in a.py?",
    "何も変更しないでください。",
    "コードは変更せず、原因を調べて。",
    "a.py を直す方法を教えて。ファイルは変えないで",
    "何も変えないで a.py を説明して",
    "何も変更するな。a.py を説明して",
    "コードはいじるな。直す方法を教えて",
    "Leave everything as it is and list the bugs.",
    "Please leave all files as they are and tell me what you would do",
    "コードはいじらないで、原因を教えて",
    "まだ変更しないでください",
    "編集はしないで、案だけ出して",
    "読むだけで、a.py の動作を説明して",
    "直さなくていいので問題点を教えて",
    "Just tell me how to do it, do not edit any file",
    "Explain a.py, but leave the files as they are",
    "no edits please, only ideas",
    "Read only: what is wrong in a.py?",
]


@pytest.mark.parametrize("request_", REVIEWS)
async def test_an_edit_against_the_request_is_refused_where_nobody_is_there(tmp_path: Path, request_: str) -> None:
    result, told = await ended(tmp_path, request_, EDIT, ANSWER)
    assert (result.status, told, (tmp_path / "a.py").read_text()) == ("done", [], "x = 1\n")


@pytest.mark.parametrize(
    "command",
    [
        "rm a.py",
        "echo x >> a.py",
        "sed -i s/1/2/ a.py",
        "cat a.py | tee b.py",
        "mv a.py b.py && ls",
        "cd . && truncate -s 0 a.py",
        "git checkout -- a.py",
        "printf x > new.txt",
        "cp /etc/hosts a.py",
    ],
)
async def test_so_is_a_command_that_names_a_file_to_change(tmp_path: Path, command: str) -> None:
    result, told = await ended(tmp_path, REVIEWS[0], call("run_command", command=command), ANSWER)
    assert (result.status, told, (tmp_path / "a.py").read_text()) == ("done", [], "x = 1\n")
    assert sorted(path.name for path in tmp_path.iterdir() if path.is_file()) == ["a.py"]


TICK = call("todo", action="finish", text="Write the docs")


@pytest.mark.parametrize(
    "made",
    [
        call("git_commit", message="more", files=["LOCALLLM.md"]),
        call("run_command", command="git branch -m renamed"),
        call("run_command", command="git tag v1; git log"),
        TICK,
    ],
)
async def test_so_is_what_changes_the_repository_or_the_list_of_tasks(tmp_path: Path, made: dict[str, object]) -> None:
    (tmp_path / "LOCALLLM.md").write_text("## TODO\n\n- [ ] Write the docs\n")
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    confirmer = Answering(approve=False)
    tools = make_tools(tmp_path, confirmer=confirmer, safety=SafetySettings(mode="auto"))
    await make_agent(scripted(made, ANSWER, ANSWER), tmp_path, tools=tools).execute_query(REVIEWS[0])
    assert [one.reason for one in confirmer.asked] == ["You asked that nothing be changed."]


@pytest.mark.parametrize("command", ["git branch -a", "git tag -l 'v*'", "git log", "git branch --contains HEAD"])
async def test_a_look_at_the_repository_is_not(tmp_path: Path, command: str) -> None:
    confirmer = Answering(approve=False)
    tools = make_tools(tmp_path, confirmer=confirmer, safety=SafetySettings(mode="auto"))
    agent = make_agent(scripted(call("run_command", command=command), ANSWER, ANSWER), tmp_path, tools=tools)
    await agent.execute_query(REVIEWS[0])
    assert confirmer.asked == []


@pytest.mark.parametrize("mode", ["auto-edit", "auto"])
async def test_a_person_is_asked_about_it(tmp_path: Path, mode: str) -> None:
    (tmp_path / "a.py").write_text("x = 1\n")
    confirmer = Answering(approve=True)
    tools = make_tools(tmp_path, confirmer=confirmer, safety=SafetySettings(mode=mode))  # pyright: ignore[reportArgumentType]
    agent = make_agent(scripted(EDIT, ANSWER, BACK, "x is 1 again."), tmp_path, tools=tools)
    await agent.execute_query(REVIEWS[0])
    assert [one.reason for one in confirmer.asked] == ["You asked that nothing be changed."]
    await agent.execute_query("Set it back to 1.")
    assert (len(confirmer.asked), (tmp_path / "a.py").read_text()) == (1, "x = 1\n")


@pytest.mark.parametrize(
    "request_",
    [
        "Set x to 2 in a.py. Don't change anything else.",
        "Set x to 2 in a.py; no changes to the tests.",
        "x を 2 に変更して。他の変更はしないで。",
        "Give x the value 2. Don't change the code style.",
        "Look at a.py and raise x to 2. Don't change the code around it.",
        "Please do the TODO of a.py. No changes elsewhere.",
        "Speed a.py up with an x of 2. Don't write new files.",
        "a.py の x は 2 で。コードの構成は変更しないで、値だけ合わせて",
        "x を 2 にして。コードは変更しないこと。",
        "API は変えず、a.py の x を 2 に直して",
        "a.py の x を 2 に直して。テストは変えないで",
        "Leave the code as it is and fix only the docs",
        "Leave the files as they are and write the tests.",
        "a.py の変数名は変えないで x を 2 に変えて",
        "何も変わらないように見えるが、a.py の x を 2 にして",
        "a.py を読むだけでなく x を 2 に修正して",
        "README は直さなくていいので a.py の x を 2 にして",
        "Leave the files as they are in vendor and set x to 2 in a.py",
        "Set x to 2 in a.py, no edits to the tests please",
    ],
)
async def test_a_limit_forbids_no_ordered_change(tmp_path: Path, request_: str) -> None:
    result, told = await ended(tmp_path, request_, EDIT, "x is 2 now; nothing was run.")
    assert (result.status, told, (tmp_path / "a.py").read_text()) == ("done", [], "x = 2\n")


async def test_a_file_that_was_ordered_may_be_written(tmp_path: Path) -> None:
    read = call("read_file", file_path="a.py")
    write = call("write_file", file_path="review.md", content="x should be 2.\n")
    for request in (
        "Review a.py, but don't change any code. Write your findings to review.md.",
        "Summarise a.py into review.md. Don't change any code.",
    ):
        result, told = await ended(tmp_path, request, read, write, "The review is in review.md.")
        assert (result.status, told, (tmp_path / "review.md").exists()) == ("done", [], True)
        (tmp_path / "review.md").unlink()


@pytest.mark.parametrize(
    "back",
    [
        call("edit_file", file_path="a.py", old_string="x = 3", new_string="x = 1"),
        call("run_command", command="git checkout -- a.py"),
        call("run_command", command="git restore a.py"),
    ],
)
async def test_what_a_command_changed_nonetheless_may_be_put_back(tmp_path: Path, back: dict[str, object]) -> None:
    (tmp_path / "a.py").write_text("x = 1\n")
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    subprocess.run(["git", "add", "a.py"], cwd=tmp_path, check=True)
    spoil = call("run_command", command="sed -i 's/x = 1/x = 3/' [a]*")
    other = call("run_command", command="git checkout . && echo 1 > b.py")
    result, told = await ended(tmp_path, REVIEWS[0], spoil, ANSWER, other, back, ANSWER)
    assert (result.status, len(told), (tmp_path / "a.py").read_text()) == ("done", 1, "x = 1\n")
    assert not (tmp_path / "b.py").exists()
