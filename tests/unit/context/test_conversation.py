"""Where the user may speak in a conversation."""

import pytest

from localllm.base.events import ToolCall
from localllm.context.conversation import end_of_turn
from localllm.llm.messages import AssistantMessage, Message, SystemMessage, ToolMessage, UserMessage

LOOK = AssistantMessage("", (ToolCall("c", "look", "{}"),))
TALK: tuple[Message, ...] = (
    *(SystemMessage("s"), UserMessage("hello"), AssistantMessage("well?")),
    *(UserMessage("look"), LOOK, ToolMessage("c", "look", "a wall"), AssistantMessage("A wall.")),
)


@pytest.mark.parametrize(("count", "end"), [(99, 7), (7, 7), (6, 3), (5, 3), (4, 3), (3, 3), (2, 1), (1, 1)], ids=str)
def test_the_user_may_speak_behind_an_answer_with_nothing_or_a_request_after_it(count: int, end: int) -> None:
    assert end_of_turn(TALK, count) == end
