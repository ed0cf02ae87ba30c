"""Render a report as one self-contained HTML file: no script, picture or external font.

Every text is escaped, and only web addresses become links. The quote of a citation is shown on hover or focus; in print
it is in the list of references.
"""

from functools import cache
from html import escape
from pathlib import Path

from localllm.base.i18n import N_
from localllm.research.report.report import Citation, Reference, Report, ReportSection, ReportSentence
from localllm.research.report.report_layout import (
    Words,
    blocks,
    joined,
    link_of,
    shortened,
    shown_address,
    with_mark,
)
from localllm.text.sanitising import clean

_LONGEST_TIP = 320
_LONGEST_QUOTE = 900
"""Characters of a quote."""

POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"


def to_html(report: Report) -> str:
    """Render the report as HTML, ending with a line break."""
    page = _Page(report)
    parts = [f"<h1>{html_text(report.title)}</h1>", *page.heading()]
    parts += [page.section(section) for section in report.sections] or [f"<p>{html_text(page.words.nothing())}</p>"]
    parts += [page.disagreements(), page.unanswered(), page.unsupported(), page.limits(), page.references()]
    return (
        f'<!DOCTYPE html>\n<html lang="{page.words.language}">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="referrer" content="no-referrer">\n'
        f"<title>{html_text(report.title)}</title>\n<style>\n{report_style()}</style>\n</head>\n<body>\n<main>\n"
        + "\n".join(filter(None, parts))
        + "\n</main>\n</body>\n</html>\n"
    )


class _Page:
    """The parts of one page."""

    def __init__(self, report: Report) -> None:
        self.words = Words(report)
        self._report = report
        self._references = {one.number: one for one in report.references}

    def heading(self) -> list[str]:
        about = [f'<p class="about">{html_text(line)}</p>' for line in self.words.about()]
        return about + [f'<p class="warning">{html_text(line)}</p>' for line in self.words.warnings()]

    def section(self, section: ReportSection) -> str:
        parts: list[str] = []
        items: list[str] = []
        for block in blocks(section.sentences):
            text = joined([self._sentence(one) for one in block.sentences])
            if block.is_item:
                items.append(text)
                continue
            parts += [_list(items)] if items else []
            items = []
            parts.append(f"<p>{text}</p>")
        parts += [_list(items)] if items else []
        confidence = f'<p class="confidence">{html_text(self.words.confidence(section.confidence))}</p>'
        return _headed(html_text(section.heading), "\n".join([*parts, confidence]))

    def disagreements(self) -> str:
        parts: list[str] = []
        for one in self._report.disagreements:
            sides = [
                with_mark(html_text(side.statement), self._marks(side.citations))
                + _text_after(self.words.backing(side.sources))
                for side in one.sides
            ]
            parts.append(f"<p><strong>{html_text(one.about)}</strong></p>\n{_list(sides)}")
        return _headed(self._say(N_("Sources disagree")), "\n".join(parts))

    def unanswered(self) -> str:
        return _headed(self._say(N_("Not answered")), _list([html_text(one) for one in self._report.unanswered]))

    def unsupported(self) -> str:
        claims = [
            with_mark(html_text(one.text), self._marks(one.citations))
            + _text_after(self.words.say(N_(" — {reason}"), reason=one.reason))
            for one in self._report.unsupported
        ]
        said = self._say(N_("Claims from the draft, removed or marked above."))
        return _headed(self._say(N_("Not supported")), f"<p>{said}</p>\n{_list(claims)}" if claims else "")

    def limits(self) -> str:
        return _headed(self._say(N_("Limits")), _list([html_text(one) for one in self._report.limits]))

    def references(self) -> str:
        listed = "\n".join(map(self._reference, self._report.references))
        return _headed(self._say(N_("References")), f'<ol class="references">\n{listed}\n</ol>' if listed else "")

    def _say(self, text: str) -> str:
        return html_text(self.words.say(text))

    def _sentence(self, sentence: ReportSentence) -> str:
        mark = self.words.mark(sentence.standing)
        marked = f'&#8239;<span class="mark">{html_text(mark)}</span>' if mark else ""
        return with_mark(html_text(sentence.text), self._marks(sentence.citations) + marked)

    def _marks(self, citations: tuple[Citation, ...]) -> str:
        return "".join(map(self._mark, citations))

    def _mark(self, citation: Citation) -> str:
        number, reference = citation.number, self._references[citation.number]
        quote = self._quoted(shortened(citation.quote, _LONGEST_TIP))
        tip = f'<span class="tip" role="note">{quote}<b>{html_text(shortened(reference.title, 120))}</b></span>'
        return f'<span class="cite"><a href="#ref-{number}">[{number}]</a>{tip}</span>'

    def _reference(self, reference: Reference) -> str:
        link, shown = link_of(reference), escape(shown_address(reference.url))
        address = f'<a href="{escape(link)}" rel="noopener noreferrer nofollow">{shown}</a>' if link else shown
        accessed = self.words.accessed(reference)
        quotes = [
            f"<blockquote>{self._quoted(shortened(one.text, _LONGEST_QUOTE))}</blockquote>" for one in reference.quotes
        ]
        when = f'<div class="accessed">{html_text(accessed)}</div>' if accessed else ""
        number = reference.number
        return (
            f'<li id="ref-{number}"><div>[{number}] {html_text(reference.title)}</div>\n<div>{address}</div>\n{when}\n'
            + "\n".join(quotes)
            + "</li>"
        )

    def _quoted(self, text: str) -> str:
        return html_text(self.words.say(N_("“{quote}”"), quote=text))


def _headed(heading: str, content: str) -> str:
    """Return a section of the page; empty without content."""
    return f"<section>\n<h2>{heading}</h2>\n{content}\n</section>" if content else ""


def _list(items: list[str]) -> str:
    return "<ul>\n" + "\n".join(f"<li>{item}</li>" for item in items) + "\n</ul>" if items else ""


def html_text(text: str) -> str:
    """Return an escaped text on one line, without characters that hide or reorder it."""
    return escape(" ".join(clean(text).split()))


def _text_after(text: str) -> str:
    """As `html_text`, keeping a leading space."""
    return f"{' ' if text[:1] == ' ' else ''}{html_text(text)}"


@cache
def report_style() -> str:
    return (Path(__file__).parent / "report.css").read_text(encoding="utf-8")
