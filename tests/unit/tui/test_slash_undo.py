"""/undo and /redo: what is asked before /undo reaches behind the session, and what they say where nothing is left."""

from pathlib import Path
from typing import Self

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

    @property
    def changes(self) -> Self:
        return self

    def undo(self, *, turn: bool = False) -> list[str]:
        return self.points.undo(turn=turn)

    def rewind(self, which: str) -> list[str]:
        return self.points.rewind(which)

    @property
    def is_rewound(self) -> bool:
        return self.points.is_rewound

    def redo(self) -> list[str]:
        return self.tools.changes.redo()

    def earlier(self, *, turn: bool = False) -> list[str]:
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
    assert "Nothing was undone." in await chat.undone()
    assert (chat.root / "old").exists()


async def test_what_another_session_undoes_while_the_question_stands_is_asked_about_anew(root: Path) -> None:
    await Chat(root).write("older")
    other = Chat(root)
    await other.write("old")
    chat = Chat(root)

    async def confirm(question: str) -> bool:
        if not chat.asked:
            other.undo()
        return await Chat.confirm(chat, question)

    shown = await said(chat, "undo", confirm=confirm)
    assert len(chat.asked) == 2
    assert shown.index("old (write_file, ") < shown.index("older (write_file, ") < shown.index("older: removed")


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
        with pytest.raises(ToolExecutionError, match="is being changed"):
            await chat.undone()


async def test_where_only_what_cannot_be_taken_back_is_left_it_says_so(root: Path) -> None:
    chat = Chat(root)
    await chat.write("new")
    (root / "new").write_text("theirs")
    shown = " ".join((await chat.undone()).split())
    assert "changed by something else since" in shown
    assert "There is nothing else to undo." in shown


def present(chat: Chat) -> list[str]:
    return [name for name in ("one", "two", "three") if (chat.root / name).exists()]


async def test_what_was_taken_back_step_by_step_is_made_again_step_by_step(root: Path) -> None:
    chat = Chat(root)
    await chat.write("one")
    await chat.write("two")
    for left in (["one"], []):
        await chat.undone()
        assert present(chat) == left
    for left in (["one"], ["one", "two"]):
        assert await said(chat, "redo") == f"  {left[-1]}: the change is redone.\n"
        assert present(chat) == left
    assert await said(chat, "redo") == "  There is nothing to redo.\n"
    await chat.undone()
    assert present(chat) == ["one"]
    await said(chat, "redo")
    assert present(chat) == ["one", "two"]


@pytest.mark.parametrize("words", ["", "turn"])
async def test_what_is_made_again_is_of_the_request_that_made_it(root: Path, words: str) -> None:
    chat = Chat(root)
    await chat.write("one")
    chat.tools.begin_turn()
    await chat.write("two")
    await chat.write("three")
    await chat.undone(words)
    await said(chat, "redo")
    assert present(chat) == ["one", "two", "three"]
    await chat.undone("turn")
    assert present(chat) == ["one"]
    await said(chat, "redo")
    assert present(chat) == ["one", "two", "three"]


async def test_a_request_after_redo_is_one_by_itself(root: Path) -> None:
    chat = Chat(root)
    await chat.write("one")
    await chat.undone()
    await said(chat, "redo")
    chat.tools.begin_turn()
    await chat.write("two")
    await chat.undone("turn")
    assert present(chat) == ["one"]


async def test_a_deletion_that_was_taken_back_is_made_again(root: Path) -> None:
    chat = Chat(root)
    (root / "one").write_text("1")
    await chat.tools.execute_tool("run_command", command="rm one")
    await chat.undone()
    assert await said(chat, "redo") == "  one: deleted again.\n"


async def test_after_another_change_nothing_is_made_again(root: Path) -> None:
    chat = Chat(root)
    await chat.write("one")
    await chat.undone()
    await chat.write("two")
    await chat.undone()
    await chat.write("three")
    assert await said(chat, "redo") == "  There is nothing to redo: files were changed since the last /undo.\n"
    assert present(chat) == ["three"]
    await chat.undone()
    await said(chat, "redo")
    assert await said(chat, "redo") == "  There is nothing to redo.\n"
    assert present(chat) == ["three"]


async def test_a_note_between_undo_and_redo_leaves_what_was_taken_back(root: Path) -> None:
    chat = Chat(root)
    await chat.write("one")
    await chat.write("two")
    await chat.undone()
    await chat.undone()
    for text in ("a", "b"):
        async with chat.tools.by_person("/todo", "LOCALLLM.md"):
            (root / "LOCALLLM.md").write_text(text)
    for left in ("one", "two"):
        assert await said(chat, "redo") == f"  {left}: the change is redone.\n"
    assert present(chat) == ["one", "two"]
    assert (root / "LOCALLLM.md").read_text() == "b"


async def test_a_note_that_was_taken_back_is_made_again_before_what_was_taken_back_before_it(root: Path) -> None:
    chat = Chat(root)
    await chat.write("one")
    await chat.undone()
    async with chat.tools.by_person("/todo", "LOCALLLM.md"):
        (root / "LOCALLLM.md").write_text("a")
    await chat.undone()
    assert await said(chat, "redo") == "  LOCALLLM.md: the change is redone.\n"
    assert await said(chat, "redo") == "  one: the change is redone.\n"


async def test_a_note_in_the_file_that_was_taken_back_stops_redo(root: Path) -> None:
    chat = Chat(root)
    await chat.write("one")
    await chat.undone()
    async with chat.tools.by_person("/todo", "one"):
        (root / "one").write_text("a")
    assert await said(chat, "redo") == "  There is nothing to redo: files were changed since the last /undo.\n"
    assert (root / "one").read_text() == "a"


async def test_a_note_does_not_open_again_what_a_change_has_closed(root: Path) -> None:
    chat = Chat(root)
    await chat.write("one")
    await chat.undone()
    await chat.write("two")
    async with chat.tools.by_person("/todo", "LOCALLLM.md"):
        (root / "LOCALLLM.md").write_text("a")
    assert await said(chat, "redo") == "  There is nothing to redo: files were changed since the last /undo.\n"


async def test_what_somebody_wrote_meanwhile_is_not_overwritten_by_redo(root: Path) -> None:
    chat = Chat(root)
    await chat.write("one")
    await chat.undone()
    (root / "one").write_text("theirs")
    assert "left as it is" in " ".join((await said(chat, "redo")).split())
    assert (root / "one").read_text() == "theirs"


async def test_a_rewind_that_was_taken_back_is_for_rewind(root: Path) -> None:
    chat = Chat(root)
    chat.points.add("begin")
    await chat.write("one")
    chat.rewind("1")
    await chat.undone()
    assert await said(chat, "redo") == "  There is nothing to redo.\n"
    assert present(chat) == ["one"]


async def test_redo_takes_no_words(root: Path) -> None:
    chat = Chat(root)
    await chat.write("one")
    await chat.undone()
    assert "redo what /undo last undid" in await said(chat, "redo one")
    assert present(chat) == []


async def test_undo_is_offered_only_after_a_rewind_that_changed_anything(chat: Chat) -> None:
    await chat.write("new")
    chat.points.add("now")
    assert "/undo takes this back" not in await said(chat, "rewind now")
    assert "new: removed" in await chat.undone(), "the change before, not the rewind"
    await said(chat, "redo")
    chat.points.add("again")
    await chat.write("more")
    assert "/undo takes this back" in await said(chat, "rewind again")
    assert "more: the previous version is restored." in await chat.undone()


@pytest.mark.parametrize("is_later", [False, True])
async def test_a_redone_change_is_taken_back_with_the_rest_of_its_request(root: Path, is_later: bool) -> None:
    chat = Chat(root)
    await chat.write("a")
    await chat.write("b")
    chat = Chat(root) if is_later else chat
    await chat.undone()
    chat.redo()
    assert (root / "b").exists()
    asked = len(chat.asked)
    shown = await chat.undone("turn")
    assert not (root / "a").exists()
    assert not (root / "b").exists()
    assert len(chat.asked) == asked + is_later
    assert ("a (write_file, " in shown) == is_later
