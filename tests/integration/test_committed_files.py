"""A commit of named files has no others, or the answer says so."""

import subprocess
from pathlib import Path

import pytest

from localllm.llm.messages import UserMessage
from localllm.tui.headless import HeadlessConfirmer
from tests.support.agents import call, make_agent, make_tools, scripted

pytestmark = pytest.mark.anyio

ONLY = "Commit only README.md with message 'Docs'"
ALL = call("run_command", command="git commit -qam Docs")
TOOL = call("git_commit", message="Docs")
NAMED = call("run_command", command="git add README.md && git commit -qm Docs README.md")
ANEW = call("run_command", command="git reset -q --soft HEAD~1 && git commit -qm Docs README.md")
DONE = "Committed README.md as 'Docs'."


def git(folder: Path, *words: str) -> str:
    return subprocess.run(["git", *words], cwd=folder, check=True, capture_output=True, text=True).stdout


def repository(folder: Path, *, is_new: bool = False) -> None:
    (folder / "shop").mkdir()
    git(folder, "init", "-q")
    for name, value in (("user.name", "U"), ("user.email", "u@example.org")):
        git(folder, "config", name, value)
    for text in ("1\n", "2\n"):
        (folder / "README.md").write_text(text)
        (folder / "shop/tax.py").write_text(f"x = {text}")
        if text == "1\n" or is_new:
            git(folder, "add", ".")
        if text == "1\n" and not is_new:
            git(folder, "commit", "-qm", "first")


async def told(folder: Path, request: str, *turns: dict[str, object] | str) -> tuple[str, list[str]]:
    tools = make_tools(folder, confirmer=HeadlessConfirmer(approve_all=True))
    agent = make_agent(scripted(*turns), folder, tools=tools)
    result = await agent.execute_query(request)
    said = [one.text for one in agent.history.messages if isinstance(one, UserMessage)][1:]
    return result.status, [one for one in said if "was to be committed" in one]


@pytest.mark.parametrize(
    ("request_", "turn"),
    [
        (ONLY, TOOL),
        ("README.md だけをコミットして。メッセージは Docs", ALL),
        (ONLY, ALL),
        ("Commit just the README with message 'Docs'", ALL),
    ],
)
async def test_what_is_committed_besides_is_named(tmp_path: Path, request_: str, turn: dict[str, object]) -> None:
    repository(tmp_path)
    status, said = await told(tmp_path, request_, turn, DONE, DONE)
    assert status != "done"
    assert said == [
        "[Only README.md was to be committed; the commit has shop/tax.py as well. Take it out (git reset --soft "
        "HEAD~1, git restore --staged, then commit again), or say so.]"
    ]


async def test_the_first_commit_is_looked_at_too(tmp_path: Path) -> None:
    repository(tmp_path, is_new=True)
    assert (await told(tmp_path, ONLY, call("run_command", command="git commit -qm Docs"), DONE, DONE))[1]


@pytest.mark.parametrize(
    "turns",
    [
        (NAMED, DONE),
        (ALL, "Committed as 'Docs'; the commit has shop/tax.py as well."),
        (ALL, ANEW, DONE),
    ],
)
async def test_a_commit_of_these_files_or_an_answer_that_says_it_is_accepted(
    tmp_path: Path, turns: tuple[dict[str, object] | str, ...]
) -> None:
    repository(tmp_path)
    assert await told(tmp_path, ONLY, *turns) == ("done", [])


async def test_any_files_may_be_in_a_commit_of_all(tmp_path: Path) -> None:
    repository(tmp_path)
    assert await told(tmp_path, "Commit everything with the message 'Docs'", ALL, DONE) == ("done", [])
