"""Conversations are kept within bounds, the oldest forgotten first."""

from localllm.ensemble.conversations import ConversationLimits, Conversations
from localllm.llm.messages import AssistantMessage, UserMessage


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def said(conversations: Conversations, conversation_id: str) -> list[str]:
    return [turn.text for turn in conversations.history(conversation_id)]


def test_turns_come_back_in_order_and_apart_from_other_conversations() -> None:
    kept = Conversations()
    kept.add("a", "Capital of France?", "Paris.")
    kept.add("b", "Six times seven?", "42.")
    kept.add("a", "And of Italy?", "Rome.")
    assert kept.history("a") == (
        UserMessage("Capital of France?"),
        AssistantMessage("Paris."),
        UserMessage("And of Italy?"),
        AssistantMessage("Rome."),
    )
    assert said(kept, "b") == ["Six times seven?", "42."]
    assert said(kept, "c") == []


def test_only_the_newest_turns_of_a_conversation_are_kept() -> None:
    kept = Conversations(ConversationLimits(turns=2))
    for number in range(4):
        kept.add("a", f"q{number}", f"a{number}")
    assert said(kept, "a") == ["q2", "a2", "q3", "a3"]


def test_a_conversation_has_at_most_so_many_characters() -> None:
    kept = Conversations(ConversationLimits(characters=10))
    kept.add("a", "123", "456")
    kept.add("a", "78", "90")
    assert said(kept, "a") == ["123", "456", "78", "90"]
    kept.add("a", "x", "y")
    assert said(kept, "a") == ["78", "90", "x", "y"]
    kept.add("a", "far too long for it", "")
    assert said(kept, "a") == []


def test_what_was_not_used_for_long_is_forgotten() -> None:
    clock = Clock()
    kept = Conversations(ConversationLimits(seconds=100), clock)
    kept.add("old", "q", "a")
    clock.now = 60
    kept.add("new", "q", "a")
    clock.now = 101
    assert said(kept, "old") == []
    assert said(kept, "new") == ["q", "a"]
    assert len(kept) == 1


def test_of_too_many_conversations_the_one_used_longest_ago_is_forgotten() -> None:
    kept = Conversations(ConversationLimits(most=2))
    for conversation_id in ("a", "b", "a", "c"):
        kept.add(conversation_id, "q", "a")
    assert [said(kept, conversation_id) for conversation_id in "abc"] == [["q", "a"] * 2, [], ["q", "a"]]


def test_all_together_have_at_most_so_many_characters() -> None:
    kept = Conversations(ConversationLimits(all_characters=20))
    for conversation_id in ("a", "b", "c"):
        kept.add(conversation_id, "1234", "5678")
    assert [bool(said(kept, conversation_id)) for conversation_id in "abc"] == [False, True, True]
    kept.add("b", "12345678901234", "")
    assert [bool(said(kept, conversation_id)) for conversation_id in "abc"] == [False, False, False]
