"""What a command writes of the files that git derives and believes is removed; git goes on without them."""

import hashlib
import os
import struct
import subprocess
import zlib
from pathlib import Path

import pytest

from localllm.sandbox.protect.revert import ProtectedFiles

NAMES = ("-c", "user.name=a", "-c", "user.email=a@b")
KINDS = {"commit": 1, "tree": 2, "blob": 3}


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


def shadow(root: Path, oid: str) -> None:
    """Add a newer pack with all objects, in which `oid` is an empty tree."""
    listed = git(root, "cat-file", "--batch-all-objects", "--batch-check").splitlines()
    pack, rows = b"PACK" + struct.pack(">II", 2, len(listed)), list[tuple[bytes, int, int]]()
    for one, kind, _ in map(str.split, listed):
        content = subprocess.run(["git", "cat-file", kind, one], cwd=root, check=True, capture_output=True).stdout
        content = b"" if one == oid else content
        size = len(content)
        head = [KINDS[kind] << 4 | size & 15]
        size >>= 4
        while size:
            head[-1] |= 0x80
            head.append(size & 0x7F)
            size >>= 7
        packed = bytes(head) + zlib.compress(content)
        rows.append((bytes.fromhex(one), zlib.crc32(packed), len(pack)))
        pack += packed
    rows.sort()
    total = hashlib.sha1(pack, usedforsecurity=False).digest()
    index = b"\xfftOc" + struct.pack(">I", 2)
    index += b"".join(struct.pack(">I", sum(row[0][0] <= first for row in rows)) for first in range(256))
    index += b"".join(row[0] for row in rows)
    index += b"".join(struct.pack(">I", row[at]) for at in (1, 2) for row in rows) + total
    name = root / f".git/objects/pack/pack-{total.hex()}"
    name.with_suffix(".pack").write_bytes(pack + total)
    name.with_suffix(".idx").write_bytes(index + hashlib.sha1(index, usedforsecurity=False).digest())
    newest = name.with_suffix(".pack").stat().st_mtime + 10
    os.utime(name.with_suffix(".pack"), (newest, newest))


def test_a_push_sends_no_more_than_what_is_shown(root: Path, files: ProtectedFiles) -> None:
    files.begin()
    whole, _ = commit_with_workflow(root)
    git(root, "repack", "-adbq")
    shadow(root, git(root, "rev-parse", f"{whole}:.github"))
    assert "ci.yml" not in shown(root)
    assert files.end() == ()
    pushed = subprocess.run(["git", "push", "-q"], cwd=root, check=False, capture_output=True)
    assert pushed.returncode
    assert "ci.yml" not in git(root.parent / "remote.git", "ls-tree", "-r", "--name-only", "main")


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
