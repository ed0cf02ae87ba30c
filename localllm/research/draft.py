"""Write the first draft: an outline, then each section from its own evidence, with citations.

If the model's text of a section is unusable, the section quotes the sources' sentences. So there is always a draft, and
everything in it has evidence.
"""

import re
from collections.abc import Sequence

import msgspec

from localllm.base.i18n import N_
from localllm.base.lazy_patterns import late_pattern
from localllm.research.cited_sentences import CitedText, is_sentence, read_sentences, tidy
from localllm.research.claims.claim_checks import refuse
from localllm.research.claims.verdicts import context_of
from localllm.research.evidence_lines import batches, evidence_lines, without_origins
from localllm.research.outline import WRONG_SCRIPT, make_outline, ranked, sections_by_rule
from localllm.research.records import Evidence, ResearchState, Section, Sentence
from localllm.research.remark_texts import remark
from localllm.research.role_answers import AnswerUnusable
from localllm.research.run_context import RunContext
from localllm.text.scripts import is_in_language
from localllm.text.sentences import split_sentences

_MOST_AT_ONCE = 12
"""Pieces of evidence per request; with more, a small model omits some."""

_OWN_WORDS = 2
"""Quoted sentences per piece of evidence if the model wrote none."""

_UNMARKED = "Not usable: no sentence ended with ids of <evidence>. End every sentence with its ids, such as [E3]."
_UNSAID = "Not usable: no sentence says what its evidence says. Take over the words of the evidence."
_NOTHING = late_pattern(r"\W*none\W*", re.IGNORECASE)
"""The model's answer if no evidence fits a heading."""


async def write_draft(run: RunContext) -> None:
    """Write the title and all sections of the report into the state."""
    state = run.state
    outline = await make_outline(run)
    sections: list[Section] = []
    for planned in outline.sections:
        pieces = [state.evidence_named(name) for name in planned.evidence]
        sentences = await write_section(run, planned.heading, pieces)
        sections.append(msgspec.structs.replace(planned, sentences=_new(sections, sentences)))
    state.title = outline.title
    state.sections = [_numbered(state, section) for section in sections if section.sentences]


async def write_section(
    run: RunContext, heading: str, evidence: Sequence[Evidence], *, falls_back: bool = True
) -> list[Sentence]:
    """Write the sentences of a section, without ids, from its evidence alone; if the model's are unusable, quote the
    sources unless `falls_back` is false."""
    roles = run.roles
    asked = {"question": run.state.question, "heading": heading}
    fixed = sum(roles.estimate(value) for value in [*asked.values(), _UNMARKED, _UNSAID, *WRONG_SCRIPT.values()])
    room = roles.room("writer") - fixed - 80
    written: list[Sentence] = []
    for group in batches(run.state, evidence, room, roles.estimate, _MOST_AT_ONCE):
        shown = evidence_lines(run.state, group, room, roles.estimate)
        paragraph = await _write(run, {**asked, "evidence": shown}, group, is_checked=falls_back)
        if not paragraph and falls_back:
            run.remark(remark(N_("The section “{heading}” quotes its sources word for word."), heading=heading))
            paragraph = own_words(group)
        if written and paragraph:
            paragraph[0] = msgspec.structs.replace(paragraph[0], begins=paragraph[0].begins or "paragraph")
        written += paragraph
    return written


async def _write(
    run: RunContext, asked: dict[str, str], evidence: Sequence[Evidence], *, is_checked: bool
) -> list[Sentence]:
    """Have the model write sentences; retry once if none has a citation or they are in the wrong script. If checked,
    also if none may be what its evidence says; such sentences are not returned."""
    allowed = {one.id for one in evidence}
    language = run.state.language
    best = CitedText(())
    complaint = ""
    for _attempt in range(2):
        try:
            text = await run.roles.ask("writer", {**asked, "complaint": complaint})
        except AnswerUnusable:
            break
        read = read_sentences(without_origins(run.state, evidence, text), allowed)
        if _NOTHING.fullmatch(text):
            break
        is_said = any(not is_checked or _may_be_said(run, one) for one in read.sentences)
        is_fine = is_said and _is_written_in(read.sentences, language)
        if is_fine or (is_said and len(read.sentences) > len(best.sentences)):
            best = read
        if is_fine:
            break
        complaint = _UNMARKED if not read.sentences else WRONG_SCRIPT.get(language, "") if is_said else _UNSAID
    if best.sentences and not _is_written_in(best.sentences, language):
        heading = asked["heading"]
        run.remark(remark(N_("The section “{heading}” is not in the language of the report."), heading=heading))
    run.state.numbers.sentences_dropped += best.dropped
    run.state.numbers.citations_dropped += best.unknown
    return list(best.sentences)


def _may_be_said(run: RunContext, sentence: Sentence) -> bool:
    """Whether no rule rejects a sentence by the evidence it cites."""
    cited = [run.state.evidence_named(name) for name in sentence.evidence]
    context = [text for one in cited for text in context_of(run, one)]
    return refuse(sentence.text, [one.text for one in cited], today=run.state.today, context=context) is None


def quote_sources(run: RunContext) -> None:
    """Quote the best evidence if no sentence of the draft is left: what was found must not be lost with it."""
    state = run.state
    if not state.evidence or any(section.sentences for section in state.sections):
        return
    denied = {name for one in state.unsupported if one.label == "contradicted" for name in one.evidence}
    evidence = [one for one in ranked(state) if one.id not in denied][:_MOST_AT_ONCE]
    sections: list[Section] = []
    for planned in sections_by_rule(state, evidence):
        sentences = own_words([state.evidence_named(name) for name in planned.evidence])
        sections.append(msgspec.structs.replace(planned, sentences=_new(sections, sentences)))
    state.sections = [_numbered(state, section) for section in sections if section.sentences]
    quoted = {plain_form(one.text) for section in state.sections for one in section.sentences}
    state.unsupported = [one for one in state.unsupported if plain_form(one.text) not in quoted]
    if state.sections:
        run.remark(remark(N_("No sentence of the model could be kept: the report quotes its sources word for word.")))


def own_words(evidence: Sequence[Evidence]) -> list[Sentence]:
    """Quote the sources' sentences, each as a list item."""
    written: list[Sentence] = []
    for one in evidence:
        whole = [tidy(one.text[start:end]) for start, end in split_sentences(one.text)]
        for text in [text for text in whole if is_sentence(text)][:_OWN_WORDS]:
            written.append(Sentence("", text, (one.id,), begins="item"))
    return written


def _is_written_in(sentences: Sequence[Sentence], language: str) -> bool:
    return is_in_language(" ".join(sentence.text for sentence in sentences), language)


def _new(sections: Sequence[Section], sentences: Sequence[Sentence]) -> tuple[Sentence, ...]:
    """Return the sentences that no section contains yet, without duplicates."""
    said = {plain_form(sentence.text) for section in sections for sentence in section.sentences}
    fresh: list[Sentence] = []
    for sentence in sentences:
        if (form := plain_form(sentence.text)) not in said:
            said.add(form)
            fresh.append(sentence)
    return tuple(fresh)


def plain_form(text: str) -> str:
    """Normalise a sentence for comparison."""
    return "".join(sign for sign in text.casefold() if sign.isalnum())


def _numbered(state: ResearchState, section: Section) -> Section:
    """Return the section with new ids for its sentences."""
    named = [msgspec.structs.replace(one, id=state.new_id("T")) for one in section.sentences]
    return msgspec.structs.replace(section, sentences=tuple(named))
