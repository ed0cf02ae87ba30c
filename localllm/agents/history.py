"""The conversation, append-only and always valid.

Valid means: one system message, first; no two user messages in a row; every tool call answered before anything
else follows. Whatever is appended stays as it is, so that the next request begins with the bytes of this one.
"""

import msgspec

from localllm.base.events import ToolCall
from localllm.llm.messages import AssistantMessage, Image, Message, SystemMessage, ToolMessage, UserMessage


class History:
    """The messages so far. Its methods raise ValueError where a message would make it invalid."""

    def __init__(self, system: str) -> None:
        self._messages: list[Message] = [SystemMessage(system)]
        self._open_calls: list[ToolCall] = []
        self._sent = 0

    @property
    def messages(self) -> tuple[Message, ...]:
        """Every message, in order."""
        return tuple(self._messages)

    @property
    def open_calls(self) -> tuple[ToolCall, ...]:
        """The calls of the newest answer that have no result yet."""
        return tuple(self._open_calls)

    def messages_to_send(self) -> tuple[Message, ...]:
        """Every message; from now on none of them changes any more."""
        if self._open_calls or isinstance(self._messages[-1], SystemMessage | AssistantMessage):
            raise ValueError("the model is asked only after a user message or the results of all its calls")
        self._sent = len(self._messages)
        return self.messages

    def add_user(self, text: str, images: tuple[Image, ...] = ()) -> None:
        """What the person said, with the pictures it names."""
        if isinstance(self._messages[-1], UserMessage) or self._open_calls:
            raise ValueError("a turn must be closed before the user speaks again")
        self._messages.append(UserMessage(text, images))

    def add_assistant(self, message: AssistantMessage) -> None:
        """What the model answered; its calls are open until their results are added."""
        if isinstance(self._messages[-1], SystemMessage | AssistantMessage) or self._open_calls:
            raise ValueError("an answer follows a user message or the results of all calls")
        self._messages.append(message)
        self._open_calls = list(message.tool_calls)

    def add_result(self, call_id: str, text: str, images: tuple[Image, ...] = ()) -> None:
        """The result of an open call, with the pictures it found."""
        call = next((call for call in self._open_calls if call.id == call_id), None)
        if call is None:
            raise ValueError(f"no open call {call_id}")
        self._open_calls.remove(call)
        self._messages.append(ToolMessage(call.id, call.name, text, images))

    def append_note(self, text: str) -> None:
        """Add to the end of the newest message, which must not have been sent yet."""
        last = self._messages[-1]
        if self._sent == len(self._messages):
            raise ValueError("what was sent is never changed")
        match last:
            case UserMessage(before) | ToolMessage(text=before):
                self._messages[-1] = msgspec.structs.replace(last, text=f"{before}\n\n{text}")
            case _:
                raise ValueError("notes go to the end of a user message or a tool result")

    def close_turn(self, results: str, note: str) -> None:
        """Leave the conversation ready for the user, however the turn ended.

        Calls still open get `results` as their result; where the model has not had the last word, `note` stands
        for it.
        """
        for call in self.open_calls:
            self.add_result(call.id, results)
        if isinstance(self._messages[-1], UserMessage | ToolMessage):
            self._messages.append(AssistantMessage(note))

    def rewind(self, count: int) -> tuple[Message, ...]:
        """Forget all but the first `count` messages, which stay what they are; the forgotten ones.

        `count` must be where a turn ends, so that the user may speak next.
        """
        if not 0 < count <= len(self._messages) or self._open_calls:
            raise ValueError("only a conversation between two turns can be rewound")
        if isinstance(self._messages[count - 1], UserMessage | ToolMessage) or (
            count < len(self._messages) and not isinstance(self._messages[count], UserMessage)
        ):
            raise ValueError("a conversation is rewound to the end of a turn")
        forgotten = tuple(self._messages[count:])
        del self._messages[count:]
        self._sent = min(self._sent, count)
        return forgotten

    def restore(self, forgotten: tuple[Message, ...]) -> None:
        """Take a `rewind` back, before anything else was said."""
        self._messages += forgotten
