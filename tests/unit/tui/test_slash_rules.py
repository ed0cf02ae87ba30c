"""/mode and /rules: what is asked about, and what answers have allowed."""

from collections.abc import Sequence
from typing import Any

import pytest

from localllm.base.errors import SafetyViolationError
from localllm.config.schema import Mode, SafetyRule, SafetySettings, Settings
from localllm.safety.rules import Rule
from localllm.safety.saved_rules import Remembered
from localllm.tui.commands.rules import MODES, next_mode
from tests.support.slash import said

pytestmark = pytest.mark.anyio

MAKE = Remembered(Rule(tool="run_command", decision="allow", prefix="make\ntest", exact=True), "project")
DOCS = Remembered(Rule(tool="edit_file", decision="allow", prefix="docs"), "session")


class Chat:
    """A chat where the mode auto is possible or not."""

    def __init__(self, *, held: bool = True, settings: Settings | None = None) -> None:
        self.mode: Mode = "ask"
        self.settings = settings or Settings()
        self.remembered = [MAKE, DOCS]
        self._held = held

    def set_mode(self, mode: Mode) -> None:
        if mode == "auto" and not self._held:
            raise SafetyViolationError("mode_needs_sandbox", reason="no")
        self.mode = mode

    def rules(self) -> Sequence[Remembered]:
        return tuple(self.remembered)

    def forget_rule(self, remembered: Remembered) -> None:
        self.remembered.remove(remembered)


async def test_the_mode_is_shown_and_changed() -> None:
    chat = Chat()
    assert "● ask " in await said(chat, "mode")
    assert "● plan " in await said(chat, "mode", "Plan")
    unknown = await said(chat, "mode", "full")
    assert "“full”" in unknown
    assert all(f" {mode} " in unknown for mode in MODES)
    assert chat.mode == "plan"


@pytest.mark.parametrize(
    ("held", "modes"),
    [(True, ["auto-edit", "auto", "plan", "ask"]), (False, ["auto-edit", "plan", "ask", "auto-edit"])],
)
def test_the_next_mode_is_the_next_possible_one(held: bool, modes: list[str]) -> None:
    chat: Any = Chat(held=held)
    seen: list[str] = []
    for _ in modes:
        next_mode(chat)
        seen.append(chat.mode)
    assert seen == modes


async def test_rules_are_listed_and_one_is_removed() -> None:
    chat = Chat()
    listed = (await said(chat, "rules")).splitlines()
    assert listed[0] == "  1  run_command(make␊test) · exactly · this project"
    assert listed[1] == "  2  edit_file(docs) · this session"
    assert "asked again about edit_file(docs)" in await said(chat, "rules", "remove 2")
    assert chat.remembered == [MAKE]


@pytest.mark.parametrize("arguments", ["remove", "remove 0", "remove 3", "remove x", "drop 1", "1"])
async def test_what_cannot_be_removed(arguments: str) -> None:
    chat = Chat()
    shown = await said(chat, "rules", arguments)
    assert ("There is no rule" in shown) if arguments[-1] in "03" else ("/rules remove 2" in shown)
    assert chat.remembered == [MAKE, DOCS]


async def test_the_rules_of_the_settings_are_listed_too() -> None:
    table = SafetyRule(tool="run_command", prefix="git push", decision="deny")
    chat = Chat(settings=Settings(safety=SafetySettings(ask=("edit_file(src)",), rules=(table,))))
    chat.remembered = []
    listed = await said(chat, "rules")
    assert "deny  run_command(git push) · settings" in listed
    assert "ask   edit_file(src) · settings" in listed
    chat = Chat()
    chat.remembered = []
    assert "There are no rules." in await said(chat, "rules")
