"""Market scans from within a chat, with its model."""

from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import NamedTuple

from localllm.app.market_setup import open_broad_researcher
from localllm.app.research_setup import ResearchParts, ResearchSetup
from localllm.app.work_folder import work_folder
from localllm.base.errors import ResearchUsageError
from localllm.config.schema import Settings
from localllm.llm.client import LLMClient
from localllm.research.market.broad_researcher import check_input
from localllm.research.market.market_records import Constraints, ResearcherInput
from localllm.research.market.market_report import render
from localllm.research.options import options_for
from localllm.research.run_context import OnEvent


class FinishedScan(NamedTuple):
    """The result of a scan: its id, its report in Markdown, and whether it is incomplete."""

    id: str
    report: str
    partial: bool


class ChatMarket:
    """Market scans with the model behind `client`, in the chat of the project at `root`; see ChatResearch."""

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
        self._client = client
        self._ready = ready
        self._parts = parts
        self._setup = ResearchSetup(
            settings=settings, root=root, environ=environ, work_folder=work_folder(settings, environ)
        )

    async def scan(self, theme: str, regions: tuple[str, ...], pages: int | None, on_event: OnEvent) -> FinishedScan:
        """Scan the market of a theme, if the chat may use the web. Raises LocalLLMError."""
        settings = self._setup.settings
        if not settings.web.enabled or settings.offline:
            raise ResearchUsageError("market_off")
        bounds = Constraints(pages=pages, regions=regions) if regions else Constraints(pages=pages)
        asked = ResearcherInput(theme=theme, constraints=bounds)
        check_input(asked)
        await self._ready()
        async with open_broad_researcher(
            self._setup, options_for(settings.research), on_event, client=self._client, parts=self._parts
        ) as researcher:
            result = await researcher.execute(asked)
            if researcher.failure is not None:
                raise researcher.failure
        return FinishedScan(result.execution_id, render(result, "md"), result.partial)
