"""A configuration from the models that are found."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest

from localllm.base.errors import LLMConnectionError
from localllm.config.schema import LLMSettings, OllamaSettings, OpenAISettings
from localllm.ensemble.auto_config import MOST_WORKERS, AutoConfig, make_config
from localllm.ensemble.config_file import as_json, parse_config
from localllm.llm.discovery.servers import Server
from localllm.llm.providers.base import ModelInfo
from tests.ensemble_servers import OllamaServers, Play
from tests.support.each import each


def ollama(*models: ModelInfo, url: str = "http://localhost:11434") -> Server:
    return Server(base_url=url, provider="ollama", state="ready", software="Ollama", models=models)


def model(name: str, size: str = "", window: int = 0, *, loaded: bool | None = None) -> ModelInfo:
    return ModelInfo(name, parameters=size, context_window=window, loaded=loaded)


def made(*servers: Server) -> AutoConfig:
    async def look(*_: object) -> Sequence[Server]:
        return servers

    found = asyncio.run(make_config(LLMSettings(), {}, look))
    assert parse_config(as_json(found.config), Path("config.json")) == found.config
    return found


def workers(found: AutoConfig) -> list[str]:
    return [agent.model for agent in found.config.worker_agents]


@each(
    ("models", "reviewer"),
    [
        ([model("a", "8.2B"), model("b", "70.6B"), model("c", "278M")], "b"),
        ([model("a", "8B", 4_096), model("b", "8B", 32_768), model("c", "8B", 8_192)], "b"),
        ([model("qwen3:8b"), model("mixtral:8x7b"), model("llama3:13b")], "mixtral:8x7b"),
        ([model("unknown", "", 128_000), model("tiny", "1B"), model("other")], "tiny"),
    ],
)
def test_the_largest_reviews_and_the_others_answer(models: list[ModelInfo], reviewer: str) -> None:
    found = made(ollama(*models))
    assert found.config.reviewer_agent.model == reviewer
    assert sorted(workers(found)) == sorted(info.id for info in models if info.id != reviewer)
    assert found.config.system_settings.strategy == "review"
    assert found.remarks == ()


def test_a_name_that_is_no_plain_line_takes_no_part() -> None:
    odd = [model(f"m{odd}x", "90B") for odd in ("\n", "\x9b", "\u202e", "\u2028", "y" * 200)]
    found = made(ollama(model("small", "3B"), model("large", "8B"), model("モデル", "1B"), *odd))
    assert found.config.reviewer_agent.model == "large"
    assert workers(found) == ["small", "モデル"]


def test_of_two_both_answer() -> None:
    found = made(ollama(model("small", "3B"), model("large", "8B")))
    assert found.config.reviewer_agent.model == "large"
    assert workers(found) == ["small", "large"]
    assert len(found.remarks) == 1


def test_one_alone_is_sampled() -> None:
    found = made(ollama(model("only", "8B")))
    assert found.config.reviewer_agent.model == "only"
    assert workers(found) == ["only"]
    assert found.config.system_settings.strategy == "self"
    assert "only" in str(found.remarks[0])


def test_those_in_memory_answer_first_and_the_rest_is_named() -> None:
    many = [model(f"m{number}", f"{number}B", loaded=number < 3) for number in range(1, 10)]
    found = made(ollama(*many))
    assert found.config.reviewer_agent.model == "m9"
    assert workers(found) == ["m2", "m1", "m8", "m7"]
    assert len(workers(found)) == MOST_WORKERS
    assert "m6" in str(found.remarks[0])


def test_equal_models_of_two_servers_are_told_apart() -> None:
    found = made(
        ollama(model("qwen3:8b"), model("qwen3:32b")),
        Server(base_url="http://localhost:1234", provider="lmstudio", state="ready", models=(model("qwen3:8b"),)),
    )
    names = [agent.name for agent in found.config.worker_agents]
    assert names == ["qwen3:8b (localhost:11434)", "qwen3:8b (localhost:1234)"]
    assert [agent.provider for agent in found.config.worker_agents] == ["ollama", "lmstudio"]


def test_neither_what_runs_elsewhere_nor_who_is_not_ready_takes_part() -> None:
    found = made(
        ollama(model("gpt-oss:120b-cloud", "120B"), model("qwen3:8b", "8B")),
        Server(base_url="http://localhost:8000", provider="openai", state="foreign", software="localllm"),
        Server(base_url="http://localhost:8080", provider="openai", state="locked"),
    )
    assert workers(found) == ["qwen3:8b"]


def test_another_person_s_server_takes_part_only_where_there_is_no_other() -> None:
    theirs = msgspec.structs.replace(ollama(model("b", "400B"), url="http://localhost:1234"), is_of_another=True)
    found = made(theirs, ollama(model("a", "8B")))
    assert (found.config.reviewer_agent.model, workers(found)) == ("a", ["a"])
    assert str(found.remarks[-1]) == "Left out as another person's program: http://localhost:1234."
    assert workers(made(theirs)) == ["b"]


def test_a_key_that_was_asked_for_is_named() -> None:
    locked = Server(
        base_url="http://gpu:8080",
        provider="openai",
        state="ready",
        models=(model("a", "8B"), model("b", "3B"), model("c", "1B")),
        key_variable="OPENAI_API_KEY",
    )
    assert {agent.api_key_env for agent in made(locked).config.worker_agents} == {"OPENAI_API_KEY"}


def test_without_any_model_the_addresses_are_named() -> None:
    with pytest.raises(LLMConnectionError) as caught:
        made(Server(base_url="http://localhost:11434", provider="ollama", state="empty"))
    assert caught.value.exit_code == 5
    assert "http://localhost:11434" in caught.value.why
    assert caught.value.fix


def test_with_real_servers_no_embedding_model_answers() -> None:
    with OllamaServers() as servers:
        several = servers.add(
            {
                "qwen3:8b": Play(),
                "gemma3:4b": Play(parameters="4.3B"),
                "qwen3:32b": Play(parameters="32.8B"),
                "nomic-embed-text": Play(parameters="137M"),
            }
        )
        settings = LLMSettings(
            ollama=OllamaSettings(base_url=several.url), openai=OpenAISettings(base_url="http://127.0.0.1:9")
        )
        found = asyncio.run(make_config(settings, {"LOCALLLM_ALSO_LOOK_AT": "http://127.0.0.1:9"}))
    assert found.config.reviewer_agent.model == "qwen3:32b"
    assert sorted(workers(found)) == ["gemma3:4b", "qwen3:8b"]
    assert {agent.api_url for agent in found.config.worker_agents} == {several.url}
