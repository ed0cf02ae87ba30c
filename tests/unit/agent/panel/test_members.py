"""Who the members are: what each is told, which model it asks, and which model suits a kind of work."""

import asyncio
import re
from collections.abc import AsyncGenerator, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

from localllm.agent.panel.members import (
    ROLES,
    HealthChecker,
    Members,
    Role,
    choose_best,
    instructions,
    is_same_model,
    name_of,
    server_of,
    settings_of,
    tail,
)
from localllm.base.errors import LLMConnectionError
from localllm.config.schema import (
    AgentsSettings,
    AzureSettings,
    GgufSettings,
    LLMSettings,
    OpenAISettings,
    PanelSettings,
    RoleSettings,
    ScriptedSettings,
    Settings,
)
from localllm.llm.client import LLMClient
from localllm.llm.messages import CompletionRequest
from localllm.llm.providers.base import Ability, Chunk, FinishChunk, ModelInfo, Provider, TextChunk
from localllm.llm.providers.openai_compatible import OpenAICompatible
from localllm.llm.retry import Health

pytestmark = pytest.mark.anyio


class Server:
    """One that tells of its model."""

    def __init__(
        self,
        window: int = 8_192,
        abilities: Sequence[Ability] | None = (),
        *,
        name: str = "openai",
        address: str = "http://127.0.0.1:9/v1",
        constrains: bool = True,
        fault: LLMConnectionError | None = None,
    ) -> None:
        self.name, self.address, self.constrains = name, address, constrains
        self._info = ModelInfo("m", window, abilities=None if abilities is None else frozenset(abilities))
        self._fault = fault

    async def stream(self, request: CompletionRequest) -> AsyncGenerator[Chunk]:
        yield TextChunk(request.model)
        yield FinishChunk("stop")

    async def list_models(self) -> list[ModelInfo]:
        if self._fault:
            raise self._fault
        return [self._info]

    async def describe(self, model: str, listed: Sequence[ModelInfo] = ()) -> ModelInfo:
        return msgspec.structs.replace(self._info, id=model)

    async def aclose(self) -> None:
        """Nothing is open."""


def well(latency: float = 1.0, status: Any = "healthy") -> Health:
    return Health(status, connected=True, latency=latency, provider="p", address="a", model="m")


async def best(task: str, *servers: tuple[Server, Health]) -> int:
    """The number of the one that suits the task best, whichever comes first."""
    clients = {str(number): LLMClient(server) for number, (server, _) in enumerate(servers)}
    health = {str(number): told for number, (_, told) in enumerate(servers)}
    chosen = await choose_best(clients, health, task)
    turned = await choose_best(dict(reversed(clients.items())), health, task)
    assert chosen == turned
    return int(chosen)


class TestTheBest:
    @pytest.mark.parametrize(
        ("task", "better", "worse"),
        [
            ("", Server(), Server()),
            ("coding", Server(16_384, ["tools"]), Server(65_536, None)),
            ("coding", Server(16_384, ["tools"]), Server(16_383, ["tools"])),
            ("coding", Server(16_384, ["tools"]), Server(32_768, ["thinking", "vision"])),
            ("vision", Server(2_048, ["vision"]), Server(65_536, ["tools"])),
            ("reasoning", Server(8_192, ["thinking"]), Server(8_192, ["tools"])),
            ("reasoning", Server(8_192, ["thinking"]), Server(8_192, None)),
            ("reasoning", Server(8_192, []), Server(8_191, ["thinking"])),
            ("long_context", Server(65_536), Server(32_768)),
            ("long_context", Server(8_192), Server(4_096)),
            ("structured", Server(2_048), Server(65_536, constrains=False)),
            ("", Server(constrains=False), Server()),
        ],
    )
    async def test_what_the_work_takes_comes_before_the_wait(self, task: str, better: Server, worse: Server) -> None:
        is_equal = task == ""
        quick, slow = well(0.1), well(3.0)
        assert await best(task, (better, quick if is_equal else slow), (worse, slow if is_equal else quick)) == 0

    async def test_a_wider_window_than_the_work_takes_is_no_reason_to_wait(self) -> None:
        assert (
            await best("reasoning", (Server(8_192, ["thinking"]), well(0.1)), (Server(65_536, ["thinking"]), well()))
            == 0
        )

    @pytest.mark.parametrize(
        ("server", "health"),
        [
            (Server(65_536), well(0.1, "loading")),
            (Server(65_536), well(0.1, "unreachable")),
            (Server(65_536, name="embedded"), well(0.1)),
            (Server(65_536, fault=LLMConnectionError("llm_no_models", url="u")), well(0.1)),
        ],
        ids=["loading", "down", "no model", "none loaded"],
    )
    async def test_who_cannot_answer_is_not_chosen(self, server: Server, health: Health) -> None:
        assert await best("", (server, health), (Server(2_048), well(9.0))) == 1
        with pytest.raises(LLMConnectionError) as raised:
            await choose_best({"the only one": LLMClient(server)}, {"the only one": health}, "coding")
        assert raised.value.key == "panel_no_provider"
        assert "the only one" in str(raised.value)
        assert "coding" in str(raised.value)

    async def test_who_is_known_to_lack_what_the_work_takes_is_not_chosen(self) -> None:
        with pytest.raises(LLMConnectionError):
            await best("vision", (Server(65_536, ["tools"]), well()))

    async def test_a_kind_of_work_nobody_knows_is_named(self) -> None:
        with pytest.raises(ValueError, match=r"cooking.*coding"):
            await choose_best({}, {}, "cooking")


async def test_servers_are_looked_at_at_once_and_each_by_its_name() -> None:
    waiting: list[str] = []
    all_wait = asyncio.Event()

    async def look(provider: Provider, _model: str) -> Health:
        waiting.append(provider.address)
        if len(waiting) == 2:
            all_wait.set()
        async with asyncio.timeout(5):
            await all_wait.wait()
        return well(len(provider.address))

    clients = {name: LLMClient(Server(address=name)) for name in ("one", "three")}
    checker = HealthChecker(look)
    assert {name: told.latency for name, told in (await checker.check(clients)).items()} == {"one": 3, "three": 5}
    assert await checker.check({}) == {}


class TestParts:
    @pytest.mark.parametrize("role", ROLES)
    @pytest.mark.parametrize("at_tail", [True, False])
    def test_every_part_is_filled_in(self, role: Role, at_tail: bool) -> None:
        text = instructions(role, at_tail=at_tail)
        asked = instructions(role, at_tail=at_tail, by_hand=True)
        assert not re.search(r"\{\w+\}", text + asked)
        assert ("a dossier" in text) != at_tail
        assert ("all that stands above" in text) == at_tail
        assert ("one JSON object" in text) == (role in ("judge", "boss"))
        assert "language of the goal" not in text
        assert "language of the goal" in asked

    @pytest.mark.parametrize("role", ROLES)
    def test_whoever_answers_a_question_is_not_told_that_something_failed(self, role: Role) -> None:
        for words in ("is stuck", "hy it failed", "has not helped"):
            assert words not in instructions(role, by_hand=True)
        assert "is stuck" in instructions(role)

    @pytest.mark.parametrize("by_hand", [True, False])
    def test_behind_the_conversation_the_question_stands_before_the_part(self, by_hand: bool) -> None:
        text = tail("## Goal\n{part}", "judge", by_hand=by_hand)
        assert "Call no tool" in text.splitlines()[0]
        assert "## Goal\n{part}" in text
        assert text.endswith(instructions("judge", by_hand=by_hand, at_tail=True))


def members(main: LLMClient, llm: LLMSettings | None = None, **roles: RoleSettings) -> Members:
    settings = Settings(llm=llm or LLMSettings(), agents=AgentsSettings(panel=PanelSettings(**roles)))
    return Members(main, settings, Path(), {"LOCALLLM_STATE_DIR": "/nonexistent"})


class TestClients:
    def test_who_has_nothing_set_has_the_main_model(self) -> None:
        main = LLMClient(Server(), model="m")
        parts = members(main, judge=RoleSettings(model="wise"))
        assert [parts.client(role) is main for role in ROLES] == [True, True, False, True]
        assert parts.clients().keys() == set(ROLES)

    def test_another_model_of_the_server_at_work_is_asked_as_the_main_one_is(self) -> None:
        main = LLMClient(Server(), model="m")
        llm = LLMSettings(temperature=0.3, max_retries=7)
        parts = members(main, llm, judge=RoleSettings(model="wise"), boss=RoleSettings(model="wise"))
        judge = parts.client("judge")
        assert (judge.model, judge.provider, judge.limiter) == ("wise", main.provider, main.limiter)
        assert (judge._temperature, judge._max_retries) == (0.3, 7)
        assert parts.client("judge") is parts.client("boss") is judge
        parts.main = LLMClient(Server(address="http://127.0.0.1:8/v1"), model="n")
        assert parts.client("judge").provider is parts.main.provider, "whichever that is now"

    def test_a_boss_that_was_chosen_stands_for_one_that_nobody_has_named(self) -> None:
        main, chosen = LLMClient(Server(), model="m"), LLMClient(Server(), model="wise")
        parts = members(main)
        parts.boss = chosen
        assert (parts.client("boss"), parts.client("judge")) == (chosen, main)
        named = members(main, boss=RoleSettings(model="big"))
        named.boss = chosen
        assert named.client("boss").model == "big"

    def test_who_has_no_model_is_none(self) -> None:
        parts = members(LLMClient(Server(name="embedded"), model="m"), judge=RoleSettings(provider="openai"))
        assert parts.clients().keys() == {"judge"}
        with pytest.raises(LLMConnectionError) as raised:
            parts.client("boss")
        assert raised.value.key == "panel_no_model"

    def test_each_model_is_a_candidate_once_the_main_one_first(self) -> None:
        main = LLMClient(Server(), model="m")
        same = RoleSettings(provider="openai", base_url="http://localhost:9", model="m")
        parts = members(main, conservative=RoleSettings(model="wise"), progressive=same, judge=RoleSettings(model="x"))
        found = parts.candidates()
        assert list(found) == [f"openai http://127.0.0.1:9/v1 {model}" for model in ("m", "wise", "x")]
        assert found["openai http://127.0.0.1:9/v1 m"] is main

    async def test_only_the_connections_of_others_are_closed(self, monkeypatch: pytest.MonkeyPatch) -> None:
        closed: list[str] = []

        async def close(client: LLMClient) -> None:
            closed.append(client.model)

        main = LLMClient(Server(), model="m")
        other = RoleSettings(provider="openai", base_url="http://127.0.0.1:8", model="other")
        parts = members(main, judge=RoleSettings(model="wise"), boss=other)
        before = parts.clients()
        monkeypatch.setattr(LLMClient, "aclose", close)
        await parts.aclose()
        await parts.aclose()
        assert closed == ["other"]
        assert parts.client("boss") is not before["boss"], "what is closed is asked no more"


@pytest.mark.parametrize(
    ("role", "key"),
    [
        (RoleSettings(base_url="http://127.0.0.1:8"), None),
        (RoleSettings(base_url="http://127.0.0.1:8", model="m"), None),
        (RoleSettings(base_url="http://127.0.0.1:8", model="m", provider="openai"), "Bearer sk-own"),
        (RoleSettings(base_url="http://localhost:9/v1", model="m"), "Bearer sk-own"),
    ],
)
def test_the_key_goes_to_an_address_that_names_its_provider_or_is_the_users_own(
    role: RoleSettings, key: str | None
) -> None:
    llm = LLMSettings(provider="openai", openai=OpenAISettings(base_url="http://127.0.0.1:9/v1"))
    settings = Settings(llm=llm, agents=AgentsSettings(panel=PanelSettings(boss=role)))
    parts = Members(LLMClient(Server(), model="m"), settings, Path(), {"OPENAI_API_KEY": "sk-own"})
    provider = parts.client("boss").provider
    assert isinstance(provider, OpenAICompatible)
    provider.send_key()  # as if the server had asked for it
    assert provider.prepare(CompletionRequest(model="m", messages=())).headers.get("authorization") == key


class TestSettings:
    LLM = LLMSettings(
        provider="lmstudio",
        model="main",
        context_window=4_096,
        azure=AzureSettings(endpoint="https://own", deployment_name="own"),
        gguf=GgufSettings(file="own.gguf", threads=3),
        scripted=ScriptedSettings(file="own.toml"),
    )

    @pytest.mark.parametrize(
        ("role", "section", "expected"),
        [
            (RoleSettings(provider="azure", base_url="https://x", model="big"), "azure", ("https://x", "big")),
            (RoleSettings(provider="azure"), "azure", ("https://own", "own")),
            (RoleSettings(provider="gguf", model="big.gguf"), "gguf", ("big.gguf",)),
            (RoleSettings(provider="gguf"), "gguf", ("own.gguf",)),
            (RoleSettings(provider="scripted", model="a.toml"), "scripted", ("a.toml",)),
            (RoleSettings(provider="scripted"), "scripted", ("own.toml",)),
            *(
                (RoleSettings(provider=name, base_url="http://x:1", model="big"), name, ("http://x:1",))
                for name in ("lmstudio", "ollama", "openai", "gemini")
            ),
            (RoleSettings(base_url="http://x:1"), "lmstudio", ("http://x:1",)),
        ],
    )
    def test_of_the_provider_it_names_at_its_address(
        self, role: RoleSettings, section: str, expected: tuple[str, ...]
    ) -> None:
        made = settings_of(role, self.LLM)
        own = getattr(made, section)
        names = {"azure": ("endpoint", "deployment_name"), "gguf": ("file",), "scripted": ("file",)}
        assert tuple(getattr(own, name) for name in names.get(section, ("base_url",))) == expected
        assert (made.provider, made.model, made.context_window) == (section, role.model, 0)
        others = [name for name in ("azure", "gguf", "scripted", "lmstudio", "ollama", "openai") if name != section]
        assert all(getattr(made, name) == getattr(self.LLM, name) for name in others)

    @pytest.mark.parametrize(
        ("main", "spoken"),
        [
            *((name, name) for name in ("lmstudio", "ollama", "openai", "gemini")),
            ("azure", "openai"),
            ("auto", "openai"),
        ],
    )
    def test_an_address_alone_is_spoken_to_as_the_main_server_is_where_that_has_one(
        self, main: str, spoken: str
    ) -> None:
        llm = msgspec.structs.replace(self.LLM, provider=main)
        made = settings_of(RoleSettings(base_url="http://x:1"), llm)
        assert made.provider == spoken
        assert getattr(made, spoken).base_url == "http://x:1"


@pytest.mark.parametrize(
    ("address", "model", "same_server", "same_model"),
    [
        ("http://127.0.0.1:9/v1", "m", True, True),
        ("http://localhost:9", "m", True, True),
        ("http://localhost:9", "n", True, False),
        ("http://localhost:8", "m", False, False),
        ("a file", "m", False, False),
    ],
)
def test_one_server_has_many_names(address: str, model: str, same_server: bool, same_model: bool) -> None:
    main = LLMClient(Server(), model="m")
    other = LLMClient(Server(address=address), model=model)
    assert (server_of(other) == server_of(main)) == same_server
    assert is_same_model(other, main) == same_model
    assert is_same_model(main, main)
    assert name_of(LLMClient(Server(address="", name="scripted"), model="m")) == "scripted"
    files = [LLMClient(Server(address="a file", name=name), model="m") for name in ("gguf", "scripted")]
    assert server_of(files[0]) != server_of(files[1])
