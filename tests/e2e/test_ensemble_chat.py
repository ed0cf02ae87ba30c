"""/ensemble in the chat: a real terminal, the agents of a config.json on loopback, and what becomes of them."""

import json
import re
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.e2e.test_panel import environment, settings_of
from tests.ensemble_servers import Gate, OllamaServer, OllamaServers, Play
from tests.support.sandbox_world import level_here
from tests.support.serving import configuration
from tests.support.tmux import TMUX, Tmux
from tests.support.wire_server import WireServer, says

pytestmark = pytest.mark.skipif(TMUX is None, reason="tmux is not installed")

REVIEW = "## Evaluation\nA is right.\n\n## Final answer\nIt is **Paris**.\n"
JAPANESE = "## 評価\nAが正しいです。\n\n## 最終回答\nパリです。\n"
LONG = "It lies on the Seine, and has been the capital for centuries. " * 20
READY = f" {level_here()} · "

Opened = Callable[..., Tmux]


class World:
    """A chat over agents on loopback; `main` is its own model."""

    def __init__(self, servers: OllamaServers, main: WireServer, folder: Path) -> None:
        self.servers = servers
        self.main = main
        self.chats: list[Tmux] = []
        self._root = folder / "shop"
        self._root.mkdir()
        (self._root / "localllm.toml").write_text(settings_of(main.url))

    def open(
        self, reviewer: OllamaServer, *workers: OllamaServer, columns: int = 80, rows: int = 24, **variables: str
    ) -> Tmux:
        """The chat, ready, in a project with these agents."""
        agents = configuration(reviewer.url, *(worker.url for worker in workers), max_retries=0)
        (self._root / "config.json").write_text(json.dumps(agents))
        chat = Tmux(
            self._root,
            [sys.executable, "-m", "localllm", "--trust-project"],
            environ=environment(self._root) | variables,
            columns=columns,
            rows=rows,
        )
        self.chats.append(chat)
        chat.wait(READY)
        return chat

    def gone(self) -> OllamaServer:
        """An agent whose server is down."""
        server = self.servers.add()
        self.servers.stop(server)
        return server


@pytest.fixture
def world() -> Iterator[World]:
    with (
        tempfile.TemporaryDirectory() as name,
        OllamaServers() as servers,
        WireServer([says("I have read it.")]) as main,
    ):
        made = World(servers, main, Path(name))
        yield made
        for chat in made.chats:
            chat.close()


def test_the_merged_answer_stands_below_the_columns_and_goes_along(world: World) -> None:
    """A worker is dead, one is slow: the others' answers are there, and so is the reviewer's."""
    gate = Gate()
    workers = [world.servers.add(Play(answer=LONG)), world.gone(), world.servers.add(Play(answer="Late.", gate=gate))]
    chat = world.open(world.servers.add(Play(answer=REVIEW)), *workers)
    chat.say("/ensemble Capital?")
    chat.wait("✓ W0", "✗ W1", "· W2", "waiting for 1 worker")
    gate.open()
    shown = chat.wait("It is Paris.", READY)
    assert re.search(r"R: W\d is right\.\n\nIt is Paris\.", shown)
    chat.say("Go on")
    chat.wait("I have read it.")
    assert "It is **Paris**.\n" in world.main.bodies()[-1]["messages"][-1]["content"]


def test_ctrl_c_ends_every_request_and_leaves_what_was_said(world: World) -> None:
    gate = Gate()
    workers = [world.servers.add(Play(answer="Paris, I think.")), world.servers.add(Play(gate=gate))]
    reviewer = world.servers.add(Play(answer=REVIEW))
    chat = world.open(reviewer, *workers)
    chat.say("/ensemble Capital?")
    chat.wait("✓ W0", "waiting for 1 worker")
    chat.press("C-c")
    chat.wait("Paris, I think.", "· W1", "! Interrupted.", READY)
    assert (workers[1].aborted, reviewer.chats) == (1, [])
    chat.say("Go on")
    chat.wait("I have read it.")
    assert "ensemble" not in world.main.bodies()[-1]["messages"][-1]["content"]


def test_more_workers_than_the_screen_has_room_for_leave_nothing_behind(world: World) -> None:
    """Rows that scroll out cannot be painted anew: there would be several of each."""
    gate = Gate()
    workers = [world.servers.add(Play(answer=LONG, pieces=20, between=0.02)) for _ in range(10)]
    chat = world.open(world.servers.add(Play(answer=REVIEW, gate=gate)), *workers)
    chat.say("/ensemble Capital?")
    chat.wait("R reviews the answers")
    chat.press("C-c")
    chat.wait("! Interrupted.", READY)
    shown = chat.screen(history=True)
    assert [shown.count(f"W{number} ") for number in range(10)] == [1] * 10


def test_it_speaks_japanese_without_colours_on_a_wide_screen(world: World) -> None:
    workers = [world.servers.add(Play(answer="首都はパリです。" * 30)), world.gone(), world.servers.add(Play(fails=-1))]
    reviewer = world.servers.add(Play(answer=JAPANESE))
    chat = world.open(reviewer, *workers, columns=200, rows=50, LANG="ja_JP.UTF-8", NO_COLOR="1")
    chat.say("/ensemble フランスの首都は？")
    shown = chat.wait("R: W0が正しいです。", "\nパリです。")
    assert any(all(mark in line for mark in ("✓ W0", "✗ W1", "✗ W2")) for line in shown.splitlines())
    assert not re.search(r"\x1b\[(?:[0-9;]*;)?[349][0-7]m", chat.screen(colours=True))


def test_where_nobody_answers_or_the_reviewer_fails_it_says_so(world: World) -> None:
    alive = world.servers.add(Play(answer="Paris, all the same."))
    chat = world.open(world.gone(), alive, world.gone())
    chat.say("/ensemble Capital?")
    chat.wait("The reviewer failed", "\nParis, all the same.", READY)
    world.servers.stop(alive)
    chat.say("/ensemble Capital now?")
    chat.wait("No worker has answered.", READY)
