"""Whatever a model gives a tool, git, ripgrep or the shell, it is no fault of the program."""

import subprocess
from pathlib import Path

import pytest

from tests.support.agents import make_tools

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("odd", ["\u00a0", "\u3000", "\x85", "\x1c", "\0", "a\0b", "\ud800", "\n", "a" * 5000])
async def test_none_of_them_is_a_fault_of_the_program(tmp_path: Path, odd: str) -> None:
    project = tmp_path / "project"
    project.mkdir()
    (project / "a.py").write_text("x = 1\n", encoding="utf-8")
    subprocess.run(["git", "init", "-q"], cwd=project, check=True)
    tools = make_tools(project)
    for name, arguments in (
        *(("read_file", {"file_path": odd}), ("list_files", {"path": odd}), ("list_files", {"pattern": odd})),
        *(("search_files", {"pattern": odd}), ("search_files", {"pattern": "x", "include": odd})),
        *(("git_diff", {"file_path": odd}), ("git_log", {"file_path": odd})),
        *(("run_command", {"command": odd}), ("run_command", {"command": "ls", "working_dir": odd})),
        *(("edit_file", {"file_path": "a.py", "old_string": odd, "new_string": "y"}),),
        *(("create_file", {"file_path": odd, "content": "x"}), ("git_commit", {"message": odd, "files": ["a.py"]})),
    ):
        answer = await tools.execute_tool(name, **arguments)
        assert answer.get("code") != "E8004", (name, arguments, answer)
