"""A commit contains what is staged, and new files show, whatever a command has written into the caches of an index."""

import hashlib
import os
import re
import struct
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from localllm.sandbox.protect.repositories.index_caches import without_wrong_caches
from localllm.sandbox.protect.repositories.index_entries import entries_of, extensions_of
from localllm.sandbox.protect.revert import ProtectedFiles

NAMES = ("-c", "user.name=a", "-c", "user.email=a@b")


def git(root: Path, *arguments: str, given: str = "") -> str:
    command = ["git", *NAMES, *arguments]
    return subprocess.run(command, cwd=root, check=True, capture_output=True, text=True, input=given).stdout.strip()


@pytest.fixture(params=["sha1", "sha256", "version 4", "without sum", "linked", "sparse"])
def root(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    root = (tmp_path / "project").resolve()
    git(tmp_path, "init", "-q", f"--object-format={'sha256' if request.param == 'sha256' else 'sha1'}", str(root))
    if request.param == "version 4":
        git(root, "config", "index.version", "4")
    if request.param == "without sum":
        git(root, "config", "index.skipHash", "true")
    for name in ("README", "a.b/c", "a/b/c/deep", "a/b-c", "src/a", "src/b", "日本/語", "kept/x/y"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("old\n")
    (root / "link").symlink_to("README")
    (root / "src/b").chmod(0o755)
    git(root, "add", ".")
    git(root, "commit", "-q", "-m", "one")
    if request.param == "linked":
        git(root, "worktree", "add", "-q", "tree")
        return root / "tree"
    if request.param == "sparse":
        git(root, "sparse-checkout", "set", "--cone", "--sparse-index", "src", "a")
        assert "kept/" in git(root, "ls-files", "--sparse").splitlines()
    return root


@pytest.fixture
def files(root: Path, tmp_path: Path) -> ProtectedFiles:
    return ProtectedFiles(tmp_path.resolve() / "project", tmp_path / "quarantine", coarse=0)


def index_of(root: Path) -> Path:
    return root / git(root, "rev-parse", "--git-path", "index")


def size_of(root: Path) -> int:
    return len(git(root, "rev-parse", "HEAD")) // 2


def rewrite(root: Path, change: Callable[[bytes], bytes]) -> None:
    """Change an index, but for its check sum, which is made anew."""
    size, index = size_of(root), index_of(root)
    content = index.read_bytes()
    body = change(content[:-size])
    index.write_bytes(
        body + (hashlib.new("sha1" if size == 20 else "sha256", body).digest() if any(content[-size:]) else bytes(size))
    )


def cached(root: Path) -> bytes:
    size, content = size_of(root), index_of(root).read_bytes()
    every = extensions_of(content, size, list(entries_of(content, size)))
    return b"".join(content[start + 8 : end] for name, start, end in every if name == b"TREE")


def forge(root: Path, folder: str) -> None:
    """Let the index say that a folder has a file more than it has."""
    blob = git(root, "hash-object", "-w", "--stdin", given="on: push")
    old = git(root, "rev-parse", f"HEAD:{folder}")
    lines = git(root, "ls-tree", f"HEAD:{folder}")
    new = git(root, "mktree", given=f"{lines}\n100644 blob {blob}\tadded.yml\n")
    assert bytes.fromhex(old) in cached(root)
    rewrite(root, lambda content: content.replace(bytes.fromhex(old), bytes.fromhex(new)))


def committed(root: Path, name: str = "src/mine") -> list[str]:
    """The names of what the user's own commit of one new file contains."""
    (root / name).write_text("mine\n")
    git(root, "add", name)
    git(root, "commit", "-q", "-m", "mine")
    return git(root, "-c", "core.quotePath=false", "show", "--name-only", "--format=").splitlines()


@pytest.mark.parametrize(
    ("folder", "name"), [("a", "src/mine"), ("a/b", "a/mine"), ("a/b/c", "a/b/mine"), ("src", "mine")]
)
def test_a_commit_contains_no_forged_tree(root: Path, files: ProtectedFiles, folder: str, name: str) -> None:
    git(root, "read-tree", "-mu", "HEAD")
    files.begin()
    forge(root, folder)
    assert git(root, "status", "--porcelain", "--untracked-files=no") == ""
    assert files.end() == ()
    assert cached(root) == b""
    assert git(root, "status", "--porcelain", "--untracked-files=no") == ""
    assert committed(root, name) == [name]
    git(root, "fsck", "--strict")
    assert cached(root) != b""


def test_the_forged_tree_is_committed_where_nobody_looks(root: Path) -> None:
    git(root, "read-tree", "-mu", "HEAD")
    forge(root, "a")
    assert committed(root) == ["a/added.yml", "src/mine"]


@pytest.mark.parametrize(
    "work",
    [
        "echo new > src/a; git add src/a",
        "echo new > src/new; git add -N src/new",
        "mkdir -p src/d/e; echo new > src/d/e/f; git add src; git commit -qm two",
        "git rm -q src/a; git commit -qm two",
        "git mv src/a src/0; touch src/0; git add src/0; git write-tree",
        "git checkout -qb other; echo other > src/a; git commit -qam other; git checkout -q -; echo new > src/a;"
        " git commit -qam new; git merge -q other",
        "git update-index --skip-worktree src/a; git read-tree -mu HEAD",
        "git init -q src/inner; git -C src/inner commit -q --allow-empty -m x; git add src/inner; git commit -qm two",
        "git read-tree --empty",
        "git read-tree -mu HEAD; touch src/a; git status",
        "git stash; git gc -q",
    ],
)
def test_trees_that_git_has_written_stay(root: Path, files: ProtectedFiles, work: str) -> None:
    files.begin()
    who = {f"GIT_{role}_{what}": "a" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    subprocess.run(
        ["bash", "-c", work], cwd=root, capture_output=True, check=False, env={"PATH": "/usr/bin:/bin", **who}
    )
    before = index_of(root).read_bytes()
    assert files.end() == ()
    assert index_of(root).read_bytes() == before


def test_random_changes_of_the_extension_are_seen(root: Path) -> None:
    git(root, "read-tree", "-mu", "HEAD")
    size, content = size_of(root), index_of(root).read_bytes()
    entries = list(entries_of(content, size))
    start, end = next((start, end) for name, start, end in extensions_of(content, size, entries) if name == b"TREE")
    assert without_wrong_caches(content, size, entries, frozenset()) is None
    for at in range(start + 8, end):
        changed = content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :]
        other = without_wrong_caches(changed, size, entries, frozenset())
        assert other is not None
        assert not re.search(b"TREE|EOIE", other[start:])
        assert list(entries_of(other, size)) == entries


def test_a_second_list_of_trees_is_read_like_the_first(root: Path, files: ProtectedFiles) -> None:
    git(root, "read-tree", "-mu", "HEAD")
    files.begin()
    old = git(root, "rev-parse", "HEAD:a/b")
    false = cached(root).replace(bytes.fromhex(old), bytes.fromhex(git(root, "rev-parse", "HEAD:src")))
    rewrite(root, lambda content: content + struct.pack(">4sL", b"TREE", len(false)) + false)
    assert files.end() == ()
    assert cached(root) == b""
    assert committed(root) == ["src/mine"]


@pytest.mark.parametrize(
    "wrong", [b"", b"\0", b"\x00-1 1\n", b"\x00+1 0\n" + bytes(32), b"\x001 0 \n" + bytes(32), b"\x009 0\n"]
)
def test_a_broken_list_of_trees_goes(root: Path, files: ProtectedFiles, wrong: bytes) -> None:
    files.begin()
    rewrite(root, lambda content: content + struct.pack(">4sL", b"TREE", len(wrong)) + wrong)
    assert files.end() == ()
    assert cached(root) == b""
    assert committed(root) == ["src/mine"]


@pytest.mark.parametrize("root", ["sha1", "sha256"], indirect=True)
def test_a_split_index_keeps_no_trees(root: Path, files: ProtectedFiles) -> None:
    git(root, "update-index", "--split-index")
    git(root, "read-tree", "-mu", "HEAD")
    files.begin()
    forge(root, "a")
    assert files.end() == ()
    assert cached(root) == b""
    assert committed(root) == ["src/mine"]


def refreshed(root: Path) -> list[str]:
    """What `git status` says of new files, after it has filled the cache."""
    git(root, "-c", "core.untrackedCache=true", "status")
    return git(root, "-c", "core.untrackedCache=keep", "status", "--porcelain").splitlines()


@pytest.mark.parametrize("root", ["sha1", "version 4"], indirect=True)
def test_a_new_file_shows_that_a_forged_cache_hides(root: Path, files: ProtectedFiles) -> None:
    refreshed(root)
    files.begin()
    (root / "src/planted").write_text("x\n")
    os.utime(root / "src", (1, 1))  # earlier than the index, so that git believes the cache
    assert refreshed(root) == ["?? src/planted"]
    shown = index_of(root).read_bytes()
    assert shown.count(b"planted\0") == 1
    rewrite(root, lambda content: content.replace(b"planted\0", b"another\0"))
    assert git(root, "-c", "core.untrackedCache=keep", "status", "--porcelain") == "?? src/another"
    assert files.end() == ()
    assert git(root, "-c", "core.untrackedCache=keep", "status", "--porcelain").splitlines() == ["?? src/planted"]


@pytest.mark.parametrize("root", ["sha1", "version 4"], indirect=True)
def test_the_cache_of_before_stays(root: Path, files: ProtectedFiles) -> None:
    refreshed(root)
    before = index_of(root).read_bytes()
    assert b"UNTR" in before
    files.begin()
    git(root, "update-index", "--chmod=+x", "README")
    assert files.end() == ()
    assert b"UNTR" in index_of(root).read_bytes()
