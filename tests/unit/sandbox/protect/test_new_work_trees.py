"""A work tree that a command adds keeps the files that git commits, and gets no others of protected names."""

import subprocess
from pathlib import Path
from time import process_time

import pytest

from localllm.sandbox.protect.revert import ProtectedFiles

FILES = {
    ".github/workflows/ci.yml": "on: push\n",
    ".vscode/settings.json": "{}\n",
    ".envrc": "dotenv dev.env\n",
    "dev.env": "A=1\n",
    ".gitattributes": "*.key filter=crypt\n",
    "s.key": "secret\n",
    "sub/.gitlab-ci.yml": "x: {}\n",
}


def git(folder: Path, *arguments: str) -> str:
    command = ["git", "-c", "user.name=a", "-c", "user.email=a@b", *arguments]
    return subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    root = tmp_path / "project"
    git(tmp_path, "init", "-q", "-b", "main", str(root))
    git(root, "config", "filter.crypt.clean", "tr a-z n-za-m")
    git(root, "config", "filter.crypt.smudge", "tr a-z n-za-m")
    for name, content in FILES.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(content)
    git(root, "add", ".")
    git(root, "commit", "-qm", "one")
    return root


def undone(root: Path, *commands: str) -> list[str]:
    """What was put back of each command's changes."""
    files = ProtectedFiles(root, None)
    found: list[str] = []
    for command in commands:
        files.begin()
        subprocess.run(command, shell=True, cwd=root, check=True, capture_output=True)
        found += files.end()
    return found


def test_a_new_work_tree_keeps_its_files(root: Path) -> None:
    assert undone(root, "git worktree add -q wt -b x", "git worktree add -q trees/y -b y", "touch wt/a") == []
    assert all((root / "wt" / name).is_file() for name in FILES)
    assert git(root / "wt", "status", "--short") == "?? a\n"
    git(root / "wt", "commit", "-qam", "two", "--allow-empty")
    assert git(root / "wt", "show", "HEAD:s.key") == "frperg\n", "still encrypted"


def test_those_of_another_linked_work_tree_count(root: Path) -> None:
    git(root, "worktree", "add", "-q", "old", "-b", "old")
    (root / "old/.envrc").write_text("export B=1\n")
    git(root / "old", "commit", "-qam", "two")
    assert undone(root, "git worktree add -q wt old -b x") == []


@pytest.mark.parametrize(
    ("command", "back"),
    [
        ("echo evil > wt/.envrc", ["wt/.envrc"]),
        ("echo {} > wt/.vscode/tasks.json", ["wt/.vscode/tasks.json"]),
        ("chmod +x wt/sub/.gitlab-ci.yml", ["wt/sub/.gitlab-ci.yml"]),
        ("cp -r .vscode wt/sub", ["wt/sub/.vscode/settings.json"]),
        ('echo "* -filter" > wt/.gitattributes', ["wt/.gitattributes"]),
    ],
)
def test_what_is_new_there_is_put_back(root: Path, command: str, back: list[str]) -> None:
    assert undone(root, f"git worktree add -q wt -b x; {command}") == back


@pytest.mark.parametrize("command", ["echo A=2 > wt/dev.env", "rm wt/dev.env; ln -s README wt/dev.env"])
def test_what_refers_to_another_content_does_not_stay(root: Path, command: str) -> None:
    assert "wt/.envrc" in undone(root, f"git worktree add -q wt -b x; {command}")


def committed(root: Path, files: dict[str, str]) -> None:
    for name, content in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(content)
    git(root, "add", "-f", ".")
    git(root, "commit", "-qm", "two")


def test_a_new_file_that_a_pattern_matches_is_another_content(root: Path) -> None:
    committed(root, {"mise.toml": '[env]\n_.file = "env/*.env"\n', "env/a.env": "A=1\n"})
    assert undone(root, "git worktree add -q a -b a") == []
    assert "b/mise.toml" in undone(root, "git worktree add -q b -b b; echo LD_PRELOAD=/evil > b/env/z.env")


@pytest.mark.parametrize(
    "files",
    [
        {"mise.toml": '[env]\n_.file = "../shared/dev.env"\n'},
        {".envrc": "dotenv_if_exists ../shared/dev.env\n"},
        {".envrc": "source_env inner\n", "inner/.envrc": "dotenv ../../shared/dev.env\n"},
    ],
)
def test_what_a_file_names_above_its_work_tree_is_what_any_command_writes(root: Path, files: dict[str, str]) -> None:
    committed(root, files)
    lay = "mkdir -p shared; echo LD_PRELOAD=/evil > shared/dev.env"
    assert undone(root, "git worktree add -q a -b a", lay) == ["shared/dev.env"]
    assert f"b/{next(iter(files))}" in undone(root, f"git worktree add -q b -b b; {lay}")


def test_what_a_file_names_above_its_work_tree_may_be_protected_itself(root: Path) -> None:
    committed(root, {"mise.toml": '[env]\n_.file = "../dev.env"\n'})
    assert undone(root, "git worktree add -q a -b a") == [], "which .envrc names"


def test_of_very_many_new_work_trees_only_some_are_judged(root: Path) -> None:
    make = """
for i in $(seq 100 159); do
    d=.git/worktrees/$1$i; mkdir -p $d $1$i; echo "$PWD/$1$i/.git" > $d/gitdir; echo ../.. > $d/commondir
    echo ref: refs/heads/b > $d/HEAD; echo "gitdir: $PWD/$d" > $1$i/.git; cp .envrc dev.env $1$i
done"""
    found = undone(root, f"set a;{make}", f"set b;{make}; cp .envrc .vscode/new")
    assert [sum(path.startswith(start) for path in found) for start in ("a", "b", ".vscode/new")] == [10, 10, 1]


@pytest.mark.parametrize(
    "command",
    [
        "mkdir wt; cp -r .envrc dev.env .vscode wt",
        "git init -q wt; cp -r .envrc dev.env .vscode wt",
        "git init -q own; cp .envrc own; cd own; git add .; git commit -qm x; git worktree add -q ../wt -b x",
        "git worktree add -q wt -b x; rm wt/.git",
        "git worktree add -q .vscode/wt -b x; mv .vscode/wt wt",
    ],
)
def test_it_has_to_be_a_work_tree_of_the_projects_repository(root: Path, command: str) -> None:
    subprocess.run("git config user.name a; git config user.email a@b", shell=True, cwd=root, check=True)
    command = f"export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a; {command}"
    assert "wt/.envrc" in undone(root, command)


@pytest.mark.parametrize("more", ["", "[core]\n\tfsmonitor = evil\n"])
def test_a_new_work_tree_is_as_sparse_as_the_main_one(root: Path, more: str) -> None:
    git(root, "sparse-checkout", "set", "--cone", "src")
    files = ProtectedFiles(root, None)
    files.begin()
    git(root, "worktree", "add", "-q", "--detach", "sparse")
    settings = root / ".git/worktrees/sparse/config.worktree"
    settings.write_text(settings.read_text() + more)
    assert files.end() == ((settings.relative_to(root).as_posix(),) if more else ())
    assert "evil" not in (settings.read_text() if settings.exists() else "")


def test_a_file_that_the_user_removed_from_a_work_tree_does_not_come_back(root: Path) -> None:
    git(root, "worktree", "add", "-q", "wt", "-b", "x")
    (root / "wt/.envrc").unlink()
    assert undone(root, "cp .envrc wt") == ["wt/.envrc"]


@pytest.mark.parametrize("how", ["", "--bare"])
def test_a_clone_of_the_project_keeps_its_files(root: Path, how: str) -> None:
    origin = "origin.git" if how else "."
    git(root, "clone", "-q", *filter(None, (how,)), ".", "origin.git")
    assert undone(root, f"git clone -q {origin} c", "touch c/a") == []
    assert all((root / "c" / name).is_file() for name in FILES)
    assert git(root / "c", "status", "--short") == "?? a\n"


@pytest.mark.parametrize(
    ("command", "back"),
    [
        ("git clone -q ../other c", "c/.vscode/settings.json"),
        ("git clone -q . c; echo evil > c/.envrc", "c/.envrc"),
        ("git clone -q . c; echo {} > c/.vscode/tasks.json", "c/.vscode/tasks.json"),
        ("git clone -q . c; echo A=2 > c/dev.env", "c/.envrc"),
        ("mkdir -p c/.git; cp -r .vscode c", "c/.vscode/settings.json"),
    ],
)
def test_what_is_new_in_a_clone_is_put_back(root: Path, command: str, back: str) -> None:
    git(root.parent, "clone", "-q", "project", "other")
    assert back in undone(root, command)


def test_a_clone_with_its_submodules_keeps_its_settings(root: Path) -> None:
    git(root.parent, "init", "-q", "lib")
    git(root.parent / "lib", "commit", "-q", "--allow-empty", "-m", "one")
    git(root.parent, "clone", "-q", "--bare", "lib", "project/lib.git")
    git(root, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", "./lib.git", "lib")
    git(root, "commit", "-qm", "two")
    command = "git -c protocol.file.allow=always clone -q --recurse-submodules . c"
    assert undone(root, command) == []
    assert git(root / "c", "status", "--short") == ""
    assert git(root / "c", "submodule", "status").startswith(" ")
    files = undone(root, f"git config -f c/.git/config submodule.lib.url https://evil.example/lib; {command}2")
    assert files == ["c/.git/config"]
    settings = '[submodule "lib"]\n\turl = https://evil.example/lib\n'
    assert "d/.git/config" in undone(root, f"git init -q d; printf '{settings}' >> d/.git/config")


@pytest.mark.parametrize("tree", ["old", "wt"])
@pytest.mark.parametrize("command", ["git worktree remove --force {}", "git worktree move {} moved", "rm -rf {}"])
def test_a_work_tree_goes_with_its_protected_files(root: Path, tree: str, command: str) -> None:
    git(root, "config", "extensions.worktreeConfig", "true")
    git(root, "worktree", "add", "-q", "old", "-b", "old")
    git(root / "old", "config", "--worktree", "user.name", "b")
    files = ProtectedFiles(root, None)
    for one in ("git worktree add -q wt -b x", "true", command.format(tree)):
        files.begin()
        pins, held = files.pins()
        assert not [path for path in (*pins, *held) if "/old/" in path or "/wt/" in path], "git could not go on"
        subprocess.run(one, shell=True, cwd=root, check=True, capture_output=True)
        assert files.check() == files.end() == ()
    assert not (root / tree).exists()
    assert not ("moved" in command and git(root / "moved", "status", "--short"))


@pytest.mark.parametrize("place", ["wt2", "trees/wt"])
def test_a_work_tree_that_is_moved_as_a_plain_folder_stays_one(root: Path, place: str) -> None:
    git(root, "worktree", "add", "-q", "wt", "-b", "x")
    (root / "wt/.idea").mkdir()
    (root / "wt/.idea/workspace.xml").write_text("<a/>\n")
    assert undone(root, f"mkdir -p trees; mv wt {place}", f"mv {place} more", f"mv more {place}") == []
    assert (root / place / ".idea/workspace.xml").is_file()
    assert git(root / place, "branch", "--show-current") == "x\n"
    assert git(root / place, "status", "--short") == "?? .idea/\n"


@pytest.mark.parametrize(
    ("command", "back"),
    [
        ("mv wt wt2; echo evil > wt2/.envrc", ["wt2/.envrc"]),
        ("mv wt wt2; echo evil > wt2/.mise.toml", ["wt2/.mise.toml"]),
        ("mv wt wt2; mkdir wt; touch wt/a", ["wt/.envrc", "wt/.git", "wt2/.envrc", "wt2/.git"]),
        ("cp -r wt wt2", ["wt2/.git"]),
    ],
)
def test_nothing_else_comes_with_it(root: Path, command: str, back: list[str]) -> None:
    git(root, "worktree", "add", "-q", "wt", "-b", "x")
    assert {*back} <= {*undone(root, command)}


@pytest.mark.parametrize("command", ["rm wt/.envrc", "rm wt/.git; rm -r wt/.vscode", "rm -rf wt; mkdir wt; touch wt/a"])
def test_what_a_work_tree_loses_comes_back_while_it_is_there(root: Path, command: str) -> None:
    git(root, "worktree", "add", "-q", "wt", "-b", "x")
    assert {"wt/.envrc", "wt/.vscode/settings.json"} & {*undone(root, command)}


@pytest.mark.parametrize("gone", [[".envrc"], [".git"], [".git", ".vscode/settings.json"]])
def test_what_a_work_tree_loses_comes_back_while_the_command_runs(
    root: Path, monkeypatch: pytest.MonkeyPatch, gone: list[str]
) -> None:
    git(root, "worktree", "add", "-q", "wt", "-b", "x")
    files = ProtectedFiles(root, None)
    files.begin()
    for name in gone:
        (root / "wt" / name).unlink()
    assert files.check() == (), "git may be removing the tree"
    monkeypatch.setattr("localllm.sandbox.protect.repositories.linked_trees._PATIENCE", 0.0)
    assert files.check() == tuple(f"wt/{name}" for name in gone)
    assert all((root / "wt" / name).is_file() for name in gone)
    assert files.end() == ()


def test_what_a_work_tree_loses_comes_back_where_commands_are_stopped(root: Path) -> None:
    git(root, "worktree", "add", "-q", "wt", "-b", "x")
    files = ProtectedFiles(root, None)
    files.begin()
    (root / "wt/.envrc").unlink()
    assert files.check_stopped() == ("wt/.envrc",)
    files.end()


def test_a_submodule_goes_with_its_protected_files(root: Path) -> None:
    git(root.parent, "clone", "-q", "project", "lib")
    git(root, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", "../lib", "lib")
    git(root, "commit", "-qm", "two")
    back = undone(root, "git submodule --quiet deinit -f lib")
    assert not [path for path in back if path.startswith("lib/")]
    assert not [*(root / "lib").iterdir()]


def test_submodules_of_new_work_trees_and_clones_keep_their_files(root: Path) -> None:
    git(root.parent, "clone", "-q", "--bare", "project", "project/lib.git")
    git(root, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", f"{root}/lib.git", "lib")
    git(root, "commit", "-qm", "two")
    update = "git -c protocol.file.allow=always submodule update --init -q"
    for made, tree in (("git worktree add -q wt -b x", "wt"), ("git clone -q . wt2", "wt2")):
        assert undone(root, f"{made}; cd {tree}; {update}") == []
        assert git(root / tree / "lib", "status", "--short") == ""
    assert "c/lib/.envrc" in undone(root, f"git clone -q . c; cd c; {update}; echo evil > lib/.envrc")
    assert "lib2/.envrc" in undone(root, "git clone -q lib.git lib2; echo evil > lib2/.envrc")


def test_what_lies_beside_the_project_is_not_looked_through_for_each_file(root: Path) -> None:
    for number in range(60):
        (root / f"part{number}").mkdir()
        (root / f"part{number}/.envrc").write_text("")
    git(root, "add", ".")
    git(root, "commit", "-qm", "parts")

    def seconds(tree: str) -> float:
        files = ProtectedFiles(root, None)
        files.begin()
        git(root, "worktree", "add", "-q", tree)
        began = process_time()
        assert files.end() == ()
        return process_time() - began

    alone = max(seconds("a"), seconds("b"))
    for number in range(5_000):
        (root.parent / f"file{number}").touch()
    assert min(seconds("c"), seconds("d")) < 4 * alone
