"""What a command sees, as steps; and what of the machine Landlock grants instead."""

import os
import sys
from pathlib import Path

import pytest

from localllm.sandbox.launcher import bubblewrap, bwrap_program
from localllm.sandbox.launcher.landlock import Ruleset
from localllm.sandbox.launcher.mounts import (
    COPY,
    EMPTY,
    HOLD,
    LINK,
    MASK,
    PIN,
    PRIVATE,
    READ,
    WRITE,
    make_private_folders,
    plan,
)
from localllm.sandbox.launcher.spec import LaunchSpec

pytestmark = pytest.mark.on_disk
in_linux = pytest.mark.skipif(sys.platform != "linux", reason="descriptors of paths are Linux's")


@pytest.fixture
def machine(tmp_path: Path) -> Path:
    for name in ("home/me/.cargo/bin", "home/me/.ssh", "home/me/code/project/.git/hooks", "tmp/scratch", "run", "opt"):
        (tmp_path / name).mkdir(parents=True)
    for name in ("home/me/.cargo/credentials", "etc-shadow", "home/me/.netrc", "opt/socket"):
        (tmp_path / name).write_text("")
    return tmp_path


def spec(machine: Path, **more: list[str] | dict[str, str]) -> LaunchSpec:
    def at(*names: str) -> list[str]:
        return [f"{machine}/{name}" for name in names]

    given = {
        "writable": at("home/me/code/project", "tmp/scratch"),
        "hidden": at(
            "home/me", "home", "run", "tmp", "etc-shadow", "home/me/.cargo/credentials", "home/me/.netrc", "no"
        ),
        "shown": at("home/me/.cargo", "home/me/code/project/.venv", "opt"),
        "private": at("tmp", "home/me"),
        **more,
    }
    return LaunchSpec(
        command=b"", folder="/", environment={}, scratch=f"{machine}/tmp/scratch", call_filter=b"", level="namespaces",
        **given,  # pyright: ignore[reportArgumentType] - of the right kinds by name
    )  # fmt: skip


def steps(machine: Path, **more: list[str] | dict[str, str]) -> list[tuple[str, str]]:
    return [(kind, path.removeprefix(f"{machine}/")) for kind, path, _ in plan(spec(machine, **more))]


def test_what_is_hidden_goes_before_what_is_shown_in_it(machine: Path) -> None:
    assert steps(machine) == [
        (MASK, "etc-shadow"),
        (EMPTY, "home"),
        (EMPTY, "run"),
        (PRIVATE, "tmp"),
        (PRIVATE, "home/me"),
        (WRITE, "tmp/scratch"),
        (READ, "home/me/.cargo"),
        (MASK, "home/me/.cargo/credentials"),
        (WRITE, "home/me/code/project"),
    ]


def test_what_is_in_the_project_stays_writable(machine: Path) -> None:
    """An environment in the project is among the programs of the PATH."""
    (machine / "home/me/code/project/.venv").mkdir()
    assert (READ, "home/me/code/project/.venv") not in steps(machine)


def test_a_secret_in_the_project_is_closed(machine: Path) -> None:
    secret = machine / "home/me/code/project/key.json"
    secret.write_text("")
    assert (MASK, "home/me/code/project/key.json") in steps(machine, hidden=[str(secret)])


def test_a_project_that_is_also_hidden_or_private_is_writable(machine: Path) -> None:
    project = [f"{machine}/tmp"]
    assert steps(machine, writable=project, hidden=project, private=project, shown=[]) == [(WRITE, "tmp")]


def test_protected_paths_come_last_and_only_if_they_are_there(machine: Path) -> None:
    git = f"{machine}/home/me/code/project/.git"
    (machine / "home/me/code/project/.envrc").symlink_to("elsewhere")
    last = steps(machine, held=[git], pinned=[f"{git}/hooks", f"{git}/config", f"{git}/../.envrc"])[-2:]
    assert last == [(HOLD, "home/me/code/project/.git"), (PIN, "home/me/code/project/.git/hooks")]


def test_a_copy_takes_the_place_of_a_folder_that_is_there(machine: Path) -> None:
    project, copy = f"{machine}/home/me/code/project", f"{machine}/tmp/scratch/own"
    made = plan(
        spec(machine, copies={f"{project}/.git": copy, f"{project}/.none": copy}, pinned=[f"{project}/.git/hooks"])
    )
    assert [step for step in made if step[0] == COPY] == [(COPY, f"{project}/.git", copy)]
    assert made.index((COPY, f"{project}/.git", copy)) < made.index(
        (PIN, f"{project}/.git/hooks", f"{project}/.git/hooks")
    )
    assert f"--bind {copy} {project}/.git" in " ".join(bubblewrap.arguments(made))


def test_of_a_file_in_a_hidden_folder_only_the_name_is_shown(machine: Path) -> None:
    home = machine / "home/me/tree"
    home.mkdir()
    (home / ".git").write_text("gitdir: x")
    (home / "link").symlink_to(".git")
    seen = [f"{machine}/opt/file", *(f"{home}/{name}" for name in (".git", "link", "none"))]
    made = plan(spec(machine, present=seen))
    assert [step for step in made if step[2] == "/dev/null"] == [(READ, f"{home}/.git", "/dev/null")]
    make_private_folders(made)
    private = next(source for _, path, source in made if path == f"{machine}/home/me")
    assert Path(private, "tree/.git").read_bytes() == b""
    assert f"--ro-bind /dev/null {home}/.git" in " ".join(bubblewrap.arguments(made))


def test_sockets_are_closed_where_they_can_be_seen(machine: Path) -> None:
    (machine / "run/docker.sock").write_text("")
    found = steps(machine, masked=[f"{machine}/run/docker.sock", f"{machine}/opt/socket"])
    assert (MASK, "opt/socket") in found
    assert (MASK, "run/docker.sock") not in found, "what is hidden needs no mask, and has no place for one"


def test_the_names_the_user_knows_lead_to_where_things_are(machine: Path) -> None:
    links = {f"{machine}/tmp/venv": "/real", f"{machine}/tmp/venv/bin": "/real/bin", f"{machine}/opt/python": "/real"}
    assert [step for step in plan(spec(machine, links=links)) if step[0] == LINK] == [
        (LINK, f"{machine}/tmp/venv", "/real")
    ]


def test_private_folders_are_in_the_scratch_folder(machine: Path) -> None:
    made = plan(spec(machine))
    make_private_folders(made)
    private = {path: source for kind, path, source in made if kind == PRIVATE}
    assert len(set(private.values())) == len(private) == 2
    assert all(Path(source).is_dir() and source.startswith(f"{machine}/tmp/scratch/") for source in private.values())
    assert Path(private[f"{machine}/tmp"]).stat().st_mode & 0o7777 == 0o1777


def test_the_place_of_a_link_in_a_private_folder_is_left_to_it(machine: Path) -> None:
    top, private, real = machine / "home/me", machine / "tmp/scratch/private", machine / "opt"
    make_private_folders(
        [
            (PRIVATE, str(top), str(private)),
            (LINK, f"{top}/names/to-a-folder", str(real)),
            (LINK, f"{top}/names/to-a-file", str(real / "socket")),
            (READ, f"{top}/shown/folder", str(real)),
            (READ, f"{top}/shown/file", str(real / "socket")),
        ]
    )
    assert list((private / "names").iterdir()) == []
    assert (private / "shown/folder").is_dir()
    assert (private / "shown/file").is_file()


def test_bubblewrap_does_the_same(machine: Path) -> None:
    made = bubblewrap.arguments(plan(spec(machine, pinned=[f"{machine}/home/me/code/project/.git/hooks"])))
    line = " ".join(made).replace(f"{machine}/", "")
    for wanted in (
        "--unshare-user --unshare-ipc --unshare-pid --unshare-net",
        "--cap-drop ALL",
        "--ro-bind / /",
        "--ro-bind /dev/null etc-shadow",
        "--tmpfs home",
        "--bind tmp/scratch/private/4 home/me",
        "--ro-bind home/me/.cargo home/me/.cargo",
        "--bind home/me/code/project home/me/code/project",
        "--ro-bind home/me/code/project/.git/hooks home/me/code/project/.git/hooks",
        "--remount-ro /proc --remount-ro /dev --remount-ro home --remount-ro run",
    ):
        assert wanted in line
    assert made[-1] == "--"
    assert line.index("--tmpfs home ") < line.index("--ro-bind home/me/.cargo") < line.index("--remount-ro home")


def test_bubblewrap_covers_nothing_up_again(machine: Path) -> None:
    """What it binds comes from the machine itself, without what was put over it before."""
    project = machine / "home/me/code/project"
    (project / "conf/inner").mkdir(parents=True)
    for name in ("conf/key.txt", "conf/inner/key.txt"):
        (project / name).write_text("secret")
    order = spec(machine, held=[f"{project}/conf"], pinned=[f"{project}/conf/inner"])
    order.hidden = [*order.hidden, f"{project}/conf/key.txt", f"{project}/conf/inner/key.txt"]
    made = bubblewrap.arguments(plan(order))
    for folder in ("conf", "conf/inner"):
        assert made.index(f"{project}/{folder}") < made.index(f"{project}/{folder}/key.txt")


def test_bubblewrap_is_never_looked_for_on_the_path() -> None:
    assert all(path.startswith(("/usr/bin/", "/usr/local/bin/")) for path in bwrap_program.PROGRAMS)


@pytest.mark.root
@pytest.mark.parametrize(
    ("mode", "owner", "is_taken"),
    [(0o755, 0, True), (0o775, 0, False), (0o757, 0, False), (0o644, 0, False), (0o755, 65_534, False)],
    ids=["of the system", "for a group to write", "for all to write", "not to be run", "of a user"],
)
def test_bubblewrap_is_none_that_anybody_but_root_could_have_changed(
    machine: Path, monkeypatch: pytest.MonkeyPatch, mode: int, owner: int, *, is_taken: bool
) -> None:
    bwrap = machine / "opt/bwrap"
    bwrap.write_text("#!/bin/sh\n")
    os.chown(bwrap, owner, 0)
    bwrap.chmod(mode)
    monkeypatch.setattr(bwrap_program, "PROGRAMS", (f"{machine}/missing", str(bwrap)))
    assert bwrap_program.find_bwrap() == (str(bwrap) if is_taken else "")


class Recorded(Ruleset):
    """Rules that are noted and not made."""

    def __init__(self) -> None:
        self.allowed: set[str] = set()

    def _allow_open(self, fd: int, rights: int) -> bool:
        self.allowed.add(str(Path(f"/proc/self/fd/{fd}").readlink()))
        return True


@in_linux
@pytest.mark.parametrize(
    ("start", "allowed"),
    [
        ("", {"opt", "etc-shadow", "run", "tmp", "home/me/code", "home/me/.netrc", "home/me/.cargo/bin"}),
        ("home/me/.cargo", {"home/me/.cargo/bin"}),
        ("home/me/.cargo/credentials", set[str]()),
        ("home/me/code", {"home/me/code"}),
    ],
)
def test_landlock_grants_everything_around_what_is_hidden(machine: Path, start: str, allowed: set[str]) -> None:
    rules = Recorded()
    hidden = [f"{machine}/home/me/.ssh", f"{machine}/home/me/.cargo/credentials"]
    rules.allow_around(hidden, 1, start=f"{machine}/{start}".rstrip("/"))
    assert {path.removeprefix(f"{machine}/") for path in rules.allowed} == allowed


@in_linux
def test_landlock_grants_nothing_that_a_link_leads_to(machine: Path) -> None:
    (machine / "link").symlink_to("home/me")
    rules = Recorded()
    rules.allow_around([f"{machine}/link/.cargo/credentials"], 1, start=f"{machine}/link")
    rules.allow_around([], 1, start=f"{machine}/link/.ssh")
    assert not rules.allow(f"{machine}/link/.ssh", 1)
    assert rules.allowed == set()


@in_linux
def test_landlock_goes_on_in_the_folder_that_it_opened(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another command exchanges it for a link to the home, at each moment."""
    folder, listed = machine / "home/me/code/project", os.listdir

    def exchange(opened: int) -> list[str]:
        names = listed(opened)
        folder.rename(machine / "moved")
        folder.symlink_to(machine / "home/me/.ssh")
        return names

    (machine / "home/me/.ssh/.git").mkdir()
    rules = Recorded()
    with monkeypatch.context() as patch:
        patch.setattr(os, "listdir", exchange)
        rules.allow_around([f"{folder}/key"], 1, start=str(folder))
    assert rules.allowed == {f"{machine}/moved/.git"}
