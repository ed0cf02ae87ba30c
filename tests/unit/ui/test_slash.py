"""Slash commands: how they are found, what their help says, and what aliases may do."""

import inspect
from collections.abc import Iterator

import pytest

from localllm.base.i18n import set_language
from localllm.base.i18n.messages import MESSAGES
from localllm.ui.slash.commands import builtin_commands
from localllm.ui.slash.registry import Alias, SlashCommand, SlashRegistry


@pytest.fixture
def japanese() -> Iterator[None]:
    set_language("ja")
    yield
    set_language("en")


def registry(**aliases: str) -> SlashRegistry:
    return SlashRegistry(builtin_commands(), aliases)


def name_of(found: SlashCommand | Alias | None) -> str:
    assert found is not None
    return found.name


def test_commands_are_found_by_any_of_their_names() -> None:
    assert name_of(registry().find("exit")) == "exit"
    assert name_of(registry().find("quit")) == "exit"
    assert name_of(registry().find("HELP")) == "help"
    assert registry().find("nothing") is None


@pytest.mark.parametrize(
    ("typed", "nearest"), [("modell", "model"), ("hlep", "help"), ("analize", "analyze"), ("xyz", "")]
)
def test_the_nearest_name(typed: str, nearest: str) -> None:
    assert registry(analyze="look").nearest(typed) == nearest


def test_an_alias_is_expanded_with_what_follows() -> None:
    found = registry(analyze="Look at").find("analyze")
    assert isinstance(found, Alias)
    assert found.expand("src/a.py") == "Look at src/a.py"
    assert found.expand("") == "Look at"


def test_an_alias_cannot_take_a_builtin_name() -> None:
    aliases = SlashRegistry(builtin_commands(), {"exit": "stay", "/quit": "stay", "/mine": "x"})
    assert isinstance(aliases.find("exit"), SlashCommand)
    assert aliases.conflicts == ["exit", "quit"]
    assert name_of(aliases.find("mine")) == "mine"


def test_the_overview_has_commands_and_aliases() -> None:
    assert registry(mine="a request").overview()[-1] == ("mine", "a request")
    assert ("undo") in [name for name, _ in registry().overview()]


@pytest.mark.parametrize("command", builtin_commands(), ids=lambda command: command.name)
def test_help_is_the_docstring(command: SlashCommand) -> None:
    assert command.help == inspect.getdoc(command.handler) == MESSAGES[f"slash.{command.name}"][0]


@pytest.mark.usefixtures("japanese")
@pytest.mark.parametrize("command", builtin_commands(), ids=lambda command: command.name)
def test_help_in_japanese(command: SlashCommand) -> None:
    assert command.help == MESSAGES[f"slash.{command.name}"][1]
    assert not command.help.isascii()
