"""What is noticed of names that are closed to a command."""

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

if sys.platform != "linux":
    pytest.skip("asks the kernel of Linux", allow_module_level=True)

from localllm.sandbox.launcher.covers import Covers
from localllm.sandbox.launcher.syscalls import Kernel


class NoWatches(Kernel):
    def open_watch(self) -> int:
        raise OSError("the user has no more of them")


class Noted(Covers):
    can_be_covered = True
    covered: list[str]

    def _cover(self, kernel: Kernel, path: str) -> None:
        self.covered.append(path)


def covers(folder: Path, covered: list[str], kernel: Kernel | None = None) -> Covers:
    spec: Any = SimpleNamespace(
        writable=[str(folder)], shown=[], scratch="", hidden=[f"{folder}/a/b/closed", "/etc/hosts"], masked=[]
    )
    made = Noted(kernel or Kernel(), spec)
    made.covered = covered
    return made


def test_a_name_is_noticed_in_folders_that_come_later(tmp_path: Path) -> None:
    one = covers(tmp_path, [])
    for name in ("a", "a/b"):
        (tmp_path / name).mkdir()
        assert one.has_changed({one.names_fd}, is_due=False)
        assert one.open_names() == []
    (tmp_path / "a/b/closed").touch()
    assert one.has_changed({one.names_fd}, is_due=False)
    assert one.open_names() == [f"{tmp_path}/a/b/closed"]


def test_other_names_are_not_looked_at(tmp_path: Path) -> None:
    one = covers(tmp_path, [])
    (tmp_path / "closed").touch()
    assert not one.has_changed({one.names_fd}, is_due=False)
    assert not one.has_changed(set(), is_due=True)


def test_each_tick_is_a_look_where_nothing_can_be_watched(tmp_path: Path) -> None:
    one = covers(tmp_path, [], NoWatches())
    assert one.has_changed(set(), is_due=True)
    (tmp_path / "a/b/closed").mkdir(parents=True)
    assert one.open_names() == [f"{tmp_path}/a/b/closed"]


def test_more_names_than_are_kept_hide_nothing(tmp_path: Path) -> None:
    one = covers(tmp_path, [])
    for number in range(int(Path("/proc/sys/fs/inotify/max_queued_events").read_text(encoding="ascii")) + 10):
        (tmp_path / f"{number % 2}").touch()
        (tmp_path / f"{number % 2}").unlink()
    (tmp_path / "a/b/closed").mkdir(parents=True)
    assert any(one.has_changed({one.names_fd}, is_due=False) for _ in range(100))
    assert one.open_names() == [f"{tmp_path}/a/b/closed"]


@pytest.mark.parametrize("link", ["a/b/closed", "a/b"])
def test_a_link_is_left_alone(tmp_path: Path, link: str) -> None:
    one = covers(tmp_path, [])
    (tmp_path / "x").mkdir()
    (tmp_path / "x/closed").touch()
    (tmp_path / link).parent.mkdir(parents=True)
    (tmp_path / link).symlink_to(tmp_path / "x")
    assert one.open_names() == []


def test_there_is_an_end_to_how_often_a_name_is_covered(tmp_path: Path) -> None:
    covered: list[str] = []
    one = covers(tmp_path, covered)
    (tmp_path / "a/b").mkdir(parents=True)
    (tmp_path / "a/b/closed").touch()
    assert any(not one.close_again(f"{tmp_path}/a/b/closed") for _ in range(2_000))
    assert 100 < len(covered) < 2_000
