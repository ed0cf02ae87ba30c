"""The conversation: append-only and always valid.

Valid means: one system message, first; the user speaks when the model has answered; every tool call is answered before
anything else follows. Appended messages never change, so that each request has the previous one as prefix. The only
exception is `rewrite`, which makes room: it begins a new generation, and the previous one can be restored.
"""

import itertools
from collections.abc import Sequence

import msgspec

from localllm.base.events import ToolCall
from localllm.base.i18n import Phrase, for_model
from localllm.context.conversation import Conversation, Spoken, end_of_turn
from localllm.llm.messages import AssistantMessage, Image, Message, SystemMessage, ToolMessage, UserMessage
from localllm.sessions.entries import Keep, Kept, Noted, Rewritten, Withdrawn, Worded


class Mark(msgspec.Struct, frozen=True):
    """A position in the conversation: the number of messages in a generation."""

    messages: int
    generation: int = 0


class Forgotten(msgspec.Struct, frozen=True):
    """What a `rewind` removed: `count` messages, and the state before it."""

    count: int
    conversation: Conversation
    sent: int
    generation: int
    earlier: dict[int, Conversation]


class History:
    """The messages so far. Its methods raise ValueError for a message that would make it invalid.

    A listener is called right after every change, for the session's log; but not for `rewind` and `restore`, which
    their callers log in more detail.
    """

    def __init__(self, system: str) -> None:
        self._messages: list[Message] = [SystemMessage(system)]
        self._open_calls: list[ToolCall] = []
        self._words: list[Spoken] = []
        self._sent = 0
        self._answered = False
        self._generation = 0
        self._numbers = itertools.count(1)
        self._is_marked = False
        self._earlier: dict[int, Conversation] = {}
        """Earlier generations that have a mark, by number."""
        self._tell: Keep = _tell_nobody

    def listen(self, tell: Keep) -> None:
        """Call `tell` for every change from now on."""
        self._tell = tell

    @property
    def messages(self) -> tuple[Message, ...]:
        """All messages, in order."""
        return tuple(self._messages)

    @property
    def is_answered(self) -> bool:
        """Whether a model has answered in this conversation: from then on its system message is fixed."""
        return self._answered

    def begin_with(self, system: str) -> None:
        """Replace the system message, which no server has answered to yet."""
        if self._answered:
            raise ValueError("a conversation keeps the system message it began with")
        message = SystemMessage(system)
        if message != self._messages[0]:
            self._messages[0] = message
            self._tell(Kept(message=message))

    @property
    def open_calls(self) -> tuple[ToolCall, ...]:
        """The calls of the latest answer without a result."""
        return tuple(self._open_calls)

    @property
    def awaits_answer(self) -> bool:
        """Whether the model speaks next."""
        return not self._open_calls and _awaits_answer(self._messages[-1])

    def messages_to_send(self) -> tuple[Message, ...]:
        """Return all messages, which are immutable from now on."""
        if not self.awaits_answer:
            raise ValueError("the model is asked only after a user message or the results of all its calls")
        self._sent = len(self._messages)
        return self.messages

    @property
    def words(self) -> tuple[str, ...]:
        """The user's texts in this conversation, verbatim, including those compacted since."""
        return tuple(words.text for words in self._words)

    def add_user(self, text: str, images: tuple[Image, ...] = (), *, words: str = "", typed: str | None = None) -> None:
        """Add a message to the model with the images it names; `words` of it are the user's own. `typed`: see Kept."""
        if _awaits_answer(self._messages[-1]) or self._open_calls:
            raise ValueError("a turn must be closed before the user speaks again")
        self._append(UserMessage(text, images), words, typed)

    def add_assistant(self, message: AssistantMessage) -> None:
        """Add the model's answer; its calls are open until their results are added."""
        if isinstance(self._messages[-1], SystemMessage | AssistantMessage) or self._open_calls:
            raise ValueError("an answer follows a user message or the results of all calls")
        self._answered = True
        self._open_calls = list(message.tool_calls)
        self._append(message)

    def add_result(self, call_id: str, text: str, images: tuple[Image, ...] = ()) -> None:
        """Add the result of an open call, with its images."""
        call = next((call for call in self._open_calls if call.id == call_id), None)
        if call is None:
            raise ValueError(f"no open call {call_id}")
        self._open_calls.remove(call)
        self._append(ToolMessage(call.id, call.name, text, images))

    def add_remark(
        self, text: str, images: tuple[Image, ...] = (), *, words: str = "", typed: str | None = None
    ) -> None:
        """Add `text`, with images, for the model to read next: at the end of an unsent message, or as a new one.
        `words` of it are the user's, sent during the run. `typed`: see Kept."""
        if isinstance(self._messages[-1], AssistantMessage) and not self._open_calls:
            self._append(UserMessage(text, images), words, typed)
        else:
            self.append_note(text, images, words=words, typed=typed)

    def append_note(
        self, text: str, images: tuple[Image, ...] = (), *, words: str = "", typed: str | None = None
    ) -> None:
        """Append to the latest message, which must not have been sent yet. `words` of it are the user's. `typed`: see
        Kept."""
        last = self._messages[-1]
        if self._sent == len(self._messages):
            raise ValueError("what was sent is never changed")
        match last:
            case UserMessage(before, shown) | ToolMessage(text=before, images=shown):
                self._messages[-1] = msgspec.structs.replace(last, text=f"{before}\n\n{text}", images=shown + images)
            case _:
                raise ValueError("notes go to the end of a user message or a tool result")
        self._note_words(words)
        self._tell(Noted(text=text, images=images, words=words, typed=typed))

    def close_turn(self, results: str | Phrase, note: str | Phrase) -> None:
        """Complete the turn, however it ended, so that the user can speak.

        Open calls get the result `results`; if the model did not speak last, `note` is added as its answer.
        """
        for call in self.open_calls:
            self.add_result(call.id, for_model(results))
        if isinstance(self._messages[-1], UserMessage | ToolMessage):
            self._append(AssistantMessage(for_model(note)))

    @property
    def conversation(self) -> Conversation:
        """The messages, and the positions of the user's words in them."""
        return Conversation(self.messages, tuple(self._words))

    @property
    def generation(self) -> int:
        """The number of the current generation; each `rewrite` begins a new one."""
        return self._generation

    def rewrite(self, to: Conversation) -> None:
        """Replace the whole conversation by `to`; only generations with marks are kept.

        `to` must be valid, begin with the same system message, await an answer if this does, and contain all the user's
        words verbatim, except older ones that may have been moved to a file. Otherwise ValueError is raised, and
        nothing changes.
        """
        if self._open_calls:
            raise ValueError("a conversation is rewritten between two requests")
        if to.messages[:1] != tuple(self._messages[:1]):
            raise ValueError("a conversation keeps the system message it began with")
        if (
            [spoken.text for spoken in to.spoken] != [spoken.text for spoken in self._words]
            or to.spoken[-1:] != tuple(to.said[-1:])
            or any(spoken.text not in to.messages[spoken.message].text for spoken in to.said)
        ):
            raise ValueError("what the person said stays, verbatim")
        if _awaits_answer(to.messages[-1]) != _awaits_answer(self._messages[-1]):
            raise ValueError("who speaks next stays the same")
        _check(to.messages)
        if self._is_marked:
            self._earlier[self._generation] = self.conversation
        self._take(to, sent=0)
        self._generation = next(self._numbers)
        self._is_marked = False
        words = tuple(Worded(spoken.text, spoken.message) for spoken in to.spoken)
        self._tell(Rewritten(messages=to.messages, words=words))

    def withdraw(self) -> None:
        """Remove the latest user message, which has no answer, and its words."""
        if len(self._messages) > 1 and isinstance(self._messages[-1], UserMessage):
            self._messages.pop()
            self._words = [words for words in self._words if words.message < len(self._messages)]
            self._sent = min(self._sent, len(self._messages))
            self._tell(Withdrawn())

    def mark(self) -> Mark:
        """Return the current position, for `rewind`."""
        self._is_marked = True
        return Mark(len(self._messages), self._generation)

    def rewind(self, to: Mark) -> Forgotten:
        """Go back to a mark; return what was removed, for `restore`. The rest is unchanged.

        A mark in an earlier generation restores that one. If the position no longer exists, as the conversation was
        rewound behind it and continued, the nearest earlier one where the user may speak is used; if even its
        generation is gone, nothing changes.
        """
        if self._open_calls:
            raise ValueError("only a conversation between two turns can be rewound")
        before, sent, generation = self.conversation, self._sent, self._generation
        forgotten = Forgotten(0, before, sent, generation, dict(self._earlier))
        if to.generation != generation and to.generation not in self._earlier:
            return forgotten
        whole = before if to.generation == generation else self._earlier[to.generation]
        kept = end_of_turn(whole.messages, to.messages)
        words = tuple(spoken for spoken in whole.spoken if spoken.message < kept)
        self._take(Conversation(whole.messages[:kept], words), sent=min(sent, kept) if whole is before else kept)
        self._generation, self._is_marked = to.generation, True
        self._earlier = {number: one for number, one in self._earlier.items() if number < to.generation}
        count = len(before.spoken) - len(words) if whole is not before else len(before.messages) - kept
        return msgspec.structs.replace(forgotten, count=count)

    def restore(self, forgotten: Forgotten) -> None:
        """Undo a `rewind`, before anything else was said."""
        self._take(forgotten.conversation, sent=forgotten.sent)
        self._generation = forgotten.generation
        self._earlier = dict(forgotten.earlier)

    def _take(self, conversation: Conversation, *, sent: int) -> None:
        self._messages = list(conversation.messages)
        self._words = list(conversation.spoken)
        self._sent = sent

    def _append(self, message: Message, words: str = "", typed: str | None = None) -> None:
        self._messages.append(message)
        self._note_words(words)
        self._tell(Kept(message=message, words=words, typed=typed))

    def _note_words(self, words: str) -> None:
        if words:
            self._words.append(Spoken(words, len(self._messages) - 1))


def with_remark(messages: Sequence[Message], text: str) -> tuple[Message, ...]:
    """Return the messages with `text` appended as by `History.add_remark`: to an unread message, or, after an answer,
    as a new one. A further user message within a turn could change how a chat template renders what precedes it (some
    drop the thinking of earlier turns), and so invalidate the server's cache."""
    *before, last = messages
    match last:
        case UserMessage(said) | ToolMessage(text=said):
            return (*before, msgspec.structs.replace(last, text=f"{said}\n\n{text}"))
        case _:
            return (*messages, UserMessage(text))


def _tell_nobody(_entry: object) -> None:
    """Ignore the entry (the default listener)."""


def _awaits_answer(message: Message) -> bool:
    return isinstance(message, UserMessage | ToolMessage)


def _check(messages: Sequence[Message]) -> None:
    """Raise ValueError if the messages are invalid, by replaying them."""
    replayed = History(messages[0].text)
    for message in messages[1:]:
        match message:
            case SystemMessage():
                raise ValueError("a second system message")
            case UserMessage(text, images):
                replayed.add_user(text, images)
            case AssistantMessage():
                replayed.add_assistant(message)
            case ToolMessage(call_id, _, text):
                replayed.add_result(call_id, text)
    if replayed.open_calls:
        raise ValueError("every call is answered")
