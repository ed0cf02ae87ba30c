"""/model, /models and /provider: what they show, and what they change."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

from localllm.base.errors import ConfigurationError
from localllm.config.schema import Settings
from localllm.llm.discovery.servers import Server
from localllm.llm.providers.base import ModelInfo
from localllm.llm.server_summary import Introduction
from localllm.tui.commands.builtin import COMMANDS
from localllm.tui.commands.registry import SlashRegistry
from localllm.tui.input.completion import Suggester
from tests.support.slash import said

pytestmark = pytest.mark.anyio

NEAR = Server(
    base_url="http://localhost:1234",
    provider="lmstudio",
    state="ready",
    software="LM Studio",
    models=(ModelInfo("qwen3-8b", loaded=True), ModelInfo("phi 4", loaded=False, max_context_window=16384)),
)
LOCKED = Server(base_url="http://gpu:8080", provider="openai", state="locked", detail="none is set")
ABSENT = Server(base_url="http://localhost:11434", provider="ollama", state="absent")


class Chat:
    """A chat with LM Studio, or with nobody."""

    stand_in = None

    def __init__(self, *servers: Server) -> None:
        self.servers: Sequence[Server] = ()
        self.settings = Settings()
        self.provider_name, self.provider_address = (
            ("lmstudio", "http://localhost:1234") if servers else ("embedded", "")
        )
        self.model = "qwen3-8b" if servers else "embedded"
        self.model_info = ModelInfo(self.model, context_window=4096, abilities=frozenset({"tools"}))
        self._there = servers

    @property
    def server(self) -> Server | None:
        return next((server for server in self.servers if server.provider == self.provider_name), None)

    async def look_for_servers(self) -> Sequence[Server]:
        self.servers = self._there
        return self.servers

    async def settled(self) -> None: ...

    def introduction(self) -> Introduction:
        return Introduction(who=f"{self.provider_name} · {self.model}", hint="There are others.")

    async def use_model(self, name: str) -> None:
        self.model = name

    async def use_provider(self, name: str) -> None:
        self.provider_name = name

    async def use_address(self, url: str) -> None:
        self.provider_name, self.provider_address = "openai", url


async def test_models_by_server() -> None:
    assert await said(Chat(NEAR, ABSENT, LOCKED), "models") == (
        "  LM Studio  http://localhost:1234\n"
        "  * qwen3-8b  4,096 tokens · tools\n"
        "    phi 4     not loaded · up to 16,384 tokens\n"
        "! The server at http://gpu:8080 needs a key: none is set.\n"
        "  /model NAME switches to another (part of the name is enough), /models lists\n"
        "  them.\n"
    )


async def test_no_models() -> None:
    assert await said(Chat(), "models") == "  embedded\n  * embedded\n  No model server can be reached.\n"


async def test_a_server_that_is_in_use_and_too_busy_to_list_its_models_is_there() -> None:
    busy = msgspec.structs.replace(NEAR, state="silent", models=(), detail="no whole answer in 3 s")
    assert await said(Chat(busy, ABSENT), "models") == (
        "  lmstudio · http://localhost:1234\n"
        "  * qwen3-8b\n"
        "! http://localhost:1234 accepts connections but does not answer in time: no\n"
        "  whole answer in 3 s.\n"
    )


async def test_the_model_and_how_to_change_it() -> None:
    shown = await said(Chat(NEAR), "model")
    assert shown.startswith("  lmstudio · qwen3-8b\n  /model NAME switches")
    assert "There are others" not in shown


async def test_a_change_says_how_to_keep_it() -> None:
    chat = Chat(NEAR)
    shown = await said(chat, "model", "phi 4")
    assert shown.startswith("  lmstudio · phi 4\n")
    assert "localllm config set --user llm.model 'phi 4'" in shown
    assert chat.model == "phi 4"


async def test_providers() -> None:
    lines = (await said(Chat(NEAR, ABSENT, LOCKED), "provider")).splitlines()
    assert [line.split()[:2] for line in lines[:9]] == [
        ["auto", "the"],
        ["*", "lmstudio"],
        ["ollama", "cannot"],
        ["openai", "The"],
        ["azure", "asks"],
        ["gemini", "asks"],
        ["gguf", "runs"],
        ["embedded", "answers"],
        ["scripted", "plays"],
    ]
    assert lines[1].endswith("LM Studio · http://localhost:1234 · 2 models")


async def test_a_server_at_any_address() -> None:
    chat = Chat(NEAR)
    shown = await said(chat, "provider", "http://localhost:9000")
    assert chat.provider_address == "http://localhost:9000"
    assert "llm.openai.base_url http://localhost:9000" in " ".join(shown.split())


async def test_another_provider() -> None:
    chat = Chat(NEAR)
    assert "llm.provider embedded" in await said(chat, "provider", "Embedded")
    assert chat.provider_name == "embedded"
    with pytest.raises(ConfigurationError) as raised:
        await said(chat, "provider", "lmstdio")
    assert raised.value.key == "provider_unknown"


async def test_what_may_follow_is_completed() -> None:
    chat: Any = Chat(NEAR)
    registry = SlashRegistry(COMMANDS, {})
    suggester = Suggester(Path(), (), registry.overview, lambda name, after: registry.choices(name, chat, after))

    def completed(text: str) -> list[str]:
        assert suggester.applies(text)
        return [text[: len(text) - found.replaces] + found.text for found in suggester.suggest(text)]

    assert completed("/model ") == []
    await chat.look_for_servers()
    assert completed("/model ") == ["/model qwen3-8b", "/model phi 4"]
    assert completed("/model 8B") == ["/model qwen3-8b"]
    assert completed("/provider l") == ["/provider lmstudio", "/provider ollama"]
    assert completed("/tools a") == []
