"""Work of git that is ordered and claimed has to be among the commands of the session."""

from pathlib import Path

import pytest

from localllm.agent.checks.claimed_deeds import never_run
from localllm.tui.headless import HeadlessConfirmer
from tests.support.agents import call, make_agent, make_tools, scripted


@pytest.mark.parametrize(
    ("request_", "answer", "commands", "operation"),
    [
        ("Tag this as v1.0 and push", "Tagged v1.0 and pushed.", ["git tag v1.0"], "push"),
        (
            "Stash my changes and switch to a new branch wip",
            "Your changes are stashed.",
            ["git checkout -b wip"],
            "stash",
        ),
        ("v1.0 のタグを付けてプッシュして", "タグを付け、プッシュしました。", ["git tag v1.0", "git log -1"], "push"),
        ("Tag this as v1.0", "I tagged the commit as v1.0.", [], "tag"),
        ("hot をリベースして", "リベースしました。", ["cd . && git status"], "rebase"),
    ],
)
def test_what_was_not_run(request_: str, answer: str, commands: list[str], operation: str) -> None:
    assert never_run(request_, answer, commands) == operation


@pytest.mark.parametrize(
    ("request_", "answer", "commands"),
    [
        ("Tag this as v1.0 and push", "Tagged v1.0 and pushed.", ["git tag v1.0 && git push"]),
        ("Tag this as v1.0 and push", "Tagged v1.0. I could not push: there is no remote.", ["git tag v1.0"]),
        ("Tag this as v1.0 and push", "Tagged v1.0. Push it with git push.", ["git tag v1.0"]),
        ("Release it: tag and push", "It is tagged and pushed.", ["make release"]),
        ("Release it: tag and push", "It is tagged and pushed.", ["cd x; ./release.sh"]),
        ("Why was it not pushed?", "It was not pushed, as there is no remote.", ["git remote -v"]),
        ("What does git stash do?", "It keeps your changes; what is stashed comes back with git stash pop.", []),
        ("Tag this as v1.0 and push", "Tagged v1.0 and pushed.", None),
        ("Add push notifications", "Push notifications are added; each is pushed to the phone.", []),
    ],
)
def test_what_is_not_doubted(request_: str, answer: str, commands: list[str] | None) -> None:
    assert never_run(request_, answer, commands) == ""


@pytest.mark.anyio
async def test_a_push_that_never_ran_is_asked_for(tmp_path: Path) -> None:
    answer = "Tagged v1.0 and pushed."
    tools = make_tools(tmp_path, confirmer=HeadlessConfirmer(approve_all=True))
    turns = [call("run_command", command="git init -q; git commit -qm a --allow-empty; git tag v1.0"), answer, answer]
    agent = make_agent(scripted(*turns), tmp_path, tools=tools)
    result = await agent.execute_query("Tag this as v1.0 and push")
    assert "[git push was not run. Run it, or do not say so.]" in [one.text for one in agent.history.messages]
    assert result.status == "incomplete"
