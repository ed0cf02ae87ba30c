"""Context overflow errors: recognise a prompt longer than the window, and parse the reported numbers."""

import re
from collections.abc import Mapping

import msgspec

from localllm.base.errors import LLMConnectionError
from localllm.base.events import Json

_LONGEST = 400
_MOST_DIGITS = 15


def short_reason(text: str) -> str:
    """Return `text` on one line, truncated, without a final full stop."""
    return " ".join(text.split())[:_LONGEST].rstrip(". ")


# Patterns are compiled on first use: most sessions never see an overflow.

_SAYS_SO = (
    r"exceed_context_size|context.?(length|window|size)|maximum context|maximum model len|n_ctx|too many tokens"
    r"|prompt is too long|input.{0,20}too long|context_length_exceeded|input token count.{0,40}exceeds"
    r"|request too large for .{0,200}tokens per min"
)

_NEVER_GRANTED = r"request too large for .{0,200}tokens per min"

_COUNT = r"(\d[\d,]*)"

_PROMPT_TOKENS = (
    rf"\({_COUNT} in the (?:messages|prompt)",  # the rest is reserved for the answer
    rf"(?:request|prompt|input) \({_COUNT} tokens\)",
    rf"(?:messages resulted in|request has|prompt contains|you passed)[^\d.]{{0,30}}{_COUNT}",
    rf"input token count[^\d.]{{0,20}}{_COUNT}",
    rf"prompt[^\d.]{{0,20}}length[^\d.]{{0,5}}{_COUNT}",
    rf"too long: {_COUNT} tokens",
    rf"n_keep: {_COUNT}",
    rf"you requested {_COUNT} tokens",
    rf"limit \d+, requested {_COUNT}",
)
"""Patterns of the prompt's token count, the most specific first."""

_WINDOW = (
    rf"n_ctx: {_COUNT}",
    rf"context (?:size|length|window)[^\d.]{{0,20}}{_COUNT}",
    rf"maximum (?:number of tokens|model length)[^\d.]{{0,20}}{_COUNT}",
    rf"> {_COUNT} maximum",
    rf"limit {_COUNT}, requested",
)


class Overflow(msgspec.Struct, frozen=True):
    """A context overflow as reported by a server, in tokens; 0 if not stated."""

    n_prompt_tokens: int = 0
    n_ctx: int = 0

    @property
    def is_of_the_answer(self) -> bool:
        """Whether the prompt itself fits, but not together with the requested answer (max_tokens)."""
        return 0 < self.n_prompt_tokens < self.n_ctx


def is_never_granted(said: str) -> bool:
    """Return whether an error of status 429 is about a single request beyond a minute's allowance.
    Only a shorter prompt helps (OpenAI, Groq): that allowance acts as the window."""
    return bool(re.search(_NEVER_GRANTED, said, re.IGNORECASE))


def read_overflow(said: str, details: Mapping[str, Json]) -> Overflow | None:
    """Parse an overflow from an error's message and fields (llama.cpp has some); None for another error."""
    if not re.search(_SAYS_SO, said, re.IGNORECASE):
        return None
    return Overflow(
        _number(details.get("n_prompt_tokens")) or _first(_PROMPT_TOKENS, said),
        _number(details.get("n_ctx")) or _first(_WINDOW, said),
    )


def overflow_of(error: LLMConnectionError) -> Overflow | None:
    """Return the overflow of a provider's error; None for another error.

    Nothing was shown when it is raised: the caller may shorten the conversation and retry.
    """
    if error.key != "llm_context_overflow":
        return None
    return Overflow(_number(error.params.get("n_prompt_tokens")), _number(error.params.get("n_ctx")))


def _number(value: object) -> int:
    return value if isinstance(value, int) and 0 < value < 10**_MOST_DIGITS else 0


def _first(patterns: tuple[str, ...], said: str) -> int:
    """Return the number found by the first matching pattern; 0 for one that no window has."""
    found = (re.search(pattern, said, re.IGNORECASE) for pattern in patterns)
    digits = next((match[1].replace(",", "") for match in found if match), "0")
    return int(digits) if len(digits) <= _MOST_DIGITS else 0
