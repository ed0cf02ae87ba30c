"""What lies outside a project and names files in it: these are put back as if it lay in the project."""

import subprocess
from pathlib import Path

import pytest

from localllm.sandbox.protect.revert import ProtectedFiles
from tests.support.tools import put

HOOK = "#!/bin/sh\n"


def git(folder: Path, *arguments: str) -> str:
    options = ("-c", "protocol.file.allow=always", "-c", "user.name=a", "-c", "user.email=a@b")
    done = subprocess.run(["git", *options, *arguments], cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout.strip()


@pytest.fixture
def around(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    around = tmp_path.resolve() / "around"
    (around / "pkg").mkdir(parents=True)
    monkeypatch.setenv("HOME", str(tmp_path))
    git(around, "init", "-q")
    return around


def put_back(project: Path, *paths: str) -> set[str]:
    """Return which of the files, after a command has changed them, are put back."""
    for path in paths:
        put(project / path, HOOK)
    files = ProtectedFiles(project, None, coarse=50_000_000)
    files.begin()
    for path in paths:
        put(project / path, "evil")
    restored = files.end()
    assert all((project / path).read_text() == HOOK for path in restored)
    return set(restored)


@pytest.mark.parametrize("is_repository", [False, True])
def test_hooks_of_a_repository_around_that_are_links(around: Path, *, is_repository: bool) -> None:
    project = around / "pkg"
    if is_repository:
        git(project, "init", "-q")
    hooks = around / ".git/hooks"
    hooks.mkdir(exist_ok=True)
    (hooks / "post-commit").symlink_to("../../pkg/hook.sh")
    (hooks / "pre-push").symlink_to("post-commit")
    assert put_back(project, "hook.sh", "other.sh") == {"hook.sh"}


def test_programs_in_the_settings_of_a_repository_around_one(around: Path) -> None:
    git(around / "pkg", "init", "-q")
    git(around, "config", "core.hooksPath", "pkg/hooks")
    git(around, "config", "core.fsmonitor", "pkg/watch.sh")
    assert put_back(around / "pkg", "hooks/pre-commit", "watch.sh", "a.sh") == {"hooks/pre-commit", "watch.sh"}


@pytest.mark.parametrize("is_tree", [False, True])
def test_programs_in_settings_that_the_repository_around_includes(
    around: Path, tmp_path: Path, *, is_tree: bool
) -> None:
    pkg = "./" if is_tree else "pkg/"
    put(around / "team", f"[include]\n\tpath = more\n[core]\n\thooksPath = {pkg}hooks\n")
    put(around / "more", f"[core]\n\tfsmonitor = {pkg}watch.sh\n")
    git(around, "add", ".")
    git(around, "commit", "-qm", "a")
    git(around, "config", "include.path", "../team")
    project = around / "pkg"
    if is_tree:
        project = tmp_path.resolve() / "tree"
        git(around, "worktree", "add", "-q", str(project))
    assert put_back(project, "hooks/pre-commit", "watch.sh", "a.sh") == {"hooks/pre-commit", "watch.sh"}


def test_programs_in_settings_outside_that_a_repository_includes(around: Path, tmp_path: Path) -> None:
    put(tmp_path / "team", "[core]\n\tfsmonitor = ./watch.sh\n")
    git(around / "pkg", "init", "-q")
    git(around / "pkg", "config", "includeIf.onbranch:x.path", str(tmp_path / "team"))
    assert put_back(around / "pkg", "watch.sh", "a.sh") == {"watch.sh"}


def test_hooks_of_a_submodule_that_are_links(around: Path, tmp_path: Path) -> None:
    source = tmp_path / "source"
    put(source / "tools/h.sh", HOOK)
    git(source, "init", "-q")
    git(source, "add", ".")
    git(source, "commit", "-qm", "a")
    git(around, "submodule", "add", "-q", str(source), "sub")
    hooks = Path(git(around / "sub", "rev-parse", "--git-path", "hooks"))
    hooks.mkdir(exist_ok=True)
    (hooks / "pre-commit").symlink_to(around / "sub/tools/h.sh")
    assert put_back(around / "sub", "tools/h.sh", "tools/other.sh") == {"tools/h.sh"}


def test_what_a_linked_work_tree_has_for_the_data_of_its_repository(around: Path, tmp_path: Path) -> None:
    put(around / "a", "a")
    git(around, "add", ".")
    git(around, "commit", "-qm", "a")
    tree = tmp_path.resolve() / "tree"
    git(around, "worktree", "add", "-q", str(tree))
    data = around / ".git"
    put(tree / "conf/gc", (data / "config").read_text())
    put(tree / "conf/hooks/pre-push", HOOK)
    (data / "config").unlink()
    subprocess.run(["rm", "-rf", data / "hooks", data / "info"], check=True)
    (data / "hooks").symlink_to(tree / "conf/hooks")
    (data / "config").symlink_to(tree / "conf/gc")
    (data / "info").mkdir()
    (data / "info/attributes").symlink_to(tree / "conf/at")
    files = ProtectedFiles(tree, None, coarse=50_000_000)
    put(tree / "conf/at", "*.x filter=a")
    files.begin()
    for name in ("conf/gc", "conf/at", "conf/hooks/pre-push", "conf/hooks/pre-commit", "conf/x"):
        put(tree / name, "evil")
    assert set(files.end()) == {"conf/gc", "conf/at", "conf/hooks/pre-push", "conf/hooks/pre-commit"}


def test_what_direnv_and_mise_read_for_the_folder_around(around: Path) -> None:
    put(around / ".envrc", "dotenv pkg/.env\nsource_env pkg/dev.sh\nsource dev.sh\n")
    put(around / "mise.toml", '[env]\n_.file = "pkg/mise.env"\n[hooks]\nenter = "bash pkg/enter.sh"\n')
    put(around / ".config/mise/config.toml", '[env]\n_.source = "pkg/src.sh"\n')
    named = {".env", "dev.sh", "mise.env", "enter.sh", "src.sh"}
    assert put_back(around / "pkg", *named, "main.py") == named


def test_links_at_protected_names_of_the_folder_around(around: Path) -> None:
    (around / ".envrc").symlink_to("pkg/envrc")
    (around / ".vscode").symlink_to("pkg/vs")
    (around / "lib").symlink_to("pkg/src")
    assert put_back(around / "pkg", "envrc", "vs/tasks.json", "src/a.py") == {"envrc", "vs/tasks.json"}


@pytest.mark.parametrize("is_users", [False, True])
def test_hooks_in_a_folder_outside_that_are_links(around: Path, tmp_path: Path, *, is_users: bool) -> None:
    hooks = tmp_path.resolve() / "hooks" if is_users else around / ".githooks"
    hooks.mkdir()
    (hooks / "pre-commit").symlink_to(around / "pkg/check.sh")
    if is_users:
        git(around / "pkg", "init", "-q")
        put(tmp_path / ".gitconfig", "[core]\n\thooksPath = ~/hooks\n")
    else:
        git(around, "config", "core.hooksPath", ".githooks")
    assert put_back(around / "pkg", "check.sh", "other.sh") == {"check.sh"}


def test_hooks_in_a_folder_outside_that_the_projects_own_repository_names(around: Path, tmp_path: Path) -> None:
    git(around / "pkg", "init", "-q")
    git(around / "pkg", "config", "core.hooksPath", str(tmp_path / "hooks"))
    (tmp_path / "hooks").mkdir()
    (tmp_path / "hooks/pre-push").symlink_to(around / "pkg/check.sh")
    assert put_back(around / "pkg", "check.sh", "other.sh") == {"check.sh"}


def test_links_in_protected_folders_of_the_folder_around(around: Path) -> None:
    links = {".vscode/tasks.json": "tasks", ".cargo/config.toml": "cargo", ".github/workflows/ci.yml": "ci"}
    for link, name in {**links, ".cargo/notes": "notes"}.items():
        (around / link).parent.mkdir(parents=True, exist_ok=True)
        (around / link).symlink_to(around / "pkg" / name)
    assert put_back(around / "pkg", *links.values(), "notes") == set(links.values())


def test_what_is_above_the_home_names_nothing(around: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(around / ".envrc", "dotenv home/pkg/.env\n")
    monkeypatch.setenv("HOME", str(around / "home"))
    assert put_back(around / "home/pkg", ".env") == set()


def shared_settings(repository: Path, place: str = ".gitconfig", hooks: str = "hooks") -> None:
    put(repository / place, f"[core]\n\thooksPath = {hooks}\n")
    git(repository, "config", "include.path", f"../{place}")


def test_what_a_repository_around_names_by_an_included_file(around: Path) -> None:
    shared_settings(around, "conf/a.inc", "pkg/hooks")
    with (around / "conf/a.inc").open("a") as file:
        file.write('[includeIf "onbranch:x"]\n\tpath = b.inc\n[include]\n\tpath = a.inc\n')
    put(around / "conf/b.inc", '[filter "x"]\n\tclean = pkg/clean.sh\n')
    expected = {"hooks/pre-commit", "clean.sh"}
    assert put_back(around / "pkg", "hooks/pre-commit", "clean.sh", "other.sh") == expected


@pytest.mark.parametrize("place", ["wt", "../tree"])
def test_an_included_file_names_hooks_in_linked_work_trees(around: Path, place: str) -> None:
    shared_settings(around)
    put(around / "a", "a")
    git(around, "add", ".")
    git(around, "commit", "-qm", "a")
    git(around, "worktree", "add", "-q", place)
    project = around if place == "wt" else around.parent / "tree"
    inside = "wt/hooks/pre-commit" if place == "wt" else "hooks/pre-commit"
    assert put_back(project, inside, "a.sh") == {inside}


def test_an_included_file_names_hooks_of_a_repository_in_the_project(around: Path) -> None:
    library = around / "pkg/library"
    library.mkdir()
    git(library, "init", "-q")
    shared_settings(library, "conf/git/a.inc")
    assert put_back(around, "pkg/library/hooks/pre-commit", "other/a") == {"pkg/library/hooks/pre-commit"}


def test_an_included_file_outside_the_project_names_hooks_in_it(around: Path, tmp_path: Path) -> None:
    put(tmp_path / "team.inc", "[core]\n\thooksPath = tools/hooks\n")
    git(around, "config", "include.path", "~/team.inc")
    assert put_back(around, "tools/hooks/pre-commit", "tools/a") == {"tools/hooks/pre-commit"}


def test_a_new_work_tree_keeps_no_hook_that_an_included_file_names(around: Path) -> None:
    shared_settings(around)
    put(around / "hooks/pre-commit", HOOK)
    git(around, "add", ".")
    git(around, "commit", "-qm", "a")
    git(around, "switch", "-qc", "other")
    put(around / "hooks/pre-commit", "evil")
    git(around, "commit", "-qam", "b")
    git(around, "switch", "-q", "-")
    files = ProtectedFiles(around, None)
    files.begin()
    git(around, "worktree", "add", "-q", "wt", "other")
    assert files.end() == ("wt/hooks/pre-commit",)
