"""Which of the servers, and which of their models."""

import msgspec
import pytest

from localllm.llm.discovery.servers import Server, choose, nearest_models
from localllm.llm.providers.base import ModelInfo
from tests.support.each import each

TOOLS = frozenset({"tools"})


def server(name: str, *models: ModelInfo | str) -> Server:
    infos = tuple(model if isinstance(model, ModelInfo) else ModelInfo(model) for model in models)
    return Server(base_url=name, provider="openai", state="ready" if infos else "empty", models=infos)


def chosen(*servers: Server, model: str = "") -> tuple[str, str] | None:
    found = choose(servers, model)
    return found and (found[0].base_url, found[1])


def test_the_first_that_is_ready() -> None:
    assert chosen(server("empty"), server("a", "m"), server("b", "n")) == ("a", "m")


@pytest.mark.parametrize("state", ["empty", "locked", "silent", "foreign", "absent"])
def test_only_what_is_ready_is_chosen(state: str) -> None:
    other = msgspec.structs.replace(server("a", "m"), state=state)
    assert chosen(other) is chosen(other, model="m") is chosen() is None
    assert nearest_models([other], "m") == []


def test_a_loaded_model_comes_first_then_one_that_can_use_tools() -> None:
    models = [
        ModelInfo("no tools", loaded=False, abilities=frozenset()),
        ModelInfo("unknown", loaded=False),
        ModelInfo("tools", loaded=False, abilities=TOOLS),
        ModelInfo("more tools", loaded=False, abilities=TOOLS),
        ModelInfo("in memory, no tools", loaded=True, abilities=frozenset({"vision"})),
        ModelInfo("in memory", loaded=True),
        ModelInfo("in memory, tools", loaded=True, abilities=TOOLS),
        ModelInfo("perhaps in memory", abilities=TOOLS),
    ]
    order: list[str] = []
    while models:
        best = choose([server("a", *models)])
        assert best
        order.append(best[1])
        models = [model for model in models if model.id != best[1]]
    assert order == [
        "in memory, tools",
        "in memory",
        "in memory, no tools",
        "perhaps in memory",
        "tools",
        "more tools",
        "unknown",
        "no tools",
    ]


def test_a_server_with_a_model_in_memory_goes_before_one_without_any() -> None:
    cold = server("cold", ModelInfo("m", loaded=False, abilities=TOOLS))
    assert chosen(cold, server("warm", ModelInfo("n", loaded=True))) == ("warm", "n")
    assert chosen(cold, server("unknown", "n")) == ("unknown", "n")
    assert chosen(cold) == ("cold", "m")


def test_what_the_user_has_set_goes_before_everything() -> None:
    theirs = msgspec.structs.replace(server("theirs", ModelInfo("m", loaded=False)), set_by_user=True)
    assert chosen(server("warm", ModelInfo("n", loaded=True)), theirs) == ("theirs", "m")


MANY = (
    server("a", "qwen3:8b", "llama3.2:3b", "llama3.2:latest", "qwen/qwen3-8b"),
    server("b", "qwen3:8b", "Phi-4", "phi-4-mini", "hf.co/unsloth/Gemma-3-GGUF:Q4_K_M"),
)


@each(
    ("wanted", "found"),
    [
        ("qwen3:8b", ("a", "qwen3:8b")),
        ("phi-4-mini", ("b", "phi-4-mini")),
        ("phi-4", ("b", "Phi-4")),
        ("QWEN3", ("a", "qwen3:8b")),
        ("llama3.2", ("a", "llama3.2:latest")),
        ("qwen3-8b", ("a", "qwen/qwen3-8b")),
        ("gemma-3-gguf", ("b", "hf.co/unsloth/Gemma-3-GGUF:Q4_K_M")),
        ("mini", ("b", "phi-4-mini")),
        ("8b", None),
        ("phi", None),
        ("mistral", None),
    ],
)
def test_a_name_is_understood_where_it_leaves_no_doubt(wanted: str, found: tuple[str, str] | None) -> None:
    assert chosen(*MANY, model=wanted) == found


def test_a_part_of_a_name_means_no_model_that_runs_elsewhere() -> None:
    ollama = server("ollama", "gpt-oss:120b-cloud", "kimi:cloud", "gpt-oss:20b")
    assert chosen(ollama, model="gpt-oss") == ("ollama", "gpt-oss:20b")
    assert chosen(ollama, model="kimi") is None
    assert chosen(ollama, model="kimi:cloud") == ("ollama", "kimi:cloud")


def test_another_person_s_server_is_taken_last_unless_it_is_set() -> None:
    theirs = msgspec.structs.replace(server("theirs", ModelInfo("m", loaded=True)), is_of_another=True)
    own = server("own", ModelInfo("qwen3:8b", loaded=False))
    assert chosen(theirs, own) == ("own", "qwen3:8b")
    assert chosen(theirs) == ("theirs", "m")
    assert chosen(msgspec.structs.replace(theirs, set_by_user=True), own) == ("theirs", "m")
    busy = Server(base_url="own", provider="openai", state="silent")
    set_ = Server(base_url="own", provider="openai", state="absent", set_by_user=True)
    other = Server(base_url="web", provider="openai", state="foreign")
    assert chosen(theirs, busy) is None
    assert chosen(theirs, msgspec.structs.replace(busy, state="locked")) is None
    assert chosen(theirs, set_) is None
    assert chosen(theirs, other, msgspec.structs.replace(other, state="absent")) == ("theirs", "m")
    exact = msgspec.structs.replace(theirs, models=(ModelInfo("qwen3"), ModelInfo("only")))
    assert chosen(exact, own, model="qwen3") == ("own", "qwen3:8b")
    assert chosen(exact, own, model="only") == ("theirs", "only")


def test_no_model_that_runs_elsewhere_is_taken_unless_it_is_named() -> None:
    cloud = ModelInfo("gpt-oss:120b-cloud", loaded=True, abilities=TOOLS)
    copied = ModelInfo("big", loaded=True, abilities=TOOLS, is_remote=True)
    assert chosen(server("a", cloud, copied), server("b", cloud, "qwen3:8b")) == ("b", "qwen3:8b")
    assert chosen(server("a", cloud, copied)) is None
    assert chosen(server("a", cloud, copied), model="big") == ("a", "big")


def test_one_of_several_equal_names_is_taken_exactly() -> None:
    assert chosen(server("a", "M", "m"), model="m") == ("a", "m")
    assert chosen(server("a", "M", "mm"), server("b", "m"), model="m") == ("b", "m")


def test_the_names_most_like_the_wanted_one_come_first_and_once() -> None:
    names = nearest_models(MANY, "PHI4")
    assert names[:2] == ["Phi-4", "phi-4-mini"]
    assert sorted(names) == sorted({info.id for each in MANY for info in each.models})
    assert nearest_models([], "x") == []
