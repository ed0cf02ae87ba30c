"""Search engines that do as they are told, and a clock that moves by waiting alone."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field

from localllm.base.errors import WebSearchError
from localllm.web.engines.base import FIRST_PAGE, EngineLimits, ResultView, SearchAnswer, SearchResult

FOUND = SearchAnswer((SearchResult("Found", "https://found.example/", "", "fake"),))


@dataclass
class Clock:
    """Tells how long was waited; `pauses` are the waits."""

    now: float = 1_000.0
    pauses: list[float] = field(default_factory=list[float])

    def __call__(self) -> float:
        return self.now

    async def pause(self, seconds: float) -> None:
        self.pauses.append(seconds)
        self.now += seconds
        await asyncio.sleep(0)


class FakeEngine:
    """Gives each outcome in turn, the last for good. `asked` has the queries, `views` what of them was wanted, `most`
    how many ran at a time. With a `gate`, a search ends when that is opened."""

    def __init__(
        self,
        *outcomes: SearchAnswer | WebSearchError,
        name: str = "fake",
        scope: str = "",
        limits: EngineLimits | None = None,
        gate: asyncio.Event | None = None,
    ) -> None:
        self.name = name
        self.scope = scope
        self.limits = limits or EngineLimits(concurrency=1, per_minute=6_000)
        self.asked: list[str] = []
        self.views: list[ResultView] = []
        self.most = 0
        self._running = 0
        self._gate = gate
        self._outcomes: Sequence[SearchAnswer | WebSearchError] = outcomes or (FOUND,)

    async def search(self, query: str, limit: int, view: ResultView = FIRST_PAGE) -> SearchAnswer:
        outcome = self._outcomes[min(len(self.asked), len(self._outcomes) - 1)]
        self.asked.append(query)
        self.views.append(view)
        self._running += 1
        self.most = max(self.most, self._running)
        try:
            await (self._gate.wait() if self._gate else asyncio.sleep(0))
        finally:
            self._running -= 1
        if isinstance(outcome, WebSearchError):
            raise outcome
        return outcome

    async def check(self) -> tuple[str, ...]:
        return ()
