"""What a command destroys in a git repository comes back with /undo; git's own work is not taken for destruction."""

import os
import re
import shutil
import signal
import subprocess
import time
from contextlib import suppress
from pathlib import Path

import pytest

from localllm.base.errors import ToolExecutionError
from localllm.safety.paths import ProjectRoot
from localllm.snapshots import blob_store, recorder, repository_backup
from localllm.snapshots.blob_store import Programs
from localllm.snapshots.change_log import Change
from localllm.snapshots.recorder import CommandSnapshots
from localllm.snapshots.store import Snapshots
from tests.support.agents import Answering, make_tools
from tests.support.killed_writer import die_at
from tests.support.sandbox_world import until
from tests.support.tools import put

pytestmark = pytest.mark.anyio

IDENTITY = ("-c", "user.name=a", "-c", "user.email=a@b", "-c", "protocol.file.allow=always")


def git(folder: Path, *words: str) -> str:
    command = ["git", "-C", str(folder), *IDENTITY, *words]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def shell(folder: Path, script: str) -> None:
    environment = os.environ | {
        "GIT_AUTHOR_NAME": "a",
        "GIT_AUTHOR_EMAIL": "a@b",
        "GIT_COMMITTER_NAME": "a",
        "GIT_COMMITTER_EMAIL": "a@b",
    }
    subprocess.run(["bash", "-c", script], cwd=folder, check=True, capture_output=True, env=environment)


def make_repository(folder: Path, *, packed: bool) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    git(folder, "init", "-q", "-b", "main")
    for number in range(6):
        put(folder / "src" / f"f{number}.py", f"x = {number}\n" * 20)
        git(folder, "add", ".")
        git(folder, "commit", "-qm", f"commit {number}")
    git(folder, "branch", "other", "HEAD~2")
    git(folder, "tag", "-a", "v1", "-m", "one", "HEAD~1")
    if packed:
        git(folder, "gc", "-q")
    put(folder / "src" / "later.py", "later\n")
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "later")
    put(folder / "src" / "staged.py", "staged\n")
    git(folder, "add", ".")


def facts(folder: Path) -> tuple[str, ...]:
    """What git says of a repository; it must be sound."""
    git(folder, "fsck", "--strict", "--full")
    return (
        git(folder, "log", "--all", "--format=%H %s"),
        git(folder, "for-each-ref"),
        git(folder, "status", "--porcelain"),
        git(folder, "reflog"),
        git(folder, "symbolic-ref", "HEAD"),
    )


@pytest.fixture(params=[False, True], ids=["loose", "packed"])
def root(tmp_path: Path, request: pytest.FixtureRequest) -> ProjectRoot:
    make_repository(tmp_path / "project", packed=request.param)
    return ProjectRoot(tmp_path / "project")


@pytest.fixture
def store(tmp_path: Path) -> Snapshots:
    return Snapshots(tmp_path / "state" / "snapshots")


@pytest.fixture
def commands(store: Snapshots, root: ProjectRoot) -> CommandSnapshots:
    """Where the system tells what is touched, and (beside loose objects) where it does not."""
    return CommandSnapshots(store, watch=any(root.path.glob(".git/objects/pack/*.pack")))


async def ran(commands: CommandSnapshots, root: ProjectRoot, script: str) -> list[Change]:
    async with commands.around(root, tool="run_command") as changes:
        shell(root.path, script)
    return changes


def undo(store: Snapshots, root: ProjectRoot) -> None:
    assert not [undone for undone in store.undo(root) if undone.error]


DESTRUCTION = {
    "gone": "rm -rf .git",
    "moved away": "mv .git x; rm -rf x",
    "moved aside": "mkdir .tox; mv .git .tox/x",
    "emptied": "find .git -type f -exec chmod u+w {} + -exec truncate -s0 {} +",
    "objects": "rm -rf .git/objects",
    "all objects' files": "find .git/objects -type f -delete",
    "half of the objects": "rm -rf .git/objects/[0-7]?",
    "emptied objects": "find .git/objects -type f -exec chmod u+w {} + -exec truncate -s0 {} +",
    "overwritten objects": "for f in $(find .git/objects -type f); do chmod u+w $f;"
    " printf x | dd of=$f bs=1 seek=9 conv=notrunc; done",
    "refs": "rm -rf .git/refs .git/packed-refs",
    "HEAD": "rm .git/HEAD",
    "an odd HEAD": "echo nonsense > .git/HEAD",
    "an empty HEAD": ": > .git/HEAD",
    "the index": "rm .git/index",
    "a cut index": "truncate -s 100 .git/index",
    "a branch that names nothing": "echo 1234567890123456789012345678901234567890 > .git/refs/heads/main",
    "branches": "rm -rf .git/refs/heads/* .git/packed-refs",
    "everything but the folder": "find .git -mindepth 1 -delete",
    "a file in its place": "rm -rf .git; echo x > .git",
    "a link in its place": "rm -rf .git; mkdir .tox; git init -q .tox/r; ln -s .tox/r/.git .git",
    "a link to the objects": "mkdir .tox; mv .git/objects .tox/o; ln -s ../.tox/o .git/objects; rm -rf .tox/o/*",
    "a new one": "rm -rf .git; git init -q",
    "packed and destroyed": "git gc -q --prune=now; rm -rf .git/objects/pack/*.pack",
    "stolen history": "git reset -q --hard HEAD~3; git reflog expire --expire=now --all; git gc -q --prune=now",
}


@pytest.mark.parametrize("script", DESTRUCTION.values(), ids=DESTRUCTION.keys())
async def test_what_is_destroyed_comes_back(
    commands: CommandSnapshots, store: Snapshots, root: ProjectRoot, script: str
) -> None:
    before = facts(root.path)
    history = git(root.path, "rev-list", "--objects", "--all")
    changes = await ran(commands, root, script)
    assert ".git/" in [change.path for change in changes]
    undo(store, root)
    shutil.rmtree(root.path / ".tox", ignore_errors=True)
    if script == DESTRUCTION["stolen history"]:  # the branch was moved by git: it stays, but all it named is there
        assert git(root.path, "rev-list", "--objects", *before[0].splitlines()[0].split()[:1])
        return
    after = facts(root.path)
    assert after[:3] == before[:3]
    assert after[4] == before[4]
    assert git(root.path, "rev-list", "--objects", "--all") == history
    assert commands.keep_repositories(root)


ORDINARY = {
    "gc": "git gc -q",
    "gc of all": "git gc -q --aggressive --prune=now",
    "repack": "git repack -adq",
    "prune-packed": "git repack -q; git prune-packed",
    "pack-refs": "git pack-refs --all",
    "commit": "echo y > src/n.py; git add .; git commit -qm new",
    "amend": "git commit -q --amend -m amended",
    "checkout": "git stash -q; git checkout -q other; git checkout -q main; git stash pop -q --index",
    "detached": "git stash -q; git checkout -q HEAD~1",
    "rebase": "git commit -qm s; git checkout -q other; echo o > o; git add o; git commit -qm o; git rebase -q main",
    "merge": "git commit -qm s; git checkout -q other; echo o > o; git add o; git commit -qm o; git merge -q main -m m",
    "branch": "git branch third; git update-ref refs/heads/fourth HEAD",
    "reset": "git reset -q --hard HEAD~3",
    "cherry-pick": "git commit -qm s; git checkout -q other; git cherry-pick main",
    "packed, then without the loose": "git repack -q; rm -rf .git/objects/[0-9a-f]?",
    "status": "git status; git log; git diff",
    "unreachable": "echo z | git hash-object -w --stdin; git prune --expire=now",
    "a second commit and gc": "echo y > src/n.py; git add .; git commit -qm new; git gc -q; git fsck",
    "touched": "find .git -type f -exec touch {} +",
}


@pytest.mark.parametrize("script", ORDINARY.values(), ids=ORDINARY.keys())
async def test_the_work_of_git_is_no_destruction(
    commands: CommandSnapshots, store: Snapshots, root: ProjectRoot, script: str
) -> None:
    assert ".git/" not in [change.path for change in await ran(commands, root, script)]
    log = git(root.path, "log", "--all", "--format=%H")
    git(root.path, "fsck", "--full")
    with suppress(ToolExecutionError):  # undo_nothing
        undo(store, root)
    assert git(root.path, "log", "--all", "--format=%H") == log
    git(root.path, "fsck", "--full")


async def test_what_nothing_leads_to_may_be_pruned(commands: CommandSnapshots, root: ProjectRoot) -> None:
    subprocess.run(
        ["git", "-C", root.path, "hash-object", "-w", "--stdin"], input=b"x", check=True, capture_output=True
    )
    assert await ran(commands, root, "git gc -q --prune=now") == []


async def test_a_deleted_branch_comes_back(commands: CommandSnapshots, store: Snapshots, root: ProjectRoot) -> None:
    before = facts(root.path)
    await ran(commands, root, "git branch -D other; git tag -d v1")
    undo(store, root)
    assert facts(root.path) == before


async def test_a_commit_made_before_the_destruction_in_the_same_command_is_no_reason_to_fail(
    commands: CommandSnapshots, store: Snapshots, root: ProjectRoot
) -> None:
    before = git(root.path, "log", "--all", "--format=%H")
    await ran(commands, root, "git commit -qm more; rm -rf .git")
    undo(store, root)
    assert git(root.path, "log", "--all", "--format=%H") == before
    git(root.path, "fsck", "--full")


async def test_commands_after_it_do_not_spoil_the_copy(
    commands: CommandSnapshots, store: Snapshots, root: ProjectRoot
) -> None:
    before = facts(root.path)
    await ran(commands, root, "rm -rf .git")
    await ran(commands, root, "git init -q -b main; git add .; git commit -qm again; echo x > y")
    store.undo(root)
    shell(root.path, "rm -rf .git")  # by the user, who wants none of it
    undo(store, root)
    assert facts(root.path)[:2] == before[:2]


async def test_what_the_user_repaired_is_left(commands: CommandSnapshots, store: Snapshots, root: ProjectRoot) -> None:
    await ran(commands, root, "rm .git/HEAD .git/index")
    (root.path / ".git" / "HEAD").write_text("ref: refs/heads/other\n")
    undo(store, root)
    assert git(root.path, "symbolic-ref", "HEAD") == "refs/heads/other\n"
    git(root.path, "fsck", "--full")


async def test_nothing_is_written_through_a_link_put_in_its_place(
    commands: CommandSnapshots, store: Snapshots, root: ProjectRoot, tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    make_repository(outside, packed=False)
    before, theirs = facts(root.path), facts(outside)
    await ran(
        commands,
        root,
        f"rm -rf .git/objects .git/refs; ln -s {outside}/.git/objects .git/objects;"
        f" ln -s {outside}/.git/refs .git/refs",
    )
    undo(store, root)
    assert facts(root.path) == before
    assert facts(outside) == theirs
    shutil.rmtree(outside)
    assert facts(root.path) == before


async def test_a_link_to_another_repository_is_not_copied(store: Snapshots, root: ProjectRoot, tmp_path: Path) -> None:
    outside = put(tmp_path / "secret", "the user's secret")
    (root.path / ".git" / "COMMIT_EDITMSG").unlink()
    (root.path / ".git" / "COMMIT_EDITMSG").symlink_to(outside)
    CommandSnapshots(store).keep(root)
    kept = [file for file in store.repository_folder.rglob("*") if file.is_file()]
    assert not [file for file in kept if b"the user's secret" in file.read_bytes()]


async def test_a_rewind_brings_it_back_too(commands: CommandSnapshots, store: Snapshots, root: ProjectRoot) -> None:
    before, position = facts(root.path), store.made.position
    await ran(commands, root, "rm -rf .git; echo x > src/f1.py")
    assert not [undone for undone in store.rewind(root, position) if undone.error]
    assert facts(root.path)[:2] == before[:2]


async def test_a_nested_repository(commands: CommandSnapshots, store: Snapshots, root: ProjectRoot) -> None:
    make_repository(root.path / "lib" / "inner", packed=True)
    before = facts(root.path / "lib" / "inner")
    changes = await ran(commands, root, "rm -rf lib")
    assert "lib/inner/.git/" in [change.path for change in changes]
    undo(store, root)
    assert facts(root.path / "lib" / "inner") == before


async def test_a_submodule(commands: CommandSnapshots, store: Snapshots, root: ProjectRoot, tmp_path: Path) -> None:
    make_repository(tmp_path / "module", packed=True)
    git(tmp_path / "module", "commit", "-qm", "staged")
    git(root.path, "submodule", "add", "-q", str(tmp_path / "module"), "mod")
    git(root.path, "commit", "-qm", "with it")
    before = facts(root.path), facts(root.path / "mod")
    await ran(commands, root, "rm -rf .git/modules/mod/objects")
    undo(store, root)
    assert (facts(root.path), facts(root.path / "mod")) == before
    await ran(commands, root, "rm -rf .git/modules")
    undo(store, root)
    assert (facts(root.path), facts(root.path / "mod")) == before
    assert await ran(commands, root, "git -C mod gc -q; git -C mod status") == []


async def test_a_linked_worktree_has_nothing_to_keep(
    commands: CommandSnapshots, store: Snapshots, root: ProjectRoot, tmp_path: Path
) -> None:
    git(root.path, "worktree", "add", "-q", str(tmp_path / "linked"), "other")
    linked = ProjectRoot(tmp_path / "linked")
    assert await ran(commands, linked, "git status") == []
    assert not store.repository_folder.exists() or not list(store.repository_folder.glob("objects/*/*"))


async def test_the_data_of_a_linked_worktree_comes_back(
    commands: CommandSnapshots, store: Snapshots, root: ProjectRoot, tmp_path: Path
) -> None:
    git(root.path, "worktree", "add", "-q", str(tmp_path / "linked"), "other")
    before = facts(tmp_path / "linked")
    await ran(commands, root, "rm -rf .git/worktrees")
    undo(store, root)
    assert facts(tmp_path / "linked") == before


async def test_another_program_finds_what_a_killed_one_let_happen(store: Snapshots, root: ProjectRoot) -> None:
    before = facts(root.path)
    other = Snapshots(store.index_file.parent)
    commands = CommandSnapshots(other)
    commands.keep(root)
    other.begin({}, tool="run_command")
    shell(root.path, "rm -rf .git")
    del other, commands  # its lock goes with it, as at the end of a process
    assert ".git/" in [change.path for change in CommandSnapshots(store).recover(root)]
    undo(store, root)
    assert facts(root.path) == before


@pytest.mark.parametrize("step", range(1, 60, 6))
async def test_a_kill_while_it_is_put_back_leaves_it_to_be_done_again(
    commands: CommandSnapshots, store: Snapshots, root: ProjectRoot, step: int
) -> None:
    before = facts(root.path)
    await ran(commands, root, "rm -rf .git")
    child = os.fork()
    if not child:
        die_at(step)
        with suppress(BaseException):
            Snapshots(store.index_file.parent).undo(root)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
    CommandSnapshots(store).recover(root)
    undo(store, root)
    assert facts(root.path) == before
    assert not list(root.path.rglob("*.tmp"))


@pytest.mark.parametrize("step", range(1, 60, 6))
async def test_a_kill_while_it_is_copied_leaves_a_usable_copy(store: Snapshots, root: ProjectRoot, step: int) -> None:
    before = facts(root.path)
    child = os.fork()
    if not child:
        die_at(step)
        with suppress(BaseException):
            CommandSnapshots(Snapshots(store.index_file.parent)).keep(root)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
    await ran(CommandSnapshots(store), root, "rm -rf .git")
    undo(store, root)
    assert facts(root.path) == before


async def test_more_than_is_kept_is_told(store: Snapshots, root: ProjectRoot, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(repository_backup, "MOST_BYTES", 1_000)
    commands = CommandSnapshots(store)
    assert not commands.keep_repositories(root)
    assert "repository" in commands.take_note()
    assert not commands.take_note()


async def test_what_could_not_be_copied_once_is_copied_before_the_next_command(
    commands: CommandSnapshots, store: Snapshots, root: ProjectRoot
) -> None:
    before = facts(root.path)
    in_the_way = put(store.repository_folder / "objects", "")
    with pytest.raises(ToolExecutionError, match="Make room"):
        await ran(commands, root, "true")
    in_the_way.unlink()
    assert await ran(commands, root, "rm -rf .git")
    undo(store, root)
    assert facts(root.path) == before


async def test_what_no_change_needs_is_pruned(store: Snapshots, root: ProjectRoot) -> None:
    commands = CommandSnapshots(store)
    await ran(commands, root, "rm -rf .git")
    commands.keep(root)
    for file in store.repository_folder.rglob("*"):
        os.utime(file, (1, 1))
    store.prune()
    assert len(list(store.repository_folder.glob("objects/*/*"))) > 10
    store.prune(max_age=-1, always=0)
    assert not list(store.repository_folder.glob("objects/*/*"))


async def test_copies_of_a_project_that_is_gone_are_removed(tmp_path: Path, root: ProjectRoot) -> None:
    gone = tmp_path / "gone"
    make_repository(gone, packed=False)
    CommandSnapshots(Snapshots(tmp_path / "state" / "one")).keep(ProjectRoot(gone))
    shutil.rmtree(gone)
    place = tmp_path / "state" / "one" / "repositories" / "place"
    os.utime(place, (1, time.time() - 2 * 24 * 3600))
    CommandSnapshots(Snapshots(tmp_path / "state" / "two")).keep(root)
    assert not place.parent.exists()
    assert (tmp_path / "state" / "two" / "repositories" / "place").exists()


async def test_copies_that_can_still_be_put_back_stay_however_long_nobody_comes(
    tmp_path: Path, root: ProjectRoot
) -> None:
    for name in ("lost", "whole"):
        make_repository(tmp_path / name, packed=False)
        command = "rm .git/HEAD" if name == "lost" else "true"
        await ran(CommandSnapshots(Snapshots(tmp_path / "state" / name)), ProjectRoot(tmp_path / name), command)
        programs = Programs(tmp_path / "state" / name / "programs")
        await until(lambda programs=programs: not programs.living())  # the thread it ran in may hold it a moment longer
        os.utime(tmp_path / "state" / name / "repositories" / "place", (1, 1))
    CommandSnapshots(Snapshots(tmp_path / "state" / "two")).keep(root)
    left = {place.parent.parent.name for place in (tmp_path / "state").glob("*/repositories/place")}
    assert left == {"lost", "two"}


async def test_through_the_sandbox(root: ProjectRoot) -> None:
    before = facts(root.path)
    tools = make_tools(root.path)
    await tools.execute_tool("run_command", command="rm -rf .git")
    tools.changes.undo()
    assert facts(root.path) == before


@pytest.mark.parametrize(
    ("command", "later", "named"),
    [
        ("git mv a.txt b.txt", "", "a.txt, b.txt"),
        ("echo x > a.txt; git add -A", "", "a.txt"),
        ("echo x > a.txt; git add -A", "git restore --staged .", ""),
        ("echo x > a.txt; git add -A", "git commit -qm x", ""),
        ("echo x > a.txt; git -c user.name=a -c user.email=a@b commit -qam x", "", ""),
        ("echo x >> mine.txt; git status", "", ""),
    ],
)
async def test_an_undo_says_what_is_left_in_gits_index(tmp_path: Path, command: str, later: str, named: str) -> None:
    folder = put(tmp_path / "project" / "a.txt", "one\n").parent
    git(folder, "init", "-q")
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "one")
    put(folder / "mine.txt", "mine\n")
    git(folder, "add", "mine.txt")
    tools = make_tools(folder)
    await tools.execute_tool("run_command", command=command)
    shell(folder, later)
    said = tools.changes.undo()
    notes = [line for line in said if "git reset -- FILE" in line]
    assert notes == said[-1:] if named else notes == []
    assert f"({named})" in said[-1] or not named
    assert not (folder / "b.txt").exists()


@pytest.mark.parametrize("has_commit", [True, False])
async def test_what_is_left_in_gits_index_is_taken_out_as_the_undo_says(tmp_path: Path, has_commit: bool) -> None:
    folder = put(tmp_path / "project" / "a.txt", "one\n").parent
    git(folder, "init", "-q")
    if has_commit:
        git(folder, "add", ".")
        git(folder, "commit", "-qm", "one")
    tools = make_tools(folder)
    await tools.execute_tool("run_command", command="echo x > a.txt; echo y > b.txt; git add -A")
    before = git(folder, "ls-files")
    (*_, note) = tools.changes.undo()
    command = re.search("“git (.*) FILE”", note)
    assert command
    for name in before.split():
        git(folder, *command[1].split(), name)
    assert git(folder, "ls-files") == ("a.txt\n" if has_commit else "")
    assert git(folder, "status", "--short") == ("" if has_commit else "?? a.txt\n")


@pytest.mark.parametrize("more", [blob_store.SECONDS_FOR_FEW, 0.0])
async def test_a_small_repository_is_waited_for_on_a_busy_machine(
    root: ProjectRoot, commands: CommandSnapshots, monkeypatch: pytest.MonkeyPatch, more: float
) -> None:
    monkeypatch.setattr(recorder, "MOST_SECONDS", 0.0)
    monkeypatch.setattr(blob_store, "SECONDS_FOR_FEW", more)
    assert commands.keep_repositories(root) is bool(more)


@pytest.mark.parametrize(("limit", "is_told"), [(1_000, True), (repository_backup.MOST_BYTES, False)])
async def test_the_question_says_when_a_repository_is_not_kept(
    root: ProjectRoot, monkeypatch: pytest.MonkeyPatch, limit: int, is_told: bool
) -> None:
    monkeypatch.setattr(repository_backup, "MOST_BYTES", limit)
    person = Answering(approve=False)
    await make_tools(root.path, confirmer=person).execute_tool("run_command", command="rm -rf .git")
    assert ("git repository is not kept" in person.asked[0].summary) is is_told


async def test_what_another_command_has_laid_for_a_moment_does_not_come_back(
    commands: CommandSnapshots, store: Snapshots, root: ProjectRoot
) -> None:
    data = root.path / ".git"
    last, before = git(root.path, "rev-parse", "HEAD", "HEAD~1").split()
    laid = [data / "refs/replace" / last, data / "refs/x/.vscode/tasks.json", data / "logs/refs/x/mise.toml"]
    for path in laid:
        put(path, f"{before}\n" if path.name == last else "[hooks]\n")
    await ran(commands, root, "rm -r .git/refs/replace .git/refs/x .git/logs/refs/x; git branch -D other")
    undo(store, root)
    assert [path for path in laid if path.exists()] == []
    assert "other" in git(root.path, "branch")


async def test_the_settings_of_a_repository_in_a_folder_of_logs_come_back(
    commands: CommandSnapshots, store: Snapshots, root: ProjectRoot
) -> None:
    nested = put(root.path / "var/logs/a.txt", "one\n").parent
    git(nested, "init", "-q")
    git(nested, "config", "user.name", "me")
    git(nested, "add", ".")
    git(nested, "commit", "-qm", "one")
    await ran(commands, root, "rm -rf var/logs/.git")
    undo(store, root)
    assert 'name = "me"' in (nested / ".git/config").read_text()


async def test_an_object_that_is_not_what_its_name_says_does_not_come_back(
    commands: CommandSnapshots, store: Snapshots, root: ProjectRoot
) -> None:
    last, tree = git(root.path, "rev-parse", "HEAD", "HEAD^{tree}").split()
    objects = root.path / ".git/objects"
    forged, other = objects / last[:2] / last[2:], objects / tree[:2] / tree[2:]
    forged.chmod(0o644)
    forged.write_bytes(other.read_bytes())
    await ran(commands, root, f"rm {forged}")
    assert [undone.error.key for undone in store.undo(root) if undone.error] == ["undo_not_kept"]
    assert not forged.exists()


async def test_a_repository_beside_its_work_trees_is_told_not_to_be_kept(store: Snapshots, root: ProjectRoot) -> None:
    top = root.path
    shell(
        top.parent,
        f"mv {top} old; mkdir {top}; cd {top}; git clone -q --bare ../old .bare; echo 'gitdir: ./.bare' > .git; "
        "git worktree add -q main main",
    )
    root = ProjectRoot(top)
    commands = CommandSnapshots(store)
    assert not commands.keep_repositories(root)
    changes = await ran(
        commands, root, "cd main; echo a > a.py; git add a.py; git commit -qm a; git branch -q -D other"
    )
    assert [change.path for change in changes] == ["main/a.py"]
    assert "repository" in commands.take_note()
    assert not [one.error for one in store.undo(root) if one.error]
