"""The interface of long runs for the chat: research, market scans, the ensemble.

Only for type checkers: these modules are loaded when a run begins.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from localllm.ensemble.records import EnsembleResult, RunEvent
from localllm.research.options import ResearchOptions
from localllm.research.records import ResearchState
from localllm.research.run_events import Forecast, ResearchEvent


class FinishedRun(Protocol):
    """The result of a research run, and the file of its report."""

    @property
    def state(self) -> ResearchState: ...

    @property
    def report(self) -> Path: ...


class Research(Protocol):
    """Research with the model of the chat. Methods raise LocalLLMError."""

    def options(self, preset: str = "", docs: tuple[str, ...] = ()) -> ResearchOptions:
        """Return the options of a run: the settings, a preset, and these folders of documents."""
        ...

    def stored_options(self, name: str) -> ResearchOptions:
        """Return the options of the run `name`."""
        ...

    async def forecast(self, options: ResearchOptions) -> Forecast:
        """Estimate a run."""
        ...

    def findings(self, state: ResearchState, report: Path) -> str:
        """Return the findings of a finished run for the model."""
        ...

    async def run(
        self, question: str, options: ResearchOptions, on_event: Callable[[ResearchEvent], None]
    ) -> FinishedRun:
        """Answer a question; if cancelled, it can be resumed."""
        ...

    async def resume(self, name: str, on_event: Callable[[ResearchEvent], None]) -> FinishedRun:
        """Resume a run."""
        ...


class FinishedScan(Protocol):
    """The result of a market scan: its id, its report in Markdown, and whether it is incomplete."""

    @property
    def id(self) -> str: ...

    @property
    def report(self) -> str: ...

    @property
    def partial(self) -> bool: ...


class Market(Protocol):
    """Market scans with the model of the chat. Methods raise LocalLLMError."""

    async def scan(
        self, theme: str, regions: tuple[str, ...], pages: int | None, on_event: Callable[[ResearchEvent], None]
    ) -> FinishedScan:
        """Scan the market of a theme; no regions means all, no pages the configured number."""
        ...


class EnsembleDesk(Protocol):
    """The configured ensemble. Methods raise LocalLLMError."""

    async def ask(self, prompt: str, on_event: Callable[[RunEvent], None]) -> EnsembleResult:
        """Ask the workers and the reviewer; cancelling ends every request."""
        ...
