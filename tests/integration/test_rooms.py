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


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the project: who changes it changes it back."""
    tmp_path = tmp_path_factory.mktemp("project")
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    shutil.copytree(ROOT / "localllm", tmp_path / "localllm", ignore=shutil.ignore_patterns("__pycache__"))
    return tmp_path


def test_the_rooms_hold(project: Path) -> None:
    done = lint(project)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize(
    ("file", "line"),
    [
        ("tools/context.py", "import localllm.agent"),
        ("text/__init__.py", "import rich"),
        ("tools/context.py", "import localllm.llm.client"),
        ("tui/__init__.py", "import localllm.app.app"),
        ("a_room_nobody_planned.py", ""),
        ("repo_map/rendering.py", "def late():\n    from localllm.repo_map import repo_map"),
        ("agent/panel/members.py", "from localllm.agent.panel import multi_agent"),
    ],
)
def test_a_forbidden_import_is_noticed(project: Path, file: str, line: str) -> None:
    path = project / "localllm" / file
    before = path.read_text("utf-8") if path.exists() else None
    path.write_text(f"{before or ''}\n{line}\n", "utf-8")
    try:
        done = lint(project)
    finally:
        path.unlink() if before is None else path.write_text(before, "utf-8")
    assert done.returncode == 1, done.stdout
    assert "broken" in done.stdout
