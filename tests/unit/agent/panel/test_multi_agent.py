"""The panel over real servers on loopback: who is asked what, in which order, and who is left out."""

import asyncio
import json
import random
from collections.abc import AsyncGenerator
from itertools import count
from pathlib import Path
from typing import Any

import msgspec
import pytest

from localllm.agent.panel.dossier import dossier_text, make_dossier
from localllm.agent.panel.members import AGENT_ROLES, RECENT_SECONDS, TASKS, HealthChecker, Members
from localllm.agent.panel.multi_agent import MultiAgentSystem
from localllm.agent.panel.records import Attempt, Consultation, Dossier
from localllm.agent.panel.verdict import PLAN_TOKENS
from localllm.base.errors import LLMConnectionError
from localllm.base.events import AgentEvent, Consulted, Consulting, Notice, ToolCall
from localllm.config.schema import (
    AgentsSettings,
    LLMSettings,
    NamedProvider,
    OllamaSettings,
    OpenAISettings,
    PanelSettings,
    ProviderName,
    RoleSettings,
    Settings,
)
from localllm.llm.client import LLMClient
from localllm.llm.factory import make_client
from localllm.llm.messages import UserMessage
from localllm.llm.providers.base import Provider
from localllm.llm.providers.embedding import EmbeddingProvider
from localllm.llm.retry import Health
from localllm.llm.tokens import estimate_tokens
from tests.support.agents import scripted
from tests.support.wire_server import Reply, WireServer, delta, fails, says, sse

pytestmark = pytest.mark.anyio

ERROR = "old_string was not found in prices.py"
CALL = ToolCall("c", "edit_file", '{"file_path": "prices.py", "old_string": "x"}')
DOSSIER = make_dossier("直して: prices", "The same edit fails.", [Attempt(CALL, ERROR, failed=True)] * 3, [])
CAREFUL = "Careful: read the file before you edit it."
BOLD = "Bold: write the file anew."
DOWN = "http://127.0.0.1:9"


def verdict(confidence: float = 0.9) -> Reply:
    fields = {"verdict": "stale text", "next_action": "read prices.py", "avoid": "the same edit", "check": "pytest -q"}
    return says(json.dumps(fields | {"confidence": confidence}))


def role(url: str, model: str = "") -> RoleSettings:
    return RoleSettings(provider="openai", base_url=url, model=model)


def keys_sent(server: WireServer) -> list[str]:
    """The key of each chat request."""
    told = zip(server.asked, server.headers, strict=True)
    return [headers.get("authorization", "") for asked, headers in told if asked.startswith("POST")]


class Systems:
    """Makes panels, and closes what they have opened."""

    def __init__(self) -> None:
        self._made: list[tuple[LLMClient, MultiAgentSystem]] = []

    def __call__(
        self,
        main: str,
        *,
        timeout: float = 10,
        per_minute: int = 0,
        fallbacks: tuple[NamedProvider, ...] = (),
        ollama: str = "http://localhost:11434",
        seed: int = 1,
        **roles: RoleSettings,
    ) -> MultiAgentSystem:
        settings = Settings(
            llm=LLMSettings(
                provider="openai",
                openai=OpenAISettings(base_url=main),
                ollama=OllamaSettings(base_url=ollama),
                fallback_providers=fallbacks,
                requests_per_minute=per_minute,
                max_retries=0,
            ),
            agents=AgentsSettings(panel=PanelSettings(timeout=timeout, **roles)),
        )
        environ = {"LOCALLLM_STATE_DIR": "/nonexistent"}
        client = make_client(settings.llm, Path(), environ)
        panel = MultiAgentSystem(client, settings, Path(), environ, rng=random.Random(seed))
        self._made.append((client, panel))
        return panel

    async def close(self) -> None:
        for client, panel in self._made:
            await panel.aclose()
            await client.aclose()


@pytest.fixture
async def system() -> AsyncGenerator[Systems]:
    """A way to make panels over servers."""
    systems = Systems()
    yield systems
    await systems.close()


class Told:
    """Keeps what is emitted."""

    def __init__(self) -> None:
        self.events: list[AgentEvent] = []

    def __call__(self, event: AgentEvent) -> None:
        self.events.append(event)

    @property
    def notices(self) -> list[Notice]:
        return [event for event in self.events if isinstance(event, Notice)]

    @property
    def consulted(self) -> Consulted:
        (event,) = [event for event in self.events if isinstance(event, Consulted)]
        return event


def asked(body: dict[str, Any]) -> str:
    return body["messages"][-1]["content"]


async def test_each_role_is_asked_by_itself_with_its_character_and_the_judge_in_a_schema(system: Systems) -> None:
    with WireServer([says(CAREFUL), says(BOLD), verdict()]) as server:
        panel, told = system(server.url), Told()
        given = await panel.ask_three(DOSSIER, told)
    careful, bold, judge = server.bodies()
    assert AGENT_ROLES["conservative"].personality in careful["messages"][0]["content"]
    assert AGENT_ROLES["progressive"].personality in bold["messages"][0]["content"]
    assert AGENT_ROLES["judge"].personality in judge["messages"][0]["content"]
    for body in (careful, bold, judge):
        assert ERROR in asked(body)
        assert "直して: prices" in asked(body)
        assert [message["role"] for message in body["messages"]] == ["system", "user"]
        assert "tools" not in body
    assert asked(careful) == asked(bold) == dossier_text(DOSSIER)
    schema = judge["response_format"]["json_schema"]["schema"]
    assert set(schema["required"]) == {"verdict", "next_action", "avoid", "check", "confidence"}
    assert "response_format" not in careful
    assert given.is_sure
    assert given.confidence == 0.9
    assert given.plan.splitlines() == [
        "Verdict: stale text",
        "Next: read prices.py",
        "Avoid: the same edit",
        "Check: pytest -q",
    ]
    event = told.consulted
    assert [(one.role, one.provider, one.model) for one in event.opinions] == [
        ("conservative", "openai", "m"),
        ("progressive", "openai", "m"),
        ("judge", "openai", "m"),
    ]
    assert [one.text for one in event.opinions] == [CAREFUL, BOLD, "stale text"]
    assert (event.kind, event.question, event.plan, event.by_hand) == ("panel", DOSSIER.problem, given.plan, False)
    assert event.usage.prompt_tokens == 300
    assert panel.consultation_history == [event]
    fields = {"verdict": "stale text", "next_action": "read prices.py", "avoid": "the same edit", "check": "pytest -q"}
    assert (event.verdict, event.confidence, event.left_out) == (fields, 0.9, ())


async def test_the_judge_sees_the_opinions_unnamed_and_in_random_order(system: Systems) -> None:
    orders: list[bool] = []
    for seed in (*range(6), *range(6)):
        with WireServer([says(CAREFUL), says(BOLD), verdict()]) as server:
            await system(server.url, seed=seed).ask_three(DOSSIER, Told())
        question = asked(server.bodies()[2])
        assert "conservative" not in question.lower()
        assert "progressive" not in question.lower()
        assert "openai" not in question
        first, second = question.index("## Opinion A"), question.index("## Opinion B")
        assert first < min(question.index(CAREFUL), question.index(BOLD)) < second
        orders.append(question.index(CAREFUL) < question.index(BOLD))
    assert set(orders) == {True, False}
    assert orders[:6] == orders[6:], "a seed gives one order"


def held(text: str) -> Reply:
    reply = says(text)
    return Reply(reply.pieces, hold_head=True)


async def until(reached: Any) -> None:
    async with asyncio.timeout(10):
        while not reached():
            await asyncio.sleep(0.01)


async def test_different_servers_are_asked_at_the_same_time(system: Systems) -> None:
    with WireServer([held(CAREFUL)]) as one, WireServer([held(BOLD)]) as two, WireServer([verdict()]) as main:
        panel = system(main.url, conservative=role(one.url), progressive=role(two.url))
        consulting = asyncio.create_task(panel.ask_three(DOSSIER, Told()))
        await until(lambda: one.requests and two.requests)
        assert not main.requests
        one.released.set()
        two.released.set()
        assert (await consulting).is_sure
    assert (len(one.requests), len(two.requests), len(main.requests)) == (1, 1, 1)


async def test_one_server_is_asked_one_after_another(system: Systems) -> None:
    with WireServer([held(CAREFUL), says(BOLD), verdict()]) as server:
        same = server.url.replace("127.0.0.1", "localhost") + "/v1"
        panel = system(server.url, progressive=role(same))
        consulting = asyncio.create_task(panel.ask_three(DOSSIER, Told()))
        await until(lambda: server.requests)
        await asyncio.sleep(0.1)
        assert len(server.requests) == 1
        server.released.set()
        assert (await consulting).is_sure
        assert len(server.requests) == 3


async def test_a_member_that_is_down_is_left_out_and_named(system: Systems) -> None:
    with WireServer([says(BOLD), verdict()]) as server:
        given = await system(server.url, conservative=role(DOWN, "tiny")).ask_three(DOSSIER, Told())
    (left_out,) = given.left_out
    assert left_out.startswith("conservative (openai tiny): ")
    assert "127.0.0.1:9" in left_out
    assert given.is_sure
    assert [one.role for one in given.opinions] == ["progressive", "judge"]
    question = asked(server.bodies()[1])
    assert "## Opinion A" in question
    assert "## Opinion B" not in question


async def test_who_is_being_asked_is_shown(system: Systems) -> None:
    told = Told()
    with WireServer([says(CAREFUL), says(BOLD), verdict()]) as server:
        await system(server.url).ask_three(DOSSIER, told)
    shown = [event.roles for event in told.events if isinstance(event, Consulting)]
    assert {("conservative",), ("progressive",)} < {*shown[:-2]}
    assert shown[-2:] == [("judge",), ()]


async def test_a_member_that_is_silent_is_left_out(system: Systems) -> None:
    with WireServer([held("never")]) as silent, WireServer([says(BOLD), verdict()]) as server:
        given = await system(server.url, timeout=0.3, conservative=role(silent.url)).ask_three(DOSSIER, Told())
    assert given.left_out == ("conservative (openai m): no answer within 0.3 s",)
    assert given.plan


async def test_a_member_whose_turn_is_too_far_off_is_left_out_without_being_asked(system: Systems) -> None:
    with WireServer([says(CAREFUL)]) as limited, WireServer([says(BOLD), verdict(), says(BOLD), verdict()]) as server:
        roles = {"conservative": role(limited.url)}
        panel = system(server.url, timeout=20, per_minute=1, **roles, judge=role(DOWN))
        assert panel.apply_rate_limiting("openai " + limited.url + "/v1")
        first = await panel.ask_three(DOSSIER, Told())
        assert not panel.apply_rate_limiting("openai " + limited.url + "/v1")
        second = await panel.ask_three(DOSSIER, Told())
    assert len(first.left_out) == 1
    assert (
        second.left_out[0] == "conservative (openai m): the rate limit of its server does not allow another request yet"
    )
    assert len(limited.requests) == 1


async def test_a_server_that_asks_for_patience_is_left_out_and_not_asked_again(system: Systems) -> None:
    busy = fails(429, "slow down", {"retry-after": "30"})
    with WireServer([busy]) as limited, WireServer([says(BOLD), verdict(), says(BOLD), verdict()]) as server:
        panel = system(server.url, timeout=5, conservative=role(limited.url))
        assert len((await panel.ask_three(DOSSIER, Told())).left_out) == 1
        second = await panel.ask_three(DOSSIER, Told())
    assert "rate limit" in second.left_out[0]
    assert len(limited.requests) == 1


async def test_without_a_judge_the_opinions_are_the_plan_which_says_so(system: Systems) -> None:
    with WireServer([says(CAREFUL), says(BOLD)]) as server:
        given = await system(server.url, judge=role(DOWN)).ask_three(DOSSIER, Told())
    assert "No judge could weigh" in given.plan
    assert CAREFUL in given.plan
    assert BOLD in given.plan
    assert not given.is_sure
    assert given.left_out[0].startswith("judge (openai ")


async def test_when_all_fail_there_is_no_plan_and_everybody_is_named(system: Systems) -> None:
    told = Told()
    given = await system(DOWN).ask_three(DOSSIER, told)
    assert given == Consultation(left_out=given.left_out)
    assert [name.split()[0] for name in given.left_out] == ["conservative", "progressive"]
    assert told.consulted.plan == ""
    assert (given.is_sure, given.confidence, told.consulted.confidence) == (False, 0.0, 0.0)


@pytest.mark.parametrize(("confidence", "is_sure"), [(0.3, False), (0.49, False), (0.5, True)])
async def test_a_judge_is_sure_from_a_half_on(system: Systems, confidence: float, is_sure: bool) -> None:
    with WireServer([says(CAREFUL), says(BOLD), verdict(confidence)]) as server:
        assert (await system(server.url).ask_three(DOSSIER, Told())).is_sure == is_sure


async def test_a_judge_who_writes_prose_is_not_sure(system: Systems) -> None:
    with WireServer([says(CAREFUL), says(BOLD), says("Read the file again.")]) as server:
        given = await system(server.url).ask_three(DOSSIER, Told())
    assert given.plan == "Read the file again."
    assert not given.is_sure


async def test_a_server_that_knows_no_schemas_is_asked_without_one(system: Systems) -> None:
    refusal = fails(400, "response_format type json_schema is not supported by this model")
    replies = [says(CAREFUL), says(BOLD), refusal, verdict(), says(CAREFUL), says(BOLD), verdict()]
    with WireServer(replies) as server:
        panel = system(server.url)
        assert (await panel.ask_three(DOSSIER, Told())).is_sure
        assert (await panel.ask_three(DOSSIER, Told())).is_sure
    sent = ["response_format" in body for body in server.bodies()]
    assert sent == [False, False, True, False, False, False, False]


@pytest.mark.parametrize("said_before", [False, True])
async def test_a_server_that_cannot_read_what_it_held_to_the_schema_is_asked_without_one(
    system: Systems, said_before: bool
) -> None:
    failure = {
        "error": {
            "code": 500,
            "message": "The model produced output that does not match the expected peg-native format",
            "type": "server_error",
        }
    }
    broken = Reply(sse(*([delta(content='{"ver')] if said_before else []), failure))
    with WireServer([says(CAREFUL), says(BOLD), broken, verdict()]) as server:
        given = await system(server.url).ask_three(DOSSIER, Told())
    assert given.is_sure
    assert ["response_format" in body for body in server.bodies()] == [False, False, True, False]


async def test_the_boss_reads_the_dossier_and_what_was_advised_before(system: Systems) -> None:
    earlier = [Consultation(plan="Next: read prices.py"), Consultation(left_out=("x",))]
    with WireServer([verdict()]) as server, WireServer([]) as main:
        told = Told()
        given = await system(main.url, boss=role(server.url, "big")).ask_boss(DOSSIER, earlier, told)
    (body,) = server.bodies()
    assert body["model"] == "big"
    assert AGENT_ROLES["boss"].personality in body["messages"][0]["content"]
    assert asked(body) == f"{dossier_text(DOSSIER)}\n\n## Advice given earlier\nNext: read prices.py"
    assert "response_format" in body
    assert given.is_sure
    assert [(one.role, one.model) for one in told.consulted.opinions] == [("boss", "big")]
    assert told.consulted.kind == "boss"


async def test_the_plan_is_short_however_long_the_answer(system: Systems) -> None:
    long = "読み直してください。" * 900
    with WireServer([says(CAREFUL), says(BOLD), says(long), says(long)]) as server:
        panel = system(server.url)
        for given in (await panel.ask_three(DOSSIER, Told()), await panel.ask_boss(DOSSIER, [], Told())):
            assert 0 < estimate_tokens(given.plan) <= PLAN_TOKENS


async def test_what_a_small_window_is_asked_fits_it(system: Systems) -> None:
    long = make_dossier("直して" * 200, "p", [Attempt(CALL, f"{ERROR}: " + "値が違います。" * 90, failed=True)] * 2, [])
    listing = Reply(
        (json.dumps({"data": [{"id": "m", "owned_by": "vllm", "max_model_len": 2_048}]}).encode(),),
        headers={"content-type": "application/json"},
    )
    replies = [says(CAREFUL * 60), says(BOLD * 60), verdict(), verdict()]
    with WireServer(replies, routes={"/v1/models": listing}) as server:
        panel = system(server.url)
        given = await panel.ask_three(long, Told())
        await panel.ask_boss(long, [given] * 3, Told())
    assert len(server.bodies()) == 4
    for body in server.bodies():
        prompt = sum(estimate_tokens(message["content"]) + 4 for message in body["messages"])
        assert prompt + body["max_tokens"] <= 2_048
        assert body["max_tokens"] >= 256
        assert ERROR in asked(body)
    _, _, opinions = asked(server.bodies()[2]).partition("## Opinion A")
    assert 200 < estimate_tokens(opinions) < 2_048 / 3, "a third of the room for both"


async def test_by_hand_members_answer_in_the_persons_language(system: Systems) -> None:
    with WireServer([says(CAREFUL), says(BOLD), verdict()]) as server:
        told = Told()
        await system(server.url).ask_three(DOSSIER, told, by_hand=True)
    assert all("language of the goal" in body["messages"][0]["content"] for body in server.bodies())
    assert told.consulted.question == DOSSIER.goal
    assert told.consulted.by_hand


async def test_another_model_of_the_same_server_and_a_role_without_a_provider(system: Systems) -> None:
    with WireServer([says(CAREFUL), says(BOLD), verdict()], models=("main", "wise")) as server:
        panel = system(server.url, judge=RoleSettings(model="wise"), progressive=RoleSettings(base_url=server.url))
        await panel.ask_three(DOSSIER, Told())
    assert [body["model"] for body in server.bodies()] == ["main", "main", "wise"]


@pytest.mark.parametrize("main", ["openai", "auto"])
async def test_a_key_goes_where_its_provider_was_named_or_where_it_goes_anyway(main: ProviderName) -> None:
    asks = fails(401, "no key")
    with (
        WireServer([asks, says(CAREFUL)], models=("m",)) as known,
        WireServer([says(BOLD), asks, says(BOLD)], models=("m",)) as other,
    ):
        llm = LLMSettings(provider=main, openai=OpenAISettings(base_url=known.url))
        roles = PanelSettings(
            conservative=RoleSettings(base_url=known.url),
            progressive=RoleSettings(base_url=other.url),
            judge=RoleSettings(provider="openai", base_url=other.url),
        )
        settings = Settings(llm=llm, agents=AgentsSettings(panel=roles))
        environ = {"LOCALLLM_STATE_DIR": "/nonexistent", "OPENAI_API_KEY": "very-secret"}
        client = make_client(llm, Path(), environ)
        members = Members(client, settings, Path(), environ)
        for name in ("conservative", "progressive", "judge"):
            await members.client(name).complete((UserMessage("Hello"),))
        await members.aclose()
        await client.aclose()
    assert keys_sent(known) == ["", "Bearer very-secret"]
    assert keys_sent(other) == ["", "", "Bearer very-secret"]


async def test_a_fallback_provider_stands_in_for_a_role_and_it_is_said(system: Systems) -> None:
    lines = [{"message": {"content": CAREFUL}, "done": False}, {"message": {"content": ""}, "done": True}]
    body = "".join(json.dumps(line) + "\n" for line in lines).encode()
    spare = Reply((body,), headers={"content-type": "application/x-ndjson"})
    tags = Reply(
        (b'{"models": [{"name": "spare:1b", "model": "spare:1b"}]}',), headers={"content-type": "application/json"}
    )
    routes = {"/api/tags": tags, "/api/chat": spare}
    with WireServer([says(BOLD), verdict()]) as server, WireServer([spare], routes=routes) as ollama:
        panel = system(server.url, conservative=role(DOWN), fallbacks=("ollama",), ollama=ollama.url)
        told = Told()
        given = await panel.ask_three(DOSSIER, told)
    assert given.left_out == ()
    assert (given.opinions[0].role, given.opinions[0].provider) == ("conservative", "ollama")
    notices = [event.text for event in told.events if isinstance(event, Notice)]
    assert len(notices) == 1
    assert notices[0].startswith("conservative: ")
    assert "ollama" in notices[0]
    assert panel.fallback_providers == ["ollama"]


async def test_the_plain_interface(system: Systems) -> None:
    with WireServer([says(CAREFUL), says(BOLD), verdict(), verdict()]) as server:
        panel = system(server.url)
        advice = await panel.three_wise_consultation(ERROR, {"goal": "fix it", "file": "rate = 2"})
        await panel.boss_consultation("still stuck")
    first, *_, last = map(asked, server.bodies())
    assert "## Goal\nfix it" in first
    assert f"## Problem\n{ERROR}" in first
    assert "file:\nrate = 2" in first
    assert advice["is_sure"]
    assert "Next: read prices.py" in advice["plan"]
    assert len(advice["opinions"]) == 3
    assert "## Advice given earlier\nVerdict: stale text" in last
    assert set(panel.agent_roles) == {"conservative", "progressive", "judge", "boss"}
    assert set(panel.llm_clients) == {"conservative", "progressive", "judge", "boss"}
    assert [event.kind for event in panel.consultation_history] == ["panel", "boss"]


async def test_the_health_of_each_distinct_server(system: Systems) -> None:
    with WireServer([verdict()]) as server:
        panel = system(server.url, judge=role(server.url), boss=role(DOWN))
        health = await panel.health_check_providers()
        assert health == {f"openai {server.url}/v1": True, f"openai {DOWN}/v1": False}
        assert len(server.asked) == 1


def serving(**entry: Any) -> WireServer:
    """A server like llama.cpp or vLLM, which tells the window of its model."""
    data = {"object": "list", "data": [{"id": "m"} | entry]}
    listing = Reply((json.dumps(data).encode(),), headers={"content-type": "application/json"})
    return WireServer([verdict()], routes={"/v1/models": listing})


async def test_the_server_that_suits_the_work_best(system: Systems) -> None:
    with (
        serving(owned_by="vllm", max_model_len=65_536) as wide,
        serving(owned_by="x", max_model_len=4_096) as narrow,
    ):
        panel = system(narrow.url, boss=role(wide.url), judge=role(DOWN))
        names = {server: f"openai {server.url}/v1" for server in (wide, narrow)}
        for task in ("long_context", "coding", "reasoning", "structured"):
            assert await panel.select_best_provider(task) == names[wide]
        assert await panel.select_best_provider() in names.values()
        with pytest.raises(ValueError, match="coding"):
            await panel.select_best_provider("cooking")
    assert set(TASKS) == {"coding", "reasoning", "vision", "long_context", "structured"}


@pytest.mark.parametrize("is_main", [True, False])
async def test_for_a_long_text_the_widest_of_wide_windows(system: Systems, is_main: bool) -> None:
    with (
        serving(owned_by="vllm", max_model_len=131_072) as widest,
        serving(owned_by="vllm", max_model_len=65_536) as wide,
    ):
        main, boss = (widest, wide) if is_main else (wide, widest)
        panel = system(main.url, boss=role(boss.url))
        assert await panel.select_best_provider("long_context") == f"openai {widest.url}/v1"


async def test_a_boss_nobody_has_named_is_the_best_thinker_on_the_panel(system: Systems) -> None:
    with (
        serving(owned_by="vllm", max_model_len=65_536) as wide,
        serving(owned_by="vllm", max_model_len=65_536) as other,
        serving(owned_by="vllm", max_model_len=4_096) as narrow,
    ):
        better = system(narrow.url, judge=role(wide.url), progressive=role(DOWN))
        await better.ask_boss(DOSSIER, [], Told())
        assert [len(server.requests) for server in (narrow, wide, other)] == [0, 1, 0]
        equal = system(other.url, judge=role(wide.url))
        await equal.ask_boss(DOSSIER, [], Told())
        assert [len(server.requests) for server in (narrow, wide, other)] == [0, 1, 1], "the one that does the work"
        named = system(wide.url, boss=role(narrow.url), judge=role(other.url))
        await named.ask_boss(DOSSIER, [], Told())
        assert [len(server.requests) for server in (narrow, wide, other)] == [1, 1, 1]
    with serving() as alone:
        await system(alone.url, judge=role(DOWN)).ask_boss(DOSSIER, [], Told())
        assert len(alone.requests) == 1


async def test_no_server_is_fit(system: Systems) -> None:
    with pytest.raises(LLMConnectionError) as caught:
        await system(DOWN).select_best_provider("coding")
    assert caught.value.key == "panel_no_provider"


async def test_the_embedded_engine_is_no_adviser(tmp_path: Path) -> None:
    settings = Settings(llm=LLMSettings(provider="embedded"))
    client = make_client(settings.llm, tmp_path, {})
    panel = MultiAgentSystem(client, settings, tmp_path, {})
    given = await panel.ask_three(Dossier(goal="g", problem="p"), Told())
    assert given.plan == ""
    assert given.left_out[0] == "conservative: There is no model to ask"
    assert panel.llm_clients == {}


async def test_an_address_alone_is_spoken_to_as_the_main_server_is(system: Systems) -> None:
    panel = system("http://localhost:1", judge=RoleSettings(base_url="http://localhost:2"))
    provider = panel.llm_clients["judge"].provider
    assert isinstance(provider, EmbeddingProvider)
    assert (provider.name, provider.address) == ("openai", "http://localhost:2/v1")


def client(window: int) -> LLMClient:
    return LLMClient(scripted("hello"), model="m", context_window=window)


def well(latency: float = 1.0) -> Health:
    return Health("healthy", connected=True, latency=latency, provider="p", address="a", model="m")


async def test_a_server_is_looked_at_once_in_a_while_unless_anew() -> None:
    looks, now = list[str](), 100.0

    async def look(_provider: Provider, model: str) -> Health:
        looks.append(model)
        return well()

    checker = HealthChecker(look, lambda: now)
    asked = {"one": client(8_192)}
    for seconds, anew, times in ((0, False, 1), (1, True, 2), (RECENT_SECONDS, False, 2), (1, False, 3)):
        now += seconds
        assert await checker.check(asked, anew=anew) == {"one": well()}
        assert len(looks) == times


async def test_a_boss_that_was_chosen_is_asked_no_more_where_none_can_be_chosen(system: Systems) -> None:
    is_well = True

    async def look(_provider: Provider, _model: str) -> Health:
        return well() if is_well else msgspec.structs.replace(well(), status="loading")

    with serving(owned_by="vllm", max_model_len=4_096) as main, serving(owned_by="vllm", max_model_len=65_536) as wide:
        panel = system(main.url, judge=role(wide.url))
        panel.health_checker = HealthChecker(look, count(step=2 * RECENT_SECONDS).__next__)
        await panel.ask_boss(DOSSIER, [], Told())
        assert [len(main.requests), len(wide.requests)] == [0, 1]
        is_well = False
        await panel.ask_boss(DOSSIER, [], Told())
        assert [len(main.requests), len(wide.requests)] == [1, 1]


class TestPlainValues:
    async def test_what_is_given_is_shown_under_its_name_and_cut_where_it_is_long(self, system: Systems) -> None:
        given = {"empty": "", "none": None, "file": "rate = 2", "log": "line of it. " * 3_000}
        with WireServer([says(CAREFUL), says(BOLD), verdict()]) as server:
            await system(server.url).three_wise_consultation("It fails.", given)
        question = asked(server.bodies()[0])
        assert "## Goal\nIt fails.\n" in question
        assert "## Problem\nIt fails.\n" in question
        assert "file:\nrate = 2" in question
        assert "log:\nline of it." in question
        assert "empty" not in question
        assert "none" not in question
        assert estimate_tokens(question) < 1_600

    async def test_a_long_problem_has_half_of_its_room_as_goal_and_as_problem(self, system: Systems) -> None:
        with WireServer([says(CAREFUL), says(BOLD), verdict()]) as server:
            await system(server.url).three_wise_consultation("It fails here. " * 3_000)
        goal, _, problem = asked(server.bodies()[0]).partition("\n\n## Problem\n")
        assert 700 < estimate_tokens(goal) <= 760
        assert 700 < estimate_tokens(problem) <= 760

    @pytest.mark.parametrize(
        ("history", "shown"),
        [
            (None, ["Next: read prices.py"]),
            ([], []),
            ([{"plan": "Next: go home"}, {"opinions": []}], ["Next: go home"]),
        ],
    )
    async def test_the_boss_is_shown_what_is_given_or_all_there_was(
        self, system: Systems, history: list[Any] | None, shown: list[str]
    ) -> None:
        with WireServer([says(CAREFUL), says(BOLD), verdict(), verdict()]) as server:
            panel = system(server.url)
            await panel.three_wise_consultation("It fails.")
            given = await panel.boss_consultation("It fails.", history)
        earlier = asked(server.bodies()[3]).partition("## Advice given earlier")[2]
        assert bool(earlier) == bool(shown)
        assert all(plan in earlier for plan in shown)
        assert given["confidence"] == 0.9

    async def test_a_server_nobody_asks_is_not_known(self, system: Systems) -> None:
        panel = system(DOWN)
        assert panel.apply_rate_limiting("openai")
        with pytest.raises(KeyError):
            panel.apply_rate_limiting("ollama")


async def test_long_advice_from_earlier_shares_its_room(system: Systems) -> None:
    earlier = [Consultation(plan=f"{letter} " * 4_000) for letter in "abc"]
    with WireServer([verdict()]) as server:
        panel = system(server.url)
        await panel.ask_boss(DOSSIER, earlier, Told())
    told = asked(server.bodies()[0]).partition("## Advice given earlier\n")[2]
    sizes = [estimate_tokens(part) for part in told.split("\n\n")]
    assert len(sizes) == 3
    assert max(sizes) <= 401
    assert min(sizes) > 300


async def test_a_boss_is_chosen_only_where_there_is_a_choice(system: Systems) -> None:
    looks: list[str] = []

    async def look(_provider: Provider, model: str) -> Health:
        looks.append(model)
        return well()

    with serving(owned_by="vllm", max_model_len=4_096) as main, serving(owned_by="vllm", max_model_len=65_536) as wide:
        for roles in ({}, {"boss": role(wide.url), "judge": role(wide.url)}):
            panel = system(main.url, **roles)
            panel.health_checker = HealthChecker(look)
            await panel.ask_boss(DOSSIER, [], Told())
        assert (looks, len(main.requests), len(wide.requests)) == ([], 1, 1)


async def test_how_a_server_is_is_asked_anew_but_for_a_choice(system: Systems) -> None:
    looks: list[str] = []

    async def look(_provider: Provider, model: str) -> Health:
        looks.append(model)
        return well()

    with serving(owned_by="vllm", max_model_len=65_536) as main:
        panel = system(main.url)
        panel.health_checker = HealthChecker(look)
        for times in (1, 2):
            assert await panel.health_check_providers() == {f"openai {main.url}/v1": True}
            assert len(looks) == times
        assert await panel.select_best_provider() == await panel.select_best_provider(None)
        assert len(looks) == 2


async def test_what_all_of_it_cost_is_counted_also_of_who_said_nothing(system: Systems) -> None:
    with WireServer([says(" "), says(BOLD), verdict()]) as server:
        told = Told()
        given = await system(server.url).ask_three(DOSSIER, told)
    assert given.left_out[0].startswith("conservative (openai m): ")
    assert told.consulted.usage.prompt_tokens in (200, 300)
    assert [one.role for one in told.consulted.opinions] == ["progressive", "judge"]
    assert told.consulted.left_out == given.left_out
