"""Store the conversations of the server's clients by id, with limits on number, size and age."""

import time
from collections import OrderedDict, deque
from collections.abc import Callable
from uuid import uuid4

import msgspec

from localllm.ensemble.records import Turn
from localllm.llm.messages import AssistantMessage, UserMessage


class ConversationLimits(msgspec.Struct, frozen=True, kw_only=True):
    """Limits: `most` conversations for `seconds` after their last turn; of each, `turns` questions with their answers
    and `characters`, of all together `all_characters`. The oldest are evicted first."""

    most: int = 500
    seconds: float = 24 * 3600.0
    turns: int = 50
    characters: int = 200_000
    all_characters: int = 20_000_000


class _Conversation:
    """Questions and answers, oldest first."""

    def __init__(self) -> None:
        self.pairs: deque[tuple[UserMessage, AssistantMessage]] = deque()
        self.characters = 0
        self.used = 0.0

    def add(self, prompt: str, answer: str) -> None:
        self.pairs.append((UserMessage(prompt), AssistantMessage(answer)))
        self.characters += len(prompt) + len(answer)

    def forget_oldest(self) -> None:
        asked, answered = self.pairs.popleft()
        self.characters -= len(asked.text) + len(answered.text)


class Conversations:
    """The active conversations, in memory. `clock` is monotonic, in seconds."""

    def __init__(self, limits: ConversationLimits | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        self._limits = limits or ConversationLimits()
        self._clock = clock
        self._kept: OrderedDict[str, _Conversation] = OrderedDict()
        self._characters = 0

    def __len__(self) -> int:
        return len(self._kept)

    def history(self, conversation_id: str) -> tuple[Turn, ...]:
        """Return the turns of a conversation; empty if it is unknown or evicted."""
        self._forget_old()
        found = self._kept.get(conversation_id)
        return tuple(turn for pair in found.pairs for turn in pair) if found else ()

    def add(self, conversation_id: str, prompt: str, answer: str) -> None:
        """Append a question with its answer, creating the conversation if the id is new."""
        conversation = self._kept.setdefault(conversation_id, _Conversation())
        self._kept.move_to_end(conversation_id)
        conversation.used = self._clock()
        conversation.add(prompt, answer)
        self._characters += len(prompt) + len(answer)
        while len(conversation.pairs) > self._limits.turns or conversation.characters > self._limits.characters:
            before = conversation.characters
            conversation.forget_oldest()
            self._characters -= before - conversation.characters
        self._forget_old()

    def _forget_old(self) -> None:
        oldest_use = self._clock() - self._limits.seconds
        while self._kept:
            conversation_id, conversation = next(iter(self._kept.items()))
            has_room = len(self._kept) <= self._limits.most and self._characters <= self._limits.all_characters
            if has_room and conversation.used >= oldest_use:
                return
            del self._kept[conversation_id]
            self._characters -= conversation.characters


def new_id() -> str:
    """Generate an unguessable id."""
    return uuid4().hex
