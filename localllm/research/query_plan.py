"""Analyse the question and create queries: first from several viewpoints, later for open points.

There are always queries: an unusable answer is retried once, then replaced by rule. A query is masked before it is
stored, and sent only in that form.
"""

import re
import unicodedata
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import msgspec

from localllm.base.i18n import N_
from localllm.base.lazy_patterns import late_pattern
from localllm.research.model_calls import Roles
from localllm.research.options import ResearchOptions
from localllm.research.records import Brief, LedgerEntry, Purpose, Query, ResearchState
from localllm.research.remark_texts import remark
from localllm.research.role_answers import TEXT, TEXTS, AnswerUnusable, answer_schema, texts_of
from localllm.text import privacy_mask

_BRIEF = answer_schema(language=TEXT, period=TEXT, entities=TEXTS, needs=TEXTS)
_QUERIES = answer_schema(queries=TEXTS)

_MOST_NEEDS = 6
_LONGEST_NEED = 200
_LONGEST_QUERY = 200
_LONGEST_SUBJECT = 90
"""Characters; engines use only a few words of a query."""

_YEARS = late_pattern(r"(?:1[89]|20)\d\d年?|(?:昭和|平成|令和)(?:元|\d{1,2})年")
_ENTITY = late_pattern(r"「[^」]{2,40}」|\"[^\"]{2,40}\"|[\u30a1-\u30fa\u30fc]{3,}|(?:[A-Z][\w.&-]+(?: (?=[A-Z]))?)+")
_LEADING = late_pattern(r"^\s*(?:[-*・•]|\(?\d{1,2}[.)、:]|query\s*+(?:\d++\s*+)?:)\s*", re.IGNORECASE)
_OPENING = late_pattern(
    r"^(?:what|who|whom|when|where|why|how|which|is|are|was|were|do|does|did|can|please|tell|explain)\b", re.IGNORECASE
)

_VIEWPOINTS = {
    "en": (
        "official",
        "statistics report",
        "latest news",
        "criticism",
        "background history",
        "comparison",
        "paper",
        "expert analysis",
        "FAQ",
    ),
    "ja": ("公式", "統計 調査", "最新 ニュース", "課題 批判", "経緯 背景", "比較", "論文", "専門家 解説", "一覧"),
}
"""Words appended to the question if the model creates no queries."""

_AIMS: dict[str, Purpose] = {
    "not_found": "primary_source",
    "contradicted": "counter_evidence",
    "single_source": "second_source",
    "gap": "gap",
}
_AIM_NAMES = {
    "primary_source": "primary source",
    "counter_evidence": "counter-evidence",
    "second_source": "second source",
    "gap": "gap",
}
_AIM_WORDS = {
    "en": {"primary_source": "official source", "counter_evidence": "fact check", "second_source": "report", "gap": ""},
    "ja": {"primary_source": "公式発表", "counter_evidence": "検証", "second_source": "報道", "gap": ""},
}


class _Aim(NamedTuple):
    """An entry of the ledger, and the aim of the search that is to settle it."""

    entry: LedgerEntry
    purpose: Purpose


async def normalise(state: ResearchState, roles: Roles, language: str) -> None:
    """Analyse the question: its entities and time, and what an answer must cover."""
    question = state.question
    needs: list[str] = []
    entities: list[str] = []
    period = ""
    try:
        answer = await roles.ask("brief", {"question": question}, _BRIEF)
        needs = [need[:_LONGEST_NEED] for need in texts_of(answer, "needs")]
        entities = texts_of(answer, "entities")
        period = " ".join(str(answer.get("period", "")).split())[:_LONGEST_NEED]
    except AnswerUnusable:
        state.remarks.append(remark(N_("The model could not break the question down: it was searched for as a whole.")))
        entities = [found.strip('「」" ') for found in _ENTITY.findall(question) if not _OPENING.match(found)]
        period = ", ".join(dict.fromkeys(_YEARS.findall(question)))
    state.brief = Brief(
        question=question,
        language=language,
        needs=tuple(_distinct(needs))[:_MOST_NEEDS] or (" ".join(question.split())[:_LONGEST_NEED],),
        entities=tuple(_distinct(entities))[:_MOST_NEEDS],
        period=period,
    )


async def plan_queries(state: ResearchState, roles: Roles, options: ResearchOptions) -> dict[str, tuple[str, ...]]:
    """Create as many queries as configured, or use the user's own; return the kinds of masked data for each."""
    count = options.query_count
    if options.queries:
        return _add(state, [(text, "viewpoint", "") for text in map(_tidy, options.queries) if text])
    wanted = await _from_model(state, roles, count)
    if len(wanted) < count:
        wanted = _distinct([*wanted, *by_rule(state)])[:count]
    return _add(state, [(text, "viewpoint", "") for text in wanted])


async def _from_model(state: ResearchState, roles: Roles, count: int) -> list[str]:
    """Have the model create queries; retry once if they are fewer than `count`."""
    brief = _brief(state)
    values = {
        "question": brief.question,
        "needs": _lines(brief.needs),
        "about": _lines(brief.entities),
        "period": brief.period,
    }
    found: list[str] = []
    for _attempt in range(2):
        missing = count - len(found)
        asked = {**values, "already": _lines(found), "count": str(missing)}
        try:
            answer = await roles.ask("queries", asked, _QUERIES)
        except AnswerUnusable:
            break
        found = _distinct([*found, *filter(None, map(_tidy, texts_of(answer, "queries")))])
        if len(found) >= count:
            break
    return found[:count]


def more_words(state: ResearchState, count: int) -> dict[str, tuple[str, ...]]:
    """Create more queries by rule, with other words than before, after too few results."""
    return _add(state, [(text, "more_sources", "") for text in _unasked(state, by_rule(state))[:count]])


async def aim_queries(state: ResearchState, roles: Roles, options: ResearchOptions) -> dict[str, tuple[str, ...]]:
    """Create queries for open points, the least tried first; as many per round as in the first.

    Once one of the user's documents is evidence, a claim may repeat its content. Then no claim is sent to the web, nor
    to the model together with web content.
    """
    aims = _aims(state.ledger)[: options.query_count]
    if not aims:
        return more_words(state, options.query_count)
    keeps_claims = options.use_web and _has_own_evidence(state)
    written = await _aimed_by_model(state, roles, [aim for aim in aims if not (keeps_claims and aim.entry.claim)])
    aimed: list[tuple[str, Purpose, str]] = []
    known = {_form(query.text) for query in state.queries}
    for aim in aims:
        texts = [written.get(aim, ""), *_aimed_by_rule(state, aim)]
        masked = {text: privacy_mask.mask(text).text for text in texts if text}
        if text := next((one for one in masked if _form(masked[one]) not in known), ""):
            known.add(_form(masked[text]))
            aimed.append((text, aim.purpose, aim.entry.claim))
    searched = {aim.entry for aim in aims}
    state.ledger = [
        msgspec.structs.replace(one, tried=one.tried + 1) if one in searched else one for one in state.ledger
    ]
    return _add(state, aimed, keeps_claims=keeps_claims)


def _has_own_evidence(state: ResearchState) -> bool:
    """Whether the user's own documents are evidence."""
    own = {source.id for source in state.sources if source.local}
    return any(evidence.source in own for evidence in state.evidence)


def _aims(ledger: Sequence[LedgerEntry]) -> list[_Aim]:
    """Return the search aims: all open points, then for each single-source claim a second source and a
    counter-argument."""
    aims = [_Aim(entry, _AIMS[entry.kind]) for entry in _least_tried(ledger) if entry.kind != "single_source"]
    for entry in _least_tried(ledger):
        if entry.kind == "single_source":
            aims += [_Aim(entry, "second_source"), _Aim(entry, "counter_evidence")]
    return aims


def _least_tried(ledger: Sequence[LedgerEntry]) -> list[LedgerEntry]:
    return sorted(ledger, key=lambda one: one.tried)


async def _aimed_by_model(state: ResearchState, roles: Roles, aims: Sequence[_Aim]) -> dict[_Aim, str]:
    """Have the model create a query per aim; empty if their number differs."""
    if not aims:
        return {}
    told = [f"{number}. {_AIM_NAMES[one.purpose]}: {one.entry.subject}" for number, one in enumerate(aims, 1)]
    already = [query.text for query in state.queries if not query.local][-12:]
    values = {"question": state.question, "open": "\n".join(told), "already": _lines(already)}
    try:
        answer = await roles.ask("aimed_queries", values, _QUERIES)
    except AnswerUnusable:
        return {}
    found = [_tidy(text) for text in texts_of(answer, "queries")]
    return dict(zip(aims, found, strict=True)) if len(found) == len(aims) else {}


def _aimed_by_rule(state: ResearchState, aim: _Aim) -> list[str]:
    subject = " ".join(aim.entry.subject.split())[:_LONGEST_SUBJECT]
    words = _AIM_WORDS[_brief(state).language][aim.purpose]
    about = " ".join(_brief(state).entities[:2])
    return [_tidy(f"{subject} {words}"), _tidy(f"{about} {subject}"), _tidy(f"{about} {subject} {words}")]


def by_rule(state: ResearchState) -> list[str]:
    """Create queries from different viewpoints, from the question itself."""
    brief = _brief(state)
    words = _VIEWPOINTS[brief.language if brief.language in _VIEWPOINTS else "en"]
    core = " ".join([*brief.entities, brief.period]).strip()
    question = " ".join(brief.question.split()).rstrip("?？。. ")[:_LONGEST_SUBJECT]
    subject = core if len(brief.entities) > 1 else question
    made = [question, *(f"{subject} {word}" for word in words)]
    made += [f"{' '.join(brief.entities[:2])} {need}" for need in brief.needs]
    return _distinct(filter(None, map(_tidy, made)))


def _add(
    state: ResearchState, wanted: Sequence[tuple[str, Purpose, str]], *, keeps_claims: bool = False
) -> dict[str, tuple[str, ...]]:
    """Store masked queries; return the kinds of masked data by text. `keeps_claims`: queries about claims are not sent
    to the web."""
    added: dict[str, tuple[str, ...]] = {}
    taken: list[str] = []
    for text, purpose, claim in wanted:
        masked = privacy_mask.mask(text)
        if masked.text not in added:
            added[masked.text] = masked.kinds
            taken += masked.kinds
            is_local = keeps_claims and bool(claim)
            state.queries.append(Query(masked.text, purpose, state.round, claim, is_local))
    if taken:
        said = remark(N_("Removed from the queries before they were sent: {kinds}."), kinds=", ".join(_distinct(taken)))
        if said not in state.remarks:
            state.remarks.append(said)
    return added


def _unasked(state: ResearchState, texts: Iterable[str]) -> list[str]:
    known = {_form(query.text) for query in state.queries}
    return [text for text in texts if _form(privacy_mask.mask(text).text) not in known]


def _tidy(text: str) -> str:
    """Return a query on one line, without decoration by the model."""
    line = " ".join(_LEADING.sub("", text).split()).strip("\"'“”「」` ")
    return line[:_LONGEST_QUERY].strip()


def _distinct(texts: Iterable[str]) -> list[str]:
    return list({_form(text): text for text in reversed([one for one in texts if one.strip()])}.values())[::-1]


def _form(text: str) -> str:
    """Normalise a query for comparison: its words in any order."""
    return " ".join(sorted(unicodedata.normalize("NFKC", text).casefold().rstrip("?.。").split()))


def _lines(texts: Iterable[str]) -> str:
    return "\n".join(f"- {text}" for text in texts)


def _brief(state: ResearchState) -> Brief:
    return state.brief or Brief(state.question, "en", (state.question,))
