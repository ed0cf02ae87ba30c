"""The conversation as seen by compaction: the messages, and the user's own words in them."""

from collections.abc import Iterator, Sequence

import msgspec

from localllm.llm.messages import AssistantMessage, Message, ToolMessage, UserMessage

PUT_ASIDE = 0
"""Replaces the message number of words moved to a file. 0 is the system message's number, which has no user words."""


class Spoken(msgspec.Struct, frozen=True):
    """The user's words, verbatim, and the number of their message, or PUT_ASIDE."""

    text: str
    message: int


class Conversation(msgspec.Struct, frozen=True):
    """Messages, the system message first, and the user's words in them, in order."""

    messages: tuple[Message, ...]
    spoken: tuple[Spoken, ...] = ()

    @property
    def said(self) -> list[Spoken]:
        """The user's words that are in messages."""
        return [spoken for spoken in self.spoken if spoken.message != PUT_ASIDE]

    @property
    def aside(self) -> list[str]:
        """The words moved to a file, oldest first."""
        return [spoken.text for spoken in self.spoken if spoken.message == PUT_ASIDE]

    def words_in(self, number: int) -> list[str]:
        """Return the user's words in that message."""
        return [spoken.text for spoken in self.spoken if spoken.message == number]


def steps(messages: Sequence[Message]) -> Iterator[int]:
    """Yield the numbers of messages with which the rest of a conversation may begin after a user message: the model's
    answers, each followed by its results."""
    return (number for number, message in enumerate(messages) if isinstance(message, AssistantMessage))


def end_of_turn(messages: Sequence[Message], count: int) -> int:
    """Return the greatest number of messages, at most `count`, after which the user may speak. 1 if there is none."""
    for end in range(min(count, len(messages)), 1, -1):
        is_last_word = not isinstance(messages[end - 1], UserMessage | ToolMessage)
        if is_last_word and (end == len(messages) or isinstance(messages[end], UserMessage)):
            return end
    return 1
