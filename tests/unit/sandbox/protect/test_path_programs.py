"""Programs that a command must not put before the system's."""

import os
from pathlib import Path

import pytest

from localllm.sandbox.protect.path_programs import PathPrograms, is_program_of_system
from localllm.sandbox.protect.revert import ProtectedFiles


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "project/.venv/bin").mkdir(parents=True)
    return tmp_path.resolve() / "project"


def put(path: Path, text: str = "#!/bin/sh\n") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


@pytest.mark.parametrize("entry", ["{root}/.venv/bin", ".venv/bin", "{root}/../project/.venv/bin", "{link}"])
def test_the_systems_names_on_the_path_are_found_however_it_names_the_folder(root: Path, entry: str) -> None:
    link = root.parent / "link"
    link.symlink_to(root / ".venv/bin")
    path = f"/usr/bin:{entry.format(root=root, link=link)}:/bin"
    found = PathPrograms(root, {"PATH": path}).paths
    assert {".venv/bin/git", ".venv/bin/ls", ".venv/bin/localllm"} <= found
    assert not found & {".venv/bin/python", ".venv/bin/pip", ".venv/bin/pytest", ".venv/bin/cmake"}


def test_folders_elsewhere_and_names_that_are_there_are_left_out(root: Path) -> None:
    put(root / ".venv/bin/git")
    assert not PathPrograms(root, {"PATH": f"/usr/bin:{root}-more/bin"}).paths
    assert not PathPrograms(root, {}).paths
    found = PathPrograms(root, {"PATH": f"{root}/.venv/bin"}).paths
    assert ".venv/bin/git" not in found
    assert ".venv/bin/ls" in found


def test_a_program_of_the_projects_own_stays_one_after_a_restart(root: Path, tmp_path: Path) -> None:
    environment = {"PATH": f"{root}/.venv/bin"}
    put(root / ".venv/bin/docker")
    kept = tmp_path / "state"
    assert ".venv/bin/docker" not in PathPrograms(root, environment, kept).paths
    (root / ".venv/bin/docker").unlink()
    found = PathPrograms(root, environment, kept).paths
    assert ".venv/bin/docker" not in found
    assert ".venv/bin/git" in found
    (root.parent / "other/.venv/bin").mkdir(parents=True)
    other = PathPrograms(root.parent / "other", {"PATH": f"{root.parent}/other/.venv/bin"}, kept).paths
    assert ".venv/bin/docker" in other


def test_the_projects_own_folder_keeps_usual_names_of_folders(root: Path) -> None:
    found = PathPrograms(root, {"PATH": "/usr/bin:"}).paths
    assert "ls" in found
    assert not found & {"docker", "man", "vim", "test", "env"}


def test_what_a_command_puts_there_is_removed_and_packages_stay(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", f"{root}/.venv/bin:{root}/node_modules/.bin:{os.environ['PATH']}")
    put(root / ".venv/bin/curl", "of an environment")
    files = ProtectedFiles(root, None)
    assert ".venv/bin/git" in files.named()
    files.begin()
    for name in ("git", "pytest", "python", "pip"):
        put(root / ".venv/bin" / name)
    put(root / ".venv/bin/curl", "a newer one")
    put(root / "node_modules/.bin/tsc")
    (root / "node_modules/.bin/ls").symlink_to("tsc")
    assert set(files.end()) == {".venv/bin/git", "node_modules/.bin/ls"}
    assert {path.name for path in root.glob("*/*bin/*")} == {"pytest", "python", "pip", "curl", "tsc"}


@pytest.mark.parametrize("is_folder", [True, False])
def test_no_link_takes_the_place_of_the_folder(root: Path, monkeypatch: pytest.MonkeyPatch, *, is_folder: bool) -> None:
    monkeypatch.setenv("PATH", f"{root}/.venv/bin:{os.environ['PATH']}")
    put(root / "evil/bin/git")
    if not is_folder:
        (root / ".venv/bin").rmdir()
        (root / ".venv").rmdir()
    files = ProtectedFiles(root, None)
    files.begin()
    if is_folder:
        (root / ".venv").rename(root / "old")
    (root / ".venv").symlink_to("evil")
    assert ".venv" in files.end()
    assert not (root / ".venv/bin/git").exists()


def test_a_program_of_the_systems_is_known_by_its_folder_and_name() -> None:
    assert all(map(is_program_of_system, ("env/bin/git", "node_modules/.bin/ls", "bin/sudo")))
    assert not any(map(is_program_of_system, ("git", "src/git", "env/bin/python", ".husky/git", "bin/git/x")))
