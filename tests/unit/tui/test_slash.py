"""Slash commands: how they are found, what their help says, and what aliases may do."""

import inspect
import re
from collections.abc import Iterator

import pytest

from localllm.base.i18n import set_language
from localllm.text.sanitising import display_width
from localllm.tui.commands.builtin import COMMANDS
from localllm.tui.commands.registry import Alias, SlashCommand, SlashRegistry, command_name, words_after
from tests.support.each import each

JAPANESE = re.compile(r"[\u3040-\u30ff\u4e00-\u9fff]")


@pytest.fixture
def japanese() -> Iterator[None]:
    set_language("ja")
    yield
    set_language("en")


def registry(**aliases: str) -> SlashRegistry:
    return SlashRegistry(COMMANDS, aliases)


def name_of(found: SlashCommand | Alias | None) -> str:
    assert found is not None
    return found.name


def test_commands_are_found_by_any_of_their_names() -> None:
    assert name_of(registry().find("exit")) == "exit"
    assert name_of(registry().find("quit")) == "exit"
    assert name_of(registry().find("HELP")) == "help"
    assert registry().find("nothing") is None


@pytest.mark.parametrize(
    ("typed", "nearest"),
    [
        ("modell", "model"),
        ("hlep", "help"),
        ("reveiw", "review"),
        ("statsu", "status"),
        *((other, "") for other in ("xyz", "nonsense", "editor", "theme", "btw")),
    ],
)
def test_the_nearest_name(typed: str, nearest: str) -> None:
    assert registry(review="look").nearest(typed) == ([nearest] if nearest else [])


def test_the_nearest_two_names() -> None:
    assert registry().nearest("modle") == ["mode", "model"]


@pytest.mark.parametrize(("typed", "command"), [("new", "clear"), ("quit", "exit"), ("analyse", "analyze")])
def test_another_name_of_a_command(typed: str, command: str) -> None:
    assert name_of(registry().find(typed)) == command


def test_an_alias_is_expanded_with_what_follows() -> None:
    found = registry(review="Look at").find("review")
    assert isinstance(found, Alias)
    assert found.expand("src/a.py") == "Look at src/a.py"
    assert found.expand("") == "Look at"


def test_the_words_after_an_alias_may_have_a_place_in_it() -> None:
    alias = Alias("review", "Review $ARGUMENTS; fix nothing in $ARGUMENTS")
    assert alias.expand("a.py b.py") == "Review a.py b.py; fix nothing in a.py b.py"
    assert alias.expand("") == "Review ; fix nothing in"


def test_an_alias_cannot_take_a_builtin_name() -> None:
    aliases = SlashRegistry(COMMANDS, {"exit": "stay", "/quit": "stay", "/mine": "x"})
    assert isinstance(aliases.find("exit"), SlashCommand)
    assert aliases.conflicts == ["exit", "quit"]
    assert name_of(aliases.find("mine")) == "mine"


@pytest.mark.parametrize(
    ("alias", "typed"), [("Undo", "Undo"), ("ｍｏｄｅ", "ｍｏｄｅ"), ("／undo", "undo"), ("ᵐode", "MODE")]
)
def test_nor_does_it_in_another_case_or_width(alias: str, typed: str) -> None:
    registry = SlashRegistry(COMMANDS, {alias: "Delete all tests", "Review": "x"}, by_project=[alias])
    assert isinstance(registry.find(typed), SlashCommand)
    assert len(registry.conflicts) == 1
    assert name_of(registry.find("REVIEW")) == "Review"


def test_an_alias_of_a_project_does_not_take_the_name_of_the_users_own() -> None:
    registry = SlashRegistry(COMMANDS, {"Review": "push", "review": "look"}, by_project=["Review"])
    assert [registry.find(name) for name in ("review", "Review")] == [registry.aliases[0]] * 2
    assert (registry.aliases[0].request, registry.conflicts) == ("look", ["Review"])


@each(
    ("line", "name", "words"),
    [
        ("/todo start 3", "todo", "start 3"),
        ("／todo　買い物", "todo", "買い物"),
        ("/todo\n- a\n- b\n", "todo", "- a\n- b"),
        ("/help", "help", ""),
        ("/home/me is full", None, ""),
        ("／home／me is full", None, ""),
        ("read a／b", None, ""),
    ],
)
def test_the_command_of_a_line(line: str, name: str | None, words: str) -> None:
    assert command_name(line) == name
    if name:
        assert words_after(line) == words


def test_a_name_may_be_in_full_width() -> None:
    assert name_of(registry().find("ｔｏｄｏ")) == "todo"


def test_the_overview_has_commands_and_aliases() -> None:
    assert registry(mine="a request").overview()[-1] == ("mine", "a request")
    assert ("undo") in [name for name, _ in registry().overview()]


@each("command", COMMANDS, ids=lambda command: command.name)
def test_help_is_the_docstring(command: SlashCommand) -> None:
    assert command.help == inspect.getdoc(command.handler)


@pytest.mark.usefixtures("japanese")
@each("command", COMMANDS, ids=lambda command: command.name)
def test_help_in_japanese(command: SlashCommand) -> None:
    assert command.help != inspect.getdoc(command.handler)
    assert not command.help.isascii()
    said = [command.help, *(meaning for _, meaning in command.ways)]
    assert not re.search("(ます|です|ません|ください)[。（]", "。".join(said) + "。"), "one style: 「…する。」"


@each("command", COMMANDS, ids=lambda command: command.name)
def test_every_command_shows_how_it_is_written(command: SlashCommand) -> None:
    assert command.signature == f"/{command.name} {command.usage}".rstrip()
    assert all(form.startswith((f"/{command.name}", "3")) for form, _ in command.ways)
    assert all(display_width(form) <= 36 for form, _ in command.ways), "two columns at 80 cells"
    if command.usage:
        is_free = not command.usage[0].isupper()
        assert len(command.ways) > is_free, "with what follows and, where that is free, without"


@pytest.mark.usefixtures("japanese")
@each("command", [one for one in COMMANDS if one.usage], ids=lambda command: command.name)
def test_how_it_is_written_in_japanese(command: SlashCommand) -> None:
    assert command.signature.isascii() == (command.usage in ("ID", "[turn]", "[--refresh]"))
    assert all(JAPANESE.search(meaning) for _, meaning in command.ways)
    assert all(display_width(form) <= 36 for form, _ in command.ways)
