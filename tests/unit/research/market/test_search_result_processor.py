"""Results of several searches that have the same pages: for which purpose each is read."""

from pathlib import Path

from localllm.research.market.market_records import FoundResult, MarketPurpose, region_of
from localllm.research.market.search_result_processor import SearchResultProcessor
from localllm.research.market.sensitive_content import SensitiveContent
from localllm.research.records import ResearchState
from tests.support.research_parts import run_of


def found(purpose: MarketPurpose, *hosts: str) -> list[FoundResult]:
    return [
        FoundResult(title=host, url=f"https://{host}/", snippet="", purpose=purpose, region=region_of(purpose))
        for host in hosts
    ]


def kept(folder: Path, *results: list[FoundResult], pages: int = 1) -> list[tuple[str, str]]:
    state = ResearchState(id="m-1", question="ferries", today="2026-11-24", language="en", model="m")
    with run_of(state, folder, {}) as (run, _brain):
        distinct = SearchResultProcessor(run, SensitiveContent(()), pages).remove_duplicates(
            [one for some in results for one in some]
        )
    return [(one.purpose, one.title) for one in distinct]


def test_a_page_counts_for_the_search_that_has_it_highest(tmp_path: Path) -> None:
    startups = found("startups", "news", "lab", "cases")
    technology = found("technology", "lab", "news", "cases")
    practices = found("best_practices", "cases", "lab", "news")
    assert kept(tmp_path, startups, technology, practices) == [
        ("startups", "news"),
        ("technology", "lab"),
        ("best_practices", "cases"),
    ]


def test_a_page_that_is_as_high_in_two_searches_counts_for_the_first(tmp_path: Path) -> None:
    trends, needs = found("trends", "a", "b"), found("needs", "a", "c", "b")
    assert kept(tmp_path, trends, needs) == [("trends", "a"), ("trends", "b"), ("needs", "c")]


def test_pages_that_all_searches_have_are_shared_out(tmp_path: Path) -> None:
    hosts = ("a", "b", "c", "d")
    purposes: tuple[MarketPurpose, ...] = ("trends", "needs", "technology")
    assert kept(tmp_path, *(found(one, *hosts) for one in purposes)) == [
        ("trends", "a"),
        ("trends", "d"),
        ("needs", "b"),
        ("technology", "c"),
    ]


def test_where_there_are_fewer_pages_than_may_be_read_each_search_has_one(tmp_path: Path) -> None:
    purposes: tuple[MarketPurpose, ...] = ("trends", "needs", "technology")
    found_by_all = [found(one, "a", "b", "c") for one in purposes]
    assert kept(tmp_path, *found_by_all, pages=2) == [("trends", "a"), ("needs", "b"), ("technology", "c")]
