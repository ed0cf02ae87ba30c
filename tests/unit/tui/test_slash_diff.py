"""/diff: what has become of the files that tools have changed in the session."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from localllm.agent.advice import Panel
from localllm.agent.checkpoints import Checkpoints
from localllm.agent.history import History
from localllm.app.session_changes import SessionChanges
from tests.support.agents import make_tools
from tests.support.slash import said

pytestmark = pytest.mark.anyio


class Chat:
    """A chat in a project, whose changes are kept."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.tools = make_tools(root)
        self.points = Checkpoints(self.tools, History("system"), lambda _: None)
        conversation: Any = SimpleNamespace(tool_system=self.tools, checkpoints=self.points)
        self.changes = SessionChanges(conversation, Panel(lambda _: None))  # type: ignore[arg-type, return-value] - never asked

    async def write(self, name: str, content: str) -> None:
        await self.tools.execute_tool("read_file", file_path=name)
        await self.tools.execute_tool("write_file", file_path=name, content=content)

    async def shown(self, words: str = "") -> str:
        return await said(self, f"diff {words}")


@pytest.fixture
def chat(tmp_path: Path) -> Chat:
    (tmp_path / "old.txt").write_text("one\ntwo\n")
    (tmp_path / "same.txt").write_text("same\n")
    return Chat(tmp_path)


async def test_all_that_the_session_has_changed_is_shown_as_it_is_now(chat: Chat) -> None:
    await chat.write("old.txt", "one\n2\n")
    await chat.write("new.txt", "new\n")
    (chat.root / "old.txt").write_text("one\n2\nthree\n")  # by the user
    shown = await chat.shown()
    assert "    --- a/old.txt\n    +++ b/old.txt\n" in shown
    assert "    -two\n    +2\n    +three\n" in shown
    assert "    --- /dev/null\n    +++ b/new.txt\n" in shown
    assert "same" not in shown


async def test_a_file_that_is_gone_is_shown_as_such(chat: Chat) -> None:
    await chat.write("old.txt", "2\n")
    (chat.root / "old.txt").unlink()
    assert "    --- a/old.txt\n    +++ /dev/null\n" in await chat.shown()


async def test_what_was_changed_back_is_no_difference(chat: Chat) -> None:
    await chat.write("old.txt", "2\n")
    (chat.root / "old.txt").write_text("one\ntwo\n")
    assert "No file differs" in await chat.shown()


async def test_turn_is_the_last_request_alone(chat: Chat) -> None:
    chat.points.add("first", by_hand=False)
    await chat.write("old.txt", "2\n")
    chat.points.add("second", by_hand=False)
    assert "changed no files" in await chat.shown("turn")
    await chat.write("same.txt", "other\n")
    chat.points.add("by hand")
    shown = await chat.shown("turn")
    assert "same.txt" in shown
    assert "old.txt" not in shown


async def test_one_file_is_shown_whole(chat: Chat) -> None:
    await chat.write("long.txt", "line\n" * 100)
    await chat.write("old.txt", "2\n")
    assert "… 63 more lines" in await chat.shown()
    shown = await chat.shown("long.txt")
    assert shown.count("+line") == 100
    assert "old.txt" not in shown
    assert "other.txt is not among" in await chat.shown("other.txt")


async def test_what_cannot_be_shown_says_why(chat: Chat) -> None:
    (chat.root / "picture").write_bytes(b"\0\1\2")
    (chat.root / "lost.txt").write_text("a\n")
    async with chat.tools.changes.recorded("run_command", ["picture", "lost.txt", "old.txt"]):
        (chat.root / "picture").write_text("text\n")
        (chat.root / "lost.txt").write_bytes(b"\0\1")
        (chat.root / "old.txt").chmod(0o755)
    shown = await chat.shown()
    assert "picture: it was not text" in shown
    assert "lost.txt: " in shown
    assert "old.txt: the text is the same" in shown


async def test_a_long_line_goes_on_below_its_text(chat: Chat) -> None:
    await chat.write("old.txt", "x" * 100 + "\n")
    assert f"    +{'x' * 75}\n     {'x' * 25}\n" in await chat.shown()
