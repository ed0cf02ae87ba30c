"""Whatever a command does to a project's repositories: git shows what it pushes and commits, and runs nothing of it.

Seeded, so that a failure can be run again: the message has the seed and what was done.
"""

import asyncio
import hashlib
import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from localllm.sandbox.backend import Level
from localllm.sandbox.runner import SandboxRunner

pytestmark = [pytest.mark.long, pytest.mark.timeout(600)]

BLOCKS, IN_BLOCK = range(8), 12
MUTATIONS = Path(__file__).parent / "mutations"
LEVELS: tuple[Level, ...] = ("namespaces", "landlock")
USER = "[user]\n name = u\n email = u@u\n[init]\n defaultBranch = main\n[gc]\n auto = 0\n[core]\n quotePath = false\n"


class Git:
    """The user's own git, outside of the sandbox."""

    def __init__(self, folder: Path) -> None:
        self.failed = False
        self._folder = folder

    def __call__(self, *arguments: str, folder: Path | None = None) -> str:
        done = subprocess.run(
            ["git", *arguments], cwd=folder or self._folder, capture_output=True, stdin=subprocess.DEVNULL, check=False
        )
        self.failed = done.returncode != 0
        return done.stdout.decode("utf-8", "replace")


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / ".gitconfig").write_text(USER)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "home" / ".config"))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    return tmp_path


def template(world: Path, kind: int) -> Path:
    """A repository with loose objects, with a pack and a commit graph, or with an index of packs."""
    root = world / f"template{kind}"
    (root / "src").mkdir(parents=True)
    (root / ".github/workflows").mkdir(parents=True)
    git = Git(root)
    git("init", "-q")
    for name, text in (("README", "hello\n"), ("src/a.py", "print(1)\n"), (".github/workflows/ci.yml", "on: push\n")):
        (root / name).write_text(text)
    git("add", "-A")
    git("commit", "-qm", "one")
    for number in range(4):
        (root / f"src/m{number}.py").write_text(f"x = {number}\n")
        git("add", "-A")
        git("commit", "-qm", f"number {number}")
    git("branch", "other", "HEAD~2")
    if kind == 1:
        git("gc", "-q")
        git("commit-graph", "write", "--reachable")
    if kind == 2:
        git("repack", "-adbq", "--write-midx")
        git("update-index", "--index-version", "4")
    return root


def projects(world: Path, seeds: range) -> dict[int, Path]:
    """A project for each seed, of which git has last read all files in an earlier second."""
    kinds = [template(world, kind) for kind in range(3)]
    made = {seed: world / f"project{seed}" for seed in seeds}
    for seed, root in made.items():
        shutil.copytree(kinds[seed % 3], root, symlinks=True)
        Git(root)("status")
    time.sleep(1.1)  # git takes no note of less than a second
    return made


async def run(world: Path, root: Path, level: Level, script: str, *commands: tuple[str, ...]) -> str:
    """Run a script of `mutations` with the arguments of each command; return what it has printed."""
    shutil.copy(MUTATIONS / script, root / "change.py")
    runner = SandboxRunner(root, state_folder=world / f"state-{root.name}", levels=(level,))
    try:
        done = [await runner.run(f"python3 change.py {' '.join(one)}", cwd=root, timeout=60) for one in commands]
    finally:
        runner.close()
    (root / "change.py").unlink()
    return " | ".join(f"{one.stdout.strip()} {one.stderr.strip()[-200:]}" for one in done)


def published(git: Git, root: Path, name: str) -> Path:
    """An empty repository into which HEAD was pushed."""
    other = root.parent / f"{root.name}-{name}"
    git("init", "-q", "--bare", str(other))
    git("push", "-q", str(other), "HEAD:refs/heads/x")
    return other


def shown_paths(status: str) -> set[str]:
    return {path.strip('"') for line in status.splitlines() for path in line[3:].split(" -> ")}


def lies_of(root: Path) -> Iterator[str]:
    """Yield what the user's git shows otherwise than it is."""
    git, asked = Git(root), ("log", "-p", "--stat", "--format=%H %T %s")
    log = git(*asked, "HEAD")
    head = git("rev-parse", "HEAD").strip()
    if git.failed:
        return  # broken, which the user sees
    status = git("status", "--porcelain", "-uall", "--ignored")
    is_broken = git.failed
    other = published(git, root, "pushed")
    if not git.failed:
        if git(*asked, "x", folder=other) != log:
            yield "the log is not that of what is pushed"
        if not is_broken:
            yield from (f"the status is silent about {path}" for path in unshown(root, git, other, status))
    if is_broken:
        return
    (root / "notes.txt").write_text("mine\n")
    git("add", "notes.txt")
    raw = ("diff", "--raw", "--no-renames", "--abbrev=40")
    staged = git(*raw, "--cached")
    git("commit", "-qm", "mine")
    if not git.failed:
        other = published(git, root, "committed")
        made = git(*raw, head, "x", folder=other)
        if not git.failed and sorted(made.splitlines()) != sorted(staged.splitlines()):
            yield f"the commit has other changes than were staged: {made}"


def unshown(root: Path, git: Git, other: Path, status: str) -> Iterator[str]:
    """Yield the files that differ from those pushed, are new or are gone, and of which the status says nothing."""
    shown = shown_paths(status)
    pushed = {
        line.partition("\t")[2]: line.split()[1:3] for line in git("ls-tree", "-r", "x", folder=other).splitlines()
    }
    for path, (kind, name) in pushed.items():
        if kind == "blob" and path not in shown and blob_name(root / path) != name:
            yield path
    for folder, folders, files in os.walk(root):
        if folder == str(root):
            folders.remove(".git")
        elif ".git" in (*folders, *files):  # another repository: a submodule or a work tree
            folders.clear()
            continue
        for name in files:
            path = os.path.relpath(os.path.join(folder, name), root)  # noqa: PTH118
            if (
                path not in pushed
                and path not in shown
                and not any(path.startswith(one) for one in shown if one.endswith("/"))
            ):
                yield path


def blob_name(file: Path) -> str:
    if not os.path.lexists(file):
        return ""
    content = os.fsencode(file.readlink()) if file.is_symlink() else file.read_bytes()
    return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()


@pytest.mark.parametrize("block", BLOCKS)
def test_git_shows_what_it_pushes_and_commits(world: Path, block: int) -> None:
    found: list[str] = []
    for seed, root in projects(world, range(block * IN_BLOCK, (block + 1) * IN_BLOCK)).items():
        level = LEVELS[seed // 3 % 2]
        done = asyncio.run(run(world, root, level, "believed_files.py", (str(seed),)))
        found += [f"{seed} at {level}: {lie}; {done}" for lie in lies_of(root)]
    assert found == []


@pytest.mark.parametrize("block", BLOCKS)
def test_git_runs_no_program_that_a_command_has_planted(world: Path, block: int) -> None:
    found: list[str] = []
    trap = world / "trap"
    for seed, root in projects(world, range(block * IN_BLOCK, (block + 1) * IN_BLOCK)).items():
        add_second_repository(root)
        level = LEVELS[seed // 3 % 2]
        commands = [(str(seed), number, str(trap)) for number in ("0", "1")]
        done = asyncio.run(run(world, root, level, "planted_repositories.py", *commands))
        for folder in visited(root):
            Git(folder)("status")
            if trap.exists():
                trap.unlink()
                found.append(f"{seed} at {level}, in {folder}: {done}")
    assert found == []


def add_second_repository(root: Path) -> None:
    sub = root / "sub"
    sub.mkdir()
    (root / "node_modules").mkdir()
    git = Git(sub)
    git("init", "-q")
    (sub / "file").write_text("1\n")
    git("add", "-A")
    git("commit", "-qm", "sub")
    with (root / ".git/info/exclude").open("a") as file:
        file.write("sub/\nnode_modules/\n")


def visited(root: Path) -> list[Path]:
    """The folders where the user's prompt or editor may call git: with a repository, or reached by a link; not those in
    a `.git` itself."""
    found = [root]
    for folder, folders, _ in os.walk(root):
        for name in folders:
            path = Path(folder, name)
            top = path.relative_to(root).parts[0].lower()
            if path.is_symlink():
                found += [path, *(inner for inner in path.glob("*") if inner.is_dir())]
            elif not (top.startswith(".git") and top != ".github") and (
                os.path.lexists(path / ".git") or (path / "HEAD").exists()
            ):
                found.append(path)
    return [path for path in found if path.is_dir()]
