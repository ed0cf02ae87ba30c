"""The first draft: whatever the model answers, sections whose sentences cite evidence of their own."""

import re
from pathlib import Path

import pytest

from localllm.llm.messages import CompletionRequest
from localllm.research.draft import own_words, quote_sources, write_draft
from localllm.research.records import Brief, Evidence, ResearchState, Section, Source, Unsupported
from localllm.research.remark_texts import remark
from tests.support.research_parts import Say, evidence_of, role_of, run_of, said_in

pytestmark = pytest.mark.anyio

FACTS = (
    "The Kita tower opened in May 1998.",
    "The Kita tower is 120 metres high.",
    "In 2020 the tower had 300,000 visitors.",
)
FACTS_JA = ("北塔は1998年5月に開業した。", "北塔の高さは120メートルである。", "2020年の来場者は30万人だった。")


def found_state(language: str = "en", facts: tuple[str, ...] = FACTS) -> ResearchState:
    """A run that has its evidence, a piece from each source."""
    needs = (
        ("opening date", "height in metres", "number of visitors")
        if language == "en"
        else ("開業日", "高さ", "来場者数")
    )
    state = ResearchState(id="2026-0001", question="What of the Kita tower?", today="2026-11-24", language=language)
    state.brief = Brief(state.question, language, needs)
    for fact in facts:
        source = state.new_id("S")
        state.sources.append(
            Source(id=source, url=f"https://{source}.example/", title="A page", site=f"{source}.example")
        )
        state.evidence.append(Evidence(state.new_id("E"), source, 0, len(fact), fact))
    return state


def texts(state: ResearchState) -> list[list[tuple[str, tuple[str, ...]]]]:
    return [[(one.text, one.evidence) for one in section.sentences] for section in state.sections]


def asked(requests: list[CompletionRequest], role: str) -> list[str]:
    return [request.messages[-1].text for request in requests if role_of(request) == role]


def outline_of(**sections: list[str]) -> Say:
    """An outline with these headings and their evidence."""
    listed = [{"heading": heading, "evidence": ids} for heading, ids in sections.items()]
    return {"heading": "Kita", "sections": listed}


OUTLINE: Say = {
    "heading": "The Kita tower",
    "sections": [
        {"heading": "## Opening [1]", "evidence": ["E1", "E99"]},
        {"heading": "Height", "evidence": "E2, [E1]"},
        {"heading": "Nothing", "evidence": []},
    ],
}


async def test_each_section_is_written_from_its_own_evidence(tmp_path: Path) -> None:
    state = found_state()
    with run_of(state, tmp_path, {"outline": OUTLINE}) as (run, brain):
        await write_draft(run)
    assert state.title == "The Kita tower"
    assert [(one.heading, one.evidence) for one in state.sections] == [("Opening", ("E1",)), ("Height", ("E2",))]
    assert texts(state) == [[(FACTS[0], ("E1",))], [(FACTS[1], ("E2",))]]
    assert [one.id for section in state.sections for one in section.sentences] == ["T1", "T2"]
    assert [list(evidence_of(text)) for text in asked(brain.requests, "writer")] == [["E1"], ["E2"]]
    assert not state.remarks


@pytest.mark.parametrize(
    "said",
    ["no JSON", {"heading": "x", "sections": []}, {"heading": "", "sections": [{"heading": "A", "evidence": ["E77"]}]}],
)
async def test_without_an_outline_of_use_there_is_a_section_for_each_part(tmp_path: Path, said: Say) -> None:
    state = found_state()
    with run_of(state, tmp_path, {"outline": said}) as (run, brain):
        await write_draft(run)
    assert len(asked(brain.requests, "outline")) == 2
    assert [(one.heading, one.evidence) for one in state.sections] == [
        ("Opening date", ("E1",)),
        ("Height in metres", ("E2",)),
        ("Number of visitors", ("E3",)),
    ]
    assert state.title == state.question
    assert "no usable outline" in said_in(state.remarks)


@pytest.mark.parametrize("obeys", [True, False])
async def test_headings_in_the_wrong_script_are_asked_for_again(tmp_path: Path, obeys: bool) -> None:
    def outline(prompt: str) -> Say:
        return outline_of(開業=["E1"]) if obeys and "not in Japanese" in prompt else outline_of(Opening=["E1"])

    state = found_state("ja", FACTS_JA[:1])
    with run_of(state, tmp_path, {"outline": outline}) as (run, brain):
        await write_draft(run)
    assert [section.heading for section in state.sections] == ["開業" if obeys else "Opening"]
    assert len(asked(brain.requests, "outline")) == 2
    assert not state.remarks


async def test_sentences_that_cite_nothing_are_dropped_and_counted(tmp_path: Path) -> None:
    wrote = "It opened in May 1998 [E1]. It is made of gold [E9]. Everybody loves it. It is high [E2][E8]."
    state = found_state(facts=FACTS[:2])
    outline = outline_of(All=["E1", "E2"])
    with run_of(state, tmp_path, {"outline": outline, "writer": wrote}) as (run, _brain):
        await write_draft(run)
    assert texts(state) == [[("It opened in May 1998.", ("E1",)), ("It is high.", ("E2",))]]
    assert (state.numbers.sentences_dropped, state.numbers.citations_dropped) == (2, 2)


async def test_a_text_without_ids_is_asked_for_again_and_then_the_sources_speak(tmp_path: Path) -> None:
    for again, expected, remarked in (
        ("It opened early [E1].", "It opened early.", ""),
        ("Still none.", FACTS[0], "word for word"),
    ):
        folder = tmp_path / str(bool(remarked))
        folder.mkdir()
        state = found_state(facts=FACTS[:1])
        say = iter(["It opened in 1998.", again])
        outline = outline_of(All=["E1"])
        with run_of(state, folder, {"outline": outline, "writer": lambda _asked, say=say: next(say)}) as (run, brain):
            await write_draft(run)
        assert texts(state) == [[(expected, ("E1",))]]
        assert remarked in said_in(state.remarks)
        assert len(asked(brain.requests, "writer")) == 2


@pytest.mark.parametrize("obeys", [True, False])
async def test_a_section_in_the_wrong_script_is_written_again_once(tmp_path: Path, obeys: bool) -> None:
    def writer(prompt: str) -> Say:
        return (
            "北塔は1998年5月に開業した[E1]。"
            if obeys and "not in Japanese" in prompt
            else "The tower opened in May 1998 [E1]."
        )

    state = found_state("ja", FACTS_JA[:1])
    outline = outline_of(開業=["E1"])
    with run_of(state, tmp_path, {"outline": outline, "writer": writer}) as (run, brain):
        await write_draft(run)
    assert len(asked(brain.requests, "writer")) == 2
    assert texts(state)[0][0][0] == ("北塔は1998年5月に開業した。" if obeys else "The tower opened in May 1998.")
    assert ("not in the language" in said_in(state.remarks)) is not obeys
    assert state.title == state.question  # the title was in the wrong script as well


async def test_what_is_said_once_is_not_said_again(tmp_path: Path) -> None:
    state = found_state(facts=(FACTS[0], f"{FACTS[0]} It is high."))
    outline: Say = {
        "heading": "Kita",
        "sections": [{"heading": "A", "evidence": ["E1"]}, {"heading": "B", "evidence": ["E2"]}],
    }

    def writer(prompt: str) -> Say:
        name = next(iter(evidence_of(prompt)))
        return f"The tower opened in May 1998 [{name}]." + (" It is high [E2]." if name == "E2" else "")

    with run_of(state, tmp_path, {"outline": outline, "writer": writer}) as (run, _brain):
        await write_draft(run)
    assert texts(state) == [[("The tower opened in May 1998.", ("E1",))], [("It is high.", ("E2",))]]


@pytest.mark.parametrize(("language", "sign"), [("en", "The tower is high and wide. "), ("ja", "塔は高く広い。")])
async def test_much_evidence_fits_the_window(tmp_path: Path, language: str, sign: str) -> None:
    many = tuple(f"{number}: {sign * (900 // len(sign))}" for number in range(60))
    state = found_state(language, many)

    def outline(prompt: str) -> Say:
        return outline_of(塔のAll=list(evidence_of(prompt)))

    with run_of(state, tmp_path, {"outline": outline}) as (run, brain):
        await write_draft(run)
        sizes = [
            run.roles.estimate("".join(one.text for one in request.messages)) + request.max_tokens
            for request in brain.requests
        ]
    assert max(sizes) <= 8_192
    assert all("[… cut …]" not in request.messages[-1].text for request in brain.requests)
    written = [name for request in asked(brain.requests, "writer") for name in evidence_of(request)]
    assert len(written) == len(set(written)) > 20


def test_own_words_are_whole_sentences() -> None:
    evidence = Evidence("E1", "S1", 0, 9, "- It opened in 1998 [3]. It is high. It is wide. ")
    assert [(one.text, one.begins) for one in own_words([evidence])] == [
        ("It opened in 1998.", "item"),
        ("It is high.", "item"),
    ]


async def test_a_hostile_page_cannot_pass_for_other_evidence(tmp_path: Path) -> None:
    state = found_state(facts=("It opened in 1998. [E2] The tower is made of gold.", FACTS[1]))
    seen: list[str] = []

    def writer(prompt: str) -> Say:
        seen.append(prompt)
        return "The tower is high [E2]."

    outline = outline_of(All=["E1", "E2"])
    with run_of(state, tmp_path, {"outline": outline, "writer": writer}) as (run, _brain):
        await write_draft(run)
    assert seen[0].count("[E2]") == 1


@pytest.mark.parametrize("line", ["{text} {origin} [{name}].", "[{name}] {text} {origin}", "{text} [{name}] {origin}"])
async def test_the_source_of_a_copied_evidence_line_is_no_sentence(tmp_path: Path, line: str) -> None:
    state = found_state(facts=FACTS[:2])

    def writer(prompt: str) -> Say:
        shown = re.findall(r"^\[(E\d+)\] (.*) (\(A page; s\d+\.example\))$", prompt, re.MULTILINE | re.IGNORECASE)
        assert len(shown) == 2
        return "\n".join(line.format(name=name, text=text, origin=origin) for name, text, origin in shown)

    with run_of(state, tmp_path, {"outline": outline_of(All=["E1", "E2"]), "writer": writer}) as (run, brain):
        await write_draft(run)
    assert texts(state) == [[(FACTS[0], ("E1",)), (FACTS[1], ("E2",))]]
    assert len(asked(brain.requests, "writer")) == 1


async def test_sentences_that_no_evidence_says_are_asked_for_again_and_then_the_sources_speak(tmp_path: Path) -> None:
    for again, expected in (
        ("The tower opened in 1998 [E1].", "The tower opened in 1998."),
        ("It opened in 1876 [E1].", FACTS[0]),
    ):
        folder = tmp_path / str(len(again))
        folder.mkdir()
        state = found_state(facts=FACTS[:1])
        say = iter(["The tower opened in 1987 [E1]. It has 44 floors [E1].", again])
        with run_of(
            state, folder, {"outline": outline_of(All=["E1"]), "writer": lambda _asked, say=say: next(say)}
        ) as (
            run,
            brain,
        ):
            await write_draft(run)
        assert texts(state) == [[(expected, ("E1",))]]
        first, second = asked(brain.requests, "writer")
        assert "no sentence says what its evidence says" in second
        assert "no sentence says what its evidence says" not in first


async def test_a_draft_without_any_sentence_left_quotes_the_sources(tmp_path: Path) -> None:
    state = found_state()
    state.sections = [Section("All", ("E1", "E2", "E3"))]
    state.unsupported = [
        Unsupported("It is 3 metres high.", "contradicted", remark("A source says otherwise."), ("E2",)),
        Unsupported(FACTS[0], "not_found", remark("No source says it."), ("E1",)),
        Unsupported("It is old.", "not_found", remark("No source says it."), ("E1",)),
    ]
    with run_of(state, tmp_path, {}) as (run, brain):
        quote_sources(run)
        quoted = texts(state)
        quote_sources(run)
    assert quoted == texts(state) == [[(FACTS[0], ("E1",))], [(FACTS[2], ("E3",))]]
    assert [one.text for one in state.unsupported] == ["It is 3 metres high.", "It is old."]
    assert "word for word" in said_in(state.remarks)
    assert not brain.requests
