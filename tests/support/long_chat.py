"""A long chat in a small window, over a server that counts for itself: what of it reaches the model."""

import asyncio
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from localllm.agent.compaction import Surroundings
from localllm.agent.react_agent import ReActAgent
from localllm.agent.system_prompt import system_prompt
from localllm.base.events import RunFinished
from localllm.config.schema import AgentSettings
from localllm.context.budget import output_limit
from localllm.llm.client import LLMClient
from localllm.llm.model_profiles import COMPACT
from localllm.llm.providers.openai_compatible import OpenAICompatible
from tests.support.agents import make_tools
from tests.support.window_server import Call, WindowServer

GOAL = "Audit the project: note what each module does wrong, and never touch anything under vendor/ at all."

_WORDS = ("parser", "cache", "socket", "ledger", "invoice", "router", "schema", "planner", "cursor", "widget", "bundle")

_BYTES_PER_TOKEN = 3.7
"""As tokenizers of today count code and English."""


def plain_count(text: str) -> int:
    """The tokens of a text."""
    return math.ceil(len(text.encode()) / _BYTES_PER_TOKEN)


class Figures(msgspec.Struct):
    """What a chat came to. `made_at`: the steps before which a summary was written."""

    steps: int = 0
    refused: int = 0
    results_cut: int = 0
    goal_missing: int = 0
    states_cut: int = 0
    largest: int = 0
    unfinished: int = 0
    made_at: list[int] = []

    @property
    def summaries(self) -> int:
        return len(self.made_at)

    def densest(self, span: int) -> int:
        """Summaries in the `span` steps that had most of them."""
        return max((sum(at <= other < at + span for other in self.made_at) for at in self.made_at), default=0)


class _ChatServer(WindowServer):
    """Answers every third or fourth request of a turn with words, the others with calls, and looks at what it gets."""

    def __init__(self, window: int, count: Callable[[str], int]) -> None:
        super().__init__(window, self._next, summary=self._hand_over, count=count)
        self.figures = Figures()
        self._left = 0

    def begin_turn(self, number: int) -> None:
        self._left = 2 + number % 2

    def answer(self, body: dict[str, Any]) -> tuple[int, dict[str, Any] | list[dict[str, Any]]]:
        if not body.get("tools"):
            self.figures.made_at.append(self.figures.steps)
            return super().answer(body)
        texts = [str(message["content"]) for message in body["messages"]]
        told = self.figures
        told.goal_missing += not any(GOAL in text for text in texts)
        told.results_cut += body["messages"][-1]["role"] == "tool" and "left out to make room" in texts[-1]
        told.states_cut += any("left out to make room" in text.partition("<state>")[2] for text in texts[1:2])
        told.steps += 1
        answered = super().answer(body)
        told.refused, told.largest = len(self.refused), max(self.counts, default=0)
        return answered

    def _next(self, step: int) -> Call | None:
        self._left -= 1
        if self._left < 0:
            return None
        module = f"module_{step % 24}.py"
        match step % 5:
            case 0:
                return "run_command", {"command": f"seq 1 {200 + step % 50}"}
            case 1:
                edit = {"old_string": "total = 0", "new_string": f"total = {step}"}
                return "edit_file", {"file_path": module, **edit}
            case _:
                return "read_file", {"file_path": module, "max_lines": 32}

    def _hand_over(self, _text: str) -> str:
        number = self.figures.summaries
        goal = GOAL if number % 3 == 0 else "Go on with what was asked for."
        done = "\n".join(f"- module_{n}.py: its total begins with the wrong number, see line {n}" for n in range(9))
        facts = "\n".join(f"- {word}_{number} is called from module_{number % 24}.py" for word in _WORDS[:6])
        rest = "## Files\nmodule_3.py: lines 1-9\n## Next\nread on"
        return f"## Goal\n{goal}\n## Done\n{done}\n## Facts\n{facts}\n{rest}"


def request(number: int, pasted: int) -> str:
    """What the user asks for in the turn of this number: some 90 characters, and what is pasted with it."""
    if number == 0:
        return GOAL
    word, other = _WORDS[number % 11], _WORDS[(number * 5 + 1) % 11]
    asked = f"Request {number}: see whether the {word} of module_{number % 24}.py agrees with its {other}, please."
    return asked + "".join(f" {word}{n}={n * number}" for n in range(pasted // 10))


async def long_chat(
    folder: Path, window: int, turns: int, *, pasted: int = 0, count: Callable[[str], int] = plain_count
) -> Figures:
    """Have the chat; each request has `pasted` characters or so besides its own words. `count`: see WindowServer."""
    root = folder / "project"
    root.mkdir()
    for number in range(24):
        lines = "\n".join(f"    total += rate_{n} * {n}  # {_WORDS[n % 11]}" for n in range(60))
        (root / f"module_{number}.py").write_text(f"def run_{number}():\n    total = 0\n{lines}\n", "utf-8")
    server = _ChatServer(window, count)
    with server:
        provider = OpenAICompatible("openai", server.url, timeout=30, idle_timeout=30)
        client = LLMClient(provider, max_tokens=8_192, max_retries=0)
        await client.get_ready()
        tools = make_tools(root, output_limit=output_limit(client))
        agent = ReActAgent(
            client,
            tools,
            settings=AgentSettings(),
            session_id="long",
            surroundings=Surroundings(keep=tools.keep_words),
        )
        agent.history.begin_with(system_prompt(COMPACT.prompt))
        tools.offer_only(COMPACT.tools, brief=COMPACT.brief)
        try:
            for number in range(turns):
                server.begin_turn(number)
                async with asyncio.timeout(120):
                    events = [event async for event in agent.run(request(number, pasted))]
                finished = events[-1]
                assert isinstance(finished, RunFinished)
                server.figures.unfinished += finished.status not in ("done", "incomplete")
        finally:
            await client.aclose()
    return server.figures
