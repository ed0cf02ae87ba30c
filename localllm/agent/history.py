"""The conversation, append-only and always valid.

Valid means: one system message, first; the user speaks when the model has answered; every tool call answered before
anything else follows. Whatever is appended stays as it is, so that the next request begins with the bytes of this one.
The one exception is `rewrite`, which makes room: it begins a new generation, and the one before can be gone back to.
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
    """A place in the conversation: so many messages of that generation."""

    messages: int
    generation: int = 0


class Forgotten(msgspec.Struct, frozen=True):
    """What a `rewind` took away: `count` messages; and all there was before it."""

    count: int
    conversation: Conversation
    sent: int
    generation: int
    earlier: dict[int, Conversation]


class History:
    """The messages so far. Its methods raise ValueError where a message would make it invalid.

    A listener is told of every change right after it, as the session's log has it; but not of `rewind` and `restore`,
    of which whoever asks for them tells more.
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
        """Generations before this one that have a mark, by their numbers."""
        self._tell: Keep = _tell_nobody

    def listen(self, tell: Keep) -> None:
        """Tell `tell` of every change from now on."""
        self._tell = tell

    @property
    def messages(self) -> tuple[Message, ...]:
        """Every message, in order."""
        return tuple(self._messages)

    @property
    def is_answered(self) -> bool:
        """Whether a model has answered in this conversation: from then on it keeps the system message it began with."""
        return self._answered

    def begin_with(self, system: str) -> None:
        """Make this the system message. No server has read the one before to any use: none has answered yet."""
        if self._answered:
            raise ValueError("a conversation keeps the system message it began with")
        message = SystemMessage(system)
        if message != self._messages[0]:
            self._messages[0] = message
            self._tell(Kept(message=message))

    @property
    def open_calls(self) -> tuple[ToolCall, ...]:
        """The calls of the newest answer that have no result yet."""
        return tuple(self._open_calls)

    @property
    def awaits_answer(self) -> bool:
        """Whether it is the model that speaks next."""
        return not self._open_calls and _awaits_answer(self._messages[-1])

    def messages_to_send(self) -> tuple[Message, ...]:
        """Every message; from now on none of them changes any more."""
        if not self.awaits_answer:
            raise ValueError("the model is asked only after a user message or the results of all its calls")
        self._sent = len(self._messages)
        return self.messages

    @property
    def words(self) -> tuple[str, ...]:
        """What the person said in this conversation, each time verbatim, also what was compacted since."""
        return tuple(words.text for words in self._words)

    def add_user(self, text: str, images: tuple[Image, ...] = (), *, words: str = "", typed: str | None = None) -> None:
        """What is said to the model, with the pictures it names; `words` of it are the person's own. `typed`: see
        Kept."""
        if _awaits_answer(self._messages[-1]) or self._open_calls:
            raise ValueError("a turn must be closed before the user speaks again")
        self._append(UserMessage(text, images), words, typed)

    def add_assistant(self, message: AssistantMessage) -> None:
        """What the model answered; its calls are open until their results are added."""
        if isinstance(self._messages[-1], SystemMessage | AssistantMessage) or self._open_calls:
            raise ValueError("an answer follows a user message or the results of all calls")
        self._answered = True
        self._open_calls = list(message.tool_calls)
        self._append(message)

    def add_result(self, call_id: str, text: str, images: tuple[Image, ...] = ()) -> None:
        """The result of an open call, with the pictures it found."""
        call = next((call for call in self._open_calls if call.id == call_id), None)
        if call is None:
            raise ValueError(f"no open call {call_id}")
        self._open_calls.remove(call)
        self._append(ToolMessage(call.id, call.name, text, images))

    def add_remark(self, text: str, images: tuple[Image, ...] = (), *, words: str = "") -> None:
        """Let the model read `text` next, with its pictures: at the end of a message it has not read yet, or as one of
        its own. `words` of it are the person's, said in the middle of the run."""
        if isinstance(self._messages[-1], AssistantMessage) and not self._open_calls:
            self._append(UserMessage(text, images), words)
        else:
            self.append_note(text, images, words=words)

    def append_note(self, text: str, images: tuple[Image, ...] = (), *, words: str = "") -> None:
        """Add to the end of the newest message, which must not have been sent yet. `words` of it are the person's."""
        last = self._messages[-1]
        if self._sent == len(self._messages):
            raise ValueError("what was sent is never changed")
        match last:
            case UserMessage(before, shown) | ToolMessage(text=before, images=shown):
                self._messages[-1] = msgspec.structs.replace(last, text=f"{before}\n\n{text}", images=shown + images)
            case _:
                raise ValueError("notes go to the end of a user message or a tool result")
        self._note_words(words)
        self._tell(Noted(text=text, images=images, words=words))

    def close_turn(self, results: str | Phrase, note: str | Phrase) -> None:
        """Leave the conversation ready for the user, however the turn ended.

        Calls still open get `results` as their result; where the model has not had the last word, `note` stands
        for it.
        """
        for call in self.open_calls:
            self.add_result(call.id, for_model(results))
        if isinstance(self._messages[-1], UserMessage | ToolMessage):
            self._append(AssistantMessage(for_model(note)))

    @property
    def conversation(self) -> Conversation:
        """The messages, and where the person's words are in them."""
        return Conversation(self.messages, tuple(self._words))

    @property
    def generation(self) -> int:
        """How many times it had been rewritten when these messages were begun; each rewriting has its own number."""
        return self._generation

    def rewrite(self, to: Conversation) -> None:
        """Put `to` in the place of all that was said, which is forgotten but for the marks in it.

        `to` is valid, begins with the same system message, asks for an answer where this does, and has every word of
        the user's, verbatim, but for older ones, which may have been put aside. Else ValueError is raised, and nothing
        changed.
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
        """Take back the newest message of the user, to which nothing was answered, and the words in it."""
        if len(self._messages) > 1 and isinstance(self._messages[-1], UserMessage):
            self._messages.pop()
            self._words = [words for words in self._words if words.message < len(self._messages)]
            self._sent = min(self._sent, len(self._messages))
            self._tell(Withdrawn())

    def mark(self) -> Mark:
        """This place, to `rewind` to."""
        self._is_marked = True
        return Mark(len(self._messages), self._generation)

    def rewind(self, to: Mark) -> Forgotten:
        """Go back to a mark; what was forgotten by it, for `restore`. What stays, stays what it was.

        A mark of a generation that was rewritten brings that one back. Where it is not there any more, for the
        conversation went back behind it and on, the nearest place before it is gone to where the user may speak; all
        stays where even its generation is gone.
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
        """Take a `rewind` back, before anything else was said."""
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
    """The messages with `text` at their end, where `History.add_remark` would put it: behind what the model has not
    read yet, or, after an answer, as a message. One more user message in the middle of a turn could change how a chat
    template writes what stands before it (some leave the thinking of earlier turns out), and the server would read all
    of it anew."""
    *before, last = messages
    match last:
        case UserMessage(said) | ToolMessage(text=said):
            return (*before, msgspec.structs.replace(last, text=f"{said}\n\n{text}"))
        case _:
            return (*messages, UserMessage(text))


def _tell_nobody(_entry: object) -> None:
    """Nobody listens."""


def _awaits_answer(message: Message) -> bool:
    return isinstance(message, UserMessage | ToolMessage)


def _check(messages: Sequence[Message]) -> None:
    """Raise ValueError for what is not valid: it is put together anew."""
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
