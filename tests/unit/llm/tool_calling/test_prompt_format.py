"""Pictures in dialects that spell calls and results out."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from localllm.base.events import ToolCall
from localllm.llm.message_format import LOOKING, normalised
from localllm.llm.messages import AssistantMessage, CompletionRequest, Message, ToolMessage, UserMessage
from localllm.llm.tool_calling.dialect import Dialect
from localllm.llm.tool_calling.structured import StructuredDialect
from localllm.llm.tool_calling.text_dialect import TextDialect
from tests.support.dialects import TOOLS
from tests.support.pictures import JPEG, PNG
from tests.unit.llm.test_normalising import conversations

CALLS = (ToolCall("1", "look", "{}"), ToolCall("2", "look", "{}"))
BOTH = pytest.mark.parametrize("dialect", [TextDialect(), StructuredDialect()], ids=lambda dialect: dialect.name)


def spelled(dialect: Dialect, *messages: Message) -> tuple[Message, ...]:
    request = CompletionRequest(model="m", messages=normalised(messages), tools=TOOLS)
    return dialect.encode(request).messages[1:]


@BOTH
def test_pictures_of_the_user_stay(dialect: Dialect) -> None:
    assert spelled(dialect, UserMessage("see", (PNG,))) == (UserMessage("see", (PNG,)),)


@BOTH
def test_pictures_of_results_follow_the_last_result(dialect: Dialect) -> None:
    results = (ToolMessage("1", "look", "one", (PNG,)), ToolMessage("2", "look", "two", (JPEG,)))
    begun = (UserMessage("go"), AssistantMessage("", CALLS), *results)
    asked, _, first, _, last = spelled(dialect, *begun)
    assert (asked, first.text.count("picture")) == (UserMessage("go"), 0)
    assert isinstance(last, UserMessage)
    assert last.images == (PNG, JPEG)
    assert "two" in last.text
    assert last.text.endswith("\n\n[picture 1: from result 1, of look]\n[picture 2: from result 2, of look]")
    assert spelled(dialect, *begun, AssistantMessage("I see."))[:5] == (asked, *spelled(dialect, *begun)[1:])


@given(conversations, st.sampled_from([TextDialect(), StructuredDialect()]))
def test_the_turns_alternate(given_: list[Message], dialect: Dialect) -> None:
    roles = [type(message) for message in spelled(dialect, *given_)]
    assert all(one is not other for one, other in pairwise(roles))
    assert LOOKING not in [message.text for message in spelled(dialect, *given_)]
