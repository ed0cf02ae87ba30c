"""Divide the context window: the fixed part, the answer, and the rest for the conversation."""

from collections.abc import Sequence

import msgspec

from localllm.context.conversation import Conversation
from localllm.llm.client import ANSWER, LLMClient
from localllm.llm.messages import Message, ToolMessage, ToolSpec, UserMessage

_LOW = 0.4
"""Maximum share of the room between the fixed part and the limit after a compaction.
With more, the next would be due within three steps in a window of 4,096 tokens."""

_SUMMARY = 0.1
_LEAST_SUMMARY, _LONGEST_SUMMARY = 256, 1_600
"""Tokens of a summary, and its share of the window: a hand-off needs no more than a few hundred words."""

LEAST_GAIN = 0.1
"""Minimum share of the conversation's room that pruning old output must free. After it, as after a summary, the server
processes everything again, but no model has to write, and all can be retrieved again."""

_WORDS, _LOW_WORDS = 1 / 6, 1 / 12
"""Maximum share of the conversation's room for the user's words, and the share to which older ones are reduced by
moving them to a file."""

MAX_TOOL_OUTPUT = 30_000
"""Maximum characters of one tool's output for the model."""

MIN_TOOL_OUTPUT = 1_200
"""Minimum of that limit in small windows: some thirty lines of code; three such results fit into 4,096 tokens between
two compactions."""

_OUTPUT_SHARE = 0.10

MENTIONS = 4
"""Combined limit of the files the user references with @, as a multiple of one output's."""


def output_limit(client: LLMClient) -> int:
    """Return the maximum characters of one tool's output: a tenth of the window, as its server counts."""
    characters_per_token = 3_600 / max(1, client.estimate_tokens("x" * 3_600))
    return min(MAX_TOOL_OUTPUT, max(MIN_TOOL_OUTPUT, int(_OUTPUT_SHARE * client.context_window * characters_per_token)))


NO_MODEL = "no model"
"""Reason for a missing summary if there is no model to write one."""


class Budget(msgspec.Struct, frozen=True, kw_only=True):
    """Estimated tokens.
    `fixed`: the system message and the tools. `limit`: of a request before the conversation is compacted. `factor`:
    ratio of the server's count to the estimate, where it is known and the estimate not yet calibrated."""

    window: int
    fixed: int
    limit: int
    factor: float = 1.0

    @property
    def reserve(self) -> int:
        """Tokens reserved for the answer."""
        return self.window - self.limit

    @property
    def most(self) -> int:
        """Maximum of a request by our estimate."""
        return int(self.limit / self.factor)

    @property
    def room(self) -> int:
        """Room for the conversation."""
        return max(0, self.most - self.fixed)

    @property
    def low(self) -> int:
        """Target maximum of a request after a compaction."""
        return self.fixed + int(_LOW * self.room)

    @property
    def words(self) -> int:
        """Maximum for the user's words."""
        return int(_WORDS * self.room)

    @property
    def low_words(self) -> int:
        """Target for the user's words after older ones were moved to a file."""
        return int(_LOW_WORDS * self.room)

    @property
    def pruned(self) -> int:
        """Maximum of a request after pruning for that to suffice."""
        return max(0, int(self.most - LEAST_GAIN * self.room))

    @property
    def summary(self) -> int:
        """Maximum length of a summary."""
        return int(min(_LONGEST_SUMMARY, max(_LEAST_SUMMARY, _SUMMARY * self.window), max(1, self.room // 4)))


class Scale:
    """Measures conversations in tokens for one client and one set of tools."""

    def __init__(self, client: LLMClient, tools: Sequence[ToolSpec], compact_at: float) -> None:
        self._client = client
        self._tools = tuple(tools)
        self._compact_at = compact_at

    def budget(self, system: Message, *, factor: float = 1.0) -> Budget:
        """Return the budget of the window as currently known."""
        window = self._client.context_window
        reserve = max(int((1 - self._compact_at) * window), min(ANSWER, window // 4))
        fixed = self._client.estimate_prompt((system,), self._tools)
        return Budget(window=window, fixed=fixed, limit=window - reserve, factor=factor)

    def request(self, messages: Sequence[Message]) -> int:
        """Return the tokens of a request with these messages."""
        return self._client.estimate_prompt(messages, self._tools)

    def expected(self, messages: Sequence[Message]) -> int:
        """Like `request`, but based on the server's count of the latest request."""
        return self._client.expect_prompt(messages, self._tools)

    def is_full(self, messages: Sequence[Message]) -> bool:
        """Return whether a request with these messages would exceed the limit."""
        return self.expected(messages) > self.budget(messages[0]).limit

    def messages(self, messages: Sequence[Message]) -> int:
        """Return the tokens of these messages alone."""
        return self._client.estimate_prompt(messages)

    def pictures(self, message: UserMessage | ToolMessage) -> int:
        """Return the tokens of the images in a message."""
        if not message.images:
            return 0
        return self.messages((message,)) - self.messages((msgspec.structs.replace(message, images=()),))

    def text(self, text: str) -> int:
        """Return the tokens of a text."""
        return self._client.estimate_tokens(text)

    def fits(self, conversation: Conversation, most: int) -> bool:
        """Return whether a request with the conversation has at most `most` tokens."""
        return self.request(conversation.messages) <= most
