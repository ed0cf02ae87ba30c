"""The report as Markdown: its whole layout in both languages, and texts that would change it."""

from pathlib import Path

import msgspec
import pytest
from markdown_it import MarkdownIt

from localllm.research.records import ResearchState, Section, Sentence
from localllm.research.report.report import build_report
from localllm.research.report.report_markdown import to_markdown
from tests.support.research_states import told_state

GOLDEN = Path(__file__).parent / "golden"


@pytest.mark.parametrize("language", ["en", "ja"])
def test_the_whole_report(language: str) -> None:
    expected = (GOLDEN / f"report.{language}.md").read_text(encoding="utf-8")
    assert to_markdown(build_report(told_state(language))) == expected


def with_text(text: str) -> str:
    state = told_state()
    state.sections = [Section("Opening", ("E1",), (Sentence("T1", text, ("E1",)),))]
    return to_markdown(build_report(state))


def test_texts_cannot_become_signs_of_markdown() -> None:
    assert "\n\\# No heading [1]" in with_text("# No heading")
    assert "\n1\\. Not an item" in with_text("1. Not an item here") or "\nNot an item" in with_text(
        "1. Not an item here"
    )
    assert "a \\`b\\` \\<script\\> \\| snake_case \\[x\\]" in with_text("a `b` <script> | snake_case [x]")
    assert "&\\amp;" not in with_text("Tom & Jerry spoke")
    assert "\\&lt;b\\&gt;" in with_text("It shows &lt;b&gt; here")
    assert "\u202e" not in with_text("It is \u202egpj.exe now")


@pytest.mark.parametrize("url", ["javascript:alert(1)", "data:text/html,x", "file:///etc/passwd", "/home/me/a `b`.md"])
def test_addresses_that_are_none_of_the_web_are_inert(url: str) -> None:
    state = told_state()
    state.sources[0] = msgspec.structs.replace(state.sources[0], url=url)
    lines = to_markdown(build_report(state)).splitlines()
    address = lines[next(place for place, line in enumerate(lines) if line.startswith("[1] ")) + 1].strip()
    assert address.startswith("`")
    assert address.endswith("`")
    assert address.count("`") == 2


def test_an_address_stays_on_its_line() -> None:
    state = told_state()
    state.sources[0] = msgspec.structs.replace(state.sources[0], url="https://a.example/x\n\n# Heading <b>")
    assert "\n<https://a.example/x%0A%0A#%20Heading%20%3Cb%3E>  \n" in to_markdown(build_report(state))


@pytest.mark.parametrize(
    "path", ["a)![](https://e.example/pixel.png)", "a>![](https://e.example/pixel.png)", "[Click](/b)*c*", "a_b_&copy;"]
)
def test_an_address_is_a_link_and_nothing_else(path: str) -> None:
    state = told_state()
    state.sources[0] = msgspec.structs.replace(state.sources[0], url=f"https://a.example/{path}")
    page = MarkdownIt("commonmark").render(to_markdown(build_report(state)))
    assert "<img" not in page
    assert page.count("<a ") == page.count("</a>") == len(state.sources)
    assert "<em>c" not in page


def test_a_report_of_nothing_says_so() -> None:
    state = ResearchState(id="2026-0001", question="Why?", today="2026-11-24", partial=True, unanswered=["the reason"])
    markdown = to_markdown(build_report(state))
    assert markdown.startswith("# Why?\n\n> Date: 2026-11-24")
    assert "No part of the question could be answered" in markdown
    assert "This report is partial" in markdown
    assert "- the reason" in markdown
    assert "References" not in markdown
