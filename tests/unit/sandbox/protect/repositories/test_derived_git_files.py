"""What a command writes of the files that git derives and believes is removed; git goes on without them."""

import hashlib
import subprocess
from pathlib import Path

import pytest

from localllm.sandbox.protect.revert import ProtectedFiles

NAMES = ("-c", "user.name=a", "-c", "user.email=a@b")


def git(root: Path, *arguments: str) -> str:
    done = subprocess.run(["git", *NAMES, *arguments], cwd=root, check=True, capture_output=True)
    return done.stdout.decode().strip()


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = (tmp_path / "project").resolve()
    git(tmp_path, "init", "-q", "--bare", "remote.git")
    git(tmp_path, "init", "-q", "-b", "main", str(root))
    for text in ("one", "two"):
        (root / "README").write_text(text)
        git(root, "add", "README")
        git(root, "commit", "-q", "-m", text)
    git(root, "remote", "add", "origin", str(tmp_path / "remote.git"))
    git(root, "push", "-q", "-u", "origin", "main")
    return root


@pytest.fixture
def files(root: Path, tmp_path: Path) -> ProtectedFiles:
    return ProtectedFiles(root, tmp_path / "quarantine", coarse=0)


def commit_with_workflow(root: Path) -> tuple[str, str]:
    """Commit a change of README, and beside it a workflow that lies in no work tree; return the trees of that commit
    with and without the workflow."""
    (root / "README").write_text("three")
    git(root, "add", "README")
    harmless = git(root, "write-tree")
    git(root, "branch", "harmless", git(root, "commit-tree", harmless, "-m", "harmless"))
    (root / "ci.yml").write_text("on: push")
    blob = git(root, "hash-object", "-w", "ci.yml")
    (root / "ci.yml").unlink()
    git(root, "update-index", "--add", "--cacheinfo", f"100644,{blob},.github/workflows/ci.yml")
    whole = git(root, "write-tree")
    git(root, "reset", "-q", "--soft", git(root, "commit-tree", whole, "-p", "HEAD", "-m", "Fix a typo"))
    git(root, "read-tree", harmless)
    return whole, harmless


def shown(root: Path) -> str:
    return git(root, "log", "-1", "--stat", "--format=") + git(root, "status", "--short")


def forged(graph: bytes, whole: str, harmless: str) -> bytes:
    content = graph.replace(bytes.fromhex(whole), bytes.fromhex(harmless))[:-20]
    return content + hashlib.sha1(content, usedforsecurity=False).digest()


def forge_graph(root: Path, whole: str, harmless: str) -> None:
    """Write a commit graph that says the commit has the other tree."""
    git(root, "commit-graph", "write", "--reachable")
    graph = root / ".git/objects/info/commit-graph"
    content = forged(graph.read_bytes(), whole, harmless)
    graph.unlink()
    graph.write_bytes(content)


def test_a_forged_commit_graph_hides_no_part_of_a_commit(root: Path, files: ProtectedFiles) -> None:
    files.begin()
    whole, harmless = commit_with_workflow(root)
    git(root, "repack", "-adbq")
    forge_graph(root, whole, harmless)
    assert "ci.yml" not in shown(root)
    assert files.end() == ()
    assert "ci.yml" in shown(root)


def test_the_next_program_removes_it_after_a_kill(root: Path, files: ProtectedFiles, tmp_path: Path) -> None:
    files.begin()
    forge_graph(root, *commit_with_workflow(root))
    record = next((tmp_path / "commands").glob("[!.]*"))
    left = record.with_name(f"{record.name}left")
    left.write_bytes(record.read_bytes())  # no program holds it
    ProtectedFiles(root, tmp_path / "quarantine", coarse=0).recover()
    assert "ci.yml" in shown(root)


def test_one_that_was_changed_in_place_goes(root: Path, files: ProtectedFiles) -> None:
    trees = commit_with_workflow(root)
    git(root, "commit-graph", "write", "--reachable")
    files.begin()
    graph = root / ".git/objects/info/commit-graph"
    graph.chmod(0o600)
    graph.write_bytes(forged(graph.read_bytes(), *trees))
    assert "ci.yml" not in shown(root)
    assert files.end() == ()
    assert "ci.yml" in shown(root)


def derived(root: Path) -> set[str]:
    of_graphs, of_packs = root.rglob("objects/info/commit-graph*"), root.rglob("objects/pack/*")
    found = [*of_graphs, *(graph for one in of_graphs for graph in one.glob("*")), *of_packs]
    return {str(file.relative_to(root)) for file in found if file.is_file() and file.suffix not in (".pack", ".idx")}


@pytest.mark.parametrize("place", [".", "sub", "bare.git", "sub/.git/modules/a/b"])
def test_all_kinds_go_wherever_the_repository_is_and_git_goes_on(root: Path, files: ProtectedFiles, place: str) -> None:
    if place != "sub":
        git(root, "init", "-q", "sub")
    (root / place).parent.mkdir(parents=True, exist_ok=True)
    if place != ".":
        git(root, "clone", "-q", *(["--bare"] if place != "sub" else []), str(root / ".git"), place)
    files.begin()
    where = root / place
    git(where, "commit-graph", "write", "--reachable", "--split")
    git(where, "-c", "pack.writeReverseIndex=true", "repack", "-adbq")
    git(where, "multi-pack-index", "write", "--bitmap")
    git(where, "-c", "pack.writeReverseIndex=true", "gc", "-q")
    git(where, "multi-pack-index", "write", "--bitmap")
    assert derived(root)
    assert files.end() == ()
    assert derived(root) == set()
    assert git(where, "log", "--format=%s").split() == ["two", "one"]
    git(where, "fsck", "--strict")


def test_those_from_before_stay_through_other_commands(root: Path, files: ProtectedFiles) -> None:
    git(root, "repack", "-adbq")
    git(root, "commit-graph", "write", "--reachable", "--split")
    before = derived(root)
    assert before
    for text in ("three", "four"):
        files.begin()
        (root / "README").write_text(text)
        git(root, "commit", "-qam", text)
        git(root, "branch", text)
        assert files.end() == ()
        assert derived(root) == before
    git(root, "gc", "-q")
    mine = derived(root)
    files.begin()
    files.end()
    assert derived(root) == mine
