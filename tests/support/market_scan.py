"""A market scan in this process: a played model, Serper's wire and the pages on loopback, the program's own reader."""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import date
from pathlib import Path
from typing import Any

from localllm.base.errors import ToolExecutionError
from localllm.config.research_settings import MarketSettings
from localllm.research.market.broad_researcher import BroadResearcher, MarketOptions
from localllm.research.market.market_records import Constraints, MarketPurpose, MarketResult, ResearcherInput
from localllm.research.market.search_service import SearchServiceConfig, SerperSearchService
from localllm.research.options import ResearchOptions
from localllm.research.run_events import ResearchEvent
from localllm.web.page_reader import PageReader, ReadPage
from tests.support.market_web import FACTS, KEY, MarketModel, MarketWeb
from tests.support.played_research import client_of

THEME = "スマートシティ"


class FactReader(PageReader):
    """Reads the pages of a MarketWeb without asking it; those whose address has `gone` in it cannot be read. `before`:
    what a page says before its fact, by purpose."""

    def __init__(self, before: Mapping[MarketPurpose, str] | None = None) -> None:
        self.asked: list[str] = []
        self.before: Mapping[str, str] = before or {}

    async def read(self, url: str) -> ReadPage:
        self.asked.append(url)
        purpose, _slash, number = url.partition("/pages/")[2].partition("/")
        facts = [one for one in FACTS if one.purpose == purpose]
        if not facts:
            raise ToolExecutionError("web_unreachable", url=url, reason="gone")
        fact = facts[int(number)]
        text = f"{number}: {self.before.get(purpose, '')}{fact.on_page}"
        return ReadPage(url, f"{purpose} {number}", text, "html", "2026-11-24T00:00:00+00:00")

    async def aclose(self) -> None:
        """There is nothing to close."""


class Scans:
    """Scans over one service. `events` has what happened, `player` the model, which can be changed."""

    def __init__(self, folder: Path, web: MarketWeb, player: MarketModel, **config: Any) -> None:
        self.folder = folder
        self.player = player
        self.events: list[ResearchEvent] = []
        self.reader: PageReader | None = FactReader()
        self.service = SerperSearchService(SearchServiceConfig(KEY, **{"base_url": web.url, **config}))
        self.options = MarketOptions(10, 2, MarketSettings().sensitive_words)

    async def scan(self, theme: str = THEME, language: str = "ja", **constraints: Any) -> MarketResult:
        """One scan."""
        client, _brain = client_of(lambda messages, schema: self.player(messages, schema))  # noqa: PLW0108
        researcher = BroadResearcher(
            client,
            self.service,
            self.reader,
            self.folder,
            self.options,
            ResearchOptions(use_cache=False),
            self.events.append,
            language=language,
            today=lambda: date(2026, 11, 24),
        )
        return await researcher.execute(
            ResearcherInput(theme=theme, session_id="s1", constraints=Constraints(**constraints))
        )

    def kinds(self) -> Sequence[str]:
        """What happened, by name."""
        return [type(event).__name__ for event in self.events]


@asynccontextmanager
async def scans(folder: Path, web: MarketWeb | None = None, **config: Any) -> AsyncIterator[Scans]:
    """Scans of `THEME`, the web answering unless one is given that does not."""
    with web or MarketWeb() as site:
        yield Scans(folder, site, MarketModel(THEME), **config)
