"""Assess what findings from abroad could mean in Japan: each statement is checked, or marked as a judgement."""

from collections.abc import Mapping, Sequence
from typing import cast

from localllm.research.claims.claim_checks import refuse
from localllm.research.market.insights import NotedInsight, check_claim
from localllm.research.market.market_records import Applicability, Statement
from localllm.research.role_answers import TEXT, AnswerUnusable, answer_schema, several
from localllm.research.run_context import RunContext

_PART = several(text=TEXT, evidence=TEXT)
_ANSWER = answer_schema(what=TEXT, why=TEXT, obstacles=_PART, precedents=_PART)
_MOST = 3
"""Obstacles, and precedents."""


async def judge_applicability(
    run: RunContext, finding: NotedInsight, japanese: Sequence[NotedInsight]
) -> Applicability | None:
    """Assess what a finding could mean in Japan; None for an unusable answer. Raises BudgetSpent."""
    values = {
        "theme": run.state.question,
        "finding": _line(finding),
        "japan": "\n".join(map(_line, japanese)) or "(none)",
    }
    try:
        answer = await run.roles.ask("applicability", values, _ANSWER)
    except AnswerUnusable:
        return None
    known = {one.insight.id: one for one in (finding, *japanese)}
    obstacles = await _statements(run, cast("list[dict[str, str]]", answer["obstacles"]), known, may_judge=True)
    precedents = await _statements(run, cast("list[dict[str, str]]", answer["precedents"]), known, may_judge=False)
    return Applicability(
        finding=finding.insight.text,
        insight=finding.insight.id,
        what=judgement(run, str(answer["what"]), known),
        why=judgement(run, str(answer["why"]), known),
        obstacles=obstacles,
        precedents=precedents,
    )


async def _statements(
    run: RunContext, said: Sequence[Mapping[str, str]], known: Mapping[str, NotedInsight], *, may_judge: bool
) -> tuple[Statement, ...]:
    """Return the statements their evidence supports; with `may_judge` also the others that qualify as judgements."""
    found: list[Statement] = []
    for one in said[:_MOST]:
        text = " ".join(one["text"].split())
        cited = known.get(one["evidence"].strip("[] "))
        statement = await _supported(run, text, cited) if text and cited else None
        if statement is None and text and may_judge:
            statement = judgement(run, text, known)
        if statement is not None:
            found.append(statement)
    return tuple(found)


async def _supported(run: RunContext, text: str, cited: NotedInsight) -> Statement | None:
    verdict = await check_claim(run, text, [cited.evidence])
    if verdict.label != "supported":
        return None
    return Statement(text=text, basis="supported", quote=cited.insight.quote, source_url=cited.insight.source_url)


def judgement(run: RunContext, text: str, known: Mapping[str, NotedInsight]) -> Statement | None:
    """Return the model's own judgement, unless it has a number, a name or a negation that no finding has."""
    text = " ".join(text.split())
    passages = [part for one in known.values() for part in (one.insight.quote, one.insight.text)]
    context = [run.state.question, *(one.insight.source_title for one in known.values()), "Japan 日本"]
    if not text or refuse(text, passages, today=run.state.today, context=context):
        return None
    return Statement(text=text, basis="judgement")


def _line(noted: NotedInsight) -> str:
    return f"[{noted.insight.id}] {noted.insight.text} ({noted.insight.quote})"
