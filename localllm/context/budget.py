"""How the window is shared out: what is fixed, what the answer needs, and what is left for the conversation."""

from collections.abc import Sequence

import msgspec

from localllm.context.conversation import Conversation
from localllm.llm.client import ANSWER, LLMClient
from localllm.llm.messages import Message, ToolMessage, ToolSpec, UserMessage

_LOW = 0.4
"""Of the room between what is fixed and the limit: so much is used at most after a compaction, or it would be due again
within three steps in a window of 4,096 tokens."""

_SUMMARY = 0.1
_LEAST_SUMMARY, _LONGEST_SUMMARY = 256, 1_600
"""Of the window a summary may have, in tokens: more than a few hundred words nobody hands over."""

LEAST_GAIN = 0.1
"""Of the room for the conversation leaving out old output must free: the server reads everything anew after it, as it
does after a summary, but no model has to write, and all can be had again."""

_WORDS, _LOW_WORDS = 1 / 6, 1 / 12
"""Of the room for the conversation: the user's words may have so much; where they have more, the older ones are put
aside until they have so little."""

MAX_TOOL_OUTPUT = 30_000
"""Characters of one tool's output the model is given at most."""

MIN_TOOL_OUTPUT = 1_200
"""Characters it is given at least, however small the window: some thirty lines of code, and three such results go into
4,096 tokens between two compactions."""

_OUTPUT_SHARE = 0.10

MENTIONS = 4
"""So many times as much as one output the files have together that the person names with @."""


def output_limit(client: LLMClient) -> int:
    """Characters of one tool's output the model is given: a tenth of its window, as its server counts."""
    characters_per_token = 3_600 / max(1, client.estimate_tokens("x" * 3_600))
    return min(MAX_TOOL_OUTPUT, max(MIN_TOOL_OUTPUT, int(_OUTPUT_SHARE * client.context_window * characters_per_token)))


NO_MODEL = "no model"
"""Why there is no summary of a model's, where nobody is there to write one."""


class Budget(msgspec.Struct, frozen=True, kw_only=True):
    """Tokens, as estimated. `fixed`: the system message and the tools. `limit`: a request may have so many at most
    before the conversation is made shorter. `factor`: by how much more the server counts than is estimated, where it
    has said so and the estimate has not caught up."""

    window: int
    fixed: int
    limit: int
    factor: float = 1.0

    @property
    def reserve(self) -> int:
        """What is kept free for the answer."""
        return self.window - self.limit

    @property
    def most(self) -> int:
        """What a request may have by our estimate."""
        return int(self.limit / self.factor)

    @property
    def room(self) -> int:
        """What there is for the conversation."""
        return max(0, self.most - self.fixed)

    @property
    def low(self) -> int:
        """What a request has at most after a compaction, if that can be had."""
        return self.fixed + int(_LOW * self.room)

    @property
    def words(self) -> int:
        """What the user's words may have."""
        return int(_WORDS * self.room)

    @property
    def low_words(self) -> int:
        """What the user's words have at most after older ones were put aside, if that can be had."""
        return int(_LOW_WORDS * self.room)

    @property
    def pruned(self) -> int:
        """What a request may have after old output was left out for that to be enough."""
        return max(0, int(self.most - LEAST_GAIN * self.room))

    @property
    def summary(self) -> int:
        """The longest summary."""
        return int(min(_LONGEST_SUMMARY, max(_LEAST_SUMMARY, _SUMMARY * self.window), max(1, self.room // 4)))


class Scale:
    """Weighs conversations for one client and one set of tools."""

    def __init__(self, client: LLMClient, tools: Sequence[ToolSpec], compact_at: float) -> None:
        self._client = client
        self._tools = tuple(tools)
        self._compact_at = compact_at

    def budget(self, system: Message, *, factor: float = 1.0) -> Budget:
        """The budget of the window as far as it is known now."""
        window = self._client.context_window
        reserve = max(int((1 - self._compact_at) * window), min(ANSWER, window // 4))
        fixed = self._client.estimate_prompt((system,), self._tools)
        return Budget(window=window, fixed=fixed, limit=window - reserve, factor=factor)

    def request(self, messages: Sequence[Message]) -> int:
        """The tokens of a request with these messages."""
        return self._client.estimate_prompt(messages, self._tools)

    def expected(self, messages: Sequence[Message]) -> int:
        """The tokens of a request with these messages, as the server has counted most of them in the newest request."""
        return self._client.expect_prompt(messages, self._tools)

    def is_full(self, messages: Sequence[Message]) -> bool:
        """Whether a request with these messages would have more tokens than it should."""
        return self.expected(messages) > self.budget(messages[0]).limit

    def messages(self, messages: Sequence[Message]) -> int:
        """The tokens of these messages alone."""
        return self._client.estimate_prompt(messages)

    def pictures(self, message: UserMessage | ToolMessage) -> int:
        """The tokens of the pictures in a message."""
        if not message.images:
            return 0
        return self.messages((message,)) - self.messages((msgspec.structs.replace(message, images=()),))

    def text(self, text: str) -> int:
        """The tokens of a text."""
        return self._client.estimate_tokens(text)

    def fits(self, conversation: Conversation, most: int) -> bool:
        """Whether a request with it has at most so many tokens."""
        return self.request(conversation.messages) <= most
