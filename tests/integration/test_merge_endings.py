"""Commands that leave a merge in the middle: what model and user are told of it, and what of an answer that denies it.
In real repositories."""

import subprocess
from pathlib import Path

import pytest

from localllm.agent.react_agent import ReActAgent
from localllm.base.events import Notice, RunFinished
from localllm.llm.messages import ToolMessage
from tests.support.agents import call, make_tools
from tests.unit.agent.test_run_endings import agent_for, remarks

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("git_user")]

BASE = "def total(items):\n    s = sum(items)\n    return s\n"


@pytest.fixture
def git_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for who in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{who}_NAME", "A")
        monkeypatch.setenv(f"GIT_{who}_EMAIL", "a@example.org")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "none"))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")


def git(root: Path, *arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=root, capture_output=True, text=True, check=False).stdout


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A branch, checked out, of two commits that both conflict with main: in calc.py, then in notes.md."""
    root = tmp_path / "project"
    root.mkdir()
    git(root, "init", "--quiet", "--template=", "--initial-branch=main")
    git(root, "config", "user.name", "A")
    git(root, "config", "user.email", "a@example.org")
    commit(root, "base", {"calc.py": BASE, "notes.md": "notes\n"})
    git(root, "checkout", "--quiet", "-b", "feature")
    commit(root, "Round totals", {"calc.py": BASE.replace("return s", "return round(s, 2)")})
    commit(root, "Notes", {"notes.md": "notes\nfeature\n"})
    git(root, "checkout", "--quiet", "main")
    commit(root, "Float", {"calc.py": BASE.replace("return s", "return float(s)")})
    commit(root, "Other notes", {"notes.md": "notes\nmain\n"})
    git(root, "checkout", "--quiet", "feature")
    return root


def commit(root: Path, message: str, files: dict[str, str]) -> None:
    for name, text in files.items():
        (root / name).write_text(text)
    git(root, "add", ".")
    git(root, "commit", "--quiet", "-m", message)


def run(command: str) -> dict[str, object]:
    return call("run_command", command=command)


def results(agent: ReActAgent) -> list[str]:
    return [one.text for one in agent.history.messages if isinstance(one, ToolMessage)]


REBASE = run("git rebase main")
ON = run("git add -A && GIT_EDITOR=true git rebase --continue")
DONE = "The rebase is complete. All conflicts are resolved."
MARKS = "calc.py (lines 3, 7)"


async def played(agent: ReActAgent, request: str) -> tuple[str, list[str]]:
    """The status of a run, and its notices."""
    events = [event async for event in agent.run(request)]
    status = next(event.status for event in events if isinstance(event, RunFinished))
    return status, [event.text for event in events if isinstance(event, Notice)]


async def test_a_commit_with_conflict_markers_is_told_and_doubted(project: Path) -> None:
    agent = agent_for(project, REBASE, ON, *[DONE] * 4)
    status, notices = await played(agent, "Rebase this branch onto main.")
    assert f"[Committed with conflict markers: {MARKS}. Resolve these, and add the files again.]" in results(agent)[1]
    assert f"Committed with conflict markers: {MARKS}." in notices
    assert remarks(agent) == [
        "[calc.py: Conflict markers are left, at line 3, 7: resolve these as well.]",
        "[A rebase is in progress, with notes.md in conflict. Finish it, or say that it is not finished.]",
    ]
    assert status == "incomplete"


@pytest.mark.parametrize(
    ("commands", "told"),
    [
        (["git merge -q main", "git add calc.py"], f"[Added with conflict markers: {MARKS}. "),
        (["git merge main; git add -A"], f"[Added with conflict markers: {MARKS}, notes.md (lines 2, 6). "),
        (
            ["git merge main; git commit -qam Merge"],
            f"[Committed with conflict markers: {MARKS}, notes.md (lines 2, 6)",
        ),
        (
            ["git cherry-pick main~1 || true", "cd . && git commit -qam Pick"],
            f"[Committed with conflict markers: {MARKS}",
        ),
    ],
)
async def test_files_taken_with_conflict_markers_are_told_at_once(
    project: Path, commands: list[str], told: str
) -> None:
    agent = agent_for(project, *map(run, commands), "It is still in progress.")
    await agent.execute_query("Merge main.")
    assert told in results(agent)[-1]
    assert not any("with conflict markers" in result for result in results(agent)[:-1])


async def test_of_a_merge_that_is_resolved_nothing_is_said(project: Path) -> None:
    resolve = "printf 'resolved\\n' | tee calc.py notes.md && git add -A && git commit -qm Merge && true"
    agent = agent_for(project, run("git merge main"), run(resolve), "Merged main. All conflicts are resolved.")
    await agent.execute_query("Merge main.")
    assert remarks(agent) == []
    assert not any("with conflict markers" in result for result in results(agent))


async def test_a_file_in_conflict_again_with_the_next_commit_was_not_taken(project: Path) -> None:
    git(project, "reset", "--hard", "--quiet", "HEAD~1")
    commit(project, "More", {"calc.py": BASE.replace("return s", "return round(s, 3)")})
    on = run("echo 's = 1' > calc.py && git add -A && GIT_EDITOR=true git rebase --continue")
    agent = agent_for(project, REBASE, on, "It stopped again.")
    await agent.execute_query("Rebase this branch onto main.")
    assert all("Merge conflict in calc.py" in result for result in results(agent))
    assert not any("with conflict markers" in result for result in results(agent))


async def test_a_rebase_in_progress_is_not_finished_even_if_the_answer_says_so(project: Path) -> None:
    agent = agent_for(project, REBASE, "The rebase stopped: calc.py is in conflict.")
    result = await agent.execute_query("Rebase this branch onto main.")
    assert remarks(agent) == []
    assert "a rebase is in progress, with calc.py in conflict" in map(str, result.unverified)


async def test_a_merge_without_commit_may_be_in_progress(project: Path) -> None:
    git(project, "checkout", "--quiet", "-b", "fresh", "main~2")
    merge = run("git merge --no-commit --no-ff main")
    agent = agent_for(project, merge, "Main is merged; review it with git diff --cached.")
    result = await agent.execute_query("Merge main, but do not commit it.")
    assert remarks(agent) == []
    assert not any("in progress" in str(reason) for reason in result.unverified)


async def test_a_merge_of_the_user_is_none_of_the_run(project: Path) -> None:
    git(project, "merge", "main")
    read = run("cat notes.md")
    agent = agent_for(project, read, "The notes are from both branches.")
    result = await agent.execute_query("What is in the notes?")
    assert (remarks(agent), result.unverified) == ([], ())


@pytest.mark.parametrize(
    ("command", "end"),
    [
        ("git rebase main", "A rebase is in progress in the repository and stays so: “git rebase --abort” ends it."),
        ("git merge main", "A merge is in progress in the repository and stays so: “git merge --abort” ends it."),
        (
            "git bisect start HEAD main~2 && git checkout -q main~2 && git bisect good",
            "A bisect is in progress in the repository and stays so: “git bisect reset” ends it.",
        ),
    ],
)
async def test_undo_says_what_git_has_not_ended(project: Path, command: str, end: str) -> None:
    tools = make_tools(project)
    tools.begin_turn("Begin.")
    start = tools.changes.position
    await tools.execute_tool("run_command", command=command)
    assert end in tools.changes.undo(turn=True)
    assert end not in tools.changes.redo()
    assert end in tools.changes.rewind(start)
    git(project, "checkout", "--force", "--quiet", "main")
    for ending in (["rebase", "--abort"], ["merge", "--abort"], ["bisect", "reset"]):
        git(project, *ending)
    assert not any("in progress" in line for line in tools.changes.undo())


@pytest.mark.parametrize(
    ("commands", "is_unchecked"),
    [
        (["git bisect start feature main~2 && git bisect run true", "git bisect reset"], False),
        (["git checkout -q main"], False),
        (["sed -i 's/return s/return 2/' calc.py", "git checkout -q calc.py"], False),
        (["sed -i 's/return/return 1 +/' calc.py && python3 -B -c 'import calc; print(1)'"], False),
        (["git checkout -q main", "sed -i 's/return/return 1 +/' calc.py"], True),
        (["sed -i 's/return/return 1 +/' calc.py", "git stash", "git stash pop"], True),
        (["sed -i 's/return/return 1 +/' calc.py", "git commit -qam More"], True),
        (["python3 -B -c 'import calc' && sed -i 's/return/return 1 +/' calc.py"], True),
        (["git checkout -q -b old main~2", "git merge -q main"], True),
    ],
)
async def test_code_that_git_has_restored_is_no_change_of_the_run(
    project: Path, commands: list[str], is_unchecked: bool
) -> None:
    agent = agent_for(project, *map(run, commands), "That is all.")
    result = await agent.execute_query("Have a look at calc.py and its history.")
    told = ["nothing was run after calc.py changed"] if is_unchecked else []
    assert [*map(str, result.unverified)] == told
