"""A conversation as what keeps the context small sees it: the messages, and what of them is the person's own words."""

from collections.abc import Iterator, Sequence

import msgspec

from localllm.llm.messages import AssistantMessage, Message, ToolMessage, UserMessage

PUT_ASIDE = 0
"""In place of the number of a message: in none any more, but in a file that is named there. 0 is the system message's,
in which nobody's words are."""


class Spoken(msgspec.Struct, frozen=True):
    """What the person said, verbatim, and the number of the message it is in, or PUT_ASIDE."""

    text: str
    message: int


class Conversation(msgspec.Struct, frozen=True):
    """Messages, the system message first, and what the person said in them, in order."""

    messages: tuple[Message, ...]
    spoken: tuple[Spoken, ...] = ()

    @property
    def said(self) -> list[Spoken]:
        """What of the person's words is in the messages."""
        return [spoken for spoken in self.spoken if spoken.message != PUT_ASIDE]

    @property
    def aside(self) -> list[str]:
        """The words that were put aside, the oldest first."""
        return [spoken.text for spoken in self.spoken if spoken.message == PUT_ASIDE]

    def words_in(self, number: int) -> list[str]:
        """What the person said in that message."""
        return [spoken.text for spoken in self.spoken if spoken.message == number]


def steps(messages: Sequence[Message]) -> Iterator[int]:
    """The numbers of the messages a rest of the conversation may begin with, after a message of the user: the answers
    of the model, each with the results of its calls behind it."""
    return (number for number, message in enumerate(messages) if isinstance(message, AssistantMessage))


def end_of_turn(messages: Sequence[Message], count: int) -> int:
    """The greatest number of messages, at most `count`, after which the user may speak: 1 where there is no other."""
    for end in range(min(count, len(messages)), 1, -1):
        is_last_word = not isinstance(messages[end - 1], UserMessage | ToolMessage)
        if is_last_word and (end == len(messages) or isinstance(messages[end], UserMessage)):
            return end
    return 1
