"""The git tools, on real repositories; some of them mean harm."""

import os
import subprocess
import sys
import time
from collections.abc import Awaitable, Generator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, cast

import pytest

from localllm.base.errors import LocalLLMError, ToolExecutionError
from localllm.base.events import ToolCall
from localllm.base.jsontext import encode_json
from localllm.config.schema import SafetySettings, Settings
from localllm.safety.paths import ProjectRoot
from localllm.safety.tool_definition import Preview, Tool, ToolOutput
from localllm.sandbox.backend import LEVELS, Level
from localllm.sandbox.runner import SandboxRunner
from localllm.tools.context import ToolContext
from localllm.tools.git import git_commit, git_diff, git_log, git_status
from localllm.tools.git_commit import preview_commit
from localllm.tools.git_execution import Question
from localllm.tools.git_repository import Repository
from localllm.tui.headless import HeadlessConfirmer
from tests.support.agents import make_tools
from tests.support.in_time import ends

pytestmark = pytest.mark.anyio


class Project:
    """A folder, a context to run tools in, and git by hand."""

    levels: Sequence[Level] = LEVELS

    def __init__(self, root: Path, *, init: bool = True, state: Path | None = None) -> None:
        root.mkdir(parents=True, exist_ok=True)
        self.root = root
        self.state = state or root.parent / "state"
        if init:
            self.git("init", "--quiet", "--template=", "--initial-branch=main")

    def git(self, *arguments: str, ok: bool = True) -> str:
        done = subprocess.run(["git", *arguments], cwd=self.root, capture_output=True, text=True, check=False)
        assert not ok or done.returncode == 0, done.stderr
        return done.stdout

    def write(self, name: str, text: str = "text\n") -> Path:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
        return path

    def commit(self, name: str = "a.txt", text: str = "one\n", message: str = "first") -> None:
        self.write(name, text)
        self.git("--literal-pathspecs", "add", "--", name)
        self.git("commit", "--quiet", "-m", message)

    safety = SafetySettings()

    def context(self) -> ToolContext:
        return ToolContext(
            root=ProjectRoot(self.root),
            settings=Settings(safety=self.safety),
            runner=SandboxRunner(self.root, state_folder=self.state, levels=self.levels),
            output_limit=5_000,
            overflow_folder=self.root / ".localllm" / "tool-output",
        )

    async def run(self, tool: Tool, **arguments: Any) -> ToolOutput:
        return await tool.function(self.context(), **tool.parse(arguments))

    async def fail(self, tool: Tool, **arguments: Any) -> str:
        with pytest.raises(LocalLLMError) as caught:
            await self.run(tool, **arguments)
        assert str(caught.value)
        return caught.value.key

    def committed(self) -> set[str]:
        """The files of the last commit, by git's own word."""
        return set(self.git("show", "--format=", "--name-only", "-z", "HEAD").split("\0")[:-1])


@pytest.fixture
def user_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The settings file of a user with a name, in place of those of the machine."""
    file = tmp_path / "gitconfig"
    file.write_text("[user]\n\tname = 山田\n\temail = yamada@example.org\n", "utf-8")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(file))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    return file


@pytest.fixture
def project(tmp_path: Path, user_settings: Path) -> Project:
    assert user_settings.exists()
    return Project(tmp_path / "project")


async def test_status_before_the_first_commit(project: Project) -> None:
    project.write("new.txt")
    output = await project.run(git_status)
    assert output.payload["branch"] == "main"
    assert output.payload["untracked"] == ["new.txt"]
    assert "no commits yet" in output.for_model


async def test_status_tells_staged_changed_and_new_apart(project: Project) -> None:
    project.commit("both.txt")
    project.commit("gone.txt")
    project.commit("old name.txt", "a long enough text to be found again\n" * 5)
    project.write("both.txt", "two\n")
    project.git("add", "both.txt")
    project.write("both.txt", "three\n")
    (project.root / "gone.txt").unlink()
    project.git("mv", "old name.txt", "新しい 名前.txt")
    project.write("folder/new.txt")
    output = await project.run(git_status)
    assert output.payload == {
        "branch": "main",
        "staged": ["both.txt", "新しい 名前.txt"],
        "modified": ["both.txt", "gone.txt"],
        "untracked": ["folder/"],
        "ahead": 0,
        "behind": 0,
        "conflicts": [],
        "operation": "",
    }
    assert "R old name.txt -> 新しい 名前.txt" in output.for_model
    assert "D gone.txt" in output.for_model


async def test_status_counts_against_the_upstream(project: Project, tmp_path: Path) -> None:
    project.commit()
    clone = Project(tmp_path / "clone", init=False)
    clone.git("clone", "--quiet", str(project.root), ".")
    clone.commit("b.txt")
    project.commit("c.txt")
    project.commit("d.txt")
    clone.git("fetch", "--quiet")
    output = await clone.run(git_status)
    assert (output.payload["ahead"], output.payload["behind"]) == (1, 2)
    assert "1 ahead and 2 behind origin/main" in output.for_model


async def test_status_of_a_detached_head_and_a_merge_in_conflict(project: Project) -> None:
    project.commit()
    project.git("checkout", "--quiet", "-b", "other")
    project.commit("a.txt", "other\n")
    project.git("checkout", "--quiet", "main")
    project.commit("a.txt", "main\n")
    project.git("merge", "other", ok=False)
    output = await project.run(git_status)
    assert output.payload["conflicts"] == ["a.txt"]
    assert output.payload["operation"] == "merge"
    assert await project.fail(git_commit, message="too early") == "git_conflict_markers"
    project.git("merge", "--abort")
    project.git("checkout", "--quiet", "--detach")
    output = await project.run(git_status)
    assert output.payload["branch"] == ""
    assert "detached at " in output.for_model


async def test_a_folder_without_repository(tmp_path: Path, user_settings: Path) -> None:
    plain = Project(tmp_path / "plain", init=False)
    for tool in (git_status, git_diff, git_log):
        assert await plain.fail(tool) == "git_not_a_repository"
    assert await plain.fail(git_commit, message="x") == "git_not_a_repository"


async def test_diff_of_the_working_copy_the_stage_and_one_file(project: Project) -> None:
    project.commit("a.txt", "one\n")
    project.commit("日本 語.txt", "一\n")
    project.write("a.txt", "two\n")
    project.write("日本 語.txt", "二\n")
    project.git("add", "a.txt")
    output = await project.run(git_diff)
    assert output.payload["files"] == ["日本 語.txt"]
    assert "-一\n+二" in output.for_model
    output = await project.run(git_diff, staged=True)
    assert output.payload["files"] == ["a.txt"]
    assert "-one\n+two" in output.for_model
    output = await project.run(git_diff, file_path="a.txt")
    assert output.payload == {"diff": "", "files": []}
    assert "staged=true" in output.for_model
    assert await project.fail(git_diff, file_path="../elsewhere") == "path_outside"


async def test_diff_of_a_japanese_encoding_and_of_a_name_like_a_pattern(project: Project) -> None:
    for name in ("*.txt", ":(top)b", "--output=x"):
        project.commit(name)
        project.write(name, "two\n")
    (project.root / "sjis.txt").write_bytes("日本語の文章です\n".encode("cp932"))
    project.git("add", "sjis.txt")
    output = await project.run(git_diff, staged=True)
    assert "+日本語の文章です" in output.for_model
    for name in ("*.txt", ":(top)b", "--output=x"):
        output = await project.run(git_diff, file_path=name)
        assert output.payload["files"] == [name]


async def test_a_long_diff_is_cut_and_kept(project: Project) -> None:
    project.commit("a.txt")
    project.write("a.txt", "".join(f"line {i}\n" for i in range(10_000)))
    output = await project.run(git_diff)
    assert len(output.for_model) < 6_000
    assert "+line 9999" in output.for_model
    assert list((project.root / ".localllm" / "tool-output").iterdir())


async def test_log(project: Project) -> None:
    assert (await project.run(git_log)).payload == {"commits": []}
    project.commit("a.txt", message="最初の変更")
    project.commit("b.txt", message="second")
    project.git("mv", "a.txt", "c.txt")
    project.git("commit", "--quiet", "-m", "rename\x1b[31m")
    commits = (await project.run(git_log)).payload["commits"]
    assert [commit["subject"] for commit in commits] == ["rename␛[31m", "second", "最初の変更"]
    assert commits[0]["author"] == "山田"
    assert commits[0]["hash"] == project.git("rev-parse", "HEAD").strip()
    assert len((await project.run(git_log, max_count=1)).payload["commits"]) == 1
    followed = (await project.run(git_log, file_path="c.txt")).payload["commits"]
    assert [commit["subject"] for commit in followed] == ["rename␛[31m", "最初の変更"]


async def test_commit_takes_what_is_staged(project: Project) -> None:
    project.commit("a.txt")
    project.commit("b.txt")
    project.write("a.txt", "staged\n")
    project.git("add", "a.txt")
    project.write("a.txt", "later\n")
    project.write("b.txt", "two\n")
    project.write("new.txt")
    output = await project.run(git_commit, message="Change a\n\nBecause.\n")
    assert output.payload["files"] == ["a.txt"]
    assert output.payload["hash"] == project.git("rev-parse", "HEAD").strip()
    assert project.git("show", "HEAD:a.txt") == "staged\n"
    assert project.git("log", "-1", "--format=%B").strip() == "Change a\n\nBecause."
    assert "a.txt, b.txt, new.txt" in output.for_model


async def test_no_message_steers_the_terminal_that_shows_the_commit(project: Project) -> None:
    project.commit()
    project.write("a.txt", "two\n")
    message = "Fix \x1b]0;pwn\x07\x1b[2Jhi \u202eabc\r\n\n\tBecause\x9b.\n"
    seen = "Fix ␛]0;pwn␇␛[2Jhi <U+202E>abc"
    assert git_commit.preview
    shown = await cast("Awaitable[Preview]", git_commit.preview(project.context(), message=message))
    assert isinstance(shown, Preview)
    assert shown.detail.startswith(f"{seen}\n\n\tBecause<U+009B>.\n")
    output = await project.run(git_commit, message=message)
    assert output.payload["message"] == f"{seen}\n\n\tBecause<U+009B>.\n"
    assert project.git("log", "-1", "--format=%B").strip() == f"{seen}\n\n\tBecause<U+009B>."


async def test_commit_takes_tracked_changes_where_nothing_is_staged(project: Project) -> None:
    project.commit("a.txt")
    project.commit("gone.txt")
    project.write("a.txt", "two\n")
    project.write("new.txt")
    (project.root / "gone.txt").unlink()
    output = await project.run(git_commit, message="work")
    assert project.committed() == {"a.txt", "gone.txt"}
    assert "new.txt" in output.for_model
    assert await project.fail(git_commit, message="again") == "git_only_new"
    (project.root / "new.txt").unlink()
    assert await project.fail(git_commit, message="again") == "git_nothing_to_commit"


async def test_commit_leaves_out_what_the_user_had_changed(tmp_path: Path, user_settings: Path) -> None:
    assert user_settings.exists()
    project = Project(tmp_path / "project")
    for name in ("own.py", "mine.py"):
        project.commit(name)
        project.write(name, "two\n")
    tools = make_tools(project.root, confirmer=HeadlessConfirmer(approve_all=True))
    edit = ToolCall("a", "write_file", '{"file_path": "own.py", "content": "three\\n"}')
    save = ToolCall("b", "git_commit", '{"message": "Three"}')
    await tools.execute(ToolCall("r", "read_file", '{"file_path": "own.py"}'), lambda _: None)
    await tools.execute(edit, lambda _: None)
    output = await tools.execute(save, lambda _: None)
    assert project.committed() == {"own.py"}
    assert "Not in this commit: mine.py. Name them in files" in output.for_model


@pytest.mark.parametrize("path", ["new.py", "pkg/new.py"])
async def test_a_session_that_only_made_new_files_commits_nothing_of_the_user(
    tmp_path: Path, user_settings: Path, path: str
) -> None:
    assert user_settings.exists()
    project = Project(tmp_path / "project")
    project.commit("mine.py")
    project.write("mine.py", "two\n")
    tools = make_tools(project.root, confirmer=HeadlessConfirmer(approve_all=True))
    made = encode_json({"file_path": path, "content": "one = 1\n"}).decode()
    await tools.execute(ToolCall("a", "write_file", made), lambda _: None)
    output = await tools.execute(ToolCall("b", "git_commit", '{"message": "New"}'), lambda _: None)
    assert output.error
    assert output.error.key == "git_only_own_new"
    assert f"new files ({path})" in output.for_model
    assert "work: mine.py" in output.for_model
    named = encode_json({"message": "New", "files": [path]}).decode()
    await tools.execute(ToolCall("c", "git_commit", named), lambda _: None)
    assert project.committed() == {path}


def test_a_commit_of_very_many_files_is_planned_in_bounded_time() -> None:
    code = """
        import asyncio
        from types import SimpleNamespace
        from localllm.tools.git_commit import _choose
        from localllm.tools.git_repository import Change

        async def status():
            return SimpleNamespace(changes=changes)

        changes = [Change(f"src/{number}.py", ".", "M") for number in range(120_000)]
        repository = SimpleNamespace(commits_whole=False, status=status)
        plan = asyncio.run(_choose(repository, None, [], [one.path for one in changes[::2]]))
        assert (len(plan.changes), len(plan.left_out)) == (60_000, 60_000)
    """
    ends(code)


async def test_where_only_new_files_are_there_they_are_named(project: Project) -> None:
    for number in range(40):
        project.write(f"new{number:02}.txt")
    with pytest.raises(ToolExecutionError) as caught:
        await project.run(git_commit, message="work")
    told = caught.value.english
    assert "new00.txt" in told
    assert " more]" in told
    assert "List those to commit in files." in told
    output = await project.run(git_commit, message="work", files=["new00.txt"])
    assert output.payload["files"] == ["new00.txt"]


@pytest.mark.parametrize("first", [True, False])
async def test_commit_of_named_files_leaves_the_stage_alone(project: Project, first: bool) -> None:
    if not first:
        project.commit("other.txt")
    project.write("mine.txt", "users\n")
    project.git("add", "mine.txt")
    project.write('new dir/新 "file".txt')
    output = await project.run(git_commit, message="only these", files=["new dir"])
    assert output.payload["files"] == ['new dir/新 "file".txt']
    assert project.git("status", "--porcelain").split() == ["A", "mine.txt"]
    assert project.git("show", ":mine.txt") == "users\n"


async def test_a_commit_that_fails_leaves_the_stage_as_it_was(project: Project) -> None:
    project.commit("a.txt")
    project.write("new.txt")
    before = project.git("status", "--porcelain=v2")
    (project.root / ".git" / "refs" / "heads" / "main.lock").touch()
    assert await project.fail(git_commit, message="x", files=["new.txt"]) == "git_failed"
    assert project.git("status", "--porcelain=v2") == before


async def test_commit_of_files_that_make_no_sense(project: Project) -> None:
    project.commit("a.txt")
    project.commit(".gitignore", "*.log\n")
    project.write("x.log")
    project.write("new.txt")
    assert await project.fail(git_commit, message="m", files=["typo.txt", "new.txt"]) == "file_missing"
    assert await project.fail(git_commit, message="m", files=["x.log"]) == "git_ignored"
    assert await project.fail(git_commit, message="m", files=["a.txt"]) == "git_nothing_to_commit"
    assert await project.fail(git_commit, message="m", files=["../out"]) == "path_outside"
    assert await project.fail(git_commit, message=" \n", files=["new.txt"]) == "git_no_message"
    output = await project.run(git_commit, message="-m", files=["new.txt", "a.txt"])
    assert output.payload["files"] == ["new.txt"]


async def test_unchanged_names_are_looked_at_in_one_call(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (".gitignore", "a.txt", "b.txt", "lib/c.txt", "lib/d.txt"):
        project.commit(name, "*.log\n")
    project.write("lib/x.log")
    asked: list[tuple[str, ...]] = []
    run = Repository.run

    async def counted(self: Repository, question: Question) -> bytes:
        asked.append(question.arguments)
        return await run(self, question)

    monkeypatch.setattr(Repository, "run", counted)
    for few in (["a.txt"], ["a.txt", "b.txt", "lib/c.txt", "lib/d.txt"]):
        asked.clear()
        assert await project.fail(git_commit, message="m", files=few) == "git_nothing_to_commit"
        assert len([one for one in asked if "--ignored" in one]) == 1
    for ignored in ("lib/x.log", "lib", "."):
        assert await project.fail(git_commit, message="m", files=["a.txt", ignored]) == "git_ignored"


async def test_a_project_that_the_repository_around_it_ignores(project: Project) -> None:
    project.commit(".gitignore", "vendor/\n")
    (project.root / "vendor/mine").mkdir(parents=True)
    for name in ("vendor/mine", "vendor"):
        inner = Project(project.root / name, init=False)
        inner.write("a.txt")
        assert await inner.fail(git_commit, message="m", files=["a.txt"]) == "git_ignored"


async def test_a_link_and_a_deleted_file_can_be_named(project: Project) -> None:
    project.commit("a.txt")
    (project.root / "link").symlink_to("/etc/hostname")
    (project.root / "a.txt").unlink()
    await project.run(git_commit, message="m", files=["link", "a.txt"])
    assert project.committed() == {"link", "a.txt"}


async def test_a_merge_can_be_finished(project: Project) -> None:
    project.commit()
    project.git("checkout", "--quiet", "-b", "other")
    project.commit("b.txt")
    project.commit("d.txt")
    project.git("checkout", "--quiet", "main")
    project.commit("c.txt")
    project.git("merge", "--no-commit", "other")
    project.write("b.txt", "other\n")
    project.write("new.txt")
    project.write("c.txt", "changed\n")
    output = await project.run(git_commit, message="merge", files=["b.txt", "new.txt"])
    assert output.payload["files"] == ["b.txt", "d.txt", "new.txt"]  # a merge is committed whole
    assert len(project.git("log", "-1", "--format=%P").split()) == 2
    assert project.git("show", "HEAD:b.txt") == "other\n"
    assert "This concludes the merge." in output.for_model
    assert "Not in this commit: c.txt." in output.for_model
    assert project.git("status", "--porcelain") == " M c.txt\n"


def in_conflict(project: Project, *, operation: str = "merge") -> None:
    """Leave conflicts in a.txt, of both sides, and b.txt, which one side has deleted and the other changed."""
    project.commit("b.txt")
    project.commit()
    project.git("checkout", "--quiet", "-b", "other")
    project.git("rm", "--quiet", "b.txt")
    project.commit("a.txt", "other\n")
    project.git("checkout", "--quiet", "main")
    project.write("b.txt", "main\n")
    project.git("add", "b.txt")
    project.commit("a.txt", "main\n")
    project.git(operation, "other", ok=False)


@pytest.mark.parametrize("levels", [LEVELS, ()], ids=["sandbox", "outside"])
@pytest.mark.parametrize("operation", ["merge", "cherry-pick"])
async def test_conflicts_that_are_resolved_are_committed(
    project: Project, operation: str, levels: Sequence[Level]
) -> None:
    project.levels = levels
    in_conflict(project, operation=operation)
    assert await project.fail(git_commit, message="x", files=["a.txt", "b.txt"]) == "git_conflict_markers"
    project.write("a.txt", "both\n")
    assert await project.fail(git_commit, message="x") == "git_unresolved"
    (project.root / "b.txt").unlink()
    output = await project.run(git_commit, message="x", files=["b.txt"])
    assert output.payload["files"] == ["a.txt", "b.txt"]
    assert f"This concludes the {operation}." in output.for_model
    assert project.git("show", "HEAD:a.txt") == "both\n"
    assert project.git("status", "--porcelain") == ""
    assert len(project.git("log", "-1", "--format=%P").split()) == (2 if operation == "merge" else 1)


async def test_a_rebase_goes_on_after_a_commit(project: Project) -> None:
    in_conflict(project, operation="rebase")
    project.write("a.txt", "both\n")
    output = await project.run(git_commit, message="main, on other", files=["a.txt", "b.txt"])
    assert "A rebase is in progress: git rebase --continue goes on with it." in output.for_model
    project.git("-c", "core.editor=true", "rebase", "--continue")
    assert project.git("log", "-1", "--format=%s %D").strip() == "main, on other HEAD -> main"


async def test_of_several_picked_commits_the_rest_is_waiting(project: Project) -> None:
    in_conflict(project)
    project.git("merge", "--abort")
    project.git("checkout", "--quiet", "other")
    project.commit("c.txt", "c\n")
    project.git("checkout", "--quiet", "main")
    project.git("cherry-pick", "other~1", "other", ok=False)
    (project.root / "b.txt").unlink()
    project.write("a.txt", "both\n")
    output = await project.run(git_commit, message="first", files=["a.txt", "b.txt"])
    assert "A cherry-pick is in progress: git cherry-pick --continue goes on with it." in output.for_model
    assert "cherry-pick in progress" in (await project.run(git_status)).for_model
    project.git("-c", "core.editor=true", "cherry-pick", "--continue")
    assert "in progress" not in (await project.run(git_status)).for_model
    assert (project.root / "c.txt").read_text() == "c\n"


async def test_a_file_of_a_submodule_is_committed_in_it(project: Project) -> None:
    project.commit()
    (project.root / "lib").mkdir()
    project.git("init", "--quiet", "lib")
    project.git("-C", "lib", "commit", "--quiet", "--allow-empty", "--message=first")
    project.git("add", "lib")
    project.git("commit", "--quiet", "--message=lib")
    project.write("lib/a.c", "1\n")
    assert await project.fail(git_commit, message="x", files=["lib/a.c"]) == "git_in_another"
    project.git("-C", "lib", "add", "a.c")
    project.git("-C", "lib", "commit", "--quiet", "--message=second")
    assert (await project.run(git_commit, message="x", files=["lib"])).payload["files"] == ["lib"]


async def test_a_merge_that_changes_nothing_here_is_committed(project: Project) -> None:
    in_conflict(project)
    project.git("checkout", "--ours", "a.txt")
    output = await project.run(git_commit, message="Keep ours", files=["a.txt", "b.txt"])
    assert output.payload["files"] == []
    assert len(project.git("log", "-1", "--format=%P").split()) == 2


async def test_a_conflict_without_a_merge(project: Project) -> None:
    project.commit("b.txt")
    project.commit()
    project.write("a.txt", "stashed\n")
    project.git("stash")
    project.commit("a.txt", "main\n")
    project.git("stash", "pop", ok=False)
    project.write("b.txt", "two\n")
    assert (await project.run(git_commit, message="x", files=["b.txt"])).payload["files"] == ["b.txt"]
    assert await project.fail(git_commit, message="x", files=["a.txt"]) == "git_conflict_markers"
    project.write("a.txt", "both\n")
    assert (await project.run(git_commit, message="x", files=["a.txt"])).payload["files"] == ["a.txt"]


async def test_a_commit_on_no_branch_is_said_to_be_on_none(project: Project) -> None:
    project.commit()
    project.commit("b.txt")
    project.git("bisect", "start", "HEAD", "HEAD~1")
    project.git("checkout", "--quiet", "--detach")
    project.write("a.txt", "two\n")
    assert git_commit.preview
    preview = await cast("Awaitable[Preview]", git_commit.preview(project.context(), message="x"))
    note = "A bisect is in progress: no branch has this commit, and git bisect reset leaves it behind."
    assert preview.detail.splitlines() == ["x", "", note, "", "  M a.txt"]
    assert note in (await project.run(git_commit, message="x")).for_model
    project.git("bisect", "reset")
    project.git("checkout", "--quiet", "--detach")
    project.write("b.txt", "two\n")
    assert "HEAD is detached: no branch has this commit." in (await project.run(git_commit, message="y")).for_model


async def test_the_preview_names_what_would_be_committed(project: Project) -> None:
    project.commit("a.txt")
    project.write("a.txt", "two\n")
    project.write("new.txt")
    context = ToolContext(
        root=ProjectRoot(project.root),
        settings=Settings(),
        runner=SandboxRunner(project.root, state_folder=project.root.parent / "state"),
        output_limit=5_000,
        overflow_folder=project.root,
    )
    assert git_commit.preview
    preview = await cast(
        "Awaitable[Preview]", git_commit.preview(context, message="Change\n\nall", files=["a.txt", "new.txt"])
    )
    assert preview.summary == "Commit 2 files: Change"
    assert preview.detail.splitlines() == ["Change", "", "all", "", "  M a.txt", "  A new.txt"]
    assert project.git("status", "--porcelain") == " M a.txt\n?? new.txt\n"


async def test_a_project_that_is_a_folder_of_a_repository(project: Project) -> None:
    project.commit("outside.txt")
    inner = Project(project.root / "inner", init=False, state=project.state)
    project.commit("inner/a.txt")
    project.write("outside.txt", "two\n")
    inner.write("a.txt", "two\n")
    inner.write("b.txt")
    output = await inner.run(git_status)
    assert (output.payload["modified"], output.payload["untracked"]) == (["a.txt"], ["b.txt"])
    assert (await inner.run(git_diff)).payload["files"] == ["a.txt"]
    output = await inner.run(git_commit, message="inside", files=["."])
    assert output.payload["files"] == ["a.txt", "b.txt"]
    assert project.git("status", "--porcelain") == " M outside.txt\n"
    project.git("add", "outside.txt")
    inner.write("a.txt", "three\n")
    assert await inner.fail(git_commit, message="all") == "git_staged_outside"
    await inner.run(git_commit, message="mine", files=["a.txt"])
    assert project.git("status", "--porcelain") == "M  outside.txt\n"


_RUNS_A_COMMAND = """
import asyncio, sys
from pathlib import Path
from localllm.sandbox.runner import SandboxRunner
root, state = map(Path, sys.argv[1:])
runner = SandboxRunner(root, state_folder=state)
asyncio.run(runner.run("sleep 50", cwd=root, timeout=60))
"""


@contextmanager
def command_of_another_program(root: Path, state: Path) -> Generator[None]:
    with subprocess.Popen([sys.executable, "-c", _RUNS_A_COMMAND, str(root), str(state)]) as other:
        try:
            while not list(state.glob("commands/[!.]*")) and other.poll() is None:
                time.sleep(0.05)
            yield
        finally:
            other.kill()


@pytest.mark.parametrize("beside", ["inner", ".", "other"])
async def test_outside_the_project_nothing_is_committed_beside_a_command_of_another_program(
    project: Project, beside: str
) -> None:
    project.commit("outside.txt")
    inner = Project(project.root / "inner", init=False, state=project.state)
    project.commit("inner/a.txt")
    inner.write("a.txt", "two\n")
    (project.root / beside).mkdir(exist_ok=True)
    with command_of_another_program(project.root / beside, project.state):
        assert await inner.fail(git_commit, message="m", files=["a.txt"]) == "git_other_program"
    await inner.run(git_commit, message="m", files=["a.txt"])


@pytest.mark.parametrize("tool", [git_status, git_diff, git_log, git_commit])
async def test_where_git_runs_outside_it_is_not_run_beside_a_command(project: Project, tool: Tool) -> None:
    project.commit("inner/a.txt")
    project.git("remote", "add", "origin", f"https://bob:{'0a' * 8}@example.com/x.git")
    inner = Project(project.root / "inner", init=False, state=project.state)
    inner.write("a.txt", "two\n")
    given = tool.parse({"message": "m"} if tool is git_commit else {})
    context = inner.context()
    running = await context.background.start(context.runner, "sleep 50", cwd=inner.root)
    with pytest.raises(ToolExecutionError) as caught:
        await tool.function(context, **given)
    assert caught.value.key == "git_background"
    running.kill()
    await running.wait(60)
    with command_of_another_program(project.root, project.state), pytest.raises(ToolExecutionError) as caught:
        await tool.function(context, **given)
    assert caught.value.key == "git_other_program"
    await tool.function(context, **given)


async def test_nothing_is_committed_beside_a_command(project: Project) -> None:
    """It could hold a forged object in the place of the last commit's while git compares that with the index."""
    project.commit()
    project.write("a.txt", "two\n")
    context, given = project.context(), git_commit.parse({"message": "m"})
    running = await context.background.start(context.runner, "sleep 50", cwd=project.root)
    for call in (preview_commit, git_commit.function):
        with pytest.raises(ToolExecutionError) as caught:
            await call(context, **given)
        assert caught.value.key == "git_commit_background"
    running.kill()
    await running.wait(60)
    with command_of_another_program(project.root, project.state):
        assert await project.fail(git_commit, message="m") == "git_commit_beside"
    assert project.git("log", "--format=%s") == "first\n"
    await git_commit.function(context, **given)


async def test_in_a_work_tree_nothing_is_committed_beside_a_command_in_its_repository(
    project: Project, tmp_path: Path
) -> None:
    project.commit()
    project.git("worktree", "add", "--quiet", "-b", "side", str(tmp_path / "tree"))
    tree = Project(tmp_path / "tree", init=False)
    tree.write("a.txt", "tree\n")
    unrelated = tmp_path / "unrelated"
    unrelated.mkdir()
    with command_of_another_program(project.root, tmp_path / "state"):
        assert await tree.fail(git_commit, message="m") == "git_other_program"
    with command_of_another_program(unrelated, tmp_path / "state"):
        await tree.run(git_commit, message="m")


async def test_worktrees_and_submodules(project: Project, tmp_path: Path) -> None:
    project.commit()
    project.git("worktree", "add", "--quiet", "-b", "side", str(tmp_path / "tree"))
    tree = Project(tmp_path / "tree", init=False)
    tree.write("a.txt", "tree\n")
    assert (await tree.run(git_status)).payload["branch"] == "side"
    await tree.run(git_commit, message="in the tree")
    assert tree.committed() == {"a.txt"}
    outer = Project(tmp_path / "outer")
    outer.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(project.root), "sub")
    outer.git("commit", "--quiet", "-m", "with a submodule")
    inner = Project(outer.root / "sub", init=False)
    inner.write("a.txt", "changed\n")
    assert (await outer.run(git_status)).payload["modified"] == []
    await inner.run(git_commit, message="in the submodule")
    output = await outer.run(git_status)
    assert output.payload["modified"] == ["sub"]
    await outer.run(git_commit, message="follow it")
    assert outer.committed() == {"sub"}


async def test_commit_without_a_name(project: Project, user_settings: Path) -> None:
    user_settings.write_text("[user]\n\tuseConfigOnly = true\n", "utf-8")
    project.write("a.txt")
    assert await project.fail(git_commit, message="m", files=["a.txt"]) == "git_no_identity"
    assert project.git("status", "--porcelain") == "?? a.txt\n"


async def test_commit_without_a_name_in_a_subfolder(project: Project, user_settings: Path) -> None:
    user_settings.write_text("[user]\n\tuseConfigOnly = true\n", "utf-8")
    project.write("inner/a.txt")
    inner = Project(project.root / "inner", init=False, state=project.state)
    assert await inner.fail(git_commit, message="m", files=["a.txt"]) == "git_no_identity"
    assert project.git("status", "--porcelain", "--untracked-files=all") == "?? inner/a.txt\n"


# --- repositories that mean harm


@pytest.fixture(params=["sandbox", "none"])
def canary(project: Project, tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    """A program in the project that leaves a mark beside it when anybody runs it outside the sandbox."""
    if request.param == "none":
        project.levels = ()
    mark = tmp_path / "harmed"
    program = project.write("harm.sh", f"#!/bin/sh\necho run >> {mark}\ncat\n")
    program.chmod(0o755)
    project.commit("a.txt", "one\n")
    return mark


async def use_all(project: Project) -> list[str]:
    """Run every tool on a changed, a new and a staged file; the keys of the errors."""
    project.write("a.txt", "two\n")
    project.write("new.txt")
    keys: list[str] = []
    for tool, arguments in (
        (git_status, {}),
        (git_diff, {}),
        (git_diff, {"staged": True}),
        (git_log, {}),
        (git_log, {"file_path": "a.txt"}),
        (git_commit, {"message": "m", "files": ["a.txt", "new.txt"]}),
        (git_commit, {"message": "m"}),
    ):
        try:
            await project.run(tool, **arguments)
        except LocalLLMError as error:
            keys.append(error.key)
    return keys


@pytest.mark.parametrize(
    "setting",
    [
        "core.fsmonitor",
        "core.pager",
        "core.editor",
        "core.sshCommand",
        "core.askPass",
        "core.alternateRefsCommand",
        "diff.external",
        "diff.evil.textconv",
        "diff.evil.command",
        "merge.evil.driver",
        "gpg.program",
        "gpg.ssh.program",
        "credential.helper",
        "pager.status",
        "pager.log",
        "sequence.editor",
        "hook.evil.command",
        "trailer.evil.command",
    ],
)
async def test_no_program_of_the_repository_runs(project: Project, canary: Path, setting: str) -> None:
    project.write(".gitattributes", "* diff=evil merge=evil\n")
    project.git("config", setting, str(project.root / "harm.sh"))
    project.git("config", "hook.evil.event", "pre-commit")
    project.git("config", "log.showSignature", "true")
    assert await use_all(project) == ["git_only_new"]
    assert not canary.exists()


@pytest.mark.parametrize("setting", ["lfs.extension.x.clean", "lfs.extension.X.smudge", "lfs.storage"])
async def test_outside_the_sandbox_settings_of_lfs_are_refused(
    project: Project, user_settings: Path, setting: str
) -> None:
    project.levels = ()
    project.commit("a.txt")
    project.git("config", setting, "/elsewhere")
    with pytest.raises(ToolExecutionError) as caught:
        await project.run(git_status)
    assert (caught.value.key, caught.value.params["setting"]) == ("git_setting", setting)
    project.git("config", "--file", str(user_settings), setting, "/elsewhere")
    await project.run(git_status)


async def test_outside_the_sandbox_branches_are_kept_in_the_repository(project: Project, tmp_path: Path) -> None:
    project.levels = ()
    project.commit("a.txt")
    project.git("config", "extensions.refStorage", "files")
    await project.run(git_status)
    project.git("config", "extensions.refStorage", f"files://{tmp_path}/elsewhere")
    with pytest.raises(ToolExecutionError) as caught:
        await project.run(git_status)
    assert (caught.value.key, caught.value.params["setting"]) == ("git_setting", "extensions.refstorage")


async def test_outside_the_sandbox_unknown_settings_count_for_nothing(project: Project, tmp_path: Path) -> None:
    project.levels = ()
    project.commit("a.txt")
    (tmp_path / "ignored").write_text("new.txt\n")
    project.write("new.txt", "new")
    project.git("config", "core.excludesFile", str(tmp_path / "ignored"))
    project.git("config", "some.tool.setting", "12")
    project.git("config", "http.postBuffer", "12")
    project.git("config", "core.compression", "9")
    assert "new.txt" in (await project.run(git_status)).for_model


@pytest.mark.parametrize("kind", ["clean", "smudge", "process"])
async def test_filters_of_the_repository_do_not_run(project: Project, canary: Path, kind: str) -> None:
    project.write(".gitattributes", "* filter=e=v.il\n")
    project.git("config", f"filter.e=v.il.{kind}", str(project.root / "harm.sh"))
    project.git("config", "filter.e=v.il.required", "true")
    keys = await use_all(project)
    assert project.levels or keys == ["git_filtered", "git_filtered"]
    assert not canary.exists()


@pytest.mark.parametrize("levels", [LEVELS, ()])
async def test_filters_of_the_user_do_run(project: Project, user_settings: Path, levels: Sequence[Level]) -> None:
    project.levels = levels
    project.commit("a.txt")
    with user_settings.open("a") as file:
        file.write('[filter "upper"]\n\tclean = rev\n')
    project.write(".gitattributes", "*.up filter=upper\n")
    project.write("x.up", "loud\n")
    if not levels:  # there the repository's own never runs, and the user's in its place
        project.git("config", "filter.upper.clean", "touch harmed; cat")
    await project.run(git_commit, message="m", files=["x.up"])
    assert project.git("show", "HEAD:x.up") == "duol\n"
    assert not (project.root / "harmed").exists()


@pytest.mark.parametrize("rules", [SafetySettings(deny=("read_file(secrets/)",)), SafetySettings(ask=("*(secrets)",))])
@pytest.mark.parametrize(
    ("whose", "line"),
    [
        ("repository", "cat secrets/key; cat"),
        ("repository", "@python@ -m shown"),
        ("user", "shown"),
        ("user", "./shown"),
    ],
)
async def test_filters_bring_out_nothing_that_a_rule_guards(
    project: Project,
    user_settings: Path,
    monkeypatch: pytest.MonkeyPatch,
    rules: SafetySettings,
    whose: str,
    line: str,
) -> None:
    project.safety = rules
    project.commit("a.txt")
    project.write("secrets/key", "hunter2\n")
    project.write("shown.py", "print(open('secrets/key').read())\n")
    for name in ("shown", "bin/shown"):
        project.write(name, "#!/bin/sh\ncat secrets/key\n").chmod(0o755)
    monkeypatch.setenv("PATH", f"{project.root}/bin:{os.environ['PATH']}")
    project.write(".gitattributes", "*.txt filter=f\n")
    file = user_settings if whose == "user" else project.root / ".git" / "config"
    project.git("config", "--file", str(file), "filter.f.clean", line.replace("@python@", sys.executable))
    project.write("a.txt", "two\n")
    for staged in (False, True):
        assert "hunter2" not in (await project.run(git_diff, staged=staged)).for_model
    assert "hunter2" not in (await project.run(git_status)).for_model
    project.safety = SafetySettings()
    assert "hunter2" in (await project.run(git_diff)).for_model, "as nothing guards it"


async def test_where_a_rule_guards_files_a_plain_filter_of_the_user_runs(project: Project, user_settings: Path) -> None:
    project.safety = SafetySettings(deny=("read_file(secrets/)",))
    project.commit("x.up", "duol\n")
    with user_settings.open("a") as file:
        file.write('[filter "upper"]\n\tclean = rev\n')
    project.write(".gitattributes", "*.up filter=upper\n")
    project.write("x.up", "loud\n")
    assert "x.up" not in (await project.run(git_status)).for_model


@pytest.mark.parametrize("where", ["include.path", "worktree"])
async def test_settings_in_other_files_of_the_repository_count_as_its_own(
    project: Project, canary: Path, where: str
) -> None:
    project.write(".gitattributes", "* filter=evil\n")
    project.write("settings", f'[filter "evil"]\n\tclean = {project.root}/harm.sh\n')
    if where == "worktree":
        project.git("config", "extensions.worktreeConfig", "true")
        (project.root / "settings").rename(project.root / ".git" / "config.worktree")
    else:
        project.git("config", where, str(project.root / "settings"))
    keys = await use_all(project)
    assert project.levels or "git_filtered" in keys
    assert not canary.exists()


@pytest.mark.parametrize("elsewhere", [False, True])
async def test_hooks_run_in_the_sandbox_or_the_commit_is_left_to_the_user(
    project: Project, canary: Path, elsewhere: bool
) -> None:
    folder = project.root / ("hooks" if elsewhere else ".git/hooks")
    folder.mkdir(exist_ok=True)
    for hook in ("pre-commit", "commit-msg", "post-commit", "post-index-change", "reference-transaction"):
        (folder / hook).symlink_to(project.root / "harm.sh")
    if elsewhere:
        project.git("config", "core.hooksPath", "hooks")
    project.write("a.txt", "two\n")
    await project.run(git_status)
    if project.levels:
        output = await project.run(git_commit, message="m", files=["a.txt"])
        assert "pre-commit, commit-msg, post-commit" in str(output.summary)
    else:
        head = project.git("rev-parse", "HEAD")
        assert await project.fail(git_commit, message="m", files=["a.txt"]) == "git_hooks_left"
        assert project.git("rev-parse", "HEAD") == head
    assert not canary.exists()


async def test_a_hook_that_says_no(project: Project) -> None:
    project.commit("a.txt")
    hook = project.write(".git/hooks/pre-commit", "#!/bin/sh\necho 'tabs are not welcome'\nexit 1\n")
    hook.chmod(0o755)
    project.write("new.txt")
    before = project.git("status", "--porcelain=v2")
    with pytest.raises(ToolExecutionError, match="tabs are not welcome") as caught:
        await project.run(git_commit, message="m", files=["new.txt"])
    assert caught.value.key == "git_hook_failed"
    assert project.git("status", "--porcelain=v2") == before


async def test_hooks_of_the_user_outside_the_sandbox(project: Project, user_settings: Path, tmp_path: Path) -> None:
    project.commit("a.txt")
    hook = tmp_path / "hooks" / "pre-commit"
    hook.parent.mkdir()
    hook.write_text("#!/bin/sh\n:\n")
    hook.chmod(0o755)
    with user_settings.open("a") as file:
        file.write(f"[core]\n\thooksPath = {hook.parent}\n")
    project.write("a.txt", "two\n")
    assert await project.fail(git_commit, message="m") == "git_hooks_left"


@pytest.mark.parametrize("own", [False, True])
async def test_a_commit_that_is_to_be_signed_is_left_to_the_user(
    project: Project, user_settings: Path, own: bool
) -> None:
    project.commit("a.txt")
    if own:
        project.git("config", "commit.gpgSign", "true")
    else:
        with user_settings.open("a") as file:
            file.write("[commit]\n\tgpgSign = true\n")
    project.write("a.txt", "two\n")
    assert await project.fail(git_commit, message="m") == "git_signs"
    assert git_commit.preview
    with pytest.raises(ToolExecutionError, match="signed"):  # nobody is asked about what will not be done
        await cast("Awaitable[Preview]", git_commit.preview(project.context(), message="m"))
    project.git("config", "commit.gpgSign", "false")  # what the repository says counts more
    await project.run(git_commit, message="m")


async def test_a_submodule_cannot_run_its_programs(project: Project, canary: Path, tmp_path: Path) -> None:
    inner = Project(project.root / "sub")
    inner.commit("b.txt")
    project.git("add", "sub")
    project.git("commit", "--quiet", "-m", "sub")
    inner.write(".gitattributes", "* filter=evil\n")
    inner.git("config", "filter.evil.clean", str(project.root / "harm.sh"))
    inner.git("config", "core.fsmonitor", str(project.root / "harm.sh"))
    (inner.root / "b.txt").write_text("two\n")
    project.git("config", "status.submoduleSummary", "true")
    project.git("config", "diff.submodule", "diff")
    project.git("config", "diff.ignoreSubmodules", "none")
    await use_all(project)
    assert not canary.exists()


@pytest.mark.parametrize("state", ["unchanged", "staged", "new", "checked out", "in conflict"])
async def test_a_submodule_that_is_committed_cannot_run_its_programs(
    project: Project, canary: Path, state: str
) -> None:
    inner = Project(project.root / "sub")
    inner.commit("b.txt", "one\n")
    project.write(".gitmodules", '[submodule "sub"]\n\tpath = sub\n\turl = ./sub\n\tignore = none\n')
    project.git("add", ".gitmodules", *(["sub"] if state != "new" else []))
    project.git("commit", "--quiet", "-m", "sub")
    if state == "in conflict":
        project.git("checkout", "--quiet", "-b", "other")
        project.git("update-index", "--cacheinfo", f"160000,{'1' * 40},sub")
        project.git("commit", "--quiet", "-m", "other")
        project.git("checkout", "--quiet", "-")
    if state != "unchanged":
        inner.commit("c.txt")
    if state in ("staged", "in conflict"):
        project.git("add", "sub")
    if state == "in conflict":
        project.git("commit", "--quiet", "-m", "ours")
        project.git("merge", "--quiet", "other", ok=False)
    inner.write(".gitattributes", "* filter=evil\n")
    inner.git("config", "filter.evil.clean", str(project.root / "harm.sh"))
    (inner.root / "b.txt").write_text("two\n")
    with suppress(ToolExecutionError):
        await project.run(git_commit, message="m", files=["sub"])
    assert not canary.exists()
    assert (project.git("log", "-1", "--format=%s") == "m\n") != (state == "unchanged")


async def test_a_folder_that_looks_like_a_bare_repository_is_none(tmp_path: Path, user_settings: Path) -> None:
    trap = Project(tmp_path / "trap", init=False)
    trap.git("init", "--quiet", "--bare")
    trap.git("config", "core.fsmonitor", f"touch {tmp_path}/harmed")
    trap.git("config", "core.bare", "false")
    trap.git("config", "core.worktree", str(tmp_path))
    assert await trap.fail(git_status) == "git_not_a_repository"
    assert not (tmp_path / "harmed").exists()


async def test_a_repository_cannot_claim_another_folder(project: Project, tmp_path: Path) -> None:
    project.commit("a.txt")
    project.git("config", "core.worktree", str(tmp_path / "elsewhere"))
    (tmp_path / "elsewhere").mkdir()
    assert await project.fail(git_status) == "git_not_a_repository"


async def test_missing_objects_are_not_fetched(project: Project, canary: Path) -> None:
    project.git("config", "remote.origin.url", f"ext::{project.root}/harm.sh")
    project.git("config", "remote.origin.promisor", "true")
    project.git("config", "protocol.ext.allow", "always")
    blob = project.git("rev-parse", "HEAD:a.txt").strip()
    (project.root / ".git" / "objects" / blob[:2] / blob[2:]).unlink()
    assert "git_failed" in await use_all(project)
    assert not canary.exists()


@pytest.mark.skipif(os.name == "nt", reason="files have no such owner on Windows")
async def test_a_repository_of_another_user_is_explained(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    project.commit("a.txt")
    monkeypatch.setenv("GIT_TEST_ASSUME_DIFFERENT_OWNER", "1")
    project.levels = ()  # the sandbox keeps the variable out
    assert await project.fail(git_status) == "git_not_owned"


async def test_a_broken_settings_file_is_told(project: Project) -> None:
    (project.root / ".git" / "config").write_text("[core\n")
    assert await project.fail(git_status) == "git_failed"


def test_a_git_inside_the_project_is_not_run(tmp_path: Path) -> None:
    """In a process of its own: GitPython runs git when it is imported."""
    project = Project(tmp_path / "project")
    planted = project.write(".venv/bin/git", f"#!/bin/sh\ntouch {tmp_path}/pwned\n")
    planted.chmod(0o755)
    program = (
        "import asyncio, sys; from pathlib import Path; from localllm.tools.git import git_status\n"
        "from tests.integration.test_git import Project\n"
        "print(asyncio.run(Project(Path(sys.argv[1]), init=False).run(git_status)).success)"
    )
    environment = {**os.environ, "PATH": f"{planted.parent}{os.pathsep}{os.environ['PATH']}"}
    command = [sys.executable, "-c", program, str(project.root)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.stdout == "True\n", done.stderr
    assert not (tmp_path / "pwned").exists()
