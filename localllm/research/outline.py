"""Plan the sections of a report: their headings, and the evidence each may cite."""

from collections.abc import Sequence
from typing import NamedTuple, cast

from localllm.base.events import Json
from localllm.base.i18n import N_
from localllm.research.cited_sentences import ids_in, tidy
from localllm.research.claims.claim_checks import support_score
from localllm.research.claims.open_points import needs_of
from localllm.research.evidence_lines import evidence_lines
from localllm.research.records import Evidence, ResearchState, Section
from localllm.research.remark_texts import remark
from localllm.research.role_answers import TEXT, TEXTS, AnswerUnusable, answer_schema, several
from localllm.research.run_context import RunContext
from localllm.text.scripts import is_in_language

_OUTLINE = answer_schema(heading=TEXT, sections=several(heading=TEXT, evidence=TEXTS))

MOST_SECTIONS = 6
LONGEST_HEADING = 100
"""Characters; a title may be half as long again."""

_AGAIN = "Not usable: no section had an id of <evidence>. Each needs a heading and ids such as E3."


WRONG_SCRIPT = {
    "ja": "Not usable: it was not in Japanese. Write it in Japanese (日本語で書く), with the same ids.",
    "en": "Not usable: it was not in English. Write it in English, with the same ids.",
}
"""Messages to a model that wrote in the wrong language."""


class Outline(NamedTuple):
    """The title of a report, and its empty sections."""

    title: str
    sections: tuple[Section, ...]


async def make_outline(run: RunContext) -> Outline:
    """Have the model write an outline; after a retry, fall back to one by rule."""
    state = run.state
    asked = {"question": state.question, "needs": "\n".join(f"- {need}" for need in needs_of(state))}
    room = (
        run.roles.room("outline")
        - sum(run.roles.estimate(value) for value in [*asked.values(), _AGAIN, *WRONG_SCRIPT.values()])
        - 60
    )
    shown = evidence_lines(state, ranked(state), room, run.roles.estimate)
    best: Outline | None = None
    complaint = ""
    for _attempt in range(2):
        try:
            answer = await run.roles.ask("outline", {**asked, "evidence": shown, "complaint": complaint}, _OUTLINE)
        except AnswerUnusable:
            break
        if sections := _sections_of(state, answer):
            best = best or Outline(_title(state, str(answer["heading"])), sections)
            if is_in_language(" ".join(section.heading for section in sections), state.language):
                return Outline(_title(state, str(answer["heading"])), sections)
        complaint = WRONG_SCRIPT.get(state.language, "") if sections else _AGAIN
    if best:
        return best
    run.remark(remark(N_("The model made no usable outline: the sections follow the parts of the question.")))
    return Outline(_title(state, ""), sections_by_rule(state, state.evidence))


def _sections_of(state: ResearchState, answer: dict[str, Json]) -> tuple[Section, ...]:
    """Return the sections of an answer that have evidence; each piece belongs to the first section that names it."""
    known = {one.id for one in state.evidence}
    sections: list[Section] = []
    for given in cast("list[dict[str, Json]]", answer["sections"])[:MOST_SECTIONS]:
        named = [one for text in cast("list[str]", given["evidence"]) for one in ids_in(text)]
        mine = tuple(one for one in dict.fromkeys(named) if one in known)
        known -= {*mine}
        heading = _heading(str(given["heading"]), LONGEST_HEADING)
        if mine and heading:
            sections.append(Section(heading, mine))
    return tuple(sections)


def sections_by_rule(state: ResearchState, evidence: Sequence[Evidence]) -> tuple[Section, ...]:
    """Create a section per part of the question, with the evidence that matches it best."""
    needs = needs_of(state)
    sorted_in: dict[str, list[str]] = {need: [] for need in needs}
    for one in evidence:
        sorted_in[best_need(state, needs, one)].append(one.id)
    return tuple(Section(as_heading(need), tuple(ids)) for need, ids in sorted_in.items() if ids)


def best_need(state: ResearchState, needs: Sequence[str], evidence: Evidence) -> str:
    """Return the part of the question that evidence matches best; the first on a tie."""
    source = state.source(evidence.source)
    context = " ".join([source.title, *source.queries])
    return max(needs, key=lambda need: support_score(need, evidence.text) + 0.3 * support_score(need, context))


def ranked(state: ResearchState) -> list[Evidence]:
    """Sort all evidence by its match with the question and its parts; ties in the order it was found."""
    asked = " ".join([state.question, *needs_of(state)])
    return sorted(state.evidence, key=lambda one: -support_score(asked, one.text))


def as_heading(need: str) -> str:
    """Format a part of the question as a heading."""
    heading = _heading(need, LONGEST_HEADING)
    return heading[:1].upper() + heading[1:]


def _title(state: ResearchState, given: str) -> str:
    title = _heading(given, LONGEST_HEADING * 3 // 2)
    return title if title and is_in_language(title, state.language) else _heading(state.question, LONGEST_HEADING * 2)


def _heading(text: str, longest: int) -> str:
    """Return a heading on one line, without marks and Markdown."""
    line = tidy(text).strip('#*_"“”「」 ')
    return line if len(line) <= longest else line[: longest - 1].rstrip() + "…"
