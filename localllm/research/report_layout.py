"""What all forms of a report share: its words in its own language, its blocks of sentences, and its addresses."""

import re
from collections.abc import Sequence
from typing import NamedTuple
from urllib.parse import quote, urlsplit

from localllm.base.i18n import N_, translated
from localllm.base.lazy_patterns import late_pattern
from localllm.research.report import Confidence, Reference, Report, ReportSentence
from localllm.research.unsupported_claims import Standing

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
    """A paragraph, or an item of a list."""

    is_item: bool
    sentences: tuple[ReportSentence, ...]


class Words:
    """Says what stands in every report, in its language."""

    def __init__(self, report: Report) -> None:
        self.language = report.language if report.language in ("en", "ja") else "en"
        self._report = report

    def say(self, text: str, **params: object) -> str:
        """A text marked with `N_`."""
        return translated(self.language, text, **params)

    def about(self) -> list[str]:
        """What stands below the title: the question, unless that is the title, the date, and the model."""
        report = self._report
        question = " ".join(report.question.split())
        date = self.say(N_("Date: {date} · Model: {model}"), date=report.date, model=report.metadata.model or "?")
        if question == report.title:
            return [date]
        return [self.say(N_("Question: {question}"), question=question), date]

    def warnings(self) -> list[str]:
        """What the reader has to know before anything else."""
        lines: list[str] = []
        if self._report.partial:
            lines.append(self.say(N_("This report is partial: see “Limits”.")))
        if self._report.sections and not self._report.checked:
            lines.append(self.say(N_("No claim of this report was checked.")))
        return lines

    def nothing(self) -> str:
        """What stands in the place of sections where there are none."""
        return self.say(N_("No part of the question could be answered from what was found."))

    def mark(self, standing: Standing) -> str:
        """What stands behind a sentence that is not supported; empty for one that is."""
        return self.say(_MARKS[standing]) if standing in _MARKS else ""

    def confidence(self, confidence: Confidence) -> str:
        """The line below a section."""
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
        """When a source was read."""
        date = reference.accessed[:10]
        return self.say(N_("Accessed {date}"), date=date) if date else ""

    def backing(self, sources: int) -> str:
        """What stands behind one side of a disagreement: how many independent sources say it."""
        return self.say(N_(" (independent sources: {sources})"), sources=sources)


def blocks(sentences: Sequence[ReportSentence]) -> list[Block]:
    """Sentences in their paragraphs and items."""
    groups: list[list[ReportSentence]] = []
    for sentence in sentences:
        if not groups or sentence.begins:
            groups.append([])
        groups[-1].append(sentence)
    return [Block(group[0].begins == "item", tuple(group)) for group in groups]


def with_mark(text: str, mark: str) -> str:
    """A text with its marks before the full stop."""
    stop = text[-1:] if text[-1:] in _STOPS else ""
    body = text.removesuffix(stop) if stop else text
    return f"{body}{'' if is_wide(body[-1:]) else ' '}{mark}{stop}" if mark else text


def joined(texts: Sequence[str]) -> str:
    """Sentences one after another, with a blank where the script has one."""
    whole = ""
    for text in texts:
        whole += text if not whole or is_wide(whole[-1:]) else f" {text}"
    return whole


def is_wide(sign: str) -> bool:
    """Whether a sign is of a script without blanks."""
    return sign >= "\u3000"


def link_of(reference: Reference) -> str:
    """The address to follow, with nothing in it that could end it; empty where it is none of the web."""
    try:
        parts = urlsplit(reference.url)
    except ValueError:
        return ""
    is_web = not reference.local and parts.scheme.lower() in _LINKED and bool(parts.hostname)
    return shown_address(reference.url) if is_web else ""


def shown_address(url: str) -> str:
    """An address on one line, its blanks and invisible signs percent-encoded."""
    return _UNSAFE.sub(lambda found: quote(found[0], safe=""), url)


def shortened(text: str, longest: int) -> str:
    """A quote on one line, cut at a word where it is too long."""
    line = " ".join(text.split())
    if len(line) <= longest:
        return line
    return re.sub(r"\s+\S{0,30}$", "", line[:longest]) + " …"
