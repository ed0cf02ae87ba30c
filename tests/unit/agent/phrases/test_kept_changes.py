"""What a request says is to be kept, no command of git throws away."""

import subprocess
from pathlib import Path

import pytest

from localllm.agent.phrases.kept_changes import keeps_changes
from localllm.agent.prohibitions import bans_of
from localllm.safety.rules import line_of
from localllm.tools.banned_commands import discards
from localllm.tui.headless import HeadlessConfirmer
from tests.support.agents import call, make_agent, make_tools, scripted
from tests.support.each import each

pytestmark = pytest.mark.anyio

KEPT = [
    "Undo the last commit but keep the changes",
    "Undo the last commit, keeping my changes",
    "Uncommit the last commit, leave the changes in the work tree",
    "Revert the last commit without losing the changes",
    "Reset to HEAD~2 and keep all changes staged",
    "Remove the last commit from the history. Don't lose the edits!",
    "Take back the commit; the changes should stay",
    "Undo the commit, but do not throw away the work",
    "Undo the commit and preserve the local changes",
    "最後のコミットを取り消して。変更は残して",
    "直前のコミットをなかったことにして、変更は手元に残してください",
    "コミットだけ取り消して、編集内容はそのまま残して",
    "直近のコミットを取り消したいが変更は消さないで",
    "コミットを取り消す。ファイルの変更は維持。",
    "最後のコミットを取り消し、変更は作業ツリーに残したい",
]
LOST = [
    "Discard all my changes",
    "Keep the changes small, and reset hard to origin/main",
    "Keep the changelog up to date",
    "Keep a list of what changes",
    "Undo the last commit and its changes",
    "Throw away the changes but keep the commit",
    "Keep the changes in b.py, discard those in a.py",
    "Reset the work tree to HEAD",
    "Summarise the changes and keep it short",
    "変更を破棄して",
    "変更が残っているので全部元に戻して",
    "変更点を確認して、ログに残して",
    "変更は残さず、全部捨てて",
    "最後のコミットを取り消して",
]


@each("request_", KEPT)
def test_changes_are_to_be_kept(request_: str) -> None:
    assert keeps_changes(request_)
    assert bans_of(request_).discards


@each("request_", LOST)
def test_nothing_is_to_be_kept(request_: str) -> None:
    assert not keeps_changes(request_)


@each(
    ("command", "is_lost"),
    [
        ("git reset --hard HEAD~1", True),
        ("git -C . reset -q --hard HEAD^", True),
        ("git checkout -- .", True),
        ("git checkout HEAD~1 -- .", True),
        ("git restore .", True),
        ("git restore --staged --worktree .", True),
        ("git checkout -f main", True),
        ("git reset --soft HEAD~1 && git stash && git stash drop", True),
        ("git reset --soft HEAD~1", False),
        ("git reset HEAD~1", False),
        ("git reset --mixed HEAD~1 && git status", False),
        ("git restore --staged .", False),
        ("git checkout -b next", False),
        ("git checkout main", False),
        ("git stash push -m keep && git reset --hard origin/main && git stash pop", False),
        ("git commit -m 'no reset --hard'", False),
    ],
)
def test_what_throws_changes_away(command: str, is_lost: bool) -> None:
    assert discards(line_of(command)) is is_lost


@pytest.mark.parametrize("request_", [KEPT[0], KEPT[9]])
async def test_changes_that_are_to_be_kept_are_not_reset_where_nobody_is_there(tmp_path: Path, request_: str) -> None:
    git = ["git", "-c", "user.name=U", "-c", "user.email=u@example.org"]
    for text in ("one\n", "two\n"):
        (tmp_path / "a.txt").write_text(text)
        for words in (["init", "-q"], ["add", "a.txt"], ["commit", "-qm", text.strip()]):
            subprocess.run([*git, *words], cwd=tmp_path, check=True)
    tools = make_tools(tmp_path, confirmer=HeadlessConfirmer(approve_all=True))
    turns = [call("run_command", command=f"git reset -q --{how} HEAD~1") for how in ("hard", "soft")]
    agent = make_agent(scripted(*turns, "The commit is undone."), tmp_path, tools=tools)
    await agent.execute_query(request_)
    assert (tmp_path / "a.txt").read_text() == "two\n"
    log = subprocess.run([*git, "log", "--format=%s"], cwd=tmp_path, check=True, capture_output=True, text=True)
    assert log.stdout == "one\n"
