"""Messages as plain dicts."""

from typing import Any

import pytest

from localllm.base.events import ToolCall
from localllm.llm.messages import AssistantMessage, SystemMessage, ToolMessage, UserMessage
from localllm.llm.plain_messages import read_messages

CALL = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": '{"a": 1}'}}


def test_every_role() -> None:
    dicts = [
        {"role": "system", "content": "s"},
        {"role": "user", "content": [{"type": "text", "text": "u"}, {"type": "text", "text": "v"}]},
        {"role": "assistant", "content": None, "tool_calls": [CALL]},
        {"role": "tool", "tool_call_id": "c1", "content": "r"},
        {"role": "assistant", "content": "a"},
    ]
    assert read_messages(dicts) == (
        SystemMessage("s"),
        UserMessage("uv"),
        AssistantMessage("", (ToolCall("c1", "look", '{"a": 1}'),)),
        ToolMessage("c1", "look", "r"),
        AssistantMessage("a"),
    )


@pytest.mark.parametrize(
    "wrong",
    [
        {},
        {"role": "owner", "content": "x"},
        {"role": "user", "content": 3},
        {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "x"}}]},
        {"role": "user", "content": ["x"]},
        {"role": "tool", "content": "x"},
        {"role": "assistant", "content": "", "tool_calls": [{"id": "c1"}]},
    ],
)
def test_what_is_no_message_is_named(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="message 1"):
        read_messages([{"role": "user", "content": "x"}, wrong])
