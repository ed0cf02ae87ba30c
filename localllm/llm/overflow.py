"""Prompts longer than the window: how servers report them, and what they say of it."""

import re
from collections.abc import Mapping

import msgspec

from localllm.base.errors import LLMConnectionError
from localllm.base.events import Json

_LONGEST = 400


def short_reason(text: str) -> str:
    """`text` on one line, of bounded length, without a final stop."""
    return " ".join(text.split())[:_LONGEST].rstrip(". ")


# Patterns are compiled when they are first needed: most sessions never see an overflow.

_SAYS_SO = (
    r"exceed_context_size|context.?(length|window|size)|maximum context|maximum model len|n_ctx|too many tokens"
    r"|prompt is too long|input.{0,20}too long|context_length_exceeded|input token count.{0,40}exceeds"
    r"|request too large for .{0,200}tokens per min"
)

_NEVER_GRANTED = r"request too large for .{0,200}tokens per min"

_COUNT = r"(\d[\d,]*)"

_PROMPT_TOKENS = (
    rf"\({_COUNT} in the (?:messages|prompt)",  # what is left is room for the answer
    rf"(?:request|prompt|input) \({_COUNT} tokens\)",
    rf"(?:messages resulted in|request has|prompt contains|you passed)[^\d.]{{0,30}}{_COUNT}",
    rf"input token count[^\d.]{{0,20}}{_COUNT}",
    rf"prompt[^\d.]{{0,20}}length[^\d.]{{0,5}}{_COUNT}",
    rf"too long: {_COUNT} tokens",
    rf"n_keep: {_COUNT}",
    rf"you requested {_COUNT} tokens",
    rf"limit \d+, requested {_COUNT}",
)
"""How many tokens the prompt has, the surest wording first."""

_WINDOW = (
    rf"n_ctx: {_COUNT}",
    rf"context (?:size|length|window)[^\d.]{{0,20}}{_COUNT}",
    rf"maximum (?:number of tokens|model length)[^\d.]{{0,20}}{_COUNT}",
    rf"> {_COUNT} maximum",
    rf"limit {_COUNT}, requested",
)


class Overflow(msgspec.Struct, frozen=True):
    """What a server tells of a prompt that did not fit, in tokens; 0 where it does not say."""

    n_prompt_tokens: int = 0
    n_ctx: int = 0

    @property
    def is_of_the_answer(self) -> bool:
        """The prompt itself fits: it is the answer asked for (max_tokens) that has no room beside it."""
        return 0 < self.n_prompt_tokens < self.n_ctx


def is_never_granted(said: str) -> bool:
    """Whether an error of status 429 is about a request that alone is more than a minute's allowance (OpenAI, Groq).
    Waiting does not help, a shorter prompt does: that allowance is the window."""
    return bool(re.search(_NEVER_GRANTED, said, re.IGNORECASE))


def read_overflow(said: str, details: Mapping[str, Json]) -> Overflow | None:
    """The overflow an error tells of in its words and its own fields (llama.cpp has some); None where it is another."""
    if not re.search(_SAYS_SO, said, re.IGNORECASE):
        return None
    return Overflow(
        _number(details.get("n_prompt_tokens")) or _first(_PROMPT_TOKENS, said),
        _number(details.get("n_ctx")) or _first(_WINDOW, said),
    )


def overflow_of(error: LLMConnectionError) -> Overflow | None:
    """What an error raised by a provider tells of an overflow; None where it is another error.

    Nothing was shown when it is raised: whoever can make the conversation shorter may ask again.
    """
    if error.key != "llm_context_overflow":
        return None
    return Overflow(_number(error.params.get("n_prompt_tokens")), _number(error.params.get("n_ctx")))


def _number(value: object) -> int:
    return value if isinstance(value, int) and value > 0 else 0


def _first(patterns: tuple[str, ...], said: str) -> int:
    """The number the first pattern that matches has found."""
    found = (re.search(pattern, said, re.IGNORECASE) for pattern in patterns)
    return next((int(match[1].replace(",", "")) for match in found if match), 0)
