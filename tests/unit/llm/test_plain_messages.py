"""Messages as plain dicts."""

from typing import Any

import pytest

from localllm.base.events import ToolCall
from localllm.llm.message_format import read_messages
from localllm.llm.messages import AssistantMessage, Image, SystemMessage, ToolMessage, UserMessage

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


def picture(url: str) -> dict[str, Any]:
    return {"type": "image_url", "image_url": {"url": url, "detail": "low"}}


@pytest.mark.parametrize(
    ("url", "media_type"),
    [
        ("data:image/png;base64,aGVsbG8=", "image/png"),
        ("data:image/jpg;base64,aGVsbG8=", "image/jpeg"),
        ("DATA:image/WebP;base64,aGVs\nbG8=", "image/webp"),
        ("data:image/gif;name=a.gif;base64,aGVsbG8=", "image/gif"),
    ],
)
def test_pictures(url: str, media_type: str) -> None:
    image = Image(media_type, b"hello")
    content = [{"type": "text", "text": "see"}, picture(url), {"type": "text", "text": "?"}]
    dicts = [
        {"role": "user", "content": content},
        {"role": "assistant", "content": None, "tool_calls": [CALL]},
        {"role": "tool", "tool_call_id": "c1", "content": [picture(url)]},
    ]
    asked, _, result = read_messages(dicts)
    assert asked == UserMessage("see?", (image,))
    assert result == ToolMessage("c1", "look", "", (image,))


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1/x.png",
        "file:///x.png",
        "data:image/svg+xml;base64,aGVsbG8=",
        "data:image/png,hello",
        "data:image/png;base64,",
        "data:image/png;base64,a",
        "data:image/png;base64,hel%6Co",
        "data:text/html;base64,aGVsbG8=",
    ],
)
def test_nothing_is_fetched_and_nothing_unreadable_taken(url: str) -> None:
    with pytest.raises(ValueError, match="message 0"):
        read_messages([{"role": "user", "content": [picture(url)]}])


@pytest.mark.parametrize("role", ["system", "developer", "assistant", "owner"])
def test_who_has_no_pictures(role: str) -> None:
    with pytest.raises(ValueError, match="has no pictures"):
        read_messages([{"role": role, "content": [picture("data:image/png;base64,aGVsbG8=")]}])


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
