"""A prompt that does not fit: every wording that is known, and what it tells."""

import json
from typing import Any

import pytest

from localllm.base.errors import LLMConnectionError
from localllm.llm.overflow import Overflow, is_never_granted, overflow_of, read_overflow
from tests.support.faults import overflows


@pytest.mark.parametrize("known", overflows(), ids=lambda known: known["server"])
def test_every_known_wording(known: dict[str, Any]) -> None:
    told = Overflow(known["n_prompt_tokens"], known["n_ctx"])
    error = known["error"]
    details = error if isinstance(error, dict) else {}
    words = " ".join(str(details.get(name) or "") for name in ("code", "type", "message")) if details else error
    assert read_overflow(words, details) == told
    if "tokens)" in words or told == Overflow():
        assert read_overflow(words, {}) == told


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (
            "'max_tokens' or 'max_completion_tokens' is too large: 8192. This model's maximum context length is 4096 "
            "tokens and your request has 100 input tokens (8192 > 4096 - 100).",
            Overflow(100, 4096),
        ),
        ("prompt is too long: 208,310 tokens > 200,000 maximum", Overflow(208_310, 200_000)),
        ("The decoder prompt (length 5000) is longer than the maximum model length of 4096.", Overflow(5000, 4096)),
        (
            "You passed 5000 input tokens and requested 100 output tokens. However, the model's context length is only "
            "4096 tokens, resulting in a maximum input length of 3996 tokens.",
            Overflow(5000, 4096),
        ),
        (
            "Request too large for gpt-4o in organization org-x on tokens per min (TPM): Limit 30000, Requested 43205.",
            Overflow(43_205, 30_000),
        ),
        ("context_length_exceeded", Overflow()),
        (f"prompt is too long: {'9' * 5_000} tokens > 4096 maximum", Overflow(0, 4096)),
    ],
)
def test_more_wordings(words: str, told: Overflow) -> None:
    assert read_overflow(words, {}) == told


@pytest.mark.parametrize("words", ["log line truncated", "The server had an error", "rate limit: 30000 tokens", ""])
def test_other_errors_are_none(words: str) -> None:
    assert read_overflow(words, {"n_ctx": 4096}) is None


@pytest.mark.parametrize("nonsense", ["4096", None, -1, 0, [1]])
def test_fields_that_are_no_numbers_are_not_believed(nonsense: object) -> None:
    assert read_overflow("exceed_context_size_error", json.loads(json.dumps({"n_ctx": nonsense}))) == Overflow()


def test_only_the_answer_has_no_room() -> None:
    assert Overflow(832, 8192).is_of_the_answer
    assert not Overflow(9016, 8192).is_of_the_answer
    assert not Overflow(8192, 8192).is_of_the_answer
    assert not Overflow(0, 8192).is_of_the_answer


def test_what_an_error_carries() -> None:
    error = LLMConnectionError("llm_context_overflow", reason="", n_prompt_tokens=9000, n_ctx=4096)
    assert overflow_of(error) == Overflow(9000, 4096)
    assert overflow_of(LLMConnectionError("llm_context_overflow", reason="")) == Overflow()
    assert overflow_of(LLMConnectionError("llm_empty", url="u", reason="")) is None


@pytest.mark.parametrize(
    ("words", "never"),
    [
        ("Request too large for `llama-3.1-8b` in organization `o` on tokens per minute (TPM): Limit 6000", True),
        ("Rate limit reached for gpt-4o on tokens per min (TPM): Limit 30000, Used 29000, Requested 2000.", False),
        ("Too many tokens, please wait before trying again.", False),
    ],
)
def test_more_than_a_minutes_allowance_does_not_pass_by_waiting(words: str, never: bool) -> None:
    assert is_never_granted(words) is never
