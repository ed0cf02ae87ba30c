"""/resume's choices, /fork's answer and /export's file names."""

from pathlib import Path
from typing import Any

import pytest

from localllm.base.errors import ConfigurationError
from localllm.base.i18n import set_language
from localllm.sessions.index import Session
from localllm.sessions.transcript import Transcript
from localllm.text.sanitising import display_width
from localllm.tui.commands.builtin import COMMANDS
from localllm.tui.commands.registry import SlashRegistry
from localllm.tui.input.completion import Suggester
from tests.support.slash import said

pytestmark = pytest.mark.anyio

HERE = "20260303-000000-dddd"
FORKED = "20260404-000000-eeee"


class Chat:
    """A chat, and the sessions of its project."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.session_id = HERE
        self.keeping = self
        self.title = self.failure = ""
        self.is_kept = True
        self.known = [
            Session(id=f"20260101-000000-aaa{number}", title=title, first="hello", turns=1)
            for number, title in enumerate(("login", "twice", "twice", "2", "red\x1b[31m", ""))
        ]

    def rename(self, title: str) -> None:
        self.title = title

    async def find(self, words: str = "") -> list[Session]:
        return self.known

    async def fork(self, point: int = 0) -> None:
        self.session_id = FORKED

    async def transcript(self) -> Transcript:
        return Transcript(session_id=HERE, project="p")


@pytest.fixture
def chat(tmp_path: Path) -> Chat:
    return Chat(tmp_path)


def test_what_is_offered_means_one_session_and_can_be_typed(chat: Chat) -> None:
    registry = SlashRegistry(COMMANDS, {})
    made: Any = chat
    suggester = Suggester(chat.root, (), registry.overview, lambda name, after: registry.choices(name, made, after))
    ids = [one.id for one in chat.known]
    assert [one.text for one in suggester.suggest("/resume ")] == ["login", *ids[1:]]


async def test_a_row_that_is_too_long_has_its_name_on_a_second_line(chat: Chat) -> None:
    set_language("ja")
    try:
        chat.known = [Session(id=f"20260101-000000-aaa{n}", first="長い話" * n, turns=12) for n in (1, 20)]
        rows = [line.strip() for line in (await said(chat, "sessions")).splitlines()]
    finally:
        set_language("en")
    assert rows[0].endswith("長い話  20260101-000000-aaa1 (依頼 12 件)")
    assert rows[1].endswith("…")
    assert rows[2] == "20260101-000000-aaa20 (依頼 12 件)"


async def test_the_answer_is_broken_between_words(chat: Chat) -> None:
    answer = await said(chat, "fork")
    assert all(display_width(line) <= 80 for line in answer.splitlines())
    assert answer.split() == f"This session continues as {FORKED}; {HERE} is unchanged.".split()


async def test_a_later_export_of_a_session_stands_beside_the_first(chat: Chat) -> None:
    for line in ("export", "export md", "export html", "export"):
        await said(chat, line)
    stem = f"session-{HERE}"
    assert sorted(file.name for file in chat.root.iterdir()) == [
        f"{stem}-2.md",
        f"{stem}-3.md",
        f"{stem}.html",
        f"{stem}.md",
    ]


async def test_a_word_that_is_no_format_is_no_file(chat: Chat) -> None:
    with pytest.raises(ConfigurationError) as caught:
        await said(chat, "export pdf")
    assert caught.value.code == "E1762"
    await said(chat, "export notes.txt")
    assert [file.name for file in chat.root.iterdir()] == ["notes.txt"]


async def test_a_name_is_given_and_taken_away(chat: Chat) -> None:
    assert "has no name. /rename NAME" in await said(chat, "rename")
    assert await said(chat, "rename The login") == "  This session is now called “The login”.\n"
    assert "no longer has a name" in await said(chat, "rename")


async def test_a_name_of_a_session_that_is_not_kept_says_so(chat: Chat) -> None:
    chat.is_kept = False
    assert "from your first request on" in await said(chat, "rename The login")
    chat.failure = "No space left on device"
    shown = await said(chat, "rename The login")
    assert "is now called “The login”" in shown
    assert "! This session is not being saved: No space left on device." in shown
