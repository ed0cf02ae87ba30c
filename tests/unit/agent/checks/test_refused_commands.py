"""An answer that tells of the only command as run, though it was refused, is asked about once."""

from pathlib import Path

import pytest

from localllm.agent.react_agent import ReActAgent
from localllm.tui.headless import HeadlessConfirmer
from tests.support.agents import call, make_agent, make_tools, scripted
from tests.support.each import each
from tests.unit.agent.test_run_endings import make_project, remarks

KEEP = "Undo the last commit but keep my changes"
RESET = call("run_command", command="git reset --hard HEAD^")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return make_project(tmp_path)


def agent_of_script(project: Path, answer: str) -> ReActAgent:
    """An agent in a one-shot with --yes, which permits nothing that the request forbids."""
    tools = make_tools(project, confirmer=HeadlessConfirmer(approve_all=True))
    return make_agent(scripted(RESET, *[answer] * 3), project, tools=tools)


@pytest.mark.anyio
@each(
    ("request_", "answer"),
    [
        (KEEP, "Undone, changes kept."),
        (KEEP, "The last commit is undone; your changes are kept."),
        ("直前のコミットを取り消して。変更は残して", "取り消しました。変更は残っています。"),
    ],
)
async def test_what_was_refused_and_is_claimed(project: Path, request_: str, answer: str) -> None:
    agent = agent_of_script(project, answer)
    result = await agent.execute_query(request_)
    assert remarks(agent)[0].startswith("[It was refused, and nothing was run: git reset --hard HEAD^.")
    assert result.status == "incomplete"


@pytest.mark.anyio
@each(
    ("request_", "answer"),
    [
        (KEEP, "I did not undo it: `git reset --hard` would lose your changes."),
        (KEEP, "It was refused. `git reset --soft HEAD^` keeps them; shall I run it?"),
        (KEEP, "Run `git reset --soft HEAD^` yourself: it keeps the changes."),
        (
            "直前のコミットを取り消して。変更は残して",
            "取り消せませんでした。--hard は変更を捨てるため、許可されませんでした。",
        ),
    ],
)
async def test_what_is_told_as_refused(project: Path, request_: str, answer: str) -> None:
    agent = agent_of_script(project, answer)
    await agent.execute_query(request_)
    assert not any("was refused, and" in one for one in remarks(agent))
