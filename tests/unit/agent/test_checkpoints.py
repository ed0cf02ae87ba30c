"""A session goes back to a point, files and conversation together, and forward again."""

from pathlib import Path

import pytest

from localllm.agent.checkpoints import Checkpoints
from localllm.agent.history import History, Mark
from localllm.agent.replay import replay
from localllm.base.errors import ToolExecutionError
from localllm.base.events import Rewound, ToolCall
from localllm.context.conversation import Conversation, Spoken
from localllm.llm.messages import AssistantMessage, UserMessage
from localllm.sessions.entries import Entry, Pointed
from localllm.sessions.log import SessionRead
from localllm.tools.tool_system import ToolSystem
from tests.support.agents import make_tools

pytestmark = pytest.mark.anyio


class Session:
    """Files, a conversation and its points."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.tools: ToolSystem = make_tools(root)
        self.history = History("system")
        self.log: list[Entry] = []
        self.points = Checkpoints(self.tools, self.history, self.log.append)

    @property
    def events(self) -> list[Entry]:
        return [entry for entry in self.log if isinstance(entry, Rewound)]

    async def turn(self, query: str, **files: str) -> None:
        self.points.add(query, by_hand=False)
        self.tools.begin_turn()
        self.history.add_user(query, words=query)
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


async def test_a_point_is_dropped_where_nothing_came_of_it(tmp_path: Path) -> None:
    session = Session(tmp_path)
    await session.turn("first")
    with session.points.before("/compact"):
        pass
    assert [point.name for point in session.points.points()] == ["first"]
    with session.points.before("/compact"):
        session.history.add_user("more", words="more")
    assert [point.name for point in session.points.points()] == ["first", "/compact"]


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
    lines = session.points.undo(turn=False)
    assert [("is unchanged" in line) for line in lines] == [False, True]
    assert session.text("a") == "1"
    assert [type(message).__name__ for message in session.history.messages].count("UserMessage") == 1


async def test_after_something_else_was_changed_that_is_taken_back_and_not_the_rewind(session: Session) -> None:
    await session.turn("one", a="1")
    session.points.rewind("1")
    rewound = session.history.messages
    await session.tools.execute_tool("write_file", file_path="b", content="by a command of the chat")
    session.points.undo(turn=False)
    assert (session.text("a"), session.text("b")) == (None, None)
    assert session.history.messages == rewound


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
    assert sum("changed by something else" in line for line in lines) == 1


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
    assert caught.value.fix == "/rewind lists the 1 checkpoint."


def test_where_there_is_no_point_none_is_counted(session: Session) -> None:
    with pytest.raises(ToolExecutionError) as caught:
        session.points.rewind("1")
    assert caught.value.fix.startswith("There are none yet.")


async def test_without_anything_said_or_changed_there_is_nothing_to_do(session: Session) -> None:
    session.points.add("x")
    assert ["is unchanged" in line for line in session.points.rewind("x")] == [True]
    with pytest.raises(ToolExecutionError):
        session.points.undo(turn=False)


async def test_a_place_in_the_middle_of_a_turn_is_none_to_go_back_to(session: Session) -> None:
    await session.turn("one")
    await session.turn("two")
    before = session.history.messages
    for count, kept in [(0, 1), (1, 1), (2, 1), (3, 3), (4, 3), (9, 5)]:
        session.history.restore(session.history.rewind(Mark(9)))
        forgotten = session.history.rewind(Mark(count))
        assert session.history.messages == before[:kept]
        session.history.restore(forgotten)
        assert session.history.messages == before


async def test_an_open_call_is_not_rewound(session: Session) -> None:
    session.history.add_user("look")
    session.history.add_assistant(AssistantMessage("", (ToolCall("c", "look", "{}"),)))
    with pytest.raises(ValueError, match="rewound"):
        session.history.rewind(Mark(1))


def compact(session: Session) -> Conversation:
    """What was said, in one message."""
    before = session.history.conversation
    head = UserMessage("\n".join(spoken.text for spoken in before.spoken))
    made = Conversation(
        (before.messages[0], head, AssistantMessage("gone on")), tuple(Spoken(each.text, 1) for each in before.spoken)
    )
    session.history.rewrite(made)
    return made


async def test_a_point_before_a_compaction_brings_the_older_messages_back(session: Session) -> None:
    await session.turn("one", a="1")
    await session.turn("two", a="2")
    whole = session.history.messages
    compact(session)
    await session.turn("three", a="3")
    lines = session.points.rewind("2")
    assert session.history.messages == whole[:3]
    assert session.history.words == ("one",)
    assert session.text("a") == "1"
    assert "as it was before it was summarised" in lines[-1]
    assert session.events == [Rewound(messages=3, checkpoint="two", generation=0)]
    session.points.undo(turn=False)
    assert session.history.words == ("one", "two", "three")
    assert session.events[-1] == Rewound(messages=5, taken_back=True, generation=1)
    assert len(session.history.messages) == 5


async def test_a_point_after_a_compaction_that_was_gone_back_behind(session: Session) -> None:
    await session.turn("one", a="1")
    compact(session)
    session.points.add("compacted")
    await session.turn("two", a="2")
    session.points.rewind("1")
    await session.turn("other", a="9")
    said = session.history.messages
    session.points.rewind("compacted")
    assert session.text("a") == "1"
    assert session.history.messages == said


async def test_a_point_that_was_gone_back_behind_has_only_its_files(session: Session) -> None:
    session.history.listen(session.log.append)
    await session.turn("one", a="1")
    await session.turn("two", a="2")
    session.points.rewind("1")
    assert [point.files_only for point in session.points.points()] == [False, True]
    session.points.undo(turn=False)
    assert not any(point.files_only for point in session.points.points())
    session.points.rewind("1")
    for query in ("other", "more", "much more"):
        await session.turn(query, b=query)
    said = session.history.messages
    lines = session.points.rewind("2")
    assert (session.text("a"), session.text("b")) == ("1", None)
    assert session.history.messages == said, "what was said since has nothing to do with that point"
    assert "gone" in lines[-1]
    replayed = replay(SessionRead(tuple(session.log)), system="system")
    assert [point.files_only for point in replayed.points] == [False, True, False, False, False]


async def test_words_come_back_with_a_rewind_that_is_undone(session: Session) -> None:
    await session.turn("one")
    await session.turn("two")
    session.points.rewind("2")
    assert session.history.words == ("one",)
    session.points.undo(turn=False)
    assert session.history.words == ("one", "two")


async def test_the_plan_goes_where_the_conversation_goes(session: Session) -> None:
    session.tools.plan.text = "first"
    await session.turn("one")
    session.tools.plan.text = "second"
    point = session.points.add("  here\nand now ")
    assert (point.name, point.plan, point.number) == ("here and now", "second", 2)
    session.tools.plan.text = "third"
    await session.turn("two")
    session.points.rewind("1")
    assert session.tools.plan.text == "first"
    session.points.undo(turn=False)
    assert session.tools.plan.text == "third"
    session.points.rewind("Here AND now")
    assert session.tools.plan.text == "second"
    pointed = [entry for entry in session.log if isinstance(entry, Pointed)]
    assert [(one.number, one.name, one.by_hand, one.plan) for one in pointed] == [
        *((1, "one", False, "first"), (2, "here and now", True, "second"), (3, "two", False, "third")),
    ]
    assert [(one.messages, one.generation) for one in pointed] == [(1, 0), (3, 0), (3, 0)]


async def test_where_only_the_files_come_back_the_plan_stays(session: Session) -> None:
    await session.turn("one")
    await session.turn("two")
    session.points.rewind("1")
    session.tools.plan.text = "new"
    await session.turn("other")
    session.points.rewind("2")
    assert session.tools.plan.text == "new"


async def test_of_two_points_of_one_name_the_newer_is_meant(session: Session) -> None:
    session.points.add("good")
    await session.turn("one")
    session.points.add("good")
    await session.turn("two")
    session.points.rewind("good")
    assert session.history.words == ("one",)
    session.points.rewind("1")
    assert session.history.words == ()


async def test_what_has_changed_nothing_is_not_logged(session: Session) -> None:
    await session.turn("one", a="1")
    session.points.add("x")
    session.points.rewind("x")
    assert session.events == []


async def test_what_an_undo_would_take_back_of_others_is_not_asked_about_after_a_rewind(session: Session) -> None:
    other = Checkpoints(session.tools, History("system"), session.log.append)
    await session.turn("one", a="1")
    session.points.rewind("1")
    assert session.points.earlier_changes(turn=False) == []
    assert other.earlier_changes(turn=False) == session.tools.changes.earlier_changes(turn=False)


async def test_lines_tell_how_many_messages_are_forgotten_and_back(session: Session) -> None:
    await session.turn("one")
    await session.turn("two")
    assert "checkpoint 1 (4 messages dropped)" in session.points.rewind("1")[-1]
    assert "(4 messages restored)" in session.points.undo(turn=False)[-1]
    compact(session)
    await session.turn("three")
    assert "(2 of your requests dropped)" in session.points.rewind("2")[-1]
    assert "summarised (2 of your requests restored)" in session.points.undo(turn=False)[-1]


async def test_inside_a_point_another_may_be_made(session: Session) -> None:
    with session.points.before("/compact"):
        session.points.add("inner")
    assert [point.name for point in session.points.points()] == ["/compact", "inner"]
