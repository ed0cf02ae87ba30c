"""Fit what an agent is asked into its window: turns of a conversation, and the answers a reviewer reads."""

from collections.abc import Callable, Sequence

import msgspec

from localllm.ensemble.agents import Endpoint
from localllm.llm.messages import Message, SystemMessage
from localllm.llm.tokens import TOKENS_PER_MESSAGE, Weight

_SHARE_OF_ANSWER = 3
"""A third of a window is kept for the reviewer's answer, which holds an evaluation and a whole answer."""

_LONGEST_RESERVE = 8_192
"""Tokens: no final answer with its evaluation is expected to be longer."""

_LEAST_SHARE = 64
"""Tokens: of an answer that would be cut to less nothing can be judged."""

_HEAD = 0.7
"""Of an answer that is cut, what is kept of its beginning; the rest is its end, where conclusions are."""

_MARK = "\n[… {count:,} characters left out …]\n"
_MARK_TOKENS = 16

Estimate = Callable[[str], int]
"""The tokens of a text, rather too many than too few."""


class Room(msgspec.Struct, frozen=True):
    """How long a prompt may be: `tokens` as `estimate` counts them."""

    tokens: int
    estimate: Estimate

    def shares(self, texts: Sequence[str], beside: int = 0) -> tuple[str, ...]:
        """The texts, with an equal share each of what the room has left beside so many tokens: what a short one does
        not need is left to the longer ones, and what is too long is cut in its middle, with a mark there."""
        sizes = [self.estimate(text) for text in texts]
        share = equal_share(sizes, self.tokens - beside)
        return tuple(text if size <= share else cut(text, share, size) for text, size in zip(texts, sizes, strict=True))

    def holds(self, texts: Sequence[str], beside: int = 0) -> bool:
        """Whether each of the texts would have a share worth reading."""
        sizes = [self.estimate(text) for text in texts]
        share = equal_share(sizes, self.tokens - beside)
        return all(size <= share for size in sizes) or share >= _LEAST_SHARE


def equal_share(sizes: Sequence[int], total: int) -> int:
    """The most each of these may have so that together they have at most `total`, those that need less giving the rest
    away."""
    left, share = total, 0
    for number, size in enumerate(ordered := sorted(sizes)):
        share = left // (len(ordered) - number)
        if size > share:
            return max(0, share)
        left -= size
    return max([share, *sizes])


def cut(text: str, tokens: int, size: int) -> str:
    """A text of `size` tokens cut to about `tokens`, in its middle, with a mark that says so."""
    kept = int(len(text) * max(0, tokens - _MARK_TOKENS) / max(1, size))
    head = int(kept * _HEAD)
    tail = kept - head
    return f"{text[:head]}{_MARK.format(count=len(text) - kept)}{text[len(text) - tail :] if tail else ''}"


def room_of(endpoint: Endpoint, max_tokens: int, shrink: float = 1.0) -> Room:
    """The room of a reviewer's prompt: its window without what its answer takes. `max_tokens`: of that, 0 where nothing
    limits it. `shrink`: of the room, what is used after the server has found a prompt too long."""
    window = endpoint.assumed_window
    reserve = min(max_tokens or window, window // _SHARE_OF_ANSWER, _LONGEST_RESERVE)
    return Room(int((window - reserve) * shrink), _cautious(endpoint))


def _cautious(endpoint: Endpoint) -> Estimate:
    """Estimates of texts for a model: as its server's counts have taught, else with a margin for its script."""
    calibration = endpoint.calibration

    def estimate(text: str) -> int:
        tokens = calibration.estimate(text) + TOKENS_PER_MESSAGE
        return tokens if calibration.counts else int(tokens * Weight().with_text(text).margin)

    return estimate


def without_oldest(messages: tuple[Message, ...], endpoint: Endpoint, max_tokens: int) -> tuple[Message, ...]:
    """The messages without the oldest turns of a conversation that do not fit into the window beside an answer. The
    system message and the newest message stay."""
    first = 1 if messages and isinstance(messages[0], SystemMessage) else 0
    turns = messages[first:]
    if len(turns) < 2 or not endpoint.window:
        return messages
    room = room_of(endpoint, max_tokens)
    sizes = [room.estimate(message.text) for message in turns]
    left = room.tokens - sum(room.estimate(message.text) for message in messages[:first])
    start = len(turns) - 1
    left -= sizes[start]
    while start >= 2 and sizes[start - 1] + sizes[start - 2] <= left:  # a question and its answer
        left -= sizes[start - 1] + sizes[start - 2]
        start -= 2
    return (*messages[:first], *turns[start:])
