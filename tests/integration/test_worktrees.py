"""Work trees: what is in them, what became of them, and that nothing else is touched."""

import asyncio
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from localllm.agents.delegation.worktrees import Interrupted, WorkTrees, surely
from localllm.base.errors import ToolExecutionError
from tests.support.repositories import GitProject


@pytest.fixture
def project(tmp_path: Path) -> GitProject:
    made = GitProject(tmp_path / "プロジェクト")
    made.commit(a__txt="one\ntwo\nthree\n", b__py="x = 1\n")
    return made


@pytest.fixture
def trees(project: GitProject, tmp_path: Path) -> Iterator[WorkTrees]:
    made = WorkTrees(project.root, tmp_path / "trees")
    yield made
    made.close()
    assert list((tmp_path / "trees").glob("*")) == []


def _all(tree: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(tree)): path.read_bytes()
        for path in tree.rglob("*")
        if path.is_file() and ".git" not in path.relative_to(tree).parts
    }


def test_a_tree_is_the_project_as_it_is_now_and_the_repository_stays_as_it_was(
    project: GitProject, trees: WorkTrees
) -> None:
    project.write(".gitignore", "ignored.log\n")
    project.write("a.txt", b"one\r\nchanged\r\n")
    project.write("新しい.md", "新規\n")
    project.write("staged.py", "y = 2\n")
    project.git("add", "staged.py")
    project.write("staged.py", "y = 3\n")
    project.write("ignored.log", "secret\n")
    (project.root / "b.py").unlink()
    (project.root / "run.sh").write_text("#!/bin/sh\n")
    (project.root / "run.sh").chmod(0o755)
    (project.root / "link").symlink_to("a.txt")
    before = project.state()
    trees.open()
    tree = trees.add("one")
    expected = {name: data for name, data in _all(project.root).items() if name != "ignored.log"}
    assert _all(tree) == expected
    assert (tree / "link").readlink() == Path("a.txt")
    assert os.access(tree / "run.sh", os.X_OK)
    assert trees.changes(tree) == []
    assert project.state() == before


def test_what_rules_close_to_reading_is_in_no_tree_and_not_in_its_git(project: GitProject, tmp_path: Path) -> None:
    project.write("keys/one", "SECRET\n")
    project.write("keys.md", "about keys\n")
    trees = WorkTrees(project.root, tmp_path / "trees", closed=["./keys/", "b.py"])
    try:
        trees.open()
        tree = trees.add("one")
        assert sorted(_all(tree)) == ["a.txt", "keys.md"]
        listed = subprocess.run(
            ["git", "ls-tree", "-r", "--name-only", "HEAD"], cwd=tree, capture_output=True, check=True
        )
        assert listed.stdout.split() == [b"a.txt", b"keys.md"]
        assert trees.changes(tree) == []
    finally:
        trees.close()


def test_an_agent_can_look_at_its_own_changes_with_git(project: GitProject, trees: WorkTrees) -> None:
    project.write("a.txt", "not committed\n")
    trees.open()
    tree = trees.add("one")
    run = lambda: subprocess.run(["git", "status", "--porcelain"], cwd=tree, capture_output=True, text=True, check=True)  # noqa: E731
    assert run().stdout == ""
    (tree / "b.py").write_text("x = 2\n")
    assert run().stdout == " M b.py\n"


def test_changes_are_found_whatever_the_agent_did_with_git(project: GitProject, trees: WorkTrees) -> None:
    project.write(".gitignore", "*.log\n")
    trees.open()
    tree = trees.add("one")
    (tree / "a.txt").write_text("one\nTWO\nthree\n")
    (tree / "b.py").unlink()
    (tree / "深い").mkdir()
    (tree / "深い" / "表.txt").write_text("値\n")
    (tree / "noise.log").write_text("x\n")
    (tree / ".git" / "config").write_text("[core]\n\tfsmonitor = touch /tmp/should-not-run\n")
    (tree / ".git" / "HEAD").write_text("nonsense\n")
    found = {change.path: change for change in trees.changes(tree)}
    assert set(found) == {"a.txt", "b.py", "深い/表.txt"}
    assert (found["a.txt"].before, found["a.txt"].after) == (b"one\ntwo\nthree\n", b"one\nTWO\nthree\n")
    assert (found["b.py"].before, found["b.py"].after) == (b"x = 1\n", None)
    assert (found["深い/表.txt"].before, found["深い/表.txt"].after) == (None, "値\n".encode())


def test_the_patch_can_be_applied_by_hand(project: GitProject, trees: WorkTrees) -> None:
    trees.open()
    tree = trees.add("one")
    (tree / "a.txt").write_text("one\nTWO\nthree\n")
    (tree / "bytes.bin").write_bytes(bytes(range(256)))
    patch = trees.patch(tree, trees.changes(tree))
    subprocess.run(["git", "apply", "-"], cwd=project.root, input=patch, check=True)
    assert (project.root / "a.txt").read_text() == "one\nTWO\nthree\n"
    assert (project.root / "bytes.bin").read_bytes() == bytes(range(256))


def test_permissions_and_links(project: GitProject, trees: WorkTrees) -> None:
    trees.open()
    tree = trees.add("one")
    (tree / "b.py").chmod(0o755)
    (tree / "out").symlink_to("/etc/passwd")
    found = {change.path: change for change in trees.changes(tree)}
    assert found["b.py"].mode == 0o755
    assert found["out"].odd
    assert found["out"].after is None


def test_trees_do_not_see_each_other(project: GitProject, trees: WorkTrees) -> None:
    trees.open()
    one, two = trees.add("one"), trees.add("two")
    (one / "a.txt").write_text("mine\n")
    assert trees.changes(two) == []
    assert (two / "a.txt").read_text() == "one\ntwo\nthree\n"


def test_a_project_that_is_a_part_of_a_repository(project: GitProject, tmp_path: Path) -> None:
    project.write(".gitignore", "*.tmp\n")
    project.write("part/in.txt", "in\n")
    project.write("part/new.txt", "new\n")
    project.git("add", "part/in.txt", ".gitignore")
    trees = WorkTrees(project.root / "part", tmp_path / "trees")
    trees.open()
    try:
        tree = trees.add("one")
        assert set(_all(tree)) == {"in.txt", "new.txt"}
        (tree / "in.txt").write_text("IN\n")
        (tree / "scratch.tmp").write_text("ignored by a rule above\n")
        assert [change.path for change in trees.changes(tree)] == ["in.txt"]
    finally:
        trees.close()


def test_before_the_first_commit(tmp_path: Path) -> None:
    project = GitProject(tmp_path / "p")
    project.write("only.txt", "here\n")
    trees = WorkTrees(project.root, tmp_path / "trees")
    trees.open()
    assert set(_all(trees.add("one"))) == {"only.txt"}
    trees.close()


def test_submodules_are_empty_and_named(project: GitProject, trees: WorkTrees, tmp_path: Path) -> None:
    GitProject(tmp_path / "other").commit(c__txt="c\n")
    project.git("submodule", "--quiet", "add", str(tmp_path / "other"), "mod")
    trees.open()
    assert trees.submodules == ["mod"]
    tree = trees.add("one")
    assert not (tree / "mod" / "c.txt").exists()
    assert trees.changes(tree) == []


def test_no_git(tmp_path: Path) -> None:
    (tmp_path / "plain").mkdir()
    trees = WorkTrees(tmp_path / "plain", tmp_path / "trees")
    with pytest.raises(ToolExecutionError, match="git"):
        trees.open()
    trees.close()
    assert not (tmp_path / "trees").exists()


def test_line_ends_and_filters_of_the_user_change_nothing(
    project: GitProject, trees: WorkTrees, tmp_path: Path
) -> None:
    project.write(".gitattributes", "*.txt text=auto\n*.dat filter=loud\n")
    project.git("config", "core.autocrlf", "true")
    project.git("config", "filter.loud.clean", f"touch {tmp_path}/ran; cat")
    project.write("crlf.txt", b"a\r\nb\r\n")
    project.write("x.dat", "data\n")
    trees.open()
    tree = trees.add("one")
    assert (tree / "crlf.txt").read_bytes() == b"a\r\nb\r\n"
    assert trees.changes(tree) == []
    assert not (tmp_path / "ran").exists()


def test_what_a_killed_program_left_is_removed_and_what_a_living_one_has_is_not(
    project: GitProject, tmp_path: Path
) -> None:
    code = (
        "import sys, pathlib, os\n"
        "from localllm.agents.delegation.worktrees import WorkTrees\n"
        "trees = WorkTrees(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]))\n"
        "trees.open(); print(trees.add('one'), flush=True); os.kill(os.getpid(), 9)\n"
    )
    killed = subprocess.run(
        [sys.executable, "-c", code, project.root, tmp_path / "trees"], capture_output=True, text=True, check=False
    )
    left = Path(killed.stdout.strip())
    assert killed.returncode == -9
    assert left.is_dir()
    living = WorkTrees(project.root, tmp_path / "trees")
    living.open()
    assert not left.exists()
    kept = living.add("one")
    another = WorkTrees(project.root, tmp_path / "trees")
    another.open()
    assert kept.is_dir()
    another.close()
    living.close()


def test_copying_can_be_broken_off(project: GitProject, trees: WorkTrees) -> None:
    trees.stop()
    with pytest.raises(Interrupted):
        trees.open()


def test_what_is_surely_done_is_done_however_often_it_is_cancelled() -> None:
    may_end, has_ended = threading.Event(), threading.Event()

    def work() -> None:
        may_end.wait(30)
        has_ended.set()

    async def cancel_it() -> None:
        task = asyncio.create_task(surely(work))
        for _ in range(3):
            for _ in range(5):
                await asyncio.sleep(0)
            task.cancel()
        await asyncio.sleep(0)
        assert not task.done()
        may_end.set()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert has_ended.is_set()

    asyncio.run(cancel_it())


def test_caches_that_commands_leave_are_no_changes(project: GitProject, tmp_path: Path) -> None:
    trees = WorkTrees(project.root, tmp_path / "trees", ["__pycache__"])
    trees.open()
    try:
        tree = trees.add("one")
        (tree / "deep" / "__pycache__").mkdir(parents=True)
        (tree / "deep" / "__pycache__" / "b.pyc").write_bytes(b"\0")
        (tree / "b.py").write_text("x = 2\n")
        changes = trees.changes(tree)
        assert [change.path for change in changes] == ["b.py"]
        assert b"pycache" not in trees.patch(tree, changes)
    finally:
        trees.close()
