"""No code of the project runs in the program: what bears the name of a package, or the program's own, changed."""

import os
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

import localllm
from tests.support.wire_server import WireServer, calls, says

PACKAGE = Path(localllm.__file__).parent
PLANTED = (
    "ddgs",
    "git",
    "httptools",
    "httpx",
    "markdown_it",
    "pypdf",
    "rich",
    "tenacity",
    "tree_sitter_python",
    "wcwidth",
)
LATER: tuple[tuple[str, dict[str, Any]], ...] = (
    ("git_status", {}),
    ("analyze_code", {"file_path": "a.py"}),
    ("read_file", {"file_path": "a.pdf"}),
    ("edit_file", {"file_path": "a.py", "old_string": "a = 1", "new_string": "a = 2"}),
    ("search_files", {"pattern": "a"}),
    ("git_commit", {"message": "m", "files": ["a.py"]}),
    ("run_command", {"command": "cat a.py"}),
)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    root = tmp_path / "project"
    root.mkdir()
    (root / "a.py").write_text("a = 1\n")
    (root / "a.pdf").write_bytes(b"%PDF-1.4\n%%EOF\n")
    subprocess.run(["git", "init", "--quiet"], cwd=root, check=True)
    return root


def run(project: Path, command: str, **variables: str) -> str:
    """Let a model run a command and then use tools, in auto mode; the session's last words."""
    home = dict.fromkeys(("HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME"), str(project.parent / "home"))
    turns = [("run_command", {"command": command}), ("read_file", {"file_path": "a.py"}), *LATER]
    with WireServer([*map(calls, turns), says("Done.")]) as server:
        arguments = ["-p", "go", "--mode", "auto", "--base-url", server.url, "-m", "m"]
        done = subprocess.run(
            [sys.executable, "-m", "localllm", *arguments],
            cwd=project,
            env={**os.environ, "GIT_AUTHOR_NAME": "a", "GIT_COMMITTER_NAME": "a", **home, **variables},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
    assert done.returncode == 0, done.stderr
    assert (project / "a.py").read_text() == "a = 2\n", done.stderr
    return done.stdout


def sprung(trap: Path) -> str:
    """A line of Python that leaves a mark outside the project."""
    return f"open('{trap}', 'w')"


@pytest.mark.parametrize("search_path", ["", ".", "src:."])
def test_what_bears_the_name_of_a_package_is_not_imported(project: Path, search_path: str) -> None:
    trap = project.parent / "trap"
    names = " ".join(f"{name}.py" for name in PLANTED)
    command = f'mkdir -p src; for f in {names}; do echo "{sprung(trap)}" | tee $f > src/$f; done'
    variables = {"PYTHONPATH": search_path} if search_path else {}
    assert "Done." in run(project, command, **variables)
    assert (project / "git.py").exists()
    assert not trap.exists()


@pytest.mark.parametrize("prefix", ["cache", "{project}/cache", "{project}/../link"])
def test_bytecode_in_the_project_is_not_loaded(project: Path, prefix: str) -> None:
    (project / "cache").mkdir()
    (project.parent / "link").symlink_to(project / "cache")
    trap = project.parent / "trap"
    (project / "evil.py").write_text(sprung(trap))
    modules = ["git", "httpx", "tree_sitter", "tree_sitter_python", "localllm.tools.git_commit", "localllm.tools.edit"]
    files = [spec.origin for name in modules if (spec := find_spec(name)) and spec.origin]
    (project / "plant.py").write_text(f"""import py_compile, sys
for file in {files}:
    target = f"cache{{file[:-3]}}.{{sys.implementation.cache_tag}}.pyc"
    py_compile.compile("evil.py", target, invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH)
""")
    variables = {"PYTHONPYCACHEPREFIX": prefix.format(project=project)}
    assert "Done." in run(project, f"{sys.executable} plant.py", **variables)
    assert len(list((project / "cache").rglob("*.pyc"))) >= len(files)
    assert not trap.exists()


def test_the_program_itself_changed_by_a_command(project: Path) -> None:
    trap = project.parent / "trap"
    shutil.copytree(PACKAGE, project / "localllm", ignore=shutil.ignore_patterns("__pycache__"))
    command = f'find localllm -name "*.py" | while read f; do echo "{sprung(trap)}" >> $f; done'
    assert "Done." in run(project, command)
    assert "trap" in (project / "localllm/tools/git_reports.py").read_text()
    assert not trap.exists()
