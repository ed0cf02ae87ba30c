"""Whether to believe a project's settings: what is shown, what counts as an answer, and what was typed before."""

import codecs
import fcntl
import os
import pty
import re
import struct
import termios
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from localllm.base.i18n import set_language
from localllm.config.schema import Settings
from localllm.config.section import Section
from localllm.text.sanitising import display_width
from localllm.tui.bracketed_paste import PASTE_BEGINS, PASTE_ENDS, PasteReader
from localllm.tui.dialogs import trust
from localllm.tui.dialogs.trust import MAX_ROWS, ask_trust, gravity, setting_lines
from localllm.tui.render.screen import Screen
from localllm.tui.theme import Line, Theme

FILE = Path("/shop", *(f"x{' ' * 76}ui.theme = 'dark'{number}" for number in range(40)), "localllm.toml")
VALUES: dict[str, Any] = {"llm.max_retries": 9, "safety.allow": ("run_command(make)",)}
QUESTION = "[y/N]"


def leaves(section: Section, before: str = "") -> Iterator[tuple[str, Any]]:
    """Every setting and its default."""
    for name in section.__struct_fields__:
        value = getattr(section, name)
        if isinstance(value, Section):
            yield from leaves(value, f"{before}{name}.")
        else:
            yield f"{before}{name}{'.x' if isinstance(value, dict) else ''}", value


def plain(lines: list[Line]) -> str:
    return "\n".join("".join(text for _, text in line) for line in lines)


class TestShowing:
    def test_the_gravest_first_and_why(self) -> None:
        values = {"commands.aliases.x": "!y", **VALUES, "llm.openai.base_url": "http://far"}
        assert plain(setting_lines(FILE, values, 100)).splitlines() == [
            '  llm.openai.base_url = "http://far"  (your words, files and the key, if set, are sent there)',
            '  safety.allow = ["run_command(make)"]  (done without asking you)',
            '  commands.aliases.x = "!y"  (what this word stands for)',
            "  llm.max_retries = 9",
        ]

    @pytest.mark.parametrize("end", ["", "\n", "\u2028"])
    def test_nothing_grave_hides_behind_the_last_row(self, end: str) -> None:
        aliases = {f"commands.aliases.a{number}{end}": "!x" for number in range(30)}
        shown = plain(setting_lines(FILE, {**aliases, "safety.require_confirmation": False}, 100)).splitlines()
        assert len(shown) == MAX_ROWS + 1
        assert "safety.require_confirmation = false" in shown[0]
        assert shown[-1] == f"  … and 19 more (what this word stands for): read {FILE.name} before you say yes."

    def test_of_every_setting_it_is_known_how_grave_it_is(self) -> None:
        assert [key for key, _ in leaves(Settings()) if gravity(key) < 0] == []

    def test_settings_without_a_word_on_them_come_last(self) -> None:
        grave = {
            "llm.openai.base_url": "https://far",
            "agents.panel.judge.base_url": "https://far",
            "research.provider": "openai",
            "rag.embedding_provider": "openai",
            "rag.qdrant_url": "https://far",
            "trace.endpoint": "https://far",
            "ensemble.config": "far.json",
            "safety.network_hosts": ("far",),
            "safety.allow": ("run_command",),
            "safety.mode": "auto",
            "safety.auto_backup": False,
        }
        fill = {key: value for key, value in leaves(Settings()) if re.match(r"(research|market|queue|project)\.", key)}
        shown = plain(setting_lines(FILE, {**fill, **grave}, 160)).splitlines()
        assert all(any(f"{key} = " in line and line.endswith(")") for line in shown) for key in grave)

    def test_of_the_grave_ones_that_have_no_room_it_is_said_what_they_do(self) -> None:
        fill = {f"llm.{name}.base_url": "https://far/" + "x" * 900 for name in "abcdef"}
        shown = " ".join(plain(setting_lines(FILE, {**fill, "safety.mode": "auto"}, 80)).split())
        assert "changes and commands are not asked about): read" in shown

    @pytest.mark.parametrize("width", [40, 80])
    def test_long_values_are_cut_and_nothing_acts(self, width: int) -> None:
        lines = setting_lines(FILE, {"safety.allow": ("x" * 900,), "commands.aliases.\x1b[2J\u202e": "日" * 400}, width)
        assert len(lines) <= MAX_ROWS + 3
        assert all(display_width(plain([line])) <= width for line in lines)
        assert f"(…): read {FILE.name}" in " ".join(plain(lines).split())
        assert not {"\x1b", "\u202e"} & set(plain(lines))

    @pytest.mark.parametrize("width", [40, 80])
    @pytest.mark.parametrize("height", range(4, 16))
    def test_on_a_low_screen_the_gravest_stay_on_it(self, width: int, height: int) -> None:
        fill = {key: value for key, value in leaves(Settings()) if re.match(r"(market|logging|ui)\.", key)}
        shown = setting_lines(FILE, {**fill, "llm.openai.base_url": "https://far"}, width, height)
        assert len(shown) <= height
        assert f"read {FILE.name}" in " ".join(plain(shown[-4:]).split())
        if height >= 8:
            assert plain(shown).startswith("  llm.openai.base_url = ")

    def test_no_row_is_longer_or_higher_in_the_terminal_than_it_is_counted(self) -> None:
        family = "\U0001f468\u200d\U0001f469\u200d\U0001f467\u200d\U0001f466"
        values = {
            f"commands.aliases.a{at}": text for at, text in enumerate(("-" + "\u1b44" * 8, family, "e" + "\u0301" * 50))
        }
        lines = setting_lines(FILE, {**values, **{key: text * 300 for key, text in values.items()}}, 80)
        for line in plain(lines).splitlines():
            assert sum(2 if one >= "\U0001f000" else one != "\u0301" for one in line) <= 80
            assert "\u0301" * 9 not in line


class Person:
    """A pseudo-terminal whose person types what the screen makes him type, and the question that is asked there."""

    def __init__(self) -> None:
        self.keyboard, self._terminal = pty.openpty()
        self.shown = self._unread = ""
        self.kept = ""
        self.pastes = PasteReader()
        self._decoder = codecs.getincrementaldecoder("utf-8")()

    def close(self) -> None:
        for fd in (self.keyboard, self._terminal):
            with suppress(OSError):
                os.close(fd)

    def type(self, text: str) -> None:
        os.write(self.keyboard, text.encode())

    def wait_for(self, text: str) -> None:
        """Read the screen on until `text` has come."""
        while text not in self._unread:
            more = self._decoder.decode(os.read(self.keyboard, 1000))
            self.shown += more
            self._unread += more
        self._unread = self._unread.partition(text)[2]

    def send(self, *pieces: str) -> None:
        """Type pieces, each only when the one before has been read."""
        for piece in pieces:
            self.type(piece)
            while struct.unpack("i", fcntl.ioctl(self._terminal, termios.FIONREAD, b"\0" * 4))[0]:
                time.sleep(0.001)

    def wait_until_edited(self) -> None:
        """The question has taken what was typed before it, and a line can be typed."""
        while termios.tcgetattr(self._terminal)[0] & termios.ICRNL:
            time.sleep(0.001)

    def asked(self, acts: Callable[[], None]) -> bool | None:
        actor = threading.Thread(target=acts, daemon=True)
        quiet = termios.tcgetattr(self._terminal)
        quiet[3] &= ~termios.ECHO
        termios.tcsetattr(self._terminal, termios.TCSANOW, quiet)
        actor.start()
        with os.fdopen(os.dup(self._terminal), "r") as source, os.fdopen(os.dup(self._terminal), "w") as screen:
            answer = ask_trust(Screen(screen, Theme(plain=False)), source, self._keep, FILE, VALUES, self.pastes)
        actor.join(10)
        assert termios.tcgetattr(self._terminal) == quiet
        return answer

    def _keep(self, raw: str) -> None:
        self.kept += raw


@pytest.fixture
def person() -> Iterator[Person]:
    person = Person()
    yield person
    person.close()


@pytest.fixture
def japanese() -> Iterator[None]:
    set_language("ja")
    yield
    set_language("en")


class TestAsking:
    @pytest.mark.parametrize(
        ("typed", "answer"),
        [("y", True), ("YES", True), ("ｙ", True), ("はい", True), ("", False), ("n", False), ("いいえ", False)],
    )
    def test_answers(self, person: Person, typed: str, answer: bool) -> None:
        def acts() -> None:
            person.wait_for(QUESTION)
            person.wait_until_edited()
            person.type(f"{typed}\n")

        assert person.asked(acts) is answer
        assert person.kept == ""
        assert "! localllm.toml wants" in person.shown
        assert "ui.theme" not in person.shown

    def test_what_was_typed_before_is_no_answer(self, person: Person) -> None:
        person.type("y\nexplain th")

        def acts() -> None:
            person.wait_for(QUESTION)
            person.wait_until_edited()
            person.type("n\n")

        assert person.asked(acts) is False
        assert person.kept == "y\nexplain th"

    def test_other_words_are_asked_about_again(self, person: Person) -> None:
        def acts() -> None:
            person.wait_for(QUESTION)
            person.wait_until_edited()
            person.type("sure\n")
            person.wait_for("(no).")
            person.wait_for(QUESTION)
            person.wait_until_edited()
            person.type("y\n")

        assert person.asked(acts) is True
        assert person.kept == ""

    def test_the_rest_of_a_sentence_is_kept_and_no_answer(self, person: Person) -> None:
        person.type("explain ")

        def acts() -> None:
            person.wait_for(QUESTION)
            person.wait_until_edited()
            person.type("this\n")
            person.wait_for("(no).")
            person.wait_for(QUESTION)
            person.wait_until_edited()
            person.type("\n")

        assert person.asked(acts) is False
        assert person.kept == "explain this"

    @pytest.mark.parametrize("pasted", ["first\n!touch x\n@a.txt", "first\n!touch x\n", "y", "y\ny\n"])
    @pytest.mark.parametrize("begun", ["", "explain "])
    def test_a_paste_is_kept_whole_and_no_answer(self, person: Person, pasted: str, begun: str) -> None:
        person.type(begun)
        marked = f"{PASTE_BEGINS}{pasted}{PASTE_ENDS}"

        def acts() -> None:
            person.wait_for(QUESTION)
            person.wait_until_edited()
            person.type(marked if "\n" in pasted else f"{marked}\n")
            for answer in ("sure\n", "n\n"):
                person.wait_for("(no).")
                person.wait_for(QUESTION)
                person.wait_until_edited()
                person.type(answer)

        assert person.asked(acts) is False
        assert person.kept == begun + marked

    def test_a_paste_that_comes_in_pieces_is_no_answer(self, person: Person) -> None:
        def acts() -> None:
            person.wait_for(QUESTION)
            person.wait_until_edited()
            for piece in (f"{PASTE_BEGINS}first\n", "y\n", "y\ny\n", PASTE_ENDS):
                person.type(piece)
                time.sleep(0.01)
            person.wait_for("(no).")
            person.wait_for(QUESTION)
            person.wait_until_edited()
            person.type("n\n")

        assert person.asked(acts) is False
        assert person.kept == f"{PASTE_BEGINS}first\ny\ny\ny\n{PASTE_ENDS}"

    def test_a_paste_that_has_begun_before_the_question_is_kept_to_its_end(
        self, person: Person, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        person.type(f"{PASTE_BEGINS}first\n")
        monkeypatch.setattr(trust, "QUIET_SECONDS", 0)

        def acts() -> None:
            person.wait_for(QUESTION)
            time.sleep(0.2)  # longer than keys are waited for
            person.type(f"y\n{PASTE_ENDS}")
            person.wait_until_edited()
            person.type("n\n")

        assert person.asked(acts) is False
        assert person.kept == f"{PASTE_BEGINS}first\ny\n{PASTE_ENDS}"

    def test_the_end_of_input(self, person: Person) -> None:
        def acts() -> None:
            person.wait_for(QUESTION)
            person.wait_until_edited()
            person.type("\x04")

        assert person.asked(acts) is None

    @pytest.mark.usefixtures("japanese")
    def test_in_japanese(self, person: Person) -> None:
        def acts() -> None:
            person.wait_for("このプロジェクトの設定を信頼しますか？ [y/N]")
            person.wait_until_edited()
            person.type("はい\n")

        assert person.asked(acts) is True
        assert "確認なしに実行されます" in person.shown


def refused(person: Person, *pieces: str) -> None:
    """Send these to the question; when it is asked again, answer no."""
    person.wait_until_edited()
    person.send(*pieces)
    person.wait_for("(no).")
    person.wait_for(QUESTION)
    person.wait_until_edited()
    person.type("n\n")


class TestPastes:
    @pytest.mark.parametrize(
        "pasted",
        [
            ("y",),
            ("y\r",),
            ("harmless\r!touch x\rmore",),
            ("y\r", "y\r", "y\r"),
            ("x" * 1441 + "\r", "y\r" * 20),
            ("x" * 4089 + "\r", "y\r"),
            ("x" * 9000 + "\ry",),
            ("x\x15y\r", "\x7f" * 40, "y\r", "\x04", "y\r"),
            ("\r", "y", "\r", "\x1b", "[20", "y\r"),
        ],
    )
    def test_nothing_pasted_is_an_answer(self, person: Person, pasted: tuple[str, ...]) -> None:
        def acts() -> None:
            person.wait_for(QUESTION)
            refused(person, PASTE_BEGINS, *pasted, PASTE_ENDS)

        assert person.asked(acts) is False
        assert person.kept == f"{PASTE_BEGINS}{''.join(pasted)}{PASTE_ENDS}"

    @pytest.mark.parametrize("cut", range(1, 6))
    def test_the_marks_may_come_in_pieces(self, person: Person, cut: int) -> None:
        def acts() -> None:
            person.wait_for(QUESTION)
            begin, end = PASTE_BEGINS[cut:], PASTE_ENDS[:cut]
            refused(person, PASTE_BEGINS[:cut], f"{begin}y\r", f"y\r{end}", PASTE_ENDS[cut:])

        assert person.asked(acts) is False
        assert person.kept == f"{PASTE_BEGINS}y\ry\r{PASTE_ENDS}"

    def test_a_typed_letter_with_a_paste_is_no_answer(self, person: Person) -> None:
        def acts() -> None:
            person.wait_for(QUESTION)
            refused(person, "y", f"{PASTE_BEGINS} {PASTE_ENDS}\r")

        assert person.asked(acts) is False
        assert person.kept == f"y{PASTE_BEGINS} {PASTE_ENDS}"

    def test_the_rest_of_one_begun_before_is_no_answer(self, person: Person) -> None:
        person.type(f"{PASTE_BEGINS}one\r")

        def acts() -> None:
            person.wait_for(QUESTION)
            person.send("y\r", "y\r", PASTE_ENDS)
            person.wait_until_edited()
            person.type("n\n")

        assert person.asked(acts) is False
        assert person.kept == f"{PASTE_BEGINS}one\ny\ny\n{PASTE_ENDS}"

    def test_one_begun_behind_the_answer_goes_on_after_it(self, person: Person) -> None:
        def acts() -> None:
            person.wait_for(QUESTION)
            person.wait_until_edited()
            person.type(f"n\r\x1b[A{PASTE_BEGINS}one")

        assert person.asked(acts) is False
        assert person.kept == "\x1b[A"
        assert [piece.text for piece in person.pastes.read(f"\r!x\r{PASTE_ENDS}y")] == ["one\r!x\r", "y"]

    def test_the_line_can_be_edited(self, person: Person) -> None:
        def acts() -> None:
            person.wait_for(QUESTION)
            person.wait_until_edited()
            person.type("日x\x7f\x7fno\x15no y\x17\x17yes\x1b[A\r")
            person.wait_for("日x")

        assert person.asked(acts) is True


def test_what_reaches_the_network_and_what_nobody_has_placed_come_first() -> None:
    assert gravity("a.setting_to_come") < gravity("safety.network_hosts") < gravity("commands.aliases.review")
    assert gravity("web.searxng_url") < gravity("agent.time_limit")
    assert gravity("web.serper.base_url") == gravity("web.cache") == gravity("llm.openai.base_url")
