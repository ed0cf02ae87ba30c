"""The ensemble's page in a real Chromium, before a server whose runs are played: a test writes what happens in a run,
and opens the gates it stops at."""

import asyncio
import os
import threading
from collections import defaultdict
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

from localllm.base.errors import LLMConnectionError, LocalLLMError
from localllm.base.events import Usage
from localllm.ensemble.config import AgentConfig, EnsembleConfig
from localllm.ensemble.records import (
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
from localllm.ensemble.server.page import page_routes
from localllm.web.browser.chromium import require_chromium
from tests.support.ensemble_server import ServerInThread, serving, until

REVIEWER = "Reviewer (Llama 3 70B)"
READY = "body[data-ready]"
_DRAWN = "() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"
_KEPT = """async () => {
  const of = (request) => new Promise((give, fail) => {
    Object.assign(request, { onsuccess: () => give(request.result), onerror: fail });
  });
  const db = await of(indexedDB.open("localllm-ensemble", 1));
  const id = sessionStorage.getItem("localllm-conversation");
  const found = await of(db.transaction("conversations").objectStore("conversations").get(id));
  db.close();
  const shown = [...document.querySelectorAll(".turn")].map((turn) => turn.dataset.state);
  return JSON.stringify(found?.turns.map((turn) => turn.state)) === JSON.stringify(shown);
}"""
"""Whether the browser has kept the conversation as it is shown; it does so behind the answer."""

Step = RunEvent | str
"""What happens next in a run; a text is the name of a gate, which is waited for."""


class Gates(defaultdict[str, threading.Event]):
    """What a played run waits for, by its name."""

    def __init__(self) -> None:
        super().__init__(threading.Event)


@dataclass
class PlayedEnsemble:
    """Answers by a play: `play` gives the steps of a run for a question.

    `questions` has what was asked, `closed` how many runs were closed before their end.
    """

    play: Callable[[Question], Sequence[Step]]
    gates: Gates = field(default_factory=Gates)
    questions: list[Question] = field(default_factory=list)
    closed: int = 0

    async def run(self, question: Question) -> AsyncGenerator[RunEvent]:
        self.questions.append(question)
        is_over = False
        try:
            for step in self.play(question):
                if isinstance(step, str):
                    while not self.gates[step].is_set():
                        await asyncio.sleep(0.005)
                    continue
                is_over = isinstance(step, RunFinished)
                yield step
        finally:
            self.closed += not is_over

    async def aclose(self) -> None:
        pass


def names(count: int) -> tuple[str, ...]:
    """The names of so many workers."""
    return tuple(f"Worker {chr(ord('A') + number)} (model {number}:8b)" for number in range(count))


def config(count: int) -> EnsembleConfig:
    """A configuration with so many workers."""
    url = "http://127.0.0.1:11434/api/chat"
    workers = (AgentConfig(name=name, api_url=url, model=f"model-{n}:8b") for n, name in enumerate(names(count)))
    reviewer = AgentConfig(name=REVIEWER, api_url=url, model="llama3:70b")
    return EnsembleConfig(reviewer_agent=reviewer, worker_agents=tuple(workers))


def begin(count: int = 3) -> RunStarted:
    """A run with so many workers begins."""
    return RunStarted("3f2a9c1b77d0", "review", names(count), REVIEWER)


def finished(worker: int, text: str = "", error: LocalLLMError | None = None, seconds: float = 1.5) -> WorkerFinished:
    """A worker ends."""
    return WorkerFinished(worker, answered(worker, text, error, seconds))


def answered(worker: int, text: str = "", error: LocalLLMError | None = None, seconds: float = 1.5) -> WorkerAnswer:
    """A worker's answer."""
    name = names(26)[worker]
    return WorkerAnswer(agent=name, model=f"model-{worker}:8b", text=text, error=error, seconds=seconds)


def ended(answers: Sequence[WorkerAnswer], final: str = "It is Paris.", **fields: Any) -> RunFinished:
    """A run ends with a result."""
    given: dict[str, Any] = {
        "run_id": "3f2a9c1b77d0",
        "final_answer": final,
        "review_comment": "All are right.",
        "seconds": 12.34,
        "runtime": {"strategy": "review"},
        "usage": Usage(prompt_tokens=100, completion_tokens=50),
    }
    return RunFinished(EnsembleResult(answers=tuple(answers), **(given | fields)))


def silent() -> LLMConnectionError:
    """The error of a server that fell silent."""
    return LLMConnectionError("llm_idle", url="http://127.0.0.1:11434", seconds=60.0, provider="ollama")


def plain_run(*texts: str, final: str = "It is Paris.") -> list[Step]:
    """A run without any gate in which the workers say these texts."""
    texts = texts or ("It is Paris.", "Paris.", "**Paris**")
    answers = [answered(worker, text) for worker, text in enumerate(texts)]
    review = f"## Evaluation\nAll are right.\n\n## Final answer\n{final}"
    return [
        begin(len(texts)),
        *(WorkerText(worker, text) for worker, text in enumerate(texts)),
        *(WorkerFinished(worker, answer) for worker, answer in enumerate(answers)),
        ReviewStarted(REVIEWER),
        ReviewText(review),
        ended(answers, final),
    ]


@contextmanager
def played(
    play: Callable[[Question], Sequence[Step]], *, count: int = 3, options: ServerOptions | None = None
) -> Iterator[tuple[ServerInThread, PlayedEnsemble]]:
    """A server with the page and an ensemble of so many workers that is played."""
    ensemble = PlayedEnsemble(play)
    options = options or ServerOptions(stop_seconds=0.2)
    app = create_app(ensemble, lambda: config(count), options=options, pages=page_routes())
    with serving(app, options) as server:
        yield server, ensemble


@contextmanager
def chromium() -> Iterator[Browser]:
    """A Chromium that runs."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=require_chromium(), headless=True, chromium_sandbox=os.geteuid() != 0
        )
        try:
            yield browser
        finally:
            browser.close()


class Visitor:
    """Somebody who looks at the page of a server, with a browser of his own.

    `foreign` has the addresses elsewhere that were asked for, `faults` what went wrong in the page's scripts and what
    its policy has forbidden.
    """

    def __init__(self, browser: Browser, server: ServerInThread, **options: Any) -> None:
        given: dict[str, Any] = {"viewport": {"width": 1280, "height": 900}, "locale": "en-US"}
        self.context: BrowserContext = browser.new_context(**(given | options))
        self.context.set_default_timeout(20_000)
        self.url = server.url
        self.foreign: list[str] = []
        self.faults: list[str] = []
        self.context.route(lambda url: not url.startswith(server.url), self._refuse)
        self.page = self.open()

    def open(self) -> Page:
        """Open the page in a tab."""
        page = self.context.new_page()
        page.on("pageerror", lambda error: self.faults.append(str(error)))
        page.on("console", self._note)
        page.goto(self.url)
        page.wait_for_selector(READY)
        return page

    def ask(self, text: str, key: str = "Control+Enter") -> None:
        """Ask a question."""
        self.page.fill("#prompt", text)
        self.page.keyboard.press(key)

    def wait(self, state: str = "done") -> None:
        """Wait until the newest question has come to this end."""
        self.page.wait_for_selector(f".turn:last-child[data-state={state}]")

    def column(self, worker: int) -> str:
        """What a worker's column of the newest question shows."""
        return self.page.locator(".turn:last-child .column").nth(worker).locator(".scroller").inner_text()

    def wait_column(self, worker: int, text: str) -> None:
        """Wait until a worker's column shows a text."""
        self.page.locator(".turn:last-child .column").nth(worker).get_by_text(text).wait_for()

    def answer(self) -> str:
        """The final answer of the newest question, which is drawn in the frame after its end."""
        self.page.evaluate(_DRAWN)
        return self.page.locator(".turn:last-child .text.answer").inner_text().strip()

    def reload(self) -> None:
        """Load the page anew when the conversation is kept."""
        until(lambda: self.page.evaluate(_KEPT))
        self.page.reload()

    def close(self) -> None:
        """Leave."""
        self.context.close()

    def _refuse(self, route: Any) -> None:
        self.foreign.append(route.request.url)
        route.abort()

    def _note(self, message: Any) -> None:
        if message.type == "error" and "Failed to load resource" not in message.text:
            self.faults.append(message.text)


Visit = Callable[..., Visitor]
"""Opens the page of a server; options are those of a browser context."""
