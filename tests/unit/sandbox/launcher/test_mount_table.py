"""Which mounts of bubblewrap are taken for what was planned: the lists are as the kernel writes them."""

import os
import sys
from pathlib import Path

import pytest

from localllm.sandbox.launcher import bubblewrap
from localllm.sandbox.launcher.mount_table import MountTable, misplaced
from localllm.sandbox.launcher.mounts import EMPTY, HOLD, MASK, PIN, PRIVATE, READ, WRITE

OUTSIDE = """\
1 0 8:1 / / rw - ext4 /dev/a rw
2 1 0:2 / /proc rw - proc proc rw
3 1 0:3 / /dev rw - devtmpfs devtmpfs rw
4 1 8:2 / /data rw - ext4 /dev/b rw
5 1 8:3 / /home/me/project/disk rw - ext4 /dev/c rw
6 1 0:6 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw
7 1 8:4 /@home /old\\040disk rw - btrfs /dev/d rw
"""
INSIDE = """\
11 10 8:1 / / ro - ext4 /dev/a rw
12 11 0:2 / /proc ro - proc proc rw
13 11 0:3 / /dev ro - devtmpfs devtmpfs rw
14 11 8:2 / /data ro - ext4 /dev/b rw
15 11 8:3 / /home/me/project/disk ro - ext4 /dev/c rw
16 11 0:6 /../.. /sys/fs/cgroup ro - cgroup2 cgroup2 rw
17 11 8:4 /@home /old\\040disk ro - btrfs /dev/d rw
18 13 0:20 / /dev rw - tmpfs tmpfs rw
19 18 0:3 /null /dev/null rw - devtmpfs devtmpfs rw
20 12 0:21 / /proc ro - proc proc rw
21 20 0:3 /null /proc/keys rw - devtmpfs devtmpfs rw
22 11 8:1 /tmp/scratch/1 /home/me rw - ext4 /dev/a rw
23 22 8:1 /home/me/project /home/me/project rw - ext4 /dev/a rw
24 23 8:3 / /home/me/project/disk rw - ext4 /dev/c rw
25 22 8:1 /home/me/.cargo /home/me/.cargo ro - ext4 /dev/a rw
26 11 0:22 / /run ro - tmpfs tmpfs rw
27 23 0:3 /null /home/me/project/d/p ro - devtmpfs devtmpfs rw
"""
STEPS = [
    (PRIVATE, "/home/me", "/tmp/scratch/1"),
    (EMPTY, "/run", "/run"),
    (WRITE, "/home/me/project", "/home/me/project"),
    (READ, "/home/me/.cargo", "/home/me/.cargo"),
    (MASK, "/home/me/project/d/p", "/home/me/project/d/p"),
]


def found(*lines: str) -> str:
    """What is wrong with further mounts."""
    inside = INSIDE + "".join(f"{number} {line} - ext4 /dev/a rw\n" for number, line in enumerate(lines, 30))
    return misplaced(MountTable(inside.encode()), MountTable(OUTSIDE.encode()), STEPS)


@pytest.mark.parametrize(
    "lines",
    [
        [],
        ["23 8:1 /home/me/project/d /home/me/project/d rw"],
        ["23 8:1 /home/me/project/renamed /home/me/project/renamed rw"],
        ["23 8:1 /home/me/project/a /home/me/project/a rw", "30 8:1 /home/me/project/a/x /home/me/project/a/x ro"],
        ["24 8:3 /folder /home/me/project/disk/folder rw"],
        ["23 8:1 /home/me/project/d /home/me/project/d rw", "30 8:3 / /home/me/project/disk rw"],
    ],
    ids=["as planned", "held", "renamed", "pinned in a held one", "on another disk", "another disk in a held one"],
)
def test_what_was_planned_is_let_through(lines: list[str]) -> None:
    assert found(*lines) == ""


@pytest.mark.parametrize(
    ("line", "where"),
    [
        ("23 8:1 /home/me /home/me/project/d rw", "/home/me/project/d"),
        ("23 8:1 /home/me /home/me/project/d ro", "/home/me/project/d"),
        ("23 8:2 / /home/me/project/d ro", "/home/me/project/d"),
        ("22 8:1 /home/me /home/me rw", "/home/me"),
        ("22 8:1 /home/me/.ssh /home/me/.ssh ro", "/home/me/.ssh"),
        ("11 8:1 /home/me/.ssh /srv ro", "/srv"),
        ("11 8:1 /srv /srv rw", "/srv"),
        ("14 8:2 / /data rw", "/data"),
        ("25 8:1 /home/me/.cargo /home/me/.cargo rw", "/home/me/.cargo"),
        ("20 8:1 /home/me/project/mine /proc/1 ro", "/proc/1"),
        ("12 0:23 / /etc ro", "/etc"),
        ("27 8:1 /home/me/project/d/p /home/me/project/d/p ro", "/home/me/project/d/p"),
        ("11 8:1 /home/me / ro", "/"),
    ],
    ids=[
        "the home in a folder", "to be read only", "another disk", "the home again", "in the empty home", "elsewhere",
        "what was read-only", "a disk that was", "a toolchain that was", "a list of its own", "a new file system",
        "what was closed", "everything",
    ],
)  # fmt: skip
def test_what_shows_or_opens_more_is_not(line: str, where: str) -> None:
    assert found(line) == where


def test_what_is_hidden_has_to_be_covered(tmp_path: Path) -> None:
    pipe = tmp_path / "p"
    plan = [*STEPS, (MASK, str(pipe), str(pipe))]
    inside, outside = MountTable(INSIDE.encode()), MountTable(OUTSIDE.encode())
    assert misplaced(inside, outside, plan) == ""  # it is gone
    pipe.touch()
    assert misplaced(inside, outside, plan) == str(pipe)


def test_a_place_is_looked_up_as_the_kernel_does() -> None:
    table = MountTable(
        OUTSIDE.encode() + b"8 1 8:9 / /data/later rw - ext4 /dev/e rw\n9 4 8:8 /x /data rw - ext4 /dev/f rw\n"
    )
    assert table.shown_at("/data/later/file") == (b"8:8", "/x/later/file")  # a mount over all of /data was the last
    assert table.shown_at("/old disk/me") == (b"8:4", "/@home/me")
    assert table.shown_at("/") == (b"8:1", "/")


def test_what_is_held_in_something_read_only_is_no_hole_in_it() -> None:
    made = bubblewrap.arguments([(HOLD, "/p/.venv/lib", "/p/.venv/lib"), (PIN, "/p/.venv", "/p/.venv")])
    assert " --ro-bind /p/.venv /p/.venv --ro-bind /p/.venv/lib /p/.venv/lib " in f" {' '.join(made)} "


def test_descriptors_are_taken_for_names() -> None:
    steps = [(HOLD, "/p/d", "/p/d"), (PIN, "/p/d", "/p/d"), (PIN, "/p/e", "/p/e")]
    made = " ".join(bubblewrap.arguments(steps, {(HOLD, "/p/d"): 7, (PIN, "/p/d"): 8}))
    assert "--bind-fd 7 /p/d --ro-bind-fd 8 /p/d --ro-bind /p/e /p/e" in made


@pytest.mark.skipif(sys.platform != "linux", reason="asks the kernel of Linux")
def test_the_list_of_this_machine_can_be_read() -> None:
    from localllm.sandbox.launcher.syscalls import Kernel

    with os.fdopen(Kernel().open_mount_list(), "rb") as file:
        table = MountTable(file.read())
    assert table.shown_at("/")
    assert table.shown_at("/proc/self")


TWICE = """\
1 0 8:1 / / rw - ext4 /dev/a rw
2 1 8:1 / /mnt/distro ro - ext4 /dev/a rw
3 1 8:2 /@home /home rw - btrfs /dev/b rw
4 1 8:2 / /mnt/top rw - btrfs /dev/b rw
5 1 8:2 /@home/me/music /srv/music rw - btrfs /dev/b rw
6 4 8:3 / /mnt/top/@home/you rw - ext4 /dev/c rw
7 1 0:9 / /net/one rw - nfs host:/one rw
8 1 0:9 / /net/two rw - nfs host:/two rw
9 3 8:2 /@home/me/music /home/me/again rw - btrfs /dev/b rw
10 1 8:2 /@home/.offload/opt /opt rw - btrfs /dev/b rw
"""


@pytest.mark.parametrize(
    ("path", "elsewhere"),
    [
        ("/home/me", ["/mnt/top/@home/me", "/srv/music"]),
        ("/home/you", []),
        ("/home", ["/mnt/top/@home", "/srv/music"]),
        ("/root", ["/mnt/distro/root"]),
        ("/mnt/distro/root", ["/root"]),
        ("/net/one/x", []),
        ("/srv/music", ["/home/me/music", "/mnt/top/@home/me/music", "/home/me/again"]),
        ("/missing", ["/mnt/distro/missing"]),
    ],
)
def test_where_else_a_path_can_be_reached(path: str, elsewhere: list[str]) -> None:
    assert MountTable(TWICE.encode()).aliases(path) == elsewhere
    assert MountTable(b"").aliases(path) == []


def test_a_part_of_it_elsewhere_is_not_all_of_it() -> None:
    assert MountTable(TWICE.encode()).aliases("/home/me", parts=False) == ["/mnt/top/@home/me"]


def test_where_a_name_is_a_host_that_is_looked_up_outside() -> None:
    """Not where only one thing can be, as systemd does it for each mount of its own, nor for a map of names."""
    table = b"""\
1 0 8:1 / / rw - ext4 /dev/a rw
2 1 0:40 / /net rw shared:5 - autofs -hosts rw,fd=7,pgrp=1,timeout=300,minproto=5,maxproto=5,indirect,pipe_ino=1
3 1 0:41 / /proc/sys/fs/binfmt_misc rw - autofs systemd-1 rw,fd=9,pgrp=1,timeout=0,minproto=5,maxproto=5,direct
4 1 0:42 / /hosts rw - autofs -hosts rw,fd=8,indirect
5 4 0:43 / /hosts rw - tmpfs none rw
6 1 0:44 / /data rw - autofs /etc/auto.data rw,fd=8,indirect
7 1 0:45 / /n rw - autofs /etc/auto.net rw,fd=8,indirect
"""
    assert MountTable(table).automounters() == ["/net", "/n"]
