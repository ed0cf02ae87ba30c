"""Shared parts of all report formats: fixed texts in the report's language, paragraphs, and addresses."""

import re
from collections.abc import Sequence
from typing import NamedTuple
from urllib.parse import quote, urlsplit

from localllm.base.i18n import N_, translated
from localllm.base.lazy_patterns import late_pattern
from localllm.research.claims.unsupported_claims import Standing
from localllm.research.report.report import Confidence, Reference, Report, ReportSentence

_MARKS: dict[Standing, str] = {
    "contradicted": N_("contradicted"),
    "not_found": N_("not supported"),
    "partial": N_("supported in part"),
    "not_verified": N_("could not be checked"),
    "unchecked": N_("not checked"),
}
_LEVELS = {"high": N_("high"), "medium": N_("medium"), "low": N_("low"), "unchecked": N_("not checked")}
_STOPS = ".!?。！？…"
_UNSAFE = late_pattern(
    r"[\x00-\x20\"<>\\^`{|}\x7f-\xa0\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3000\ufeff]"
)
_LINKED = ("http", "https")


class Block(NamedTuple):
    """A paragraph or a list item."""

    is_item: bool
    sentences: tuple[ReportSentence, ...]


class Words:
    """The fixed texts of a report, in its language."""

    def __init__(self, report: Report) -> None:
        self.language = report.language if report.language in ("en", "ja") else "en"
        self._report = report

    def say(self, text: str, **params: object) -> str:
        """Translate a text marked with `N_`."""
        return translated(self.language, text, **params)

    def about(self) -> list[str]:
        """Return the lines below the title: the question, if it is not the title, the date, and the model."""
        report = self._report
        question = " ".join(report.question.split())
        date = self.say(N_("Date: {date} · Model: {model}"), date=report.date, model=report.metadata.model or "?")
        if question == report.title:
            return [date]
        return [self.say(N_("Question: {question}"), question=question), date]

    def warnings(self) -> list[str]:
        """Return the warnings at the top of the report."""
        lines: list[str] = []
        if self._report.partial:
            lines.append(self.say(N_("This report is partial: see “Limits”.")))
        if self._report.sections and not self._report.checked:
            lines.append(self.say(N_("No claim of this report was checked.")))
        return lines

    def nothing(self) -> str:
        """Return the text of a report without sections."""
        return self.say(N_("No part of the question could be answered from what was found."))

    def mark(self, standing: Standing) -> str:
        """Return the mark after an unsupported sentence; empty for a supported one."""
        return self.say(_MARKS[standing]) if standing in _MARKS else ""

    def confidence(self, confidence: Confidence) -> str:
        """Return the line below a section."""
        level = self.say(_LEVELS[confidence.level])
        if confidence.level == "unchecked":
            return self.say(
                N_("Confidence: {level} · independent sources: {sources}"), level=level, sources=confidence.sources
            )
        return self.say(
            N_(
                "Confidence: {level} · supported sentences: {supported} of {sentences} · independent sources: {sources}"
            ),
            level=level,
            supported=confidence.supported,
            sentences=confidence.sentences,
            sources=confidence.sources,
        )

    def accessed(self, reference: Reference) -> str:
        """Return when a source was read."""
        date = reference.accessed[:10]
        return self.say(N_("Accessed {date}"), date=date) if date else ""

    def backing(self, sources: int) -> str:
        """Return the number of independent sources of a side in a disagreement."""
        return self.say(N_(" (independent sources: {sources})"), sources=sources)


def blocks(sentences: Sequence[ReportSentence]) -> list[Block]:
    """Group sentences into paragraphs and list items."""
    groups: list[list[ReportSentence]] = []
    for sentence in sentences:
        if not groups or sentence.begins:
            groups.append([])
        groups[-1].append(sentence)
    return [Block(group[0].begins == "item", tuple(group)) for group in groups]


def with_mark(text: str, mark: str) -> str:
    """Insert a mark before the full stop."""
    stop = text[-1:] if text[-1:] in _STOPS else ""
    body = text.removesuffix(stop) if stop else text
    return f"{body}{'' if is_wide(body[-1:]) else ' '}{mark}{stop}" if mark else text


def joined(texts: Sequence[str]) -> str:
    """Join sentences, with a space where the script has one."""
    whole = ""
    for text in texts:
        whole += text if not whole or is_wide(whole[-1:]) else f" {text}"
    return whole


def is_wide(sign: str) -> bool:
    """Whether a character is of a script without spaces."""
    return sign >= "\u3000"


def link_of(reference: Reference) -> str:
    """Return a safe link; empty unless it is a web address."""
    try:
        parts = urlsplit(reference.url)
    except ValueError:
        return ""
    is_web = not reference.local and parts.scheme.lower() in _LINKED and bool(parts.hostname)
    return shown_address(reference.url) if is_web else ""


def shown_address(url: str) -> str:
    """Return an address on one line, with spaces and invisible characters percent-encoded."""
    return _UNSAFE.sub(lambda found: quote(found[0], safe=""), url)


def shortened(text: str, longest: int) -> str:
    """Return a quote on one line, truncated at a word."""
    line = " ".join(text.split())
    if len(line) <= longest:
        return line
    return re.sub(r"\s+\S{0,30}$", "", line[:longest]) + " …"
