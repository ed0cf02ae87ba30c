"""/market: what may be typed, what is shown, and what is said where it stops."""

from collections.abc import Callable

import pytest

from localllm.base.errors import ConfigurationError, ResearchUsageError
from localllm.research.market.scan_events import PurposeDone, ScanStarted
from localllm.research.run_events import ResearchEvent
from localllm.tui.commands.market import parse
from tests.support.slash import said

pytestmark = pytest.mark.anyio


class Found:
    id = "m-0123456789ab"
    report = "# Market scan: ferries\n\nIt **grows**.\n"
    partial = False


class Desk:
    """Scans that end at once, or with `error`."""

    def __init__(self) -> None:
        self.asked: list[object] = []
        self.error: BaseException | None = None

    async def scan(
        self, theme: str, regions: tuple[str, ...], pages: int | None, on_event: Callable[[ResearchEvent], None]
    ) -> Found:
        self.asked.append((theme, regions, pages))
        on_event(ScanStarted(run=Found.id, theme=theme, session="s"))
        on_event(PurposeDone(run=Found.id, purpose="trends", insights=3, supported=2))
        if self.error is not None:
            raise self.error
        return Found()


class Chat:
    def __init__(self) -> None:
        self.market = Desk()


async def test_steps_are_shown_and_the_report_comes_last() -> None:
    chat = Chat()
    text = await said(chat, "market --regions jp --pages 0 electric ferries")
    assert chat.market.asked == [("electric ferries", ("jp",), 0)]
    assert text.index("Trends: insights supported: 2 of 3") < text.index("# Market scan") < text.index(Found.id)


async def test_without_a_theme_nothing_is_asked() -> None:
    chat = Chat()
    assert "/market THEME" in await said(chat, "market")
    assert not chat.market.asked


async def test_where_it_stops_it_is_said_where_the_record_is() -> None:
    chat = Chat()
    shown: list[str] = []
    chat.market.error = ResearchUsageError("market_off")
    with pytest.raises(ResearchUsageError):
        await said(chat, "market ferries", shown=shown)
    assert f"localllm history show {Found.id}" in shown[0]


def test_options_there_are_not_are_refused() -> None:
    assert parse("--regions=global,jp ferries") == ("ferries", ("global", "jp"), None)
    assert parse("ferries --pages 3") == ("ferries --pages 3", (), None)
    for words in ("--pages many x", "--preset fast x", "--regions"):
        with pytest.raises(ConfigurationError):
            parse(words)
