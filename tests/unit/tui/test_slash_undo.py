"""/undo: what is asked before it reaches behind the session, and what it says where nothing is left."""

from pathlib import Path

import pytest

from localllm.agent.checkpoints import Checkpoints
from localllm.agent.history import History
from localllm.base.errors import ToolExecutionError
from tests.support.agents import make_tools
from tests.support.slash import said

pytestmark = pytest.mark.anyio


class Chat:
    """A chat in a project, whose changes are kept."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.tools = make_tools(root)
        self.points = Checkpoints(self.tools, History("system"), lambda _: None)
        self.asked: list[str] = []
        self.answer = True

    async def write(self, name: str) -> None:
        await self.tools.execute_tool("write_file", file_path=name, content="x")

    def undo(self, *, turn: bool = False) -> list[str]:
        return self.points.undo(turn=turn)

    def rewind(self, which: str) -> list[str]:
        return self.points.rewind(which)

    def earlier_changes(self, *, turn: bool = False) -> list[str]:
        return self.points.earlier_changes(turn=turn)

    async def confirm(self, question: str) -> bool:
        self.asked.append(question)
        return self.answer

    async def undone(self, words: str = "") -> str:
        return await said(self, f"undo {words}", confirm=self.confirm)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "p").mkdir()
    return tmp_path / "p"


@pytest.fixture
async def chat(root: Path) -> Chat:
    """A chat after one that has made `old`."""
    await Chat(root).write("old")
    return Chat(root)


async def test_what_this_session_changed_is_taken_back_unasked(chat: Chat) -> None:
    await chat.write("new")
    assert "new: removed" in await chat.undone()
    assert not chat.asked


@pytest.mark.parametrize("words", ["", "turn"])
async def test_before_it_reaches_behind_the_session_it_shows_what_and_asks(chat: Chat, words: str) -> None:
    shown = await chat.undone(words)
    assert "old (write_file, " in shown
    assert "old: removed" in shown
    assert len(chat.asked) == 1
    assert not (chat.root / "old").exists()


async def test_with_no_nothing_is_taken_back(chat: Chat) -> None:
    chat.answer = False
    assert "Nothing was taken back." in await chat.undone()
    assert (chat.root / "old").exists()


async def test_where_nobody_can_be_asked_it_goes_on(chat: Chat) -> None:
    assert "old: removed" in await said(chat, "undo")


async def test_a_rewind_is_of_this_session(chat: Chat) -> None:
    chat.points.add("begin")
    await chat.write("new")
    chat.rewind("1")
    await chat.undone()
    assert (chat.root / "new").exists()
    assert not chat.asked


async def test_a_rewind_that_did_nothing_hides_nothing(chat: Chat) -> None:
    chat.points.add("begin")
    chat.rewind("1")
    await chat.undone()
    assert len(chat.asked) == 1


async def test_where_nothing_is_left_it_says_just_that(root: Path) -> None:
    chat = Chat(root)
    assert await chat.undone() == "  There is nothing to undo.\n"
    assert not chat.asked


async def test_another_reason_is_an_error(chat: Chat) -> None:
    chat.tools.changes.undo()
    with chat.tools.changes._snapshots.writing():  # pyright: ignore[reportPrivateUsage] - as a write under way does
        chat.tools.changes._snapshots._patience = 0.0  # pyright: ignore[reportPrivateUsage]
        with pytest.raises(ToolExecutionError, match="just being changed"):
            await chat.undone()


async def test_where_only_what_cannot_be_taken_back_is_left_it_says_so(root: Path) -> None:
    chat = Chat(root)
    await chat.write("new")
    (root / "new").write_text("theirs")
    shown = " ".join((await chat.undone()).split())
    assert "was changed again outside of it" in shown
    assert "There is nothing else to undo." in shown
