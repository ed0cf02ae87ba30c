"""The ensemble server on loopback, over real HTTP, and an ensemble that answers by script."""

import asyncio
import socket
import threading
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
import uvicorn.server

from localllm.app.late_sandbox import late_checker
from localllm.base.errors import LLMConnectionError, LocalLLMError
from localllm.base.events import Usage
from localllm.config.schema import SafetySettings, Settings
from localllm.ensemble.answer_checks import SECONDS, AnswerChecks
from localllm.ensemble.config import AgentConfig, EnsembleConfig, SystemSettings
from localllm.ensemble.config_watch import ConfigSource
from localllm.ensemble.ensemble import ModelEnsemble
from localllm.ensemble.records import (
    Ensemble,
    EnsembleResult,
    Question,
    ReviewStarted,
    ReviewText,
    RunEvent,
    RunFinished,
    RunStarted,
    WorkerAnswer,
    WorkerFinished,
    WorkerText,
)
from localllm.ensemble.server.app import create_app
from localllm.ensemble.server.options import ServerOptions
from localllm.ensemble.server.uvicorn_server import EnsembleServer

WORKERS = ("Worker A (Llama 3 8B)", "Worker B (DeepSeek Coder)")
REVIEWER = "Reviewer (Llama 3 70B)"


def refused() -> LLMConnectionError:
    """The error of a worker whose server is down."""
    return LLMConnectionError("llm_cut", url="http://127.0.0.1:11434", reason="connection reset")


def config(**settings: Any) -> EnsembleConfig:
    """A configuration with the workers of the script."""
    url = "http://user:secret@127.0.0.1:11434/api/chat"
    return EnsembleConfig(
        reviewer_agent=AgentConfig(name=REVIEWER, api_url=url, model="llama3:70b"),
        worker_agents=tuple(AgentConfig(name=name, api_url=url, model="llama3:8b") for name in WORKERS),
        system_settings=SystemSettings(**settings),
    )


@dataclass
class ScriptedEnsemble:
    """Answers every question alike; `questions` has them, `closed` counts runs that were closed before their end.

    errors: one for each worker, None for those that answer. is_held: runs wait in their middle until it is set back;
    `held` is how many do. crash: raised in the middle of a run.
    """

    answer: str = "Paris."
    comment: str = "Both are right."
    errors: Sequence[LocalLLMError | None] = (None, None)
    reviewer_error: LocalLLMError | None = None
    is_held: bool = False
    crash: Exception | None = None
    pieces: int = 2
    finish_reason: str = "stop"
    questions: list[Question] = field(default_factory=list)
    held: int = 0
    closed: int = 0

    async def run(self, question: Question) -> AsyncGenerator[RunEvent]:
        self.questions.append(question)
        is_over = False
        try:
            async for event in self._events(question):
                is_over = isinstance(event, RunFinished)
                yield event
        finally:
            self.closed += not is_over

    async def aclose(self) -> None:
        pass

    async def _events(self, question: Question) -> AsyncGenerator[RunEvent]:
        run_id = f"run{len(self.questions)}"
        yield RunStarted(run_id, question.strategy or "review", WORKERS, REVIEWER)
        if question.stream:
            yield WorkerText(0, "It is ")
        await asyncio.sleep(0)
        if self.crash:
            raise self.crash
        if self.is_held:
            self.held += 1
            try:
                while self.is_held:
                    await asyncio.sleep(0.005)
            finally:
                self.held -= 1
        answers: list[WorkerAnswer] = []
        for worker, (name, error) in enumerate(zip(WORKERS, self.errors, strict=True)):
            text = "" if error else f"{name} says: {self.answer}"
            usage = None if error else Usage(prompt_tokens=10, completion_tokens=5, cached_tokens=4)
            answers.append(
                WorkerAnswer(agent=name, model="llama3:8b", text=text, error=error, seconds=0.25, usage=usage)
            )
            yield WorkerFinished(worker, answers[-1])
        all_failed = all(answer.has_failed for answer in answers)
        if not all_failed:
            yield ReviewStarted(REVIEWER)
            review = f"## Evaluation\n{self.comment}\n\n## Final answer\n{self.answer}"
            step = max(1, -(-len(review) // self.pieces))
            for at in range(0, len(review) if question.stream else 0, step):
                yield ReviewText(review[at : at + step])
        is_whole = not all_failed and self.reviewer_error is None
        error = self.reviewer_error
        yield RunFinished(
            EnsembleResult(
                run_id=run_id,
                final_answer="" if all_failed else self.answer if is_whole else answers[0].text,
                review_comment=self.comment if is_whole else "",
                answers=tuple(answers),
                seconds=1.2345,
                runtime={"strategy": question.strategy or "review"} | ({"fallback": WORKERS[0]} if error else {}),
                usage=sum((answer.usage for answer in answers if answer.usage), Usage()),
                reviewer_error=error,
                finish_reason=self.finish_reason,
            )
        )


def _soon(seconds: float) -> Awaitable[None]:
    return asyncio.sleep(seconds / 20)


# uvicorn looks ten times a second whether it is to stop, and then waits as long again; each test has a server.
uvicorn.server.asyncio = SimpleNamespace(**vars(asyncio) | {"sleep": _soon})  # pyright: ignore


class ServerInThread:
    """A running server: its address, and how to stop it."""

    def __init__(self, app: Any, options: ServerOptions, ensemble: Ensemble | None = None) -> None:
        self.server = EnsembleServer(app, options)
        self.app = app
        self._ensemble = ensemble
        self._socket = socket.create_server(("127.0.0.1", 0), backlog=512)
        self.port: int = self._socket.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self.client = httpx.Client(base_url=self.url, verify=False, trust_env=False, timeout=20)
        self._thread = threading.Thread(target=self._serve, daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Stop it as a signal would, and wait until it has."""
        self.client.close()
        self.server.should_exit = True
        self._thread.join(20)
        assert not self._thread.is_alive()

    def _serve(self) -> None:
        asyncio.run(self._serve_and_close())

    async def _serve_and_close(self) -> None:
        await self.server.serve(sockets=[self._socket])
        if self._ensemble is not None:
            await self._ensemble.aclose()


@contextmanager
def serving(
    app: Any, options: ServerOptions | None = None, ensemble: Ensemble | None = None
) -> Iterator[ServerInThread]:
    """The app on a free port; `ensemble` is closed at the end."""
    running = ServerInThread(app, options or ServerOptions(stop_seconds=0.2), ensemble)
    running.start()
    try:
        yield running
    finally:
        with suppress(RuntimeError):
            running.stop()


@contextmanager
def scripted(
    ensemble: ScriptedEnsemble | None = None,
    options: ServerOptions | None = None,
    settings: Callable[[], EnsembleConfig] = config,
    **more: Any,
) -> Iterator[ServerInThread]:
    """A server of a scripted ensemble."""
    options = options or ServerOptions(stop_seconds=0.2)
    with serving(create_app(ensemble or ScriptedEnsemble(), settings, options=options, **more), options) as running:
        yield running


def checks_in(folder: Path, *, seconds: float = SECONDS, deny: tuple[str, ...] = ()) -> AnswerChecks:
    """Checks on answers in a folder, with rules of the user."""
    settings = Settings(safety=SafetySettings(deny=deny))
    return AnswerChecks(late_checker(settings, folder.absolute()), folder.absolute(), seconds)


@contextmanager
def modelled(
    source: ConfigSource, options: ServerOptions | None = None, environ: Mapping[str, str] | None = None
) -> Iterator[ServerInThread]:
    """A server of the agents in a configuration."""
    options = options or ServerOptions(stop_seconds=0.2)
    ensemble = ModelEnsemble(source, environ or {}, checks_in(Path()))
    app = create_app(ensemble, lambda: source.current, options=options, report=ensemble.report)
    with serving(app, options, ensemble) as running:
        yield running


def until(is_so: Callable[[], bool]) -> None:
    """Wait until something is so in the server's thread."""
    deadline = time.monotonic() + 20
    while not is_so():
        assert time.monotonic() < deadline, "it never was"
        time.sleep(0.002)
