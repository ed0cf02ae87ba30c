"""The fault matrix: everything that may go wrong with a server, for every kind of server."""

import asyncio
import logging
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from localllm.agent.react_agent import ReActAgent
from localllm.base.error_texts import ERRORS
from localllm.base.events import AgentEvent, MessageCompleted, Notice, RunFinished
from localllm.base.rate_limit import RateLimiter
from localllm.llm.client import LLMClient
from localllm.llm.messages import AssistantMessage, Message, SystemMessage, ToolMessage, UserMessage
from localllm.llm.providers.base import Provider
from localllm.llm.providers.lmstudio import LMStudio
from localllm.llm.providers.ollama import Ollama
from localllm.llm.providers.openai_compatible import OpenAICompatible
from tests.support.agents import make_agent, make_tools
from tests.support.each import await_all
from tests.support.fault_wires import Events, Lines, Wire
from tests.support.faults import FAULTS, HALF, WHOLE, Fault, answers, document, end, half, overflows, refuses, rest
from tests.support.ollama_wire import TOLD
from tests.support.peers import closed_ports
from tests.support.wire_server import Reply, WireServer, cassette

pytestmark = pytest.mark.anyio

RETRIES = 2
ASKED = {
    "no": 1,
    "once": 2,
    "often": 1 + RETRIES,
    "loading": 61,
    "reworded": 3,
    "continued": 1 + RETRIES,
    "continued once": 2,
    "asked": 3,
}
WAITED = {
    "no": 0,
    "once": 1,
    "often": RETRIES,
    "loading": 60,
    "reworded": 1,
    "continued": RETRIES,
    "continued once": 1,
    "asked": 0,
}
LIMITS = {"llm_context_overflow", "llm_empty", "llm_only_thought", "llm_thinking_cut"}
"""What the model or its window is to blame for, not the server."""
IDLE = 0.2
"""Seconds of silence that are allowed where it is silence that is tested; elsewhere a slow machine may take longer."""
KINDS = ("openai", "lmstudio", "ollama")
HEALTHY = answers(half, rest, end)


def wire_of(kind: str) -> Wire:
    return Lines() if kind == "ollama" else Events()


def provider(kind: str, url: str, idle_timeout: float) -> Provider:
    match kind:
        case "ollama":
            return Ollama(url, timeout=5, idle_timeout=idle_timeout)
        case "lmstudio":
            return LMStudio(url, timeout=5, idle_timeout=idle_timeout)
        case _:
            return OpenAICompatible("openai", url, timeout=5, idle_timeout=idle_timeout)


class Playing:
    """An agent and its runs. `waits` are the seconds it would have waited."""

    def __init__(self, kind: str, url: str, root: Path, idle_timeout: float) -> None:
        self.waits: list[float] = []
        self.events: list[AgentEvent] = []
        asked = provider(kind, url, idle_timeout)
        limiter = RateLimiter(clock=self.clock, pause=self.pause)
        client = LLMClient(asked, model="m", max_retries=RETRIES, limiter=limiter, pause=self.pause)
        self.agent: ReActAgent = make_agent(asked, root, tools=make_tools(root, tools=()), client=client)

    def clock(self) -> float:
        return sum(self.waits)

    async def pause(self, seconds: float) -> None:
        self.waits.append(seconds)

    async def ask(self, query: str) -> RunFinished:
        """How a run ended. Nothing of it may hang."""
        async with asyncio.timeout(20):
            self.events = [event async for event in self.agent.run(query)]
        finished = self.events[-1]
        assert isinstance(finished, RunFinished)
        return finished

    @property
    def newest(self) -> str:
        """The model's last word in the conversation."""
        message = self.agent.history.messages[-1]
        assert isinstance(message, AssistantMessage)
        return message.text


@asynccontextmanager
async def playing(kind: str, url: str, root: Path, *, idle_timeout: float = 5) -> AsyncIterator[Playing]:
    played = Playing(kind, url, root, idle_timeout)
    try:
        yield played
    finally:
        await played.agent.llm_client.aclose()


@contextmanager
def serving(kind: str, *replies: Reply) -> Iterator[WireServer]:
    with WireServer(replies, routes=TOLD if kind == "ollama" else {}) as server:
        yield server


def assert_valid(messages: tuple[Message, ...]) -> None:
    """One system message, first; user and assistant in turn; every call answered."""
    assert isinstance(messages[0], SystemMessage)
    assert isinstance(messages[-1], AssistantMessage)
    for before, message in pairwise(messages):
        is_users_turn = isinstance(before, SystemMessage) or (
            isinstance(before, AssistantMessage) and not before.tool_calls
        )
        assert isinstance(message, UserMessage) == is_users_turn
    called = [call.id for message in messages if isinstance(message, AssistantMessage) for call in message.tool_calls]
    assert called == [message.call_id for message in messages if isinstance(message, ToolMessage)]


def assert_ended_as_it_should(fault: Fault, played: Playing, finished: RunFinished) -> None:
    match fault.ends:
        case "done" | "limit":
            assert finished.status == fault.ends
        case key:
            status = "limit" if key in LIMITS else "error"
            assert (finished.status, finished.error_code) == (status, ERRORS[key].code)
            assert bool(finished.answer) == (key in LIMITS)
            what, _, fix = finished.error.split("\n")
            assert what
            assert fix
            assert not {"{", "Traceback"} & set(finished.error.split())
    match fault.kept:
        case "whole":
            assert played.newest == WHOLE
        case "half":
            assert played.newest.startswith(HALF)
            assert played.newest != HALF
            assert any(isinstance(event, MessageCompleted) for event in played.events)
        case "nothing":
            assert HALF not in played.newest
            assert played.newest.startswith("[")
    assert_valid(played.agent.history.messages)


@pytest.mark.parametrize("fault", [fault for fault in FAULTS if fault.reply and not fault.waits], ids=str)
async def test_a_fault(fault: Fault, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    await await_all(KINDS, lambda kind: comes_to_its_end(fault, kind, tmp_path / kind))
    assert not [record for record in caplog.records if record.levelno >= logging.ERROR]


async def comes_to_its_end(fault: Fault, kind: str, root: Path) -> None:
    root.mkdir()
    assert fault.reply
    wire, asked = wire_of(kind), ASKED[fault.again]
    replies = [fault.reply(wire)] * (asked + fault.unseen) + [HEALTHY(wire)]
    patience = IDLE if fault.ends == "llm_idle" else 5
    with serving(kind, *replies) as server:
        async with playing(kind, server.url, root, idle_timeout=patience) as played:
            assert_ended_as_it_should(fault, played, await played.ask("first"))
            assert len(server.requests) == asked + fault.unseen
            assert len(played.waits) == (WAITED[fault.again] if fault.ends != "limit" else 0)
            assert (await played.ask("second")).status == "done"
            assert played.newest == WHOLE
            assert_valid(played.agent.history.messages)


@pytest.mark.parametrize("fault", [fault for fault in FAULTS if fault.again != "no"], ids=str)
async def test_a_fault_that_passes(fault: Fault, tmp_path: Path) -> None:
    await await_all(KINDS, lambda kind: passes(fault, kind, tmp_path / kind))


async def passes(fault: Fault, kind: str, root: Path) -> None:
    root.mkdir()
    assert fault.reply
    wire = wire_of(kind)
    with serving(kind, fault.reply(wire), HEALTHY(wire)) as server:
        async with playing(kind, server.url, root) as played:
            finished = await played.ask("first")
            assert (finished.status, finished.answer, len(server.requests)) == ("done", WHOLE, 2)
            assert any(isinstance(event, Notice) for event in played.events) != bool(fault.unseen)
            is_same = fault.again not in ("continued", "continued once", "asked")
            assert (server.requests[0] == server.requests[1]) == is_same


@pytest.mark.parametrize("fault", [fault for fault in FAULTS if fault.waits], ids=str)
async def test_a_server_may_take_its_time_before_the_first_word(fault: Fault, tmp_path: Path) -> None:
    await await_all(KINDS, lambda kind: takes_its_time(fault, kind, tmp_path / kind))


async def takes_its_time(fault: Fault, kind: str, root: Path) -> None:
    assert fault.reply
    root.mkdir()
    with serving(kind, fault.reply(wire_of(kind))) as server:
        async with playing(kind, server.url, root, idle_timeout=IDLE) as played:
            run = asyncio.create_task(played.ask("first"))
            while not server.requests:
                await asyncio.sleep(0.01)
            await asyncio.sleep(1.5 * IDLE)
            assert not run.done()
            server.released.set()
            assert_ended_as_it_should(fault, played, await run)
            assert len(server.requests) == 1


@pytest.mark.parametrize("kind", KINDS)
async def test_nobody_takes_the_connection(kind: str, tmp_path: Path) -> None:
    fault = next(fault for fault in FAULTS if fault.reply is None)
    with closed_ports(1) as [url]:
        async with playing(kind, url, tmp_path) as played:
            assert_ended_as_it_should(fault, played, await played.ask("first"))
            assert_ended_as_it_should(fault, played, await played.ask("second"))
            assert played.waits == []


def events_of(reply: Reply) -> list[bytes]:
    """The pieces of a whole stream, one event or line each."""
    body = b"".join(reply.pieces).replace(b"\r\n", b"\n")
    border = b"\n\n" if b"data: " in body else b"\n"
    return [piece + border for piece in body.split(border) if piece.strip()]


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("openai", "llamacpp/chat_stream_usage"),
        ("openai", "llamacpp/tools_required_stream"),
        ("lmstudio", "lmstudio/chat_stream_reasoning"),
        ("lmstudio", "lmstudio/chat_stream_tools"),
        ("ollama", "ollama/chat_stream"),
        ("ollama", "ollama/chat_stream_thinking"),
        ("ollama", "ollama/chat_stream_tools"),
    ],
)
async def test_a_stream_that_breaks_off_at_any_point(kind: str, name: str, tmp_path: Path) -> None:
    """It was asked again; or gone on with what had come; or the answer was whole already."""
    pieces, wire = events_of(cassette(name)), wire_of(kind)
    came_of_it: list[str] = []
    for count in range(len(pieces) + 1):
        cut = Reply(tuple(pieces[:count]), headers={"content-type": wire.content_type}, unfinished=True)
        with serving(kind, cut, HEALTHY(wire)) as server:
            async with playing(kind, server.url, tmp_path) as played:
                finished = await played.ask("first")
                assert finished.error_code in ("", ERRORS["llm_cut"].code)
                has_called = any(isinstance(message, ToolMessage) for message in played.agent.history.messages)
                match finished.status, len(server.requests):
                    case "done", count if count == 1 + has_called:
                        came_of_it.append("whole")
                    case "done", 2 if played.newest == WHOLE:
                        came_of_it.append("again")
                    case "done", 2 if played.newest.endswith(WHOLE):
                        came_of_it.append("continued")
                    case other:
                        raise AssertionError(other)
                assert_valid(played.agent.history.messages)
    assert came_of_it == sorted(came_of_it, key=["again", "continued", "whole"].index)
    assert came_of_it[0] == "again"
    assert came_of_it[-1] == "whole"


@pytest.mark.parametrize("known", overflows(), ids=lambda known: known["server"])
async def test_an_overflow_teaches_the_window(known: dict[str, Any], tmp_path: Path) -> None:
    await await_all(KINDS, lambda kind: teaches(known, kind, tmp_path / kind))


async def teaches(known: dict[str, Any], kind: str, root: Path) -> None:
    root.mkdir()
    reply = answers(lambda wire: wire.error_in_stream(known["error"])) if known["in_stream"] else None
    reply = reply or refuses(known["status"], known["error"])
    with serving(kind, reply(wire_of(kind))) as server:
        async with playing(kind, server.url, root) as played:
            finished = await played.ask("first")
            client = played.agent.llm_client
    assert (finished.status, finished.error_code) == ("limit", ERRORS["llm_context_overflow"].code)
    if known["n_ctx"]:
        assert not client.assumes_window
        assert client.context_window <= known["n_ctx"]


def test_the_document_says_what_is_tested() -> None:
    written = (Path(__file__).parents[3] / "docs" / "faults.md").read_text("utf-8")
    assert written == document(), "write it anew: .venv/bin/python scripts/faults_doc.py > docs/faults.md"
