"""What may stay of what a command leaves in the data of a repository."""

import os
import subprocess
from pathlib import Path

import pytest

from localllm.sandbox.protect.revert import ProtectedFiles

AS_ANN = {f"GIT_{who}_{what}": "ann@example.org" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
ENVIRONMENT = {**os.environ, **AS_ANN, "GIT_EDITOR": "true", "GIT_ALLOW_PROTOCOL": "file"}


def sh(script: str, folder: Path) -> None:
    subprocess.run(["sh", "-ec", script], cwd=folder, env=ENVIRONMENT, check=True, capture_output=True)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = (tmp_path / "project").resolve()
    root.mkdir()
    sh("git init -q -b main; echo 1 > f; git add f; git commit -qm base", root)
    return root


@pytest.fixture
def files(root: Path, tmp_path: Path) -> ProtectedFiles:
    return ProtectedFiles(root, tmp_path / "quarantine")


def after(files: ProtectedFiles, root: Path, script: str) -> tuple[str, ...]:
    """What is put back after a command."""
    files.begin()
    sh(script, root)
    return files.end()


WORK = (
    "git checkout -q -b topic; echo t > f; git commit -qam t; git checkout -q main; git merge -q --no-ff -m m topic",
    "git checkout -q -b other HEAD~1; echo x > f; git commit -qam x; ! git rebase main",
    "git checkout --theirs f; git add f; git rebase --continue",
    "echo y >> f; git stash -q; git stash pop -q; git commit -qam y; git checkout -q main",
    "git checkout -q -b z HEAD~1; echo z > f; git commit -qam z; ! git cherry-pick main main~1; git status",
    "git cherry-pick --abort; git checkout -q main; git gc -q; git repack -qad; git pack-refs --all",
    "git multi-pack-index write; git commit-graph write --reachable",
    "git commit-graph write --reachable --split; git update-server-info; git prune; git maintenance run",
    "git tag v1; git tag -a v2 -m x; git notes add -m n; git replace --graft HEAD; git replace -d HEAD",
    "git bisect start HEAD HEAD~1; git bisect reset; git update-index --split-index --untracked-cache",
    "git init -q --bare hub.git; git push -q ./hub.git main:main; git fetch -q ./hub.git main",
    "git clone -q -b main hub.git copy; cd copy; echo 1 >> f; git commit -qam 1; git push -q",
    "git init -q nested; cd nested; git fetch -q ../hub.git main; git clone -q --shared . ../shared",
    "git -c rerere.enabled=true merge other || git reset -q --hard; git -c rerere.enabled=true rerere",
    "git worktree add -q trees/a -b a; cd trees/a; echo a > f; git commit -qam a",
    "cd trees/a; echo b > f; git commit -qam b; git worktree move . ../b; cd ../b; git status",
    "git worktree remove trees/b; git worktree prune; test ! -e .git/worktrees",
    "git branch -m main trunk; git branch -m trunk main; git checkout -q --detach; git checkout -q main",
    "for one in ORIG_HEAD SQUASH_MSG MERGE_MODE TAG_EDITMSG NOTES_EDITMSG EDIT_DESCRIPTION; do touch .git/$one; done",
    "git branch RELEASE; git checkout -q RELEASE; git commit -q --allow-empty -m r; git checkout -q main",
    "git fast-export --all > all; git fast-import --quiet --force < all; git reflog expire --expire=now --all",
)


def test_what_git_itself_leaves_stays(root: Path, files: ProtectedFiles) -> None:
    assert {script: found for script in WORK if (found := after(files, root, script))} == {}


@pytest.mark.parametrize(
    ("script", "gone"),
    [
        ("mkdir .git/safe", ".git/safe"),
        ("mkdir -p .git/remotes; echo URL: x > .git/remotes/origin", ".git/remotes/origin"),
        ("echo x > .git/unknown", ".git/unknown"),
        ("echo x > .git/info/grafts", ".git/info/grafts"),
        ("mkdir .git/a; touch .git/a/b .git/a/c", ".git/a"),
        ("git branch RELEASE; git rev-parse HEAD > .git/RELEASE", ".git/RELEASE"),
        ("git worktree add -q x; touch .git/worktrees/x/V", ".git/worktrees/x/V"),
        ("ln -s heads .git/refs/x", ".git/refs/x"),
        ("ln -s HEAD .git/ORIG_HEAD", ".git/ORIG_HEAD"),
        ("mkdir -p .git/rm2; ln -s rm2 .git/rebase-merge; rmdir .git/rm2", ".git/rebase-merge"),
        ("mkdir -p .git/lfs/objects/aa/bb; ln -s /etc/hostname .git/lfs/objects/aa/bb/cc", ".git/lfs/objects/aa/bb/cc"),
        ("mkfifo .git/FETCH_HEAD", ".git/FETCH_HEAD"),
        ("mkdir c .hg; ln -s ../c .hg/cache", ".hg/cache"),
        ("mkdir c; ln -s c .cargo", ".cargo"),
        ("mkdir c .jj; ln -s ../c .jj/repo", ".jj/repo"),
    ],
)
def test_everything_else_goes(root: Path, files: ProtectedFiles, script: str, gone: str) -> None:
    assert after(files, root, script) == (gone,)
    assert not os.path.lexists(root / gone)


def test_what_others_keep_there_stays_as_it_was(root: Path, files: ProtectedFiles) -> None:
    (root / ".git/gui").mkdir()
    (root / ".git/gui/settings").write_text("theirs\n")
    assert after(files, root, "git commit -q --allow-empty -m x") == ()
    assert after(files, root, "echo evil > .git/gui/settings; echo evil > .git/gui/more") == (
        ".git/gui/more",
        ".git/gui/settings",
    )
    assert (root / ".git/gui/settings").read_text() == "theirs\n"
    assert after(files, root, "rm -r .git/gui") == ()


def test_a_work_tree_in_a_bare_repository_is_nothing_strange(tmp_path: Path) -> None:
    root = tmp_path.resolve() / "bare"
    root.mkdir()
    sh("git init -q --bare -b main; tree=$(git mktree < /dev/null); git branch x $(git commit-tree -m m $tree)", root)
    files = ProtectedFiles(root, None)
    assert after(files, root, "mkdir main; echo a > main/a; ln -s a main/b; echo more > README") == ()
    assert after(files, root, "ln -s ../main refs/y") == ("refs/y",)


def test_a_new_file_that_names_a_folder_as_its_data_costs_the_folder_nothing(root: Path, files: ProtectedFiles) -> None:
    (root / "src").mkdir()
    (root / "src/a.py").touch()
    assert after(files, root, "mkdir sub; echo 'gitdir: ../src' > sub/.git; touch src/a.py") == ("sub/.git",)
    assert (root / "src/a.py").exists()


@pytest.mark.parametrize("script", ["rm .git/HEAD", "echo garbage > .git/HEAD", "rm .git/HEAD; mkdir .git/HEAD"])
def test_a_repository_that_was_one_is_one(root: Path, files: ProtectedFiles, script: str) -> None:
    assert after(files, root, script) == (".git/HEAD",)
    sh("git fsck; git log main", root)


@pytest.mark.parametrize(
    "script", ["rm -r .git", "mv .git old; touch .git", "mv .git old; ln -s old .git", "mv .git/refs x"]
)
def test_git_never_goes_on_to_the_repository_around(root: Path, files: ProtectedFiles, script: str) -> None:
    sh("git init -q ..", root)
    assert ".git/HEAD" in after(files, root, script)
    found = subprocess.run(["git", "rev-parse", "--show-toplevel"], cwd=root, capture_output=True, check=True)
    assert os.fsdecode(found.stdout).strip() == str(root)


@pytest.fixture
def private(tmp_path: Path) -> Path:
    sh("git init -q private; cd private; git commit -q --allow-empty -m secret", tmp_path)
    return tmp_path.resolve() / "private"


@pytest.mark.parametrize(
    "script",
    [
        "git init -q n; cd n; git remote add origin {private}",
        "git init -q n; cd n; git remote add origin file://{private}",
        "git init -q n; cd n; ln -s {private} p; git remote add origin ./p",
        "git init -q n; cd n; echo gitdir: ../.git > p; git remote add origin ./p",
        "git worktree add -q a; echo {private}/.git > .git/worktrees/a/commondir",
        "git worktree add -q a; echo gitdir: {private}/.git > a/.git",
        "git clone -q --shared {private} n",
        "git clone -q --shared . n; mkdir -p s/info; echo {private}/.git/objects > s/info/alternates;"
        "echo ../../../s > n/.git/objects/info/alternates",
        "git clone -q -s . n; mkdir -p s/o; echo ../../../s/o > n/.git/objects/info/alternates",
        "git clone -q -s . n; ln -s .git l; echo $PWD/l/objects > n/.git/objects/info/alternates",
        "git init -q node_modules/s; echo $PWD/node_modules/s/.git/objects > .git/objects/info/alternates",
        "git worktree add -q a; ln -s .git l; echo gitdir: $PWD/l/worktrees/a > a/.git",
        "git worktree add -q a; ln -s .git l; echo ../../../l > .git/worktrees/a/commondir",
    ],
)
def test_nothing_that_leads_out_stays(root: Path, files: ProtectedFiles, private: Path, script: str) -> None:
    assert after(files, root, script.format(private=private))


SHARED = "git init -q --bare s; git clone -q -s . n; echo ../../../s/objects > n/.git/objects/info/alternates"
OTHER = "mv n m; git clone -q --bare {private} o; git init -q n; cd n; git remote add origin ../o"


@pytest.mark.parametrize(
    ("first", "then"),
    [
        ("git init -q n; cd n; git remote add origin ../hub", "ln -s {private} hub"),
        ("git init -q n; cd n; git remote add origin ../hub", "echo gitdir: .git/x > hub"),
        (SHARED, "mv s t; ln -s . s"),
        (SHARED, "rm s/HEAD; mkdir -p s/objects/info; echo {private}/.git/objects > s/objects/info/alternates"),
        (SHARED, "rm s/HEAD; ln -s {private}/.git/objects/pack s/objects/00"),
        ("git worktree add -q d/a", "mv d e; ln -s {private} d"),
        (
            "git init -q n; cd n; git commit -q --allow-empty -m n; git worktree add -q ../a",
            "mv n m; ln -s {private} n",
        ),
        ("git clone -q . n", OTHER),
    ],
)
def test_nor_what_does_later(root: Path, files: ProtectedFiles, private: Path, first: str, then: str) -> None:
    assert after(files, root, first) == ()
    assert after(files, root, then.format(private=private))


def test_a_repository_in_the_project_may_be_deleted(root: Path, files: ProtectedFiles) -> None:
    sh("git init -q nested", root)
    assert after(files, root, "rm -r nested/.git") == ()
    assert not (root / "nested/.git").exists()
