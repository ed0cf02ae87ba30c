"""A command's replacement of an object is taken away; what the user has replaced stays, also when git packs it."""

import mmap
import subprocess
from pathlib import Path

import pytest

from localllm.sandbox.protect.repositories import replaced_objects
from localllm.sandbox.protect.revert import ProtectedFiles

NAMES = ("-c", "user.name=a", "-c", "user.email=a@b")


def git(root: Path, *arguments: str) -> str:
    return subprocess.run(["git", *NAMES, *arguments], cwd=root, check=True, capture_output=True, text=True).stdout


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = (tmp_path / "project").resolve()
    git(tmp_path, "init", "-q", str(root))
    for message in ("one", "two", "three"):
        git(root, "commit", "-q", "--allow-empty", "-m", message)
    git(root, "tag", "-m", "tagged", "v1")
    return root


@pytest.fixture
def files(root: Path, tmp_path: Path) -> ProtectedFiles:
    return ProtectedFiles(root, tmp_path / "quarantine")


def test_a_replacement_is_taken_away(root: Path, files: ProtectedFiles) -> None:
    shown = git(root, "log", "--format=%s")
    files.begin()
    git(root, "replace", "HEAD", "HEAD~2")
    assert git(root, "log", "--format=%s") != shown
    assert files.end() == (f".git/refs/replace/{git(root, 'rev-parse', 'HEAD').strip()}",)
    assert git(root, "log", "--format=%s") == shown


def test_a_packed_one_goes_and_the_other_refs_stay(root: Path, files: ProtectedFiles) -> None:
    files.begin()
    git(root, "replace", "HEAD", "HEAD~2")
    git(root, "pack-refs", "--all")
    git(root, "branch", "later")
    assert files.end() == (".git/packed-refs",)
    refs = git(root, "for-each-ref", "--format=%(refname)").split()
    assert refs == ["refs/heads/later", "refs/heads/" + git(root, "branch", "--show-current").strip(), "refs/tags/v1"]
    assert git(root, "log", "--format=%s").split() == ["three", "two", "one"]
    assert git(root, "rev-parse", "v1^{commit}") == git(root, "rev-parse", "HEAD")
    files.begin()
    git(root, "pack-refs", "--all")
    assert files.end() == ()


@pytest.mark.parametrize("blank", [" ", "\t", "\r", "\n"])
def test_a_packed_one_is_found_whatever_stands_before_its_name(root: Path, files: ProtectedFiles, blank: str) -> None:
    git(root, "tag", "-d", "v1")  # which would have to stand behind it
    git(root, "pack-refs", "--all")
    shown = git(root, "log", "--format=%s")
    newest, oldest = git(root, "rev-parse", "HEAD", "HEAD~2").split()
    files.begin()
    with (root / ".git/packed-refs").open("a", newline="") as file:
        file.write(f"{oldest}{blank}refs/replace/{newest}\n")
    assert git(root, "log", "--format=%s") != shown
    assert files.end() == (".git/packed-refs",)
    assert git(root, "log", "--format=%s") == shown


def test_one_that_a_mapping_makes_of_another_name_after_a_look_is_found(root: Path, files: ProtectedFiles) -> None:
    git(root, "pack-refs", "--all")
    shown = git(root, "log", "--format=%s")
    newest, oldest = git(root, "rev-parse", "HEAD", "HEAD~2").split()
    files.begin()
    packed = root / ".git/packed-refs"
    head, *rest = packed.read_bytes().splitlines(keepends=True)
    packed.write_bytes(b"".join([head, *rest[:1], f"{oldest} refs/replacd/{newest}\n".encode(), *rest[1:]]))
    with packed.open("r+b") as file, mmap.mmap(file.fileno(), 0) as mapped:
        mapped[:] = bytes(mapped)  # its pages are dirty now: later writes change no times
        assert files.check() == ()
        at = mapped.find(b"replacd")
        mapped[at : at + 7] = b"replace"
    assert git(root, "log", "--format=%s") != shown
    assert files.end() == (".git/packed-refs",)
    assert git(root, "log", "--format=%s") == shown


def test_what_the_user_has_replaced_may_be_packed_and_copied(root: Path, files: ProtectedFiles) -> None:
    git(root, "replace", "HEAD", "HEAD~2")
    shown = git(root, "log", "--format=%s")
    files.begin()
    git(root, "pack-refs", "--all", "--no-prune")
    git(root, "gc", "-q")
    git(root, "clone", "-q", "--mirror", ".", "copy.git")
    assert [path for path in files.end() if "packed-refs" in path] == []
    assert git(root, "log", "--format=%s") == shown
    files.begin()
    git(root, "replace", "-f", "HEAD", "HEAD~1")
    files.end()
    assert git(root, "log", "--format=%s") == shown


def test_other_packed_refs_are_not_touched(root: Path, files: ProtectedFiles) -> None:
    files.begin()
    git(root, "branch", "refs/replace/x")
    git(root, "init", "-q", "sub")
    git(root / "sub", "commit", "-q", "--allow-empty", "-m", "one")
    git(root / "sub", "pack-refs", "--all")
    git(root, "pack-refs", "--all")
    before = (root / ".git/packed-refs").read_text()
    assert files.end() == ()
    assert (root / ".git/packed-refs").read_text() == before


def test_a_list_that_is_many_files_is_read_once(
    root: Path, files: ProtectedFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    git(root, "pack-refs", "--all")
    monkeypatch.setattr(replaced_objects, "_MOST_BYTES", 3_000)
    files.begin()
    for number in range(20):
        git(root, "init", "-q", "--bare", f"bare{number}")
    text = (root / ".git/packed-refs").read_text()
    (root / "bare0/packed-refs").write_text(f"{text}{'1' * 40} refs/replace/{'2' * 40}\n" + "# long\n" * 200)
    for number in range(1, 20):
        (root / f"bare{number}/packed-refs").hardlink_to(root / "bare0/packed-refs")
    assert files.end() == tuple(sorted(f"bare{number}/packed-refs" for number in range(20)))
    assert not files.is_overlooked


@pytest.mark.parametrize("limit", ["_MOST_BYTES", "_LARGEST"])
def test_lists_that_are_not_read_are_said(
    root: Path, files: ProtectedFiles, monkeypatch: pytest.MonkeyPatch, limit: str
) -> None:
    git(root, "pack-refs", "--all")
    files.begin()
    monkeypatch.setattr(replaced_objects, limit, 10)
    git(root, "branch", "later")
    git(root, "pack-refs", "--all")
    assert files.end() == ()
    assert files.is_overlooked


def test_of_a_project_that_is_a_bare_repository_the_list_stays(tmp_path: Path, root: Path) -> None:
    bare = (tmp_path / "bare").resolve()
    git(tmp_path, "clone", "-q", "--bare", str(root), str(bare))
    git(bare, "worktree", "add", "-q", "main-tree")
    refs = (bare / "packed-refs").read_text()
    one = git(bare, "rev-parse", "HEAD").strip()
    files = ProtectedFiles(bare, tmp_path / "quarantine")
    files.begin()
    (bare / "packed-refs").write_text(f"{refs}{one} refs/replace/{one}\n")
    assert files.end() == ("packed-refs",)
    assert (bare / "packed-refs").read_text() == refs
    files.begin()
    git(bare, "worktree", "add", "-q", "--detach", "second")
    git(bare, "repack", "-qad")
    assert files.end() == ()
    files.begin()
    git(bare, "worktree", "remove", "second")
    git(bare, "worktree", "remove", "main-tree")
    assert files.end() == ()
    git(bare, "replace", "HEAD", "HEAD~2")
    files.begin()
    git(bare, "pack-refs", "--all")
    assert "packed-refs" not in files.end()
    assert "refs/replace" in (bare / "packed-refs").read_text()
