"""The report as HTML: it needs nothing else, and no text or address in it can do anything."""

import re
from html.parser import HTMLParser

import msgspec
import pytest

from localllm.research.report.report import build_report
from localllm.research.report.report_html import to_html
from tests.support.research_states import random_state, told_state

_VOID = {"meta"}


class Tags(HTMLParser):
    """All tags with their attributes, the text outside of <style>, and whether every tag is closed."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.text = ""
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in _VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open[-1:] != ["style"]:
            self.text += data


def tags_of(html: str) -> Tags:
    found = Tags(html)
    assert found.open == []
    return found


def test_each_citation_leads_to_its_reference_and_shows_its_quote() -> None:
    report = build_report(told_state())
    page = tags_of(html := to_html(report))
    ids = [attributes["id"] for tag, attributes in page.tags if tag == "li" and "id" in attributes]
    assert ids == [f"ref-{one.number}" for one in report.references]
    marks = re.findall(
        r'<span class="cite"><a href="#(ref-\d+)">\[\d+\]</a><span class="tip" role="note">(.*?)<b>', html
    )
    assert {target for target, _quote in marks} == set(ids)
    assert marks[0] == ("ref-1", "“The Kita tower opened in May 1998”")


def test_nothing_of_it_is_loaded_or_run() -> None:
    page = tags_of(html := to_html(build_report(told_state("ja"))))
    names = {tag for tag, _ in page.tags}
    assert not names & {"script", "img", "link", "iframe", "object", "form", "base", "svg"}
    assert all(not name.startswith("on") for _, attributes in page.tags for name in attributes)
    assert "url(" not in html
    assert "@import" not in html
    assert ("html", {"lang": "ja"}) in page.tags


HOSTILE = '"><script>alert(1)</script><img src=x onerror=alert(1)>\u202e'


@pytest.mark.parametrize(
    "url",
    [
        "javascript:alert(1)",
        "JavaScript:alert(1)",
        " javascript:alert(1)",
        "java\nscript:alert(1)",
        "data:text/html,<script>alert(1)</script>",
        "vbscript:x",
        "//evil.example/",
        "/etc/passwd",
        "http://[broken",
        'https://a.example/"onmouseover="alert(1)',
    ],
)
def test_hostile_texts_and_addresses_are_inert(url: str) -> None:
    state = told_state()
    state.title = state.question = HOSTILE
    state.sources[0] = msgspec.structs.replace(state.sources[0], url=url, title=HOSTILE)
    state.evidence[0] = msgspec.structs.replace(state.evidence[0], text=HOSTILE)
    state.unanswered = [HOSTILE]
    page = tags_of(to_html(build_report(state)))
    assert not {"script", "img"} & {tag for tag, _ in page.tags}
    assert all(not name.startswith("on") for _, attributes in page.tags for name in attributes)
    links = [attributes["href"] or "" for tag, attributes in page.tags if tag == "a"]
    assert all(link.startswith(("#ref-", "http://", "https://")) for link in links)
    assert "\u202e" not in page.text


def test_pages_of_random_states_are_whole() -> None:
    for seed in range(60):
        tags_of(to_html(build_report(random_state(seed))))
