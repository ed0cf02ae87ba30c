"""Sub-agents in the real program, in a real terminal of 80 columns, over a real connection."""

import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.repositories import GitProject
from tests.support.sandbox_world import level_here
from tests.support.tmux import TMUX, Tmux
from tests.support.wire_server import Reply, WireServer, calls, delta, says, sse

pytestmark = [pytest.mark.skipif(TMUX is None, reason="tmux is not installed"), pytest.mark.long]

READY = f" {level_here()} · "
SPLIT = """{"subtasks": [
 {"title": "Mend total", "instructions": "mend total() in prices.py", "writes": true},
 {"title": "文書を書く", "instructions": "write 使い方.md", "writes": true},
 {"title": "Who calls it", "instructions": "find who calls total()", "writes": false}]}"""
EDIT = ("edit_file", {"file_path": "prices.py", "old_string": "* discount", "new_string": "* (1 - discount)"})
WRITE = ("create_file", {"file_path": "使い方.md", "content": "# 使い方\n"})
HELD = Reply(sse(delta(content="I think"), delta(content=" forever")), hold_before=1)

Open = Callable[..., Tmux]


@pytest.fixture
def project() -> Iterator[GitProject]:
    with tempfile.TemporaryDirectory() as name:
        made = GitProject(Path(name) / "shop")
        made.commit(prices__py="def total(prices, discount):\n    return sum(prices) * discount\n")
        yield made


@pytest.fixture
def open_chat(project: GitProject) -> Iterator[Open]:
    opened: list[Tmux] = []

    def start(server: WireServer, settings: str = "", *, rows: int = 24) -> Tmux:
        chosen = '[llm]\nprovider = "lmstudio"\nmodel = "m"\nmax_retries = 1\n'
        written = f'{chosen}[llm.lmstudio]\nbase_url = "{server.url}"\n{settings}'
        (project.root / "localllm.toml").write_text(written, encoding="utf-8")
        kept = {name: os.environ[name] for name in ("PATH", "PYTHONPATH") if name in os.environ}
        variables = {**kept, "HOME": str(project.root.parent / "home"), "LANG": "C.UTF-8"}
        command = [sys.executable, "-m", "localllm", "--trust-project"]
        chat = Tmux(project.root, command, environ=variables, rows=rows)
        opened.append(chat)
        chat.wait(READY)
        return chat

    yield start
    for chat in opened:
        chat.close()


def _trees(project: GitProject) -> list[Path]:
    home = project.root.parent / "home"
    return list(home.glob(".local/state/localllm/worktrees/*/*"))


def _asked(server: WireServer) -> list[list[dict[str, Any]]]:
    return [body["messages"] for body in server.bodies()]


def _wait_for_requests(server: WireServer, count: int) -> None:
    for _ in range(1000):
        if len(server.requests) >= count:
            return
        time.sleep(0.01)
    pytest.fail(f"only {len(server.requests)} requests came")


def test_explore(project: GitProject, open_chat: Open) -> None:
    replies = [
        calls(("explore", {"question": "Who calls total()?"})),
        calls(("search_files", {"pattern": "total"})),
        says("Nobody: prices.py:1."),
        says("It is never called."),
    ]
    with WireServer(replies) as server:
        chat = open_chat(server)
        chat.say("Is total() used?")
        screen = chat.wait("It is never called.", READY)
        requests = _asked(server)
    assert "● explore Who calls total()?\n  ↳ explore: search_files total\n  ✓ found an answer in 2 steps" in screen
    assert requests[-1][-1]["content"] == "Nobody: prices.py:1."
    assert "Who calls total()?" in requests[1][1]["content"]
    assert requests[0] == requests[-1][: len(requests[0])]


def test_coordinate_is_asked_about_once_for_each_agent_and_taken_back_in_one_go(
    project: GitProject, open_chat: Open
) -> None:
    replies = [
        says(SPLIT),
        calls(EDIT),
        says("Mended prices.py:2."),
        calls(WRITE),
        says("使い方.md を書きました。"),
        says("Nobody calls it."),
        says("All of it is done."),
        says("Yes."),
    ]
    with WireServer(replies) as server:
        chat = open_chat(server, rows=50)
        chat.say("/coordinate Mend total, document it, and find who calls it")
        first = chat.wait("[y]es", last="  ›")
        assert "• Mend total (may change files)" in first
        assert "• Who calls it (only reads)" in first
        assert "  ↳ Mend total: edit_file prices.py" in first
        assert "+    return sum(prices) * (1 - discount)" in first
        assert "1 - discount" not in (project.root / "prices.py").read_text()
        chat.say("y")
        chat.wait("+# 使い方", last="  ›")
        chat.say("y")
        chat.wait("All of it is done.", READY)
        assert "1 - discount" in (project.root / "prices.py").read_text()
        assert (project.root / "使い方.md").read_text() == "# 使い方\n"
        assert _trees(project) == []
        chat.say("Is it?")
        chat.wait("Yes.", READY)
        assert "All of it is done." in _asked(server)[-1][1]["content"]
        chat.say("/undo turn")
        chat.wait("prices.py: the version from before", READY)
    assert not (project.root / "使い方.md").exists()
    assert "* discount" in (project.root / "prices.py").read_text()


def test_an_interrupt_leaves_nothing_behind(project: GitProject, open_chat: Open) -> None:
    with WireServer([says(SPLIT), calls(EDIT), HELD]) as server:
        chat = open_chat(server)
        before = project.state()
        chat.say("/coordinate Mend it")
        chat.wait("↳ Mend total: edit_file prices.py")
        _wait_for_requests(server, 3)
        assert len(_trees(project)) == 1
        chat.press("C-c")
        chat.wait("nterrupted", READY)
        assert server.disconnected.wait(5)
        assert _trees(project) == []
        assert project.state() == before
        assert not (project.root / ".localllm" / "coordination").exists()
        chat.press("C-d")
        chat.wait("[left with 0]")


def test_an_interrupt_at_the_question_leaves_nothing_behind(project: GitProject, open_chat: Open) -> None:
    with WireServer([says(SPLIT), calls(EDIT), says("Mended."), says("Nothing."), says("Nobody.")]) as server:
        chat = open_chat(server, rows=40)
        chat.say("/coordinate Mend it")
        chat.wait("[y]es", last="  ›")
        chat.press("C-c")
        chat.wait("nterrupted", READY)
    assert _trees(project) == []
    assert "* discount" in (project.root / "prices.py").read_text()
    assert not list((project.root / ".localllm").glob("coordination/*"))
