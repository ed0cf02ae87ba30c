"""Fit prompts into a model's window: turns of a conversation, and the answers a reviewer reads."""

from collections.abc import Callable, Sequence

import msgspec

from localllm.ensemble.agents import Endpoint
from localllm.llm.messages import Message, SystemMessage
from localllm.llm.tokens import TOKENS_PER_MESSAGE, Weight

_SHARE_OF_ANSWER = 3
"""A third of the window is reserved for the reviewer's answer, which has an evaluation and a whole answer."""

_LONGEST_RESERVE = 8_192
"""Tokens: longest expected final answer with its evaluation."""

_LEAST_SHARE = 64
"""Tokens: an answer truncated to less cannot be judged."""

_HEAD = 0.7
"""Share of a truncated answer kept from its beginning; the rest is kept from its end, where conclusions are."""

_MARK = "\n[… {count:,} characters left out …]\n"
_MARK_TOKENS = 16

Estimate = Callable[[str], int]
"""Estimates the tokens of a text, rather too high than too low."""


class Room(msgspec.Struct, frozen=True):
    """The token limit of a prompt: `tokens` as `estimate` counts them."""

    tokens: int
    estimate: Estimate

    def shares(self, texts: Sequence[str], beside: int = 0) -> tuple[str, ...]:
        """Truncate the texts to equal shares of the room, after `beside` tokens for the rest of the prompt. Short texts
        pass their surplus to longer ones; a text that is too long is cut in the middle, with a mark."""
        sizes = [self.estimate(text) for text in texts]
        share = equal_share(sizes, self.tokens - beside)
        return tuple(text if size <= share else cut(text, share, size) for text, size in zip(texts, sizes, strict=True))

    def holds(self, texts: Sequence[str], beside: int = 0) -> bool:
        """Whether each text would have a usable share."""
        sizes = [self.estimate(text) for text in texts]
        share = equal_share(sizes, self.tokens - beside)
        return all(size <= share for size in sizes) or share >= _LEAST_SHARE


def equal_share(sizes: Sequence[int], total: int) -> int:
    """Return the largest equal share with a total of at most `total`, where smaller sizes pass on their surplus."""
    left, share = total, 0
    for number, size in enumerate(ordered := sorted(sizes)):
        share = left // (len(ordered) - number)
        if size > share:
            return max(0, share)
        left -= size
    return max([share, *sizes])


def cut(text: str, tokens: int, size: int) -> str:
    """Cut a text of `size` tokens to about `tokens`, in the middle, with a mark."""
    kept = int(len(text) * max(0, tokens - _MARK_TOKENS) / max(1, size))
    head = int(kept * _HEAD)
    tail = kept - head
    return f"{text[:head]}{_MARK.format(count=len(text) - kept)}{text[len(text) - tail :] if tail else ''}"


def room_of(endpoint: Endpoint, max_tokens: int, shrink: float = 1.0) -> Room:
    """Compute the room of a reviewer's prompt: its window minus the answer. `max_tokens`: limit of the answer, 0 for
    none. `shrink`: factor applied after the server rejected a prompt as too long."""
    window = endpoint.assumed_window
    reserve = min(max_tokens or window, window // _SHARE_OF_ANSWER, _LONGEST_RESERVE)
    return Room(int((window - reserve) * shrink), _cautious(endpoint))


def _cautious(endpoint: Endpoint) -> Estimate:
    """Return a token estimator for a model: calibrated by its server's counts, else with a margin for the script."""
    calibration = endpoint.calibration

    def estimate(text: str) -> int:
        tokens = calibration.estimate(text) + TOKENS_PER_MESSAGE
        return tokens if calibration.counts else int(tokens * Weight().with_text(text).margin)

    return estimate


def without_oldest(messages: tuple[Message, ...], endpoint: Endpoint, max_tokens: int) -> tuple[Message, ...]:
    """Drop the oldest turns of a conversation that do not fit into the window beside an answer; keep the system message
    and the newest message."""
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
