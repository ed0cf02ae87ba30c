"""What stands in a line that is edited hides nothing on the screen."""

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
from localllm.tui.input.prompt import ChatPrompt, Question
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


def test_a_sign_of_several_characters_stays_one_where_it_is_selected() -> None:
    parts = [("class:selected", character) for character in "葛\U000e0100👨\u200d👩\u200b"]
    given = TransformationInput(BufferControl(), Document(), 0, lambda at: at, parts, 80, 24)
    assert (
        "".join(part[1] for part in NothingHidden().apply_transformation(given).fragments)
        == "葛\U000e0100👨\u200d👩\ufffd"
    )
