"""The real program in a real terminal over a real connection: a day's work, with an interrupt and mistakes in it."""

import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from tests.support.sandbox_world import level_here
from tests.support.tmux import TMUX, Tmux
from tests.support.wire_server import Reply, WireServer, calls, delta, fails, says, sse

pytestmark = pytest.mark.skipif(TMUX is None, reason="tmux is not installed")

READY = f" {level_here()} · "
EDIT = ("edit_file", {"file_path": "prices.py", "old_string": "* discount", "new_string": "* (1 - discount)"})
BUG = "def total(prices, discount):\n    return sum(prices) * discount\n"
ENDLESS = Reply(sse(delta(content="Once upon a time"), delta(content=", never told")), hold_before=1)

Open = Callable[..., Tmux]


@pytest.fixture
def project() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as name:
        root = Path(name) / "shop"
        root.mkdir()
        (root / "prices.py").write_text(BUG)
        yield root


@pytest.fixture
def open_chat(project: Path) -> Iterator[Open]:
    opened: list[Tmux] = []

    def start(server: WireServer, settings: str = "", **environ: str) -> Tmux:
        chosen = '[llm]\nprovider = "lmstudio"\nmodel = "m"\nmax_retries = 1\n'
        written = f'{chosen}[llm.lmstudio]\nbase_url = "{server.url}"\n{settings}'
        (project / "localllm.toml").write_text(written, encoding="utf-8")
        variables = {"PATH": os.environ["PATH"], "HOME": str(project.parent / "home"), "LANG": "C.UTF-8", **environ}
        chat = Tmux(project, [sys.executable, "-m", "localllm", "--trust-project"], environ=variables)
        opened.append(chat)
        chat.wait(READY)
        return chat

    yield start
    for chat in opened:
        chat.close()


def wait_for(file: Path) -> None:
    for _ in range(1000):
        if file.exists():
            return
        time.sleep(0.01)
    pytest.fail(f"{file.name} never came")


def check_conversation(server: WireServer) -> list[dict[str, Any]]:
    """Every request the server got holds a valid conversation; the messages of the last one."""
    for body in server.bodies():
        roles = [message["role"] for message in body["messages"]]
        assert roles[0] == "system"
        assert roles.count("system") == 1
        assert all(pair != ("user", "user") for pair in pairwise(roles))
        asked = [call["id"] for message in body["messages"] for call in message.get("tool_calls", [])]
        answered = [message["tool_call_id"] for message in body["messages"] if message["role"] == "tool"]
        assert sorted(asked) == sorted(answered)
    return server.bodies()[-1]["messages"]


def test_an_edit_is_confirmed_a_stream_interrupted_and_the_talk_goes_on(project: Path, open_chat: Open) -> None:
    replies = [calls(EDIT, text="I will fix it."), says("Mended."), ENDLESS, says("Second answer.")]
    with WireServer(replies) as server:
        chat = open_chat(server)
        chat.say("Fix @prices.py")
        question = chat.wait("[y]es", last="  ›")
        assert "+    return sum(prices) * (1 - discount)" in question
        assert (project / "prices.py").read_text() == BUG
        chat.say("y")
        chat.wait("Mended.", READY)
        assert "(1 - discount)" in (project / "prices.py").read_text()

        chat.say("Tell me a story")
        chat.wait("Once upon a time")
        chat.press("C-c")
        chat.wait("nterrupted", READY)
        assert server.disconnected.wait(5)

        chat.say("And now?")
        chat.wait("Second answer.", READY)
        chat.say("/undo")
        chat.wait("the previous version", READY)
        assert (project / "prices.py").read_text() == BUG
        chat.press("C-d")
        chat.wait("[left with 0]")
    messages = check_conversation(server)
    assert [message["role"] for message in messages] == [
        "system",
        "user",
        "assistant",
        "tool",
        "assistant",
        "user",
        "assistant",
        "user",
    ]
    assert messages[-2]["content"].startswith("Once upon a time")


def test_a_refusal_with_words_reaches_the_model(project: Path, open_chat: Open) -> None:
    with WireServer([calls(EDIT), says("Then I will ask first.")]) as server:
        chat = open_chat(server)
        chat.say("Fix it")
        chat.wait(last="  ›")
        chat.say("use a constant instead")
        chat.wait("Then I will ask first.", READY)
    assert "use a constant instead" in check_conversation(server)[-1]["content"]
    assert (project / "prices.py").read_text() == BUG


def test_a_command_is_stopped_with_ctrl_c(project: Path, open_chat: Open) -> None:
    slow = calls(("run_command", {"command": "echo $$ > started; sleep 600"}))
    with WireServer([slow, says("All right.")]) as server:
        chat = open_chat(server)
        chat.say("Wait a little")
        chat.wait(last="  ›")
        chat.say("y")
        chat.wait("s (Ctrl+C stops)")
        wait_for(project / "started")
        chat.press("C-c")
        chat.wait("nterrupted", READY)
        chat.say("Go on")
        chat.wait("All right.", READY)
    check_conversation(server)


def test_failures_of_the_server_are_told_and_the_chat_goes_on(open_chat: Open) -> None:
    broken = Reply(sse(delta(content="half an ")), cut=True)
    malformed = Reply((b"data: {nonsense\n\n",))
    recovering = [fails(500), says("Well again.")]
    with WireServer(
        [
            broken,
            says("and whole."),
            malformed,
            malformed,
            *recovering,
            fails(404, "model 'm' not found"),
            says("Still here."),
        ]
    ) as server:
        chat = open_chat(server)
        chat.say("one")
        chat.wait("Trying again", "and whole.", READY)
        chat.say("two")
        chat.wait("E2004", READY)
        chat.say("three")
        chat.wait("Well again.", READY)
        chat.say("four")
        chat.wait("E2005", READY)
        chat.say("five")
        chat.wait("Still here.", READY)
    check_conversation(server)


def test_an_alias_of_the_settings_and_japanese(open_chat: Open) -> None:
    alias = '[commands.aliases]\nsurvey = "プロジェクトを解析してください"\n'
    with WireServer([says("解析しました。")]) as server:
        chat = open_chat(server, alias, LANG="ja_JP.UTF-8")
        chat.say("/survey 簡単に")
        chat.wait("解析しました。", READY)
    assert check_conversation(server)[1]["content"].startswith("プロジェクトを解析してください 簡単に")
