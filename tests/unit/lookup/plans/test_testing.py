"""Which command the embedded engine runs for "run the tests": the one the analysis of the project finds."""

import json
from pathlib import Path
from typing import Any

import pytest

from localllm.lookup.calls import Result
from localllm.lookup.conversation import Talk
from localllm.lookup.orders import Order
from localllm.lookup.plans.testing import run_tests
from localllm.project.analyzer import ProjectAnalyzer
from localllm.tools.files import list_files, read_file
from localllm.tools.search import search_files
from tests.support import project_trees as trees
from tests.support.project_trees import Tree, plant
from tests.support.tools import make_context, use

pytestmark = pytest.mark.anyio

_TOOLS = {"list_files": list_files, "read_file": read_file, "search_files": search_files}


async def chosen(root: Path, path: str = "") -> str:
    """The command a run of the tests in `root` would begin with; "" where it says that there is none."""
    plan = run_tests(Talk(question="run the tests"), Order(kind="tests", path=path))
    context = make_context(root)
    results: list[Result] | None = None
    while True:
        try:
            calls = plan.send(results) if results is not None else next(plan)
        except StopIteration:
            return ""
        results = []
        for name, arguments in calls:
            given: dict[str, Any] = json.loads(arguments)
            if name == "run_command":
                return given["command"]
            try:
                results.append(Result((await use(_TOOLS[name], context, **given)).for_model))
            except Exception as error:  # noqa: BLE001 - as the agent does
                results.append(Result(str(error), "failed"))


@pytest.mark.parametrize(
    "tree",
    [
        trees.PYTHON_PACKAGE,
        trees.FASTAPI,
        trees.DJANGO,
        trees.NPM,
        trees.NEXT,
        trees.RUST,
        trees.GO,
        trees.SPRING,
        trees.MAVEN,
        trees.RAILS,
        trees.LARAVEL,
        trees.PHOENIX,
        trees.CMAKE,
        trees.MAKE,
        trees.MONOREPO,
        trees.SCRIPTS,
    ],
)
async def test_it_is_the_command_the_analysis_finds(tmp_path: Path, tree: Tree) -> None:
    found = await ProjectAnalyzer(plant(tmp_path, tree)).analyze()
    assert (await chosen(tmp_path)).replace("python3 ", "python ") == found.test_command


@pytest.mark.parametrize(
    "line", ["- Tests: `make checks`", "- テスト: `make checks`（Makefile）", "* Test: `make checks`"]
)
async def test_the_command_in_the_notes_comes_first(tmp_path: Path, line: str) -> None:
    plant(tmp_path, {**trees.RUST, "LOCALLLM.md": f"# Project Memory\n\n## Project DNA\n\n{line}\n"})
    assert await chosen(tmp_path) == "make checks"


async def test_python_is_that_of_the_projects_own_environment(tmp_path: Path) -> None:
    plant(tmp_path, {**trees.FASTAPI, ".venv/bin/python": ""})
    assert await chosen(tmp_path) == ".venv/bin/python -m pytest"
    plant(tmp_path, {"LOCALLLM.md": "- Tests: `python -m pytest -x`\n"})
    assert await chosen(tmp_path) == ".venv/bin/python -m pytest -x"


async def test_the_tests_of_one_file(tmp_path: Path) -> None:
    plant(tmp_path / "a", trees.FASTAPI)
    assert await chosen(tmp_path / "a", "tests/test_main.py") == "python3 -m pytest tests/test_main.py"
    plant(tmp_path / "b", {**trees.GO, "tests/test_x.py": "import unittest\n"})
    assert await chosen(tmp_path / "b", "tests/test_x.py") == "python3 -m unittest tests/test_x.py"
    assert await chosen(tmp_path / "b", "internal/basket/basket_test.go") == "go test ./internal/basket"
