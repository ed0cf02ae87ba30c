"""The notice of a request that is sent again."""

import pytest

from localllm.agent.completion import said_of_retry
from localllm.base.errors import LLMConnectionError


@pytest.mark.parametrize(
    ("seconds", "end"),
    [
        (0.0, "Trying again at once."),
        (0.04, "Trying again at once."),
        (0.5, "Trying again in 0.5 s."),
        (2, "in 2.0 s."),
    ],
)
def test_the_pause_is_named_if_there_is_one(seconds: float, end: str) -> None:
    error = LLMConnectionError("llm_cut", url="http://127.0.0.1:9", reason="", provider="x")
    assert said_of_retry(error, seconds).endswith(end)
