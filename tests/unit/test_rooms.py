"""The contracts in pyproject.toml hold, and they would notice an import that goes up."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def lint(project: Path) -> subprocess.CompletedProcess[str]:
    program = Path(sys.executable).with_name("lint-imports")
    return subprocess.run([program, "--no-cache"], cwd=project, capture_output=True, text=True, timeout=50, check=False)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    shutil.copytree(ROOT / "localllm", tmp_path / "localllm", ignore=shutil.ignore_patterns("__pycache__"))
    return tmp_path


def test_the_rooms_hold(project: Path) -> None:
    done = lint(project)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize(
    ("file", "line"),
    [
        ("tools/context.py", "import localllm.agents"),
        ("text/__init__.py", "import rich"),
        ("tools/context.py", "import localllm.llm.clients"),
        ("ui/__init__.py", "import localllm.app"),
        ("a_room_nobody_planned.py", ""),
    ],
)
def test_a_forbidden_import_is_noticed(project: Path, file: str, line: str) -> None:
    with (project / "localllm" / file).open("a", encoding="utf-8") as source:
        source.write(f"\n{line}\n")
    done = lint(project)
    assert done.returncode == 1, done.stdout
    assert "broken" in done.stdout
