"""The model of a resumed session is told which of its files are others now."""

import os
from pathlib import Path

import pytest

from localllm.app.meanwhile_changes import changed_meanwhile
from localllm.base.events import ToolCall
from localllm.llm.messages import AssistantMessage, Message, ToolMessage
from tests.support.wire_server import WireServer, calls, says
from tests.unit.app.test_app import app_over, played, state
from tests.unit.app.test_app_memory import STANDARD, sent

__all__ = ["state"]

pytestmark = pytest.mark.anyio

STEPS = [
    calls(*[("read_file", {"file_path": name}) for name in ("a.md", "b.md", "c.md", "never.md")]),
    calls(("edit_file", {"file_path": "b.md", "old_string": "two", "new_string": "three"})),
    says("one"),
    says("two"),
    says("three"),
]


@pytest.mark.parametrize("is_changed", [True, False])
async def test_files_that_were_changed_or_taken_away_meanwhile_are_named_once(tmp_path: Path, is_changed: bool) -> None:
    for name, text in (("a.md", "one\n"), ("b.md", "two\n"), ("c.md", "three\n")):
        (tmp_path / name).write_text(text)
        os.utime(tmp_path / name, (0, 0))
    with WireServer(STEPS) as server:
        async with app_over(tmp_path, server.url, agent=STANDARD, mode="auto") as app:
            await played(app, "first")
            name = app.session_id
        assert (tmp_path / "b.md").read_text() == "three\n"
        if is_changed:
            (tmp_path / "a.md").write_text("four\n")
            (tmp_path / "b.md").write_text("five\n")
            (tmp_path / "c.md").unlink()
        async with app_over(tmp_path, server.url, agent=STANDARD, mode="auto") as app:
            await app.keeping.resume(name)
            await played(app, "second")
            await played(app, "third")
        second, third = sent(server, 3)[-1]["content"], sent(server, 4)[-1]["content"]
    told = "[Since you last saw them: changed: a.md, b.md; gone: c.md. Read them again before you edit them.]"
    assert (told in second) is is_changed
    assert "Since you last saw them" not in third
    assert is_changed or "Since you last" not in second


async def test_of_very_many_files_those_that_were_read_last_are_looked_at(tmp_path: Path) -> None:
    messages: list[Message] = []
    for number in range(2_000):
        name = f"{number}.md"
        call = ToolCall(name, "read_file", f'{{"file_path": "{name}"}}')
        messages += [AssistantMessage("", (call,)), ToolMessage(name, "read_file", f"{name} (1 line)\nx")]
    (tmp_path / "1999.md").write_text("x\n")
    told = changed_meanwhile(tmp_path, [], messages, since=1.0, memory="LOCALLLM.md")
    assert "changed: 1999.md; gone: " in told
