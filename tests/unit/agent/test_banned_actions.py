"""What the request forbids to do with commands: commits."""

import subprocess
from pathlib import Path

import pytest

from localllm.agent.request_phrases import asks_for_commit, forbids_commit
from localllm.config.schema import SafetySettings
from localllm.safety.rules import line_of
from localllm.tools.banned_commands import commits
from localllm.tui.headless import HeadlessConfirmer
from tests.support.agents import Answering, call, make_agent, make_tools, scripted
from tests.support.each import each

pytestmark = pytest.mark.anyio


@each(
    "request_",
    [
        "Quote the cd in backup.sh, but do not commit.",
        "Fix it. Don't commit it yet.",
        "Fix the typo and don't commit anything",
        "Fix it without committing.",
        "Fix it, no commits please.",
        "Rename f to g (no commit!)",
        "Stage the change, but please don't create a commit.",
        "Never commit or push. Fix a.py.",
        "Don't commit until I've looked at it.",
        "Fix a.py; leave the changes uncommitted.",
        "Fix a.py. Nothing must be committed.",
        "Fix a.py, I'll commit it myself.",
        "No need to commit. Fix a.py.",
        "backup.sh の cd を引用符で囲んで。コミットはしないで。",
        "a.py を直して。まだコミットしないでください。",
        "a.py を直して、コミットせずに差分を見せて",
        "a.py を直して。コミット不要。",
        "a.py を直して（コミットはしなくていいです）",
        "git commit はしないこと。a.py を直して。",
        "a.py を直して。コミットやプッシュはしないように。",
        "a.py を直して。コミットは自分でします。",
        "私が確認するまでコミットしないで。",
        "コミットは禁止です。",
    ],
)
def test_a_ban_on_commits(request_: str) -> None:
    assert forbids_commit(request_)
    assert not asks_for_commit(request_)


@each(
    "request_",
    [
        "Fix a.py and commit it.",
        "Fix a.py. Don't commit yet, run the tests first, then commit.",
        "Commit a.py, but don't commit b.py.",
        "Commit it, and don't commit secrets.json",
        "Don't commit to main, use a branch.",
        "Don't commit if the tests fail.",
        "Don't commit until the tests pass.",
        "Why do the hooks not commit anything?",
        "Add an option so that we don't commit large files.",
        "Find out which threads do not commit.",
        "There are no commits by Sato in this branch?",
        "Commit with no commit body.",
        "Show me the uncommitted changes.",
        "a.py を直してコミットして。",
        "テストが通らなければコミットしないで。",
        "テストが通るまでコミットしないで。",
        "main にはコミットしないで、ブランチを作ってコミットして。",
        "コミットメッセージは不要な行を消して",
        "なぜコミットされないの？",
        "コミットしないとどうなりますか？",
        "コミットできない原因を調べて",
        "最後のコミットを教えて",
        "コミットされていない変更を見せて",
        "a.py を直して。b.py はコミットしないで。",
        "秘密のファイルをコミットしないようにして",
        "",
    ],
)
def test_no_ban_on_commits(request_: str) -> None:
    assert not forbids_commit(request_)


@each(
    ("command", "is_commit"),
    [
        ("git commit -m x", True),
        ("git add -A && git -C . -c user.name=a commit -qam x", True),
        ("bash -c 'git commit -m x'", True),
        ("timeout 5 git commit --amend", True),
        ("git log --grep commit", False),
        ("grep -rn 'git commit' docs", False),
        ("echo git commit", False),
        ("git show commit", False),
        ("git log --oneline && $PAGER commit.txt", False),
        ("pre-commit run --all-files", False),
    ],
)
def test_commands_that_commit(command: str, is_commit: bool) -> None:
    assert commits(line_of(command)) == is_commit


FIX = call("edit_file", file_path="a.py", old_string="x = 1", new_string="x = 2")
COMMIT = call("git_commit", message="Set x to 2")
BY_COMMAND = call("run_command", command="git -c user.name=a -c user.email=a@example.org commit -qam 'Set x to 2'")
REQUEST = "Set x to 2 in a.py, but do not commit."
ANSWER = "x is 2 in a.py; nothing was run."


async def test_no_commit_is_made_where_nobody_is_there(tmp_path: Path) -> None:
    repository(tmp_path)
    tools = make_tools(tmp_path, confirmer=HeadlessConfirmer(approve_all=True))
    agent = make_agent(scripted(FIX, COMMIT, BY_COMMAND, ANSWER, COMMIT, "Committed."), tmp_path, tools=tools)
    result = await agent.execute_query(REQUEST)
    assert result.status == "done"
    assert (subjects(tmp_path), (tmp_path / "a.py").read_text()) == (["first"], "x = 2\n")
    await agent.execute_query("Now commit it.")
    assert subjects(tmp_path) == ["Set x to 2", "first"]


async def test_a_person_is_asked_about_it_in_this_turn_and_while_it_goes_on(tmp_path: Path) -> None:
    repository(tmp_path)
    confirmer = Answering(approve=False)
    tools = make_tools(tmp_path, confirmer=confirmer, safety=SafetySettings(mode="auto"))
    agent = make_agent(scripted(FIX, BY_COMMAND, ANSWER, COMMIT, ANSWER), tmp_path, tools=tools)
    await agent.execute_query(REQUEST)
    await agent.execute_query("Go on.")
    assert [one.reason for one in confirmer.asked] == ["You asked that nothing be committed."] * 2
    assert subjects(tmp_path) == ["first"]


def repository(folder: Path) -> None:
    (folder / "a.py").write_text("x = 1\n")
    git(folder, "init", "-q")
    for name, value in (("user.name", "a"), ("user.email", "a@example.org")):
        git(folder, "config", name, value)
    git(folder, "add", "a.py")
    git(folder, "commit", "-qm", "first")


def subjects(folder: Path) -> list[str]:
    return git(folder, "log", "--format=%s").splitlines()


def git(folder: Path, *arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=folder, check=True, capture_output=True, text=True).stdout
