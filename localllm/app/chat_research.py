"""Research from within a chat, with its model: for /research, and for the tool deep_research."""

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import NamedTuple

import msgspec

from localllm.app.research_findings import findings
from localllm.app.research_setup import ResearchParts, ResearchSetup, open_researcher, standard_parts
from localllm.app.stored_options import remember_named, stored_options
from localllm.app.work_folder import work_folder
from localllm.base.errors import ResearchUsageError
from localllm.config.schema import Settings
from localllm.llm.client import LLMClient
from localllm.research.options import ResearchOptions, options_for
from localllm.research.records import ResearchState
from localllm.research.report.report_files import report_files
from localllm.research.researcher import Researcher
from localllm.research.run_context import OnEvent, nobody
from localllm.research.run_events import Forecast
from localllm.research.run_store import run_folder


class FinishedRun(NamedTuple):
    """The result of a run, and the file of its report."""

    state: ResearchState
    report: Path


class ChatResearch:
    """Research with the model behind `client`, in the chat of the project at `root`; `ready` waits until the model is
    selected. `environ`: see ResearchSetup; `parts`: the page reader, None for the standard one."""

    def __init__(
        self,
        settings: Settings,
        root: Path,
        environ: Mapping[str, str],
        client: LLMClient,
        ready: Callable[[], Awaitable[None]],
        *,
        parts: ResearchParts | None = None,
    ) -> None:
        self._root = root
        self._client = client
        self._ready = ready
        self._parts = parts
        self._setup = ResearchSetup(
            settings=settings, root=root, environ=environ, work_folder=work_folder(settings, environ)
        )

    def options(self, preset: str = "", docs: tuple[str, ...] = ()) -> ResearchOptions:
        """Return the options of a run: the web, if the chat may use it, and folders and collections of documents.
        Raises ResearchUsageError if there is neither."""
        settings = self._setup.settings
        named = [str(self._root / Path(folder).expanduser()) for folder in docs]
        remember_named(self._setup, docs=named)
        folders = (*(str(self._root / Path(folder).expanduser()) for folder in settings.research.docs), *named)
        if not self._uses_web and not (folders or settings.research.collections):
            raise ResearchUsageError("research_chat_off")
        return options_for(settings.research, preset, use_web=self._uses_web, docs=folders)

    async def forecast(self, options: ResearchOptions) -> Forecast:
        """Estimate a run. Raises LLMConnectionError without a model."""
        async with self._open(options, nobody) as researcher:
            return await researcher.forecast()

    async def run(
        self,
        question: str,
        options: ResearchOptions,
        on_event: OnEvent,
        is_shunned: Callable[[str], bool] | None = None,
    ) -> FinishedRun:
        """Answer a question; `is_shunned` returns whether the user has forbidden to read an address. Raises
        ResearchError, LLMConnectionError. If cancelled, it can be resumed."""
        async with self._open(options, on_event, is_shunned) as researcher:
            return self._finished(await researcher.run(question))

    async def resume(self, name: str, on_event: OnEvent) -> FinishedRun:
        """Resume the run `name` with its options; otherwise as `run`."""
        async with self._open(self.stored_options(name), on_event) as researcher:
            return self._finished(await researcher.run(resume=name))

    def findings(self, state: ResearchState, report: Path) -> str:
        """Return the findings of a finished run for the model, as it gets those of its own."""
        return findings(state, report, self._client.estimate_tokens, is_framed=False)

    def stored_options(self, name: str) -> ResearchOptions:
        """Return the options of the run `name`; the web is searched only if the chat still may. Raises
        ResearchError."""
        options = stored_options(self._setup, name)
        if options.use_web and not self._uses_web and not (options.docs or options.collections):
            raise ResearchUsageError("research_chat_off")
        return msgspec.structs.replace(options, use_web=options.use_web and self._uses_web)

    @property
    def _uses_web(self) -> bool:
        return self._setup.settings.web.enabled and not self._setup.settings.offline

    def _finished(self, state: ResearchState) -> FinishedRun:
        return FinishedRun(state, report_files(run_folder(self._setup.work_folder, state.id)).report)

    @asynccontextmanager
    async def _open(
        self, options: ResearchOptions, on_event: OnEvent, is_shunned: Callable[[str], bool] | None = None
    ) -> AsyncGenerator[Researcher]:
        await self._ready()
        parts = self._parts or standard_parts(self._setup, is_shunned)
        async with open_researcher(self._setup, options, on_event, client=self._client, parts=parts) as researcher:
            yield researcher
