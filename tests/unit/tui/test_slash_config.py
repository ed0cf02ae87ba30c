"""/config: what differs from the defaults, what one means, and setting it."""

import os
from collections.abc import Sequence
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

from localllm.app.settings_news import SettingsNews
from localllm.base.errors import ConfigurationError
from localllm.base.i18n import set_language
from localllm.config.loader import load
from localllm.config.schema import SECRET_VARIABLES, Settings
from localllm.tui.commands.builtin import COMMANDS
from localllm.tui.commands.registry import Alias, SlashCall, SlashCommand, SlashRegistry
from localllm.tui.render.screen import Screen
from localllm.tui.theme import Theme
from tests.support.slash import said

pytestmark = pytest.mark.anyio

SECRET = "sk-do-not-show-me"


class Chat:
    """A chat in a project, with the settings that hold there."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "project"
        self.root.mkdir()
        self.user = folder / "user" / "localllm.toml"

    def begin(self, **overrides: str) -> "Chat":
        named = {key.replace("__", "."): value for key, value in overrides.items()}
        self.config = load(self.root, environ=os.environ, overrides=named)
        self._news = SettingsNews(self.root, os.environ, self.config)
        return self

    @property
    def settings(self) -> Settings:
        return self.config.settings

    def apply_setting(self, key: str) -> bool:
        if (loaded := self._news.applied(self.config, key)) is not None:
            self.config = loaded
        return loaded is not None

    def settings_news(self) -> Sequence[str]:
        return self._news.take()


@pytest.fixture
def chat(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Chat:
    for name in [name for name in os.environ if name.startswith("LOCALLLM_") or name in SECRET_VARIABLES.values()]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("LOCALLLM_CONFIG_DIR", str(tmp_path / "user"))
    return Chat(tmp_path)


async def test_only_what_differs_is_listed_with_its_origin(chat: Chat, monkeypatch: pytest.MonkeyPatch) -> None:
    chat.user.parent.mkdir()
    chat.user.write_text('[llm]\nmax_tokens = 8192\ntemperature = 0.5\n[commands.aliases]\nreview = "Review it"\n')
    (chat.root / "localllm.toml").write_text('[safety]\nallow = ["everything"]\n')
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    shown = await said(chat.begin(llm__model="qwen3"), "config")
    lines = [" ".join(line.split()) for line in shown.splitlines()]
    assert "llm.temperature = 0.5 # user localllm.toml:3" in lines
    assert 'llm.model = "qwen3" # command line' in lines
    assert 'commands.aliases.review = "Review it" # user localllm.toml:5' in lines
    assert "# llm.openai.api_key: set (from OPENAI_API_KEY)" in lines
    assert any("withheld" in line for line in lines)
    assert "max_tokens" not in shown
    assert SECRET not in shown


async def test_at_the_defaults_it_says_so(chat: Chat) -> None:
    shown = await said(chat.begin(), "config")
    assert shown.startswith("  Every setting is at its default.\n")
    assert str(chat.user) in "".join(shown.split())


async def test_one_is_explained(chat: Chat) -> None:
    shown = await said(chat.begin(ui__theme="dark"), "config ui.theme")
    first, *rest = [" ".join(line.split()) for line in shown.splitlines()]
    assert first == 'ui.theme = "dark" # command line'
    assert '; default: "auto"' in rest[-1]
    assert len(rest) > 1


async def test_one_is_explained_in_japanese(chat: Chat) -> None:
    set_language("ja")
    try:
        shown = await said(chat.begin(), "config agent.max_tool_calls")
    finally:
        set_language("en")
    assert "  ツールを呼び出す回数の上限。0 なら無制限です。\n" in shown
    assert "Maximum number" not in shown


async def test_a_table_shows_what_is_in_it(chat: Chat) -> None:
    shown = await said(chat.begin(), "config llm.lmstudio")
    assert "llm.lmstudio.base_url = " in shown
    assert "llm.openai" not in shown
    assert "llm.lmstudio.base_url" in await said(chat, "config llm")
    assert "commands.aliases.NAME" in " ".join((await said(chat, "config commands.aliases")).split())


@pytest.mark.parametrize("line", ["config llm.modle", "config commands.aliases.none", "config llm.modle x"])
async def test_what_there_is_not(chat: Chat, line: str) -> None:
    with pytest.raises(ConfigurationError) as raised:
        await said(chat.begin(), line)
    assert raised.value.code == "E1003"
    assert not chat.user.exists()


async def test_it_is_set_in_the_users_file_and_said_once(chat: Chat) -> None:
    (chat.root / "localllm.toml").write_text("# the project's\n")
    shown = " ".join((await said(chat.begin(), "config llm.dialect text")).split())
    assert chat.user.read_text() == '[llm]\ndialect = "text"\n'
    assert (chat.root / "localllm.toml").read_text() == "# the project's\n"
    assert shown.count("next start") == 1
    assert "in effect now" not in shown
    assert chat.settings_news() == []


async def test_what_can_be_applied_is_in_effect_at_once(chat: Chat) -> None:
    shown = await said(chat.begin(), "config web.enabled true")
    assert "It is in effect now." in shown
    assert "next start" not in shown
    assert chat.settings.web.enabled
    listed = await said(chat, "config")
    assert "web.enabled = true" in listed
    assert "next start" not in listed
    assert chat.settings_news() == []


async def test_the_language_is_applied_at_once(chat: Chat) -> None:
    try:
        shown = await said(chat.begin(), "config ui.language ja")
        assert "今から有効です。" in shown
        assert "次の起動" not in await said(chat, "config")
    finally:
        set_language("en")


async def test_colours_are_applied_at_once_but_a_plain_screen_stays_so(chat: Chat) -> None:
    assert "in effect now" in await said(chat.begin(), "config ui.theme light")
    terminal = await said(chat, "config ui.theme dark", plain=False)
    assert "in effect now" not in terminal
    assert "next start" in " ".join(terminal.split())


async def test_an_alias_can_be_used_at_once(chat: Any) -> None:
    commands = SlashRegistry(COMMANDS, {})
    found = commands.find("config")
    assert isinstance(found, SlashCommand)
    stream = StringIO()
    screen = Screen(stream, Theme(plain=True))
    await found.handler(SlashCall("commands.aliases.review Review my changes", chat.begin(), screen, commands, None))
    assert commands.find("review") == Alias("review", "Review my changes")
    call = SlashCall("commands.aliases.undo Revert it", chat, screen, commands, None)
    await found.handler(call)
    assert commands.find("undo") != Alias("undo", "Revert it")
    assert "The alias “undo” is not used" in stream.getvalue()
    assert stream.getvalue().count("in effect now") == 1


async def test_what_waits_for_the_next_start_is_listed_so(chat: Chat) -> None:
    await said(chat.begin(llm__model="qwen3"), "config llm.dialect text")
    await said(chat, "config llm.model phi4")
    lines = [" ".join(line.split()) for line in (await said(chat, "config")).splitlines()]
    after = lines[lines.index("From the next start:") + 1 :]
    assert after[0] == 'llm.dialect = "text" # user localllm.toml:2'
    assert 'llm.model = "qwen3" # command line' in lines
    assert not any("phi4" in line for line in lines), "the command line decides it anyway"
    assert "From the next start:" in await said(chat, "config llm.dialect")
    assert "From the next start:" not in await said(chat, "config llm.temperature")


async def test_a_faulty_file_does_not_keep_the_settings_from_being_listed(chat: Chat) -> None:
    chat.begin()
    chat.user.parent.mkdir()
    chat.user.write_text("[llm\n")
    assert "TOML" in await said(chat, "config")


async def test_only_what_sets_anything_is_news(chat: Chat) -> None:
    """A file of comments, as localllm init creates it, changes nothing."""
    chat.begin(llm__model="qwen3")
    project = chat.root / "localllm.toml"
    project.write_text('# [ui]\n# theme = "dark"\n')
    assert chat.settings_news() == []
    project.write_text('[ui]\ntheme = "dark"\n')
    (news,) = chat.settings_news()
    assert str(project) in news
    project.write_text('[ui]  # mine\ntheme = "dark"\n')
    assert chat.settings_news() == []
    project.write_text("[ui\n")
    assert chat.settings_news() != []


async def test_what_overrides_it_is_named(chat: Chat, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOCALLLM_UI_THEME", "light")
    assert "It has no effect: LOCALLLM_UI_THEME" in " ".join((await said(chat.begin(), "config ui.theme dark")).split())


@pytest.mark.parametrize(
    ("typed", "written"),
    [
        ("llm.model 'phi 4'", 'model = "phi 4"'),
        ("llm.model it's", 'model = "it\'s"'),
        ("commands.aliases.review Review my changes", 'review = "Review my changes"'),
        ("safety.deny a, b", 'deny = ["a", "b"]'),
        ('safety.deny ["a", "b"]', 'deny = ["a", "b"]'),
    ],
)
async def test_the_value_is_what_is_typed(chat: Chat, typed: str, written: str) -> None:
    await said(chat.begin(), f"config {typed}")
    assert chat.user.read_text().splitlines()[-1] == written


@pytest.mark.parametrize(
    ("typed", "code"), [("llm.max_tokens many", "E1004"), (f"llm.openai.api_key {SECRET}", "E1005")]
)
async def test_what_is_refused_leaves_the_file(chat: Chat, typed: str, code: str) -> None:
    with pytest.raises(ConfigurationError) as raised:
        await said(chat.begin(), f"config {typed}")
    assert raised.value.code == code
    assert SECRET not in str(raised.value)
    assert not chat.user.exists()


def test_keys_and_their_words_are_completed(chat: Chat) -> None:
    registry = SlashRegistry(COMMANDS, {})
    assert {"llm.model", "ui.theme"} <= {*registry.choices("config", chat)}
    assert registry.choices("config", chat, "ui.theme") == ["auto", "dark", "light", "plain"]
    assert registry.choices("config", chat, "offline") == ["true", "false"]
    assert "ollama" in registry.choices("config", chat, "llm.provider")
    assert registry.choices("config", chat, "llm.max_tokens") == []
    assert registry.choices("config", chat, "nonsense") == []
