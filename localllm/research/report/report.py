"""Build the report from the state as data: sections of sentences with numbered references.

References are numbered only here: in the order of their first citation, one number per address, none for uncited ones.
So invalid, duplicate or invented numbers cannot occur. `report_markdown` and `report_html` render the report,
`report_files` writes it.
"""

from collections.abc import Iterable, Sequence
from typing import Literal

import msgspec

from localllm.research.cited_sentences import is_sentence, tidy
from localllm.research.claims.independence import origins
from localllm.research.claims.unsupported_claims import REASONS, Judged, Standing, judged, reason_of, standing_of
from localllm.research.records import Label, Remark, ResearchState, Section, Source
from localllm.research.remark_texts import in_words, remark
from localllm.research.report.report_metadata import ReportMetadata, metadata_of

VERSION = 1
"""Version of the report's JSON; adding a field does not change it."""

_MEDIUM = 0.75
"""Least share of supported sentences for a section's confidence to be above low."""


class Citation(msgspec.Struct, frozen=True):
    """A citation: the number of a reference, and the passage that supports the sentence."""

    number: int
    evidence: tuple[str, ...]
    quote: str
    """The page's own words."""


class ReportSentence(msgspec.Struct, frozen=True):
    """A sentence of the report. If it is not "supported", it is rendered with a mark."""

    text: str
    standing: Standing
    citations: tuple[Citation, ...]
    begins: Literal["", "paragraph", "item"] = ""


class Confidence(msgspec.Struct, frozen=True):
    """The confidence in a section, with the numbers it is based on.

    high: every sentence is supported by two or more independent sources, and none disagrees. low: fewer than three in
    four sentences are supported. medium: in between. unchecked: no sentence was checked.
    """

    level: Literal["high", "medium", "low", "unchecked"]
    supported: int
    sentences: int
    sources: int
    """Independent cited sources: those of one host, or copies of one text, count once."""


class ReportSection(msgspec.Struct, frozen=True):
    """A section with sentences."""

    heading: str
    sentences: tuple[ReportSentence, ...]
    confidence: Confidence


class Quote(msgspec.Struct, frozen=True):
    """A passage from the stored text of a source."""

    evidence: str
    text: str


class Reference(msgspec.Struct, frozen=True, kw_only=True):
    """A cited source."""

    number: int
    source: str
    url: str
    title: str
    site: str
    local: bool
    accessed: str
    text_hash: str
    """The key of the page's full text in the run's store."""
    quotes: tuple[Quote, ...]


class ReportSide(msgspec.Struct, frozen=True):
    """A position of some sources in a disagreement. `sources`: the number of independent ones."""

    statement: str
    sources: int
    citations: tuple[Citation, ...]


class ReportDisagreement(msgspec.Struct, frozen=True):
    """Sources that contradict each other."""

    about: str
    sides: tuple[ReportSide, ...]


class UnsupportedClaim(msgspec.Struct, frozen=True):
    """A claim without full support. `is_in_text`: it is in the report, with a mark."""

    text: str
    label: Label
    reason: str
    is_in_text: bool
    citations: tuple[Citation, ...] = ()


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """A report. All texts are in `language`, except quotes."""

    version: int = VERSION
    id: str
    title: str
    question: str
    language: str
    date: str
    partial: bool
    checked: bool
    """Whether its claims were checked."""
    sections: tuple[ReportSection, ...]
    disagreements: tuple[ReportDisagreement, ...]
    unanswered: tuple[str, ...]
    unsupported: tuple[UnsupportedClaim, ...]
    limits: tuple[str, ...]
    references: tuple[Reference, ...]
    metadata: ReportMetadata


def build_report(state: ResearchState) -> Report:
    """Build the report of a run from its state alone, deterministically."""
    known = judged(state)
    references = _References(state)
    spoken: list[UnsupportedClaim] = []
    made = [_section(state, section, known, references, spoken) for section in state.sections]
    sections = tuple(section for section in made if section is not None)
    disagreements = tuple(_disagreements(state, references))
    unsupported = (*spoken, *_taken_out(state, references))
    limits = tuple(dict.fromkeys(in_words(one, state.language) for one in state.remarks))
    listed = references.listed()
    return Report(
        id=state.id,
        title=tidy(state.title) or " ".join(state.question.split()),
        question=state.question,
        language=state.language,
        date=state.today,
        partial=state.partial,
        checked=any(claim.verdict for claim in state.claims) or bool(state.unsupported),
        sections=sections,
        disagreements=disagreements,
        unanswered=tuple(state.unanswered),
        unsupported=unsupported,
        limits=limits,
        references=listed,
        metadata=metadata_of(state, cited=len(listed)),
    )


class _References:
    """Number sources in the order of citation."""

    def __init__(self, state: ResearchState) -> None:
        sources = {source.id: source for source in state.sources}
        self._evidence = {one.id: one for one in state.evidence if one.source in sources}
        self._sources = sources
        self._numbers: dict[str, int] = {}
        self._first: dict[int, Source] = {}
        self._quotes: dict[int, dict[str, str]] = {}

    def cite(self, evidence: Iterable[str], quotes: dict[str, str] | None = None) -> tuple[Citation, ...]:
        """Return a citation per reference of the evidence, in order; unknown evidence is skipped."""
        cited: dict[int, list[str]] = {}
        for name in dict.fromkeys(evidence):
            if name in self._evidence:
                cited.setdefault(self._number(name), []).append(name)
        return tuple(
            Citation(number, tuple(names), " … ".join(self._quote(name, quotes or {}) for name in names))
            for number, names in sorted(cited.items())
        )

    def knows(self, evidence: Iterable[str]) -> bool:
        """Whether any of the evidence exists."""
        return any(name in self._evidence for name in evidence)

    def listed(self) -> tuple[Reference, ...]:
        """Return all cited references by number."""
        return tuple(
            Reference(
                number=number,
                source=source.id,
                url=source.url,
                title=" ".join(source.title.split()) or source.url,
                site=source.site,
                local=source.local,
                accessed=source.accessed,
                text_hash=source.text_hash,
                quotes=tuple(Quote(name, text) for name, text in self._quotes[number].items()),
            )
            for number, source in sorted(self._first.items())
        )

    def _number(self, name: str) -> int:
        evidence = self._evidence[name]
        source = self._sources[evidence.source]
        number = self._numbers.setdefault(source.url, len(self._numbers) + 1)
        self._first.setdefault(number, source)
        self._quotes.setdefault(number, {})[name] = evidence.text
        return number

    def _quote(self, name: str, quotes: dict[str, str]) -> str:
        """Return the quote of the verdict if it is in the evidence, else the whole evidence."""
        text, quote = self._evidence[name].text, quotes.get(name, "")
        return " ".join((quote if quote and quote in text else text).split())


def _section(
    state: ResearchState,
    section: Section,
    known: dict[str, Judged],
    references: _References,
    spoken: list[UnsupportedClaim],
) -> ReportSection | None:
    """Build a section; None if nothing in it can be cited. Marked claims are appended to `spoken`."""
    sentences: list[ReportSentence] = []
    for sentence in section.sentences:
        verdicts = known.get(sentence.id, Judged("unchecked"))
        cited = references.cite(sentence.evidence, _quotes(verdicts)) if is_sentence(tidy(sentence.text)) else ()
        if not cited:
            continue
        sentences.append(ReportSentence(tidy(sentence.text), verdicts.standing, cited, sentence.begins))
        spoken += _marked(state, verdicts, cited)
    if not sentences:
        return None
    return ReportSection(tidy(section.heading), tuple(sentences), _confidence(state, sentences))


def _quotes(verdicts: Judged) -> dict[str, str]:
    """Return the quotes of verdicts, by evidence."""
    found = [claim.verdict for claim in verdicts.claims if claim.verdict and claim.verdict.label == "supported"]
    return {verdict.evidence: verdict.quote for verdict in found if verdict.quote}


def _marked(state: ResearchState, verdicts: Judged, cited: tuple[Citation, ...]) -> list[UnsupportedClaim]:
    """Return the unsupported claims of a sentence in the text."""
    return [
        UnsupportedClaim(tidy(claim.text), label, _said(reason_of([claim]), state), is_in_text=True, citations=cited)
        for claim in verdicts.failing
        if (label := standing_of(claim)) != "unchecked"
    ]


def _confidence(state: ResearchState, sentences: Sequence[ReportSentence]) -> Confidence:
    supported = sum(sentence.standing == "supported" for sentence in sentences)
    citations = [citation for sentence in sentences for citation in sentence.citations]
    sources = len(origins(state, (name for citation in citations for name in citation.evidence)))
    disputed = {name for one in state.disagreements for side in one.sides for name in side.evidence}
    is_disputed = any(name in disputed for citation in citations for name in citation.evidence)
    level: Literal["high", "medium", "low", "unchecked"]
    if all(sentence.standing == "unchecked" for sentence in sentences):
        level = "unchecked"
    elif supported < _MEDIUM * len(sentences):
        level = "low"
    elif supported == len(sentences) and sources > 1 and not is_disputed:
        level = "high"
    else:
        level = "medium"
    return Confidence(level, supported, len(sentences), sources)


def _disagreements(state: ResearchState, references: _References) -> Iterable[ReportDisagreement]:
    """Return the disagreements with two citable sides."""
    for one in state.disagreements:
        sides = [side for side in one.sides if tidy(side.statement) and references.knows(side.evidence)]
        if len(sides) > 1:
            cited = [ReportSide(tidy(side.statement), side.sources, references.cite(side.evidence)) for side in sides]
            yield ReportDisagreement(tidy(one.about), tuple(cited))


def _taken_out(state: ResearchState, references: _References) -> Iterable[UnsupportedClaim]:
    """Return the claims removed from the text."""
    for one in state.unsupported:
        reason = _said(one.reason or remark(REASONS[one.label]), state)
        cited = references.cite(one.evidence)
        yield UnsupportedClaim(tidy(one.text), one.label, reason, is_in_text=False, citations=cited)


def _said(said: Remark, state: ResearchState) -> str:
    return in_words(said, state.language)
