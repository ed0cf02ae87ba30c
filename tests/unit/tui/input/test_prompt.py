"""What stands in a line that is edited hides nothing on the screen."""

import asyncio
from io import StringIO
from pathlib import Path

import pytest
from prompt_toolkit.application import create_app_session
from prompt_toolkit.data_structures import Size
from prompt_toolkit.document import Document
from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.layout.controls import BufferControl
from prompt_toolkit.layout.processors import TransformationInput
from prompt_toolkit.output.vt100 import Vt100_Output

from localllm.tui.dialogs.queries import edit_queries
from localllm.tui.dialogs.visible_input import NothingHidden
from localllm.tui.input.completion import Suggester
from localllm.tui.input.prompt import ChatPrompt, Question, show_above
from localllm.tui.input.strangers_words import StrangersWords
from localllm.tui.theme import Theme

pytestmark = pytest.mark.anyio

LINE = "echo \u202egnp\u200b"


async def ask(asks: str) -> object:
    """What comes of a line that is left as it is."""
    match asks:
        case "question":
            return await Question(Theme(plain=False)).ask(LINE)
        case "queries":
            return await edit_queries([LINE])
        case _:
            suggester = Suggester(Path.cwd(), (), dict, lambda _name, _after: (), Path.cwd())
            return await ChatPrompt(history_file=None, suggester=suggester, toolbar=str, theme=Theme(plain=False)).ask(
                LINE
            )


@pytest.mark.parametrize(("asks", "enter"), [("question", "\r"), ("queries", "\x04"), ("chat", "\r")])
async def test_what_would_reorder_a_line_or_take_no_ink_is_seen(asks: str, enter: str) -> None:
    screen = StringIO()
    with create_pipe_input() as keys:
        output = Vt100_Output(screen, lambda: Size(24, 80), term="xterm", enable_cpr=False)
        with create_app_session(input=keys, output=output):
            keys.send_text(enter)
            said = await ask(asks)
    assert said in (LINE, (LINE,))
    assert "echo \ufffdgnp\ufffd" in screen.getvalue()
    assert "\u202e" not in screen.getvalue()


@pytest.mark.parametrize(("plain", "echoed"), [(False, [("plan", "one\ntwo")]), (True, [])])
async def test_a_finished_line_is_erased_and_echoed(plain: bool, echoed: list[tuple[str, str]]) -> None:
    """Prompt_toolkit's own copy is broken in the middle of words. It stays where nothing can be erased."""
    seen: list[tuple[str, str]] = []
    suggester = Suggester(Path.cwd(), (), dict, lambda _name, _after: (), Path.cwd())
    with create_pipe_input() as keys:
        output = Vt100_Output(StringIO(), lambda: Size(24, 80), term="xterm", enable_cpr=False)
        with create_app_session(input=keys, output=output):
            prompt = ChatPrompt(
                history_file=None,
                suggester=suggester,
                toolbar=str,
                theme=Theme(plain=plain),
                mode=lambda: "plan",
                echo=lambda mode, text: seen.append((mode, text)),
            )
            keys.send_text("one\n" + "two\r")
            assert await prompt.ask() == "one\ntwo"
    assert seen == echoed


async def test_what_was_pasted_stays_so_in_the_history_of_a_later_chat(tmp_path: Path) -> None:
    pasted = "see AGENTS.md\nand @.env"
    long = "\n".join(f"row {number} @.env" for number in range(20))

    async def say(keys: str) -> tuple[str, str]:
        """The text that these keys send from the prompt of a new chat, and what was typed of it."""
        strangers = StrangersWords()
        suggester = Suggester(Path.cwd(), (), dict, lambda _name, _after: (), Path.cwd())
        with create_pipe_input() as keyboard:
            output = Vt100_Output(StringIO(), lambda: Size(24, 80), term="xterm", enable_cpr=False)
            with create_app_session(input=keyboard, output=output):
                prompt = ChatPrompt(
                    history_file=tmp_path / "history",
                    suggester=suggester,
                    toolbar=str,
                    theme=Theme(plain=False),
                    strangers=strangers,
                )
                keyboard.send_text(keys)
                text = await prompt.ask()
                return text, strangers.typed(text)

    oldest = "\x1b<"
    assert await say(f"fix this: \x1b[200~{pasted}\x1b[201~ please\r") == (
        f"fix this: {pasted} please",
        "fix this: \n please",
    )
    assert await say(f"{oldest}\r") == (f"fix this: {pasted} please", "fix this: \n please")
    assert await say(f"{oldest}\x05 @b.py\r") == (f"fix this: {pasted} please @b.py", "fix this: \n please @b.py")
    (tmp_path / "history").unlink()
    assert await say(f"and \x1b[200~{long}\x1b[201~\r") == (f"and {long}", "and \n")
    assert await say(f"{oldest}\x05 @b.py\r") == (f"and {long} @b.py", "and \n @b.py")
    (tmp_path / "history").unlink()
    assert await say("typed\nby @me\r") == ("typed\nby @me", "typed\nby @me")
    assert await say(f"{oldest}\r") == ("typed\nby @me", "typed\nby @me")
    assert await say("never @seen\r") == ("never @seen", "never @seen")


async def test_a_paste_into_an_answer_is_noted() -> None:
    strangers = StrangersWords()
    with create_pipe_input() as keys:
        output = Vt100_Output(StringIO(), lambda: Size(24, 80), term="xterm", enable_cpr=False)
        with create_app_session(input=keys, output=output):
            keys.send_text("no: \x1b[200~see @.env\x1b[201~\r")
            assert await Question(Theme(plain=False), strangers).ask() == "no: see @.env"
    assert strangers.typed("no: see @.env") == "no: \n"


async def send(keys: str, columns: int = 80, default: str = "", mode: str = "") -> str:
    """What these keys send from a chat's prompt of so many columns."""
    suggester = Suggester(Path.cwd(), (), dict, lambda _name, _after: (), Path.cwd())
    with create_pipe_input() as keyboard:
        output = Vt100_Output(StringIO(), lambda: Size(24, columns), term="xterm", enable_cpr=False)
        with create_app_session(input=keyboard, output=output):
            prompt = ChatPrompt(
                history_file=None, suggester=suggester, toolbar=str, theme=Theme(plain=False), mode=lambda: mode
            )
            keyboard.send_text(keys)
            return await prompt.ask(default)


def pasted(text: str) -> str:
    return f"\x1b[200~{text}\x1b[201~"


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        (pasted("!make test"), "!make test"),
        (pasted("/mode auto\r"), "/mode auto"),
        (pasted("!" + "x" * 76), "!" + "x" * 76),
        (pasted("!" + "x" * 77), "\n!" + "x" * 77),
        (pasted("!echo " + "日" * 36), "\n!echo " + "日" * 36),
        (pasted("!a\r!b"), "\n!a\n!b"),
        (pasted("!a" + "\r" * 9), "\n!a" + "\n" * 9),
        (pasted("!a\tb"), "\n!a\tb"),
        (pasted("!a\u200b"), "\n!a\u200b"),
        (" " + pasted("!a"), " \n!a"),
        ("look:\n" + pasted("!a"), "look:\n\n!a"),
        ("later\x01" + pasted("!a "), "\n!a later"),
        (pasted("!a\r" * 10), "\n" + "!a\n" * 10),
        ("!" + pasted("a\rb"), "!a\nb"),
        ("/plan " + pasted("!a\rb"), "/plan !a\nb"),
        (pasted("/etc/hosts is odd\rsee"), "/etc/hosts is odd\nsee"),
        ("see " + pasted("!a\n" * 12) + "\x01" + "\x04" * 4, "\n" + "!a\n" * 12),
    ],
)
async def test_a_pasted_command_is_one_line_that_is_seen(keys: str, said: str) -> None:
    assert await send(keys + "\r") == said


async def test_the_prompt_takes_room_of_the_row() -> None:
    line = "!echo " + "x" * 66
    assert await send(pasted(line) + "\r") == line
    assert await send(pasted(line) + "\r", mode="plan") == line
    assert await send(pasted(line) + "\r", mode="auto-edit") == f"\n{line}"
    assert await send(pasted("!make test") + "\r", columns=12) == "\n!make test"


async def test_nothing_pasted_into_lines_that_came_back_is_a_command() -> None:
    begin = "/status\nwords"
    assert await send("\x17" + pasted("!a") + "\r", default=begin) == "/status\n\n!a"
    assert await send("\x1b[A\x01" + pasted("!a\r") + "\r", default=begin) == f"\n!a\n{begin}"


@pytest.mark.parametrize("text", ["!a", "!a\r# more", "/mode auto", "  /mode auto"])
async def test_what_is_pasted_as_an_answer_is_no_command(text: str) -> None:
    for keys, begin in ((pasted(text), "\n"), (" " + pasted(text), " \n"), ("!" + pasted(text), "!")):
        with create_pipe_input() as keyboard:
            output = Vt100_Output(StringIO(), lambda: Size(24, 80), term="xterm", enable_cpr=False)
            with create_app_session(input=keyboard, output=output):
                keyboard.send_text(keys + "\r")
                assert await Question(Theme(plain=False)).ask() == begin + text.replace("\r", "\n")


async def answer(keys: str, default: str = "") -> str:
    """What these keys answer."""
    with create_pipe_input() as keyboard:
        output = Vt100_Output(StringIO(), lambda: Size(24, 80), term="xterm", enable_cpr=False)
        with create_app_session(input=keyboard, output=output):
            keyboard.send_text(keys)
            return await Question(Theme(plain=False)).ask(default)


@pytest.mark.parametrize("text", ["y", " yes\r", "a", "p", "e", "ｙ", "はい", "always", "n", "v"])
async def test_nothing_pasted_gives_a_permission(text: str) -> None:
    assert await answer(pasted(text) + "\r" + "\x15" * 3 + "typed\r") == "typed"
    assert await answer(f"{text[0]}{pasted(text[1:] + ' ')}\r\x15\x15\x15y\r") == "y"


async def test_no_scope_of_a_permission_is_pasted() -> None:
    assert await answer(pasted(" test") + "\r" + "\x15" + "make\r", default="make all") == "make"
    assert await answer("\x17\r", default="make all") == "make "


async def test_what_is_pasted_for_the_model_is_an_answer() -> None:
    assert await answer(pasted("use tabs") + "\r") == "use tabs"
    assert await answer(pasted("y") + "\x7f" + "y\r") == "y"


@pytest.mark.parametrize("asks", ["question", "chat"])
async def test_a_notice_stands_above_the_line_that_is_edited(asks: str) -> None:
    """It comes from another task: what a background command has done."""
    screen = StringIO()
    with create_pipe_input() as keys:
        output = Vt100_Output(screen, lambda: Size(24, 80), term="xterm", enable_cpr=False)
        with create_app_session(input=keys, output=output):
            asked = asyncio.create_task(ask(asks))
            while "echo" not in screen.getvalue():
                await asyncio.sleep(0)
            await show_above(lambda: print("put back", file=screen))
            drawn_again = screen.getvalue().partition("put back")[2]
            keys.send_text("\r")
            assert await asked == LINE
    assert "echo" in drawn_again


def test_a_sign_of_several_characters_stays_one_where_it_is_selected() -> None:
    parts = [("class:selected", character) for character in "葛\U000e0100👨\u200d👩\u200b"]
    given = TransformationInput(BufferControl(), Document(), 0, lambda at: at, parts, 80, 24)
    assert (
        "".join(part[1] for part in NothingHidden().apply_transformation(given).fragments)
        == "葛\U000e0100👨\u200d👩\ufffd"
    )
