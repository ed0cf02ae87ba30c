"""Sessions as files for people and programs: nothing in them can break out of its place."""

import json
import re
import resource
from html.parser import HTMLParser
from pathlib import Path

import pytest

from localllm.app.report_formats import FORMATS
from localllm.base.errors import ConfigurationError
from localllm.base.events import (
    MessageCompleted,
    Notice,
    Rewound,
    RunFinished,
    RunStarted,
    ToolFinished,
    ToolStarted,
    Usage,
)
from localllm.sessions.entries import Began, Entry, Resumed, Titled
from localllm.sessions.export import export, format_for, format_of, write_new
from localllm.sessions.transcript import Called, Said, transcript_of
from tests.support.session_logs import head, turn

EVIL = '<script>alert(1)</script> "&amp; <img src=x onerror=alert(1)>\x1b[2J```\n</pre></details>'


def text_of(entries: list[Entry], to: str, torn: int = 0) -> str:
    form = format_of(to)
    assert form
    began = Began(session_id="20261122-090500-ab12", time=1.8e9, version="0")
    return export(transcript_of("20261122-090500-ab12", "shop", [began, *head(), *entries], torn), form)


def test_a_tools_name_stays_in_its_place() -> None:
    name = "tool\x1b]0;pwn\x07\nYou\n---\u202e\x9b31m"
    entries: list[Entry] = [
        RunStarted(session_id="s", query="q", provider="p", model="m"),
        ToolStarted(call_id="c", name=name, arguments={}),
        ToolFinished(call_id="c", name=name, success=False, summary="none", payload={}),
    ]
    text = text_of(entries, "x.md")
    assert not set("\x1b\x07\u202e\x9b") & set(text)
    assert "\n---" not in text


class TestTranscript:
    def test_calls_have_what_the_model_read(self) -> None:
        parts = transcript_of("s", "p", turn("Run", "Done.", command="pytest")).parts
        assert [type(part).__name__ for part in parts] == ["Said", "Called", "Answered"]
        assert isinstance(parts[0], Said)
        assert parts[0].time == 1e9 + 1
        assert isinstance(parts[1], Called)
        assert parts[1].result == "x" * 5000
        assert parts[1].arguments == {"command": "pytest"}

    def test_a_result_whose_message_was_not_kept(self) -> None:
        entries: list[Entry] = [
            RunStarted(session_id="s", query="q", provider="p", model="m"),
            ToolStarted(call_id="c", name="read_file", arguments={"file_path": "a"}),
            ToolFinished(
                call_id="c", name="read_file", success=True, summary="1 line", payload={"content": "old text"}
            ),
            RunFinished(status="interrupted", answer=""),
        ]
        transcript = transcript_of("20261122-090500-ab12", "p", entries)
        call = transcript.parts[1]
        assert isinstance(call, Called)
        assert call.result == "old text"
        assert transcript.began == 1795338300.0
        assert "! " not in text_of(entries, "md")


class TestMarkdown:
    def test_how_it_reads(self) -> None:
        answered = MessageCompleted(text="## 結果\n\n直しました。", model="qwen", usage=Usage(prompt_tokens=1200))
        entries: list[Entry] = [
            Titled(title="割引 *の* 修理"),
            RunStarted(session_id="s", query="割引を直して\n急いで", provider="p", model="m"),
            ToolStarted(call_id="c", name="run_command", arguments={"command": "pytest `x`"}),
            ToolFinished(
                call_id="c", name="run_command", success=False, summary="1 failed", payload={"stdout": "E ``` E"}
            ),
            answered,
            RunFinished(status="done", answer="直しました。"),
        ]
        text = text_of(entries, "md")
        assert text.startswith("# 割引 \\*の\\* 修理\n\n- Project: shop\n- Started: 2027-01-15")
        assert "- Model: qwen\n- Requests: 1\n- Tokens: 1,200 read, 0 written\n" in text
        assert text.endswith(
            "## You\n\n> 割引を直して\n> 急いで\n\n"
            "**✗ run\\_command** `` command=pytest `x` ``\n\n1 failed\n\n````\nE ``` E\n````\n\n"
            "#### 結果\n\n直しました。\n"
        )

    def test_an_open_fence_or_a_heading_in_an_answer_breaks_nothing(self) -> None:
        text = text_of([*turn("q", "# Top\n```py\n# comment\nx"), *turn("r", "b")], "md")
        assert "### Top\n```py\n# comment\nx\n```\n" in text
        assert text.count("## You") == 2

    def test_nothing_in_a_request_or_a_result_ends_its_block(self) -> None:
        entries: list[Entry] = [
            RunStarted(session_id="s", query="one\n\ntwo", provider="p", model="m"),
            ToolStarted(call_id="c", name="t", arguments={}),
            ToolFinished(call_id="c", name="t", success=True, summary="", payload={"output": "`a` ```` b ``"}),
        ]
        assert text_of(entries, "md").endswith("> one\n>\n> two\n\n**✓ t**\n\n`````\n`a` ```` b ``\n`````\n")

    def test_long_results_are_cut(self) -> None:
        entries: list[Entry] = [
            ToolFinished(call_id="c", name="t", success=True, summary="s", payload={"output": "line\n" * 100})
        ]
        text = text_of(entries, "md")
        assert text.count("line") == 40 + 1
        assert "60 lines left out" in text
        whole = ToolFinished(call_id="c", name="t", success=True, summary="s", payload={"output": "line\n" * 40})
        assert "left out" not in text_of([whole], "md")


class _Checker(HTMLParser):
    """Every tag the page opens, and that they are closed in order."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.open: list[str] = []
        self.attributes: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}
        if tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


class TestPage:
    def test_what_was_said_is_text_wherever_it_stands(self) -> None:
        entries: list[Entry] = [
            Titled(title=EVIL),
            *turn(EVIL, EVIL),
            MessageCompleted(text="", thinking=EVIL, model=EVIL),
            ToolStarted(call_id="c", name=EVIL, arguments={EVIL: EVIL}),
            ToolFinished(call_id="c", name=EVIL, success=True, summary=EVIL, payload={"diff": f"+{EVIL}\n-{EVIL}"}),
            ToolFinished(call_id="d", name="t", success=True, summary="s", payload={"output": EVIL}),
            Notice(text=EVIL),
            RunFinished(status="error", answer="", error=EVIL),
            Rewound(messages=1),
        ]
        page = text_of(entries, "html", torn=1)
        checker = _Checker()
        checker.feed(page)
        assert checker.open == []
        assert not checker.tags & {"script", "img", "iframe", "link", "a", "form"}
        assert checker.attributes <= {"lang", "charset", "http-equiv", "content", "name", "class"}
        assert "default-src 'none'" in page
        assert "\x1b" not in page
        assert not re.search(r"https?://", page), "nothing is fetched"

    def test_japanese_is_there_as_it_is(self) -> None:
        page = text_of(turn("割引を直して", "直しました。"), "html")
        assert "割引を直して" in page
        assert '<meta charset="utf-8">' in page


class TestJson:
    def test_it_holds_the_parts(self) -> None:
        whole = json.loads(text_of(turn("割引", "ok", command="ls"), "json"))
        assert whole["session_id"] == "20261122-090500-ab12"
        assert [part["kind"] for part in whole["parts"]] == ["person", "tool", "assistant"]
        assert whole["parts"][0]["text"] == "割引"

    def test_what_else_happened_is_told_in_words(self) -> None:
        whole = json.loads(text_of([*turn("q", "a"), Resumed(time=1.0), Notice(text="ui is slow.")], "json"))
        assert [part["text"] for part in whole["parts"] if part["kind"] == "remark"] == ["Resumed", "ui is slow."]


@pytest.mark.parametrize(
    ("name", "form"),
    [
        ("md", "md"),
        ("HTML", "html"),
        (".json", "json"),
        ("notes.md", "md"),
        ("a.htm", "html"),
        ("a.txt", None),
        ("", None),
    ],
)
def test_the_format_a_name_means(name: str, form: str | None) -> None:
    assert format_of(name) == form


@pytest.mark.parametrize(
    ("name", "form"), [("a.htm", "html"), ("a.md", "md"), ("a", "md"), ("a.txt", "md"), ("v1.2", "md")]
)
def test_a_file_is_written_as_its_name_ends(name: str, form: str) -> None:
    assert format_for(name) == form


def test_a_format_there_is_not_is_refused() -> None:
    with pytest.raises(ConfigurationError) as caught:
        format_for("talk.docx")
    assert "“docx”" in caught.value.what
    assert all(form in str(caught.value) for form in FORMATS)


def test_where_it_cannot_be_written_whole_no_part_stays(tmp_path: Path) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10, hard))
    try:
        with pytest.raises(ConfigurationError, match="Cannot write"):
            write_new(tmp_path, tmp_path / "talk.md", "x" * 100)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert not list(tmp_path.iterdir())
