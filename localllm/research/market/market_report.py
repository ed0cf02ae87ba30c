"""Render the result of a scan as Markdown, HTML or JSON, in the scan's language."""

from collections.abc import Callable, Sequence
from html import escape
from typing import Literal, NamedTuple

import msgspec

from localllm.base.i18n import N_, translated
from localllm.base.jsontext import encode_json
from localllm.research.market.market_charts import Chart, charts, text_chart
from localllm.research.market.market_records import (
    GLOBAL,
    JAPANESE,
    PURPOSE_NAMES,
    AgentMetrics,
    Applicability,
    Insight,
    MarketPurpose,
    MarketResult,
    MarketSummary,
    Statement,
)
from localllm.research.report.report_html import POLICY, html_text, report_style
from localllm.research.report.report_layout import shown_address
from localllm.research.report.report_markdown import markdown_text

Format = Literal["md", "html", "json"]
FORMATS: tuple[Format, ...] = ("md", "html", "json")

_BAR_HEIGHT, _BAR_WIDTH, _LABEL_WIDTH = 26, 360, 210
"""Of an HTML chart, in SVG units."""

_LINKED = ("http://", "https://")

_PARTS: dict[str, str] = {
    "what": N_("What"),
    "why": N_("Why"),
    "obstacle": N_("Obstacle"),
    "precedent": N_("Precedent in Japan"),
}


class Table(NamedTuple):
    """Rows under headings; the last cell of a row is an address."""

    headings: tuple[str, ...]
    rows: list[tuple[str, ...]]


class Section(NamedTuple):
    """A section of the report, with its content in this order."""

    heading: str
    level: int = 2
    text: str = ""
    items: tuple[str, ...] = ()
    table: Table | None = None
    charts: tuple[Chart, ...] = ()


def render(result: MarketResult, form: Format) -> str:
    """Render the report in one of the `FORMATS`, ending with a line break."""
    return _RENDERERS[form](result)


def to_json(result: MarketResult) -> str:
    """Return the result as JSON; see docs/market-schema.json."""
    return msgspec.json.format(encode_json(result), indent=2).decode() + "\n"


def to_markdown(result: MarketResult) -> str:
    """Render the report as Markdown."""
    language = _language(result)
    parts = [f"# {markdown_text(_title(result, language))}"]
    parts.append("  \n".join(f"> {markdown_text(line)}" for line in _about(result, language)))
    for section in sections(result, language):
        parts.append(f"{'#' * section.level} {markdown_text(section.heading)}")
        parts += [markdown_text(section.text)] if section.text else []
        parts += ["\n".join(f"- {markdown_text(one)}" for one in section.items)] if section.items else []
        parts += [_markdown_table(section.table)] if section.table else []
        for chart in section.charts:
            lines = "\n".join(text_chart(chart))
            parts += [f"{markdown_text(chart.title(language))}:", f"```text\n{lines}\n```"]
    return "\n\n".join(parts) + "\n"


def to_html(result: MarketResult) -> str:
    """Render the report as one self-contained HTML file."""
    language = _language(result)
    title = html_text(_title(result, language))
    parts = [f"<h1>{title}</h1>", *(f'<p class="about">{html_text(line)}</p>' for line in _about(result, language))]
    for section in sections(result, language):
        parts.append(f"<h{section.level}>{html_text(section.heading)}</h{section.level}>")
        parts += [f"<p>{html_text(section.text)}</p>"] if section.text else []
        parts += _html_list(section.items)
        parts += [_html_table(section.table)] if section.table else []
        parts += [_svg(chart, language) for chart in section.charts]
    return (
        f'<!DOCTYPE html>\n<html lang="{language}">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="referrer" content="no-referrer">\n'
        f"<title>{title}</title>\n<style>\n{report_style()}{_STYLE}</style>\n</head>\n<body>\n<main>\n"
        + "\n".join(parts)
        + "\n</main>\n</body>\n</html>\n"
    )


_STYLE = (
    "table { border-collapse: collapse; width: 100%; }\n"
    "th, td { border: 1px solid #8886; padding: .3em .5em; text-align: left; vertical-align: top; }\n"
    "svg { max-width: 100%; height: auto; }\nsvg rect { fill: #3b7dd8; }\nsvg text { fill: currentColor; }\n"
)
_RENDERERS: dict[Format, Callable[[MarketResult], str]] = {"md": to_markdown, "html": to_html, "json": to_json}


def sections(result: MarketResult, language: str) -> list[Section]:
    """Return all sections of the report."""

    def say(text: str, **params: object) -> str:
        return translated(language, text, **params)

    data = result.data
    if data is None:
        failed = result.error
        said = (failed.what, failed.why, failed.fix) if failed else ()
        return [Section(say(N_("Failed")), items=tuple(filter(None, said))), _figures(result.metrics, language)]
    found = [
        Section(say(N_("Summary")), text=data.summary or say(N_("Nothing was found that is supported by its source."))),
    ]
    if data.key_findings:
        found.append(Section(say(N_("Key findings")), items=data.key_findings))
    for heading, purposes in ((N_("Japan"), JAPANESE), (N_("Abroad"), GLOBAL)):
        parts = [_purpose(data, purpose, language) for purpose in purposes]
        if shown := [part for part in parts if part]:
            found += [Section(say(heading)), *shown]
    found += _applied(data.applicability, language)
    if data.recommendations:
        note = say(N_("The model's own suggestions; they were not checked against sources."))
        found.append(Section(say(N_("Suggestions")), text=note, items=data.recommendations))
    if unsupported := [one for one in data.findings if not one.supported]:
        items = tuple(f"{one.text} — {one.reason}" if one.reason else one.text for one in unsupported)
        found.append(Section(say(N_("Not supported")), items=items))
    if data.missing:
        items = tuple(f"{say(PURPOSE_NAMES[one.purpose])}: {one.reason}" for one in data.missing)
        found.append(Section(say(N_("Missing")), items=items))
    if limits := _limits(data, language):
        found.append(Section(say(N_("Limits")), items=limits))
    return [*found, _queries(data, language), _figures(result.metrics, language)]


def _purpose(data: MarketSummary, purpose: MarketPurpose, language: str) -> Section | None:
    """Return the supported findings of a purpose as a table, and as a chart if their numbers allow one."""
    insights = [one for one in data.findings if one.purpose == purpose and one.supported]
    if not insights:
        return None
    headings = (N_("No."), N_("Finding"), N_("Quote"), N_("Source"))
    rows = [(one.id, one.text, _quoted(one, language), one.source_url) for one in insights]
    table = Table(tuple(translated(language, one) for one in headings), rows)
    heading = translated(language, PURPOSE_NAMES[purpose])
    return Section(heading, 3, table=table, charts=tuple(charts(insights, language)))


def _quoted(insight: Insight, language: str) -> str:
    quoted = translated(language, N_("“{quote}”"), quote=insight.quote)
    if insight.origin == "page":
        return quoted
    return translated(language, N_("{quote} (only from the list of results)"), quote=quoted)


def _applied(applied: Sequence[Applicability], language: str) -> list[Section]:
    if not applied:
        return []
    judged = translated(language, N_("the model's judgement"))
    found = [Section(translated(language, N_("Applicability to Japan")))]
    for one in applied:
        said: list[tuple[str, Statement | None]] = [("what", one.what), ("why", one.why)]
        said += [("obstacle", part) for part in one.obstacles] + [("precedent", part) for part in one.precedents]
        rows = [
            (translated(language, _PARTS[kind]), part.text, part.source_url or judged) for kind, part in said if part
        ]
        headings = ("", translated(language, N_("Statement")), translated(language, N_("Basis")))
        found.append(Section(f"{one.insight}: {one.finding}", 3, table=Table(headings, rows) if rows else None))
    return found


def _limits(data: MarketSummary, language: str) -> tuple[str, ...]:
    left_out = data.raw_results.left_out
    said = list(data.remarks)
    if left_out:
        counted = ", ".join(f"{kind} {count}" for kind, count in sorted(left_out.items()))
        text = N_("Results left out because of sensitive content: {count} ({kinds}).")
        said.append(translated(language, text, count=sum(left_out.values()), kinds=counted))
    return tuple(said)


def _queries(data: MarketSummary, language: str) -> Section:
    headings = tuple(translated(language, one) for one in (N_("Purpose"), N_("Query"), "gl/hl"))
    rows = [
        (translated(language, PURPOSE_NAMES[one.purpose]), one.query, f"{one.options.gl}/{one.options.hl}")
        for one in data.queries.all()
    ]
    return Section(translated(language, N_("Queries")), table=Table(headings, rows))


def _figures(metrics: AgentMetrics, language: str) -> Section:
    """Return the cost of the scan."""

    def say(text: str, **params: object) -> str:
        return translated(language, text, **params)

    items = [
        say(N_("Time: {seconds:.1f} s"), seconds=metrics.execution_time / 1_000),
        say(N_("Model: {count} calls, {tokens} tokens"), count=metrics.model_calls, tokens=f"{metrics.tokens_used:,}"),
        say(
            N_("Searches: {count} asked of engines, {share:.0%} from the cache"),
            count=metrics.api_calls_count,
            share=metrics.cache_hit_rate,
        ),
        say(N_("Pages read: {count}"), count=metrics.pages_read),
    ]
    items += [say(N_("Error {code}: {what}"), code=one.code, what=one.what) for one in metrics.errors if one.code]
    return Section(say(N_("Figures")), items=tuple(dict.fromkeys(items)))


def _title(result: MarketResult, language: str) -> str:
    return translated(language, N_("Market scan: {theme}"), theme=result.theme)


def _about(result: MarketResult, language: str) -> list[str]:
    model = result.data.model if result.data else ""
    said = N_("Scan {id}, {when}, {model}") if model else N_("Scan {id}, {when}")
    when = result.started_at[:16].replace("T", " ")
    lines = [translated(language, said, id=result.execution_id, when=when, model=model)]
    if result.partial:
        lines.append(translated(language, N_("Partial: not everything asked for could be found; see below.")))
    return lines


def _language(result: MarketResult) -> str:
    return result.data.language if result.data else "en"


def _markdown_table(table: Table) -> str:
    lines = [_markdown_row(table.headings), "|" + " --- |" * len(table.headings)]
    return "\n".join([*lines, *(_markdown_row(row) for row in table.rows)])


def _markdown_row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(_markdown_cell(cell) for cell in cells) + " |"


def _markdown_cell(text: str) -> str:
    if text.startswith(_LINKED):
        return f"<{shown_address(text).replace('|', '%7C').replace('<', '%3C').replace('>', '%3E')}>"
    return markdown_text(text)


def _html_list(items: Sequence[str]) -> list[str]:
    return ["<ul>\n" + "\n".join(f"<li>{html_text(one)}</li>" for one in items) + "\n</ul>"] if items else []


def _html_table(table: Table) -> str:
    head = "".join(f"<th>{html_text(one)}</th>" for one in table.headings)
    rows = ["<tr>" + "".join(f"<td>{_html_cell(one)}</td>" for one in row) + "</tr>" for row in table.rows]
    return f"<table>\n<tr>{head}</tr>\n" + "\n".join(rows) + "\n</table>"


def _html_cell(text: str) -> str:
    if text.startswith(_LINKED):
        return f'<a href="{escape(shown_address(text))}" rel="noreferrer">{html_text(text)}</a>'
    return html_text(text)


def _svg(chart: Chart, language: str) -> str:
    """Render a chart as inline SVG."""
    title = html_text(chart.title(language))
    height = _BAR_HEIGHT * len(chart.bars)
    bars: list[str] = []
    for place, bar in enumerate(chart.bars):
        top = place * _BAR_HEIGHT
        label = html_text(f"{bar.year}  {bar.shown}  ({bar.insight})")
        width = max(1, round(chart.share(bar) * _BAR_WIDTH))
        bars.append(f'<text x="0" y="{top + 17}" font-size="13">{label}</text>')
        bars.append(f'<rect x="{_LABEL_WIDTH}" y="{top + 4}" width="{width}" height="{_BAR_HEIGHT - 8}"/>')
    return (
        f'<figure>\n<svg viewBox="0 0 {_LABEL_WIDTH + _BAR_WIDTH} {height}" role="img" aria-label="{title}">\n'
        + "\n".join(bars)
        + f"\n</svg>\n<figcaption>{title}</figcaption>\n</figure>"
    )
