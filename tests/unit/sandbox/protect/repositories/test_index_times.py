"""A file that a command has changed shows in `git status`, whatever the command has written into the index."""

import hashlib
import mmap
import os
import struct
import subprocess
import sys
import time
from pathlib import Path

import pytest

from localllm.sandbox.protect.repositories import index_times
from localllm.sandbox.protect.repositories.index_entries import entries_of
from localllm.sandbox.protect.revert import ProtectedFiles

NAMES = ("-c", "user.name=a", "-c", "user.email=a@b")


def git(root: Path, *arguments: str) -> str:
    return subprocess.run(["git", *NAMES, *arguments], cwd=root, check=True, capture_output=True).stdout.decode()


@pytest.fixture(params=["sha1", "sha256", "version 4", "without sum", "linked"])
def root(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    root = (tmp_path / "project").resolve()
    kind = "sha256" if request.param == "sha256" else "sha1"
    git(tmp_path, "init", "-q", f"--object-format={kind}", str(root))
    if request.param == "version 4":
        git(root, "config", "index.version", "4")
    if request.param == "without sum":
        git(root, "config", "index.skipHash", "true")
    for name in ("README", "src/a", "src/b"):
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).write_text("old\n")
    (root / "link").symlink_to("README")
    git(root, "add", ".")
    git(root, "commit", "-q", "-m", "one")
    if request.param == "linked":
        git(root, "worktree", "add", "-q", "tree")
        return root / "tree"
    return root


@pytest.fixture
def files(root: Path, tmp_path: Path) -> ProtectedFiles:
    return ProtectedFiles(tmp_path.resolve() / "project", tmp_path / "quarantine", coarse=0)


def index_of(root: Path) -> Path:
    return root / git(root, "rev-parse", "--git-path", "index").strip()


def forge(root: Path, name: str) -> None:
    """Let the index say that the file is as it was, with the size and the times it has now."""
    index, about = index_of(root), (root / name).lstat()
    size = len(git(root, "rev-parse", "HEAD").strip()) // 2
    content = bytearray(index.read_bytes())
    at = next(at for at, path in entries_of(bytes(content), size) if path == os.fsencode(name))
    times = (about.st_ctime_ns, about.st_mtime_ns)
    stamps = [part for one in times for part in (one // 10**9, one % 10**9)]
    rest = (about.st_dev, about.st_ino, *struct.unpack_from(">L", content, at + 24), about.st_uid, about.st_gid)
    struct.pack_into(">10L", content, at, *stamps, *(one & 0xFFFFFFFF for one in rest), about.st_size)
    kind = hashlib.new("sha1" if size == 20 else "sha256", content[:-size], usedforsecurity=False)
    content[-size:] = kind.digest() if any(content[-size:]) else bytes(size)
    later = time.time() + 10
    index.write_bytes(content)
    os.utime(index, (later, later))


def status(root: Path) -> list[str]:
    return git(root, "status", "--short", "--untracked-files=no").splitlines()


@pytest.mark.parametrize("name", ["README", "link"])
@pytest.mark.parametrize("is_earlier", [True, False])
def test_a_changed_file_shows(root: Path, files: ProtectedFiles, name: str, is_earlier: bool) -> None:
    files.begin()
    if name == "link":
        (root / name).unlink()
        (root / name).symlink_to("src/abc")
    else:
        (root / name).write_text("new text\n")
    if is_earlier:
        assert files.end() == ()
        files.begin()
    forge(root, name)
    assert status(root) == []
    assert files.end() == ()
    assert status(root) == [f" M {name}"]
    git(root, "commit", "-qam", "two")
    assert status(root) == []
    git(root, "fsck", "--strict")


KILLED = """
import os, signal, sys
from pathlib import Path
from localllm.sandbox.protect.revert import ProtectedFiles
ProtectedFiles(Path(sys.argv[1]), Path(sys.argv[2]), coarse=0).begin()
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_changed_file_shows_after_a_kill(root: Path, tmp_path: Path) -> None:
    project, quarantine = tmp_path.resolve() / "project", tmp_path / "quarantine"
    assert subprocess.run([sys.executable, "-c", KILLED, project, quarantine], check=False).returncode == -9
    (root / "README").write_text("new\n")
    forge(root, "README")
    assert status(root) == []
    ProtectedFiles(project, quarantine, coarse=0).recover()
    assert status(root) == [" M README"]


def begin_of_a_second() -> int:
    """Wait for the next second, so that there is time in it."""
    now = time.time()
    time.sleep(1.01 - now % 1)
    return int(now) + 1


def stage_and_set(root: Path, index_time: float | None) -> None:
    """Stage a file, and set the time of the index."""
    (root / "README").write_text("new\n")
    git(root, "add", "README")
    if index_time is not None:
        os.utime(index_of(root), (index_time, index_time))


def change_within(root: Path, second: int) -> bool:
    """Change a file with the same size; return whether that was in the given second, which is that of its last
    change."""
    (root / "README").write_text("NEW\n")
    os.utime(root / "README", (second, second))
    return int((root / "README").stat().st_ctime) == second


def stage_in_one_command_and_change_in_the_next(root: Path, files: ProtectedFiles, index_time: float | None) -> None:
    """Do both in one second, again if a busy machine takes longer; the next command is running then."""
    while True:
        files.begin()
        second = begin_of_a_second()
        stage_and_set(root, index_time)
        assert files.end() == ()
        files.begin()
        if change_within(root, second):
            return
        files.end()


def renew(index: Path) -> None:
    """Let the index be from a later second."""
    time.sleep(1.2)
    copy = index.with_name("index.new")
    copy.write_bytes(index.read_bytes())
    copy.rename(index)


def test_a_change_in_the_second_of_the_last_one_shows_where_the_index_is_renewed(
    root: Path, files: ProtectedFiles
) -> None:
    stage_in_one_command_and_change_in_the_next(root, files, None)
    renew(index_of(root))
    assert status(root) == ["M  README"]
    assert files.end() == ()
    assert status(root) == ["MM README"]


@pytest.mark.parametrize("index_time", [0, 4_000_000_000])
def test_a_change_in_the_second_of_the_last_one_shows_where_the_index_has_another_time(
    root: Path, files: ProtectedFiles, index_time: int
) -> None:
    stage_in_one_command_and_change_in_the_next(root, files, index_time)
    assert files.end() == ()
    assert status(root) == ["MM README"]


def test_a_change_that_git_would_have_found_by_the_time_of_the_index_shows_when_that_is_written(
    root: Path, files: ProtectedFiles
) -> None:
    second = begin_of_a_second()
    stage_and_set(root, None)
    while not change_within(root, second):
        second = begin_of_a_second()
        stage_and_set(root, None)
    files.begin()
    (root / "src/a").write_text("new text\n")
    os.utime(root / "src/a", (second - 9, second - 9))
    about = index_of(root).stat()
    forge(root, "src/a")
    os.utime(index_of(root), ns=(about.st_atime_ns, about.st_mtime_ns))
    time.sleep(1.2)
    assert files.end() == ()
    assert status(root) == ["MM README", " M src/a"]


def test_what_another_command_may_still_change_by_a_mapping_is_read_again(root: Path, files: ProtectedFiles) -> None:
    files.begin()
    files.begin()  # in the background
    index = index_of(root)
    (root / "README").write_text("new text\n")
    true = index.read_bytes()
    forge(root, "README")
    forged, about = index.read_bytes(), index.stat()
    with index.open("r+b") as file, mmap.mmap(file.fileno(), 0) as mapped:
        mapped[:] = true  # its pages are dirty now: later writes change no times
        os.utime(index, ns=(about.st_atime_ns, about.st_mtime_ns))
        assert files.end() == ()
        mapped[:] = forged
    assert status(root) == []
    assert files.end() == ()
    assert status(root) == [" M README"]


def test_an_index_that_git_has_written_stays(root: Path, files: ProtectedFiles) -> None:
    for text in ("new\n", "newer\n"):
        files.begin()
        (root / "README").write_text(text)
        git(root, "add", ".")
        git(root, "commit", "-q", "-m", text)
        (root / "src/b").write_text(text)
        before = index_of(root).read_bytes()
        assert files.end() == ()
        assert index_of(root).read_bytes() == before


def test_what_there_is_no_time_for_git_reads_itself(
    root: Path, files: ProtectedFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(index_times, "_SECONDS", -1.0)
    files.begin()
    (root / "README").write_text("newer\n")
    git(root, "add", "README")
    (root / "README").write_text("other\n")
    assert files.end() == ()
    assert status(root) == ["MM README"]
    git(root, "commit", "-qam", "two")
    assert status(root) == []


def test_a_split_index_is_read_again(root: Path, files: ProtectedFiles) -> None:
    git(root, "update-index", "--split-index")
    files.begin()
    git(root, "update-index", "--chmod=+x", "README")
    assert files.end() == ()
    assert index_of(root).stat().st_mtime == 1
    assert status(root)[0].startswith("M")
