"""What a command hides where nobody looks for what programs trust is taken away, and so is what leads there."""

import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from localllm.sandbox.dotfiles import git_settings_of_user
from localllm.sandbox.git_config import Setting
from localllm.sandbox.protect import harmful_changes
from localllm.sandbox.protect.repositories import nested_repositories
from localllm.sandbox.protect.repositories.repository import linked_data
from localllm.sandbox.protect.revert import ProtectedFiles
from tests.support.each import each
from tests.support.tools import put

EVIL = "[core]\n\tfsmonitor = ./evil\n"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path.resolve() / "project"
    subprocess.run(["git", "init", "-q", root], check=True)
    put(root / "src/a.py")
    return root


@pytest.fixture
def files(root: Path, tmp_path: Path) -> ProtectedFiles:
    return ProtectedFiles(root, tmp_path / "quarantine", is_listed=lambda host: host.endswith(".example"))


def make_repository(data: Path, settings: str = EVIL) -> None:
    for name in ("objects", "refs"):
        (data / name).mkdir(parents=True)
    put(data / "HEAD", "ref: refs/heads/main\n")
    put(data / "config", settings)


DEEP = "/".join(["d"] * 60)


@each(
    ("hidden", "gone"),
    [
        (".GIT/pkg/.envrc", ".GIT/pkg/.envrc"),
        (".g\N{ZERO WIDTH JOINER}it/x/localllm.toml", ".g\N{ZERO WIDTH JOINER}it/x/localllm.toml"),
        (".Git/x/.vscode/tasks.json", ".Git/x/.vscode/tasks.json"),
        (f".zed/{DEEP}/.envrc", f".zed/{'/'.join(['d'] * 51)}"),
        (f".git/modules/{DEEP}/a/.envrc", f".git/modules/{'/'.join(['d'] * 51)}"),
        (".git/logs/x/.envrc", ".git/logs/x/.envrc"),
        (".git/refs/heads/x/.vscode/tasks.json", ".git/refs/heads/x/.vscode"),
        (".git/objects/ab/.git/commondir", ".git/objects/ab/.git"),
        (".git/lfs/tmp/.Config/mise.toml", ".git/lfs/tmp/.Config"),
        (".git/modules/config", ".git/modules/config"),
        (".git/logs/x/pkg/HEAD", ".git/logs/x/pkg/HEAD"),
        (".git/logs/refs/heads/x/commondir", ".git/logs/refs/heads/x/commondir"),
        (".git/refs/remotes/origin/CommonDir", ".git/refs/remotes/origin/CommonDir"),
        (".git/lfs/tmp/commondir", ".git/lfs/tmp/commondir"),
        (".git/sequencer/commondir", ".git/sequencer/commondir"),
        (".git/rebase-merge/HEAD", ".git/rebase-merge/HEAD"),
        (".git/annex/Head", ".git/annex/Head"),
        (".git/annex/localllm.toml", ".git/annex/localllm.toml"),
        (".git/annex/objects/x/pkg/mise.toml", ".git/annex/objects/x/pkg/mise.toml"),
        (".git/annex/objects/5z/vv/K/K/a.py", ".git/annex/objects/5z/vv/K/K"),
        (".git/annex/objects/x/pkg/commondir", ".git/annex/objects/x/pkg/commondir"),
        (".git/refs/heads/x/sitecustomize.py", ".git/refs/heads/x/sitecustomize.py"),
        (".git/logs/refs/heads/x.code-workspace", ".git/logs/refs/heads/x.code-workspace"),
        (".git/objects/ab/mise/config.toml", ".git/objects/ab/mise/config.toml"),
        (".git/objects/pkg/HEAD", ".git/objects/pkg/HEAD"),
    ],
)
def test_what_programs_trust_is_found(tmp_path: Path, hidden: str, gone: str) -> None:
    root = tmp_path.resolve() / "project"
    if not (root / ".git").exists():
        subprocess.run(["git", "init", "-q", root], check=True)
    files = ProtectedFiles(root, None)
    files.begin()
    put(root / hidden, EVIL)
    assert gone in files.end()
    assert not os.path.lexists(root / hidden)


def test_a_repository_in_a_folder_that_only_other_systems_take_for_git_is_found(
    root: Path, files: ProtectedFiles
) -> None:
    files.begin()
    make_repository(root / ".GIT/pkg/.git")
    make_repository(root / ".GIT/.git/modules/evil")
    make_repository(root / ".GIT/worktrees/app/.git")
    put(root / ".GIT/modules/m/.vscode/tasks.json", EVIL)
    gone = {
        ".GIT/pkg/.git/config",
        ".GIT/.git/modules/evil/config",
        ".GIT/worktrees/app/.git/config",
        ".GIT/modules/m/.vscode/tasks.json",
    }
    assert gone <= set(files.end())


@each("folder", ["", "sub/", "src/deep/"])
@each("is_before", [False, True])
def test_what_looks_like_a_bare_repository_hides_none_within(tmp_path: Path, folder: str, is_before: bool) -> None:
    root = tmp_path.resolve() / f"{folder.replace('/', '-')}{is_before}"
    for repository in (root, root / folder / "inner"):
        subprocess.run(["git", "init", "-q", repository], check=True)
    files = ProtectedFiles(root, None)
    marks = [root / folder / name for name in ("HEAD", "objects", "refs")]

    def make_marks() -> None:
        for mark in marks:
            mark.mkdir(parents=True)

    if is_before:
        make_marks()
    files.begin()
    if not is_before:
        make_marks()
    links = [root / ".git/COMMIT_EDITMSG", root / folder / "inner/.git/ORIG_HEAD"]
    for link in links:
        link.symlink_to("/etc/motd")
    put(root / ".git/logs/x/pkg/.vscode/tasks.json", EVIL)
    make_repository(root / folder / "inner/.git/modules/evil")
    gone = files.end()
    assert {str(link.relative_to(root)) for link in links} <= set(gone)
    assert not any(map(os.path.lexists, [*links, root / ".git/logs/x/pkg/.vscode/tasks.json"]))
    assert f"{folder}inner/.git/modules/evil/config" in gone


@each("where", ["worktrees/w/refs", "worktrees/w/hooks", "worktrees/w/annex/objects", "worktrees/w/logs", "refs/heads"])
def test_a_repository_within_the_branches_of_another_is_none(tmp_path: Path, where: str) -> None:
    root = tmp_path.resolve() / where.replace("/", "-")
    subprocess.run(["git", "init", "-q", root], check=True)
    files = ProtectedFiles(root, None)
    files.begin()
    hidden = root / ".git" / where / "B"
    make_repository(hidden)
    assert files.end() != ()
    assert not (hidden / "objects").exists() or not (hidden / "config").exists()


def test_a_submodule_of_a_linked_work_tree_stays(root: Path, files: ProtectedFiles) -> None:
    git = ["git", "-C", root, "-c", "user.name=n", "-c", "user.email=e", "-c", "protocol.file.allow=always"]
    subprocess.run([*git, "commit", "-qm", "x", "--allow-empty"], check=True)
    subprocess.run(["git", "init", "-q", root / "lib"], check=True)
    subprocess.run([*git[:1], "-C", root / "lib", *git[3:], "commit", "-qm", "x", "--allow-empty"], check=True)
    subprocess.run([*git, "submodule", "--quiet", "add", "./lib", "sub"], check=True)
    subprocess.run([*git, "commit", "-qm", "y"], check=True)
    files.begin()
    subprocess.run([*git, "worktree", "add", "-q", "--detach", "tree"], check=True)
    work = [*git[:1], "-C", root / "tree", *git[3:]]
    subprocess.run([*work, "submodule", "--quiet", "update", "--init"], check=True)
    assert files.end() == ()
    assert (root / ".git/worktrees/tree/modules/sub/config").exists()
    subprocess.run([*git[:1], "-C", root / "tree/sub", *git[3:], "status"], check=True)


@each(
    "hidden",
    [
        "sitecustomize-app/.git/config",
        "sitecustomize/.git/config",
        "usercustomize/a/.vscode/tasks.json",
        "usercustomize.x/.envrc",
        ".vscode/sitecustomize/tasks.json",
        "a/.git/hooks/sitecustomize.py",
    ],
)
def test_below_a_module_for_the_start_of_python_the_rest_is_found(
    root: Path, files: ProtectedFiles, hidden: str
) -> None:
    files.begin()
    put(root / "site-packages" / hidden, EVIL)
    put(root / "site-packages/tracing/sitecustomize.py", "shipped")
    put(root / "site-packages/sitecustomize/sub/x.py", "shipped")
    assert files.end() != ()
    assert not os.path.lexists(root / "site-packages" / hidden)
    assert (root / "site-packages/tracing/sitecustomize.py").exists()
    assert (root / "site-packages/sitecustomize/sub/x.py").exists()


@each(
    "data",
    [
        ".git/logs/.git/modules/evil",
        ".git/logs/x/modules/evil",
        ".GIT/.git/modules/evil",
        ".git/modules",
        ".git/annex/x/modules/a",
        "lib/.git/modules/evil",
    ],
)
def test_a_work_tree_belongs_to_no_submodule_where_git_keeps_none(tmp_path: Path, data: str) -> None:
    root = tmp_path.resolve() / data.replace("/", "-")
    subprocess.run(["git", "init", "-q", root], check=True)
    make_repository(root / data, f"[core]\n\tworktree = {root}/src\n")
    put(root / "src/.git", f"gitdir: {root}/{data}\n")
    assert linked_data(root, root / "src/.git") is None


@each("data", [".git/modules/libs/a", ".git/modules/a/modules/b", ".git/worktrees/w/modules/a"])
def test_a_work_tree_may_belong_to_a_submodule(tmp_path: Path, data: str) -> None:
    root = tmp_path.resolve() / data.replace("/", "-")
    subprocess.run(["git", "init", "-q", root], check=True)
    make_repository(root / data, f"[core]\n\tworktree = {root}/src\n")
    put(root / "src/.git", f"gitdir: {root}/{data}\n")
    assert linked_data(root, root / "src/.git") == root / data


@each("common", [".git/logs/zuul.d/x", ".git/refs/x", ".GIT/x"])
def test_no_work_tree_belongs_to_a_repository_within_the_data_of_another_one(tmp_path: Path, common: str) -> None:
    root = tmp_path.resolve() / common.replace("/", "-")
    subprocess.run(["git", "init", "-q", root], check=True)
    make_repository(root / common)
    data = root / common / "worktrees/w"
    put(data / "commondir", "../..\n")
    put(data / "gitdir", f"{root}/src/.git\n")
    put(data / "HEAD", "ref: refs/heads/main\n")
    put(root / "src/.git", f"gitdir: {data}\n")
    assert linked_data(root, root / "src/.git") is None


def test_a_link_into_the_data_of_a_repository_is_taken_away(root: Path, files: ProtectedFiles) -> None:
    put(root / ".git/logs/refs/heads/x/opencode.json")
    files.begin()
    (root / "app").symlink_to(".git/logs/refs/heads/x")
    (root / "src/b").symlink_to(root / "src/../.GIT/x")
    (root / "later").symlink_to(".git/annex/objects/a/b")
    (root / ".git/annex/objects/a/b").mkdir(parents=True)
    (root / "c").symlink_to("app")
    (root / "other").symlink_to("src")
    (root / ".gitignore.link").symlink_to(".gitignore")
    assert files.end() == ("app", "later", "src/b")


def test_what_makes_a_folder_of_branches_a_repository_is_found(root: Path, files: ProtectedFiles) -> None:
    files.begin()
    data = root / ".git/logs/refs/heads/x"
    for name in ("HEAD", "objects", "refs"):
        put(data / name, "0" * 40)
        (data / name).chmod(0o755)
    put(data / "config", EVIL)
    assert ".git/logs/refs/heads/x/config" in files.end()


def test_branches_may_have_the_names_of_files(root: Path, files: ProtectedFiles) -> None:
    def git(*words: str) -> None:
        subprocess.run(["git", "-C", root, "-c", "user.name=a", "-c", "user.email=a@b", *words], check=True)

    files.begin()
    git("commit", "-q", "--allow-empty", "-m", "first\nmore")
    for name in ("rust-toolchain", "fix/mise.toml", "x/config", "x/objects", "x/HEAD", "team/sitecustomize.py"):
        git("branch", name)
    git("update-ref", "refs/remotes/origin/rust-toolchain", "HEAD")
    git("symbolic-ref", "refs/remotes/origin/irbrc", "refs/remotes/origin/rust-toolchain")
    key = "SHA256E-s1--a.code-workspace"
    put(root / f".git/annex/objects/5z/vv/{key}/{key}")
    put(root / ".git/annex/mergedrefs")
    assert files.end() == ()


def test_a_branch_that_becomes_settings_is_found(root: Path, files: ProtectedFiles) -> None:
    branch = put(root / ".git/refs/heads/mise.toml", "0" * 40)
    files.begin()
    branch.write_text("[hooks]\nenter = './evil'\n")
    assert ".git/refs/heads/mise.toml" in files.end()


def test_interrupted_work_of_git_stays(root: Path, files: ProtectedFiles) -> None:
    def git(*words: str) -> None:
        subprocess.run(
            ["git", "-C", root, "-c", "user.name=a", "-c", "user.email=a@b", *words], check=False, capture_output=True
        )

    for number, branch in enumerate(("main", "side")):
        git("checkout", "-q", "-B", branch)
        for text in "ab":
            put(root / "src/a.py", f"{number}{text}")
            git("add", ".")
            git("commit", "-qm", text)
        git("branch", "-f", "base", "HEAD~1")
    git("checkout", "-q", "-B", "other", "HEAD~1")
    put(root / "src/a.py", "other")
    git("commit", "-qam", "other")
    files.begin()
    git("rebase", "side")
    assert (root / ".git/rebase-merge/git-rebase-todo").exists()
    assert files.end() == ()
    git("rebase", "--abort")
    files.begin()
    git("cherry-pick", "side~1", "side")
    assert (root / ".git/sequencer/todo").exists()
    assert files.end() == ()
    git("cherry-pick", "--abort")
    files.begin()
    git("rebase", "--apply", "side")
    assert (root / ".git/rebase-apply/patch").exists()
    assert files.end() == ()


def test_links_to_what_git_annex_keeps_stay(root: Path, files: ProtectedFiles) -> None:
    key = "annex/objects/5z/vv/SHA256E-s1--a/SHA256E-s1--a"
    files.begin()
    put(root / ".git" / key, "a")
    (root / "large").symlink_to(f".git/{key}")
    (root / "src/missing").symlink_to(f"../.git/{key}b")
    put(root / ".git/modules/sub" / key, "a")
    (root / "src/of-submodule").symlink_to(f"../.git/modules/sub/{key}")
    assert files.end() == ()


def test_a_link_of_the_users_into_the_data_of_a_repository_may_be_moved(root: Path, files: ProtectedFiles) -> None:
    (root / "hooks").symlink_to(".git/hooks")
    files.begin()
    (root / "hooks").rename(root / "src/hooks")
    (root / "src/hooks").unlink()
    (root / "src/hooks").symlink_to("../.git/hooks")
    assert files.end() == ()


def commit(root: Path) -> None:
    git = ["git", "-C", root, "-c", "user.name=n", "-c", "user.email=e"]
    subprocess.run([*git, "add", "-A"], check=True)
    subprocess.run([*git, "commit", "-qm", "x"], check=True)


def init(folder: Path, address: str, *more: str) -> None:
    subprocess.run(["git", "init", "-q", *more, folder], check=True)
    subprocess.run(["git", "-C", folder, "remote", "add", "origin", address], check=True)


FAR = "https://evil.example/x.git"


def test_a_new_repository_over_files_of_one_around_pushes_nowhere_else(root: Path, files: ProtectedFiles) -> None:
    put(root / "lib/deep/b.py")
    commit(root)
    files.begin()
    init(root / "src", FAR)
    init(root / "lib/deep", "../elsewhere")
    init(root / "new", FAR)
    init(root / "lib/new", "git@host.example:x.git")
    assert files.end() == ("src/.git/config",)
    files.begin()
    (root / "new/.git").rename(root / "src/.git/x")
    (root / "src/.git").rename(root / "src/old")
    (root / "src/old/x").rename(root / "src/.git")
    assert "src/.git/config" in files.end()


def test_an_index_around_many_new_repositories_is_parsed_once(
    root: Path, files: ProtectedFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(root / "lib/deep/b.py")
    commit(root)
    parsed, entries_of = list[int](), nested_repositories.entries_of

    def parse(content: bytes, hash_size: int) -> Iterator[tuple[int, bytes]]:
        parsed.append(len(content))
        return entries_of(content, hash_size)

    monkeypatch.setattr(nested_repositories, "entries_of", parse)
    files.begin()
    for number in range(5):
        init(root / f"build/{number}", FAR)
    init(root / "lib", FAR)
    assert files.end() == ("lib/.git/config",)
    assert len(parsed) == 1


def test_nor_does_one_whose_data_is_elsewhere_or_with_another_in_between(root: Path, files: ProtectedFiles) -> None:
    put(root / "lib/deep/b.py")
    commit(root)
    files.begin()
    init(root / "src", FAR, f"--separate-git-dir={root}/data")
    subprocess.run(["git", "init", "-q", root / "lib"], check=True)
    init(root / "lib/deep", FAR)
    assert {"src/.git", "lib/deep/.git/config"} <= set(files.end())


def test_nor_does_one_of_a_project_that_lies_in_a_repository(root: Path) -> None:
    commit(root)
    files = ProtectedFiles(root / "src", None)
    files.begin()
    init(root / "src", FAR)
    assert files.end() == (".git/config",)


def test_where_the_files_of_a_folder_were_made_another_repository_before_it_stays(
    root: Path, files: ProtectedFiles
) -> None:
    """As a submodule has it, whose files the repository around does not list."""
    commit(root)
    files.begin()
    subprocess.run(["git", "-C", root, "rm", "-qr", "--cached", "src"], check=True)
    init(root / "src", FAR)
    assert files.end() == ()


def test_a_new_repository_has_only_remotes_at_listed_hosts(root: Path, tmp_path: Path) -> None:
    files = ProtectedFiles(root, None, is_listed=lambda host: host == "listed.example")
    init(root / "own", "https://mine.example/own")
    init(root / "moved", "https://mine.example/moved")
    init(root / "copied", "https://mine.example/copied")
    put(root / "own/a.py")
    commit(root / "own")
    files.begin()
    for number, address in enumerate(("https://listed.example/x.git", "git@listed.example:x.git", "../other")):
        init(root / f"kept{number}", address)
    for number, address in enumerate((FAR, "git@mine.example:own", "https://listed.example@mine.example/own")):
        init(root / f"gone{number}", address)
    (root / "moved").rename(root / "elsewhere")
    shutil.copytree(root / "copied", root / "copy")
    subprocess.run(["git", "-C", root / "own", "worktree", "add", "-q", "../tree"], check=True)
    init(root / "apart", FAR, f"--separate-git-dir={root}/data")
    gone = {"gone0/.git/config", "gone1/.git/config", "gone2/.git/config", "copy/.git/config", "apart/.git"}
    assert set(files.end()) == gone | {"data/config"}


def test_the_users_settings_are_read_once_for_many_new_repositories(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[int] = []

    def reading(environment: Mapping[str, str]) -> list[Setting]:
        read.append(1)
        return git_settings_of_user(environment)

    monkeypatch.setattr(harmful_changes, "git_settings_of_user", reading)
    files = ProtectedFiles(root, None, is_listed=lambda host: host == "listed.example")
    files.begin()
    for number in range(3):
        init(root / f"new{number}", f"https://listed.example/{number}")
    assert files.end() == ()
    assert len(read) == 1


def test_an_empty_file_of_settings_is_none(root: Path) -> None:
    files = ProtectedFiles(root, None)
    files.begin()
    subprocess.run(["git", "init", "-q", root / "new"], check=True)
    (root / "new/.git/config").write_text("")
    assert files.end() == ()
    files.begin()
    (root / "new/.git/config").write_text(f'[remote "origin"]\n\turl = {FAR}\n')
    assert files.end() == ("new/.git/config",)


def test_hooks_that_settings_name_in_a_new_work_tree_are_those_of_another(root: Path) -> None:
    files = ProtectedFiles(root, None)
    put(root / ".githooks/pre-commit", "checks")
    put(root / ".githooks/pre-push", "checks more")
    subprocess.run(["git", "-C", root, "config", "core.hooksPath", ".githooks"], check=True)
    commit(root)
    files.begin()
    subprocess.run(["git", "-C", root, "worktree", "add", "-q", "--detach", "tree"], check=True)
    put(root / "tree/.githooks/pre-commit", "evil")
    assert files.end() == ("tree/.githooks/pre-commit",)
    assert (root / "tree/.githooks/pre-push").read_text() == "checks more"


def test_a_repository_made_in_the_place_of_the_users_may_have_its_remote(root: Path) -> None:
    files = ProtectedFiles(root, None)
    init(root / "own", "https://mine.example/own")
    files.begin()
    shutil.rmtree(root / "own")
    init(root / "own", "https://mine.example/own")
    assert files.end() == ()


def with_submodule(root: Path, tmp_path: Path) -> list[str | Path]:
    """Give the project a submodule `mod`, and return how git is called in it."""
    git = ["git", "-C", root, "-c", "user.name=n", "-c", "user.email=e", "-c", "protocol.file.allow=always"]
    source = tmp_path / "source"
    subprocess.run(["git", "init", "-q", source], check=True)
    put(source / "b.py")
    commit(source)
    subprocess.run([*git, "submodule", "--quiet", "add", str(source), "mod"], check=True)
    subprocess.run([*git, "-C", "mod", "remote", "set-url", "origin", "https://mine.example/x"], check=True)
    commit(root)
    return git


@each("how", ["led elsewhere", "made anew", "after it was removed", "a work tree"])
def test_a_submodule_or_work_tree_of_the_user_is_not_led_to_other_remotes(tmp_path: Path, how: str) -> None:
    root = tmp_path.resolve() / how.replace(" ", "-")
    subprocess.run(["git", "init", "-q", root], check=True)
    put(root / "a.py")
    commit(root)
    git = with_submodule(root, tmp_path / f"{how}-source")
    subprocess.run([*git, "worktree", "add", "-q", "--detach", "tree"], check=True)
    files = ProtectedFiles(root, None)
    modules = root / ".git/modules"
    if how == "after it was removed":
        files.begin()
        subprocess.run([*git, "submodule", "--quiet", "deinit", "-f", "mod"], check=True)
        files.end()
    files.begin()
    if how == "made anew":
        (root / "mod/.git").unlink()
        init(root / "mod", FAR)
        gone = "mod/.git/config"
    elif how == "a work tree":
        shutil.copytree(root / ".git", root / "copy/.git")
        subprocess.run(["git", "-C", root / "copy", "remote", "add", "origin", FAR], check=True)
        (root / "tree/.git").write_text("gitdir: ../copy/.git/worktrees/tree\n")
        (root / "copy/.git/worktrees/tree/gitdir").write_text(f"{root}/tree/.git\n")
        gone = "tree/.git"
    else:
        shutil.copytree(modules / "mod", modules / "evil")
        settings = (modules / "evil/config").read_text().replace("https://mine.example/x", FAR)
        if "worktree" not in settings:
            settings += "[core]\n\tworktree = ../../../mod\n"
        (modules / "evil/config").write_text(settings)
        (root / "mod").mkdir(exist_ok=True)
        (root / "mod/.git").write_text("gitdir: ../.git/modules/evil\n")
        gone = "mod/.git"
    assert gone in files.end()
    found = subprocess.run(
        ["git", "-C", root / gone.partition("/")[0], "remote", "-v"], capture_output=True, text=True, check=False
    )
    assert "evil" not in found.stdout


def test_the_data_of_a_submodule_that_is_not_checked_out_yet_has_its_own_remote(tmp_path: Path) -> None:
    """Git would take what is there for that of the submodule: the user's `git submodule update --init`."""
    root, mine = tmp_path.resolve() / "project", "https://mine.example/lib"
    subprocess.run(["git", "init", "-q", root], check=True)
    subprocess.run(["git", "-C", root, "remote", "add", "origin", "https://mine.example/me/project.git"], check=True)
    relative = '[submodule "beside"]\n\tpath = beside\n\turl = ../beside.git\n'
    put(root / ".gitmodules", f'[submodule "group/lib"]\n\tpath = lib\n\turl = {mine}\n{relative}')
    commit(root)
    files = ProtectedFiles(root, None, is_listed=lambda host: host != "evil.example")
    own = {"group/lib": mine, "local": str(root), "listed": "https://other.example/x"}
    own["beside"] = "https://mine.example/me/beside.git"
    evil = {
        "Group/lib": FAR,
        "group/lib": "https://mine.example/evil",
        "x": FAR,
        "beside": "https://mine.example/x.git",
    }
    for name, address in (*own.items(), *evil.items()):
        data = root / ".git/modules" / name
        files.begin()
        subprocess.run(["git", "init", "-q", "--bare", "--template=", data], check=True)
        subprocess.run(["git", "-C", data, "config", "remote.origin.url", address], check=True)
        is_evil = evil.get(name) == address
        assert files.end() == ((f".git/modules/{name}/config",) if is_evil else ()), (name, address)
        shutil.rmtree(root / ".git/modules")
        files = ProtectedFiles(root, None, is_listed=lambda host: host != "evil.example")


def test_a_folder_does_not_become_a_bare_repository_with_another_remote(tmp_path: Path) -> None:
    """The user's `git push` in there sends what it has, also objects of the repository around."""
    root = tmp_path.resolve() / "project"
    subprocess.run(["git", "init", "-q", root], check=True)
    for name in ("docs/a", "more/a"):
        put(root / name)
    commit(root)
    files = ProtectedFiles(root, None, is_listed=lambda host: host == "listed.example")
    files.begin()
    remotes = {"docs": FAR, "more": "https://listed.example/x", "x.git": FAR, "y.git": "https://listed.example/x"}
    for name, address in {**remotes, "z.git": str(root)}.items():
        subprocess.run(["git", "init", "-q", "--bare", root / name], check=True)
        subprocess.run(["git", "-C", root / name, "config", "remote.origin.url", address], check=True)
    assert set(files.end()) == {"docs/config", "more/config", "x.git/config"}


def test_submodules_and_work_trees_may_be_made_anew(root: Path, files: ProtectedFiles, tmp_path: Path) -> None:
    git = with_submodule(root, tmp_path)
    files.begin()
    shutil.rmtree(root / "mod")
    subprocess.run([*git, "submodule", "--quiet", "update", "--init"], check=True)
    subprocess.run([*git, "worktree", "add", "-q", "--detach", "tree"], check=True)
    subprocess.run([*git, "worktree", "move", "tree", "other"], check=True)
    assert files.end() == ()
    subprocess.run([*git, "-C", "mod", "status"], check=True)
    subprocess.run([*git, "-C", "other", "status"], check=True)


def test_the_settings_of_submodules_are_parsed_once_for_all_that_are_made_anew(
    root: Path, files: ProtectedFiles, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    git = with_submodule(root, tmp_path)
    for name in ("second", "third"):
        subprocess.run([*git, "submodule", "--quiet", "add", str(tmp_path / "source"), name], check=True)
    parsed, work_tree_in = list[Path](), harmful_changes.work_tree_in

    def parse(settings: bytes, data: Path) -> Path | None:
        parsed.append(data)
        return work_tree_in(settings, data)

    monkeypatch.setattr(harmful_changes, "work_tree_in", parse)
    for name in ("mod", "second", "third"):
        shutil.rmtree(root / name)
    files.begin()
    subprocess.run([*git, "submodule", "--quiet", "update", "--init"], check=True)
    assert files.end() == ()
    assert sorted(parsed) == [root / ".git/modules" / name for name in ("mod", "second", "third")]
