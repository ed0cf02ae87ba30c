"""What is said of a commit that a command made without the hooks or the signature that the user's settings ask for."""

import os
import subprocess
from pathlib import Path

import pytest

from localllm.tools.commit_remarks import remarks_on_commit
from localllm.tools.merge_state import state_before

COMMIT = "git commit -q --allow-empty -m x"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    home = tmp_path.resolve() / "home"
    project = home / "project"
    (home / "hooks").mkdir(parents=True)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    monkeypatch.delenv("GIT_CONFIG_GLOBAL", raising=False)
    project.mkdir()
    run(project, "git init -q .; git config user.name A; git config user.email a@example.org; " + COMMIT)
    return project


def run(folder: Path, command: str) -> None:
    subprocess.run(["bash", "-ec", command], cwd=folder, env=dict(os.environ), check=True)


def said(project: Path, settings: str, command: str) -> str:
    """Return the remarks on a command, run as in the sandbox, without the user's settings."""
    before = state_before(project, command)
    run(project, f"export GIT_CONFIG_GLOBAL=/dev/null; {command}")
    (project.parent / ".gitconfig").write_text(settings)
    return "\n".join(remark.english for remark in remarks_on_commit(project, before))


def add_hook(folder: Path, name: str = "pre-commit") -> None:
    folder.mkdir(exist_ok=True)
    (folder / name).write_text("#!/bin/sh\n")
    (folder / name).chmod(0o755)


@pytest.mark.parametrize("path", ["~/hooks", "{home}/hooks", "{home}/project/../hooks"])
def test_hooks_in_the_home_are_named(project: Path, path: str) -> None:
    add_hook(project.parent / "hooks")
    add_hook(project.parent / "hooks", "post-checkout")
    told = said(project, f"[core]\n\thooksPath = {path.format(home=project.parent)}\n", COMMIT)
    assert "hooks in the home (pre-commit in " in told
    assert "signature" not in told


@pytest.mark.parametrize("path", [".githooks", "{home}/project/.githooks", "/usr/share/hooks", "~/empty"])
def test_hooks_that_ran_or_are_none_are_not(project: Path, path: str) -> None:
    add_hook(project / ".githooks")
    assert not said(project, f"[core]\n\thooksPath = {path.format(home=project.parent)}\n", COMMIT)


def test_a_missing_signature_is_said(project: Path) -> None:
    assert "signature" in said(project, "[commit]\n\tgpgSign\n", f"echo x > x; git add x; {COMMIT}")
    assert not said(project, "[commit]\n\tgpgSign = true\n[commit]\n\tgpgsign = false\n", COMMIT)


@pytest.mark.parametrize(
    ("command", "is_one"),
    [
        ("git checkout -q -b topic; git checkout -q -", False),
        ("git status; git log", False),
        ("git commit -q --allow-empty --amend --no-edit", True),
        (f"git checkout -q -b topic; {COMMIT}; git checkout -q -; git merge -q topic", True),
        ("git merge -q --ff-only later", False),
        (f"git checkout -q -b topic; {COMMIT}; git checkout -q -; git merge -q --no-ff -m y topic", True),
        ("git checkout -q later; git revert --no-edit HEAD", True),
    ],
)
def test_only_commits_count(project: Path, command: str, is_one: bool) -> None:
    run(project, "git checkout -q -b later; echo x > x; git add x; git commit -q -m later; git checkout -q -")
    assert bool(said(project, "[commit]\n\tgpgSign = true\n", command)) == is_one


def test_a_folder_without_a_repository_has_none(tmp_path: Path) -> None:
    assert remarks_on_commit(tmp_path, state_before(tmp_path, "git commit")) == []
