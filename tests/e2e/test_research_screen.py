"""`localllm research` on a real terminal: its progress, Ctrl+C in the middle, the queries edited."""

import re
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from localllm.app.report_formats import stored_run
from tests.support.research_cli import PATIENCE, ResearchWorld, research_world
from tests.support.tmux import TMUX, Tmux

pytestmark = pytest.mark.skipif(TMUX is None, reason="needs tmux")

FAST = ("--preset", "fast", "--max-search", "4")


@pytest.fixture
def world() -> Iterator[ResearchWorld]:
    folder = Path(tempfile.mkdtemp(prefix="r"))  # a socket's path must be short
    with research_world(folder) as world:
        yield world
    shutil.rmtree(folder, ignore_errors=True)


def start(world: ResearchWorld, *arguments: str, columns: int = 80, **environ: str) -> Tmux:
    command = [sys.executable, "-m", "localllm", "research", *arguments]
    return Tmux(world.folder, command, environ={**world.environment(), **environ}, columns=columns, name=f"t{columns}")


@pytest.mark.parametrize("columns", [80, 200])
def test_the_progress_stays_whole_and_ctrl_c_saves(world: ResearchWorld, columns: int) -> None:
    world.hold(6)
    with closing(start(world, world.question.text, *FAST, columns=columns, NO_COLOR="1")) as terminal:
        assert world.is_holding.wait(PATIENCE)
        screen = terminal.wait("▸", "model calls", "left:", "Expected:", "S1 ")
        assert screen.count("▸") == 1, "what changes is written over"
        assert max(map(len, screen.splitlines())) <= columns
        assert not re.search(r"\x1b\[(?:\d+;)*3[0-7]m", terminal.screen(colours=True)), "NO_COLOR"
        terminal.press("C-c")
        screen = terminal.wait("is saved. To continue it:", "[left with 130]", gone="▸")
    world.release()
    run = re.findall(r"--resume\s+(\d{4}-\d{4})", screen)[0]
    assert stored_run(world.work, run).next != "done"


def test_the_queries_are_edited_before_the_search(world: ResearchWorld) -> None:
    with closing(start(world, "--plan", world.question.text, *FAST)) as terminal:
        terminal.wait("One query per line.")
        assert not world.web.queries
        terminal.press("C-e")
        terminal.type(" of taro@example.com")
        terminal.press("C-d")
        screen = terminal.wait("[left with 0]", history=True)
    assert "Masked before sending: an e-mail address." in screen
    assert any(query.endswith("of [EMAIL]") for query in world.web.queries)
    assert not any("taro" in query for query in world.web.queries)
