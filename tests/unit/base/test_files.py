"""Files are replaced whole or not at all and opened beneath a folder only."""

import errno
import os
import stat
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from localllm.base.files import (
    ChangedMeanwhileError,
    atomic_write,
    atomic_write_at,
    open_beneath,
    open_by_components,
    real_path,
)

Opener = Callable[..., int]


def run(program: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", program, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=30, check=True)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


class TestAtomicWrite:
    def test_a_new_file_gets_what_the_umask_leaves(self, tmp_path: Path) -> None:
        reference = tmp_path / "reference"
        reference.touch()
        atomic_write(tmp_path / "new", b"text")
        assert (tmp_path / "new").read_bytes() == b"text"
        assert (tmp_path / "new").stat().st_mode == reference.stat().st_mode

    def test_an_old_file_keeps_its_mode(self, tmp_path: Path) -> None:
        file = tmp_path / "script"
        file.write_bytes(b"old and longer")
        file.chmod(0o751)
        atomic_write(file, b"new")
        assert (file.read_bytes(), stat.S_IMODE(file.stat().st_mode)) == (b"new", 0o751)

    def test_a_mode_that_is_given_wins_over_the_umask_too(self, tmp_path: Path) -> None:
        for name in ("old", "new"):
            file = tmp_path / name
            if name == "old":
                file.touch()
            atomic_write(file, b"", mode=0o666)
            assert stat.S_IMODE(file.stat().st_mode) == 0o666

    def test_a_link_stays_a_link(self, tmp_path: Path) -> None:
        target, link = tmp_path / "folder" / "target", tmp_path / "link"
        target.parent.mkdir()
        link.symlink_to("folder/target")
        atomic_write(link, b"one")
        atomic_write(link, b"two")
        assert link.is_symlink()
        assert target.read_bytes() == b"two"

    def test_readers_of_the_old_file_keep_the_old_content(self, tmp_path: Path) -> None:
        file = tmp_path / "file"
        file.write_bytes(b"old")
        with file.open("rb") as reader:
            atomic_write(file, b"new")
            assert reader.read() == b"old"

    def test_what_is_no_regular_file_is_refused_and_left(self, tmp_path: Path) -> None:
        os.mkfifo(tmp_path / "pipe")
        (tmp_path / "folder").mkdir()
        (tmp_path / "circle").symlink_to("circle")
        before = names(tmp_path)
        found = {}
        for name in before:
            with pytest.raises(OSError) as raised:  # noqa: PT011 - the errno is what is looked at
                atomic_write(tmp_path / name, b"x")
            found[name] = raised.value.errno
        assert found == {"circle": errno.ELOOP, "folder": errno.EISDIR, "pipe": errno.EINVAL}
        assert names(tmp_path) == before

    def test_a_missing_folder_is_an_error(self, tmp_path: Path) -> None:
        with pytest.raises(FileNotFoundError):
            atomic_write(tmp_path / "no" / "file", b"x")

    def test_a_full_disk_leaves_the_old_content_and_nothing_else(self, tmp_path: Path) -> None:
        file = tmp_path / "file"
        file.write_bytes(b"old")
        program = """
import resource, sys
from pathlib import Path
from localllm.base.files import atomic_write
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
try:
    atomic_write(Path(sys.argv[1]), b"x" * 100_000)
except OSError as error:
    print(error.errno)
"""
        assert run(program, file).stdout.split() == [str(errno.EFBIG)]
        assert file.read_bytes() == b"old"
        assert names(tmp_path) == ["file"]

    def test_a_read_only_file_is_respected(self, tmp_path: Path) -> None:
        file = tmp_path / "file"
        file.write_bytes(b"old")
        file.chmod(0o444)
        tmp_path.chmod(0o777)
        program = """
import os, sys
from localllm.base.files import atomic_write_at
folder = os.open(sys.argv[1], os.O_RDONLY)
if os.getuid() == 0:  # root may write everything
    os.setgroups([]), os.setgid(65534), os.setuid(65534)
try:
    atomic_write_at(folder, "file", b"new")
except PermissionError:
    print("refused")
"""
        assert run(program, tmp_path).stdout == "refused\n"
        assert file.read_bytes() == b"old"


class TestAtomicWriteAt:
    @pytest.fixture
    def folder(self, tmp_path: Path) -> Iterator[int]:
        fd = os.open(tmp_path, os.O_RDONLY | os.O_DIRECTORY)
        yield fd
        os.close(fd)

    def test_it_writes_into_the_open_folder_wherever_that_is_now(self, tmp_path: Path) -> None:
        before, after = tmp_path / "before", tmp_path / "after"
        before.mkdir()
        fd = os.open(before, os.O_RDONLY)
        before.rename(after)
        before.mkdir()
        atomic_write_at(fd, "file", b"x")
        os.close(fd)
        assert (names(before), names(after)) == ([], ["file"])

    def test_links_are_not_followed(self, tmp_path: Path, folder: int) -> None:
        (tmp_path / "link").symlink_to("target")
        with pytest.raises(OSError, match="symbolic links") as raised:
            atomic_write_at(folder, "link", b"x")
        assert raised.value.errno == errno.ELOOP
        assert names(tmp_path) == ["link"]

    def test_over_what_is_there_and_nothing_else(self, tmp_path: Path, folder: int) -> None:
        (tmp_path / "file").write_bytes(b"old")
        for other in (b"", b"ol", b"older", b"new"):
            with pytest.raises(ChangedMeanwhileError):
                atomic_write_at(folder, "file", b"x", over=other)
        assert (tmp_path / "file").read_bytes() == b"old"
        atomic_write_at(folder, "file", b"x", over=b"old")
        assert (tmp_path / "file").read_bytes() == b"x"
        with pytest.raises(FileNotFoundError):
            atomic_write_at(folder, "none", b"x", over=b"")
        assert names(tmp_path) == ["file"]

    @pytest.mark.parametrize("name", ["", ".", "..", "../x", "a/b", "a\0b"])
    def test_only_one_component(self, folder: int, name: str) -> None:
        with pytest.raises(OSError, match="Invalid argument"):
            atomic_write_at(folder, name, b"x")


@pytest.fixture
def root(tmp_path: Path) -> Iterator[int]:
    """An open folder with files, links that stay inside, and links that lead out."""
    inside = tmp_path / "root"
    (inside / "folder").mkdir(parents=True)
    (inside / "folder" / "file").write_text("inside")
    (tmp_path / "secret").write_text("outside")
    links = {
        "to_folder": "folder",
        "to_file": "folder/file",
        "folder/back": "../folder/file",
        "absolute": str(tmp_path / "secret"),
        "absolute_inside": str(inside / "folder" / "file"),
        "up": "../secret",
        "folder/further_up": "../../secret",
        "circle": "circle",
        "dangling": "folder/new",
    }
    for name, target in links.items():
        (inside / name).symlink_to(target)
    fd = os.open(inside, os.O_RDONLY | os.O_DIRECTORY)
    yield fd
    os.close(fd)


both = pytest.mark.parametrize("opener", [open_beneath, open_by_components])


def read(fd: int) -> str:
    with os.fdopen(fd) as file:
        return file.read()


@both
class TestOpenBeneath:
    @pytest.mark.parametrize(
        "path",
        ["folder/file", "./folder//file", "to_folder/file", "to_file", "folder/../folder/file", "folder/back"],
    )
    def test_what_stays_inside_is_opened(self, root: int, opener: Opener, path: str) -> None:
        assert read(opener(root, path, os.O_RDONLY)) == "inside"

    @pytest.mark.parametrize(
        ("path", "expected"),
        [
            ("/etc/passwd", errno.EXDEV),
            ("../secret", errno.EXDEV),
            ("folder/../../secret", errno.EXDEV),
            ("absolute", errno.EXDEV),
            ("absolute_inside", errno.EXDEV),
            ("up", errno.EXDEV),
            ("folder/further_up", errno.EXDEV),
            ("to_folder/further_up", errno.EXDEV),
            ("..", errno.EXDEV),
            ("circle", errno.ELOOP),
            ("circle/file", errno.ELOOP),
            ("missing", errno.ENOENT),
            ("", errno.ENOENT),
            ("folder/file/", errno.ENOTDIR),
            ("folder/file/..", errno.ENOTDIR),
        ],
    )
    def test_everything_else_is_refused(self, root: int, opener: Opener, path: str, expected: int) -> None:
        with pytest.raises(OSError) as raised:  # noqa: PT011 - the errno is what is looked at
            opener(root, path, os.O_RDONLY)
        assert raised.value.errno == expected

    @pytest.mark.parametrize("path", [".", "folder/..", "folder/../", "to_folder/.."])
    def test_the_folder_itself(self, root: int, opener: Opener, path: str) -> None:
        fd = opener(root, path, os.O_RDONLY | os.O_DIRECTORY)
        assert os.path.samestat(os.fstat(fd), os.fstat(root))
        os.close(fd)

    def test_no_following_at_the_end(self, root: int, opener: Opener) -> None:
        with pytest.raises(OSError, match="symbolic links"):
            opener(root, "to_file", os.O_RDONLY | os.O_NOFOLLOW)

    def test_creating(self, root: int, opener: Opener) -> None:
        old = os.umask(0)
        try:
            fd = opener(root, "folder/made", os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o640)
        finally:
            os.umask(old)
        assert stat.S_IMODE(os.fstat(fd).st_mode) == 0o640
        assert not os.get_inheritable(fd)
        os.close(fd)
        with pytest.raises(FileExistsError):
            opener(root, "folder/made", os.O_WRONLY | os.O_CREAT | os.O_EXCL)
        with pytest.raises(FileExistsError):
            opener(root, "dangling", os.O_WRONLY | os.O_CREAT | os.O_EXCL)
        os.close(opener(root, "dangling", os.O_WRONLY | os.O_CREAT))
        assert os.stat("folder/new", dir_fd=root)

    def test_a_nul_is_refused(self, root: int, opener: Opener) -> None:
        with pytest.raises(OSError, match="Invalid argument"):
            opener(root, "folder/file\0.txt", os.O_RDONLY)

    def test_nothing_stays_open(self, root: int, opener: Opener) -> None:
        before = len(names(Path("/proc/self/fd")))
        for path in ("folder/file", "up", "folder/back", "circle", "missing/x"):
            try:
                os.close(opener(root, path, os.O_RDONLY))
            except OSError:
                continue
        assert len(names(Path("/proc/self/fd"))) == before

    def test_a_link_exchanged_meanwhile_leads_nowhere(self, root: int, opener: Opener, tmp_path: Path) -> None:
        """A folder is swapped for a link to the outside, over and over, while files in it are opened."""
        (tmp_path / "outside").mkdir()
        (tmp_path / "outside" / "file").write_text("outside")
        (tmp_path / "root" / "swap").symlink_to("../outside")
        done = threading.Event()

        def swap() -> None:
            while not done.is_set():
                os.rename("folder", "kept", src_dir_fd=root, dst_dir_fd=root)
                os.rename("swap", "folder", src_dir_fd=root, dst_dir_fd=root)
                os.rename("folder", "swap", src_dir_fd=root, dst_dir_fd=root)
                os.rename("kept", "folder", src_dir_fd=root, dst_dir_fd=root)

        attacker = threading.Thread(target=swap, daemon=True)
        attacker.start()
        seen: set[str | int | None] = set()
        for _ in range(1000):
            try:
                seen.add(read(opener(root, "folder/file", os.O_RDONLY)))
            except OSError as error:
                seen.add(error.errno)
        done.set()
        attacker.join()
        assert seen <= {"inside", errno.EXDEV, errno.ELOOP, errno.ENOENT, errno.ENOTDIR}


def test_links_of_proc_are_no_way_out(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.touch()
    held = os.open(secret, os.O_RDONLY)
    proc = os.open("/proc/self/fd", os.O_RDONLY | os.O_DIRECTORY)
    with pytest.raises(OSError, match="symbolic links"):
        open_beneath(proc, str(held), os.O_RDONLY)
    os.close(held)
    os.close(proc)


def test_a_link_that_is_exchanged_while_it_is_read_is_looked_at_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "link").symlink_to("file")
    read, exchanged = os.readlink, [True, True]

    def busy(path: str) -> str:
        if exchanged:
            exchanged.pop()
            raise OSError(errno.EINVAL, "no link any more", path)
        return read(path)

    monkeypatch.setattr(os, "readlink", busy)
    assert real_path(tmp_path / "link") == os.fspath(tmp_path / "file")


def test_a_new_file_gets_no_right_to_run_as_its_owner(tmp_path: Path) -> None:
    file = tmp_path / "tool"
    atomic_write(file, b"#!/bin/sh\n", mode=0o6755)
    assert stat.S_IMODE(file.stat().st_mode) == 0o755


def test_an_edited_file_keeps_it(tmp_path: Path) -> None:
    file = tmp_path / "tool"
    file.write_bytes(b"#!/bin/sh\n")
    file.chmod(0o4755)
    atomic_write(file, b"#!/bin/sh\ntrue\n")
    assert stat.S_IMODE(file.stat().st_mode) == 0o4755
