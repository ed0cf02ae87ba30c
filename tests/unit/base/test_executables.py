"""Programs that may be run outside the sandbox."""

import os
from pathlib import Path

import pytest

from localllm.base import paths
from localllm.base.paths import find_program, passed_over, project_name, search_path, state_folder


def put(program: Path) -> Path:
    program.parent.mkdir(parents=True, exist_ok=True)
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    return program


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "project").mkdir()
    return tmp_path / "project"


def test_what_lies_in_the_project_is_passed_over(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(project / ".venv/bin/thing")
    installed = put(project.parent / "usr/thing")
    monkeypatch.setenv("PATH", os.pathsep.join(["bin", "", f"{project}/.venv/bin", str(installed.parent)]))
    monkeypatch.chdir(project)
    assert find_program("thing", project) == str(installed)
    assert passed_over("thing", project) is None
    installed.unlink()
    assert find_program("thing", project) is None
    monkeypatch.setenv("PATH", f"{project}/.venv/bin")
    assert passed_over("thing", project) == f"{project}/.venv/bin/thing"
    assert passed_over("other", project) is None


@pytest.mark.parametrize("linked", ["the project", "the folder", "the program"])
def test_links_do_not_hide_where_it_lies(project: Path, monkeypatch: pytest.MonkeyPatch, linked: str) -> None:
    planted = put(project / "bin/thing")
    folder = project.parent / "usr"
    root = project
    match linked:
        case "the project":
            root = project.parent / "link"
            root.symlink_to(project)
            folder = project / "bin"
        case "the folder":
            folder.symlink_to(project / "bin")
        case _:
            folder.mkdir()
            (folder / "thing").symlink_to(planted)
    monkeypatch.setenv("PATH", str(folder))
    assert find_program("thing", root) is None


@pytest.fixture
def home(project: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(project.parent))
    return project.parent


@pytest.mark.parametrize("mark", [".git", "localllm.toml", "sessions"])
@pytest.mark.parametrize("linked", [False, True])
def test_what_lies_in_another_project_is_passed_over(
    home: Path, monkeypatch: pytest.MonkeyPatch, mark: str, *, linked: bool
) -> None:
    other = home / "other"
    planted, installed = put(other / ".venv/bin/thing"), put(home / ".local/bin/thing")
    folder = planted.parent
    if linked:
        folder = home / "links"
        folder.mkdir()
        (folder / "thing").symlink_to(planted)
    monkeypatch.setenv("PATH", f"{folder}:{installed.parent}")
    assert find_program("thing", home / "project") == f"{folder}/thing"
    sessions = state_folder() / "sessions" / project_name(other)
    (sessions if mark == "sessions" else other / mark).mkdir(parents=True)
    assert find_program("thing", home / "project") == str(installed)
    assert search_path(home / "project") == [str(one) for one in (folder, installed.parent)][not linked :]
    monkeypatch.setenv("PATH", str(folder))
    assert find_program("thing", home / "project") is None


def test_programs_of_the_system_are_run_though_somebody_chatted_there(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    system = home / "usr"
    installed = put(system / "bin/thing")
    (state_folder() / "sessions" / project_name(system)).mkdir(parents=True)
    monkeypatch.setenv("PATH", str(installed.parent))
    assert find_program("thing", home / "project") is None
    monkeypatch.setattr(paths, "SYSTEM_FOLDERS", f"/ {system}")
    assert find_program("thing", home / "project") == str(installed)
    assert find_program("thing", system) is None, "it is the project now"


@pytest.mark.parametrize("folder", ["/opt", "/usr/local", "/usr/local/bin", "/etc", "/snap"])
def test_programs_are_not_run_where_commands_may_be(folder: str) -> None:
    assert folder not in paths.SYSTEM_FOLDERS.split(), "root's commands may write programs there"


@pytest.mark.parametrize("repository", ["", ".pyenv"])
def test_repositories_that_hold_the_users_own_programs_are_no_projects(
    home: Path, monkeypatch: pytest.MonkeyPatch, repository: str
) -> None:
    installed = put(home / repository / "bin/thing")
    (home / repository / ".git").mkdir()
    monkeypatch.setenv("PATH", str(installed.parent))
    assert find_program("thing", home / "project") == str(installed)


_OF_ASDF = '#!/usr/bin/env bash\n# asdf-plugin: ripgrep 14.1.0\nexec /opt/asdf/bin/asdf exec "rg" "$@"\n'


def _place(kind: str, folder: Path) -> Path:
    """Put a shim, or what looks like one, beside its manager, and return it."""
    match kind:
        case "in a folder of shims":
            return put(folder / "shims/thing")
        case "a link into a folder of shims":
            put(folder / "shims/thing")
            (folder / "thing").symlink_to("shims/thing")
        case "a script":
            put(folder / "thing").write_text(_OF_ASDF)
        case "a hard link":
            (folder / "thing").hardlink_to(put(folder / "rustup"))
        case "a script that names a manager's folder":
            put(folder / "thing").write_text("#!/opt/mise/installs/python/3/bin/python3 -E\nrun()\n")
        case manager:
            (folder / "thing").symlink_to(put(folder / "programs" / manager))
    return folder / "thing"


@pytest.mark.parametrize(
    "kind",
    [
        "in a folder of shims",
        "a link into a folder of shims",
        "a script",
        "a hard link",
        "mise",
        "rustup",
        "volta-shim",
    ],
)
def test_what_runs_what_the_folder_names_is_passed_over(home: Path, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    (home / "tools").mkdir()
    shim, installed = _place(kind, home / "tools"), put(home / "usr/thing")
    monkeypatch.setenv("PATH", f"{shim.parent}:{installed.parent}")
    assert find_program("thing", home / "project") == str(installed)
    installed.unlink()
    assert find_program("thing", home / "project") is None
    assert passed_over("thing", home / "project") == str(shim)


@pytest.mark.parametrize("kind", ["a script that names a manager's folder", "thing-14.1"])
def test_what_a_version_manager_has_installed_is_run(home: Path, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    (home / "tools").mkdir()
    program = _place(kind, home / "tools")
    monkeypatch.setenv("PATH", str(program.parent))
    assert find_program("thing", home / "project") == str(program)


def test_programs_of_git_are_not_looked_for_among_shims(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", f"{home}/.asdf/shims:{home}/usr")
    assert search_path(home / "project") == [f"{home}/usr"]
