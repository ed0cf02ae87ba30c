"""Speaking while it works, in the real program in a real terminal: told, kept for later, broken off, planned."""

import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from tests.support.sandbox_world import level_here
from tests.support.tmux import TMUX, Tmux
from tests.support.wire_server import Reply, WireServer, calls, delta, says, sse

pytestmark = pytest.mark.skipif(TMUX is None, reason="tmux is not installed")

READY = f" {level_here()} · "
BUG = "def total(prices, discount):\n    return sum(prices) * discount\n"
EDIT = calls(("edit_file", {"file_path": "prices.py", "old_string": "* discount", "new_string": "* (1 - discount)"}))
SLOW_LOOK = Reply(calls(("read_file", {"file_path": "prices.py"})).pieces, hold_head=True)
ENDLESS = Reply(sse(delta(content="Once upon a time"), delta(content=", never told")), hold_before=1)
PLAN = "1. Fix line 2 of `prices.py`.\n2. Run the tests.\n"

Open = Callable[..., Tmux]


@pytest.fixture
def shop() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as name:
        root = Path(name) / "shop"
        root.mkdir()
        (root / "prices.py").write_text(BUG)
        yield root


@pytest.fixture
def start(shop: Path) -> Iterator[Open]:
    opened: list[Tmux] = []

    def open_chat(server: WireServer, columns: int = 80, *, wait_for: str = READY, **environ: str) -> Tmux:
        chosen = '[llm]\nprovider = "lmstudio"\nmodel = "m"\nmax_retries = 1\n[llm.lmstudio]\n'
        (shop / "localllm.toml").write_text(f'{chosen}base_url = "{server.url}"\n', encoding="utf-8")
        variables = {"PATH": os.environ["PATH"], "HOME": str(shop.parent / "home"), "LANG": "C.UTF-8", **environ}
        command = [sys.executable, "-m", "localllm", "--trust-project"]
        chat = Tmux(shop, command, environ=variables, columns=columns)
        opened.append(chat)
        chat.wait(wait_for)
        return chat

    yield open_chat
    for chat in opened:
        chat.close()


def said_to(server: WireServer) -> list[str]:
    """What the user's messages say, in the last request; every request holds a valid conversation."""
    for body in server.bodies():
        roles = [message["role"] for message in body["messages"]]
        assert roles[0] == "system"
        assert all(pair != ("user", "user") for pair in pairwise(roles))
    for before, after in pairwise(server.bodies()):
        if len(after["messages"]) > len(before["messages"]):
            assert after["messages"][: len(before["messages"])] == before["messages"]
    return [text(message) for message in server.bodies()[-1]["messages"] if message["role"] == "user"]


def text(message: dict[str, Any]) -> str:
    return message["content"].split("\n\n[")[0]


def test_what_is_sent_before_there_is_a_prompt_is_sent_line_by_line(start: Open) -> None:
    with WireServer([says("Answer one."), says("Answer two.")]) as server:
        chat = start(server, wait_for="localllm ")
        for line in ("the first", "the second", "/checkpoint here"):
            chat.say(line)
        chat.type("not sent")
        screen = chat.wait("Answer one.", "Answer two.", "“here”", "› not sent", history=True)
        said = said_to(server)
    assert [text.partition("\n")[0] for text in said] == ["the first", "the second"]
    assert "the firstthe second" not in screen


def test_what_is_said_meanwhile_is_read_at_the_next_step_and_the_queued_run_in_turn(start: Open) -> None:
    with WireServer([SLOW_LOOK, says("Steered."), says("First queued."), says("Second queued.")]) as server:
        chat = start(server)
        chat.say("Look at the prices")
        chat.wait("waiting for the model")
        chat.type("日本語で")
        chat.wait("Enter: send now", "› 日本語で")
        chat.press("Enter")
        chat.type("then this")
        chat.press("M-Enter")
        chat.type("and that")
        chat.press("Tab")
        chat.say("/status")
        chat.wait("sent, not read yet: 日本語で", "next: then this", "… and 2 more")
        server.released.set()
        shown = chat.wait("Second queued.", READY, "lmstudio · http", history=True)
        order = ["● read_file", "› 日本語で", "Steered.", "› then this", "First queued.", "› and that", "› /status"]
        assert sorted(order, key=shown.index) == order
        assert said_to(server) == ["Look at the prices", "then this", "and that"]
        chat.press("Up", "Up")
        chat.wait("› and that\nask")
        result = server.bodies()[1]["messages"][3]
        assert result["role"] == "tool"
        assert result["content"].endswith("\n日本語で")


def test_a_queued_line_is_shown_behind_the_mode_like_one_at_the_prompt(start: Open) -> None:
    with WireServer([SLOW_LOOK, says("Looked.")]) as server:
        chat = start(server)
        chat.say("/mode auto-edit")
        chat.say("Look at the prices")
        chat.wait("waiting for the model")
        chat.say("/todo")
        chat.wait("next: /todo")
        server.released.set()
        chat.wait("Looked.", "auto-edit › /todo", "No TODOs.", history=True)


def test_an_answer_is_gone_on_from_with_what_was_said(start: Open) -> None:
    ended = Reply(says("Done early.").pieces, hold_before=2)
    with WireServer([ended, says("Went on.")]) as server:
        chat = start(server, LOCALLLM_UI_THEME="plain")
        chat.say("Talk")
        chat.wait("\nDo")
        chat.say("And the second line\\")
        chat.say("goes on here")
        chat.wait("sent, not read yet: And the second line␊goes on here")
        server.released.set()
        chat.wait("› And the second line", "Went on.", "steps 2", READY)
        assert said_to(server) == ["Talk", "And the second line\ngoes on here"]


@pytest.mark.parametrize("key", ["Escape", "C-c"])
def test_after_an_interrupt_nothing_is_lost(start: Open, key: str) -> None:
    with WireServer([ENDLESS, says("Heard.")]) as server:
        chat = start(server)
        chat.say("Tell me a story")
        chat.wait("Once upon a time")
        chat.say("told")
        chat.type("queued")
        chat.press("Tab")
        chat.type("half ")
        chat.press("Left", "M-x", "Up", "End")
        chat.type("a line")
        chat.wait("sent, not read yet: told", "next: queued", "› half a line")
        assert "nterrupted" not in chat.screen()
        chat.press(key)
        chat.wait("! Interrupted.", "› told\n  queued\n  half a line", READY)
        assert server.disconnected.wait(5)
        chat.press("Enter")
        chat.wait("Heard.", READY)
        assert said_to(server) == ["Tell me a story", "told\nqueued\nhalf a line"]


def test_a_long_paste_is_one_line_and_sent_whole(start: Open) -> None:
    lines = [f"pasted line {number}" for number in range(200)]
    with WireServer([says("Read."), says("Again.")]) as server:
        chat = start(server)
        chat.paste("\n".join(lines))
        chat.wait("› [pasted 200 lines]")
        chat.type(" and more")
        chat.press("Enter")
        screen = chat.wait("Read.", READY, history=True)
        assert screen.count("› [pasted 200 lines] and more") == 1
        assert "pasted line" not in screen
        assert said_to(server) == ["\n".join(lines) + " and more"]
        chat.press("Up")
        chat.wait("› [pasted 200 lines] and more\n")
        for _ in range(len(" and more") + 1):
            chat.press("BSpace")
        chat.say("short")
        chat.wait("› short", "Again.")
        assert said_to(server)[-1] == "short"


def test_what_is_pasted_is_one_text_and_waits_for_enter(start: Open) -> None:
    with WireServer([ENDLESS, says("Heard.")]) as server:
        chat = start(server, columns=200)
        chat.say("Tell me a story")
        chat.wait("Once upon a time")
        chat.paste("first\nsecond\n")
        chat.wait("› first␊second␊")
        chat.press("Enter")
        chat.wait("sent, not read yet: first␊second")
        chat.press("Up")
        chat.wait("› first␊second", gone="told")
        chat.press("C-u", "Escape")
        chat.wait("! Interrupted.", READY)


def test_typed_text_never_answers_a_question_and_is_told_after_it(start: Open, shop: Path) -> None:
    held = Reply(EDIT.pieces, hold_head=True)
    with WireServer([held, says("All right.")]) as server:
        chat = start(server)
        chat.say("Fix it")
        chat.wait("waiting for the model")
        chat.say("y")
        chat.wait("“y” was not sent.")
        chat.say("yes, go on")
        chat.type("y")
        chat.wait("sent, not read yet: yes, go on", "› y")
        server.released.set()
        chat.wait("[y]es", last="  ›")
        assert (shop / "prices.py").read_text() == BUG
        chat.say("n")
        chat.wait("› yes, go on", "All right.", READY, "› y\n")
        assert (shop / "prices.py").read_text() == BUG
        assert server.bodies()[-1]["messages"][-1]["content"].endswith("\nyes, go on")


def test_escape_at_a_question_says_no_and_breaks_off_the_run(start: Open, shop: Path) -> None:
    with WireServer([EDIT, says("Never asked.")]) as server:
        chat = start(server)
        chat.say("Fix it")
        chat.wait("[y]es", last="  ›")
        chat.press("Escape")
        chat.wait("! Interrupted.", READY)
        assert len(server.bodies()) == 1
    assert (shop / "prices.py").read_text() == BUG


def test_what_is_sent_during_a_command_of_ones_own_comes_after_it(start: Open) -> None:
    with WireServer([says("Heard.")]) as server:
        chat = start(server)
        chat.say("!sleep 1; echo over")
        chat.wait("› !sleep 1; echo over", gone=READY)
        chat.say("Hello")
        shown = chat.wait("  next: Hello", "over", "Heard.", READY)
        assert shown.index("over\n") < shown.index("› Hello") < shown.index("Heard.")
        assert server.bodies()[-1]["messages"][1]["content"].count("Hello") == 1


def test_a_conversation_is_cleared_before_what_is_queued_after_it(start: Open) -> None:
    with WireServer([SLOW_LOOK, says("Looked."), says("A fresh one.")]) as server:
        chat = start(server)
        chat.say("Look")
        chat.wait("waiting for the model")
        chat.say("/clear")
        chat.type("Hello")
        chat.press("M-Enter")
        chat.wait("next: /clear", "next: Hello")
        server.released.set()
        chat.wait("A new conversation", "A fresh one.", READY)
        assert said_to(server) == ["Hello"]


def test_a_queue_does_not_go_on_after_a_failure(start: Open) -> None:
    malformed = Reply((b"data: {nonsense\n\n",))
    broken = Reply((b"data: {nonsense\n\n",), hold_before=0)
    with WireServer([broken, malformed, says("Well again.")]) as server:
        chat = start(server)
        chat.say("one")
        chat.wait("waiting for the model")
        chat.type("two")
        chat.press("Tab")
        chat.wait("next: two")
        server.released.set()
        chat.wait("E2004", "› two", READY)
        assert not [body for body in server.bodies() if "two" in str(body["messages"][-1])]


def test_a_plan_is_made_accepted_and_carried_out(start: Open, shop: Path) -> None:
    with WireServer([EDIT, says(PLAN), EDIT, says("Mended.")]) as server:
        chat = start(server)
        chat.say("/plan Fix the discount")
        shown = chat.wait("Carry out this plan?", last="  ›")
        assert "this is plan mode" in shown
        assert "[y]es, asking before changes  [e]dit files without asking  [n]o (Enter)\n" in shown
        assert (shop / "prices.py").read_text() == BUG
        chat.say("e")
        chat.wait("→ The plan is accepted.", "Mended.", "auto-edit ›", READY)
        assert "(1 - discount)" in (shop / "prices.py").read_text()
        assert said_to(server)[1].startswith("The plan is accepted.")
        first, *_, last = (body["messages"] for body in server.bodies())
        assert first[0] == last[0]
        assert "[Plan mode: " in first[1]["content"]
        assert sum("[Plan mode is off" in message["content"] for message in last) == 1


def test_a_plan_is_talked_about_and_left_in_japanese(start: Open, shop: Path) -> None:
    plan = "1. `prices.py` を直す。\n2. テストで確かめる。"
    with WireServer([says(plan), says(plan), says("はい。")]) as server:
        chat = start(server, LANG="ja_JP.UTF-8")
        chat.say("/plan 割引を直して")
        chat.wait("[y] はい（変更ごとに確認）  [e] はい（ファイルの変更は確認なし）\n", last="  ›")
        chat.say("もっと小さく")
        chat.wait("› もっと小さく", "この計画を実行しますか。", last="  ›")
        chat.press("Enter")
        chat.wait("計画モードのままです。", "plan ›", READY)
        chat.say("/mode ask")
        chat.wait("● ask", READY)
        chat.say("終わり？")
        chat.wait("はい。", READY)
        assert said_to(server) == ["割引を直して", "もっと小さく", "終わり？"]
        assert "[Plan mode is off" in server.bodies()[-1]["messages"][-1]["content"]
    assert (shop / "prices.py").read_text() == BUG
