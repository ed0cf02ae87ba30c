"""The conversation: valid whatever happens, and never changed where it was sent."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from localllm.agents.history import History
from localllm.base.events import ToolCall
from localllm.llm.messages import AssistantMessage, Message, SystemMessage, ToolMessage, UserMessage

CALL = ToolCall("c1", "look", "{}")


def check_valid(messages: tuple[Message, ...]) -> None:
    """One system message, first; no two users in a row; every call answered before anything else, once."""
    assert isinstance(messages[0], SystemMessage)
    open_calls: list[str] = []
    for before, message in itertools.pairwise(messages):
        match message:
            case SystemMessage():
                pytest.fail("a second system message")
            case UserMessage():
                assert not isinstance(before, UserMessage)
                assert not open_calls
            case AssistantMessage():
                assert not open_calls
                assert isinstance(before, UserMessage | ToolMessage)
                open_calls = [call.id for call in message.tool_calls]
            case ToolMessage(call_id):
                open_calls.remove(call_id)
    assert not open_calls


ACTIONS = st.sampled_from(["user", "answer", "call", "two calls", "result", "note", "close"])


@given(st.lists(ACTIONS, max_size=40))
def test_no_sequence_of_events_makes_it_invalid(actions: list[str]) -> None:
    history = History("system")
    sent: tuple[Message, ...] = ()
    for number, action in enumerate(actions):
        try:
            match action:
                case "user":
                    history.add_user(f"user {number}")
                case "answer":
                    history.add_assistant(AssistantMessage(f"answer {number}"))
                case "call" | "two calls":
                    count = 2 if action == "two calls" else 1
                    calls = tuple(ToolCall(f"{number}.{index}", "look", "{}") for index in range(count))
                    history.add_assistant(AssistantMessage("", calls))
                case "result":
                    history.add_result(history.open_calls[0].id if history.open_calls else "none", "result")
                case "note":
                    history.append_note("note")
                case _:
                    history.close_turn("interrupted", "interrupted")
        except ValueError:
            pass
        else:
            if not history.open_calls and isinstance(history.messages[-1], UserMessage | ToolMessage):
                now = history.messages_to_send()
                assert now[: len(sent)] == sent, "what was sent has changed"
                sent = now
    history.close_turn("interrupted", "interrupted")
    check_valid(history.messages)
    history.add_user("it can always be gone on with")


def test_a_user_does_not_speak_twice() -> None:
    history = History("s")
    history.add_user("a")
    with pytest.raises(ValueError, match="closed"):
        history.add_user("b")


def test_the_model_is_not_asked_while_a_call_is_open() -> None:
    history = History("s")
    history.add_user("a")
    history.add_assistant(AssistantMessage("", (CALL,)))
    with pytest.raises(ValueError, match="results"):
        history.messages_to_send()


def test_what_was_sent_takes_no_note() -> None:
    history = History("s")
    history.add_user("a")
    history.append_note("today")
    assert history.messages_to_send()[-1] == UserMessage("a\n\ntoday")
    with pytest.raises(ValueError, match="never changed"):
        history.append_note("tomorrow")


def test_closing_answers_open_calls_and_gives_the_model_the_last_word() -> None:
    history = History("s")
    history.add_user("a")
    history.add_assistant(AssistantMessage("let me look", (CALL, ToolCall("c2", "look", "{}"))))
    history.add_result("c1", "seen")
    history.close_turn("not run", "stopped")
    assert history.messages[-3:] == (
        ToolMessage("c1", "look", "seen"),
        ToolMessage("c2", "look", "not run"),
        AssistantMessage("stopped"),
    )
    before = history.messages
    history.close_turn("again", "again")
    assert history.messages == before
