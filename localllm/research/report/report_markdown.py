"""Render a report as Markdown: title, sections, open and disputed points, numbered references."""

from localllm.base.i18n import N_
from localllm.base.lazy_patterns import late_pattern
from localllm.research.report.report import Citation, Reference, Report, ReportSection, ReportSentence, ReportSide
from localllm.research.report.report_layout import Words, blocks, joined, link_of, shortened, shown_address, with_mark
from localllm.text.sanitising import clean

_LONGEST_QUOTE = 400
"""Characters."""

_SPECIAL = late_pattern(r"[\\`*\[\]<>|~]|(?<![^\W_])_|_(?![^\W_])|&(?=#?\w{1,30};)")
_AT_START = late_pattern(r"^(?:(?=[#>+=-])|(\d{1,9})(?=[.)]))")


def to_markdown(report: Report) -> str:
    """Render the report as Markdown, ending with a line break."""
    words = Words(report)
    about = "  \n".join(f"> {markdown_text(line)}" for line in [*words.about(), *words.warnings()])
    parts = [f"# {markdown_text(report.title)}", about]
    parts += [_section(section, words) for section in report.sections] or [words.nothing()]
    parts += _open_parts(report, words)
    if report.limits:
        parts += [_headed(words, N_("Limits")), _list([markdown_text(one) for one in report.limits])]
    if report.references:
        parts += [_headed(words, N_("References")), *(_reference(one, words) for one in report.references)]
    return "\n\n".join(parts) + "\n"


def _section(section: ReportSection, words: Words) -> str:
    parts = [f"## {markdown_text(section.heading)}"]
    items: list[str] = []
    for block in blocks(section.sentences):
        text = joined([_sentence(one, words) for one in block.sentences])
        if block.is_item:
            items.append(text)
            continue
        parts += [_list(items)] if items else []
        items = []
        parts.append(text)
    parts += [_list(items)] if items else []
    return "\n\n".join([*parts, f"*{words.confidence(section.confidence)}*"])


def _sentence(sentence: ReportSentence, words: Words) -> str:
    mark = words.mark(sentence.standing)
    said = words.say(N_(" ({mark})"), mark=mark) if mark else ""
    return with_mark(markdown_text(sentence.text), _marks(sentence.citations) + said)


def _open_parts(report: Report, words: Words) -> list[str]:
    """Return the disputed, unanswered and unsupported points."""
    parts: list[str] = []
    if report.disagreements:
        parts.append(_headed(words, N_("Sources disagree")))
        for one in report.disagreements:
            parts.append(
                "\n".join([f"- **{markdown_text(one.about)}**", *(f"  - {_side(side, words)}" for side in one.sides)])
            )
    if report.unanswered:
        parts += [_headed(words, N_("Not answered")), _list([markdown_text(one) for one in report.unanswered])]
    if report.unsupported:
        parts += [_headed(words, N_("Not supported")), words.say(N_("Claims from the draft, removed or marked above."))]
        claims = [
            with_mark(markdown_text(one.text), _marks(one.citations))
            + words.say(N_(" — {reason}"), reason=markdown_text(one.reason))
            for one in report.unsupported
        ]
        parts.append(_list(claims))
    return parts


def _side(side: ReportSide, words: Words) -> str:
    return with_mark(markdown_text(side.statement), _marks(side.citations)) + words.backing(side.sources)


def _reference(reference: Reference, words: Words) -> str:
    link = link_of(reference)
    address = f"<{link}>" if link else f"`{shown_address(reference.url).replace('`', '%60')}`"
    lines = [f"[{reference.number}] {markdown_text(reference.title)}", address, words.accessed(reference)]
    quotes = [f"> {words.say(N_('“{quote}”'), quote=markdown_text(_quote(one.text)))}" for one in reference.quotes]
    return "\n\n".join(["  \n".join(filter(None, lines)), "\n>\n".join(quotes)])


def _quote(text: str) -> str:
    return shortened(text, _LONGEST_QUOTE)


def _marks(citations: tuple[Citation, ...]) -> str:
    return "".join(f"[{one.number}]" for one in citations)


def _headed(words: Words, heading: str) -> str:
    return f"## {words.say(heading)}"


def _list(items: list[str]) -> str:
    return "\n".join(f"- {item}" for item in items)


def markdown_text(text: str) -> str:
    """Return a text on one line with Markdown escaped."""
    line = _SPECIAL.sub(lambda found: f"\\{found[0]}", " ".join(clean(text).split()))
    return _AT_START.sub(lambda found: f"{found[1]}\\" if found[1] else "\\", line)
