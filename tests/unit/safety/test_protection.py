"""Files only the user may change, for what git is told about them."""

import os
import subprocess
from pathlib import Path

import pytest

from localllm.base.errors import SafetyViolationError
from localllm.safety.paths import ProjectRoot
from localllm.sandbox.protect.revert import ProtectedFiles


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
    return ProjectRoot(project, named=ProtectedFiles(project.resolve(), None).named)


def is_protected(root: ProjectRoot, path: str) -> bool:
    """As a call of a tool sees it."""
    return root.for_one_call().is_protected(path)


def say(root: ProjectRoot, *settings: str) -> None:
    subprocess.run(["git", "config", *settings], cwd=root.path, check=True)


def test_hooks_in_a_folder_that_settings_name(root: ProjectRoot) -> None:
    assert not is_protected(root, "hooks/pre-commit")
    say(root, "core.hooksPath", "hooks")
    assert is_protected(root, "hooks/pre-commit")
    assert is_protected(root, "Hooks/deeper/helper.sh")
    assert not is_protected(root, "src/hooks.py")
    say(root, "--unset", "core.hooksPath")
    assert not is_protected(root, "hooks/pre-commit")


def test_hooks_in_a_folder_that_the_users_settings_name(root: ProjectRoot) -> None:
    say(root, "--global", "core.hooksPath", ".githooks")
    assert is_protected(root, ".githooks/pre-commit")


def test_what_the_users_settings_in_variables_name(root: ProjectRoot, monkeypatch: pytest.MonkeyPatch) -> None:
    assert not is_protected(root, "hooks/pre-commit")
    named = {"core.hooksPath": "hooks", "filter.x.clean": "scripts/clean.sh", "core.bare": "false"}
    for number, (key, value) in enumerate(named.items()):
        monkeypatch.setenv(f"GIT_CONFIG_KEY_{number}", key)
        monkeypatch.setenv(f"GIT_CONFIG_VALUE_{number}", str(root.path / value) if "/" in value else value)
    monkeypatch.setenv("GIT_CONFIG_COUNT", "3")
    root = ProjectRoot(root.path, named=ProtectedFiles(root.path, None).named)
    assert is_protected(root, "hooks/pre-commit")
    assert is_protected(root, "scripts/clean.sh")
    assert not is_protected(root, "src/hooks.py")
    monkeypatch.setenv("GIT_CONFIG_COUNT", "many")
    assert not is_protected(ProjectRoot(root.path, named=ProtectedFiles(root.path, None).named), "hooks/pre-commit")


def test_what_names_programs_and_is_named_by_a_variable(root: ProjectRoot, monkeypatch: pytest.MonkeyPatch) -> None:
    (root.path / "link").symlink_to("src/keys")
    monkeypatch.setenv("KUBECONFIG", f"/elsewhere/config:{root.path}/kubeconfig")
    monkeypatch.setenv("GNUPGHOME", str(root.path / "link"))
    monkeypatch.setenv("TMPDIR", str(root.path / "tmp"))
    assert is_protected(root, "kubeconfig")
    assert is_protected(root, "src/keys/gpg-agent.conf")
    assert not any(is_protected(root, path) for path in ("kubeconfig.py", "src/a.py", "tmp/a"))
    monkeypatch.chdir(root.path / "src")
    monkeypatch.setenv("KUBECONFIG", "kube")
    for everything in (".", "..", "/", str(root.path)):
        monkeypatch.setenv("DOCKER_CONFIG", everything)
        assert [path for path in ("src/kube", "kube", "README.md") if is_protected(root, path)] == ["src/kube"]


def test_what_a_hook_is_a_link_to(root: ProjectRoot) -> None:
    (root.path / ".git/hooks").mkdir(exist_ok=True)
    (root.path / ".git/hooks/pre-commit").symlink_to("../../scripts/check.sh")
    assert is_protected(root, "scripts/check.sh")
    assert not is_protected(root, "scripts/other.sh")


def test_settings_that_are_included(root: ProjectRoot) -> None:
    say(root, "include.path", "../team.gitconfig")
    assert is_protected(root, "team.gitconfig")
    root.path.joinpath("team.gitconfig").write_text("[core]\n\thooksPath = scripts\n")
    assert is_protected(root, "scripts/pre-commit")


def test_a_program_that_settings_name(root: ProjectRoot) -> None:
    say(root, "core.fsmonitor", "./src/watch.sh")
    assert is_protected(root, "src/watch.sh")
    with pytest.raises(SafetyViolationError, match="protected"):
        root.write_bytes("src/watch.sh", b"")
    root.write_bytes("src/other.sh", b"")


def test_what_settings_in_the_home_are_links_to(root: ProjectRoot) -> None:
    home = root.path.parent
    (root.path / "src/bashrc").touch()
    (home / ".bashrc").symlink_to("project/src/bashrc")
    with pytest.raises(SafetyViolationError, match="protected"):
        root.write_bytes("src/bashrc", b"")
    root.write_bytes("src/zshrc", b"")


def test_what_an_editors_tasks_are_a_link_to(root: ProjectRoot) -> None:
    (root.path / ".vscode").mkdir()
    (root.path / ".vscode/tasks.json").symlink_to("../src/tasks.json")
    assert is_protected(root, "src/tasks.json")


def test_hooks_of_a_repository_in_the_project(root: ProjectRoot) -> None:
    subprocess.run(["git", "init", "-q", "src/nested"], cwd=root.path, check=True)
    subprocess.run(["git", "config", "core.hooksPath", "hooks"], cwd=root.path / "src/nested", check=True)
    assert is_protected(root, "src/nested/hooks/pre-commit")


@pytest.mark.parametrize("marks", [("HEAD", "objects", "refs"), ("HEAD", "commondir")])
def test_what_would_make_a_folder_a_repository(root: ProjectRoot, marks: tuple[str, ...]) -> None:
    *there, last = marks
    for mark in there:
        (root.path / "src" / mark).touch()
    assert is_protected(root, f"src/{last}")
    assert not is_protected(root, "src/config")
    (root.path / "src" / last).touch()
    assert is_protected(root, "src/config")


def test_of_many_files_it_is_asked_once(tmp_path: Path) -> None:
    asked: list[int] = []

    def named() -> list[str]:
        asked.append(1)
        return ["hooks"]

    root = ProjectRoot(tmp_path, named=named)
    assert [root.is_protected(f"{folder}/{number}") for folder in ("hooks", "src") for number in range(3)] == [
        *[True] * 3,
        *[False] * 3,
    ]
    assert len(asked) == 1


@pytest.mark.parametrize(
    ("folder", "is_own"),
    [
        (".local/state/localllm", True),
        (".local/state/localllm/sessions/x", True),
        (".cache/localllm", True),
        (".config/localllm", True),
        (".local/share/localllm/collections", True),
        (".local/share/localllm", False),
        (".local/share/localllm/reports", False),
        (".config/localllm/skills", False),
        (".local/state/other", False),
    ],
)
def test_a_project_among_the_programs_own_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folder: str, is_own: bool
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in os.environ:
        if name.startswith(("XDG_", "LOCALLLM_")):
            monkeypatch.delenv(name)
    (tmp_path / folder).mkdir(parents=True)
    root = ProjectRoot(tmp_path / folder)
    assert is_protected(root, "notes.md") == is_protected(root, "in/notes.md") == is_own


def test_the_state_folder_may_be_set_to_the_project_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOCALLLM_STATE_DIR", str(tmp_path))
    assert is_protected(ProjectRoot(tmp_path), "trusted.json")
