"""Wherever a command hides a file: none is left at a name that programs outside the sandbox trust, and none of the
user's own is lost.

Seeded, so that a failure can be run again: the message has the seed and what was done.
"""

import asyncio
import logging
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from localllm.sandbox.backend import Level
from localllm.sandbox.runner import SandboxRunner
from tests.long.mutations.hidden_files import BELIEVED, is_evil

pytestmark = [pytest.mark.long, pytest.mark.timeout(600)]

BLOCKS, IN_BLOCK, COMMANDS = range(8), 12, 3
SCRIPT = Path(__file__).parent / "mutations" / "hidden_files.py"
LEVELS: tuple[Level, ...] = ("namespaces", "landlock")
OWN = (".envrc", ".vscode/tasks.json", "sub/.envrc", "node_modules/pkg/.mcp.json", "src/.idea/workspace.xml")
MOST_VISITED = 20_000


def project(root: Path) -> Path:
    """A project with files of the user at trusted names, and packages."""
    for name in ("src/a.py", "lib/b.py", "node_modules/pkg/index.js", "sub/c.py", "build/out.txt", ".gitignore", *OWN):
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("node_modules/\nbuild/\n" if name == ".gitignore" else f"{name} of the user\n")
    (root / "latest").symlink_to("build")
    for words in ("init -q -b main", "add -A", "-c user.name=u -c user.email=u@u commit -qm one"):
        subprocess.run(["git", *words.split()], cwd=root, check=True, capture_output=True)
    return root


async def run(state: Path, root: Path, level: Level, seed: int) -> str:
    """Run the commands, the last one in another session."""
    shutil.copy(SCRIPT, root / "change.py")
    runner, done = SandboxRunner(root, state_folder=state, levels=(level,)), []
    try:
        for number in range(COMMANDS):
            if number == COMMANDS - 1:
                runner.close()
                runner = SandboxRunner(root, state_folder=state, levels=(level,))
            line = f"VICTIM={root.parent}/home/victim python3 change.py {seed} {number}"
            one = await runner.run(line, cwd=root, timeout=60)
            done.append(f"{one.stdout.strip()} {one.stderr.strip()[-200:]}")
    finally:
        runner.close()
    return " | ".join(done)


def believed_evils(root: Path) -> Iterator[str]:
    """Yield the paths, also by links within the project, at which a program would believe a file of the command."""
    ends = tuple(f"/{name}" for name in BELIEVED)
    waiting, count = [("", frozenset[str]())], 0
    while waiting and count < MOST_VISITED:
        folder, above = waiting.pop()
        count += 1
        try:
            entries = list(os.scandir(root / folder))
        except OSError:
            continue
        for entry in entries:
            path = f"{folder}/{entry.name}" if folder else entry.name
            real = os.path.realpath(entry.path)
            if Path(real).is_dir():
                if real not in above and real.startswith(f"{root}/"):
                    waiting.append((path, above | {real}))
            elif f"/{path}".endswith(ends) and not is_shipped(path) and is_evil(Path(real)):
                yield path


def is_shipped(path: str) -> bool:
    """Whether it is a module for Python's start that a package may bring along."""
    return path.endswith("/sitecustomize.py") and "site-packages/" in path


def links_out(root: Path) -> Iterator[str]:
    """Yield the links, but for those in package folders, that lead to the hidden folder of the home."""
    for folder, folders, files in os.walk(root):
        for path in (Path(folder, name) for name in (*folders, *files)):
            is_of_packages = "node_modules" in path.relative_to(root).parts
            if path.is_symlink() and not is_of_packages and os.path.realpath(path).startswith(f"{root.parent}/home/"):
                yield str(path.relative_to(root))


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    (tmp_path / "home" / "victim").mkdir(parents=True)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    logging.disable()  # it has names of files that the workers of pytest cannot send
    yield tmp_path / "home"
    logging.disable(logging.NOTSET)


@pytest.mark.usefixtures("home")
@pytest.mark.parametrize("block", BLOCKS)
def test_no_file_of_a_command_is_believed_and_no_link_leads_home(tmp_path: Path, block: int) -> None:
    found: list[str] = []
    for seed in range(block * IN_BLOCK, (block + 1) * IN_BLOCK):
        root = project((tmp_path / f"project{seed}").resolve())
        level = LEVELS[seed % 2]
        done = asyncio.run(run(tmp_path / f"state{seed}", root, level, seed))
        found += [f"{seed} at {level}: {path!a}; {done!a}" for path in (*believed_evils(root), *links_out(root))]
    assert found == []
