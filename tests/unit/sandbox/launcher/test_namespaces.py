"""What is mounted over in a command's view of the machine, while others delete and replace files there."""

import errno
import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from localllm.sandbox.launcher.mounts import HOLD, MASK, PIN
from localllm.sandbox.launcher.namespaces import change_in_place
from localllm.sandbox.launcher.syscalls import Kernel

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="descriptors of paths are Linux's")


def nothing() -> None:
    pass


class Busy(Kernel):
    """A kernel between whose two steps something happens; it notes what is mounted over instead of doing it."""

    def __init__(self, happens: Callable[[], object] = nothing) -> None:
        self.happens = happens
        self.changed: list[int] = []

    def open_path(self, root: str, path: str) -> int:
        if Path(root + path).is_symlink():
            raise OSError(errno.ELOOP, "a link")
        return os.open(root + path, os.O_PATH | os.O_NOFOLLOW)

    def bind_open(self, source: int, target: int, *, read_only: bool) -> None:
        self.happens()
        about = os.fstat(target)
        if not about.st_nlink:
            raise FileNotFoundError(errno.ENOENT, "syscall 429")
        self.changed.append(about.st_ino)


@pytest.fixture
def config(tmp_path: Path) -> Path:
    path = tmp_path / "config"
    path.write_text("old")
    return path


def replace(path: Path) -> None:
    """As git and editors write a file."""
    new = path.with_name("new")
    new.write_text("new")
    new.replace(path)


@pytest.mark.parametrize("kind", [PIN, MASK])
def test_what_vanishes_does_not_matter(config: Path, kind: str) -> None:
    busy = Busy(lambda: config.unlink(missing_ok=True))
    change_in_place(busy, str(config.parent), kind, "/config")
    assert busy.changed == []


@pytest.mark.parametrize("kind", [PIN, MASK])
def test_what_takes_its_place_is_changed_instead(config: Path, kind: str) -> None:
    times = iter(range(3))
    busy = Busy(lambda: replace(config) if next(times, None) is not None else None)
    change_in_place(busy, str(config.parent), kind, "/config")
    assert busy.changed == [config.stat().st_ino]


def test_what_never_works_fails(config: Path) -> None:
    with pytest.raises(FileNotFoundError):
        change_in_place(Busy(lambda: replace(config)), str(config.parent), PIN, "/config")


@pytest.mark.parametrize("kind", [PIN, HOLD])
def test_a_link_at_a_protected_name_is_left_for_later(config: Path, kind: str) -> None:
    (config.parent / "link").symlink_to(config)
    busy = Busy()
    change_in_place(busy, str(config.parent), kind, "/link")
    assert busy.changed == []


def test_a_link_where_something_is_to_be_hidden_fails(config: Path) -> None:
    (config.parent / "link").symlink_to(config)
    with pytest.raises(OSError, match="a link"):
        change_in_place(Busy(), str(config.parent), MASK, "/link")
