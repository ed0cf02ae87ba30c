"""The chat's terminal with a made-up program behind it: every request plays prepared events. Run by test_chat.py."""

import asyncio
import itertools
import os
import sys
from collections.abc import AsyncGenerator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Self

import msgspec

from localllm.base.errors import LLMConnectionError, SafetyViolationError, ToolExecutionError
from localllm.base.events import (
    AgentEvent,
    ConfirmationRequested,
    Emit,
    MessageCompleted,
    Notice,
    RunFinished,
    RunStarted,
    Steered,
    TextDelta,
    ThinkingDelta,
    ToolFinished,
    ToolStarted,
    Usage,
)
from localllm.base.i18n import set_language
from localllm.config.loader import Loaded
from localllm.config.schema import CommandSettings, Mode, Settings, UISettings
from localllm.llm.discovery.servers import Server
from localllm.llm.model_profiles import COMPACT
from localllm.llm.providers.base import ModelInfo
from localllm.llm.server_summary import Introduction
from localllm.memory.session_plan import SessionPlan
from localllm.safety.rules import lasting_rule
from localllm.safety.saved_rules import Remembered
from localllm.tui.repl import Terminal

ANSWER = """# A heading

Here is **bold** text, some `code`, and a sentence that is long enough to be wrapped at eighty columns, I think.

- first
- second, with a longer text that has to be wrapped because the terminal is not wide enough for it
  - nested

```python
def fizz(n: int) -> str:
    return "Fizz" if n % 3 == 0 else str(n)
```

| name | value |
|------|------:|
| one  |     1 |
| two  |   200 |

The end.
"""

JAPANESE = """## FizzBuzzの書き方

Pythonで**FizzBuzz**を書く場合は、「次のように」条件を並べます。この文章は八十桁の端末では必ず折り返されるだけの長さがあります。

1. 3の倍数なら`Fizz`と表示します。
2. 5の倍数なら`Buzz`と表示します。

| 入力 | 出力 |
|---|---|
| 3 | Fizz |
| 15 | FizzBuzz（十五は三と五の両方の倍数なので、こうなります） |

以上です。
"""

DIFF = """--- a/src/a.py
+++ b/src/a.py
@@ -1,3 +1,3 @@
 import os
-print("old")
+print("new")
 # 終わり
"""
LONG_DIFF = "--- a/b.py\n+++ b/b.py\n@@ -0,0 +1,60 @@\n" + "".join(f"+line {number}\n" for number in range(1, 61))


class Tool(msgspec.Struct, frozen=True):
    name: str
    description: str
    risk: str
    allowed: bool
    offered: bool = True


class Forgetful:
    """Nothing is remembered of the project."""

    version = 0
    plan = SessionPlan()

    def open_todos(self) -> Sequence[object]:
        return ()


class Chat:
    """Satisfies ChatContext. What a request plays is named by its first word."""

    def __init__(self, terminal: Terminal, settings: Settings) -> None:
        self.root = self.here = Path.cwd()
        self.session_id = "20250101-000000-abcd"
        self.provider_name = "scripted"
        self.provider_address = "http://127.0.0.1:1"
        self.model = "peer-7b"
        self.model_info = ModelInfo("peer-7b")
        self.connecting = False
        self.mode: Mode = "auto" if "PEER_IN_AUTO" in os.environ else "ask"
        self.remembered: list[Remembered] = []
        self.sandbox_level = ""
        models = (ModelInfo("peer-7b"), ModelInfo("other-13b"))
        self.servers = [Server(base_url=self.provider_address, provider="openai", state="ready", models=models)]
        self.settings = settings
        self.config = Loaded(settings=settings)
        self.usage = Usage(prompt_tokens=1200, completion_tokens=34)
        self.context_window = 8192
        self.assumes_window = False
        self.stand_in = None
        self.context_used = 1234
        self.profile = COMPACT
        self.memory = Forgetful()
        self._terminal = terminal
        self._task: asyncio.Task[None] | None = None
        self._numbers = itertools.count()
        self._hears = False
        self.keeping = SimpleNamespace(welcome=[], stood=("", ""), known=[], title="", broken_off=lambda: "")
        self.unread: list[str] = []
        self.last_answer = "Run this:\n\n```sh\necho one\n\techo \x1b[31mtwo\n```\n"

    def set_mode(self, mode: Mode) -> None:
        if mode == "auto" and "PEER_IN_AUTO" in os.environ:
            raise SafetyViolationError("mode_needs_sandbox", reason="no kernel for it")
        self.mode = mode

    def rules(self) -> Sequence[Remembered]:
        return self.remembered

    def forget_rule(self, remembered: Remembered) -> None:
        self.remembered.remove(remembered)

    def tools(self) -> Sequence[Tool]:
        return [
            Tool("read_file", "Read a file.", "safe", True),
            Tool("run_command", "Run a command with bash.", "highest", True),
            Tool("git_commit", "Commit.", "medium", False),
        ]

    def begin_connecting(self) -> None:
        pass

    async def settled(self) -> None:
        pass

    def introduction(self) -> Introduction:
        return Introduction(who=f"Peer · {self.provider_address} · {self.model}")

    async def probe_sandbox(self) -> None:
        self.sandbox_level = "landlock"

    @property
    def server(self) -> Server:
        return self.servers[0]

    async def look_for_servers(self) -> Sequence[Server]:
        return self.servers

    async def use_model(self, name: str) -> None:
        if name not in ("peer-7b", "other-13b"):
            raise LLMConnectionError("llm_model_not_found", url="u", model=name, reason="", available="peer-7b")
        self.model = name

    async def use_provider(self, name: str) -> None:
        self.provider_name = name

    @property
    def changes(self) -> Self:
        return self

    def undo(self, *, turn: bool = False) -> list[str]:
        if turn:
            return ["a.py restored", "b.py removed"]
        raise ToolExecutionError("undo_busy")

    def earlier(self, *, turn: bool = False) -> list[str]:
        return []

    def clear(self) -> None:
        self.context_used = 0

    def notices(self) -> list[str]:
        return ["A notice for the start."]

    @property
    def listens(self) -> bool:
        return self._hears

    def steer(self, text: str, *, typed: str | None = None) -> bool:
        if self._hears:
            self.unread.append(text)
        return self._hears

    def unsteer(self) -> str:
        return self.unread.pop() if self.unread else ""

    def interrupt(self) -> None:
        if self._task:
            self._task.cancel()

    async def run(self, query: str, *, typed: str | None = None) -> AsyncGenerator[AgentEvent]:
        """As the agent does it: the work puts events into a queue, and a cancelled one ends with RunFinished."""
        events: asyncio.Queue[AgentEvent | None] = asyncio.Queue()
        self._task = asyncio.create_task(self._work(query, events))
        try:
            while (event := await events.get()) is not None:
                yield event
        finally:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def _work(self, query: str, events: "asyncio.Queue[AgentEvent | None]") -> None:
        put = events.put_nowait
        put(RunStarted(session_id=self.session_id, query=query, provider=self.provider_name, model=self.model))
        self._hears = True
        try:
            answer = await self._play(query, put)
            while self.unread:
                said = self.unread.pop(0)
                put(Steered(text=said))
                answer = await self._play(said, put)
            usage = Usage(prompt_tokens=1000, completion_tokens=20)
            put(RunFinished(status="done", answer=answer, steps=2, usage=usage))
        except asyncio.CancelledError:
            put(RunFinished(status="interrupted", answer=""))
            raise
        finally:
            self._hears = False
            put(None)

    async def _play(self, query: str, put: Emit) -> str:
        match query.split(maxsplit=1)[0]:
            case "stream":
                return await self._stream(ANSWER, put, 0.002)
            case "japanese":
                return await self._stream(JAPANESE, put, 0.002)
            case "slowly":
                return await self._stream(ANSWER, put, 0.012)
            case "flood":
                return await self._stream(
                    "word and 日本語の文章。 " * 60 + "\n\n" + "- item\n" * 500 + "\nFLOODED", put, 0
                )
            case "think":
                for word in ("First ", "I ", "look ", "at ", "it.\n") * 6:
                    put(ThinkingDelta(text=word))
                    await asyncio.sleep(0.02)
                return await self._stream("Thought about it.", put, 0)
            case "wait":
                await asyncio.sleep(60)
            case "evil":
                put(Notice(text="\x1b]0;title\x07\x1b[2J notice \u202e"))
                return await self._stream("a\x1b[31mred\x1b[2J b\u202ec \x9b5m\n\n```\n\x1b[1mcode\n```\n", put, 0)
            case _:
                return await self._play_tool(query, put)
        return ""

    async def _play_tool(self, query: str, put: Emit) -> str:
        match query.split(maxsplit=1)[0]:
            case "edit":
                return await self._tool(put, "edit_file", {"file_path": "src/a.py"}, DIFF, "diff")
            case "long":
                return await self._tool(put, "write_file", {"file_path": "b.py"}, LONG_DIFF, "diff")
            case "run":
                return await self._tool(
                    put, "run_command", {"command": "make test"}, "make test\r\necho 終わり", "command"
                )
            case "later":
                await asyncio.sleep(1)
                return await self._tool(put, "run_command", {"command": "make"}, "make", "command")
            case _:
                return await self._stream(f"You said: {query}", put, 0)

    async def _stream(self, text: str, put: Emit, pause: float) -> str:
        for start in range(0, len(text), 4):
            put(TextDelta(text=text[start : start + 4]))
            if pause or start % 400 == 0:
                await asyncio.sleep(pause)
        put(MessageCompleted(text=text))
        return text

    async def _tool(self, put: Emit, name: str, arguments: dict[str, str], detail: str, kind: str) -> str:
        await self._stream("I will do it.", put, 0)
        call = f"call_{next(self._numbers)}"
        put(ToolStarted(call_id=call, name=name, arguments=arguments))
        request = ConfirmationRequested(
            request_id=call,
            call_id=call,
            tool=name,
            risk="high",
            summary=f"{name} {' '.join(arguments.values())}",
            detail=detail,
            detail_kind=kind,  # type: ignore[arg-type] - one of the three
            lasting=True,
            scope=detail if kind == "command" else "src/",
        )
        put(request)
        answer = await self._terminal.confirmer.confirm(request)
        put(answer)
        if answer.always and (rule := lasting_rule(name, request.scope, answer.scope)):
            self.remembered.append(Remembered(rule, answer.always))
        output = {"stdout": "".join(f"out {number}\n" for number in range(20)), "stderr": ""}
        payload = {"file_path": "src/a.py", "diff": detail} if kind == "diff" else output
        done = "done in 0.1 s" if answer.approved else f"refused: {answer.feedback or 'no reason'}"
        payload = payload if answer.approved else {}
        put(ToolFinished(call_id=call, name=name, success=answer.approved, summary=done, payload=payload))
        return await self._stream(f"Approved: {answer.approved} by {answer.by}.", put, 0)


async def main() -> int:
    language = os.environ.get("PEER_LANGUAGE", "en")
    set_language(language)
    settings = Settings(
        ui=UISettings(language="ja" if language == "ja" else "en"),
        commands=CommandSettings(aliases={"review": "stream review this", "model": "not allowed"}),
    )
    state = Path(os.environ["PEER_STATE"])
    state.mkdir(exist_ok=True)
    (state / "pid").write_text(str(os.getpid()))
    terminal = Terminal(state)
    return await terminal.interact(Chat(terminal, settings))


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
