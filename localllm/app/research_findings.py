"""What a model reads of a finished research run: its sentences with their evidence, and its sources."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from localllm.agent.subagents import capped
from localllm.tools.frames import framed

if TYPE_CHECKING:
    from localllm.research.records import ResearchState
    from localllm.research.report.report import ReportSection

TOKENS = 800
"""Most tokens of it."""


def findings(state: "ResearchState", file: Path, estimate: Callable[[str], int], *, is_framed: bool = True) -> str:
    """Format the findings for the agent: the report's path, its sentences with evidence ids and verdicts, and the
    sources. Weakly supported sentences are marked; the end is truncated to fit. `is_framed`: as text from the web."""
    from localllm.research.report.report import build_report

    report = build_report(state)
    head = f"Report {report.id}{' (partial: not all could be done)' if report.partial else ''}: {file}"
    lines = [line for section in report.sections for line in _section_lines(section)]
    lines += [
        f"- Sources disagree on {one.about}: {' / '.join(side.statement for side in one.sides)}"
        for one in report.disagreements
    ]
    lines += [f"- Not answered: {need}" for need in report.unanswered]
    addresses = [
        f"{', '.join(quote.evidence for quote in reference.quotes)}: {reference.url}" for reference in report.references
    ]
    room = TOKENS - estimate(f"{head}\n{framed('web_content', '')}")
    sources = capped("\n".join(addresses), room // 3, estimate)
    text = "\n".join(lines) or "Nothing was found that answers the question."
    said = capped(text, room - estimate(sources) - 1, estimate)
    whole = f"{said}\n{sources}".strip()
    return "\n".join([head, framed("web_content", whole) if is_framed else whole])


def _section_lines(section: "ReportSection") -> Iterator[str]:
    yield section.heading
    for sentence in section.sentences:
        ids = ", ".join(name for citation in sentence.citations for name in citation.evidence)
        doubt = "" if sentence.standing == "supported" else f" ({sentence.standing.replace('_', ' ')})"
        yield f"- {sentence.text}{f' [{ids}]' if ids else ''}{doubt}"
