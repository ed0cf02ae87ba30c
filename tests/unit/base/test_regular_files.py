"""Files that may be anything are read without waiting, and their stamps tell no lies."""

import errno
import os
import re
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import localllm
from localllm.base.regular_files import READ, is_settled, opened, read_beneath, read_regular, stamp_of


def beneath(path: Path, limit: int) -> bytes:
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        return read_beneath(folder, path.name, limit)
    finally:
        os.close(folder)


both = pytest.mark.parametrize("read", [read_regular, beneath])


@both
def test_all_of_a_file_is_read_and_no_more_than_the_limit(tmp_path: Path, read: Callable[[Path, int], bytes]) -> None:
    (tmp_path / "a").write_bytes(b"12345")
    assert read(tmp_path / "a", 5) == b"12345"
    with pytest.raises(OSError, match="too large") as refused:
        read(tmp_path / "a", 4)
    assert refused.value.errno == errno.EFBIG


@both
def test_what_grows_without_end_is_not_read_to_its_end(read: Callable[[Path, int], bytes]) -> None:
    with pytest.raises(OSError, match="not a regular file"):
        read(Path("/dev/zero"), 10)


@both
def test_neither_a_pipe_nor_a_link_nor_a_folder_is_read(tmp_path: Path, read: Callable[[Path, int], bytes]) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "a").write_bytes(b"a")
    (tmp_path / "link").symlink_to("a")
    for name, number in (("pipe", errno.EINVAL), ("link", errno.ELOOP), (".", errno.EINVAL), ("none", errno.ENOENT)):
        with pytest.raises(OSError) as refused:  # noqa: PT011 - told by its number
            read(tmp_path / name, 10)
        assert refused.value.errno == number, name


def test_what_is_refused_is_closed(tmp_path: Path) -> None:
    for path in (tmp_path, Path(os.devnull)):
        fd = os.open(path, READ)
        with pytest.raises(OSError, match="not a regular file"):
            opened(fd)
        with pytest.raises(OSError, match="Bad file descriptor"):
            os.fstat(fd)


def test_a_stamp_tells_a_change_once_it_is_settled(tmp_path: Path) -> None:
    file = tmp_path / "a"
    file.write_bytes(b"1")
    just_made = stamp_of(file.stat())
    assert not is_settled(just_made)
    assert is_settled(stamp_of(Path(os.__file__).stat()))
    file.write_bytes(b"12")
    assert stamp_of(file.stat()) != just_made


def test_an_entry_changed_a_moment_ago_is_not_settled_however_old_its_content(tmp_path: Path) -> None:
    file = tmp_path / "a"
    file.write_bytes(b"1")
    long_ago = time.time() - 1_000
    os.utime(file, (long_ago, long_ago))
    assert not is_settled(stamp_of(file.stat()))


_OPENING = re.compile(r"\.(?:read_text|read_bytes|open)\(|(?<![\w.])open\(")
_OF_PROJECTS = ("agent", "lookup", "memory", "project", "tools")
_OTHER = re.compile(r"__file__|_FOLDER|\bos\.open\(|root\.read_bytes\(|/proc/|\"open\(|`open\(|open\(\?:")
"""In lines that open the package's own files or the kernel's, or by descriptor, with flags."""


def test_files_of_projects_are_opened_here_alone() -> None:
    """A command can put a named pipe in place of any of them."""
    package = Path(localllm.__file__).parent
    found = [
        f"{file.relative_to(package)}: {line.strip()}"
        for room in _OF_PROJECTS
        for file in sorted((package / room).rglob("*.py"))
        for line in file.read_text("utf-8").splitlines()
        if _OPENING.search(line) and not _OTHER.search(line)
    ]
    assert found == []
