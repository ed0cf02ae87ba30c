"""The files by which git finds submodules and linked work trees come back with what a command removed beside them."""

import subprocess
from pathlib import Path

import pytest

from localllm.safety.paths import ProjectRoot
from localllm.sandbox.protect.revert import ProtectedFiles
from localllm.snapshots.recorder import CommandSnapshots
from localllm.snapshots.store import Snapshots
from tests.support.tools import put

pytestmark = pytest.mark.anyio

GIT = ("git", "-c", "user.name=a", "-c", "user.email=a@b", "-c", "protocol.file.allow=always")


def git(folder: Path, *words: str) -> str:
    return subprocess.run([*GIT, *words], cwd=folder, check=True, capture_output=True, text=True).stdout


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A repository with a submodule and a linked work tree, both with a change that is not committed."""
    project = tmp_path.resolve() / "project"
    for repository in (tmp_path / "lib", project):
        git(tmp_path, "init", "-q", "-b", "main", str(repository))
        (repository / "a").write_text("a\n")
        git(repository, "add", ".")
        git(repository, "commit", "-qm", "one")
    git(project, "worktree", "add", "-q", "--detach", "tree")
    git(project, "submodule", "--quiet", "add", str(tmp_path / "lib"), "mod")
    git(project, "commit", "-qm", "two")
    for place in ("mod", "tree"):
        (project / place / "a").write_text("mine\n")
    return project


async def undone(project: Path, tmp_path: Path, command: str, between: str = "true") -> list[str]:
    root, store = ProjectRoot(project), Snapshots(tmp_path / "state" / "snapshots")
    async with CommandSnapshots(store).around(root, tool="run_command"):
        subprocess.run(command, shell=True, cwd=project, check=True, capture_output=True)
    subprocess.run(between, shell=True, cwd=project, check=True)
    return [one.path for one in store.undo(root) if one.error]


@pytest.mark.parametrize(
    ("place", "command"),
    [
        (
            "mod",
            "c=.git/modules/mod/config; cp $c c; git submodule --quiet deinit -f mod; mv c $c",
        ),  # as in the sandbox
        ("tree", "git worktree remove --force tree"),
        ("mod", "rm -rf mod"),
        ("tree", "rm -rf tree; git worktree prune"),
    ],
)
async def test_undo_brings_them_back(project: Path, tmp_path: Path, place: str, command: str) -> None:
    assert await undone(project, tmp_path, command) == []
    assert git(project / place, "status", "--short") == " M a\n"
    assert (project / place / "a").read_text() == "mine\n"
    assert str(project / "tree") in git(project, "worktree", "list")
    git(project, "worktree", "prune")
    git(project, "submodule", "--quiet", "update", "--init")
    assert (project / place / "a").read_text() == "mine\n"


@pytest.mark.parametrize(
    ("path", "between"),
    [
        (
            "mod/.git",
            "git config -f .git/modules/mod/config core.worktree ../../..",
        ),
        ("mod/.git", "rm -rf .git/modules/mod"),
        ("tree/.git", "echo ../../../elsewhere > .git/worktrees/tree/commondir"),
        ("tree/.git", 'echo "$PWD/other/.git" > .git/worktrees/tree/gitdir'),
    ],
)
async def test_they_do_not_where_the_data_leads_elsewhere(
    project: Path, tmp_path: Path, path: str, between: str
) -> None:
    assert path in await undone(project, tmp_path, "rm -rf mod tree", between)
    assert not (project / path).exists()


OWN = {".envrc": "dotenv own.env\n", "own.env": "A=1\n", ".vscode/settings.json": "{}\n"}


async def undone_with_protection(project: Path, tmp_path: Path, command: str, meanwhile: str = "") -> list[str]:
    """As `undone`, with the protected files put back behind the command. `meanwhile`: what another one does before it
    begins, whose changes are put back with its own."""
    root, store = ProjectRoot(project), Snapshots(tmp_path / "state" / "snapshots")
    files, snapshots = ProtectedFiles(project, None), CommandSnapshots(store)
    if meanwhile:
        files.begin()
        subprocess.run(meanwhile, shell=True, cwd=project, check=True)
    async with snapshots.around(root, tool="run_command"):
        files.begin()
        subprocess.run(command, shell=True, cwd=project, check=True, capture_output=True)
        files.end()
    if meanwhile:
        files.end()
    return [one.path for one in store.undo(root) if one.error]


@pytest.mark.parametrize(
    "command", ["git worktree remove --force tree", "rm -rf tree", "find tree -delete; mkdir tree"]
)
async def test_undo_brings_protected_files_back_with_their_work_tree(
    project: Path, tmp_path: Path, command: str
) -> None:
    for name, text in OWN.items():
        put(project / "tree" / name, text)
    (project / "tree/.envrc").chmod(0o600)
    assert await undone_with_protection(project, tmp_path, command) == []
    assert {name: (project / "tree" / name).read_text() for name in OWN} == OWN
    assert (project / "tree/.envrc").stat().st_mode & 0o777 == 0o600


async def test_undo_brings_nothing_back_that_a_command_had_made(project: Path, tmp_path: Path) -> None:
    for name, text in OWN.items():
        put(project / "tree" / name, text)
    laid = "echo evil > tree/.envrc; echo evil > tree/own.env; echo evil > tree/.mise.toml"
    left = await undone_with_protection(project, tmp_path, "git worktree remove --force tree", laid)
    assert sorted(left) == ["tree/.envrc", "tree/.mise.toml", "tree/own.env"]
    assert not {*left} & {str(path.relative_to(project)) for path in project.rglob("*")}


async def test_undo_lays_no_protected_file_anywhere_else(project: Path, tmp_path: Path) -> None:
    put(project / "tree/.envrc", OWN[".envrc"])
    (project / "other").mkdir()
    command = "git worktree remove --force tree; ln -s other tree"
    assert await undone_with_protection(project, tmp_path, command) == []
    assert not (project / "tree").is_symlink()
    assert not [*(project / "other").iterdir()]
