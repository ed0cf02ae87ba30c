"""The report as data: what is numbered how, what stands of each sentence, and how far a section can be trusted."""

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from localllm.base.i18n import set_language
from localllm.research.claims.unsupported_claims import settle_draft
from localllm.research.records import Disagreement, Remark, Sentence, Side
from localllm.research.report.report import Report, build_report
from localllm.research.report.report_files import FORMATS, render
from localllm.research.report.report_markdown import to_markdown
from tests.support.report_checks import citation_defects, unknown_quotes
from tests.support.research_states import random_state, told_state


@settings(max_examples=80, deadline=None)
@given(seed=st.integers(0, 1_000_000), settles=st.booleans())
def test_numbers_have_no_defects(seed: int, settles: bool) -> None:
    state = random_state(seed)
    if settles:
        settle_draft(state)
    report = build_report(state)
    markdown = to_markdown(report)
    assert citation_defects(markdown) == []
    assert unknown_quotes(markdown, [one.text for one in state.evidence]) == []
    for form in FORMATS:
        assert render(report, form)
    listed = {one.number: one for one in report.references}
    known = {one.id: one for one in state.evidence}
    for section in report.sections:
        for sentence in section.sentences:
            assert sentence.citations
            for citation in sentence.citations:
                quoted = {quote.evidence for quote in listed[citation.number].quotes}
                assert {*citation.evidence} <= quoted <= {*known}
                for name in citation.evidence:
                    assert state.source(known[name].source).url == listed[citation.number].url


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 1_000_000))
def test_nothing_false_stands_in_a_settled_text(seed: int) -> None:
    state = random_state(seed)
    settle_draft(state)
    report = build_report(state)
    standings = {sentence.standing for section in report.sections for sentence in section.sentences}
    assert not standings & {"contradicted", "not_found"}
    again = msgspec.convert(msgspec.to_builtins(state), type(state))
    settle_draft(again)
    assert build_report(again) == report


def test_references_are_numbered_as_they_are_cited() -> None:
    report = build_report(told_state())
    assert [(one.number, one.source) for one in report.references] == [(1, "S1"), (2, "S2"), (3, "S4"), (4, "S3")]
    assert [quote.evidence for quote in report.references[0].quotes] == ["E1"]
    first = report.sections[0].sentences[0]
    assert [citation.number for citation in first.citations] == [1, 2]
    assert first.citations[0].quote == "The Kita tower opened in May 1998"


def test_one_address_has_one_number() -> None:
    state = told_state()
    state.sources[1] = msgspec.structs.replace(state.sources[1], url=state.sources[0].url)
    report = build_report(state)
    assert [one.source for one in report.references] == ["S1", "S4", "S3"]
    assert [quote.evidence for quote in report.references[0].quotes] == ["E1", "E2"]


def test_each_sentence_says_how_it_stands() -> None:
    standings = [one.standing for section in build_report(told_state()).sections for one in section.sentences]
    assert standings == ["supported", "supported", "supported", "partial", "unchecked"]
    unchecked = build_report(told_state(checked=False))
    assert not unchecked.checked
    assert {one.standing for section in unchecked.sections for one in section.sentences} == {"unchecked"}
    assert {section.confidence.level for section in unchecked.sections} == {"unchecked"}


def test_confidence_counts_sentences_and_independent_sources() -> None:
    def first_of(report: Report) -> tuple[str, int, int, int]:
        confidence = report.sections[0].confidence
        return confidence.level, confidence.supported, confidence.sentences, confidence.sources

    state = told_state()
    assert first_of(build_report(state)) == ("medium", 2, 2, 2)  # E2 is disputed, and S4 is a copy of S1
    state.disagreements = []
    assert first_of(build_report(state)) == ("high", 2, 2, 2)
    kept = state.sections[0].sentences[1]
    state.sections[0] = msgspec.structs.replace(
        state.sections[0], sentences=(kept, Sentence("T9", "It was built then.", ("E1",)))
    )
    assert first_of(build_report(state)) == ("low", 1, 2, 1)


def test_what_is_not_supported_is_listed_once_with_its_reason() -> None:
    listed = build_report(told_state()).unsupported
    assert [(one.label, one.is_in_text, one.reason) for one in listed] == [
        ("partial", True, "Only a part of it is supported."),
        ("not_found", False, "No source says it."),
    ]


def test_a_disagreement_with_one_side_left_is_none() -> None:
    state = told_state()
    state.disagreements = [Disagreement("height", (Side("It is 1 m tall.", ("E99",)), Side("It is 2 m.", ("E2",))))]
    assert build_report(state).disagreements == ()


@pytest.mark.parametrize("spoken", ["en", "ja"])
def test_the_report_speaks_its_own_language(spoken: str) -> None:
    state = told_state("ja")
    state.remarks = [Remark("The web is off.")]
    set_language(spoken)
    try:
        markdown = to_markdown(build_report(state))
    finally:
        set_language("en")
    assert "## 参考文献" in markdown
    assert "web is off" not in markdown
    assert build_report(state).limits == build_report(msgspec.structs.replace(state, language="ja")).limits


def test_the_json_has_every_field_of_the_report() -> None:
    report = build_report(told_state())
    assert msgspec.json.decode(render(report, "json"), type=Report) == report
