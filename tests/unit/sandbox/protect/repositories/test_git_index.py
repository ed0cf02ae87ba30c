"""The check of what the entries of a repository's index name, on indexes that git has written and on forged ones."""

import hashlib
import mmap
import struct
import subprocess
import sys
from pathlib import Path

import pytest

from localllm.sandbox.protect.protected_paths import Reach
from localllm.sandbox.protect.repositories import git_index
from localllm.sandbox.protect.repositories.git_index import IndexFiles, names_refused_path
from localllm.sandbox.protect.repositories.index_entries import entries_of


def git(root: Path, *arguments: str, given: str = "") -> None:
    subprocess.run(["git", *arguments], cwd=root, input=given, text=True, check=True, capture_output=True)


def is_refused(root: Path) -> bool:
    return names_refused_path(root / ".git/index", root / ".git/config")


def forged(path: bytes) -> bytes:
    """An index of version 2 with one entry."""
    entry = struct.pack(">10L20sH", *[0] * 6, 0o100644, 0, 0, 0, b"x" * 20, min(len(path), 0xFFF)) + path
    content = struct.pack(">4sLL", b"DIRC", 2, 1) + entry + b"\0" * (8 - len(entry) % 8)
    return content + hashlib.sha1(content).digest()


@pytest.mark.parametrize("version", ["2", "3", "4"])
@pytest.mark.parametrize("objects", ["sha1", "sha256"])
def test_what_git_writes_is_fine(tmp_path: Path, version: str, objects: str) -> None:
    git(tmp_path, "init", "-q", f"--object-format={objects}")
    names = [".gitignore", "a/.github/x", "git~2", "..a", "a.git", "a/b" * 60 + "/c", "d" * 200, "日本語"]
    for name in names:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(name)
    git(tmp_path, "add", "-A")
    git(tmp_path, "update-index", "--index-version", version, "--skip-worktree", "..a")
    assert not is_refused(tmp_path)


@pytest.mark.parametrize("version", ["2", "4"])
def test_a_large_index_in_blocks(tmp_path: Path, version: str) -> None:
    git(tmp_path, "init", "-q")
    git(tmp_path, "config", "index.threads", "4")
    git(tmp_path, "config", "index.version", version)
    lines = "".join(f"100644 {'1' * 40}\tfolder{number % 100}/file{number}\n" for number in range(30_000))
    git(tmp_path, "update-index", "--index-info", given=lines)
    content = (tmp_path / ".git/index").read_bytes()
    assert b"IEOT" in content
    assert not is_refused(tmp_path)
    at = content.index(b"IEOT") + 12 + 8
    moved = content[:at] + struct.pack(">L", 12) + content[at + 4 :]
    (tmp_path / ".git/index").write_bytes(moved)
    assert is_refused(tmp_path)


@pytest.mark.parametrize(
    "path",
    [
        b".git/hooks/pre-commit", b"/etc/x", b"../x", b"a/../../x", b"a/./x", b"a//x", b"sub/.GIT/config",
        b"GIT~1/config", b".git ./config", b".git:x/config", b".g\xe2\x80\x8cit/config", b"a/..", b".git",
        b"a/" * 3000 + b"x", b"a\0.git/x",
    ],
)  # fmt: skip
def test_what_git_would_not_write_is_refused(tmp_path: Path, path: bytes) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git/index").write_bytes(forged(b"a/b.git/c"))
    assert not is_refused(tmp_path)
    (tmp_path / ".git/index").write_bytes(forged(path))
    assert is_refused(tmp_path)


def test_what_is_cut_is_refused(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git/index").write_bytes(forged(b"a")[:60])
    assert is_refused(tmp_path)


def test_entries_of_a_split_index_that_take_the_place_of_others_have_no_path(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    (tmp_path / "a").write_text("a")
    git(tmp_path, "add", "a")
    git(tmp_path, "update-index", "--split-index")
    (tmp_path / "a").write_text("changed")
    git(tmp_path, "add", "a")
    content = (tmp_path / ".git/index").read_bytes()
    assert b"" in [path for _, path in entries_of(content, 20)]
    assert not is_refused(tmp_path)


def test_of_more_than_can_be_read_the_largest_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, path in (("a", b"a" * 9), ("b", b"b"), ("c", b"c" * 99)):
        (tmp_path / name / ".git").mkdir(parents=True)
        (tmp_path / name / ".git/index").write_bytes(forged(path))
    monkeypatch.setattr(git_index, "MOST_BYTES", 300)
    files, reach = IndexFiles(tmp_path), Reach(10.0)
    reach.repositories.update("abc")
    assert [*files.look(reach)] == ["c/.git/index"]


@pytest.mark.skipif(sys.platform != "linux", reason="times of mapped files are those of Linux")
def test_an_index_written_through_a_mapping_is_found_though_its_times_stay(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    index = tmp_path / ".git/index"
    index.write_bytes(forged(b"a/b.gitx"))
    files, reach = IndexFiles(tmp_path), Reach(10.0)
    reach.repositories.add("")
    files.believe(reach)
    with index.open("r+b") as file, mmap.mmap(file.fileno(), 0) as mapped:
        mapped[:] = forged(b"a/c.gitx")
        assert not files.look(reach)
        written = index.stat()
        mapped[:] = forged(b".git/xyz")
        assert index.stat() == written  # else the test shows nothing
        assert [*files.look(reach)] == [".git/index"]
