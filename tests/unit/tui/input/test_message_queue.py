"""What is written while a run goes on: told, queued, taken back, given back; nothing is lost, nothing sent twice."""

import sys
from collections.abc import Callable
from io import StringIO
from pathlib import Path
from typing import Any, cast

import pytest

from localllm.config.schema import Mode
from localllm.text.sanitising import display_width
from localllm.tui.bracketed_paste import PASTE_BEGINS, PASTE_ENDS
from localllm.tui.commands.context import ChatContext
from localllm.tui.commands.registry import command_name, first_line
from localllm.tui.input.message_queue import Outbox
from localllm.tui.input.strangers_words import StrangersWords
from localllm.tui.input.typeahead import TypeAhead
from localllm.tui.render.screen import Screen
from localllm.tui.theme import Theme


class Chat:
    """A program with a run going on, or none."""

    root = Path()
    mode: Mode = "ask"

    def __init__(self, *, runs: bool = True) -> None:
        self.runs = runs
        self.unread: list[str] = []
        self.typed: list[str | None] = []

    @property
    def listens(self) -> bool:
        return self.runs

    def steer(self, text: str, *, typed: str | None = None) -> bool:
        if self.runs:
            self.unread.append(text)
            self.typed.append(typed)
        return self.runs

    def unsteer(self) -> str:
        return self.unread.pop() if self.unread else ""

    def set_mode(self, mode: Mode) -> None:
        self.mode = mode


class Writing:
    """Somebody at the keyboard."""

    def __init__(self, *, runs: bool = True, is_live: bool = True, typed: Callable[[str], str] = str) -> None:
        self.chat = Chat(runs=runs)
        self.stream = StringIO()
        self.interrupts = 0
        self.remembered: list[str] = []
        self.typeahead = TypeAhead(sys.stdin)
        screen = Screen(self.stream, Theme(plain=True))
        chat: ChatContext = cast("Any", self.chat)
        self.outbox = Outbox(
            self.typeahead, screen, chat, self._interrupt, self.remembered.append, is_live=lambda: is_live, typed=typed
        )

    def _interrupt(self) -> None:
        self.interrupts += 1

    def send(self, *lines: str) -> None:
        for line in lines:
            self.typeahead.keep(line)
            self.outbox.press("enter")

    def queue(self, *lines: str) -> None:
        for line in lines:
            self.typeahead.keep(line)
            self.outbox.press("queue")

    def lines(self, width: int = 80) -> list[str]:
        return ["".join(text for _, text in line) for line in self.outbox.lines(width)]


def test_enter_tells_the_run_and_the_other_key_queues() -> None:
    writing = Writing()
    writing.send("now")
    writing.queue("later", "last")
    assert writing.chat.unread == ["now"]
    assert writing.lines() == ["  sent, not read yet: now", "  next: later", "  next: last"]
    assert writing.remembered == ["now", "later", "last"]
    writing.chat.unread.clear()
    writing.outbox.settle()
    assert [writing.outbox.next() for _ in range(3)] == ["later", "last", None]


@pytest.mark.parametrize("line", ["y", " N ", "yes", "はい", "ｙ", "いいえ", "a", "p", "v"])
@pytest.mark.parametrize("runs", [True, False])
def test_an_answer_without_a_question_is_not_sent_by_enter(line: str, runs: bool) -> None:
    writing = Writing(runs=runs)
    writing.send(line)
    assert (writing.chat.unread, writing.outbox.is_empty) == ([], True)
    said = f"“{line.strip()}” was not sent."
    assert said in writing.lines(120)[-1]
    writing.queue(line)
    assert writing.lines(120) == [f"  next: {line}"]
    writing.send(line)
    writing.outbox.press("queue")
    assert writing.lines(120) == [f"  next: {line}", f"  next: {line.strip()}"]
    writing.outbox.press("queue")
    assert len(writing.lines(120)) == 2, "it is sent once"
    hidden = Writing(runs=runs, is_live=False)
    hidden.send(line)
    assert said in hidden.stream.getvalue()


@pytest.mark.parametrize("line", ["yes, but in German", "no tests", "project", "always", "view", "x", "1", "ok", "ぬ"])
def test_other_short_lines_are_sent(line: str) -> None:
    writing = Writing()
    writing.send(line)
    assert writing.chat.unread == [line]


@pytest.mark.parametrize("line", ["/clear", "/rewind 1", " /nonsense", "!ls", "/", "/model x"])
def test_what_is_for_the_chat_never_goes_to_the_model(line: str) -> None:
    writing = Writing()
    writing.send(line)
    assert writing.chat.unread == []
    assert writing.outbox.next() == line


def test_a_path_is_no_command() -> None:
    writing = Writing()
    writing.send("/usr/bin/x is odd")
    assert writing.chat.unread == ["/usr/bin/x is odd"]


def test_where_no_run_can_take_it_it_is_queued() -> None:
    writing = Writing(runs=False)
    writing.send("then this")
    assert writing.outbox.next() == "then this"


@pytest.mark.parametrize("line", ["", "  ", "\n"])
def test_nothing_is_not_sent(line: str) -> None:
    writing = Writing()
    writing.send(line)
    writing.queue(line)
    assert writing.outbox.is_empty


def test_what_was_not_read_is_given_back_in_its_order_before_what_is_being_written() -> None:
    writing = Writing()
    writing.send("one", "two\nlines")
    writing.queue("three")
    writing.typeahead.keep("unfini")
    writing.outbox.settle()
    assert writing.outbox.give_back() == "one\ntwo\nlines\nthree\nunfini"
    assert writing.outbox.give_back() == ""
    assert writing.outbox.is_empty


def test_what_is_typed_next_does_not_come_behind_a_line_that_was_ended() -> None:
    writing = Writing()
    writing.typeahead.keep("/undo\r")
    assert writing.outbox.give_back() == "/undo\n"


def test_what_was_sent_before_it_was_there_waits_its_turn() -> None:
    writing = Writing(runs=False)
    writing.outbox.queue(["one", "/exit"])
    writing.send("two")
    assert writing.remembered == ["one", "/exit", "two"]
    assert [writing.outbox.next() for _ in range(3)] == ["one", "/exit", "two"]


def test_commands_among_what_was_given_back_are_commands_again() -> None:
    writing = Writing()
    writing.queue("one", "two", "/todo add three", "!git status\n--short", "four")
    given = writing.outbox.give_back()
    assert writing.outbox.sent(given) == "one\ntwo"
    assert [writing.outbox.next() for _ in range(4)] == ["/todo add three", "!git status\n--short", "four", None]
    writing.queue("/todo x")
    writing.typeahead.keep("unfinished")
    assert writing.outbox.give_back() == "/todo x\nunfinished"
    assert writing.outbox.sent("/todo y\nfinished") == "/todo y", "edited"
    assert writing.outbox.next() == "finished"


@pytest.mark.parametrize("piece", ["read this:\n!pip install x\nend", "!python - <<E\nprint(1)\nE", "/todo - a\n- b"])
def test_an_edited_line_makes_no_commands_of_the_lines_of_another(piece: str) -> None:
    for old, new in (("add x", "add z"), ("/todo add", "/todo high"), ("add y", "add y\nand then")):
        writing = Writing()
        writing.queue("/todo add x", piece, "/todo add y")
        text = writing.outbox.give_back().replace(old, new)
        done = [writing.outbox.sent(text)]
        while following := writing.outbox.next():
            done.append(following)
        assert piece in done
        assert "\n".join(done) == text


@pytest.mark.parametrize("pasted", ["line\n!touch x\n/mode auto\nend", "!touch x\nend"])
@pytest.mark.parametrize("pieces", [("look at the log", "/status"), ("!make", "/status", "words")])
def test_no_line_that_is_pasted_into_them_becomes_a_command(pieces: tuple[str, ...], pasted: str) -> None:
    for edited in (f"{{}}{pasted}", f"{pasted}{{}}", f"{pasted}\n{{}}", f"{{}}\n{pasted}", pasted):
        writing = Writing()
        writing.queue(*pieces)
        given = writing.outbox.give_back()
        parts = [writing.outbox.sent(edited.format(given))]
        while (queued := writing.outbox.next()) is not None:
            parts.append(queued)
        commands = [part for part in parts if first_line(part).startswith("!") or command_name(part) is not None]
        assert all(part.startswith(("!make", "/status")) for part in commands), parts
        assert "touch x" in "".join(parts)


@pytest.mark.parametrize("pasted", ["log\n!make evil", "one more line of a log\n!make evil", "log\n! evil"])
def test_no_pasted_line_replaces_a_command_that_begins_like_it(pasted: str) -> None:
    strangers = StrangersWords()
    writing = Writing(typed=strangers.typed)
    writing.queue("first", "!make test", "! make", "/todo x")
    writing.outbox.give_back()
    strangers.add(pasted)
    assert writing.outbox.sent(f"{pasted}\n/todo x") == pasted
    assert [writing.outbox.next() for _ in range(2)] == ["/todo x", None]
    writing.queue("first", "!make test", "/todo x")
    writing.outbox.give_back()
    assert writing.outbox.sent("!make tests\nlast") == "!make tests", "typed"


@pytest.mark.parametrize("pasted", ["!touch x", "!touch x\rend", f"!touch x; {'#' * 300}", "/mode auto", " /x", "／x"])
def test_what_is_pasted_meanwhile_is_no_command(pasted: str) -> None:
    for before in ("", "  ", "look:\n", " \n "):
        writing = Writing()
        writing.typeahead.keep(f"{before}{PASTE_BEGINS}{pasted}{PASTE_ENDS}")
        assert "Enter: send now" in writing.lines()[0], before
        writing.outbox.press("enter")
        (sent,) = writing.chat.unread
        assert command_name(sent) is None
        assert not first_line(sent).startswith("!")
        assert sent.endswith(pasted.replace("\r", "\n"))


def test_what_is_pasted_behind_a_typed_sign_belongs_to_the_command() -> None:
    writing = Writing()
    writing.send(f"!{PASTE_BEGINS}git status{PASTE_ENDS}")
    writing.typeahead.keep("!cat <<E")
    writing.send(f"{PASTE_BEGINS}\rtext\rE{PASTE_ENDS}")
    assert [writing.outbox.next() for _ in range(2)] == ["!git status", "!cat <<E\ntext\nE"]
    assert writing.chat.unread == []


def test_a_text_that_was_not_given_back_stays_one() -> None:
    writing = Writing()
    assert writing.outbox.sent("look at this:\n/etc is a folder\n/todo x") == "look at this:\n/etc is a folder\n/todo x"
    writing.queue("!python - <<E\nprint(1)\nE")
    given = writing.outbox.give_back()
    assert writing.outbox.sent(given) == given
    writing.queue("one", "two")
    assert writing.outbox.sent(writing.outbox.give_back()) == "one\ntwo"
    assert writing.outbox.next() is None


def test_the_hint_says_what_enter_does() -> None:
    writing = Writing()
    writing.typeahead.keep("use tabs")
    assert "send now" in writing.lines()[0]
    writing.chat.runs = False
    assert writing.lines()[0] == "  Enter, Tab: send after this · Esc: stop", "while a panel is asked"
    writing.chat.runs = True
    writing.typeahead.take()
    writing.typeahead.keep("/todo x")
    assert writing.lines()[0] == "  Enter, Tab: send after this · Esc: stop", "a command is never told to the model"


def test_what_a_run_that_ended_did_not_read_comes_first() -> None:
    writing = Writing()
    writing.queue("second")
    writing.send("first")
    assert not writing.outbox.is_empty
    writing.outbox.settle()
    assert [writing.outbox.next(), writing.outbox.next()] == ["first", "second"]


def test_up_takes_back_what_was_sent_last_told_or_queued() -> None:
    writing = Writing()
    writing.queue("first")
    writing.send("second", "third")
    writing.queue("fourth")
    writing.chat.unread.remove("second")  # read
    for text in ("fourth", "third", "first", ""):
        writing.outbox.press("up")
        assert writing.typeahead.take() == text
    assert writing.outbox.is_empty


def test_up_leaves_a_line_alone_that_is_being_written() -> None:
    writing = Writing()
    writing.send("told")
    writing.queue("queued")
    writing.outbox.press("up")
    assert writing.typeahead.take() == "queued"
    writing.typeahead.keep("x")
    writing.outbox.press("up")
    assert writing.typeahead.take() == "x"
    writing.outbox.press("up")
    assert writing.typeahead.take() == "told"
    writing.outbox.press("up")
    assert writing.typeahead.take() == ""
    assert writing.outbox.is_empty


def test_escape_interrupts_and_leaves_what_is_written() -> None:
    writing = Writing()
    writing.typeahead.keep("half")
    writing.outbox.press("escape")
    assert writing.interrupts == 1
    assert writing.typeahead.text() == "half"


def test_shift_tab_changes_the_mode_and_shows_it() -> None:
    writing = Writing()
    writing.outbox.press("mode")
    assert writing.chat.mode == "auto-edit"
    assert writing.lines() == ["auto-edit › "]


@pytest.mark.parametrize("width", [20, 40, 80, 200])
def test_the_lines_fit_and_the_last_shows_the_end_of_what_is_written(width: int) -> None:
    writing = Writing()
    writing.send(*["日本語の長い文章" * 20] * 5)
    writing.typeahead.keep("もっと長い文章をここに書く\n" * 20 + "おわり")
    lines = writing.lines(width)
    assert len(lines) == 5
    assert all(display_width(line) <= width for line in lines)
    assert lines[-1].endswith("おわり")
    assert "… and 3 more" in lines[2]


def test_where_nothing_is_shown_below_it_is_said() -> None:
    writing = Writing(is_live=False)
    writing.send("now")
    writing.queue("日\n本")
    writing.outbox.press("up")
    shown = ["  sent, not read yet: now", "  next: 日␊本", "  taken back: 日␊本"]
    assert writing.stream.getvalue().splitlines() == shown


def test_what_was_pasted_of_a_line_is_told_apart() -> None:
    writing = Writing(typed=lambda text: text.replace("pasted", ""))
    writing.send("see pasted", "now")
    assert writing.chat.typed == ["see ", "now"]


def test_a_request_that_no_model_has_read_is_to_be_edited_before_the_others() -> None:
    writing = Writing()
    writing.outbox.queue(["second"])
    writing.outbox.put_back("")
    writing.outbox.put_back("first")
    assert writing.outbox.give_back() == "first\nsecond"
