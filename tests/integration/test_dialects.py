"""One task, one agent, three dialects: the same is done, the same is shown, whatever the server speaks."""

import json
import sys
from collections.abc import Sequence
from contextlib import aclosing
from itertools import pairwise
from pathlib import Path
from shlex import quote
from typing import Any

import pytest

from localllm.base.events import MessageCompleted, Notice, RunFinished, TextDelta, ThinkingDelta, ToolFinished
from localllm.llm.providers.base import Provider
from localllm.llm.providers.lmstudio import LMStudio
from localllm.llm.providers.openai_compatible import OpenAICompatible
from localllm.llm.tool_calling.dialect import DialectName
from tests.support.agents import make_agent, play
from tests.support.wire_server import Reply, WireServer, delta, fails, sse

pytestmark = pytest.mark.anyio

BUG = "def total(prices, discount=0.0):\n    return sum(prices) * discount\n"
FIXED = "def total(prices, discount=0.0):\n    return sum(prices) * (1 - discount)\n"
TEST = (
    "import unittest\nfrom prices import total\n\n\nclass T(unittest.TestCase):\n"
    "    def test_total(self):\n        self.assertEqual(total([1, 2]), 3)\n"
)
STEPS: Sequence[tuple[str, str, dict[str, Any]]] = (
    ("I read it. 読む", "read_file", {"file_path": "prices.py"}),
    (
        "The discount is wrong.",
        "edit_file",
        {"file_path": "prices.py", "old_string": "* discount", "new_string": "* (1 - discount)"},
    ),
    ("I run the tests.", "run_command", {"command": f"{quote(sys.executable)} -m unittest -q"}),
)
ANSWER = "Fixed **prices.py**:\n\n```py\nx = 1\n```\n割引の計算を直しました。"


def streamed(size: int, finish: str, *deltas: dict[str, Any]) -> Reply:
    """An answer whose bytes come in pieces of `size`, cut anywhere."""
    body = b"".join(sse(*(delta(**each) for each in deltas), delta(finish), "[DONE]"))
    return Reply(tuple(body[start : start + size] for start in range(0, len(body), size)))


def texts(text: str, size: int) -> list[dict[str, Any]]:
    return [{"content": text[start : start + size]} for start in range(0, len(text), size)]


def written(arguments: dict[str, Any]) -> str:
    return json.dumps(arguments, ensure_ascii=False)


class Speaker:
    """A model server. `lists` is what LM Studio's own list of models says."""

    name: DialectName
    lists: dict[str, Any] | None = None

    @property
    def routes(self) -> dict[str, Reply]:
        if self.lists is None:
            return {}
        body = json.dumps(self.lists).encode()
        return {"/api/v0/models": Reply((body,), headers={"content-type": "application/json"})}

    def script(self, size: int) -> list[Reply]:
        """Its answers, in pieces of `size` characters."""
        raise NotImplementedError

    def provider(self, url: str) -> Provider:
        return OpenAICompatible("openai", url, timeout=5, idle_timeout=5)


class Native(Speaker):
    """A server with tool calls of its own."""

    name = "native"

    def script(self, size: int) -> list[Reply]:
        return [
            *(self._step(size, *step) for step in STEPS),
            streamed(4 * size, "stop", {"reasoning_content": "Done."}, *texts(ANSWER, size)),
        ]

    def _step(self, size: int, thought: str, name: str, arguments: dict[str, Any]) -> Reply:
        text = written(arguments)
        pieces = [text[start : start + size] for start in range(0, len(text), size)]
        first = {"index": 0, "id": f"call_{name}", "function": {"name": name, "arguments": ""}}
        calls = [first, *({"index": 0, "function": {"arguments": piece}} for piece in pieces)]
        return streamed(
            4 * size, "tool_calls", {"reasoning_content": thought}, *({"tool_calls": [call]} for call in calls)
        )


class Structured(Speaker):
    """LM Studio with a model that it says is no good at tools."""

    name = "structured"

    def __init__(self) -> None:
        self.lists = {"data": [{"id": "m", "type": "llm", "state": "loaded", "capabilities": []}]}

    def script(self, size: int) -> list[Reply]:
        steps = [*STEPS, ("Done.", "final_answer", {"answer": ANSWER})]
        return [
            streamed(
                4 * size,
                "stop",
                *texts(written({"thought": thought, "action": {"name": name, "arguments": arguments}}), size),
            )
            for thought, name, arguments in steps
        ]

    def provider(self, url: str) -> Provider:
        return LMStudio(url, timeout=5, idle_timeout=5)


class Text(Speaker):
    """A gateway whose model, it turns out, does not support tools."""

    name = "text"

    def script(self, size: int) -> list[Reply]:
        steps = [
            f"Thought: {thought}\n**Action:** {name}\nAction Input: {written(arguments)}\nObservation: I made this up"
            for thought, name, arguments in STEPS
        ]
        said = [*steps, f"Thought: Done.\nFinal Answer: {ANSWER}"]
        return [fails(400, "m does not support tools"), *(streamed(4 * size, "stop", *texts(s, size)) for s in said)]


def spoken_in(body: dict[str, Any]) -> DialectName:
    if "tools" in body:
        return "native"
    return "structured" if "response_format" in body else "text"


@pytest.mark.parametrize("size", [1, 2, 5, 10_000])
@pytest.mark.parametrize("speaker", [Native(), Structured(), Text()], ids=lambda speaker: speaker.name)
async def test_the_same_task(speaker: Speaker, size: int, tmp_path: Path) -> None:
    root = tmp_path / "shop"
    root.mkdir()
    (root / "prices.py").write_text(BUG)
    (root / "test_prices.py").write_text(TEST)
    with WireServer(speaker.script(size), routes=speaker.routes) as server:
        async with aclosing(speaker.provider(server.url)) as provider:
            events = await play(make_agent(provider, root), "Fix the failing test")
    assert (root / "prices.py").read_text() == FIXED
    assert [event.name for event in events if isinstance(event, ToolFinished)] == [name for _, name, _ in STEPS]
    assert all(event.success for event in events if isinstance(event, ToolFinished))
    assert "".join(event.text for event in events if isinstance(event, TextDelta)) == ANSWER
    thoughts = "".join(event.text for event in events if isinstance(event, ThinkingDelta))
    assert thoughts == "".join(thought for thought, _, _ in STEPS) + "Done."
    finished = events[-1]
    assert isinstance(finished, RunFinished)
    assert (finished.status, finished.answer, finished.steps) == ("done", ANSWER, 4)
    made = [event.tool_calls for event in events if isinstance(event, MessageCompleted)]
    assert [json.loads(call.arguments) for calls in made for call in calls] == [arguments for _, _, arguments in STEPS]
    assert sum(isinstance(event, Notice) for event in events) == (speaker.name == "text")
    assert [spoken_in(body) for body in server.bodies()][-4:] == [speaker.name] * 4
    for before, after in pairwise(server.requests[-4:]):
        assert after.startswith(before.removesuffix(b"]}")), "every request begins with the bytes of the one before"


async def test_what_is_told_of_the_tools_in_words_is_short(tmp_path: Path) -> None:
    """System prompt and tools in 6,000 bytes."""
    for speaker in (Structured(), Text()):
        with WireServer(speaker.script(100)[-1:], routes=speaker.routes) as server:
            async with aclosing(speaker.provider(server.url)) as provider:
                agent = make_agent(provider, tmp_path)
                await play(agent, "Hello")
        system = server.bodies()[0]["messages"][0]["content"]
        assert len(system.encode()) < 6_000
