"""Families of models, known by their names as servers write them."""

import pytest

from localllm.llm.model_profiles import replays_thinking, wants_short_ids


@pytest.mark.parametrize(
    "model",
    [
        "gpt-oss:20b",
        "openai/gpt-oss-120b",
        "MiniMaxAI/MiniMax-M2",
        "Kimi-K2-Thinking",
        "zai-org/GLM-4.6",
        "DeepSeek-V3.2",
    ],
)
def test_these_are_sent_their_thinking(model: str) -> None:
    assert replays_thinking(model)


@pytest.mark.parametrize(
    "model", ["qwen3:8b", "deepseek-r1:8b", "deepseek-v3", "glm-4-9b", "kimi-k2", "gemma3", "gpt-5", ""]
)
def test_these_are_not(model: str) -> None:
    assert not replays_thinking(model)


@pytest.mark.parametrize(
    ("model", "short"),
    [("mistralai/Devstral-Small", True), ("Ministral-8B.gguf", True), ("qwen3:8b", False), ("", False)],
)
def test_short_ids(model: str, *, short: bool) -> None:
    assert wants_short_ids(model) is short
