"""Whole research runs on the tests' web: in this process, and as the program that a person starts."""

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, NamedTuple, Self

from localllm.app.research_setup import ResearchSetup, open_researcher
from localllm.config.research_settings import ResearchSettings
from localllm.config.schema import LLMSettings, ServerSettings, Settings, WebSettings
from localllm.research.options import options_for
from localllm.research.records import ResearchState
from tests.research_web.dataset import Question
from tests.research_web.served_model import ServedModel
from tests.research_web.server import ResearchWeb

Answer = Callable[[Sequence[dict[str, Any]], dict[str, Any] | None], str]
Event = dict[str, Any]

_TIMES = re.compile(r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?")


class WholeRun(NamedTuple):
    """A run that has come to its end, and the Markdown file of its report."""

    state: ResearchState
    report: Path
    server: ServedModel


async def research(
    question: Question, answer: Answer, folder: Path, *, web: ResearchWeb, preset: str = "standard", **given: object
) -> WholeRun:
    """Answer a question of the tests' web with a played model, as the command line would."""
    with ServedModel(answer) as server:
        settings = Settings(
            llm=LLMSettings(provider="lmstudio", lmstudio=ServerSettings(base_url=server.url)),
            web=WebSettings(engines=("searxng",), searxng_url=web.search_url, proxy=web.proxy_url, timeout=120),
            research=ResearchSettings(),
        )
        folder.mkdir(parents=True, exist_ok=True)
        environ = {"LOCALLLM_CACHE_DIR": str(folder / "caches")}
        setup = ResearchSetup(settings=settings, root=folder, environ=environ, work_folder=folder)
        options = options_for(settings.research, preset, language=question.language, **given)
        async with open_researcher(setup, options) as researcher:
            state = await researcher.run(question.text)
    return WholeRun(state, folder / "history" / state.id / f"report-{state.id}.md", server)


class Ended(NamedTuple):
    """How a start of the program ended: its code (-9 where it was killed), what it told, and its standard error."""

    code: int
    events: list[Event]
    errors: str


class ResearchProgram(AbstractContextManager["ResearchProgram"]):
    """`localllm research` on the tests' web, which can be killed at any moment and started again.

    `kill_at_request` is the number of the model's request at which the program is killed, and `kill_at_page` that of
    the page, before either is answered; they are set back by that. `asked` counts each of the model's requests.
    """

    def __init__(self, folder: Path, answer: Answer, **research: object) -> None:
        self.folder = folder
        self.work = folder / "work"
        self.web = _KillingWeb(self)
        self.server = ServedModel(self._answer)
        self.kill_at_request = self.kill_at_page = 0
        self.asked: Counter[str] = Counter()
        self.pages: Counter[str] = Counter()
        self.kills = 0
        self._play = answer
        self._research = research
        self._process: subprocess.Popen[str] | None = None
        self._lock = threading.Lock()

    def __enter__(self) -> Self:
        self.web.__enter__()
        self.server.__enter__()
        for name in ("home", "config", "project"):
            (self.folder / name).mkdir(parents=True, exist_ok=True)
        chosen = "".join(f"{name} = {json.dumps(value)}\n" for name, value in self._research.items())
        (self.folder / "config" / "localllm.toml").write_text(
            f'[llm]\nprovider = "lmstudio"\nmodel = "played"\n[llm.lmstudio]\nbase_url = "{self.server.url}"\n'
            f'[web]\nengines = ["searxng"]\nsearxng_url = "{self.web.search_url}"\nproxy = "{self.web.proxy_url}"\n'
            f"[research]\n{chosen}",
            encoding="utf-8",
        )
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()
        self.server.__exit__()
        self.web.__exit__()

    def start(self, *arguments: str, kill: Callable[[Event], bool] = lambda _: False) -> Ended:
        """Run `localllm research` to its end, or until an event comes at which it is to be killed."""
        command = [sys.executable, "-m", "localllm", "research", "--output", "stream-json", *arguments]
        with tempfile.TemporaryFile("w+", encoding="utf-8") as errors:
            process = subprocess.Popen(
                [*command, "--work-dir", str(self.work)],
                cwd=self.folder / "project",
                env=self._environment(),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                encoding="utf-8",
            )
            self._process = process
            assert process.stdout
            events: list[Event] = []
            for line in process.stdout:
                if line.endswith("\n"):  # what a killed program wrote last may be half a line
                    events.append(json.loads(line))
                    if kill(events[-1]):
                        self.kill()
            process.stdout.close()
            code = process.wait(50)
            errors.seek(0)
            return Ended(code, events, errors.read())

    def kill(self) -> None:
        """Kill the program where it runs."""
        with self._lock:
            if self._process is not None and self._process.poll() is None:
                self._process.send_signal(signal.SIGKILL)
                self.kills += 1

    def report(self, run: str) -> Path:
        """The Markdown file of a run's report."""
        return self.work / "history" / run / f"report-{run}.md"

    def page_asked(self, url: str) -> None:
        """Count a request for a page, and kill the program where it is the one."""
        with self._lock:
            self.pages[url] += 1
            is_last = self.pages.total() == self.kill_at_page
        if is_last:
            self.kill_at_page = 0
            self.kill()

    def _answer(self, messages: Sequence[dict[str, Any]], schema: dict[str, Any] | None) -> str:
        self.asked[json.dumps(messages)] += 1
        if self.asked.total() == self.kill_at_request:
            self.kill_at_request = 0
            self.kill()
        return self._play(messages, schema)

    def _environment(self) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("LOCALLLM", "LC_", "LANG"))}
        home = self.folder / "home"
        return kept | {
            "HOME": str(home),
            "LANG": "C.UTF-8",
            "LOCALLLM_CONFIG_DIR": str(self.folder / "config"),
            "LOCALLLM_DATA_DIR": str(home / "data"),
            "LOCALLLM_STATE_DIR": str(home / "state"),
            "LOCALLLM_CACHE_DIR": str(home / "cache"),
            "PYTHONPATH": str(Path(__file__).resolve().parents[2]),
        }


class _KillingWeb(ResearchWeb):
    """The tests' web, which says of each page that it was asked for."""

    def __init__(self, program: ResearchProgram) -> None:
        super().__init__(slow=0.01, hang=0.1)
        self._program = program

    def _page(self, page: Any) -> Any:
        if page.form != "script":  # those are asked for a second time, by the browser
            self._program.page_asked(page.url)
        return super()._page(page)


def without_times(text: str) -> str:
    """A report or its metadata without what differs from run to run: times, dates, durations."""
    plain = _TIMES.sub("TIME", text)
    return re.sub(r"^(duration|seconds|model_seconds): .*$", r"\1: …", plain, flags=re.MULTILINE)
