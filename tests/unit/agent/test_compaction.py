"""The conversation is kept within the window, whatever the server does with one that is too long."""

import asyncio
import json
import threading
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec
import pytest

from localllm.agent.compaction import Compaction, Surroundings
from localllm.agent.history import History
from localllm.agent.middleware import RunState
from localllm.agent.react_agent import ReActAgent
from localllm.agent.replay import _Player
from localllm.agent.run_stats import Tally
from localllm.agent.subagents import Explorer
from localllm.agent.system_prompt import system_prompt
from localllm.base.errors import LLMConnectionError
from localllm.base.events import (
    AgentEvent,
    Compacted,
    Delegated,
    MessageCompleted,
    Notice,
    RunFinished,
    ToolCall,
    Usage,
    decode,
    encode,
)
from localllm.config.schema import AgentSettings
from localllm.context.budget import output_limit
from localllm.llm.client import LLMClient
from localllm.llm.messages import AssistantMessage, Completion, Message
from localllm.llm.model_profiles import COMPACT, SMALL_WINDOW
from localllm.llm.providers.openai_compatible import OpenAICompatible
from localllm.tools import file_search
from localllm.tools.context import ToolContext
from tests.support.agents import call, make_agent, make_tools, play, scripted
from tests.support.long_chat import long_chat
from tests.support.window_server import Behaviour, Call, WindowServer
from tests.support.wire_server import Reply, WireServer, calls, delta, says, sse

pytestmark = pytest.mark.anyio

GOAL = "Find out what every module does.\nKeep the spelling »naïve-Größe 日本語«, and do not touch tests/."


@pytest.fixture(scope="module")
def searched_once() -> Iterator[None]:
    """Search for each pattern once: the project is the same for every test, and they would start ripgrep 333 times."""
    find, found = file_search.find, dict[file_search.Request, file_search.Outcome]()

    async def remembered(context: ToolContext, request: file_search.Request) -> file_search.Outcome:
        if request not in found:
            found[request] = await find(context, request)
        return found[request]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(file_search, "find", remembered)
        yield


@pytest.fixture
def project(tmp_path: Path, searched_once: None) -> Path:
    """Files with as much in them as their numbers tell."""
    root = tmp_path / "project"
    root.mkdir()
    for number in range(20):
        lines = [
            f"def function_{number}_{n}(argument, other={n}):  # line {n}\n    return argument + {n}"
            for n in range(400)
        ]
        (root / f"module_{number}.py").write_text("\n".join(lines) + "\n")
    return root


def reading(number: int) -> Call | None:
    """Sixty steps: files are read, from different lines on or whole, and searched now and then."""
    if number >= 60:
        return None
    match number % 6:
        case 0 | 3:
            return "read_file", {"file_path": f"module_{number % 20}.py", "start_line": 1 + number}
        case 1:
            return "search_files", {"pattern": f"line {number}"}
        case _:
            return "read_file", {"file_path": f"module_{(number * 7) % 20}.py"}


@asynccontextmanager
async def agent_for(
    server: WindowServer, root: Path, **options: Any
) -> AsyncGenerator[tuple[ReActAgent, list[AgentEvent], WindowServer]]:
    """An agent whose tools give as much as the program lets them."""
    heard: list[AgentEvent] = []
    client = LLMClient(
        OpenAICompatible("openai", server.url, timeout=5, idle_timeout=5), max_tokens=8_192, max_retries=0, **options
    )
    tools = make_tools(root, output_limit=output_limit(client))

    def hear(event: AgentEvent) -> None:
        heard.append(event)
        if isinstance(event, MessageCompleted):
            tools.limit_output(output_limit(client))

    settings = AgentSettings(max_iterations=100)
    agent = make_agent(client.provider, root, client=client, tools=tools, settings=settings, listener=hear)
    if server.window <= SMALL_WINDOW:
        agent.history.begin_with(system_prompt(COMPACT.prompt))
        tools.offer_only(COMPACT.tools, brief=COMPACT.brief)
    with server:
        try:
            yield agent, heard, server
        finally:
            await client.aclose()


def finished(events: list[AgentEvent]) -> RunFinished:
    last = events[-1]
    assert isinstance(last, RunFinished)
    return last


def compactions(heard: list[AgentEvent]) -> int:
    return sum(isinstance(event, Compacted) for event in heard)


def text_of(body: dict[str, Any]) -> str:
    return "\n".join(str(message["content"]) for message in body["messages"])


def grows(requests: list[dict[str, Any]]) -> Iterator[bool]:
    """For each request but the first, whether it begins with the bytes of the one before it."""
    for before, after in pairwise(requests):
        said = [json.dumps(message) for message in before["messages"]]
        same_tools = json.dumps(before["tools"]) == json.dumps(after["tools"])
        yield same_tools and [json.dumps(message) for message in after["messages"]][: len(said)] == said


@pytest.mark.parametrize(
    ("window", "behaviour"),
    [
        (4_096, "refuses"),
        (32_768, "refuses"),
        (16_384, "vllm"),
        *(pytest.param(window, "refuses", marks=pytest.mark.long) for window in (8_192, 16_384)),
        pytest.param(4_096, "vllm", marks=pytest.mark.long),
    ],
)
async def test_sixty_steps_with_large_outputs_in_any_window(project: Path, window: int, behaviour: Behaviour) -> None:
    async with agent_for(WindowServer(window, reading, behaviour=behaviour), project) as (agent, heard, server):
        await agent.llm_client.get_ready()
        events = await play(agent, GOAL)
    assert (finished(events).status, finished(events).steps) == ("done", 61)
    assert max(server.counts) < window
    assert len(server.refused) <= (1 if behaviour == "vllm" else 0)
    assert [same for same in grows(server.requests) if not same] == [False] * compactions(heard)
    assert all(GOAL in text_of(body) for body in server.requests)
    assert all(body["max_tokens"] < window for body in server.summaries)


@pytest.mark.parametrize(("window", "least"), [(8_192, 1_600), (16_384, 1_800)])
async def test_every_answer_has_room(project: Path, window: int, least: int) -> None:
    async with agent_for(WindowServer(window, reading), project) as (agent, _, server):
        await agent.llm_client.get_ready()
        await play(agent, GOAL)
    assert min(body["max_tokens"] for body in server.requests) >= least


@pytest.mark.parametrize(("window", "pasted", "most"), [(4_096, 0, 10), (4_096, 300, 11), (8_192, 300, 5)])
async def test_a_long_chat_stays_sighted(tmp_path: Path, window: int, pasted: int, most: int) -> None:
    told = await long_chat(tmp_path, window, 40, pasted=pasted)
    assert (told.refused, told.unfinished) == (0, 0)
    assert (told.goal_missing, told.results_cut, told.states_cut) == (0, 0, 0)
    assert 0 < told.densest(70) <= most


@pytest.mark.parametrize("window", [1_024, 1_536, 2_048])
async def test_making_room_that_makes_none_is_not_told(project: Path, window: int) -> None:
    async with agent_for(WindowServer(window, reading), project) as (agent, heard, _):
        await agent.llm_client.get_ready()
        await play(agent, GOAL)
    made = [event for event in heard if isinstance(event, Compacted)]
    assert all(event.after < event.before for event in made)
    said = [event.text for event in heard if isinstance(event, Notice) and " → " in event.text]
    assert len(said) == len(made)


async def test_before_a_model_sums_up_the_person_is_told_once(project: Path) -> None:
    async with agent_for(WindowServer(8_192, reading), project) as (agent, _, server):
        await agent.llm_client.get_ready()
        events = await play(agent, GOAL)
    begun = [n for n, event in enumerate(events) if isinstance(event, Notice) and "is summarising" in event.text]
    ended = [n for n, event in enumerate(events) if isinstance(event, Compacted) and event.how == "summarised"]
    assert len(begun) == len(ended) == len(server.summaries) > 0
    assert all(before < after for before, after in zip(begun, ended, strict=True))


async def test_what_summing_up_costs_a_sub_agent_is_used_by_the_one_it_works_for(project: Path) -> None:
    told: list[AgentEvent] = []
    tally = Tally()
    async with agent_for(WindowServer(4_096, reading), project) as (agent, _, server):
        await agent.llm_client.get_ready()
        await Explorer(agent.llm_client, lambda: make_tools(project)).explore(GOAL, tally.counting(told.append))
    inner = [event.event for event in told if isinstance(event, Delegated)]
    summed_up = [event for event in inner if isinstance(event, Compacted)]
    assert len(summed_up) == len(server.summaries) > 0
    assert not any(event.messages for event in summed_up)
    used = [event.usage.prompt_tokens for event in inner if isinstance(event, MessageCompleted | Compacted)]
    assert tally.usage.prompt_tokens == sum(used)


async def test_a_window_nobody_tells_is_learned_from_the_first_refusal(project: Path) -> None:
    async with agent_for(WindowServer(4_096, reading, tells=False), project) as (agent, heard, server):
        events = await play(agent, GOAL)
    assert finished(events).status == "done"
    assert len(server.refused) == 1
    assert agent.llm_client.context_window == 4_096
    assert compactions(heard) > 5


async def test_a_server_that_truncates_silently_is_noticed_and_then_kept_below(project: Path) -> None:
    server = WindowServer(8_192, reading, behaviour="truncates", tells=False)
    async with agent_for(server, project, context_window=32_768) as (agent, heard, server):
        events = await play(agent, GOAL)
    assert finished(events).status == "done"
    assert agent.llm_client.context_window == 8_192
    assert any("dropped" in event.text for event in heard if isinstance(event, Notice))
    noticed = server.counts.index(8_191) + 12
    assert max(server.counts[noticed:]) < 8_191


async def test_what_the_person_says_in_the_middle_survives_every_compaction(project: Path) -> None:
    said = "Also note: »spaces   and\n\ttabs« stay."

    def steering(number: int) -> Call | None:
        if number == 3:
            assert agent.steer(said)
        return reading(number) if number < 30 else None

    async with agent_for(WindowServer(4_096, steering), project) as (agent, heard, server):
        await agent.llm_client.get_ready()
        await play(agent, GOAL)
        assert compactions(heard) > 3
        assert agent.history.words == (GOAL, said)
        assert all(said in text_of(body) for body in server.requests[5:])
        await play(agent, "And now the rest.")
        assert agent.history.words == (GOAL, said, "And now the rest.")
        assert text_of(server.requests[-1]).count("And now the rest.") == 1


@pytest.mark.parametrize(
    ("summary", "why"),
    [
        ("", ""),
        ("again and again. " * 200, "repeats"),
        ("hm…", "it is too short"),
        (" ".join(map(str, range(4_000))), "too long"),
    ],
)
async def test_a_summary_of_no_use_is_replaced_by_what_the_messages_tell(project: Path, summary: str, why: str) -> None:
    server = WindowServer(4_096, lambda number: reading(number) if number < 24 else None, summary=summary)
    async with agent_for(server, project) as (agent, heard, server):
        await agent.llm_client.get_ready()
        events = await play(agent, GOAL)
    assert finished(events).status == "done"
    assert any(why in event.text and "plain list" in event.text for event in heard if isinstance(event, Notice))
    assert "read_file(file_path=module_" in text_of(server.requests[20])
    if summary:
        assert summary not in text_of(server.requests[20])


@pytest.mark.parametrize(("said", "makes_room"), [("", True), ("It begins with", False)])
async def test_room_is_made_after_thinking_that_was_cut_and_not_after_a_text(said: str, makes_room: bool) -> None:
    history = History("system")
    history.add_user(GOAL, words=GOAL)
    for number in range(8):
        read = ToolCall(f"c{number}", "read_file", f'{{"file_path": "module_{number}.py"}}')
        history.add_assistant(AssistantMessage("", (read,)))
        history.add_result(read.id, "x = 1\n" * 400)
    client = LLMClient(scripted("hello"), model="m", context_window=8_192)
    compaction = Compaction(client, history, tuple, compact_at=0.85, surroundings=Surroundings(), note=lambda _: None)
    state = RunState(GOAL, history, lambda _: None)
    used = client.expect_prompt(history.messages, ())
    assert 8_192 // 2 < used < 0.8 * 8_192
    await compaction.after_answer(state, Completion(AssistantMessage(said), "length", Usage()))
    await compaction.before_step(state)
    assert (history.generation > 0) == makes_room


async def test_words_that_do_not_fit_are_an_error_and_in_nobodys_way(project: Path) -> None:
    async with agent_for(WindowServer(4_096, lambda _: None), project) as (agent, _, server):
        await agent.llm_client.get_ready()
        events = await play(agent, "paste " * 5_000)
        assert (finished(events).status, finished(events).error_code) == ("error", "E2038")
        assert not server.requests
        assert finished(await play(agent, "short")).status == "done"


async def test_what_was_offered_with_a_request_that_had_no_room_comes_with_the_next_one(project: Path) -> None:
    async with agent_for(WindowServer(4_096, lambda _: None), project) as (agent, _, server):
        await agent.llm_client.get_ready()
        agent.offer("[The user ran this: make]")
        assert finished(await play(agent, "paste " * 5_000)).status == "error"
        assert finished(await play(agent, "short")).status == "done"
        assert finished(await play(agent, "And now?")).status == "done"
    first, second = [body["messages"][-1]["content"] for body in server.requests]
    assert first.startswith("[The user ran this: make]\n\nshort")
    assert second == "And now?"


async def test_files_that_are_named_are_cut_with_a_word(project: Path) -> None:
    async with agent_for(WindowServer(4_096, lambda _: None), project) as (agent, heard, server):
        await agent.llm_client.get_ready()
        names = " ".join(f"@module_{number}.py" for number in range(12))
        assert finished(await play(agent, f"Compare {names}")).status == "done"
    assert names in text_of(server.requests[0])
    assert "no room" in text_of(server.requests[0])
    assert sum("does not fit" in event.text for event in heard if isinstance(event, Notice)) >= 6


async def test_what_a_command_of_the_persons_own_printed_is_cut_where_it_does_not_fit(project: Path) -> None:
    async with agent_for(WindowServer(4_096, lambda _: None), project) as (agent, _, server):
        await agent.llm_client.get_ready()
        agent.offer("\n".join(f"line {number} of much output" for number in range(5_000)))
        assert finished(await play(agent, "What went wrong?")).status == "done"
    text = text_of(server.requests[0])
    assert "What went wrong?" in text
    assert "characters left out to make room" in text
    assert "line 4999" in text


async def test_three_compactions_that_do_not_help_end_the_run(project: Path) -> None:
    """The model's own words are not cut: a model that talks too much fills any window."""

    def talking(number: int) -> Call:
        return "read_file", {"file_path": f"module_{number}.py", "note": "word " * 2_600}

    async with agent_for(WindowServer(4_096, talking, behaviour="truncates"), project) as (agent, heard, _):
        await agent.llm_client.get_ready()
        events = await play(agent, GOAL)
    assert (finished(events).status, finished(events).error_code) == ("limit", "E2039")
    assert compactions(heard) >= 3


def talk(agent: ReActAgent) -> None:
    """A step that nothing can be left out of while it is the newest one."""
    note = ToolCall("c", "read_file", json.dumps({"file_path": "a.py", "note": "word " * 4_000}))
    agent.history.add_assistant(AssistantMessage("", (note,)))
    agent.history.add_result("c", "nothing there", ())


@pytest.mark.parametrize("between", ["a compaction that helps", "a rewind"])
async def test_only_three_in_a_row_end_the_run(project: Path, between: str) -> None:
    model = scripted(*["summary"] * 20)
    agent = make_agent(model, project, client=LLMClient(model, model="m", context_window=4_096))
    start = agent.history.mark()
    agent.history.add_user("go", words="go")
    state = RunState("go", agent.history, lambda _: None, ())
    for _ in range(2):
        for _ in range(2):
            talk(agent)
            await agent.compaction.before_step(state)
        if between == "a rewind":
            agent.history.rewind(start)
            agent.history.add_user("again", words="again")
        else:
            agent.history.add_assistant(AssistantMessage("", (ToolCall("d", "list_files", "{}"),)))
            agent.history.add_result("d", "a.py", ())
        await agent.compaction.before_step(state)
    for _ in range(2):
        talk(agent)
        await agent.compaction.before_step(state)
    talk(agent)
    with pytest.raises(LLMConnectionError) as raised:
        await agent.compaction.before_step(state)
    assert raised.value.key == "context_full"


async def test_by_hand_between_two_turns_with_a_wish(project: Path) -> None:
    server = WindowServer(16_384, lambda number: reading(number) if number < 4 else None)
    async with agent_for(server, project) as (agent, heard, server):
        await play(agent, GOAL)
        made = await agent.compaction.by_hand(heard.append, "the numbers of the lines")
        assert "the numbers of the lines" in text_of(server.summaries[0])
        assert made.after < made.before
        assert [type(message).__name__ for message in agent.history.messages] == [
            *("SystemMessage", "UserMessage", "AssistantMessage")
        ]
        assert isinstance(heard[-2], Compacted)
        assert finished(await play(agent, "Go on")).status == "done"
        again = await agent.compaction.by_hand(heard.append)
        assert agent.history.words == (GOAL, "Go on")
        assert again.conversation.messages == agent.history.messages


async def test_there_is_nothing_to_sum_up_at_the_beginning(project: Path) -> None:
    async with agent_for(WindowServer(8_192, lambda _: None), project) as (agent, heard, server):
        await agent.compaction.by_hand(heard.append)
        assert [type(event).__name__ for event in heard] == ["Notice"]
        assert not server.summaries


async def test_the_event_has_all_that_is_needed_to_go_on(project: Path) -> None:
    server = WindowServer(8_192, lambda number: reading(number) if number < 12 else None)
    async with agent_for(server, project) as (agent, heard, _):
        await agent.llm_client.get_ready()
        await play(agent, GOAL)
        last = max(number for number, event in enumerate(heard) if isinstance(event, Compacted))
        event = decode(encode(heard[last]))
    assert isinstance(event, Compacted)
    messages = msgspec.convert(event.messages, tuple[Message, ...])
    assert agent.history.messages[: len(messages)] == messages


async def test_without_a_model_what_was_done_is_listed(project: Path) -> None:
    turns = [call("read_file", file_path=f"module_{number}.py") for number in range(8)]
    agent = make_agent(provider := scripted(*turns, "done"), project, tools=make_tools(project, output_limit=4_000))
    heard = await play(agent, GOAL)
    assert finished(heard).status == "done"
    assert compactions(heard) >= 1
    assert provider.name == "scripted"


async def test_breaking_off_changes_nothing(project: Path) -> None:
    asked, released = threading.Event(), threading.Event()

    def slowly(_: str) -> str:
        asked.set()
        released.wait(10)
        return ""

    server = WindowServer(16_384, lambda number: reading(number) if number < 4 else None, summary=slowly)
    async with agent_for(server, project) as (agent, heard, _):
        await play(agent, GOAL)
        before, events = agent.history.conversation, len(heard)
        work = asyncio.create_task(agent.compaction.by_hand(heard.append))
        await asyncio.to_thread(asked.wait, 10)
        work.cancel()
        with pytest.raises(asyncio.CancelledError):
            await work
        released.set()
        assert (agent.history.conversation, len(heard)) == (before, events)


@pytest.mark.parametrize(("window", "status"), [(8_192, "done"), (131_072, "limit")])
async def test_a_model_that_has_no_room_to_think_gets_some(project: Path, window: int, status: str) -> None:
    cut = Reply(sse(delta(reasoning_content="hm " * 90), delta("length"), "[DONE]"))
    read = [calls(("read_file", {"file_path": f"module_{number}.py"})) for number in range(4)]
    replies = [*read, cut, says("## Done\nread three modules, all of which define functions"), says("Ready.")]
    with WireServer(replies if window < 10_000 else [*read, cut]) as server:
        provider = OpenAICompatible("openai", server.url, timeout=5, idle_timeout=5)
        client = LLMClient(provider, model="m", max_retries=0, context_window=window)
        tools = make_tools(project, output_limit=4_000)
        heard: list[AgentEvent] = []
        agent = make_agent(provider, project, client=client, tools=tools, listener=heard.append)
        events = await play(agent, GOAL)
        await client.aclose()
    assert finished(events).status == status
    assert (compactions(heard) > 0) == (status == "done")


def sayings(count: int) -> list[str]:
    """What somebody says in a very long talk: short and long, in both scripts, each with a name of its own."""
    forms = (
        "In turn {n}, call the variable name_{n}_x.",
        "ターン{n}では「変数_{n}」と呼んでください。\nそれから  次へ。",
        "Turn {n}: " + "the pool must not grow beyond its limit, " * 8 + "which is limit_{n}.",
        "Paste of turn {n}: " + "x=1;" * 250 + " end_{n}",
    )
    return [forms[n % len(forms)].format(n=n) for n in range(count)]


async def test_two_hundred_turns_in_a_small_window_and_every_word_can_be_read_again(project: Path) -> None:
    said = sayings(200)
    async with agent_for(WindowServer(4_096, lambda _: None), project) as (agent, _, server):
        await agent.llm_client.get_ready()
        ended = [finished(await play(agent, words)) for words in said]
        assert {(one.status, one.error_code) for one in ended} == {("done", "")}
        assert not server.refused
        assert agent.history.words == tuple(said)
        aside = agent.history.conversation.aside
        assert len(aside) > 100
        assert all(words in text_of(server.requests[-1]) for words in said if words not in aside)
        assert said[0] not in aside
        line = next(line for line in text_of(server.requests[-1]).splitlines() if " older messages of the user" in line)
        name = line.split("verbatim: ")[1].split(" ")[0]
        assert f"{len(aside):,} older" in line
        read = await read_through(agent, name)
    assert all(words in read.replace("\n…", "") for words in aside)


async def read_through(agent: ReActAgent, name: str) -> str:
    """All of a file, as the model would read it: from line to line, in results as long as its window allows."""
    parts, start = list[str](), 1
    while start:
        result = await agent.tool_system.execute(
            ToolCall("c", "read_file", json.dumps({"file_path": name, "start_line": start})), lambda _: None
        )
        assert result.success, result.for_model
        metadata = result.payload["metadata"]
        assert isinstance(metadata, dict)
        parts.append(str(result.payload["content"]))
        end, total = int(str(metadata["end_line"])), int(str(metadata["total_lines"]))
        start = end + 1 if end < total else 0
    return "".join(parts)


async def test_words_that_cannot_be_kept_in_a_file_stay_in_the_window(project: Path) -> None:
    (project / ".localllm").write_text("in the way of the folder")
    async with agent_for(WindowServer(4_096, lambda _: None), project) as (agent, _, server):
        await agent.llm_client.get_ready()
        ended = [finished(await play(agent, words)).error_code for words in sayings(40)]
    assert "E2038" in ended
    assert not server.refused


async def test_the_words_that_were_put_aside_are_in_the_session_still(project: Path) -> None:
    async with agent_for(WindowServer(4_096, lambda _: None), project) as (agent, _, _):
        entries: list[Any] = []
        agent.history.listen(entries.append)
        await agent.llm_client.get_ready()
        for words in sayings(40):
            await play(agent, words)
        assert agent.history.conversation.aside
    again = _Player(agent.history.messages[0].text, keeps_system=True)
    for entry in entries:
        again.play(entry)
    assert again.misfits == 0
    assert again.history.conversation == agent.history.conversation
