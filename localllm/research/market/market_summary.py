"""Summarise a scan: sentences based on its findings, key findings, and the model's recommendations."""

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple, cast

from localllm.base.events import Json
from localllm.base.i18n import N_
from localllm.research.market.applicability import judgement
from localllm.research.market.insights import Findings, NotedInsight, check_claim
from localllm.research.market.market_records import PURPOSES, Applicability
from localllm.research.model_calls import BudgetSpent
from localllm.research.remark_texts import remark
from localllm.research.role_answers import TEXT, TEXTS, AnswerUnusable, answer_schema, several, texts_of
from localllm.research.run_context import RunContext

_ANSWER = answer_schema(summary=several(text=TEXT, findings=TEXTS), key_findings=TEXTS, recommendations=TEXTS)
_MOST_SENTENCES = 6
_MOST_KEY_FINDINGS = 6
_MOST_RECOMMENDATIONS = 3
_MOST_SHOWN = 30
_BY_RULE = N_("The model's summary could not be used: the first findings take its place.")


class Digest(NamedTuple):
    """The digest of a scan."""

    summary: str
    key_findings: tuple[str, ...]
    recommendations: tuple[str, ...] = ()


async def sum_up(run: RunContext, findings: Findings, applied: Sequence[Applicability]) -> Digest:
    """Summarise the supported findings; by rule if the model fails. Empty without findings."""
    supported = [one for purpose in PURPOSES for one in findings.of(purpose)]
    if not supported:
        return Digest("", ())
    by_rule = _by_rule(run, findings)
    shown = supported[:_MOST_SHOWN]
    values = {
        "theme": run.state.question,
        "findings": "\n".join(f"[{one.insight.id}] ({one.insight.purpose}) {one.insight.text}" for one in shown),
        "applicability": "\n".join(f"- {one.what.text}" for one in applied if one.what),
    }
    try:
        answer = await run.roles.ask("market_summary", values, _ANSWER)
        return await _checked(run, answer, {one.insight.id: one for one in shown}, by_rule)
    except AnswerUnusable:
        run.remark(remark(_BY_RULE))
    except BudgetSpent:
        run.state.partial = True
        run.remark(remark(_BY_RULE))
    return by_rule


async def _checked(
    run: RunContext, answer: Mapping[str, Json], known: Mapping[str, NotedInsight], by_rule: Digest
) -> Digest:
    """Keep the valid parts of the model's answer."""
    sentences: list[str] = []
    for one in cast("list[dict[str, Json]]", answer["summary"])[:_MOST_SENTENCES]:
        text = _without_marks(" ".join(str(one["text"]).split()))
        cited = [known[name] for name in _names(one, "findings") if name in known]
        if not text or not cited:
            continue
        verdict = await check_claim(run, text, [noted.evidence for noted in cited])
        if verdict.label == "supported":
            sentences.append(text)
    keys = [known[name].insight.text for name in _names(answer, "key_findings") if name in known]
    said = texts_of(dict(answer), "recommendations")[:_MOST_RECOMMENDATIONS]
    if not sentences:
        run.remark(remark(_BY_RULE))
    return Digest(
        _joined(run, sentences) or by_rule.summary,
        tuple(dict.fromkeys(keys))[:_MOST_KEY_FINDINGS] or by_rule.key_findings,
        tuple(one.text for text in said if (one := judgement(run, text, known))),
    )


def _by_rule(run: RunContext, findings: Findings) -> Digest:
    """Return the first supported finding of each purpose."""
    first = [found[0].insight.text for purpose in PURPOSES if (found := findings.of(purpose))]
    return Digest(_joined(run, first), tuple(first[:_MOST_KEY_FINDINGS]))


def _without_marks(text: str) -> str:
    """Remove the ids and purposes before the findings, which models copy with their text."""
    return re.sub(rf"\s?\[I\d+\](?:\s?\((?:{'|'.join(PURPOSES)})\))?", "", text).strip()


def _names(answer: Mapping[str, Json], name: str) -> list[str]:
    return [one.strip("[]() ") for one in texts_of(dict(answer), name)]


def _joined(run: RunContext, sentences: Sequence[str]) -> str:
    return ("" if run.language == "ja" else " ").join(sentences)
