"""Of results that lead to one page the first stays."""

from localllm.web.engines.base import SearchResult
from localllm.web.engines.duplicate_results import unique


def test_the_first_of_each_page_stays_in_its_place() -> None:
    urls = ["https://b.example/", "https://a.example/a", "https://c.example/x", "http://www.a.example/a?utm_source=x"]
    urls += ["http://b.example", "https://d.example/"]
    found = unique(SearchResult(f"title {number}", url, "", "e") for number, url in enumerate(urls))
    assert [result.title for result in found] == ["title 0", "title 1", "title 2", "title 5"]
