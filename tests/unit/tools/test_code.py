"""analyze_code, on files and folders of a project."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from localllm.base.errors import LocalLLMError
from localllm.config.schema import ProjectSettings, Settings
from localllm.repo_map.repo_map import RepoMap
from localllm.safety.paths import ProjectRoot
from localllm.safety.tool_definition import ToolOutput
from localllm.sandbox.runner import SandboxRunner
from localllm.tools.builtin import analyze_code
from localllm.tools.context import ToolContext
from localllm.tools.tool_system import ToolSystem
from tests.support.agents import make_tools
from tests.support.tools import make_context, use

pytestmark = pytest.mark.anyio

GREETER = """\
import os

class Greeter:
    def greet(self, name):
        if name and os:
            return f"Hello {name}"
        return "Hello"

def main():
    Greeter().greet("you")
"""


async def analyze(root: Path, file_path: str) -> ToolOutput:
    context = ToolContext(
        root=ProjectRoot(root),
        settings=Settings(project=ProjectSettings(exclude_patterns=("vendor",))),
        runner=SandboxRunner(root, state_folder=root),
        output_limit=2_000,
        overflow_folder=root / ".localllm" / "tool-output",
    )
    return await analyze_code.function(context, **analyze_code.parse({"file_path": file_path}))


async def fail(root: Path, file_path: str) -> str:
    with pytest.raises(LocalLLMError) as caught:
        await analyze(root, file_path)
    assert str(caught.value)
    return caught.value.key


async def test_a_file(tmp_path: Path) -> None:
    (tmp_path / "greeter.py").write_text(GREETER)
    output = await analyze(tmp_path, "greeter.py")
    assert output.for_model.splitlines() == [
        "greeter.py: python, 10 lines, 8 of them code",
        "imports: os",
        "most complex: Greeter.greet 3",
        "definitions (lines kind name, and the cyclomatic complexity of functions):",
        "3-7 class Greeter",
        "  4-7 method greet (3)",
        "9-10 function main (1)",
    ]
    assert str(output.summary) == "greeter.py: python, 10 lines, 8 of them code"
    payload: dict[str, Any] = output.payload
    assert payload["file_path"] == "greeter.py"
    assert payload["language"] == "python"
    assert payload["imports"] == ["os"]
    assert payload["definitions"][1] == {
        "kind": "method",
        "name": "greet",
        "line": 4,
        "end_line": 7,
        "parent": "Greeter",
        "complexity": 3,
    }
    assert payload["metrics"] == {
        "files": 1,
        "lines": 10,
        "code_lines": 8,
        "functions": 2,
        "complexity": 3,
        "error_lines": [],
    }


async def test_syntax_errors_are_told_with_their_lines(tmp_path: Path) -> None:
    (tmp_path / "broken.js").write_text("function f() {\n  b(;\n}\n")
    output = await analyze(tmp_path, "broken.js")
    assert "syntax errors: line 2" in output.for_model
    assert output.payload["metrics"]["error_lines"] == [2]


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "cp932", "euc_jp"])
async def test_a_file_in_another_encoding(tmp_path: Path, encoding: str) -> None:
    (tmp_path / "a.py").write_bytes("def 挨拶する():\n    return 'こんにちは'\n".encode(encoding))
    output = await analyze(tmp_path, "a.py")
    assert "1-2 function 挨拶する (1)" in output.for_model


async def test_a_file_in_an_encoding_nobody_knows(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_bytes(b"def f():\n    return 'caf\xe9 \xff'\n")
    assert "1-2 function f (1)" in (await analyze(tmp_path, "a.py")).for_model


async def test_files_that_cannot_be_analysed(tmp_path: Path) -> None:
    (tmp_path / "notes.md").write_text("# Notes\n")
    (tmp_path / "binary.py").write_bytes(b"\0\1\2" * 100)
    (tmp_path / "large.py").write_bytes(b"x = 1\n" * 1_000_000)
    (tmp_path / "tangle.py").write_bytes(b"(" * 100_000)
    assert await fail(tmp_path, "notes.md") == "code_unsupported"
    assert await fail(tmp_path, "binary.py") == "file_not_text"
    assert await fail(tmp_path, "large.py") == "code_not_parsed"
    assert await fail(tmp_path, "tangle.py") == "code_not_parsed"
    assert await fail(tmp_path, "missing.py") == "file_missing"
    assert await fail(tmp_path, "../x.py") == "path_outside"


async def test_a_long_outline_is_cut(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("".join(f"def function_{i}():\n    pass\n" for i in range(500)))
    output = await analyze(tmp_path, "a.py")
    assert len(output.for_model) < 3_000
    assert len(output.payload["definitions"]) == 500


async def test_a_folder(tmp_path: Path) -> None:
    (tmp_path / ".gitignore").write_text("build/\n")
    for folder in ("src/deep", "vendor", "build"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "src" / "greeter.py").write_text(GREETER)
    (tmp_path / "src" / "deep" / "short.js").write_text("f(;\n")
    (tmp_path / "src" / "deep" / "binary.c").write_bytes(b"\0\1\2" * 100)
    (tmp_path / "src" / "README.md").write_text("# Text\n")
    (tmp_path / "vendor" / "x.py").write_text(GREETER)
    (tmp_path / "build" / "x.py").write_text(GREETER)
    (tmp_path / "link.py").symlink_to("src/greeter.py")
    output = await analyze(tmp_path, ".")
    assert output.for_model.splitlines() == [
        ".: 2 source files, 11 lines, 9 of them code",
        "python: 1 file, lines: 10 (8 code), functions: 2",
        "javascript: 1 file, lines: 1 (1 code), functions: 0",
        "largest files (lines):",
        "  10 src/greeter.py",
        "  1 src/deep/short.js",
        "most complex functions:",
        "  3 src/greeter.py:4 Greeter.greet",
        "files with syntax errors (lines):",
        "  src/deep/short.js: 1",
        "[1 source file was not analysed (too many, too large or unreadable); analyse a smaller folder]",
        "what matters most, with line numbers (3 of 3 definitions):",
        "src/greeter.py",
        "3 class Greeter:",
        "4   def greet(self, name):",
        "9 def main():",
    ]
    metrics: dict[str, Any] = output.payload["metrics"]
    assert metrics["languages"]["python"] == {"files": 1, "lines": 10, "code_lines": 8, "functions": 2}
    assert metrics["left_out"] == 1
    assert metrics["broken"] == [{"file_path": "src/deep/short.js", "error_lines": [1]}]


async def test_a_folder_of_many_files_fits_and_follows_the_conversation(tmp_path: Path) -> None:
    for number in range(300):
        (tmp_path / f"m{number}.py").write_text(f"def job_{number}():\n    return {number}\n")
    context = make_context(tmp_path, output_limit=4_000)
    assert "def job_287" not in (await use(analyze_code, context, file_path=".")).for_model
    context.focus.heard("what does job_287 return?")
    output = await use(analyze_code, context, file_path=".")
    assert len(output.for_model) <= 4_000
    lines = output.for_model.splitlines()
    at = next(number for number, line in enumerate(lines) if line.startswith("what matters most"))
    assert lines[at + 1 : at + 3] == ["m287.py", "1 def job_287():"]
    assert output.payload["metrics"]["map"].startswith("m287.py")


async def test_the_map_follows_what_the_person_said_and_what_the_model_read(tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    for name in ("alpha", "beta", "gamma"):
        (project / f"{name}.py").write_text(f"def run_{name}(): ...\n")

    async def first(tools: ToolSystem) -> str:
        answer: dict[str, Any] = await tools.execute_tool("analyze_code", file_path=".")
        return answer["metrics"]["map"].splitlines()[0]

    tools = make_tools(project)
    assert await first(tools) == "alpha.py"
    await tools.execute_tool("read_file", file_path="gamma.py")
    assert await first(tools) == "gamma.py"
    tools.begin_turn("What does run_beta do?")
    assert await first(tools) == "beta.py"


async def test_a_copy_of_the_project_has_a_map_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "project").mkdir()
    (tmp_path / "copy").mkdir()
    (tmp_path / "copy" / "a.py").write_text("def only_here(): ...\n")
    context = msgspec.structs.replace(make_context(tmp_path / "copy"), repo_map=RepoMap(tmp_path / "project"))
    assert "only_here" in (await use(analyze_code, context, file_path=".")).for_model


async def test_a_folder_without_source(tmp_path: Path) -> None:
    (tmp_path / "notes.md").write_text("# Notes\n")
    assert (await analyze(tmp_path, ".")).for_model == ".: 0 source files, 0 lines, 0 of them code"


async def test_go_methods_stand_with_their_type(tmp_path: Path) -> None:
    (tmp_path / "a.go").write_text("package a\n\ntype S struct{}\n\ntype T struct{}\n\nfunc (s S) M() {}\n")
    lines = (await analyze(tmp_path, "a.go")).for_model.splitlines()
    assert lines[-1] == "7-7 method S.M (1)"
