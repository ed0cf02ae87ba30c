"""Folders, room on the disk, and what is in the project."""

import errno
import os
import sys
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from localllm.config.loader import Loaded
from localllm.config.schema import Settings
from localllm.integrations.doctor.inputs import look_around
from localllm.integrations.doctor.project import folders_moved, size, space, writable
from tests.support.doctor_world import surroundings


def refusing(folder: Path, number: int) -> Callable[[Path], None]:
    def try_to_write(where: Path) -> None:
        if where == folder:
            raise OSError(number, os.strerror(number))

    return try_to_write


@pytest.mark.parametrize(
    ("number", "status", "fix"),
    [
        (errno.EROFS, "warning", "mounted read-only"),
        (errno.EACCES, "warning", "Take ownership"),
        (errno.ENOSPC, "problem", "Free some space"),
    ],
)
def test_a_project_that_cannot_be_written_to(tmp_path: Path, number: int, status: str, fix: str) -> None:
    here = surroundings(tmp_path, try_to_write=refusing(tmp_path / "project", number))
    (finding,) = writable(here)
    assert finding.status == status
    assert os.strerror(number) in finding.what
    assert fix in finding.fix
    assert (str(here.state / "projects") in finding.fix) is (status == "warning")


def test_variables_of_folders_and_of_servers_are_told_apart(tmp_path: Path) -> None:
    environ = {"LOCALLLM_DATA_DIR": str(tmp_path), "LOCALLLM_ALSO_LOOK_AT": "http://127.0.0.1:9"}
    folders, servers = folders_moved(surroundings(tmp_path, environ=environ))
    assert folders.what == "Folders are set by LOCALLLM_DATA_DIR."
    assert servers.what == "Model servers are also looked for at the addresses in LOCALLLM_ALSO_LOOK_AT."


def test_a_folder_of_ours_that_is_somebody_elses(tmp_path: Path) -> None:
    here = surroundings(tmp_path, try_to_write=refusing(tmp_path / "project" / ".localllm", errno.EACCES))
    (here.project / ".localllm").mkdir()
    (finding,) = writable(here)
    assert finding.status == "warning"
    assert ".localllm" in finding.what
    assert str(here.state / "projects") in finding.fix


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="/sys is of Linux")
def test_a_folder_in_which_really_nobody_can_make_a_file(tmp_path: Path) -> None:
    environ = {"HOME": str(tmp_path), "LOCALLLM_STATE_DIR": str(tmp_path)}
    here = look_around(Path("/sys"), Loaded(settings=Settings()), environ, None)
    first, *_ = writable(here)
    assert first.status == "warning"
    assert "/sys" in first.what


def test_trying_leaves_nothing_behind(tmp_path: Path) -> None:
    environ = {"HOME": str(tmp_path / "home"), "LOCALLLM_STATE_DIR": str(tmp_path / "state")}
    (tmp_path / "project").mkdir()
    here = look_around(tmp_path / "project", Loaded(settings=Settings()), environ, None)
    assert {finding.status for finding in writable(here)} == {"ok"}
    assert [path.name for path in tmp_path.iterdir()] == ["project"]
    assert list((tmp_path / "project").iterdir()) == []


def test_folders_of_ours(tmp_path: Path) -> None:
    for name in ("state", "config"):
        (tmp_path / name).mkdir()
    _, state = writable(surroundings(tmp_path, try_to_write=refusing(tmp_path / "state", errno.EACCES)))
    assert (state.status, "LOCALLLM_STATE_DIR" in state.fix) == ("problem", True)
    _, config = writable(surroundings(tmp_path, try_to_write=refusing(tmp_path / "config", errno.EACCES)))
    assert (config.status, "LOCALLLM_CONFIG_DIR" in config.fix) == ("warning", True)


@pytest.mark.parametrize("make", [lambda path: path.symlink_to("/tmp"), lambda path: path.touch()])
def test_something_else_in_the_place_of_our_folder(tmp_path: Path, make: Callable[[Path], None]) -> None:
    here = surroundings(tmp_path)
    make(here.project / ".localllm")
    (finding,) = writable(here)
    assert finding.status == "warning"
    assert ".localllm" in finding.what
    assert str(here.state / "projects") in finding.fix


@pytest.mark.parametrize(
    ("free", "status", "words"),
    [
        (49_999_999, "problem", "disk is full: 49 MB"),
        (0, "problem", "0 MB"),
        (50_000_000, "warning", "Only 50 MB"),
        (499_999_999, "warning", "Only 499 MB"),
        (500_000_000, "ok", "0.5 GB"),
    ],
)
def test_room(tmp_path: Path, free: int, status: str, words: str) -> None:
    (finding,) = space(surroundings(tmp_path, free_space=lambda _: free))
    assert finding.status == status
    assert words in finding.what
    assert bool(finding.fix) == (status != "ok")


def test_a_project_that_is_the_home_or_holds_all_temporary_files(tmp_path: Path) -> None:
    here = surroundings(tmp_path, environ={"HOME": str(tmp_path / "project")})
    for there in (here, msgspec.structs.replace(surroundings(tmp_path), project=Path("/var/tmp").resolve())):
        (finding,) = size(there)
        assert finding.status == "warning"
        assert "folder of a project" in finding.fix


def test_files_are_counted_up_to_a_bound(tmp_path: Path) -> None:
    here = surroundings(tmp_path)
    (here.project / "src").mkdir()
    (here.project / ".gitignore").write_text("*.o\n")
    for number in range(4):
        (here.project / "src" / f"{number}.c").touch()
        (here.project / "src" / f"{number}.o").touch()
    (few,) = size(here, most=5)
    assert (few.status, "5 files" in few.what) == ("ok", True)
    (many,) = size(here, most=4)
    assert (many.status, ".gitignore" in many.fix) == ("note", True)
