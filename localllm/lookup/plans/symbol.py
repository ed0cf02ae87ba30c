"""What is X, where is X defined, what is the value of X: a name, found exactly."""

import re
from collections.abc import Generator, Sequence

import msgspec

from localllm.code.definition_patterns import escape
from localllm.lookup.answers import led_by, numbered, place
from localllm.lookup.calls import Call, Plan, Result, outline, read, search
from localllm.lookup.conversation import Talk
from localllm.lookup.definitions import defined_by
from localllm.lookup.inspect import innermost, with_quote
from localllm.lookup.places import is_secret, worth
from localllm.lookup.plans.concept import concept
from localllm.lookup.questions import Question
from localllm.lookup.ranking import Candidate
from localllm.lookup.results import Hit, Outlined, read_hits, read_lines, read_outline
from localllm.lookup.wording import say

_MOST = 6
_BEFORE, _LINES = 10, 60
_KINDS = {"class": 1.0, "function": 1.0, "constant": 0.95, "variable": 0.7, "key": 0.6}

Defining = Generator[tuple[Call, ...], list[Result], list[Candidate]]


def symbol(talk: Talk, question: Question) -> Plan:
    """What the name of the question is: its definition in its own words, and other definitions of the same name."""
    found = yield from definitions_of(question.subject, path=question.detail)
    if not found:
        return (yield from _undefined(talk, question))
    best = yield from _read(found[:_MOST])
    if question.kind == "value" and (told := _value(best[0])) and not is_secret(best[0].path):
        name, value = told
        at = place(best[0].path, best[0].line)
        return say(talk.japanese, "value", name=name, value=value, place=at) + _comment(best[0])
    return led_by(talk.japanese, best[0], best[1:])


def definitions_of(name: str, *, path: str = "") -> Defining:
    """Where `name` is defined, the likeliest place first; of `A.b` where b is in A."""
    parts = [part for part in re.split(r"\.|::|#", name) if part]
    last = parts[-1]
    (result,) = yield (search(last, path=path, files="" if path else "source", defines="exactly"),)
    found = [candidate for hit in read_hits(result.text).hits if (candidate := _candidate(hit, last))]
    if not found:
        (result,) = yield (
            search(last, path=path, files="" if path else "settings", defines="exactly", ignore_case=True),
        )
        found = [candidate for hit in read_hits(result.text).hits if (candidate := _candidate(hit, last))]
    ranked = sorted(found, key=lambda candidate: (-_likely(candidate, parts), len(candidate.path), candidate.path))
    return (yield from _inside(ranked, parts[:-1]))


def _candidate(hit: Hit, name: str) -> Candidate | None:
    """The definition in `hit`, if it is one of `name`."""
    defined = defined_by(hit.text, hit.path)
    if defined is None:
        return None
    last = re.split(r"\.|::|#", defined.name)[-1]
    if last.lower() != name.lower():
        return None
    return Candidate(path=hit.path, line=hit.line, kind=defined.kind, name=last, text=hit.text.strip())


def _likely(candidate: Candidate, parts: Sequence[str]) -> float:
    """How likely it is the one that is meant: the program before its tests, types and functions before variables,
    a definition before a declaration, a value before what only passes it on."""
    exact = 1.0 if candidate.name == parts[-1] else 0.6
    declared = 0.9 if candidate.text.endswith(";") and candidate.kind in ("class", "function") else 1.0
    where = candidate.path.lower()
    qualified = sum(0.3 for part in parts[:-1] if part.lower() in where)
    passed_on = (
        0.9
        if re.search(rf"=\s*[\w.]+\.{re.escape(candidate.name)}\b|=\s*{re.escape(candidate.name)}\b", candidate.text)
        else 1.0
    )
    return worth(candidate.path) * _KINDS.get(candidate.kind, 0.5) * exact * declared * passed_on + qualified


def _inside(found: list[Candidate], owners: Sequence[str]) -> Defining:
    """The candidates with what they are in; where owners are named, those in them first."""
    files = list(dict.fromkeys(candidate.path for candidate in found))[:_MOST]
    if not files:
        return []
    results = yield tuple(map(outline, files))
    outlines = {
        path: read_outline(result.text) for path, result in zip(files, results, strict=True) if not result.error
    }
    placed = [_placed(candidate, outlines.get(candidate.path, [])) for candidate in found]
    owner = owners[-1].lower() if owners else ""

    def order(candidate: Candidate) -> tuple[bool, bool]:
        parents = candidate.parent.lower().split(".")
        return (
            bool(owner) and owner not in parents and owner not in candidate.path.lower(),
            not owner and bool(candidate.parent),
        )

    return sorted(placed, key=order)


def _placed(candidate: Candidate, outlined: Sequence[Outlined]) -> Candidate:
    inside = innermost([item for item in outlined if item.start <= candidate.line], candidate.line)
    if inside is None:
        return candidate
    if inside.start <= candidate.line <= inside.start + 3 and inside.name.rsplit(".", 1)[-1] == candidate.name:
        return msgspec.structs.replace(candidate, parent=inside.name.rpartition(".")[0], end=inside.end)
    return msgspec.structs.replace(candidate, parent=inside.name)


def _read(found: Sequence[Candidate]) -> Defining:
    starts = [max(1, candidate.line - _BEFORE) for candidate in found]
    results = yield tuple(read(candidate.path, start, _LINES) for candidate, start in zip(found, starts, strict=True))
    return [
        candidate if result.error else with_quote(candidate, read_lines(candidate.path, result.text, start))
        for candidate, start, result in zip(found, starts, results, strict=True)
    ]


def _value(candidate: Candidate) -> tuple[str, str] | None:
    """The name and the value of a line such as `NAME: Final = 3`, `"name": 3` or `#define NAME 3`."""
    text = candidate.signature or candidate.text
    name = re.escape(candidate.name)
    match = (
        re.search(rf"(?<!\w){name}[\"']?(?:\s*:[^=]*)?\s*:?=\s*([^=].*?);?\s*$", text)
        or re.search(rf"#\s*define\s+{name}\s+(.+)$", text)
        or re.search(rf"^[\"']?{name}[\"']?\s*:\s*(.+?),?$", text)
    )
    return (candidate.name, match[1]) if match else None


def _comment(candidate: Candidate) -> str:
    return f"\n\n> {candidate.doc}" if candidate.doc else ""


def _undefined(talk: Talk, question: Question) -> Plan:
    """What can be said of a name that is defined nowhere here: where it occurs, or what is called much like it."""
    name = question.subject
    last = re.split(r"\.|::|#", name)[-1]
    (result,) = yield (search(rf"(?:^|[^A-Za-z0-9_]){escape(last)}(?:[^A-Za-z0-9_]|$)", most=100),)
    hits = sorted(read_hits(result.text).hits, key=lambda hit: (-worth(hit.path), hit.path, hit.line))
    if not hits:
        return (yield from concept(talk))
    if last.islower() and last.isalpha():
        return (yield from concept(talk))
    told = say(talk.japanese, "no_definition", name=name)
    lines = numbered((hit.path, hit.line, hit.text.strip()) for hit in hits[:5])
    return "\n".join([told, say(talk.japanese, "only_used"), *lines])
