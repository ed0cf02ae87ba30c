"""The tests of the design paper of research, under the names of this program."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from localllm.app.report_formats import stored_run
from tests.support.research_cli import ResearchWorld, research_world


@pytest.fixture
def world(tmp_path: Path) -> Iterator[ResearchWorld]:
    with research_world(tmp_path) as world:
        yield world


def test_three_queries_for_three(world: ResearchWorld) -> None:
    """test_generate_queries: as many as were asked for, each a text."""
    queries = world.json("research", "--plan", "量子コンピュータの暗号化への影響", "--query", "3", "--output", "json")
    assert len(queries["queries"]) == 3
    assert all(isinstance(query, str) and query for query in queries["queries"])


def test_the_whole_workflow(world: ResearchWorld) -> None:
    """test_full_workflow: query_count 2, at least one round of checking and at most two."""
    bounds = ("--query", "2", "--min-validation", "1", "--max-validation", "2")
    ended = world.json("research", "テスト質問", *bounds, "--output", "json")
    assert ended["loops"] in (1, 2)
    state = stored_run(world.work, ended["id"])
    assert len([query for query in state.queries if query.round == 0 and query.purpose == "viewpoint"]) == 2
    assert Path(ended["report"]).read_text("utf-8")


def test_init(world: ResearchWorld) -> None:
    """test_init_command: the work folder is made, and made only once."""
    first = world.run("init", "--work-dir", "work")
    assert first.returncode == 0
    made = {path.name for path in (world.project / "work").iterdir() if path.is_dir()}
    assert made >= {"cache", "task", "log", "debug_log", "history"}
    again = world.run("init", "--work-dir", "work")
    assert again.returncode == 0
    assert "made" not in again.stdout
    (world.project / "work" / "task" / "mine.yaml").write_text("mine")
    assert world.run("init", "--work-dir", "work", "--clear", "--yes").returncode == 0
    [old] = (world.project / "work").glob("task.old-*")
    assert (old / "mine.yaml").read_text() == "mine"


def test_run(world: ResearchWorld) -> None:
    """test_run_command: a question, one round of checking."""
    ran = world.run("research", "--prompt", "テスト質問", "--min-validation", "1", "--max-validation", "1")
    assert ran.returncode in (0, 3), ran.stderr
