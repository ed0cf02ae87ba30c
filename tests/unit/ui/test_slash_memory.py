"""/todo, /remember, /forget, /memory and /init, over a real file."""

import re
from collections.abc import Iterator
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

from localllm.agents.briefing import Briefing
from localllm.agents.remembering import Remembering
from localllm.base.config.schema import ProjectSettings, Settings
from localllm.base.errors import LocalLLMError
from localllm.base.i18n import set_language
from localllm.llm.profiles import COMPACT
from localllm.memory.project_memory import ProjectMemory
from localllm.text.cleaning import display_width
from localllm.ui.completion import Suggester
from localllm.ui.screen import Screen
from localllm.ui.slash.commands import builtin_commands
from localllm.ui.slash.registry import SlashCall, SlashCommand, SlashRegistry
from localllm.ui.theme import Theme
from tests.support.agents import make_tools

pytestmark = pytest.mark.anyio


class Chat:
    """A chat in a project with a memory."""

    settings = Settings()
    profile = COMPACT

    def __init__(self, root: Path) -> None:
        root.mkdir(exist_ok=True)
        self.root = root
        self.told: list[str] = []
        self.tools = make_tools(root)
        memory = ProjectMemory(root, "LOCALLLM.md")
        self.memory = Remembering(memory, self.tools, Briefing(root, memory), self.told.append)

    @property
    def text(self) -> str:
        return (self.root / "LOCALLLM.md").read_text("utf-8")

    def ids(self) -> list[str]:
        return [todo.id for todo in self.memory.known_todos()]


@pytest.fixture
def chat(tmp_path: Path) -> Chat:
    return Chat(tmp_path / "p")


@pytest.fixture
def japanese() -> Iterator[None]:
    set_language("ja")
    yield
    set_language("en")


async def said(chat: Chat, line: str) -> str:
    stream = StringIO()
    registry = SlashRegistry(builtin_commands(), {})
    name, _, arguments = line.partition(" ")
    found = registry.find(name)
    assert isinstance(found, SlashCommand)
    made: Any = chat
    await found.handler(SlashCall(arguments.strip(), made, Screen(stream, Theme(plain=True)), registry))
    return stream.getvalue()


async def test_a_text_is_added_and_the_file_is_made_for_it(chat: Chat) -> None:
    shown = await said(chat, "todo Write the docs")
    assert "LOCALLLM.md was made." in shown
    assert re.search(r"To do: t\w+ Write the docs", shown)
    assert "- [ ] Write the docs +" in chat.text
    assert "was made" not in await said(chat, "todo add high Mend the login")
    assert "Mend the login (high) +" in chat.text


async def test_each_word_does_what_it_says(chat: Chat) -> None:
    for text in ("one", "two", "three"):
        await said(chat, f"todo {text}")
    assert "In progress" in await said(chat, "todo start two")
    assert "- [~] two" in chat.text
    assert "Done" in await said(chat, "todo done 2")
    assert "Dropped" in await said(chat, "todo drop thr")
    assert "To do" in await said(chat, "todo reopen 2")
    assert "Priority high" in await said(chat, "todo high one")
    assert "two times" in await said(chat, "todo edit 2 two times")
    assert "number 1 now" in await said(chat, "todo move 2 1")
    items = [line.split(" +")[0] for line in chat.text.splitlines() if line.startswith("- ")]
    assert items == ["- [ ] two times", "- [ ] one (high)", "- [-] three"]


async def test_the_list_has_what_is_open_and_all_has_all(chat: Chat) -> None:
    for number in range(34):
        await said(chat, f"todo task {number}")
    await said(chat, "todo start 34")
    await said(chat, "todo done 1")
    shown = (await said(chat, "todo")).splitlines()
    assert re.fullmatch(r"   34  t\w+  \[~\] task 33", shown[0])
    assert "… and 3 more: /todo all" in shown[-1]
    assert len((await said(chat, "todo all")).splitlines()) == 34


async def test_what_is_meant_by_nothing_is_an_error_and_changes_nothing(chat: Chat) -> None:
    await said(chat, "todo one")
    before = chat.text
    with pytest.raises(LocalLLMError, match="the server"):
        await said(chat, "todo start the server")
    assert "/todo edit ID TEXT" in await said(chat, "todo done")
    assert "/todo edit ID TEXT" in await said(chat, "todo move 1 up")
    assert chat.text == before


@pytest.mark.usefixtures("japanese")
async def test_in_japanese(chat: Chat) -> None:
    await said(chat, "todo 追加 高 ログイン画面を直す")
    assert "# プロジェクトメモリ" in chat.text
    assert "ログイン画面を直す (高)" in chat.text
    assert "進行中" in await said(chat, "todo 着手 ログイン")
    await said(chat, "remember 決定： タブを使う")
    assert re.search(r"## 決定事項\n\n- \d{4}-\d\d-\d\d タブを使う\n", chat.text)
    assert "[利用者が決定事項を書き留めました: タブを使う]" in chat.told
    assert "決定" in await said(chat, "memory タブ")


async def test_what_is_remembered_is_told_and_what_is_forgotten_too(chat: Chat) -> None:
    assert "Noted as a preference" in await said(chat, "remember Answer in short")
    assert "Noted as a decision" in await said(chat, "remember Decision: use msgspec")
    assert "Forgotten (preference)" in await said(chat, "forget Answer")
    await said(chat, "todo something")
    await said(chat, "forget something")
    assert chat.told == [
        "[The user has noted a preference: Answer in short]",
        "[The user has noted a decision: use msgspec]",
        "[The user has taken this back, it no longer holds: Answer in short]",
    ]


async def test_a_number_means_the_todo_the_list_gives_it(chat: Chat) -> None:
    for line in ("remember Answer in short", "todo one", "todo two", "todo three"):
        await said(chat, line)
    assert "Forgotten (TODO): two" in await said(chat, "forget 2")
    assert [todo.text for todo in chat.memory.known_todos()] == ["one", "three"]
    with pytest.raises(LocalLLMError, match="Nothing is kept"):
        await said(chat, "forget 3")


async def test_what_is_forgotten_comes_back(chat: Chat) -> None:
    await said(chat, "remember Answer in short")
    before = chat.text
    await said(chat, "forget Answer")
    chat.tools.undo()
    assert chat.text == before


async def test_an_empty_memory_says_how_it_is_filled(chat: Chat) -> None:
    for line in ("todo", "memory", "forget x", "remember"):
        assert "/" in await said(chat, line)
    assert not (chat.root / "LOCALLLM.md").exists()


async def test_the_overview_names_the_most_important_and_the_instructions(chat: Chat) -> None:
    for number in range(7):
        await said(chat, f"todo task {number}")
    await said(chat, "remember decision: use msgspec")
    (chat.root / "AGENTS.md").write_text("x\n" * 2_000)
    shown = await said(chat, "memory")
    assert "… and 2 more: /todo" in shown
    assert "use msgspec" in shown
    assert "Instructions the model will be given" in shown
    assert "AGENTS.md (3,999 characters, the first 1,999 of them)" in shown


@pytest.mark.parametrize("language", ["en", "ja"])
async def test_no_line_is_wider_than_the_screen(chat: Chat, language: str) -> None:
    set_language("ja" if language == "ja" else "en")
    try:
        await said(chat, "todo " + "とても長い作業の名前 " * 12)
        for line in ("todo", "memory", "memory 作業", "todo move", "forget とても", "help todo"):
            shown = await said(chat, line)
            assert max(map(display_width, shown.splitlines())) <= 80, line
    finally:
        set_language("en")


async def test_ids_are_completed_by_id_and_by_text(chat: Chat) -> None:
    await said(chat, "todo Mend the login")
    await said(chat, "todo Write the docs")
    await said(chat, "todo done 2")
    login, docs = chat.ids()
    registry = SlashRegistry(builtin_commands(), {})
    made: Any = chat
    suggester = Suggester(chat.root, (), registry.overview, lambda name, after: registry.choices(name, made, after))

    def offered(typed: str) -> list[tuple[str, str, int]]:
        return [(one.text, one.note, one.replaces) for one in suggester.suggest(typed)]

    assert offered("/todo start ") == [(login, "Mend the login", 0)]
    assert offered("/todo start mend") == [(login, "Mend the login", 4)]
    assert offered("/todo reopen ") == [(docs, "Write the docs", 0)]
    assert offered("/todo add ") == []
    assert ("start", "", 2) in offered("/todo st")
    assert offered("/forget docs") == [(docs, "TODO: Write the docs", 4)]
    assert suggester.applies("/todo start ")


async def test_init_makes_what_is_missing(chat: Chat) -> None:
    (chat.root / "main.py").write_text("print()\n")
    shown = await said(chat, "init")
    assert "LOCALLLM.md" in shown
    assert "Python" in chat.text
    assert (chat.root / "localllm.toml").exists()
    before = chat.text
    await said(chat, "init")
    assert chat.text == before


async def test_init_makes_the_file_the_settings_name(tmp_path: Path) -> None:
    chat = Chat(tmp_path / "p")
    chat.settings = Settings(project=ProjectSettings(memory_file="docs/MEMORY.md"))
    await said(chat, "init")
    assert (chat.root / "docs" / "MEMORY.md").is_file()
    assert not (chat.root / "LOCALLLM.md").exists()
