"""/ps and /stop: what they show, and what they stop."""

from collections.abc import Sequence
from io import StringIO
from types import SimpleNamespace
from typing import Any

import pytest

from localllm.tui.commands.background import ps, stop
from localllm.tui.commands.builtin import COMMANDS
from localllm.tui.commands.registry import SlashCall, SlashCommand, SlashRegistry
from localllm.tui.render.screen import Screen
from localllm.tui.theme import Theme

pytestmark = pytest.mark.anyio


class Command:
    """A command in the background."""

    def __init__(self, number: int, command: str, *, running: bool, last_line: str = "") -> None:
        self.number, self.command, self.last_line = number, command, last_line
        self.is_running = running
        self.seconds = 61.4
        self.reverted: tuple[str, ...] = ()

    @property
    def state(self) -> str:
        return "running" if self.is_running else "stopped"

    def ask_to_end(self) -> None:
        self.asked = True

    async def wait(self, seconds: float) -> None:
        self.is_running = False


def world() -> list[Command]:
    return [
        Command(1, "npm run dev", running=True, last_line="listening on \x1b[31m5173\x1b[0m"),
        Command(2, "make\nwatch", running=True),
        Command(3, "false", running=False),
    ]


async def typed(command: SlashCommand, commands: Sequence[Command], arguments: str = "") -> str:
    written = StringIO()
    chat: Any = SimpleNamespace(background=lambda: commands)
    screen = Screen(written, Theme(plain=True))
    await command.handler(SlashCall(arguments, chat, screen, SlashRegistry(COMMANDS, {})))
    return written.getvalue()


async def test_they_are_listed_with_their_last_line() -> None:
    commands = world()
    commands[1].reverted = (".envrc",)
    shown = await typed(ps, commands)
    assert "1  npm run dev  (running, 61 s)" in shown
    assert "3  false  (stopped, 61 s)" in shown
    assert "restored: .envrc" in shown
    assert "listening on" in shown
    assert "\x1b" not in shown
    assert len(shown.splitlines()) == 5


async def test_there_may_be_none() -> None:
    assert "Nothing has been run" in await typed(ps, [])
    assert "Nothing is running" in await typed(stop, [Command(1, "x", running=False)])


async def test_one_is_stopped() -> None:
    commands = world()
    assert "2  make" in await typed(stop, commands, "2")
    assert [command.is_running for command in commands] == [True, False, False]


async def test_all_are_stopped() -> None:
    commands = world()
    shown = await typed(stop, commands)
    assert shown.count("stopped") == 2
    assert not any(command.is_running for command in commands)


@pytest.mark.parametrize("number", ["3", "9", "x"])
async def test_what_does_not_run_is_said(number: str) -> None:
    commands = world()
    assert f"{number} is not running" in await typed(stop, commands, number)
    assert commands[0].is_running


def test_only_what_runs_is_proposed() -> None:
    chat: Any = SimpleNamespace(background=world)
    assert SlashRegistry(COMMANDS, {}).choices("stop", chat) == ["1", "2"]
