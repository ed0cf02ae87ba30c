"""Who answers, in words."""

from localllm.base.errors import LLMConnectionError
from localllm.llm.client import LLMClient
from localllm.llm.discovery.servers import Server
from localllm.llm.providers.base import ModelInfo
from localllm.llm.providers.openai_compatible import OpenAICompatible
from localllm.llm.providers.scripted import Script, Scripted
from localllm.llm.server_summary import introduce, model_note
from localllm.lookup.engine import Embedded

VLLM = Server(
    base_url="http://localhost:8000", provider="openai", state="ready", software="vLLM", models=(ModelInfo("m"),)
)
OTHER = Server(base_url="http://localhost:9", provider="ollama", state="ready", models=(ModelInfo("n"),))


def client(**settings: int) -> LLMClient:
    provider = OpenAICompatible("openai", "http://localhost:8000", timeout=1, idle_timeout=1)
    return LLMClient(provider, model="m", **settings)


def test_server_model_and_window() -> None:
    known = client(context_window=16384)
    found = introduce(known, [VLLM], VLLM, None, sought=True)
    assert found.who == "vLLM · http://localhost:8000 · m · 16,384 tokens"
    assert (found.hint, found.warnings, found.failure) == ("", (), "")


def test_a_window_nobody_told_is_said_to_be_assumed() -> None:
    found = introduce(client(), [], None, None, sought=False)
    assert found.who == "OpenAI-compatible · http://localhost:8000 · m · 8,192 tokens assumed"


def test_where_there_is_a_choice_it_says_how() -> None:
    assert "/model NAME" in introduce(client(), [VLLM, OTHER], VLLM, None, sought=True).hint


def test_nobody_is_there_and_what_stands_in_the_way() -> None:
    locked = Server(base_url="http://a", provider="openai", state="locked", detail="put it into X")
    foreign = Server(base_url="http://b", provider="openai", state="foreign", detail="a web page")
    found = introduce(LLMClient(Embedded()), [locked, foreign], None, None, sought=True, keys=["OPENAI_API_KEY"])
    assert found.who == ""
    assert [text.partition(" ")[0] for text in found.warnings] == ["No", "The", "OPENAI_API_KEY"]
    assert "http://a needs a key: put it into X" in found.warnings[1]
    assert "Start LM Studio" not in found.warnings[0], "there is a server"
    assert "Start LM Studio" in introduce(LLMClient(Embedded()), [foreign], None, None, sought=True).warnings[0]


def test_a_choice_of_the_persons_needs_no_advice() -> None:
    assert "No model server" not in introduce(LLMClient(Embedded()), [], None, None, sought=False).warnings[0]
    scripted = LLMClient(Scripted(Script(turn=())))
    assert "plays answers" in introduce(scripted, [], None, None, sought=False).warnings[0]


def test_a_failure_is_one_line_with_its_fix() -> None:
    error = LLMConnectionError("llm_model_nowhere", model="x", available="m")
    found = introduce(client(), [VLLM], VLLM, error, sought=True)
    assert found.failure.startswith("No reachable server has the model “x”. Choose one")
    assert (found.who, found.warnings) == ("", ())


def test_what_is_told_of_a_model() -> None:
    assert model_note(ModelInfo("m")) == ""
    loaded = ModelInfo("m", context_window=4096, max_context_window=32768, loaded=True, abilities=frozenset({"tools"}))
    assert model_note(loaded) == "4,096 tokens · tools"
    cold = ModelInfo("m", max_context_window=32768, loaded=False, parameters="8.2B", quantization="Q4_K_M")
    assert model_note(cold) == "not loaded · up to 32,768 tokens · 8.2B Q4_K_M"
