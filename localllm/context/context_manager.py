"""SmartContextManager: the conversation within the window, small and true."""

import re
from collections.abc import Callable, Sequence

from localllm.base.errors import LLMConnectionError
from localllm.base.events import ToolCall
from localllm.context.budget import Budget, Scale
from localllm.context.code_outline import compress
from localllm.context.compaction_steps import Compacted, Compactor, words_fit
from localllm.context.conversation import Conversation
from localllm.context.offload import Keep
from localllm.context.pruning import Compress, was_pruned, with_calls
from localllm.context.relevance import Rank, Relevance
from localllm.context.summary import Begins, Summariser, to_nobody
from localllm.context.truncation import cut
from localllm.llm.client import LLMClient
from localllm.llm.messages import ToolMessage, ToolSpec
from localllm.llm.overflow import Overflow
from localllm.llm.tool_calls import path_of

_SPARE = 0.95
"""Characters are not tokens: a text compressed to the limit is a little over it now and then."""

_LEFT_OUT = "[… {count:,} characters left out …]"

_COMPRESSED = 3
"""So many files keep a compressed form when what was read of them is left out."""

_SHARE = 0.04
"""Of the window one of these has."""

_FULLER = 1.1
"""A request that a server has refused has so many times the tokens of its window, where it does not say how many."""


def _nothing() -> str:
    return ""


def _no_file(_path: str) -> str | None:
    return None


class SmartContextManager:
    """Keeps a conversation with `client` within its window, and texts within their limits.

    `compact_at`: the share of the window that may be full. `surroundings`: where and when the work goes on, told anew
    after a summary. `rank`: how central a file is, 0 to 1. `read`: the text of a file, None where there is none.
    """

    def __init__(
        self,
        client: LLMClient,
        *,
        compact_at: float = 0.85,
        surroundings: Callable[[], str] = _nothing,
        rank: Rank | None = None,
        read: Callable[[str], str | None] = _no_file,
        keep: Keep | None = None,
    ) -> None:
        self._client = client
        self._compact_at = compact_at
        self._read = read
        self._relevance = Relevance(rank)
        self._compactor = Compactor(Summariser(client), surroundings, self._choose, keep)

    def optimize_context(self, context: str, max_tokens: int) -> str:
        """`context` in at most `max_tokens`, as estimated: as it is, or compressed, or at last without its middle."""
        tokens = self._client.estimate_tokens(context)
        if tokens <= max_tokens:
            return context
        shorter = self.compress_content(context, _SPARE * max_tokens / tokens)
        return cut(shorter, max_tokens, _LEFT_OUT, self._client.estimate_tokens, head=0.5)

    def calculate_relevance_score(self, file_path: str, query: str) -> float:
        """How much a file of the project has to do with `query`, from 0 to 1. A file that was not looked at yet is
        read; of one that cannot be read only the path counts."""
        if file_path not in self._relevance:
            self._relevance.note(file_path, self._read(file_path) or "", looked_at=False)
        return self._relevance.score(file_path, query)

    def compress_content(self, content: str, target_ratio: float = 0.5) -> str:
        """`content` in about `target_ratio` of its characters, never more than it has: source text without bodies of
        functions, for which their lines stand; other text without its middle."""
        return compress(content, target_ratio)

    def budget(self, conversation: Conversation, tools: Sequence[ToolSpec]) -> Budget:
        """How the window is shared out."""
        return self._scale(tools).budget(conversation.messages[0])

    def words_fit(self, conversation: Conversation, tools: Sequence[ToolSpec]) -> bool:
        """Whether what the person said has room at all."""
        return words_fit(conversation, self._scale(tools), self.budget(conversation, tools))

    async def compact(
        self,
        conversation: Conversation,
        tools: Sequence[ToolSpec],
        *,
        overflow: Overflow | None = None,
        wish: str = "",
        by_hand: bool = False,
        begins: Begins = to_nobody,
    ) -> Compacted:
        """The conversation made shorter. `overflow`: the server has refused it, and said this. `wish`: what the person
        wants kept; `by_hand`: it is summed up though there may be room. `begins` is told before a model is asked for a
        summary. Raises LLMConnectionError
        context_words_too_long."""
        scale = self._scale(tools)
        factor = self._factor(overflow, conversation, scale)
        budget = scale.budget(conversation.messages[0], factor=factor)
        fitting = self.budget(conversation, tools)
        conversation, behind = self._compactor.with_room(conversation, scale, fitting)
        if not words_fit(conversation, scale, fitting):
            words = sum(scale.text(spoken.text) for spoken in conversation.said)
            room = max(0, fitting.room - fitting.summary // 2)
            raise LLMConnectionError(
                "context_words_too_long", words=f"{words:,}", room=f"{room:,}", window=f"{budget.window:,}"
            )
        return await self._compactor.compact(
            conversation, scale, budget, wish=wish, by_hand=by_hand, begins=begins, behind=behind
        )

    def _factor(self, overflow: Overflow | None, conversation: Conversation, scale: Scale) -> float:
        """By how much more the server counts than is estimated: as it said in refusing the request, or has counted."""
        counted = scale.expected(conversation.messages)
        if overflow is not None:
            counted = max(counted, overflow.n_prompt_tokens or int(_FULLER * self._client.context_window))
        return max(1.0, counted / max(1, scale.request(conversation.messages)))

    def _scale(self, tools: Sequence[ToolSpec]) -> Scale:
        return Scale(self._client, tools, self._compact_at)

    def _choose(self, conversation: Conversation) -> Compress:
        """Which files keep a compressed form: those that have most to do with what was said last."""
        shown = _shown_files(conversation)
        for path, (text, _) in shown.items():
            self._relevance.note(path, text)
        query = "\n".join([*(spoken.text for spoken in conversation.spoken[-2:]), _last_said(conversation)])
        ranked = sorted(shown, key=lambda path: -self._relevance.score(path, query))[:_COMPRESSED]
        characters = int(_SHARE * self._client.context_window * 3.6)

        def compressed(call: ToolCall, text: str) -> str:
            path = path_of(call)
            content, first = _content(path, text)
            if call.name != "read_file" or path not in ranked or shown[path][0] != content:
                return ""
            return compress(content, characters / max(1, len(content)), file_path=path, first_line=first)

        return compressed


def _shown_files(conversation: Conversation) -> dict[str, tuple[str, int]]:
    """What was read of files, the newest of each: the text, and the number of its first line."""
    return {
        path: _content(path, message.text)
        for message, call in with_calls(conversation.messages)
        if isinstance(message, ToolMessage) and call.name == "read_file" and not was_pruned(message)
        if (path := path_of(call))
    }


def _content(path: str, text: str) -> tuple[str, int]:
    """The text of a file in a result, and the number of its first line: a part of one has a title that tells."""
    title, _, rest = text.partition("\n")
    found = re.search(r"(\d+)-\d+", title[len(path) :]) if title.startswith(path) else None
    return (rest, int(found[1])) if found else (text, 1)


def _last_said(conversation: Conversation) -> str:
    return next((message.text for message in reversed(conversation.messages) if message.text), "")[:1_000]
