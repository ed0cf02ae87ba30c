"""A session goes back to a point, files and conversation together, and forward again."""

from collections.abc import Callable
from pathlib import Path

import pytest

from localllm.agents.checkpoints import Checkpoints
from localllm.agents.history import History
from localllm.base.errors import ToolExecutionError
from localllm.base.events import AgentEvent, Rewound
from localllm.llm.messages import AssistantMessage
from localllm.tools.tool_system import ToolSystem
from tests.support.agents import make_tools

pytestmark = pytest.mark.anyio


class Session:
    """Files, a conversation and its points."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.tools: ToolSystem = make_tools(root)
        self.history = History("system")
        self.events: list[AgentEvent] = []
        self.points = Checkpoints(self.tools, self.history, self.events.append)

    async def turn(self, query: str, **files: str) -> None:
        self.points.add(query, by_hand=False)
        self.tools.begin_turn()
        self.history.add_user(query)
        for name, content in files.items():
            await self.tools.execute_tool("write_file", file_path=name, content=content)
        self.history.add_assistant(AssistantMessage("done"))

    def text(self, name: str) -> str | None:
        file = self.root / name
        return file.read_text() if file.exists() else None


@pytest.fixture
def session(tmp_path: Path) -> Session:
    root = tmp_path / "project"
    root.mkdir()
    return Session(root)


async def test_files_and_conversation_go_back_and_the_beginning_stays_as_it_was(session: Session) -> None:
    await session.turn("one", a="1")
    before = session.history.messages
    session.points.add("good")
    await session.turn("two", a="2", b="2")
    await session.turn("three", a="3")
    lines = session.points.rewind("good")
    assert len(lines) == 3
    assert (session.text("a"), session.text("b")) == ("1", None)
    assert session.history.messages == before
    assert [one is other for one, other in zip(session.history.messages, before, strict=True)] == [True] * 3
    assert session.events == [Rewound(messages=3, checkpoint="good")]
    session.history.add_user("four")  # the conversation is valid


async def test_a_rewind_is_undone_whole(session: Session) -> None:
    await session.turn("one", a="1")
    await session.turn("two", a="2")
    before = session.history.messages
    session.points.rewind("1")
    assert session.text("a") is None
    assert len(session.history.messages) == 1
    lines = session.points.undo(turn=False)
    assert len(lines) == 2
    assert session.text("a") == "2"
    assert session.history.messages == before
    session.points.undo(turn=False)
    assert session.text("a") == "1"


async def test_after_something_new_was_said_only_the_files_come_back(session: Session) -> None:
    await session.turn("one", a="1")
    session.points.rewind("1")
    await session.turn("other")
    session.points.undo(turn=False)
    assert session.text("a") == "1"
    assert [type(message).__name__ for message in session.history.messages].count("UserMessage") == 1


async def test_a_rewind_over_an_undo_and_to_a_point_after_it(session: Session) -> None:
    await session.turn("one", a="1")
    session.points.add("first")
    await session.turn("two", a="2")
    session.points.undo(turn=False)
    session.points.undo(turn=False)
    assert session.text("a") is None
    session.points.rewind("first")
    assert session.text("a") == "1"


async def test_there_and_back_again(session: Session) -> None:
    await session.turn("one", a="1")
    session.points.add("first")
    await session.turn("two", a="2")
    session.points.add("second")
    session.points.rewind("first")
    assert session.text("a") == "1"
    session.points.rewind("second")
    assert session.text("a") == "2"


async def test_what_the_user_changed_since_is_left_and_told(session: Session) -> None:
    await session.turn("one", a="1", b="1")
    (session.root / "a").write_text("mine")
    lines = session.points.rewind("1")
    assert session.text("a") == "mine"
    assert session.text("b") is None
    assert sum("changed by someone else" in line for line in lines) == 1


async def test_the_list_tells_what_changed_since_each(session: Session) -> None:
    await session.turn("one", a="1")
    await session.turn("two", b="2")
    session.points.add("here")
    assert [(point.number, point.name, point.by_hand, point.changed) for point in session.points.points()] == [
        (1, "one", False, ("a", "b")),
        (2, "two", False, ("b",)),
        (3, "here", True, ()),
    ]
    await session.tools.execute_tool("run_command", command="rm a")
    assert session.points.points()[2].changed == ("a",)


@pytest.mark.parametrize("which", ["0", "9", "nothing", "one"])
async def test_an_unknown_point(session: Session, which: str) -> None:
    await session.turn("one")
    with pytest.raises(ToolExecutionError) as caught:
        session.points.rewind(which)
    assert caught.value.key == "rewind_unknown"


async def test_without_anything_said_or_changed_there_is_nothing_to_do(session: Session) -> None:
    session.points.add("x")
    assert ["stays as it is" in line for line in session.points.rewind("x")] == [True]
    with pytest.raises(ToolExecutionError):
        session.points.undo(turn=False)


@pytest.mark.parametrize("break_it", [lambda h: h.rewind(0), lambda h: h.rewind(2), lambda h: h.rewind(9)])
async def test_a_conversation_is_rewound_to_the_end_of_a_turn_alone(
    session: Session, break_it: Callable[[History], object]
) -> None:
    await session.turn("one")
    with pytest.raises(ValueError, match="rewound"):
        break_it(session.history)
