"""Members at the end of the main conversation, and by dossier, as their server sees it: one slot keeps its cache."""

import asyncio
import json
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Literal, NamedTuple

import msgspec
import pytest

from localllm.agent.consultation import consult
from localllm.agent.history import with_remark
from localllm.agent.panel.dossier import make_dossier
from localllm.agent.panel.multi_agent import MultiAgentSystem
from localllm.agent.panel.records import Attempt, Dossier
from localllm.agent.panel.verdict import PLAN_TOKENS
from localllm.agent.react_agent import ReActAgent
from localllm.agent.system_prompt import remark
from localllm.base.events import Consulted, ToolCall
from localllm.config.schema import AgentsSettings, LLMSettings, OpenAISettings, PanelSettings, RoleSettings, Settings
from localllm.llm.client import LLMClient
from localllm.llm.factory import make_client
from localllm.llm.messages import AssistantMessage, Message, SystemMessage, ToolMessage, ToolSpec, UserMessage
from localllm.llm.tokens import estimate_tokens
from tests.support.agents import make_tools, scripted
from tests.support.wire_server import Reply, WireServer, calls, cassette, delta, fails, says, sse
from tests.unit.agent.panel.test_multi_agent import BOLD, CALL, CAREFUL, ERROR, Told, held, until, verdict

pytestmark = pytest.mark.anyio

Dialect = Literal["native", "structured", "text"]

TOOLS = tuple(
    ToolSpec(name, "Work on a file.", {"type": "object", "properties": {"file_path": {"type": "string"}}})
    for name in ("edit_file", "read_file")
)
SENT: tuple[Message, ...] = (SystemMessage("You are a coding agent."), UserMessage("Fix the prices."))
NOW: tuple[Message, ...] = (
    *SENT,
    AssistantMessage("I edit.", (ToolCall("c1", "edit_file", '{"file_path":"prices.py"}'),)),
    ToolMessage("c1", "edit_file", ERROR),
)
READING = ("read_file", {"file_path": "prices.py"})
MISSES = [calls(("edit_file", {"file_path": "prices.py", "old_string": "y = 2", "new_string": "y = 3"}))] * 5
MEND = calls(("edit_file", {"file_path": "prices.py", "old_string": "x = 1", "new_string": "x = 3"}))
WIDE = 32_768


def dossier(messages: Sequence[Message] = NOW) -> Dossier:
    attempts = [Attempt(CALL, ERROR, failed=True)] * 3
    return make_dossier("Fix the prices.", "The same edit fails.", attempts, messages, tools=TOOLS)


def listing(*names: str, window: int = WIDE) -> Reply:
    """A list of models whose server can be held to a schema, each of that window."""
    data = [{"id": name, "owned_by": "vllm", "max_model_len": window} for name in names or ("m",)]
    return Reply((json.dumps({"data": data}).encode(),), headers={"content-type": "application/json"})


def server_with(*replies: Reply, models: Reply | None = None, **routes: Reply) -> WireServer:
    paths = {f"/{name}": reply for name, reply in routes.items()}
    return WireServer(replies, routes={"/v1/models": models or listing(), **paths})


class Parts(NamedTuple):
    """The agent's own client, and the panel beside it."""

    client: LLMClient
    panel: MultiAgentSystem


@asynccontextmanager
async def parts(
    server: WireServer | str, *, dialect: Dialect = "native", members: PanelSettings | None = None
) -> AsyncGenerator[Parts]:
    url = server if isinstance(server, str) else server.url
    llm = LLMSettings(provider="openai", openai=OpenAISettings(base_url=url), dialect=dialect, max_retries=0, model="m")
    settings = Settings(llm=llm, agents=AgentsSettings(panel=members or PanelSettings()))
    environ = {"LOCALLLM_STATE_DIR": "/nonexistent"}
    client = make_client(llm, Path(), environ)
    panel = MultiAgentSystem(client, settings, Path(), environ)
    try:
        yield Parts(client, panel)
    finally:
        await panel.aclose()
        await client.aclose()


def prompt(request: bytes) -> bytes:
    """What of a request becomes its prompt: the tools, where some are sent, and the messages."""
    start = request.find(b'"tools":[')
    return request[start if start >= 0 else request.index(b'"messages":[') :]


def continues(request: bytes, earlier: bytes) -> bool:
    """Whether `request` begins with the bytes of all that was `earlier` read."""
    return prompt(request).startswith(prompt(earlier).removesuffix(b"]}"))


def last_text(request: bytes) -> str:
    return json.loads(request)["messages"][-1]["content"]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "prices.py").write_text("x = 1\n")
    return folder


def an_agent(made: Parts, project: Path) -> ReActAgent:
    return ReActAgent(made.client, make_tools(project), advisers=made.panel)


class TestAtTheTail:
    async def test_a_stuck_run_is_read_once(self, project: Path) -> None:
        """Each request of a run with a panel in it begins with all of the agent's own one before."""
        asked = [says(CAREFUL), says(BOLD), verdict()]
        with server_with(*MISSES, *asked, MEND, says("x is 3 now.")) as server:
            async with parts(server) as made:
                agent = an_agent(made, project)
                result = await agent.execute_query("set the value to 3")
        assert result.success
        assert len(server.requests) == 10
        *own, careful, bold, judge, after, last = server.requests
        for member in (careful, bold, judge):
            assert continues(member, own[-1])
            assert json.loads(member)["tools"] == json.loads(own[-1])["tools"]
            assert len(json.loads(member)["messages"]) == len(json.loads(own[-1])["messages"]) + 2
        assert continues(after, own[-1])
        assert continues(last, after)
        told = last_text(after).rpartition("[Advice from others")[2]
        assert "read prices.py" in told
        assert estimate_tokens(told) <= PLAN_TOKENS

    async def test_asked_by_hand_between_two_turns(self, project: Path) -> None:
        with server_with(
            says("What is asked for a thing."), says(CAREFUL), says(BOLD), verdict(), verdict(), says("So be it.")
        ) as server:
            async with parts(server) as made:
                agent = an_agent(made, project)
                await agent.execute_query("What is a price?")
                await consult(made.panel, "panel", "And the tax?", agent, Told())
                await consult(made.panel, "boss", "And the tax?", agent, Told())
                await agent.execute_query("And a fee?")
        first, *members, last = server.requests
        assert len(members) == 4
        for member in members:
            assert continues(member, first)
            assert [message["role"] for message in json.loads(member)["messages"]][-2:] == ["assistant", "user"]
            assert "And the tax?" in last_text(member)
            assert "language of the goal" in last_text(member)
        assert continues(last, first)

    async def test_before_the_first_answer_there_is_nothing_to_go_on_from(self, project: Path) -> None:
        with server_with(says(CAREFUL), says(BOLD), verdict()) as server:
            async with parts(server) as made:
                await consult(made.panel, "panel", "What to do?", an_agent(made, project), Told())
        assert all("tools" not in body for body in server.bodies())

    @pytest.mark.parametrize("dialect", ["native", "structured", "text"])
    async def test_whatever_the_dialect_the_prompt_stays_what_it_was(self, dialect: Dialect) -> None:
        with server_with(says("x"), says(CAREFUL), says(BOLD), verdict(), says("x")) as server:
            async with parts(server, dialect=dialect) as made:
                await made.client.complete(SENT, TOOLS)
                given = await made.panel.ask_three(dossier(), Told())
                await made.client.complete(with_remark(NOW, given.plan), TOOLS)
        before, *members, after = server.requests
        assert len(members) == 3
        assert all(continues(request, before) for request in (*members, after))
        assert all(ERROR in last_text(member) for member in members)
        assert given.is_sure

    async def test_the_judge_is_blind_and_held_to_a_schema(self) -> None:
        with server_with(says(CAREFUL), says(BOLD), verdict()) as server:
            async with parts(server) as made:
                await made.panel.ask_three(dossier(), Told())
        careful, bold, judge = server.bodies()
        question = judge["messages"][-1]["content"]
        assert CAREFUL in question
        assert BOLD in question
        assert "conservative" not in question
        assert "progressive" not in question
        assert question.index("## Opinion A") < question.index("## Opinion B") < question.index("You are the judge")
        assert "verdict" in judge["response_format"]["json_schema"]["schema"]["properties"]
        assert "response_format" not in careful
        assert "response_format" not in bold
        for text in (careful["messages"][-1]["content"], bold["messages"][-1]["content"]):
            assert "Opinion" not in text

    async def test_a_server_that_takes_no_schema_beside_tools_is_asked_without_one(self) -> None:
        refusal = fails(400, "Cannot use this with tools.")
        with server_with(says(CAREFUL), says(BOLD), refusal, verdict()) as server:
            async with parts(server) as made:
                given = await made.panel.ask_three(dossier(), Told())
        assert given.is_sure
        assert ["response_format" in body for body in server.bodies()] == [False, False, True, False]
        assert prompt(server.requests[2]) == prompt(server.requests[3])

    async def test_the_same_model_and_server_under_another_name_is_the_main_one(self) -> None:
        with server_with(says("x"), verdict()) as server:
            same = RoleSettings(base_url=server.url.replace("127.0.0.1", "localhost") + "/v1", model="m")
            async with parts(server, members=PanelSettings(boss=same)) as made:
                await made.client.complete(SENT, TOOLS)
                told = Told()
                assert (await made.panel.ask_boss(dossier(), [], told)).is_sure
        assert continues(server.requests[1], server.requests[0])
        assert told.notices == []


class TestCalls:
    async def test_a_call_is_answered_once_with_text_only(self) -> None:
        with server_with(calls(READING, READING), says(CAREFUL), says(BOLD), verdict()) as server:
            async with parts(server) as made:
                told = Told()
                given = await made.panel.ask_three(dossier(), told)
        first, again, *_ = server.requests
        assert continues(again, first)
        answer, *results = json.loads(again)["messages"][-3:]
        assert [call["function"]["name"] for call in answer["tool_calls"]] == ["read_file", "read_file"]
        assert [result["content"] for result in results] == [remark("text_only")] * 2
        assert given.left_out == ()
        assert given.opinions[0].text == CAREFUL
        assert told.consulted.usage.completion_tokens > 3 * 7, "its server has not counted the call"
        assert told.consulted.usage.prompt_tokens > 3 * 100

    async def test_who_calls_again_is_left_out_and_the_others_go_on(self) -> None:
        with server_with(says("x"), calls(READING), calls(READING), says(BOLD), verdict(), says("x")) as server:
            async with parts(server) as made:
                await made.client.complete(SENT, TOOLS)
                given = await made.panel.ask_three(dossier(), Told())
                await made.client.complete(NOW, TOOLS)
        assert given.left_out == ("conservative (openai m): it called a tool again, although only text is accepted",)
        assert given.is_sure
        assert len(server.requests) == 6
        assert all(continues(request, server.requests[0]) for request in server.requests)

    async def test_who_calls_a_tool_where_none_is_offered_said_nothing_and_what_that_took_is_counted(self) -> None:
        with server_with(calls(READING), says(BOLD), verdict()) as server:
            async with parts(server) as made:
                told = Told()
                given = await made.panel.ask_three(msgspec.structs.replace(dossier(), main=None), told)
        assert given.left_out == ("conservative (openai m): it gave no answer",)
        assert len(server.requests) == 3
        assert told.consulted.usage.estimated, "its server did not say"
        assert told.consulted.usage.prompt_tokens > 200 + 100
        assert told.consulted.usage.completion_tokens > 14

    async def test_in_a_plain_text_dialect_as_well(self) -> None:
        step = says('Thought: I look.\nAction: read_file\nAction Input: {"file_path": "prices.py"}')
        with server_with(step, says(f"Final Answer: {CAREFUL}"), says(BOLD), verdict()) as server:
            async with parts(server, dialect="text") as made:
                given = await made.panel.ask_three(dossier(), Told())
        assert given.opinions[0].text == CAREFUL
        assert continues(server.requests[1], server.requests[0])
        assert last_text(server.requests[1]) == f"Observation: {remark('text_only')}"


class TestByDossier:
    @pytest.mark.parametrize(("free", "at_tail"), [(2_990, False), (3_010, True)])
    async def test_where_little_is_free(self, free: int, *, at_tail: bool) -> None:
        with server_with(says(CAREFUL), says(BOLD), verdict()) as server:
            async with parts(server) as made:
                window = made.client.expect_prompt(NOW, TOOLS) + free
                server.routes["/v1/models"] = listing(window=window)
                await made.panel.ask_three(dossier(), Told())
        assert ["tools" in body for body in server.bodies()] == [at_tail] * 3

    async def test_what_one_member_is_asked_does_not_move_the_next_one(self) -> None:
        """The server has counted more than is estimated, which is forgotten with the first request of another kind."""
        system = SystemMessage("You are a coding agent. " * 300)
        counted = int(1.8 * LLMClient(scripted("x"), model="m").estimate_prompt((system, *SENT[1:]), TOOLS))
        first = sse(delta(content="x"), delta("stop"), {"choices": [], "usage": {"prompt_tokens": counted}}, "[DONE]")
        models = listing(window=counted + 2_900)
        with server_with(Reply(first), says(CAREFUL), says(BOLD), verdict(), models=models) as server:
            async with parts(server) as made:
                await made.client.complete((system, *SENT[1:]), TOOLS)
                given = await made.panel.ask_three(dossier((system, *NOW[1:])), Told())
                await made.panel.ask_boss(dossier((system, *NOW[1:])), [given], Told())
        assert ["tools" in body for body in server.bodies()] == [True] + [False] * 4

    async def test_a_long_answer_leaves_room_for_the_question(self) -> None:
        with server_with(says(CAREFUL), says(BOLD), verdict()) as server:
            async with parts(server, members=PanelSettings(max_tokens=20_000)) as made:
                window = made.client.expect_prompt(NOW, TOOLS) + 3_010
                server.routes["/v1/models"] = listing(window=window)
                await made.panel.ask_three(dossier(), Told())
        for body in server.bodies():
            assert "tools" in body
            assert "## Goal\nFix the prices.\n\n## Problem\nThe same edit fails." in body["messages"][-1]["content"]

    async def test_where_the_server_says_that_the_window_is_full(self) -> None:
        overflow = cassette("llamacpp/err_ctx_overflow")
        with server_with(overflow, says(CAREFUL), says(BOLD), verdict()) as server:
            async with parts(server) as made:
                given = await made.panel.ask_three(dossier(), Told())
        assert given.left_out == ()
        refused, careful, *_ = server.bodies()
        assert "tools" in refused
        assert "tools" not in careful
        assert ERROR in careful["messages"][-1]["content"]

    async def test_a_server_with_a_slot_to_spare_reads_dossiers_there(self) -> None:
        slots = {"props": cassette("llamacpp/get_props"), "slots": cassette("llamacpp/get_slots")}
        models = cassette("llamacpp/get_models")
        with server_with(says("x"), says(CAREFUL), says(BOLD), verdict(), models=models, **slots) as server:
            async with parts(server) as made:
                await made.client.complete(SENT, TOOLS)
                given = await made.panel.ask_three(dossier(), Told())
                await made.panel.ask_boss(dossier(), [given], Told())
                await made.client.complete(NOW, TOOLS)
        main, *members, after = server.bodies()
        assert len(members) == 4
        assert [body.get("id_slot") for body in (main, *members, after)] == [None, 0, 0, 0, 0, None]
        assert all("tools" not in body for body in members)
        assert server.asked.count("GET /slots") == 1

    async def test_without_a_free_slot_it_is_as_with_one(self) -> None:
        busy = Reply((b'[{"id": 0, "id_task": 1, "is_processing": true}, {"id": 1, "id_task": 2}]',))
        slots = {"props": cassette("llamacpp/get_props"), "slots": busy}
        with server_with(says("x"), verdict(), models=cassette("llamacpp/get_models"), **slots) as server:
            async with parts(server) as made:
                await made.client.complete(SENT, TOOLS)
                await made.panel.ask_boss(dossier(), [], Told())
        assert continues(server.requests[1], server.requests[0])
        assert "id_slot" not in server.bodies()[1]

    async def test_another_model_of_the_server_comes_last_and_it_is_said(self) -> None:
        """Then the main model reads its conversation anew once, whoever has the other one."""
        models = listing("m", "wise")
        with server_with(says(BOLD), says(CAREFUL), verdict(), models=models) as server:
            async with parts(server, members=PanelSettings(conservative=RoleSettings(model="wise"))) as made:
                told = Told()
                given = await made.panel.ask_three(dossier(), told)
        assert [(body["model"], "tools" in body) for body in server.bodies()] == [
            ("m", True),
            ("wise", False),
            ("m", True),
        ]
        assert [one.text for one in given.opinions[:2]] == [CAREFUL, BOLD]
        assert [event.text for event in told.notices] == [
            "conservative: another model on the same server; the server may have to reread the conversation once."
        ]

    @pytest.mark.parametrize(("address", "notes"), [("http://127.0.0.1:9", 1), ("https://127.0.0.1:9", 0)])
    async def test_of_another_model_of_a_service_on_the_internet_nothing_is_said(
        self, address: str, notes: int
    ) -> None:
        async with parts(address, members=PanelSettings(boss=RoleSettings(model="wise"))) as made:
            told = Told()
            await made.panel.ask_boss(dossier(), [], told)
        assert len(told.notices) == notes

    async def test_another_server_is_sent_no_conversation_and_nothing_is_said_of_it(self) -> None:
        secret = (*NOW[:-1], ToolMessage("c1", "edit_file", f"{ERROR}, token=hunter2"))
        with server_with(says(BOLD), verdict()) as server, server_with(says(CAREFUL)) as other:
            role = RoleSettings(provider="openai", base_url=other.url, model="m")
            async with parts(server, members=PanelSettings(conservative=role)) as made:
                told = Told()
                await made.panel.ask_three(dossier(secret), told)
        (body,) = other.bodies()
        assert "tools" not in body
        assert [message["role"] for message in body["messages"]] == ["system", "user"]
        assert "hunter2" not in other.requests[0].decode()
        assert told.notices == []


class TestWhatGoesWrong:
    async def test_a_member_that_fails_leaves_the_others_their_places(self) -> None:
        with server_with(says("x"), fails(500, "boom"), says(BOLD), verdict(), says("x")) as server:
            async with parts(server) as made:
                await made.client.complete(SENT, TOOLS)
                given = await made.panel.ask_three(dossier(), Told())
                await made.client.complete(NOW, TOOLS)
        assert [name.split(" ")[0] for name in given.left_out] == ["conservative"]
        assert given.is_sure
        assert all(continues(request, server.requests[0]) for request in server.requests)

    async def test_broken_off_in_the_middle_the_conversation_goes_on_as_if_nobody_had_been_asked(
        self, project: Path
    ) -> None:
        with server_with(says("What is asked for a thing."), held(CAREFUL), says("On.")) as server:
            async with parts(server) as made:
                agent, told = an_agent(made, project), Told()
                await agent.execute_query("What is a price?")
                before = agent.history.messages
                asking = asyncio.create_task(consult(made.panel, "panel", "And now?", agent, told))
                await until(lambda: len(server.requests) == 2)
                asking.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await asking
                assert agent.history.messages == before
                server.released.set()
                assert (await agent.execute_query("And a fee?")).success
        assert not any(isinstance(event, Consulted) for event in told.events)
        first, member, last = server.requests
        assert continues(member, first)
        assert continues(last, first)
        assert "And now?" not in last.decode()

    async def test_a_run_interrupted_while_they_are_asked_is_gone_on_with_as_it_was(self, project: Path) -> None:
        with server_with(*MISSES, held(CAREFUL), says("It is 1.")) as server:
            async with parts(server) as made:
                agent = an_agent(made, project)
                run = asyncio.create_task(agent.execute_query("set the value to 3"))
                await until(lambda: len(server.requests) == len(MISSES) + 1)
                agent.interrupt()
                assert (await run).status == "interrupted"
                server.released.set()
                assert (await agent.execute_query("What is the value?")).success
        *own, member, last = server.requests
        assert continues(member, own[-1])
        assert continues(last, own[-1])
        assert "You are its conservative adviser" not in last.decode()

    @pytest.mark.parametrize(("status", "again"), [(400, True), (500, False), (401, False)])
    async def test_only_what_a_schema_may_have_done_is_tried_without_one(self, status: int, again: bool) -> None:
        with server_with(says(CAREFUL), says(BOLD), fails(status, "Cannot do that."), verdict()) as server:
            async with parts(server) as made:
                given = await made.panel.ask_three(dossier(), Told())
        assert len(server.requests) == 3 + again
        assert [name.split(" ")[0] for name in given.left_out] == ([] if again else ["judge"])

    async def test_an_adviser_is_asked_once_whatever_it_refuses(self) -> None:
        with server_with(fails(400, "Cannot do that."), says(BOLD), verdict()) as server:
            async with parts(server) as made:
                given = await made.panel.ask_three(dossier(), Told())
        assert len(server.requests) == 3
        assert given.left_out[0].startswith("conservative (openai m): ")
        assert not given.left_out[0].endswith(".")


class TestHowMuch:
    @pytest.mark.parametrize("max_tokens", [300, 800])
    async def test_an_answer_may_be_as_long_as_is_set_and_a_thought_before_it(self, max_tokens: int) -> None:
        with server_with(says(CAREFUL), says(BOLD), verdict()) as server:
            async with parts(server, members=PanelSettings(max_tokens=max_tokens)) as made:
                await made.panel.ask_three(dossier(), Told())
        assert [body["max_tokens"] for body in server.bodies()] == [max_tokens + 2_000] * 3

    async def test_an_opinion_is_cut_to_what_is_set(self) -> None:
        with server_with(says(f"{CAREFUL} " * 100), says(BOLD), verdict()) as server:
            async with parts(server, members=PanelSettings(max_tokens=100)) as made:
                given = await made.panel.ask_three(dossier(), Told())
        assert 80 < estimate_tokens(given.opinions[0].text) <= 101
        assert given.opinions[1].text == BOLD

    @pytest.mark.parametrize("by_hand", [True, False])
    async def test_a_goal_the_conversation_has_already_is_told_in_short(self, by_hand: bool) -> None:
        """Asked by hand, the goal is the question, which the conversation has not."""
        goal = "First of all. " + "and this too, " * 100 + "at last."
        asked = make_dossier(goal, "The same edit fails.", [Attempt(CALL, ERROR, failed=True)], NOW, tools=TOOLS)
        with server_with(says(CAREFUL), says(BOLD), verdict()) as server:
            async with parts(server) as made:
                await made.panel.ask_three(asked, Told(), by_hand=by_hand)
        for request in server.requests:
            assert (goal in last_text(request)) == by_hand
            assert "First of all." in last_text(request)
            assert "at last." in last_text(request)

    async def test_a_slot_is_the_main_servers_own(self) -> None:
        slots = {"props": cassette("llamacpp/get_props"), "slots": cassette("llamacpp/get_slots")}
        models = cassette("llamacpp/get_models")
        with server_with(says(BOLD), verdict(), models=models, **slots) as server, server_with(says(CAREFUL)) as other:
            role = RoleSettings(provider="openai", base_url=other.url, model="m")
            async with parts(server, members=PanelSettings(conservative=role)) as made:
                await made.panel.ask_three(dossier(), Told())
        assert [body.get("id_slot") for body in server.bodies()] == [0, 0]
        assert "id_slot" not in other.bodies()[0]

    async def test_where_the_conversation_has_gone_on_the_place_is_chosen_anew(self) -> None:
        longer = (*NOW, AssistantMessage("So."), UserMessage("word " * 2_000))
        with server_with(says(CAREFUL), says(BOLD), verdict(), verdict()) as server:
            async with parts(server) as made:
                server.routes["/v1/models"] = listing(window=made.client.expect_prompt(NOW, TOOLS) + 3_500)
                given = await made.panel.ask_three(dossier(), Told())
                await made.panel.ask_boss(dossier(longer), [given], Told())
        assert ["tools" in body for body in server.bodies()] == [True, True, True, False]

    async def test_a_note_names_only_those_who_are_asked(self) -> None:
        wise = RoleSettings(model="wise")
        replies = (says(BOLD), says(CAREFUL), verdict(), verdict())
        with server_with(*replies, models=listing("m", "wise")) as server:
            async with parts(server, members=PanelSettings(conservative=wise, judge=wise)) as made:
                three, boss = Told(), Told()
                given = await made.panel.ask_three(dossier(), three)
                await made.panel.ask_boss(dossier(), [given], boss)
        assert [note.text.split(":")[0] for note in three.notices] == ["conservative, judge"]
        assert boss.notices == []


class TestWhoIsLeftOut:
    async def test_what_is_wrong_with_its_settings_is_told_with_the_fix(self) -> None:
        gone = RoleSettings(provider="gguf", model="/nowhere/big.gguf")
        with server_with(says(BOLD), verdict()) as server:
            async with parts(server, members=PanelSettings(conservative=gone)) as made:
                given = await made.panel.ask_three(dossier(), Told())
        (told,) = given.left_out
        assert told.startswith("conservative")
        assert "big.gguf" in told
        assert given.is_sure

    async def test_of_one_whose_model_is_not_known_the_address_is_told(self) -> None:
        nowhere = RoleSettings(provider="openai", base_url="http://127.0.0.1:9")
        with server_with(says(BOLD), verdict()) as server:
            async with parts(server, members=PanelSettings(conservative=nowhere)) as made:
                given = await made.panel.ask_three(dossier(), Told())
        assert given.left_out[0].startswith("conservative (openai http://127.0.0.1:9/v1): ")
