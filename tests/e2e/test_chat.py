"""The chat on a real terminal, with a made-up program behind it (chat_peer.py)."""

import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.support.tmux import TMUX, Tmux

PEER = Path(__file__).with_name("chat_peer.py")
READY = " landlock · "
"""Part of the toolbar, which is there only while the chat waits for a line."""

Open = Callable[..., Tmux]

needs_tmux = pytest.mark.skipif(TMUX is None, reason="tmux is not installed")


@pytest.fixture
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as name:
        yield Path(name)


@pytest.fixture
def open_chat(folder: Path) -> Iterator[Open]:
    opened: list[Tmux] = []

    def start(columns: int = 80, rows: int = 24, **environ: str) -> Tmux:
        variables = {"PEER_STATE": str(folder / "state"), "LANG": "C.UTF-8", **environ}
        chat = Tmux(folder, [sys.executable, str(PEER)], environ=variables, columns=columns, rows=rows)
        opened.append(chat)
        chat.wait(READY)
        return chat

    yield start
    for chat in opened:
        chat.close()


def ask(chat: Tmux, line: str) -> None:
    """Say `line` at the chat's prompt, once it is there: what comes earlier waits for Enter."""
    chat.wait(READY)
    chat.say(line)


def answer(chat: Tmux, line: str) -> None:
    """Say `line` to a question, once it is asked."""
    chat.wait(last="  ›")
    chat.say(line)


def lines(screen: str) -> list[str]:
    return [line.rstrip() for line in screen.splitlines() if line.strip()]


@needs_tmux
def test_streaming_then_a_second_request(open_chat: Open) -> None:
    chat = open_chat()
    first = chat.screen()
    assert "localllm" in lines(first)[0]
    assert "! A notice for the start." in first
    assert "“model” is not used" in first
    ask(chat, "stream")
    chat.wait("The end.", "steps 2")
    ask(chat, "think")
    shown = chat.wait("Thought about it.", history=True)
    assert " • second, with a longer text that has to be wrapped because the terminal is not\n   wide enough" in shown
    assert " name  value\n ───────────\n one       1\n two     200\n" in shown
    assert "  thought for " in shown
    for part in ("A heading", "def fizz", "The end.", " two     200"):
        assert shown.count(part) == 1
    assert "waiting for the model" not in shown


@needs_tmux
def test_questions(open_chat: Open) -> None:
    chat = open_chat()
    ask(chat, "edit")
    chat.wait('    -print("old")', '    +print("new")', "[y]es")
    answer(chat, "y")
    shown = chat.wait("  ✓ done in 0.1 s", "Approved: True by user.")
    assert shown.count('+print("new")') == 1
    ask(chat, "run")
    chat.wait("    $ make test␍␊\n      echo 終わり")
    answer(chat, "タブを使って")
    chat.wait("✗ refused: タブを使って", "Approved: False by user.", READY)
    ask(chat, "run again")
    answer(chat, "a")
    chat.wait("    … 14 lines above\n    out 14")
    ask(chat, "/rules")
    chat.wait("run_command(make test␍␊echo 終わり) · exactly · this session")
    ask(chat, "/rules remove 1")
    chat.wait("You are asked again about run_command(make test")
    ask(chat, "/rules")
    chat.wait("There are no rules.")


@needs_tmux
def test_an_answer_for_the_project_may_be_shortened(open_chat: Open) -> None:
    chat = open_chat()
    ask(chat, "later")
    chat.wait("    $ make", "always this [p]roject")
    answer(chat, "p")
    chat.wait("Always allow exactly this", "› make")
    chat.press("BSpace", "Enter")
    chat.wait("would not allow this command", last="  › make")
    chat.press("Enter")
    chat.wait("exactly as written: run_command(make)", "Approved: True by user.")
    ask(chat, "/rules")
    chat.wait("run_command(make) · exactly · this project")


@needs_tmux
def test_shift_tab_and_a_command_change_the_mode(open_chat: Open) -> None:
    chat = open_chat()
    chat.wait("ask · peer-7b")
    chat.press("BTab")
    chat.wait("auto-edit ›", "auto-edit · peer-7b")
    ask(chat, "/mode plan")
    chat.wait("● plan", "reads only", "plan ›", "plan · peer-7b")


@needs_tmux
def test_a_mode_that_is_not_possible_here_is_left(open_chat: Open) -> None:
    chat = open_chat(PEER_IN_AUTO="1")
    screen = chat.wait("The mode is now ask.")
    assert "E9016" in screen
    assert "no kernel for it." in screen
    chat.wait("ask · peer-7b")


@needs_tmux
def test_a_long_change_is_viewed_and_refused_by_enter(open_chat: Open) -> None:
    chat = open_chat()
    ask(chat, "long")
    chat.wait("more lines", "[v]iew all")
    answer(chat, "v")
    chat.wait("PageDown")
    for line in ("+line 21", "+line 43", "+line 60"):
        chat.press("PageDown")
        chat.wait(line)
    chat.press("q")
    answer(chat, "")
    chat.wait("Approved: False by user.")


@needs_tmux
def test_ctrl_c_interrupts_the_run_and_what_was_typed_is_next(open_chat: Open) -> None:
    chat = open_chat()
    ask(chat, "wait")
    chat.wait("waiting for the model")
    chat.type("hello 日本x")
    chat.press("BSpace")
    chat.wait("› hello 日本")
    chat.press("C-c")
    chat.wait("! Interrupted.", "› hello 日本", READY)
    chat.press("Enter")
    chat.wait("You said: hello 日本")


@needs_tmux
def test_what_was_typed_ahead_never_answers_a_question(open_chat: Open) -> None:
    chat = open_chat()
    ask(chat, "later")
    chat.wait("waiting for the model")
    chat.say("y")
    chat.wait("“y” was not sent.")
    chat.say("go on")
    chat.type("y")
    chat.wait("sent, not read yet: go on", "› y")
    chat.press("C-a")
    shown = chat.wait("[y]es", last="  ›")
    assert "Approved" not in shown
    chat.press("C-c")
    chat.wait("! Interrupted.", "› go on\n  y", READY)


@needs_tmux
def test_nor_does_it_answer_the_question_what_always_means(open_chat: Open) -> None:
    chat = open_chat()
    ask(chat, "later")
    chat.wait("always this [p]roject", last="  ›")
    chat.press("p", "Enter", "Enter")
    chat.wait("Always allow exactly this", last="  › make")
    time.sleep(0.3)
    assert "Approved" not in chat.screen()
    chat.press("Enter")
    chat.wait("exactly as written", "Approved: True by user.")


@needs_tmux
def test_a_resize_in_the_middle_leaves_no_traces(open_chat: Open) -> None:
    chat = open_chat()
    ask(chat, "slowly")
    chat.wait("second, with")
    chat.resize(50, 24)
    chat.wait("value")
    chat.resize(100, 30)
    shown = chat.wait("steps 2", READY, history=True)
    for part in ("A heading", "first", "second, with", "nested", "def fizz", "two", "The end."):
        assert shown.count(part) == 1, shown


@needs_tmux
def test_japanese(open_chat: Open) -> None:
    chat = open_chat(PEER_LANGUAGE="ja")
    chat.wait("Ctrl+D で終了")
    ask(chat, "japanese")
    shown = chat.wait("以上です。", "ステップ 2")
    assert "「次のように」条件を並べます。この文章は八十桁の端\n末では" in shown
    assert " 1. 3の倍数ならFizzと表示します。" in shown
    assert " 入力  出力\n" in shown
    ask(chat, "/help")
    chat.wait("コマンドの一覧", "サーバーのモデルを一覧する。", history=True)
    ask(chat, "edit")
    assert "危険度" not in chat.wait("[y] はい")
    answer(chat, "はい")
    chat.wait("Approved: True")


@needs_tmux
def test_commands(open_chat: Open) -> None:
    chat = open_chat(columns=100, rows=80)
    ask(chat, "/help")
    chat.wait(
        "/model [name] ", " Show the model, or switch to another; part of its name", "/review ", " stream review this"
    )
    ask(chat, "/modell")
    chat.wait("There is no command /modell.", "Did you mean /model?")
    ask(chat, "/model other-13b")
    chat.wait("Peer · http://127.0.0.1:1 · other-13b", "llm.model other-13b", "other-13b · sandbox")
    ask(chat, "/undo")
    chat.wait("✗ E8075")
    ask(chat, "/review this")
    chat.wait("→ stream review this this", "The end.")
    ask(chat, "/usr/bin/env is a path")
    chat.wait("You said: /usr/bin/env is a path")
    ask(chat, "/exit")
    chat.wait("[left with 0]")


@needs_tmux
def test_the_keyboard(open_chat: Open, folder: Path) -> None:
    chat = open_chat()
    chat.type("/mo")
    chat.wait("/models  List the models")
    chat.press("C-c")
    chat.wait(gone="List the models")
    chat.type("first\\")
    chat.press("Enter")
    chat.type("second")
    chat.press("M-Enter")
    chat.say("third")
    chat.wait("You said: first\nsecond\nthird", READY)
    chat.press("C-c")
    chat.wait("Ctrl+D or /exit leaves.")
    chat.press("C-d")
    chat.wait("[left with 0]")
    assert (folder / "before").read_text() == (folder / "after").read_text()
    history = folder / "state" / "history"
    assert history.stat().st_mode & 0o777 == 0o600
    assert "third" in history.read_text(encoding="utf-8")


@needs_tmux
@pytest.mark.parametrize(("said", "shown"), [("wait", "waiting for the model"), ("edit", "[y]es"), ("", "›")])
def test_terminating_restores_the_terminal(open_chat: Open, folder: Path, said: str, shown: str) -> None:
    chat = open_chat()
    ask(chat, said)
    chat.wait(shown)
    os.kill(int((folder / "state" / "pid").read_text()), 15)
    chat.wait("[left with 143]")
    assert (folder / "before").read_text() == (folder / "after").read_text()


@needs_tmux
def test_a_chat_without_a_history_file(open_chat: Open, folder: Path) -> None:
    (folder / "state" / "history").mkdir(parents=True)
    chat = open_chat()
    chat.wait("! Your input history is not saved")
    ask(chat, "hello")
    chat.wait("You said: hello")


@needs_tmux
def test_a_long_line_is_echoed_broken_between_words(open_chat: Open) -> None:
    chat = open_chat()
    ask(chat, "echo " * 15 + "between words")
    chat.wait("You said: echo", "\n› " + "echo " * 14 + "echo\n  between words\n")


@needs_tmux
def test_typed_bytes_that_are_no_text(open_chat: Open) -> None:
    chat = open_chat()
    chat.press("-H", "ff", "61", "0d")
    chat.wait("You said: ?a")


@needs_tmux
def test_no_color_takes_the_colours_and_nothing_else(open_chat: Open) -> None:
    chat = open_chat(NO_COLOR="1")
    ask(chat, "stream")
    chat.wait("The end.", "steps 2", " two     200", history=True)
    assert not re.search(r"\x1b\[(?:[\d;]*;)?(?:3[0-7]|4[0-7]|9[0-7]|[34]8;)", chat.screen(history=True, colours=True))


@needs_tmux
def test_nothing_from_a_model_acts(open_chat: Open) -> None:
    chat = open_chat()
    ask(chat, "evil")
    shown = chat.wait("␛[1mcode", "steps 2")
    assert "! ␛]0;title␇␛[2J notice <U+202E>" in shown
    assert "a␛[31mred␛[2J b<U+202E>c <U+009B>5m" in shown


def test_piped_lines_are_requests_and_only_answers_go_to_stdout(folder: Path) -> None:
    done = subprocess.run(
        [sys.executable, PEER],
        input="hello\n\n/models\nrun it\nevil\n",
        capture_output=True,
        text=True,
        encoding="utf-8",
        env={**os.environ, "PEER_STATE": str(folder), "PEER_LANGUAGE": "en"},
        timeout=30,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(
        "You said: hello\n  OpenAI-compatible  http://127.0.0.1:1\n  * peer-7b\n    other-13b\n"
    )
    assert "\nApproved: False by unattended.\n" in done.stdout
    assert "● run_command make test" in done.stderr
    assert "! A notice for the start." in done.stderr


@needs_tmux
def test_a_code_block_is_copied_through_tmux(open_chat: Open) -> None:
    chat = open_chat(DISPLAY="", WAYLAND_DISPLAY="", WSL_DISTRO_NAME="")
    ask(chat, "/copy 1")
    chat.wait("Copied code block 1 by tmux: 2 lines.")
    assert chat.clipboard() == "echo one\n\techo [31mtwo"
