"""What becomes of answers that are none, break off, or are cut off."""

import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from localllm.agent.continuation import Seam, joined
from localllm.agent.react_agent import ReActAgent
from localllm.agent.system_prompt import remark
from localllm.base.events import AgentEvent, Notice, RunFinished, TextDelta, ThinkingDelta, ToolFinished
from localllm.llm.client import LLMClient
from localllm.llm.fallback import FallbackClient, Standby
from localllm.llm.messages import AssistantMessage
from localllm.llm.providers.ollama import Ollama
from localllm.llm.providers.openai_compatible import OpenAICompatible
from localllm.tui.headless import exit_code
from tests.support.agents import make_agent, make_tools, play
from tests.support.fault_wires import Lines
from tests.support.faults import answers
from tests.support.ollama_wire import TOLD
from tests.support.wire_server import Reply, WireServer, calls, delta, fails, says, sse

pytestmark = pytest.mark.anyio

FIRST, SECOND = "The cache is read before it is written, ", "so that the second reader sees the old value."
WHOLE = FIRST + SECOND

THOUGHT = Reply(sse(delta(reasoning_content="I know it now. I'll answer."), delta("stop"), "[DONE]"))
EMPTY = Reply(sse(delta("stop"), "[DONE]"))
THOUGHT_TOO_LONG = Reply(sse(delta(reasoning_content="Hm. "), delta("length"), "[DONE]"))
BROKEN = Reply(sse(delta(content=FIRST)), cut=True)
BROKEN_THOUGHT = Reply(sse(delta(reasoning_content="Let me see.")), cut=True)
HALF_EVENT = Reply((*sse(delta(content=FIRST)), sse(delta(content=SECOND))[0][:-20]))
CALL = calls(("read_file", {"file_path": "a.py"}))
OVERFLOW = fails(400, "the request exceeds the available context size")


async def no_time(_seconds: float) -> None:
    """Nobody waits."""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    root = tmp_path / "project"
    root.mkdir()
    (root / "a.py").write_text("x = 1\n", "utf-8")
    return root


@asynccontextmanager
async def talking(
    root: Path, *replies: Reply, is_shown: bool = True, **options: Any
) -> AsyncIterator[tuple[ReActAgent, WireServer]]:
    """An agent over a server with these answers."""
    with WireServer(replies) as server:
        provider = OpenAICompatible("openai", server.url, timeout=5, idle_timeout=5)
        client = LLMClient(provider, model="m", pause=no_time, max_retries=2, **options)
        agent = ReActAgent(client, make_tools(root), shows_pieces=is_shown)
        try:
            yield agent, server
        finally:
            await client.aclose()


def ended(events: Sequence[AgentEvent]) -> RunFinished:
    assert isinstance(events[-1], RunFinished)
    return events[-1]


def shown(events: Sequence[AgentEvent]) -> str:
    return "".join(event.text for event in events if isinstance(event, TextDelta))


def last(server: WireServer) -> str:
    """The last message of the newest request."""
    return str(server.bodies()[-1]["messages"][-1]["content"])


@pytest.mark.parametrize(
    ("silent", "asked"),
    [(THOUGHT, "only_thought"), (EMPTY, "said_nothing"), (THOUGHT_TOO_LONG, "thought_too_long")],
)
@pytest.mark.parametrize("count", [1, 2])
async def test_a_model_that_gives_no_answer_is_asked_for_one(
    project: Path, silent: Reply, asked: str, count: int
) -> None:
    async with talking(project, CALL, *[silent] * count, says("It is one.")) as (agent, server):
        events = await play(agent, "What is x?")
    assert (ended(events).status, ended(events).answer) == ("done", "It is one.")
    assert len(server.requests) == 2 + count
    assert last(server) == remark(asked)
    assert any("x = 1" in str(message["content"]) for message in server.bodies()[-1]["messages"])


@pytest.mark.parametrize(
    ("silent", "code"), [(THOUGHT, "E2040"), (EMPTY, "E2012"), (THOUGHT_TOO_LONG, "E2015")], ids=str
)
async def test_a_model_that_never_answers_ends_the_run_with_a_report(project: Path, silent: Reply, code: str) -> None:
    async with talking(project, CALL, *[silent] * 3, says("Well.")) as (agent, server):
        first = ended(await play(agent, "What is x?"))
        assert len(server.requests) == 4
        second = ended(await play(agent, "Go on."))
        said = json.dumps(server.bodies()[-1]["messages"])
    assert (first.status, first.error_code, exit_code(first)) == ("limit", code, 3)
    assert "Goal: What is x?" in first.answer
    assert "read_file a.py" in first.answer
    assert ("returned an empty answer" in first.answer) == (silent is EMPTY)
    assert (second.status, second.answer) == ("done", "Well.")
    assert "What is x?" in said
    assert "x = 1" in said


async def test_a_call_between_begins_the_count_anew(project: Path) -> None:
    async with talking(project, THOUGHT, THOUGHT, CALL, THOUGHT, THOUGHT, says("One.")) as (agent, _):
        assert ended(await play(agent, "What is x?")).answer == "One."


@pytest.mark.parametrize("owner", ["llamacpp", "vllm", "someone"])
async def test_it_is_asked_without_thinking_where_the_server_can(project: Path, owner: str) -> None:
    listed = Reply((json.dumps({"data": [{"id": "m", "owned_by": owner}]}).encode(),))
    with WireServer([THOUGHT, CALL, says("One.")], list_replies=[listed] * 9) as server:
        provider = OpenAICompatible("openai", server.url, timeout=5, idle_timeout=5)
        agent = make_agent(provider, project, client=LLMClient(provider, model="m"))
        assert ended(await play(agent, "What is x?")).answer == "One."
        await provider.aclose()
    off = {"enable_thinking": False} if owner != "someone" else None
    assert [body.get("chat_template_kwargs") for body in server.bodies()] == [None, off, None]


async def test_ollama_is_asked_without_thinking(project: Path) -> None:
    wire = Lines()
    thought = answers(lambda wire: wire.thinking("Hm."), lambda wire: wire.end())(wire)
    said = answers(lambda wire: wire.text("One."), lambda wire: wire.end())(wire)
    with WireServer([thought, said], routes=TOLD) as server:
        provider = Ollama(server.url, timeout=5, idle_timeout=5)
        agent = make_agent(provider, project, client=LLMClient(provider, model="m"))
        assert ended(await play(agent, "What is x?")).answer == "One."
        await provider.aclose()
    assert [body.get("think") for body in server.bodies()] == [None, False]


@pytest.mark.parametrize("rest", [SECOND, "it is written, " + SECOND, WHOLE], ids=["exactly", "repeats", "anew"])
@pytest.mark.parametrize("first", [says(FIRST, finish="length"), BROKEN, HALF_EVENT], ids=["limit", "reset", "half"])
async def test_an_answer_that_ends_too_early_is_gone_on_with_and_nothing_is_doubled(
    project: Path, first: Reply, rest: str
) -> None:
    async with talking(project, first, says(rest)) as (agent, server):
        events = await play(agent, "How does it go wrong?")
        messages = agent.history.messages
    assert (ended(events).status, ended(events).answer) == ("done", WHOLE)
    assert shown(events) == WHOLE
    assert [message.text for message in messages if isinstance(message, AssistantMessage)] == [WHOLE]
    said = [message["content"] for message in server.bodies()[1]["messages"][-2:]]
    assert said[0].strip() == FIRST.strip()
    assert said[1] == remark("go_on")


@pytest.mark.parametrize("first", [BROKEN, HALF_EVENT, BROKEN_THOUGHT], ids=["reset", "half", "thought"])
async def test_where_nothing_was_shown_the_same_is_asked_again(project: Path, first: Reply) -> None:
    async with talking(project, first, says(WHOLE), is_shown=False) as (agent, server):
        events = await play(agent, "How does it go wrong?")
    assert (ended(events).status, ended(events).answer) == ("done", WHOLE)
    assert server.requests[0] == server.requests[1]


async def test_a_text_is_gone_on_with_once(project: Path) -> None:
    parts = [says(text, finish="length") for text in (FIRST, SECOND, "And more.")]
    async with talking(project, *parts) as (agent, server):
        events = await play(agent, "How does it go wrong?")
    assert (ended(events).status, ended(events).answer, len(server.requests)) == ("limit", WHOLE, 2)


async def test_what_cannot_be_gone_on_with_is_kept(project: Path) -> None:
    async with talking(project, says(FIRST, finish="length"), fails(401)) as (agent, _):
        events = await play(agent, "How does it go wrong?")
    assert (ended(events).status, ended(events).answer) == ("limit", FIRST)


@pytest.mark.parametrize("is_shown", [True, False])
async def test_a_server_that_keeps_breaking_off_is_replaced(project: Path, *, is_shown: bool) -> None:
    with WireServer([BROKEN]) as broken, WireServer([says(WHOLE)]) as whole:
        own, other = (OpenAICompatible("openai", server.url, timeout=5, idle_timeout=5) for server in (broken, whole))
        standby = Standby("other", lambda: LLMClient(other, model="m"))
        client = FallbackClient(own, standbys=[standby], model="m", max_retries=1, pause=no_time)
        agent = ReActAgent(client, make_tools(project), shows_pieces=is_shown)
        events = await play(agent, "How does it go wrong?")
        await client.aclose()
    assert (ended(events).status, ended(events).answer) == ("done", WHOLE)
    assert (len(broken.requests), len(whole.requests)) == (2, 1)
    assert not is_shown or shown(events) == WHOLE
    assert any("answers instead" in event.text for event in events if isinstance(event, Notice))


@pytest.mark.parametrize(
    ("before", "after", "whole"),
    [
        ("one two three", " four", "one two three four"),
        ("one two three four", "two three four five", "one two three four five"),
        ("one two three", "\n\none two three four", "one two three four"),
        ("so it is the", "the end", "so it is thethe end"),
        ("so: abcdefgh", "abcdefgh!", "so: abcdefgh!"),
        ("so: abcdefg", "abcdefg!", "so: abcdefgabcdefg!"),
        ("the answer is ", " 42", "the answer is 42"),
        ("aaaaaaaaaaaa", "aaaaaaaaaaaab", "aaaaaaaaaaaab"),
        ("", "one", "one"),
        ("one two three", "one two three", "one two three"),
    ],
)
@pytest.mark.parametrize("size", [1, 3, 100])
def test_what_repeats_the_end_is_left_out(before: str, after: str, whole: str, size: int) -> None:
    seam = Seam(before)
    pieces = [seam.feed(after[start : start + size]) for start in range(0, len(after), size)]
    assert before + "".join(pieces) + seam.close() == joined(before, after) == whole


def cut_call(text: str) -> Reply:
    """A call of write_file that ends at the token limit."""
    function = {"name": "write_file", "arguments": f'{{"file_path": "b.py", "content": "{text}'}
    return Reply(sse(delta(tool_calls=[{"index": 0, "id": "c", "function": function}]), delta("length"), "[DONE]"))


def reading(count: int) -> list[Reply]:
    return [calls(("read_file", {"file_path": "long.py", "start_line": 1 + 30 * n})) for n in range(count)]


@pytest.mark.parametrize(("reads", "said"), [(0, "smaller_call"), (2, "smaller_call"), (6, "room_made")])
async def test_after_a_call_that_was_cut_off_the_model_is_told_what_is_true(
    project: Path, reads: int, said: str
) -> None:
    (project / "long.py").write_text("value = 1 + 2 + 3 + 4 + 5 + 6 + 7 + 8\n" * 600, "utf-8")
    summary = says("## Goal\nwrite b.py\n## Done\nlong.py was read, and every line of it is the same\n## Next\nwrite")
    replies = [*reading(reads), cut_call("x = 1"), *([summary] if said == "room_made" else []), says("Well.")]
    with WireServer(replies) as server:
        provider = OpenAICompatible("openai", server.url, timeout=5, idle_timeout=5)
        client = LLMClient(provider, model="m", max_tokens=8_192, context_window=8_192, max_retries=0)
        agent = make_agent(provider, project, client=client, tools=make_tools(project, output_limit=2_400))
        events = await play(agent, "Write b.py.")
        await client.aclose()
    told = [event for event in events if isinstance(event, ToolFinished) and not event.success]
    assert len(told) == 1
    heard = [body["messages"][-1]["content"] for body in server.bodies()]
    assert [words for words in heard if words.endswith(remark(said))]
    assert said == "smaller_call" or not [words for words in heard if "smaller call" in words]


@pytest.mark.parametrize("reads", [0, 3])
async def test_a_server_that_always_refuses_the_prompt_ends_the_run_as_a_limit(project: Path, reads: int) -> None:
    async with talking(project, *[CALL] * reads, OVERFLOW, context_window=250_000) as (agent, server):
        events = await play(agent, "What is x?")
    assert (ended(events).status, ended(events).error_code, exit_code(ended(events))) == ("limit", "E2011", 3)
    assert "a larger context window" in ended(events).answer
    assert len(server.requests) < 12
    notices = [event.text for event in events if isinstance(event, Notice)]
    assert not [text for text in notices if any(before == after for before, after in counts(text))], notices


def counts(text: str) -> list[tuple[str, str]]:
    """What a notice says of tokens before and after."""
    before, arrow, after = text.partition(" → ")
    return [(before.split()[-1], after.split()[0])] if arrow else []


async def test_each_request_may_be_asked_for_an_answer_as_often(project: Path) -> None:
    async with talking(project, THOUGHT, THOUGHT, says("One."), THOUGHT, THOUGHT, says("Two.")) as (agent, _):
        assert [ended(await play(agent, "What is x?")).answer for _ in range(2)] == ["One.", "Two."]


async def test_that_it_was_asked_to_go_on_is_told(project: Path) -> None:
    async with talking(project, says(FIRST, finish="length"), says(SECOND)) as (agent, _):
        events = await play(agent, "How does it go wrong?")
    told = [event.text for event in events if isinstance(event, Notice)]
    assert len(told) == 1
    assert "llm.max_tokens" in told[0]


async def test_after_one_refusal_room_is_made_once_in_an_answer(project: Path) -> None:
    reads = [calls(("read_file", {"file_path": "long.py", "start_line": 1 + 30 * n})) for n in range(5)]
    (project / "long.py").write_text("value = 1 + 2 + 3 + 4 + 5 + 6 + 7 + 8\n" * 600)
    replies = [*reads, OVERFLOW, OVERFLOW, says("x")]
    async with talking(project, *replies, context_window=65_536) as (agent, server):
        result = ended(await play(agent, "Read it."))
    assert (result.status, result.error_code) == ("limit", "E2011")
    assert len(server.requests) == 7


async def test_of_an_answer_that_was_broken_off_thinking_alone_is_not_kept(project: Path) -> None:
    broken = Reply(sse(delta(reasoning_content="Let me see."), delta(content=FIRST)), hold_before=1)
    async with talking(project, broken) as (agent, _):
        async for event in agent.run("How does it go wrong?"):
            if isinstance(event, TextDelta | ThinkingDelta):
                agent.interrupt()
        said = [message for message in agent.history.messages if isinstance(message, AssistantMessage)]
    assert said[-1].text == "[interrupted by the user]"


NOT_FOUND = fails(404, "model 'm' not found")


@pytest.mark.parametrize(
    ("offered", "chosen", "answers"),
    [(("n",), False, True), (("n",), True, False), (("n", "o"), False, False), ((), False, False)],
)
async def test_a_server_that_came_back_with_one_other_model_answers_with_that(
    project: Path, offered: tuple[str, ...], chosen: bool, answers: bool
) -> None:
    with WireServer([says("One."), NOT_FOUND, says("Two.")]) as server:
        provider = OpenAICompatible("openai", server.url, timeout=5, idle_timeout=5)
        client = LLMClient(provider, model="m" if chosen else "", pause=no_time, max_retries=0)
        agent = ReActAgent(client, make_tools(project))
        assert ended(await play(agent, "What is x?")).status == "done"
        server.models = offered
        events = await play(agent, "And y?")
        await client.aclose()
    models = [body["model"] for body in server.bodies()]
    notices = [event.text for event in events if isinstance(event, Notice)]
    if answers:
        assert (ended(events).answer, client.model, models) == ("Two.", "n", ["m", "m", "n"])
        assert ["n answers now" in text for text in notices].count(True) == 1
        assert server.bodies()[-1]["messages"] == server.bodies()[-2]["messages"]
    else:
        assert (ended(events).error_code, client.model, models) == ("E2005", "m", ["m", "m"])
        assert ended(events).steps == 1


async def test_in_a_smaller_window_of_the_new_model_room_is_made_first(project: Path) -> None:
    listed = [{"id": "n", "meta": {"n_ctx": 4096}}]
    smaller = Reply((json.dumps({"data": listed}).encode(),))
    long = [
        says(" ".join(f"Line {at * 7919} holds {at * at}." for at in range(start, start + 200))) for start in (1, 999)
    ]
    with WireServer([*long, NOT_FOUND, says("A summary."), says("Two.")]) as server:
        provider = OpenAICompatible("openai", server.url, timeout=5, idle_timeout=5)
        client = LLMClient(provider, pause=no_time, max_retries=0)
        agent = make_agent(provider, project, client=client)
        for _ in long:
            assert ended(await play(agent, "Tell me more.")).status == "done"
        server.list_replies = [smaller] * 9
        events = await play(agent, "And y?")
        await client.aclose()
    assert (client.model, client.context_window) == ("n", 4096)
    assert ended(events).answer == "Two."
    assert len(server.requests[-1]) < len(server.requests[len(long)])
