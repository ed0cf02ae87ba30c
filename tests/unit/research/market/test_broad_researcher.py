"""A small scan: of two purposes whose searches are answered, with what is missing named."""

from pathlib import Path

import pytest

from localllm.research.market.agent_log import EXECUTION_ID, AgentLog
from localllm.research.market.broad_researcher import MarketOptions
from localllm.research.market.market_records import PURPOSES
from tests.support.market_scan import THEME, scans
from tests.support.market_web import MarketWeb

pytestmark = pytest.mark.anyio

ANSWERED = ("market_size", "startups")
OTHERS_FAIL = {purpose: 400 for purpose in PURPOSES if purpose not in ANSWERED}


async def test_what_was_found_is_checked_and_what_is_missing_is_named(tmp_path: Path) -> None:
    async with scans(tmp_path, MarketWeb(OTHERS_FAIL)) as world:
        world.player.lies = True
        result = await world.scan(pages=1)
    data = result.data
    assert data is not None
    assert result.partial
    assert EXECUTION_ID.fullmatch(result.execution_id)
    assert {one.purpose for one in data.findings if one.supported} == {*ANSWERED}
    assert [one.supported for one in data.findings if "9999" in one.text] == [False]
    assert {one.purpose for one in data.missing} == {*OTHERS_FAIL}
    assert data.remarks == ("引用が出典に見つからないため除いた知見：2 件。",)
    assert [one.precedents[0].basis for one in data.applicability] == ["supported"]
    assert data.summary
    assert AgentLog(tmp_path).all() == [result]
    assert world.kinds()[0] == "ScanStarted"


async def test_insights_with_sensitive_content_are_left_out_and_counted(tmp_path: Path) -> None:
    async with scans(tmp_path, MarketWeb(OTHERS_FAIL)) as world:
        world.player.lies = True
        world.options = MarketOptions(10, 1, ("9999",))
        result = await world.scan(regions=("jp",))
    assert result.data is not None
    assert "9999" not in "".join(one.text for one in result.data.findings)
    assert "機微な内容のため除いた知見：1 件。" in result.data.remarks


async def test_without_a_reader_the_result_lists_are_read(tmp_path: Path) -> None:
    async with scans(tmp_path, MarketWeb(OTHERS_FAIL)) as world:
        world.reader = None
        result = await world.scan(regions=("jp",), max_results=1)
    assert result.data is not None
    assert [one.origin for one in result.data.findings] == ["result_list"]


async def test_where_all_searches_fail_the_record_says_why(tmp_path: Path) -> None:
    async with scans(tmp_path, MarketWeb({"*": 403})) as world:
        result = await world.scan(THEME)
    assert result.error is not None
    assert result.error.code == "E7065"
    assert AgentLog(tmp_path).all() == [result]
