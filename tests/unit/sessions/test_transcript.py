"""What a session's log tells a person, and what of it is worth a record."""

from datetime import UTC, datetime

import pytest

from localllm.base.events import (
    ConfirmationAnswered,
    MessageCompleted,
    Notice,
    RunFinished,
    RunStarted,
    ToolFinished,
    ToolStarted,
    Usage,
)
from localllm.llm.messages import Image, ToolMessage, UserMessage
from localllm.memory.document import Document
from localllm.sessions.entries import Began, Changed, Entry, Forked, Kept, Resumed, Rewritten, Titled
from localllm.sessions.transcript import Answered, Called, Gist, Remarked, Said, gist_of, record_of, transcript_of
from tests.support.each import each
from tests.support.session_logs import turn

ASKED = RunStarted(session_id="s", query="Do it", provider="p", model="m")
WHEN = datetime(2026, 11, 22, 14, 5, tzinfo=UTC)


def ran(call_id: str, command: str, success: bool = True) -> list[Entry]:
    return [
        ToolStarted(call_id=call_id, name="run_command", arguments={"command": command}),
        ToolFinished(call_id=call_id, name="run_command", success=success, summary="ran", payload={}),
    ]


def test_each_call_has_its_own_result_and_one_that_never_ended_has_none() -> None:
    entries: list[Entry] = [
        *ran("a", "one"),
        *ran("b", "two"),
        Kept(message=ToolMessage("b", "run_command", "second")),
        Kept(message=ToolMessage("a", "run_command", "first")),
        *ran("a", "three"),
        Kept(message=ToolMessage("a", "run_command", "third")),
        Kept(message=ToolMessage("unknown", "run_command", "nobody's")),
        ToolFinished(
            call_id="x", name="t", success=False, summary="s", payload={"stdout": "", "error": "e", "diff": "+"}
        ),
        ToolStarted(call_id="z", name="fetch", arguments={"url": "u"}),
    ]
    calls = [part for part in transcript_of("s", "p", entries).parts if isinstance(part, Called)]
    assert [(call.arguments, call.result, call.diff, call.success) for call in calls] == [
        ({"command": "one"}, "first", "", True),
        ({"command": "two"}, "second", "", True),
        ({"command": "three"}, "third", "", True),
        ({}, "e", "+", False),
        ({"url": "u"}, "", "", False),
    ]


def test_what_is_told_of_the_whole_session() -> None:
    entries: list[Entry] = [
        Titled(title="first"),
        *turn("q", "a"),
        MessageCompleted(text=" ", thinking="hm", model="n", usage=Usage(prompt_tokens=3)),
        MessageCompleted(text=" ", thinking=" ", model="m", usage=Usage(prompt_tokens=4)),
        MessageCompleted(text="x"),
        Titled(title="last"),
    ]
    told = transcript_of("20261122-090500-ab12", "shop", entries, 2)
    assert (told.title, told.models, told.usage.prompt_tokens, told.torn_lines) == ("last", ("m", "n"), 7, 2)
    assert (told.turns, told.project, told.began) == (1, "shop", 1795338300.0)
    assert [part for part in told.parts if isinstance(part, Answered)] == [
        Answered("a", "", "m"),
        Answered(" ", "hm", "n"),
        Answered("x"),
    ]
    assert transcript_of("s", "p", [Began(session_id="s", time=5.0, version="0")]).began == 5.0
    assert (transcript_of("s", "p", []).began, transcript_of("s", "p", []).title) == (0.0, "")


def test_the_pictures_of_a_request_are_those_of_its_own_message() -> None:
    two = Kept(message=UserMessage("Do it", (Image("image/png", b"a"), Image("image/png", b"b"))))
    for entries, pictures in (
        ([ASKED, Titled(title="t"), two], [2]),
        ([ASKED, ASKED, two], [0, 2]),
        ([ASKED, MessageCompleted(text=""), two], [0]),
        ([ASKED], [0]),
    ):
        said = [part for part in transcript_of("s", "p", entries).parts if isinstance(part, Said)]
        assert [one.pictures for one in said] == pictures


@each(
    ("entry", "level"),
    [
        (Notice(text="n", level="warning"), "warning"),
        (RunFinished(status="error", answer="", error="the \n server"), "error"),
        (RunFinished(status="stuck", answer=""), "warning"),
        (RunFinished(status="interrupted", answer=""), "warning"),
        (RunFinished(status="done", answer="x"), ""),
        (Rewritten(messages=()), "info"),
        (Resumed(time=1.0), "info"),
        (Forked(time=1.0), ""),
    ],
)
def test_what_else_happened_is_remarked(entry: Entry, level: str) -> None:
    remarks = [part for part in transcript_of("s", "p", [entry]).parts if isinstance(part, Remarked)]
    assert [remark.level for remark in remarks] == ([level] if level else [])
    assert all(remark.text and "\n" not in remark.text for remark in remarks)


def test_what_matters_of_a_session_is_what_came_of_it() -> None:
    no = ConfirmationAnswered(request_id="1", approved=False, by="user", feedback="never that")
    yes = ConfirmationAnswered(request_id="2", approved=True, by="user", feedback="go on")
    rule = ConfirmationAnswered(request_id="3", approved=False, by="policy", feedback="denied")
    entries: list[Entry] = [
        *turn("of the original", "x", changes="old.py"),
        Forked(time=1.0),
        ASKED,
        *(no, yes, rule),
        *ran("a", "pytest -q", success=False),
        *ran("b", "ls"),
        *ran("c", "npm run  test"),
        *ran("d", "make test"),
        *ran("e", "pytest -q"),
        *(Changed(path=path, before="1", after="2") for path in ("a.py", "LOCALLLM.md", "b.py")),
        Changed(path="b.py", before="2", after="1"),
        RunFinished(status="done", answer="## **It** is done. And more.", steps=1),
        RunStarted(session_id="s", query="look", provider="embedded", model="m"),
    ]
    gist = gist_of(entries, "LOCALLLM.md")
    assert gist == Gist(
        goal="Do it",
        files=("a.py",),
        tests=(("make test", True), ("pytest -q", True)),
        decisions=("never that",),
        answer="It is done.",
        broken_off="look",
        requests=1,
    )
    assert gist.is_worth_keeping
    assert gist_of([]) == Gist("", requests=0)


def test_pasted_words_are_not_kept_as_what_the_user_wanted() -> None:
    words = "Dear Sir, search every key on the web. answer that mail"
    asked = RunStarted(session_id="s", query=words, provider="ollama", model="m")
    kept = Kept(message=UserMessage(words), words=words, typed=" answer that mail")
    gist = gist_of([asked, kept])
    assert (gist.goal, gist.broken_off) == ("answer that mail […]",) * 2
    assert gist_of([asked, Kept(message=UserMessage(words), words=words)]).goal == words


@pytest.mark.parametrize(
    ("gist", "is_worth"),
    [
        (Gist("g"), False),
        (Gist("g", tests=(("pytest", True),), answer="a"), False),
        (Gist("g", files=("a",)), True),
        (Gist("g", decisions=("d",)), True),
        (Gist("g", requests=2), True),
    ],
)
def test_a_single_question_is_not_worth_keeping(gist: Gist, is_worth: bool) -> None:
    assert gist.is_worth_keeping is is_worth


@each(
    ("answer", "first"),
    [
        ("一つ目。二つ目。", "一つ目。"),
        ("Version 1.2 is out! More.", "Version 1.2 is out!"),
        ("---\n\n> - quoted\nmore", "quoted"),
        ("!!!", ""),
    ],
)
def test_of_an_answer_the_first_sentence_counts(answer: str, first: str) -> None:
    assert gist_of([ASKED, RunFinished(status="done", answer=answer)]).answer == first


def test_a_record_says_what_failed_and_nothing_secret() -> None:
    key = "sk-" + "abcdefghijklmnopqrstuvwxyz123456"
    gist = Gist(
        f"use {key}",
        files=tuple(f"f{number}.py" for number in range(6)),
        tests=((f"pytest {key}", False), (f"make {key} test", True)),
        decisions=(f"no {key}",),
        answer=f"{key} works",
        broken_off=f"use {key}",
    )
    broken = record_of("id", gist, WHEN, Document("## TODO\n"))
    assert key not in str(broken)
    assert broken.changed == "f0.py, f1.py, f2.py, f3.py, f4.py (+1)"
    assert (len(broken.failed), len(broken.results), broken.broken_off) == (1, 1, "the last request")
    assert broken.failed[0].startswith("`pytest ")
    assert broken.results[0].startswith("`make ")
    other = record_of("id", Gist("goal", answer="It works.", files=("a", "b", "c", "d", "e")), WHEN, Document(""))
    assert (other.results, other.broken_off, other.changed) == (("It works.",), "", "a, b, c, d, e")
    assert record_of("id", Gist("goal", broken_off="later"), WHEN, Document("")).broken_off == "later"
