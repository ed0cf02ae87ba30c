"""Files only the user may change, for what git is told about them."""

import subprocess
from pathlib import Path

import pytest

from localllm.base.errors import SafetyViolationError
from localllm.safety.paths import ProjectRoot


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ProjectRoot:
    home = tmp_path / "home"
    project = home / "project"
    project.mkdir(parents=True)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.delenv("GIT_CONFIG_GLOBAL", raising=False)
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    subprocess.run(["git", "init", "-q"], cwd=project, check=True)
    for folder in ("scripts", "hooks", "src"):
        (project / folder).mkdir()
    return ProjectRoot(project)


def say(root: ProjectRoot, *settings: str) -> None:
    subprocess.run(["git", "config", *settings], cwd=root.path, check=True)


def test_hooks_in_a_folder_that_settings_name(root: ProjectRoot) -> None:
    assert not root.is_protected("hooks/pre-commit")
    say(root, "core.hooksPath", "hooks")
    assert root.is_protected("hooks/pre-commit")
    assert root.is_protected("Hooks/deeper/helper.sh")
    assert not root.is_protected("src/hooks.py")
    say(root, "--unset", "core.hooksPath")
    assert not root.is_protected("hooks/pre-commit")


def test_hooks_in_a_folder_that_the_users_settings_name(root: ProjectRoot) -> None:
    say(root, "--global", "core.hooksPath", ".githooks")
    assert root.is_protected(".githooks/pre-commit")


def test_what_a_hook_is_a_link_to(root: ProjectRoot) -> None:
    (root.path / ".git/hooks").mkdir(exist_ok=True)
    (root.path / ".git/hooks/pre-commit").symlink_to("../../scripts/check.sh")
    assert root.is_protected("scripts/check.sh")
    assert not root.is_protected("scripts/other.sh")


def test_settings_that_are_included(root: ProjectRoot) -> None:
    say(root, "include.path", "../team.gitconfig")
    assert root.is_protected("team.gitconfig")
    root.path.joinpath("team.gitconfig").write_text("[core]\n\thooksPath = scripts\n")
    (root.path / ".git/config").touch()
    assert root.is_protected("scripts/pre-commit")


def test_a_program_that_settings_name(root: ProjectRoot) -> None:
    say(root, "core.fsmonitor", "./src/watch.sh")
    assert root.is_protected("src/watch.sh")
    with pytest.raises(SafetyViolationError, match="protected"):
        root.write_bytes("src/watch.sh", b"")
    root.write_bytes("src/other.sh", b"")
