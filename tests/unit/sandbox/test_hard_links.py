"""Files that a project shares with the rest of the machine, found and made its own."""

import os
import socket
import sys
from pathlib import Path

import pytest

from localllm.sandbox.network.machine_sockets import in_use
from localllm.sandbox.protect import shared_files
from localllm.sandbox.protect.shared_files import Inventory, sever

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the sandbox is not for Windows")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "project/deep/er").mkdir(parents=True)
    (tmp_path / "outside").write_bytes(b"shared\0\xff")
    return tmp_path / "project"


def link(project: Path, *names: str) -> None:
    for name in names:
        (project / name).hardlink_to(project.parent / "outside")


def test_names_outside_are_noticed_and_names_inside_are_not(project: Path) -> None:
    (project / "a").write_text("")
    (project / "deep/b").hardlink_to(project / "a")
    assert Inventory(project).look().linked == {}
    link(project, "x", "deep/er/y")
    assert [set(paths) for paths in Inventory(project).look().linked.values()] == [{"x", "deep/er/y"}]


def test_a_second_name_made_later_in_another_folder_is_no_name_outside(project: Path) -> None:
    """As cargo does in target/debug/incremental; the folder of the first name does not change by that."""
    (project / "deep/old").write_text("")
    link(project, "deep/er/y")
    inventory = Inventory(project, settled=-1_000_000_000)
    assert [set(paths) for paths in inventory.look().linked.values()] == [{"deep/er/y"}]
    (project / "new").mkdir()
    (project / "new/one").hardlink_to(project / "deep/old")
    link(project, "new/x")
    inventory.forget()
    assert [set(paths) for paths in inventory.look().linked.values()] == [{"deep/er/y", "new/x"}]


def test_a_second_name_that_is_gone_is_no_name_outside(project: Path) -> None:
    (project / "old").mkdir()
    (project / "old/one").write_text("")
    (project / "deep/two").hardlink_to(project / "old/one")
    inventory = Inventory(project, settled=-1_000_000_000)
    assert inventory.look().linked == {}
    (project / "old/one").unlink()
    inventory.forget()
    assert inventory.look().linked == {}


def test_the_other_names_are_found_though_the_first_search_was_cut_short(project: Path) -> None:
    (project / "a").write_text("")
    (project / "deep/er/b").hardlink_to(project / "a")
    inventory = Inventory(project, at_a_time=0.1)
    inventory._search(0)  # reads one folder
    assert not inventory.is_complete
    assert inventory._search(0).linked == {}


def test_names_outside_are_searched_for_once(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    link(project, "deep/er/y")
    inventory = Inventory(project, settled=-1_000_000_000)
    searched: list[object] = []
    monkeypatch.setattr(shared_files, "_add_names", lambda *args: searched.append(args) or True)
    for _ in range(3):
        (project / str(_)).mkdir()
        inventory.forget()
        assert inventory.look().linked
    assert searched == []
    (project / "deep/new").hardlink_to(project.parent / "outside")
    inventory.forget()
    inventory.look()
    inventory.forget()
    inventory.look()
    assert len(searched) == 1


def test_a_search_that_is_cut_short_goes_on_the_next_time(project: Path) -> None:
    """With no time at all each look gets on by one folder: the project, `deep`, `er`."""
    link(project, "deep/er/y")
    inventory = Inventory(project, at_a_time=0, settled=-1_000_000_000)
    looks = [(bool(inventory.look().linked), inventory.is_complete) for _ in range(3)]
    assert looks == [(False, False), (False, False), (True, True)]


def test_with_time_everything_is_seen_ahead(project: Path) -> None:
    link(project, "deep/er/y")
    inventory = Inventory(project, at_a_time=0, settled=-1_000_000_000)
    inventory.look_everywhere()
    assert inventory.is_complete
    assert inventory.look().linked


def test_a_shared_file_becomes_the_projects_own_with_all_its_properties(project: Path) -> None:
    outside = project.parent / "outside"
    outside.chmod(0o751)
    os.utime(outside, ns=(1_000_000_001, 2_000_000_002))
    if sys.platform == "linux":
        os.setxattr(outside, "user.note", b"kept")
    link(project, "x", "deep/er/y")
    severed = sever(project, Inventory(project).look().linked, largest=1000)
    assert (severed.copied, severed.shared) == (("deep/er/y", "x"), ())
    made = (project / "x").stat()
    assert (made.st_mode & 0o7777, made.st_mtime_ns, made.st_nlink) == (0o751, 2_000_000_002, 2)
    assert (project / "x").read_bytes() == b"shared\0\xff"
    assert (project / "x").samefile(project / "deep/er/y")
    if sys.platform == "linux":
        assert os.getxattr(project / "x", "user.note") == b"kept"
    (project / "x").write_text("changed")
    assert outside.read_bytes() == b"shared\0\xff"
    assert outside.stat().st_nlink == 1
    assert sorted(path.name for path in project.rglob("*")) == ["deep", "er", "x", "y"], "nothing else is left"


def test_a_large_file_is_left_and_told(project: Path) -> None:
    link(project, "x")
    severed = sever(project, Inventory(project).look().linked, largest=7)
    assert (severed.copied, severed.shared) == ((), ("x",))
    assert (project / "x").samefile(project.parent / "outside")


def test_no_link_is_followed(project: Path) -> None:
    """A folder on the way becomes a link after it was looked at."""
    other = project.parent / "other"
    other.mkdir()
    link(project, "deep/er/y")
    (other / "y").hardlink_to(project.parent / "outside")
    found = Inventory(project).look().linked
    (project / "deep/er").rename(project / "moved")
    (project / "deep/er").symlink_to(other)
    assert sever(project, found, largest=1000).shared == ("deep/er/y",)
    assert (other / "y").samefile(project.parent / "outside")
    assert [path.name for path in other.iterdir()] == ["y"]


def test_another_file_at_the_name_is_left_alone(project: Path) -> None:
    link(project, "x")
    found = Inventory(project).look().linked
    (project / "x").unlink()
    (project / "x").write_text("new")
    assert sever(project, found, largest=1000).shared == ("x",)
    assert (project / "x").read_text() == "new"


@pytest.mark.skipif(sys.platform != "linux", reason="asks /proc")
def test_sockets_in_use_are_told_from_those_left_behind(tmp_path: Path) -> None:
    folder = tmp_path / ("long" * 30)
    folder.mkdir()
    names = ("listening", "datagrams", "dead")
    with socket.socket(socket.AF_UNIX) as listening, socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as datagrams:
        fd = os.open(folder, os.O_RDONLY)
        listening.bind(f"/proc/self/fd/{fd}/listening")
        listening.listen()
        datagrams.bind(f"/proc/self/fd/{fd}/datagrams")
        with socket.socket(socket.AF_UNIX) as dead:
            dead.bind(f"/proc/self/fd/{fd}/dead")
        os.close(fd)
        assert sorted(Inventory(tmp_path).look().sockets) == sorted(f"{folder.name}/{name}" for name in names)
        assert in_use(str(folder / name) for name in (*names, "missing")) == [
            str(folder / "listening"),
            str(folder / "datagrams"),
        ]
        listening.setblocking(False)
        with pytest.raises(BlockingIOError):
            listening.accept()


def test_a_name_that_is_another_file_by_now_stays_that(project: Path) -> None:
    link(project, "x", "y")
    found = dict.fromkeys(Inventory(project).look().linked, ("x", "y"))
    (project / "y").unlink()
    (project / "y").write_text("another")
    assert sever(project, found, largest=1000).shared == ()
    assert (project / "y").read_text() == "another"
    assert not (project / "x").samefile(project.parent / "outside")
