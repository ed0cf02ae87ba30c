"""Servers and models: each thing that can be wrong is named, with its fix."""

import json
import socket

import pytest

from localllm.base.i18n import set_language
from localllm.config.schema import LLMSettings, LMStudioSettings, OpenAISettings
from localllm.integrations.doctor.inputs import Finding
from localllm.integrations.doctor.model import model
from localllm.llm.discovery.servers import Server, State
from localllm.llm.providers.base import ModelInfo
from tests.support.doctor_world import finds, only, surroundings
from tests.support.wire_server import Reply, WireServer, fails

pytestmark = pytest.mark.anyio

SECRET = "sk-secret-do-not-show"


def lists(*models: dict[str, object]) -> Reply:
    body = json.dumps({"object": "list", "data": models}).encode()
    return Reply((body,), headers={"content-type": "application/json"})


def at(url: str, **changes: object) -> LLMSettings:
    return LLMSettings(provider="openai", openai=OpenAISettings(base_url=url, timeout=3), **changes)


def server(state: State, **facts: object) -> Server:
    return Server(base_url="http://localhost:1234", provider="lmstudio", state=state, **facts)


def closed_port() -> str:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return f"http://127.0.0.1:{listener.getsockname()[1]}"


async def test_no_model_at_all(tmp_path) -> None:
    finding = only(await model(surroundings(tmp_path, look=finds(server("absent")))), "model")
    assert finding.status == "warning"
    assert "embedded engine" in finding.what
    for way in ("LM Studio", "ollama pull", "llama-server -m"):
        assert way in finding.fix


async def test_a_wrong_key(tmp_path) -> None:
    with WireServer([], list_replies=[fails(401, "Incorrect API key provided")] * 2) as wire:
        here = surroundings(tmp_path, llm=at(wire.url), environ={"OPENAI_API_KEY": SECRET, "HOME": "/nowhere"})
        findings = await model(here)
    finding = only(findings, "model")
    assert finding.status == "problem"
    assert "401" in finding.what
    assert "OPENAI_API_KEY" in finding.fix
    assert SECRET not in str(findings)


async def test_a_host_that_cannot_be_reached(tmp_path) -> None:
    url = closed_port()
    finding = only(await model(surroundings(tmp_path, llm=at(url))), "model")
    assert finding.status == "problem"
    assert url in finding.what
    assert "llm.openai.base_url" in finding.fix


async def test_an_address_that_is_none(tmp_path) -> None:
    finding = only(await model(surroundings(tmp_path, llm=at("ftp://x"))), "model")
    assert finding.status == "problem"
    assert "base_url" in finding.fix


async def test_a_model_that_is_not_offered_names_the_nearest(tmp_path) -> None:
    with WireServer([], models=("llama-3", "qwen3-8b", "qwen3-14b")) as wire:
        finding = only(await model(surroundings(tmp_path, llm=at(wire.url, model="qwen3:8b"))), "model")
    assert finding.status == "problem"
    assert "It has: qwen3-8b, qwen3-14b, llama-3" in finding.fix


async def test_a_model_no_server_has(tmp_path) -> None:
    here = surroundings(
        tmp_path, llm=LLMSettings(model="qwen"), look=finds(server("ready", models=(ModelInfo("llama-3"),)))
    )
    finding = only(await model(here), "model")
    assert finding.status == "problem"
    assert "llama-3" in finding.what


MENDS = {
    "LM Studio": "Context Length",
    "Ollama": "num_ctx",
    "llama.cpp": "-np",
    "vLLM": "--max-model-len",
    "": "its own documentation",
}


async def window(tmp_path, tokens: int, software: str = "vLLM", **changes: object) -> Finding:
    with WireServer([], list_replies=[lists({"id": "m", "max_model_len": tokens})] * 9) as wire:
        found = Server(base_url=wire.url, provider="openai", state="ready", software=software, models=(ModelInfo("m"),))
        return only(
            await model(surroundings(tmp_path, look=finds(found), llm=LLMSettings(**changes))),
            "window",
        )


@pytest.mark.parametrize("software", MENDS)
async def test_a_small_window_says_how_that_software_gets_a_larger_one(tmp_path, software: str) -> None:
    finding = await window(tmp_path, 2048, software)
    assert finding.status == "problem"
    assert "2,048" in finding.what
    assert MENDS[software] in finding.fix


@pytest.mark.parametrize(
    ("tokens", "status"), [(4095, "problem"), (4096, "warning"), (8191, "warning"), (8192, "ok"), (0, "note")]
)
async def test_how_small_is_small(tmp_path, tokens: int, status: str) -> None:
    assert (await window(tmp_path, tokens)).status == status


async def test_a_window_our_own_setting_makes_small(tmp_path) -> None:
    finding = await window(tmp_path, 32_768, context_window=4096)
    assert finding.status == "warning"
    assert "llm.context_window" in finding.fix
    assert "--max-model-len" not in finding.fix


async def test_all_is_well(tmp_path) -> None:
    with WireServer([], list_replies=[lists({"id": "m", "max_model_len": 32_768})] * 9) as wire:
        findings = await model(surroundings(tmp_path, llm=at(wire.url)))
    assert {finding.status for finding in findings} == {"ok"}
    assert "m answers" in only(findings, "model").what


@pytest.mark.parametrize(
    ("state", "facts", "status", "words"),
    [
        ("empty", {"software": "LM Studio"}, "warning", "lms load"),
        ("silent", {"detail": "2 s"}, "warning", "try again"),
        ("locked", {"detail": "put it somewhere"}, "problem", "put it somewhere"),
        ("foreign", {"detail": "a web page"}, "note", ""),
        ("foreign", {"detail": "a web page", "set_by_user": True}, "problem", "llm.lmstudio.base_url"),
        ("absent", {"detail": "no connection", "set_by_user": True}, "problem", "llm.lmstudio.base_url"),
    ],
)
async def test_servers_that_do_not_help(tmp_path, state: State, facts: dict[str, object], status, words) -> None:
    finding = only(await model(surroundings(tmp_path, look=finds(server(state, **facts)))), "server")
    assert finding.status == status
    assert words in finding.fix


async def test_a_key_that_was_refused(tmp_path) -> None:
    here = surroundings(
        tmp_path,
        environ={"LMSTUDIO_API_KEY": SECRET, "HOME": "/nowhere"},
        look=finds(server("locked", detail="the one in LMSTUDIO_API_KEY was refused")),
    )
    findings = await model(here)
    assert "was refused" in only(findings, "server").what
    assert "right key" in only(findings, "server").fix
    assert SECRET not in str(findings)


async def test_a_server_out_of_reach_is_no_problem_where_another_answers(tmp_path) -> None:
    with WireServer([], list_replies=[lists({"id": "m", "max_model_len": 32_768})] * 9) as wire:
        ready = Server(base_url=wire.url, provider="openai", state="ready", models=(ModelInfo("m"),))
        findings = await model(surroundings(tmp_path, look=finds(server("locked"), ready)))
    assert [finding.status for finding in findings if finding.name == "server"] == ["warning", "ok"]


async def test_the_server_that_is_set_is_told_once(tmp_path) -> None:
    url = closed_port()
    llm = LLMSettings(provider="lmstudio", lmstudio=LMStudioSettings(base_url=url, timeout=3))
    absent = Server(base_url=url, provider="lmstudio", state="absent", set_by_user=True)
    findings = await model(surroundings(tmp_path, llm=llm, look=finds(absent)))
    assert [finding.name for finding in findings] == ["model"]


@pytest.mark.parametrize(("capabilities", "status"), [([], "warning"), (["tool_use"], "ok")])
async def test_a_model_with_and_without_tools(tmp_path, capabilities: list[str], status: str) -> None:
    entry = {"id": "m", "type": "llm", "state": "loaded", "loaded_context_length": 16_384, "capabilities": capabilities}
    with WireServer([], list_replies=[lists(entry)] * 9) as wire:
        llm = LLMSettings(provider="lmstudio", lmstudio=LMStudioSettings(base_url=wire.url, timeout=3))
        finding = only(await model(surroundings(tmp_path, llm=llm)), "abilities")
    assert finding.status == status
    assert bool(finding.fix) == (status == "warning")


async def test_nothing_is_said_of_abilities_the_server_does_not_tell(tmp_path) -> None:
    with WireServer([]) as wire:
        findings = await model(surroundings(tmp_path, llm=at(wire.url)))
    assert "abilities" not in {finding.name for finding in findings}


@pytest.mark.parametrize("provider", ["embedded", "scripted"])
async def test_providers_that_ask_no_model(tmp_path, provider) -> None:
    finding = only(await model(surroundings(tmp_path, llm=LLMSettings(provider=provider))), "model")
    assert finding.status == "note"
    assert "llm.provider auto" in finding.fix


async def test_in_japanese(tmp_path) -> None:
    set_language("ja")
    try:
        finding = only(await model(surroundings(tmp_path)), "model")
    finally:
        set_language("en")
    assert "組み込みエンジン" in finding.what
    assert "読み込み" in finding.fix


async def test_keys_lying_around_are_named_and_not_shown(tmp_path) -> None:
    here = surroundings(tmp_path, environ={"OPENAI_API_KEY": SECRET, "HOME": "/nowhere"})
    findings = await model(here)
    assert "OPENAI_API_KEY" in only(findings, "keys").what
    assert SECRET not in str(findings)
