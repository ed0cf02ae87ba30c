"""How much a model is told: by its size and its window, and by the settings before both."""

import pytest

from localllm.llm.gguf.model_file import Header
from localllm.llm.model_profiles import COMPACT, EMBEDDED, STANDARD, Profile, choose, parameters, read_parameters
from localllm.llm.providers.base import ModelInfo
from localllm.lookup.engine import MODEL
from localllm.tools.builtin import TOOLS, all_tools
from tests.support.each import each

BILLION = 1e9


@each(
    ("name", "billions"),
    [
        ("qwen3-8b", 8),
        ("qwen3:0.6b", 0.6),
        ("gemma-3-12b-it", 12),
        ("Qwen2.5-Coder-7B-Instruct-Q4_K_M.gguf", 7),
        ("lmstudio-community/Qwen2.5-7B-Instruct-GGUF/qwen2.5-7b-instruct-q4_k_m.gguf", 7),
        ("llama-3.2-3b", 3),
        ("qwen3-30b-a3b-2507", 30),
        ("mixtral:8x7b", 56),
        ("gemma-3n-e4b", 4),
        ("qwen2.5-7b-instruct-1m", 7),
        ("SmolLM2-360M", 0.36),
        ("kimi-k2-1t", 1000),
        ("phi-4-mini", 0),
        ("glm-4.5-air", 0),
        ("qwen3-coder-1m", 0),
        ("ling-a1.4b", 0),
        ("model-4bit", 0),
        ("m", 0),
        ("", 0),
        (f"m-{'9' * 5_000}x7b", 0),
        (f"m-{'9' * 5_000}b", 0),
    ],
)
def test_a_name_tells_the_size(name: str, billions: float) -> None:
    assert read_parameters(name) == pytest.approx(billions * BILLION)


@pytest.mark.parametrize(
    ("told", "billions"),
    [("8.2B", 8.2), ("334.09M", 0.33409), ("26B-A4B", 26), ("8x7B", 56), ("tiny", 0), (Header().size_label, 0)],
)
def test_servers_tell_the_size_in_their_words(told: str, billions: float) -> None:
    assert parameters(ModelInfo("m", parameters=told)) == pytest.approx(billions * BILLION)


def test_the_server_is_believed_before_the_name() -> None:
    assert parameters(ModelInfo("merge-of-70b", parameters="12.2B")) == pytest.approx(12.2 * BILLION)


@pytest.mark.parametrize(
    ("info", "window", "assumed", "expected"),
    [
        (ModelInfo("qwen3-32b"), 32_768, False, STANDARD),
        (ModelInfo("qwen3-32b"), 16_384, False, COMPACT),
        (ModelInfo("qwen3-32b"), 16_385, False, STANDARD),
        (ModelInfo("qwen3-32b"), 8_192, True, STANDARD),
        (ModelInfo("some-model"), 8_192, True, STANDARD),
        (ModelInfo("some-model"), 8_192, False, COMPACT),
        (ModelInfo("qwen3-14b", parameters="14.8B"), 131_072, False, COMPACT),
        (ModelInfo("mistral-small", parameters="23.6B"), 131_072, False, STANDARD),
        (ModelInfo("qwen3-8b"), 8_192, True, COMPACT),
    ],
)
def test_small_models_and_small_windows_are_told_less(
    info: ModelInfo, window: int, assumed: bool, expected: Profile
) -> None:
    assert choose("auto", info, window, assumed) is expected


def test_the_settings_come_first() -> None:
    assert choose("standard", ModelInfo("qwen3-4b"), 4_096, assumed=False) is STANDARD
    assert choose("compact", ModelInfo("qwen3-235b"), 262_144, assumed=False) is COMPACT


def test_the_embedded_engine_has_every_tool_to_plan_with() -> None:
    assert choose("compact", MODEL, 4_096, assumed=False) is EMBEDDED


def test_the_compact_profile_offers_eight_tools_and_the_web() -> None:
    offered = COMPACT.tools or frozenset()
    assert offered <= {tool.name for tool in all_tools()}
    assert len(offered & {tool.name for tool in TOOLS}) == 8
    of_settings = {tool.name for tool in all_tools()} - {tool.name for tool in TOOLS}
    assert of_settings - offered == {"list_rag_collections"}, "a small model searches them at once"
