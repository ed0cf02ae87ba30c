"""Where is …, how does … work: what in the project fits a few plain words best."""

import re
from collections.abc import Generator, Sequence

from localllm.lookup import vocabulary
from localllm.lookup.answers import led_by
from localllm.lookup.calls import Call, Plan, Result, names
from localllm.lookup.conversation import Talk
from localllm.lookup.filters import DOCUMENTS
from localllm.lookup.inspect import fix_spelling, look_into_files, rank, read_the_best
from localllm.lookup.places import Place, place_of
from localllm.lookup.ranking import Candidate, Judge, Judgement
from localllm.lookup.results import read_hits
from localllm.lookup.retrieve import gather, meeting
from localllm.lookup.terms import Term, terms_of
from localllm.lookup.wording import say

_ENOUGH, _SURE = 0.5, 0.6
"""How much of the question the best place must cover (weighted by how rare its words are) to be named at all, and to
be named without a doubt. Measured on questions about four projects: what was not in them covered 0.4 at most."""

_WHETHER = re.compile(
    r"\bwhether\b|\b(?:checks?|tells?|tests?|determines?|decides?|sees?) if\b|かどうか|か否か", re.IGNORECASE
)
_OTHERS = 5
_MOST_LINES = 100
_ALSO_COVERS = 0.4
_ALSO_WORTH = 0.55  # of the best one's score


def concept(talk: Talk, *, wanted: Place | None = None, prefer: str = "") -> Plan:
    """The places that fit the words of the question best; `prefer`: the kind of definition that is asked for."""
    terms = terms_of(talk.question, known=talk.project.name_stems)
    if prefer:
        terms = tuple(term for term in terms if not _is_of_values(term)) or terms
    if not terms:
        return (yield from _without_words(talk))
    found = yield from gather(talk, terms, wanted)
    terms = fix_spelling(terms, found)
    judge = Judge(terms, found.spread, wanted, prefer or ("predicate" if _WHETHER.search(talk.question) else ""))
    candidates = yield from look_into_files(found, judge)
    ranked = yield from read_the_best(candidates, judge)
    if not is_enough(ranked, judge):
        ranked = yield from _in_documents(terms, judge)
    if not is_enough(ranked, judge):
        told = not_found(talk, terms)
        return f"{told} {say(talk.japanese, 'too_slow')}" if "search_timeout" in found.failed else told
    return answer(talk, ranked)


def is_enough(ranked: Sequence[Judgement], judge: Judge) -> bool:
    """Whether the best place covers enough of the question to be named."""
    if not ranked:
        return False
    firm = [fit for fit, term in zip(ranked[0].fits, judge.terms, strict=True) if not term.soft]
    return ranked[0].coverage >= _ENOUGH and (not firm or max(firm) >= _ENOUGH)


def answer(talk: Talk, ranked: Sequence[Judgement]) -> str:
    """The best places."""
    best = ranked[0]
    others = [
        j.candidate
        for j in ranked[1 : _OTHERS + 1]
        if j.score >= _ALSO_WORTH * best.score and j.coverage >= _ALSO_COVERS
    ]
    opening = "best_line" if not best.candidate.name else "best" if best.coverage >= _SURE else "unsure"
    return led_by(talk.japanese, best.candidate, others, opening)


def not_found(talk: Talk, terms: Sequence[Term]) -> str:
    """That there is nothing, and what was searched for."""
    said = [term.text for term in terms]
    subject = "、".join(said) if talk.japanese else "“" + " ".join(said) + "”"
    ways = dict.fromkeys(way for term in terms for way in _ways(term))
    told = say(talk.japanese, "not_found", subject=subject, searched=", ".join(ways))
    return f"{told} {say(talk.japanese, 'not_found_rephrase')}"


def _ways(term: Term) -> list[str]:
    """How a term was searched for, in a few words."""
    named = ["_".join(alternative.words) for alternative in term.alternatives[:3]]
    return [*named, *([term.literal] if term.literal else [])]


def _is_of_values(term: Term) -> bool:
    return term.text.lower().replace(" ", "_") in vocabulary.named("of_values")


def _in_documents(terms: Sequence[Term], judge: Judge) -> Generator[tuple[Call, ...], list[Result], list[Judgement]]:
    """Lines of documents and settings files, for what is not in the code."""
    firm = [term for term in terms if not term.soft] or list(terms)
    (result,) = yield (meeting(firm, include=DOCUMENTS, most=_MOST_LINES),)
    lines = [
        Candidate(path=hit.path, line=hit.line, kind="mention", name="", text=hit.text.strip())
        for hit in read_hits(result.text).hits
        if place_of(hit.path) == "document" or "/" not in hit.path
    ]
    return rank(lines, judge)


def _without_words(talk: Talk) -> Plan:
    """An answer to a question without a word to search for."""
    if talk.project.told and talk.project.top:
        return say(talk.japanese, "greeting")
    (result,) = yield (names(),)
    return say(talk.japanese, "greeting" if result.text and not result.text.startswith("[") else "empty")
