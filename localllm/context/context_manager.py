"""SmartContextManager: fit a conversation into the model's window, step by step."""

import re
from collections.abc import Callable, Sequence
from typing import Literal

import msgspec

from localllm.base.errors import LLMConnectionError
from localllm.base.events import ToolCall, Usage
from localllm.context.budget import Budget, Scale
from localllm.context.code_outline import Rank, Relevance, compress
from localllm.context.conversation import PUT_ASIDE, Conversation, Spoken, steps
from localllm.context.pruning import (
    Compress,
    Cuttable,
    Keep,
    can_keep,
    cut,
    cut_message,
    longest_gap,
    prune,
    prune_pictures,
    put_aside,
    told_of,
    was_pruned,
    with_calls,
)
from localllm.context.summary import (
    Begins,
    Summariser,
    Summary,
    count_open,
    earlier_state,
    head_text,
    plain_state,
    record,
    to_nobody,
)
from localllm.llm.client import LLMClient
from localllm.llm.messages import ToolMessage, ToolSpec, UserMessage, path_of
from localllm.llm.overflow import Overflow

_STATE_CUT = "[… {count:,} characters left out]"

_SHRINK = 0.9

_LEAST_TEXT = 40
"""Minimum tokens of a result when even the newest have to be truncated."""

_CUT_IN_TURN: tuple[tuple[Cuttable, int], ...] = (("record", 0), ("most", _LEAST_TEXT), ("all", _LEAST_TEXT))

MakeCompress = Callable[[Conversation], Compress]
"""Creates the function that compresses pruned output."""


class Compacted(msgspec.Struct, frozen=True, kw_only=True):
    """A compacted conversation: from `before` to `after` tokens.
    `fits`: it is under the limit. `why`: why a requested summary by the model was unusable; `usage` is its cost."""

    conversation: Conversation
    how: Literal["pruned", "summarised"]
    before: int
    after: int
    fits: bool
    why: str = ""
    usage: Usage = Usage()


class Compactor:
    """Compacts conversations. `surroundings` returns the situation (where and when), restated as at a conversation's
    beginning. `keep`: stores words in files."""

    def __init__(
        self, summariser: Summariser, surroundings: Callable[[], str], compress: MakeCompress, keep: Keep | None = None
    ) -> None:
        self._summariser = summariser
        self._surroundings = surroundings
        self._compress = compress
        self._keep = keep

    def with_room(self, conversation: Conversation, scale: Scale, budget: Budget) -> tuple[Conversation, int]:
        """Return the conversation, and 0; if the user's words exceed their share of the room, see put_aside."""
        if _words(conversation, scale) <= budget.words:
            return conversation, 0
        return self._put_aside(conversation, _newest(conversation), budget.low_words, scale)

    def _put_aside(self, conversation: Conversation, until: int, room: int, scale: Scale) -> tuple[Conversation, int]:
        """Like put_aside, but change nothing if the words cannot be stored."""
        made, behind = put_aside(conversation, until, room, scale.text)
        is_kept = behind and self._keep is not None and can_keep(made.aside, self._keep)
        return (made, behind) if is_kept else (conversation, 0)

    async def compact(
        self,
        conversation: Conversation,
        scale: Scale,
        budget: Budget,
        *,
        wish: str = "",
        by_hand: bool = False,
        begins: Begins = to_nobody,
        behind: int = 0,
    ) -> Compacted:
        """Compact the conversation to the budget as far as possible.
        `by_hand`: summarise in any case. `begins` is called before the model is asked to. `behind`: the kept part
        begins with this message or later, as words before it were moved to a file."""
        before = scale.request(conversation.messages)
        around = self._surroundings()
        start = _start(conversation, scale, budget, scale.text(head_text([], "", around)))
        if not by_hand and not behind and (pruned := self._pruned(conversation, start, scale, budget)) is not None:
            return _told(pruned, "pruned", before, scale, budget)
        if by_hand or start < behind:
            start = _newest(conversation)
        if start <= _first_step(conversation) and not behind:  # only the request precedes it
            return _told(_shrunk(conversation, scale, budget), "pruned", before, scale, budget)
        older = _until(conversation, start)
        summary = _beside_the_record(
            older, await self._summariser.summarise(older, scale, budget, wish, begins), scale, budget
        )

        def rewritten(whole: Conversation) -> Conversation:
            return _rewritten(whole, start, summary.text, around, self._told_of(whole))

        made = rewritten(conversation)
        if (excess := scale.request(made.messages) - budget.most) > 0:  # words go first, then results and summary
            room = _words(conversation, scale) - excess
            made = rewritten(self._put_aside(conversation, start, room, scale)[0])
        told = _told(_shrunk(made, scale, budget), "summarised", before, scale, budget)
        return msgspec.structs.replace(told, why=summary.why, usage=summary.usage)

    def _pruned(self, conversation: Conversation, start: int, scale: Scale, budget: Budget) -> Conversation | None:
        """Prune what can be retrieved again before message `start`: images, except those of the newest request; then
        tool results as well. None if that is not enough."""
        request = conversation.said[-1].message if conversation.said else -1
        without_pictures = prune_pictures(conversation, start, request)
        if without_pictures != conversation and scale.request(without_pictures.messages) <= budget.pruned:
            return without_pictures
        pruned = prune(without_pictures, start, self._compress(conversation))
        return pruned if scale.request(pruned.messages) <= budget.pruned else None

    def _told_of(self, conversation: Conversation) -> str:
        return told_of(conversation, self._keep) if self._keep else ""


def _beside_the_record(older: Conversation, summary: Summary, scale: Scale, budget: Budget) -> Summary:
    """Return the state of the work: the model's summary followed by the record, as small models forget what they
    changed and how it ended; without a summary, the state from the messages."""
    if summary.text:
        kept = record(older, earlier_state(older.messages))
        kept = cut(kept, budget.summary // 2, _STATE_CUT, scale.text, head=0.4)
        return msgspec.structs.replace(summary, text="\n\n".join(filter(None, [summary.text, kept])))
    plain = cut(plain_state(older), budget.summary, _STATE_CUT, scale.text, head=0.4)
    return msgspec.structs.replace(summary, text=plain)


def words_fit(conversation: Conversation, scale: Scale, budget: Budget) -> bool:
    """Return whether the user's words fit beside the fixed part and a minimal summary."""
    return budget.fixed + _words(conversation, scale) + budget.summary // 2 <= budget.most


def _words(conversation: Conversation, scale: Scale) -> int:
    """Return the tokens of the user's words in the messages."""
    return sum(scale.text(spoken.text) for spoken in conversation.said)


def _told(
    made: Conversation, how: Literal["pruned", "summarised"], before: int, scale: Scale, budget: Budget
) -> Compacted:
    after = scale.request(made.messages)
    counted = (int(tokens * budget.factor) for tokens in (before, after))
    return Compacted(conversation=made, how=how, before=next(counted), after=next(counted), fits=after <= budget.most)


def _first_step(conversation: Conversation) -> int:
    """Return the first answer of the model, before which there is nothing to summarise."""
    return next(steps(conversation.messages), len(conversation.messages))


def _newest(conversation: Conversation) -> int:
    """Return the start of what must be kept: the newest answer with its results, or the newest request."""
    messages = conversation.messages
    if isinstance(messages[-1], UserMessage):
        return len(messages) - 1
    return max(steps(messages), default=len(messages) - 1)


def _start(conversation: Conversation, scale: Scale, budget: Budget, frame: int) -> int:
    """Return the start of the messages that are kept: as many steps as fit beside a summary (with a frame of `frame`
    tokens) and the user's words, at least the newest."""
    messages = conversation.messages
    most = budget.low - budget.fixed - budget.summary - _words(conversation, scale) - frame
    fitting = (start for start in steps(messages) if scale.messages(messages[start:]) <= most)
    return min(next(fitting, len(messages)), _newest(conversation))


def _until(conversation: Conversation, start: int) -> Conversation:
    spoken = tuple(spoken for spoken in conversation.spoken if spoken.message < start)
    return Conversation(conversation.messages[:start], spoken)


def _rewritten(conversation: Conversation, start: int, state: str, surroundings: str, aside: str) -> Conversation:
    """Replace everything between the system message and message `start`."""
    messages = conversation.messages
    older = [spoken.text for spoken in conversation.said if spoken.message < start]
    rest = list(messages[start:])
    request, images = "", ()
    if rest and isinstance(rest[0], UserMessage):
        request, images = rest[0].text, rest[0].images
        rest = rest[1:]
    left = max(count_open(conversation) - sum(spoken.message >= start for spoken in conversation.said), 0)
    head = UserMessage(head_text(older, state, surroundings, request, aside=aside, left=left), images)
    shift = len(messages) - len(rest) - 2
    spoken = tuple(
        one if one.message == PUT_ASIDE else Spoken(one.text, 1 if one.message < start else max(1, one.message - shift))
        for one in conversation.spoken
    )
    return Conversation((messages[0], head, *rest), spoken)


def _shrunk(conversation: Conversation, scale: Scale, budget: Budget) -> Conversation:
    """Truncate the conversation until it fits, if possible: older images, then the program's record, then tool results
    and files, and finally the model's summary."""
    if not scale.fits(conversation, budget.most):
        conversation = prune_pictures(conversation, _newest(conversation))
    for what, least in _CUT_IN_TURN:
        if (excess := scale.request(conversation.messages) - budget.most) > 0:
            conversation = _shortened(conversation, excess, scale, what, least)
    return conversation


def _shortened(conversation: Conversation, excess: int, scale: Scale, what: Cuttable, least: int) -> Conversation:
    """Reduce the conversation by `excess` tokens, truncating its longest texts to a common length, at least `least`."""
    numbers = range(1, len(conversation.messages))
    sizes = {number: longest_gap(conversation, number, scale.text, what) for number in numbers}
    allowed, most = sum(sizes.values()) - excess, max(sizes.values(), default=0)
    while most > least and sum(min(size, most) for size in sizes.values()) > allowed:
        most = max(least, int(most * _SHRINK))
    for number, size in sizes.items():
        if size > most:
            conversation = cut_message(conversation, number, most, scale.text, what)
    return conversation


_SPARE = 0.95
"""Safety factor, as characters are not tokens: a text compressed to the limit may slightly exceed it."""

_LEFT_OUT = "[… {count:,} characters left out …]"

_COMPRESSED = 3
"""Number of files that keep a compressed form when pruned."""

_SHARE = 0.04
"""Share of the window for each of these."""

_FULLER = 1.1
"""Assumed ratio to the window of a refused request whose size the server does not state."""


def _nothing() -> str:
    return ""


def _no_file(_path: str) -> str | None:
    return None


class SmartContextManager:
    """Keeps a conversation with `client` within its window, and texts within their limits.

    `compact_at`: the share of the window that may be filled. `surroundings`: the situation, restated after a summary.
    `rank`: a file's centrality, 0 to 1. `read`: returns a file's text, or None.
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
        """Fit `context` into `max_tokens` estimated tokens: unchanged, else compressed, else without its middle."""
        tokens = self._client.estimate_tokens(context)
        if tokens <= max_tokens:
            return context
        shorter = self.compress_content(context, _SPARE * max_tokens / tokens)
        return cut(shorter, max_tokens, _LEFT_OUT, self._client.estimate_tokens, head=0.5)

    def calculate_relevance_score(self, file_path: str, query: str) -> float:
        """Return a file's relevance for `query`, from 0 to 1.
        A new file is read; of an unreadable one only the path counts."""
        if file_path not in self._relevance:
            self._relevance.note(file_path, self._read(file_path) or "", looked_at=False)
        return self._relevance.score(file_path, query)

    def compress_content(self, content: str, target_ratio: float = 0.5) -> str:
        """Compress `content` to about `target_ratio` of its characters: source code without function bodies, replaced
        by line numbers; other text without its middle."""
        return compress(content, target_ratio)

    def budget(self, conversation: Conversation, tools: Sequence[ToolSpec]) -> Budget:
        """Return the budget of the window."""
        return self._scale(tools).budget(conversation.messages[0])

    def words_fit(self, conversation: Conversation, tools: Sequence[ToolSpec]) -> bool:
        """Return whether the user's words fit at all."""
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
        """Compact the conversation. `overflow`: the server's refusal, if any. `wish`: what the user wants preserved;
        `by_hand`: summarise even if there is room. `begins` is called before a model is asked for a summary. Raises
        LLMConnectionError context_words_too_long."""
        scale = self._scale(tools)
        factor = self._factor(overflow, conversation, scale)
        budget = scale.budget(conversation.messages[0], factor=factor)
        fitting = self.budget(conversation, tools)
        conversation, behind = self._compactor.with_room(conversation, scale, fitting)
        if not words_fit(conversation, scale, fitting):
            words = _words(conversation, scale)
            room = max(0, fitting.room - fitting.summary // 2)
            raise LLMConnectionError(
                "context_words_too_long", words=f"{words:,}", room=f"{room:,}", window=f"{budget.window:,}"
            )
        return await self._compactor.compact(
            conversation, scale, budget, wish=wish, by_hand=by_hand, begins=begins, behind=behind
        )

    def _factor(self, overflow: Overflow | None, conversation: Conversation, scale: Scale) -> float:
        """Return the ratio of the server's tokens to the estimate, from its refusal or its counts."""
        counted = scale.expected(conversation.messages)
        if overflow is not None:
            counted = max(counted, overflow.n_prompt_tokens or int(_FULLER * self._client.context_window))
        return counted / scale.request(conversation.messages)

    def _scale(self, tools: Sequence[ToolSpec]) -> Scale:
        return Scale(self._client, tools, self._compact_at)

    def _choose(self, conversation: Conversation) -> Compress:
        """Select the files that keep a compressed form: those most relevant to the latest words."""
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
    """Return the newest content read of each file, and the number of its first line."""
    return {
        path: _content(path, message.text)
        for message, call in with_calls(conversation.messages)
        if isinstance(message, ToolMessage) and call.name == "read_file" and not was_pruned(message)
        if (path := path_of(call))
    }


def _content(path: str, text: str) -> tuple[str, int]:
    """Return a file's text in a result, and the number of its first line, from the title of a partial one."""
    title, _, rest = text.partition("\n")
    found = re.search(r"(\d+)-\d+", title[len(path) :]) if title.startswith(path) else None
    return (rest, int(found[1])) if found else (text, 1)


def _last_said(conversation: Conversation) -> str:
    return next((message.text for message in reversed(conversation.messages) if message.text), "")[:1_000]
