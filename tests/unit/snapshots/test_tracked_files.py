"""What git tracks is kept and told, whatever `.gitignore` says of it, and whatever its folder is called."""

import subprocess
from pathlib import Path

import pytest

from localllm.safety.paths import ProjectRoot
from localllm.snapshots.project_scan import ProjectTree
from localllm.snapshots.recorder import CommandSnapshots
from localllm.snapshots.store import Snapshots
from localllm.snapshots.tracked_files import TrackedFiles
from tests.support.tools import put

pytestmark = pytest.mark.anyio


def git(folder: Path, *words: str) -> None:
    subprocess.run(["git", "-C", str(folder), "-c", "user.name=a", "-c", "user.email=a@b", *words], check=True)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A repository with tracked files in an ignored folder of many files, and in one that is only called venv."""
    project = tmp_path / "p"
    put(project / ".gitignore", "dist/\n*.cfg\n")
    put(project / "app.cfg", "x = 1\n")
    for number in range(210):
        put(project / f"dist/{number}.js", str(number))
    put(project / "lib/venv/__init__.py", "x = 1\n")
    for number in range(210):
        put(project / f"lib/venv/data/{number}", str(number))
    git(project, "init", "-q")
    git(project, "add", "-f", "app.cfg", ".gitignore", "dist/7.js", "dist/8.js", "lib/venv/__init__.py")
    git(project, "commit", "-qm", "x")
    put(project / "local.cfg", "x = 1\n")
    return project


@pytest.mark.parametrize("version", ["2", "4"])
@pytest.mark.parametrize("is_watched", [True, False])
def test_the_tree_has_what_is_tracked(project: Path, *, is_watched: bool, version: str) -> None:
    git(project, "update-index", "--index-version", version)
    tree = ProjectTree(project, watch=is_watched)
    tree.refresh()
    own = {".gitignore", "app.cfg", "dist/7.js", "dist/8.js", "lib/venv/__init__.py"}
    assert {path for path, found in tree.files.items() if not found.ignored} == own
    assert {path for path, found in tree.files.items() if found.ignored} == {"local.cfg"}


async def test_a_change_of_it_is_told_and_taken_back(project: Path, tmp_path: Path) -> None:
    root, store = ProjectRoot(project), Snapshots(tmp_path / "state" / "snapshots")
    files = ["app.cfg", "dist/7.js", "lib/venv/__init__.py"]
    for path in files:
        put(project / path, "mine\n")
    async with CommandSnapshots(store).around(root, tool="run_command") as changes:
        for path in files:
            put(project / path, "gone\n")
        put(project / "local.cfg", "x = 2\n")
        put(project / "dist/9.js", "built\n")
        (project / "dist/8.js").unlink()
    assert sorted(change.path for change in changes) == sorted([*files, "dist/8.js"])
    store.undo(root)
    assert [(project / path).read_text() for path in (*files, "dist/8.js")] == ["mine\n"] * 3 + ["8"]


def test_in_a_folder_of_a_repository_its_own_names_count(project: Path) -> None:
    tracked = TrackedFiles(project / "lib")
    assert [tracked.holds(name) for name in ("venv/", "venv/__init__.py", "app.cfg", "dist/")] == [True, True] + [
        False
    ] * 2


def test_what_is_added_later_counts_from_then_on(project: Path) -> None:
    tracked = TrackedFiles(project)
    names = [f"dist/{number}.js" for number in range(20)]
    assert [name for name in names if tracked.holds(name)] == names[7:9]
    git(project, "add", "-f", "dist/9.js")
    tracked.begin()
    assert [name for name in names if tracked.holds(name)] == names[7:10]


def test_an_index_in_two_files_counts_as_a_whole(project: Path) -> None:
    git(project, "-c", "splitIndex.maxPercentChange=100", "update-index", "--split-index")
    git(project, "-c", "splitIndex.maxPercentChange=100", "add", "-f", "dist/9.js")
    tracked = TrackedFiles(project)
    assert [number for number in range(20) if tracked.holds(f"dist/{number}.js")] == [7, 8, 9]
    tracked = TrackedFiles(project)
    assert not tracked.holds("dist/1.js")
    assert tracked.holds("app.cfg")


@pytest.mark.parametrize("content", [b"", b"DIRC", b"DIRC\0\0\0\2\0\0\0\1", b"x" * 100])
def test_an_index_that_cannot_be_read_tracks_nothing(project: Path, content: bytes) -> None:
    (project / ".git/index").write_bytes(content)
    tracked = TrackedFiles(project)
    assert not any(tracked.holds(f"dist/{number}.js") for number in range(20))
    (project / ".git/HEAD").unlink()
    tracked.begin()
    assert not tracked.holds("dist/7.js")


def test_without_a_repository_nothing_is_tracked(tmp_path: Path) -> None:
    assert not TrackedFiles(tmp_path).holds("a")


@pytest.mark.parametrize("is_watched", [True, False])
def test_nested_repositories_say_what_they_track(tmp_path: Path, *, is_watched: bool) -> None:
    project = tmp_path / "project"
    for place in ("source", "project", "project/inner", "project/left/out"):
        (tmp_path / place / "lib").mkdir(parents=True)
        git(tmp_path, "init", "-q", place)
        (tmp_path / place / ".gitignore").write_text("lib/\nleft/\n")
        for name in ("mine.py", "other.py"):
            (tmp_path / place / "lib" / name).write_text(f"{place}\n")
        git(tmp_path / place, "add", "-f", ".gitignore", "lib/mine.py")
        git(tmp_path / place, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "one")
    git(project, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(tmp_path / "source"), "sub")
    (project / "sub/lib/other.py").write_text("x\n")
    tree = ProjectTree(project, watch=is_watched)
    tree.refresh()
    kept = sorted(path for path, found in tree.files.items() if path.endswith(".py") and not found.ignored)
    assert kept == ["inner/lib/mine.py", "lib/mine.py", "sub/lib/mine.py"], "nothing of one in an ignored folder"
    (project / "new/lib").mkdir(parents=True)
    for name in ("mine.py", "other.py"):
        (project / "new/lib" / name).write_text("x\n")
    git(project, "init", "-q", "new")
    git(project / "new", "add", "-f", "lib/mine.py")
    tree.refresh()
    assert [name for name in ("mine.py", "other.py") if not tree.files[f"new/lib/{name}"].ignored] == ["mine.py"]
