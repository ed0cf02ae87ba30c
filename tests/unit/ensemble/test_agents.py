"""Agents keep their connections, pin their windows, send no key but their own, and cost little when they are gone."""

import asyncio
from collections.abc import AsyncGenerator, Sequence

import pytest

from localllm.base.errors import ConfigurationError, LLMConnectionError, LocalLLMError
from localllm.base.i18n import Phrase
from localllm.ensemble import agents
from localllm.ensemble.agents import AgentPool, Endpoint, check_agents
from localllm.ensemble.config import AgentConfig, EnsembleConfig, SystemSettings
from localllm.ensemble.hosts import REST_SECONDS, Host
from localllm.llm.messages import AssistantMessage, CompletionRequest, UserMessage
from localllm.llm.providers.base import Chunk, ModelInfo
from localllm.llm.providers.ollama import Ollama
from tests.ensemble_servers import MODEL, Gate, OllamaServers, Play
from tests.ensemble_servers.asking import agent, asking, config_of
from tests.ensemble_servers.play import until
from tests.support.loopback import silent_port

pytestmark = pytest.mark.anyio

KEYS = {"MY_KEY": "secret-1", "OLLAMA_API_KEY": "secret-2", "OPENAI_API_KEY": "secret-3", "OLLAMA_HOST": "far.example"}


class SlowAfterwards(Ollama):
    """Tells a window once; afterwards it takes connections, and tells nothing in time."""

    described = 0

    async def describe(self, model: str) -> ModelInfo:
        self.described += 1
        if self.described == 1:
            return ModelInfo(model, context_window=32_768)
        raise LLMConnectionError("llm_idle", url=self.address, seconds=3.0, provider="ollama")


async def test_a_window_that_was_told_stays_known_when_a_host_that_wakes_tells_none() -> None:
    endpoint = Endpoint(SlowAfterwards("http://127.0.0.1:1", timeout=3.0, idle_timeout=3.0), MODEL, Host("h"))
    await endpoint.get_ready()
    endpoint.note_answer()
    endpoint.host.__dict__["_rests_until"] = asyncio.get_running_loop().time()  # the rest is just over
    await endpoint.get_ready()
    assert (endpoint.provider.__dict__["described"], endpoint.window) == (2, 32_768)


class TestConnections:
    async def test_a_reload_keeps_what_it_does_not_change(self) -> None:
        async with asking(Play(), Play()) as asked:
            await asked.result()
            asked.change(max_retries=2)
            asked.use(agent("Renamed", asked.workers[0], timeout=9.0), agent("Worker 2", asked.workers[1]))
            await asked.result()
            servers = (asked.reviewer, *asked.workers)
            assert [server.asked.count("POST /api/show") for server in servers] == [1, 1, 1]
            assert [server.connections for server in servers] == [1, 1, 1]

    async def test_what_a_reload_takes_away_is_closed_when_its_last_run_ends(self) -> None:
        gate = Gate()
        async with asking(Play(gate=gate), Play()) as asked:
            run = asked.begin()
            await gate.holds(1)
            asked.use(agent("New", asked.servers.add()))
            assert [answer.agent for answer in (await asked.result()).answers] == ["New"]
            assert asked.workers[0].in_flight == 1
            gate.open()
            assert [answer.agent for answer in (await run).answers] == ["Worker 1", "Worker 2"]
            await until(lambda: not any(server.open_connections for server in asked.workers))

    async def test_a_thousand_reloads_under_load(self) -> None:
        async with asking(Play(), Play()) as asked:
            one, other = asked.workers
            names = [("A", "B"), ("C", "D"), ("E", "F")]
            configs = [
                (agent(first, one, num_ctx=4_096 * at), agent(second, other))
                for at, (first, second) in enumerate(names, start=1)
            ]
            seen: list[tuple[str, ...]] = []
            is_over = False

            async def ask() -> None:
                while not is_over:
                    seen.append(tuple(answer.agent for answer in (await asked.result()).answers))

            asking_all = [asyncio.create_task(ask()) for _ in range(5)]
            for number in range(1_000):
                asked.use(*configs[number % 3])
                await asyncio.sleep(0.001)
            is_over = True
            await asyncio.gather(*asking_all)
            assert set(seen) <= {*names, ("Worker 1", "Worker 2")}
            assert len(seen) > 100
            await asked.result()
            await until(lambda: one.open_connections + other.open_connections <= 10)

    async def test_agents_that_name_one_model_share_it(self) -> None:
        async with asking(Play()) as asked:
            server = asked.workers[0]
            asked.use(agent("Terse", server, system="Be terse."), agent("Verbose", server, temperature=1.0))
            await asked.result()
            assert server.asked.count("POST /api/show") == 1
            assert [chat["options"].get("temperature") for chat in server.chats].count(1.0) == 1


class TestWindows:
    async def test_num_ctx_is_one_for_all_that_ask_for_a_model(self) -> None:
        """With another one, Ollama would load the model anew for every other request."""
        async with asking(Play()) as asked:
            server = asked.workers[0]
            asked.use(agent("A", server), agent("B", server, num_ctx=8_192), agent("C", server, num_ctx=4_096))
            for _ in range(2):
                await asked.result()
            assert {chat["options"]["num_ctx"] for chat in server.chats} == {8_192}

    async def test_it_stays_as_it_was_chosen(self) -> None:
        play = Play(window=9_000)
        async with asking(play) as asked:
            await asked.result()
            play.window = 4_000
            await asked.result()
            assert [chat["options"]["num_ctx"] for chat in asked.workers[0].chats] == [9_000, 9_000]

    async def test_old_turns_that_do_not_fit_are_left_out(self) -> None:
        turns = tuple(
            kind(f"{number}: " + "word " * 300) for number in range(20) for kind in (UserMessage, AssistantMessage)
        )
        async with asking(Play(), num_ctx=2_048, system="Be terse.") as asked:
            await asked.result(history=turns)
            sent = asked.workers[0].chats[0]["messages"]
        assert [message["role"] for message in sent] == [
            "system",
            *["user", "assistant"] * (len(sent) // 2 - 1),
            "user",
        ]
        assert 4 <= len(sent) < 20
        assert sent[-2]["content"].startswith("19: ")


class Telling:
    """A provider whose server tells the window of a model only once that is loaded."""

    name, address, constrains = "telling", "http://127.0.0.1:9", False

    def __init__(self, *windows: int) -> None:
        self.windows = list(windows)
        self.described = 0

    def stream(self, request: CompletionRequest) -> AsyncGenerator[Chunk]:
        raise NotImplementedError

    async def list_models(self) -> list[ModelInfo]:
        return []

    async def describe(self, model: str, listed: Sequence[ModelInfo] = ()) -> ModelInfo:
        self.described += 1
        return ModelInfo(model, context_window=self.windows.pop(0) if self.windows else 0)

    async def aclose(self) -> None:
        pass


class TestUnknownWindows:
    async def test_after_the_first_answer_the_server_is_asked_once_more(self) -> None:
        provider = Telling(0, 4_096)
        endpoint = Endpoint(provider, "m", Host("h"))
        await endpoint.get_ready()
        assert (endpoint.window, endpoint.assumed_window) == (0, 8_192)
        for _ in range(3):
            endpoint.note_answer()
            await endpoint.get_ready()
        assert (endpoint.window, provider.described) == (4_096, 2)

    async def test_one_that_never_tells_is_not_asked_for_ever(self) -> None:
        provider = Telling()
        endpoint = Endpoint(provider, "m", Host("h"))
        for _ in range(4):
            await endpoint.get_ready()
            endpoint.note_answer()
        assert provider.described == 2

    async def test_a_refusal_tells_it(self) -> None:
        endpoint = Endpoint(Telling(8_192), "m", Host("h"))
        await endpoint.get_ready()
        too_long = LLMConnectionError("llm_context_overflow", n_ctx=2_048, n_prompt_tokens=3_000)
        assert endpoint.learn_from(too_long, (UserMessage("word " * 2_000),))
        assert endpoint.window == 2_048
        assert not endpoint.learn_from(LLMConnectionError("llm_empty"), ())
        other = LLMConnectionError("llm_context_overflow", n_ctx=4_096, n_prompt_tokens=0)
        assert not endpoint.learn_from(other, ()), "it was known to be smaller"


class TestKeys:
    async def test_only_the_key_an_agent_names_is_sent(self) -> None:
        async with asking(Play(), Play(), environ=KEYS) as asked:
            asked.use(agent("With", asked.workers[0], api_key_env="MY_KEY"), agent("Without", asked.workers[1]))
            await asked.result()
            assert asked.workers[0].heads[0]["authorization"] == "Bearer secret-1"
            assert "secret" not in str(asked.workers[1].heads + asked.reviewer.heads)

    @pytest.mark.parametrize("variable", ["NOT_SET", "EMPTY"])
    def test_a_key_that_is_not_there_is_an_error_at_the_start(self, variable: str) -> None:
        config = _config(api_key_env=variable)
        with pytest.raises(ConfigurationError) as caught:
            check_agents(config, {"EMPTY": " "})
        assert (caught.value.key, caught.value.params["variable"]) == ("ensemble_no_key", variable)
        check_agents(config, {variable: "k"})

    def test_what_could_never_be_asked_is_found(self) -> None:
        for fields in ({"api_url": "ftp://x"}, {"provider": "scripted", "api_url": "", "model": "/not/there.toml"}):
            with pytest.raises(ConfigurationError):
                check_agents(_config(**fields), {})
        for provider in ("ollama", "openai", "lmstudio", "gemini"):
            check_agents(_config(provider=provider), {})


def _config(**fields: object) -> EnsembleConfig:
    worker = AgentConfig(**{"name": "W", "api_url": "http://127.0.0.1:9", "model": MODEL} | fields)
    reviewer = AgentConfig(name="R", api_url="http://127.0.0.1:9", model=MODEL)
    return EnsembleConfig(reviewer_agent=reviewer, worker_agents=(worker,), system_settings=SystemSettings())


def _left(error: LocalLLMError | None) -> float | None:
    """For how many seconds an unreachable host is not tried, as the error says; None where it was tried."""
    assert error is not None
    assert error.key == "ensemble_unreachable"
    reason = error.params["reason"]
    return float(str(reason.params["left"])) if isinstance(reason, Phrase) else None


class Tried:
    """Counts how often each address is looked at; a connection gets 0.3 s."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._addresses: list[str] = []
        describe = Ollama.describe

        async def counted(provider: Ollama, model: str, listed: Sequence[ModelInfo] = ()) -> ModelInfo:
            self._addresses.append(provider.address)
            return await describe(provider, model, listed)

        monkeypatch.setattr(agents, "CONNECT_SECONDS", 0.3)
        monkeypatch.setattr(Ollama, "describe", counted)

    def count(self, port: int) -> int:
        return self._addresses.count(f"http://127.0.0.1:{port}")


class TestHostsThatAreGone:
    async def test_they_cost_a_short_time_once_for_all_that_ask_them(self, monkeypatch: pytest.MonkeyPatch) -> None:
        tried = Tried(monkeypatch)
        with silent_port() as port:
            async with asking(Play()) as asked:
                worker = agent("Gone", asked.workers[0], api_url=f"http://127.0.0.1:{port}")
                asked.use(asked.source.current.worker_agents[0], worker)
                results = await asyncio.gather(*(asked.result() for _ in range(8)))
        for result in results:
            error = result.answers[1].error
            assert error is not None
            assert error.key == "ensemble_unreachable"
            assert result.final_answer == "It is 42."
        assert tried.count(port) == 1

    async def test_they_rest_and_are_tried_again_afterwards(self, monkeypatch: pytest.MonkeyPatch) -> None:
        tried, loop = Tried(monkeypatch), asyncio.get_running_loop()
        async with asking(Play()) as asked:
            with silent_port() as port:
                asked.use(agent("Gone", asked.workers[0], api_url=f"http://127.0.0.1:{port}"))
                first = await asked.result()
            asked.servers.add(Play(answer="back"), port=port)
            second = await asked.result()
            assert _left(first.answers[0].error) is None
            assert 0 < (_left(second.answers[0].error) or 0) <= REST_SECONDS
            assert tried.count(port) == 1
            now = loop.time
            monkeypatch.setattr(loop, "time", lambda: now() + REST_SECONDS)
            for _ in range(2):
                assert (await asked.result()).answers[0].text == "back"
            assert tried.count(port) == 2

    async def test_so_do_those_that_have_answered_before(self, monkeypatch: pytest.MonkeyPatch) -> None:
        tried = Tried(monkeypatch)
        async with asking(Play()) as asked:
            await asked.result()
            asked.servers.stop(asked.reviewer)
            port = int(asked.reviewer.url.rpartition(":")[2])
            with silent_port(port):
                results = [await asked.result() for _ in range(3)]
            left = [_left(result.reviewer_error) for result in results]
            assert left[0] is None
            assert all(left[1:])
            assert tried.count(port) == 1
            assert {result.final_answer for result in results} == {"An answer."}

    async def test_one_that_comes_back_is_asked_again(self) -> None:
        async with asking(Play(), Play()) as asked:
            port = int(asked.workers[1].url.rpartition(":")[2])
            asked.servers.stop(asked.workers[1])
            error = (await asked.result()).answers[1].error
            assert error is not None
            assert error.key == "ensemble_unreachable"
            asked.servers.add(Play(answer="back"), port=port)
            assert (await asked.result()).answers[1].text == "back"

    async def test_a_server_that_tells_nothing_of_its_model_may_answer(self) -> None:
        with OllamaServers() as servers:
            pool = AgentPool({})
            taken = await pool.take(config_of(servers.add(), [servers.add({"another": Play()})]))
            await taken.workers[0].endpoint.get_ready()
            assert taken.workers[0].endpoint.is_ready
            await pool.give_back(taken)
            await pool.aclose()
