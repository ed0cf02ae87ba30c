"""A small model that makes one fault, and its right answer where the fault had no effect; what a run of it comes to."""

import dataclasses
import json
import re
import subprocess
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import msgspec

from localllm.agent.react_agent import ReActAgent
from localllm.base.events import RunFinished
from localllm.llm.client import LLMClient
from localllm.llm.model_profiles import COMPACT
from localllm.llm.providers.openai_compatible import OpenAICompatible
from localllm.llm.providers.scripted import ScriptedCall
from localllm.tui.headless import HeadlessConfirmer
from tests.support.agents import make_tools, play
from tests.support.wire_server import Reply, WireServer, delta, fails, sse

FOLDER = Path(__file__).parent

Verdict = Literal["M", "1", "W", "X"]
"""What a fault costs: M nothing, it is understood; 1 one request; W more than it need; X the run or the project."""


class Answer(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the model sends in answer to one request. `refused`: its own server cannot read it, and says so."""

    text: str = ""
    thinking: str = ""
    calls: tuple[ScriptedCall, ...] = ()
    finish: str = ""
    refused: str = ""

    def reply(self) -> Reply:
        """The answer as an OpenAI-compatible server streams it."""
        if self.refused:
            return fails(500, self.refused)
        events = [delta(role="assistant")]
        events += [delta(reasoning_content=self.thinking)] if self.thinking else []
        events += [delta(content=self.text[at : at + 40]) for at in range(0, len(self.text), 40)]
        for index, call in enumerate(self.calls):
            given = call.arguments
            arguments = given if isinstance(given, str) else json.dumps(given, ensure_ascii=False)
            function = {"name": call.name, "arguments": arguments}
            events.append(
                delta(tool_calls=[{"index": index, "id": f"c{index}", "type": "function", "function": function}])
            )
        return Reply(sse(*events, delta(self.finish or ("tool_calls" if self.calls else "stop")), "[DONE]"))


class Case(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One way to make a row's fault. README.md says what each field is."""

    name: str
    files: dict[str, str]
    query: str
    before: tuple[Answer, ...] = ()
    sends: tuple[Answer, ...]
    right: tuple[Answer, ...] = ()
    after: tuple[Answer, ...]
    becomes: dict[str, str] = {}
    gone: tuple[str, ...] = ()
    reads: str = ""
    told: str = ""
    answers: str = ""
    ends: str = "done"
    yes: bool = True
    repository: bool = False
    writes: bool = False
    corrects: bool = True
    encoding: str = "utf-8"
    cost: int
    left: Literal["", "W", "X"] = ""
    why: str = ""

    @property
    def verdict(self) -> Verdict:
        """What the fault costs."""
        return self.left or ("1" if self.cost else "M")

    @property
    def wanted(self) -> dict[str, str]:
        """The files as they must be in the end."""
        return {path: text for path, text in (self.files | self.becomes).items() if path not in self.gone}


class Row(msgspec.Struct, frozen=True):
    """A line of the table: a fault, and the ways to make it."""

    id: int
    fault: str
    cases: tuple[Case, ...]

    @property
    def verdict(self) -> Verdict:
        """That of the dearest of its cases."""
        return max((case.verdict for case in self.cases), key="M1WX".index)


def rows() -> list[Row]:
    """All rows, in the order of the table."""
    found = [row for file in sorted(FOLDER.glob("*.toml")) for row in _rows_in(tomllib.loads(file.read_text("utf-8")))]
    return sorted(found, key=lambda row: row.id)


def _rows_in(data: dict[str, Any]) -> Iterator[Row]:
    for row in data["row"]:
        given = data["default"] | {key: value for key, value in row.items() if key not in ("id", "fault", "case")}
        cases = tuple(msgspec.convert(given | case, Case) for case in row["case"])
        yield Row(row["id"], row["fault"], cases)


class Played(msgspec.Struct):
    """What a run came to. `told`: what the model was told after its first fault, `heard`: after each of its answers;
    `before_fault` and `at_fault`: the files when it made the fault, and when it was told."""

    requests: int
    ended: RunFinished
    files: dict[str, str]
    heard: list[str]
    told: str
    before_fault: dict[str, str]
    at_fault: dict[str, str]
    asked_on: int


class Player(WireServer):
    """The model's server: sends the answers of a case one after another."""

    def __init__(self, case: Case, root: Path, *, with_fault: bool) -> None:
        super().__init__(())
        self.heard: list[str] = []
        self.told = ""
        self.before_fault: dict[str, str] = {}
        self.at_fault: dict[str, str] = {}
        self.asked_on = 0
        self._case, self._root = case, root
        self._script = self._faulty() if with_fault else self._faultless()

    def next_reply(self, body: bytes) -> Reply:
        self.requests.append(body)
        reply = self._next_answer(body).reply()
        pieces = (piece.replace(b"{project}", str(self._root).encode()) for piece in reply.pieces)
        return dataclasses.replace(reply, pieces=tuple(pieces))

    def _next_answer(self, body: bytes) -> Answer:
        if len(self.requests) > 1:
            self.heard.append(newest_words(json.loads(body)))
        if (answer := next(self._script, None)) is None:
            self.asked_on += 1
        return answer or Answer("That is all; see what I wrote above.")

    def _faultless(self) -> Iterator[Answer]:
        yield from (*self._case.before, *self._case.right, *self._case.after)

    def _faulty(self) -> Iterator[Answer]:
        """The right answers follow where the fault had no effect."""
        case = self._case
        yield from case.before
        self.before_fault = self.at_fault = contents(self._root, case.encoding)
        is_done = False
        for number, answer in enumerate(case.sends):
            yield answer
            if number == 0:
                self.told, self.at_fault = self.heard[-1], contents(self._root, case.encoding)
            if is_done := bool(case.right) and case.corrects and self._is_done(self.heard[-1]):
                break
        if case.corrects and not is_done:
            yield from case.right
        yield from case.after

    def _is_done(self, told: str) -> bool:
        case = self._case
        return contents(self._root, case.encoding) == case.wanted and bool(re.search(case.reads, told))


def newest_words(request: dict[str, Any]) -> str:
    """What was said to the model since its last answer."""
    messages = request["messages"]
    start = max((place + 1 for place, said in enumerate(messages) if said["role"] == "assistant"), default=0)
    return "\n".join(str(said.get("content") or "") for said in messages[start:])


def contents(root: Path, encoding: str) -> dict[str, str]:
    """The text of every file of the project; not what is kept beside them."""
    files = [file for file in root.rglob("*") if file.is_file()]
    kept = [file for file in files if not {".git", ".localllm", "__pycache__"} & set(file.relative_to(root).parts)]
    return {file.relative_to(root).as_posix(): file.read_bytes().decode(encoding) for file in kept}


def commit(root: Path) -> None:
    """Make the project a repository with one commit, by who is no one."""
    someone = ("-c", "user.name=Someone", "-c", "user.email=someone@example.invalid")
    for words in (("init", "-q"), ("add", "-A"), (*someone, "commit", "-q", "-m", "Begin")):
        subprocess.run(["git", *words], cwd=root, check=True)


async def no_time(_seconds: float) -> None:
    """Nobody waits."""


async def played(case: Case, folder: Path, *, with_fault: bool) -> Played:
    """A one-shot run of the case's request in a project of its own, as the compact profile has it."""
    root = folder / "project"
    root.mkdir(parents=True)
    for path, text in case.files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(text.encode(case.encoding))
    if case.repository:
        commit(root)
    tools = make_tools(root, confirmer=HeadlessConfirmer(approve_all=case.yes))
    tools.offer_only(COMPACT.tools, brief=COMPACT.brief)
    with Player(case, root, with_fault=with_fault) as player:
        client = LLMClient(
            OpenAICompatible("openai", player.url, timeout=30, idle_timeout=30), model="m", pause=no_time
        )
        try:
            events = await play(ReActAgent(client, tools, session_id="test"), case.query)
        finally:
            await client.aclose()
    ended = events[-1]
    assert isinstance(ended, RunFinished)
    return Played(
        requests=len(player.requests),
        ended=ended,
        files=contents(root, case.encoding),
        heard=player.heard,
        told=player.told,
        before_fault=player.before_fault,
        at_fault=player.at_fault,
        asked_on=player.asked_on,
    )
