"""Looking into the files that were found: their definitions, and what the best of them say of themselves."""

from collections import Counter, defaultdict
from collections.abc import Generator, Iterable, Sequence, Set
from difflib import get_close_matches

import msgspec

from localllm.lookup.calls import Call, Result, outline, read
from localllm.lookup.excerpts import first_sentences, module_doc, quote_at
from localllm.lookup.ranking import Candidate, Judge, Judgement
from localllm.lookup.results import Hit, Outlined, read_lines, read_outline
from localllm.lookup.retrieve import Gathered
from localllm.lookup.terms import Alternative, Term
from localllm.lookup.vocabulary import english
from localllm.lookup.words import split_identifier, stem

_FILES_OUTLINED = 6
_FILES_NAMED = 6
_READ = 10
_KEPT = 60
_FUNCTIONS = ("function", "method", "macro")
_BEFORE, _LINES = 8, 48
_MENTIONS_WEIGHED = 20
_RARE = 3
_SHORTEST_MISSPELT = 5
_ALIKE = 0.82

Looking = Generator[tuple[Call, ...], list[Result], list[Candidate]]
Reading = Generator[tuple[Call, ...], list[Result], list[Judgement]]


def look_into_files(found: Gathered, judge: Judge) -> Looking:
    """All definitions of the files that fit best, those found elsewhere, and lines that say much of the question."""
    mentions: dict[str, list[Hit]] = defaultdict(list)
    for hit in found.mentions:
        mentions[hit.path].append(hit)
    best = _best_files(found, mentions, judge)
    results = yield tuple(map(outline, best))
    outlines = {path: read_outline(result.text) for path, result in zip(best, results, strict=True) if not result.error}
    candidates = {candidate.place: candidate for candidate in found.definitions}
    for path, outlined in outlines.items():
        for candidate in _of_outline(path, outlined, mentions[path]):
            known = candidates.get(candidate.place)
            candidates[candidate.place] = msgspec.structs.replace(candidate, text=known.text) if known else candidate
    for path, hits in mentions.items():
        for hit in hits:
            candidates.setdefault((path, hit.line), _mention(hit, outlines.get(path, [])))
    for path in _named_well(found.files, judge):
        candidates.setdefault((path, 1), Candidate(path=path, line=1, kind="file", name=path.rsplit("/", 1)[-1]))
    return list(candidates.values())


def read_the_best(candidates: Sequence[Candidate], judge: Judge) -> Reading:
    """The candidates in their order, the best of them read."""
    ranked = rank(candidates, judge)
    best = [judgement.candidate for judgement in ranked[:_READ]]
    starts = [max(1, candidate.line - _BEFORE) for candidate in best]
    results = yield tuple(read(candidate.path, start, _LINES) for candidate, start in zip(best, starts, strict=True))
    seen = [
        candidate if result.error else with_quote(candidate, read_lines(candidate.path, result.text, start))
        for candidate, start, result in zip(best, starts, results, strict=True)
    ]
    return rank([*seen, *(judgement.candidate for judgement in ranked[_READ:_KEPT])], judge)


def rank(candidates: Iterable[Candidate], judge: Judge) -> list[Judgement]:
    """The candidates judged, the best first; of those called the same in files called the same, one."""
    judged = [judge.judge(candidate) for candidate in candidates]
    judged.sort(key=lambda j: (-j.score, len(j.candidate.path), j.candidate.path, j.candidate.line))
    kept: dict[tuple[str, ...], Judgement] = {}
    for judgement in judged:
        candidate = judgement.candidate
        key = (candidate.path.rsplit("/", 1)[-1], candidate.parent, candidate.name or candidate.text)
        kept.setdefault(key, judgement)
    return list(kept.values())


def with_quote(candidate: Candidate, lines: dict[int, str]) -> Candidate:
    """The candidate with its own words, from the lines around it."""
    if candidate.kind == "mention":
        return candidate
    if candidate.kind == "file":
        doc = module_doc(lines)
        return msgspec.structs.replace(candidate, doc=first_sentences(doc), whole_doc=doc)
    quote = quote_at(lines, candidate.line)
    last = candidate.end or candidate.line + _LINES
    inside = [text for number, text in lines.items() if candidate.line < number <= last]
    return msgspec.structs.replace(
        candidate, doc=quote.doc, whole_doc=quote.whole_doc, signature=quote.signature, near=(*candidate.near, *inside)
    )


def innermost(outlined: Sequence[Outlined], line: int) -> Outlined | None:
    """The smallest definition around a line."""
    around = [item for item in outlined if item.start <= line <= item.end]
    return min(around, key=lambda item: item.end - item.start, default=None)


def fix_spelling(terms: Sequence[Term], found: Gathered) -> tuple[Term, ...]:
    """The terms, a rare word that is no English one also read as what it is like among the words that were found."""
    words = Counter(word for text in _texts(found) for word in split_identifier(text))
    return tuple(_mended(term, words, found.spread.get(term.text, 0)) for term in terms)


def _mended(term: Term, words: Counter[str], spread: int) -> Term:
    word = term.text.lower()
    unknown = word.isascii() and word.isalpha() and (stem(word),) not in english()
    if not unknown or spread > _RARE or len(word) < _SHORTEST_MISSPELT or term.literal:
        return term
    near = [other for other in get_close_matches(word, words, n=3, cutoff=_ALIKE) if words[other] > words[word]]
    return (
        msgspec.structs.replace(term, alternatives=(*term.alternatives, Alternative((near[0],), 0.9))) if near else term
    )


def _texts(found: Gathered) -> Iterable[str]:
    yield from (f"{candidate.name} {candidate.path}" for candidate in found.definitions)
    yield from (hit.text for hit in found.mentions)
    yield from found.files


def _best_files(found: Gathered, mentions: dict[str, list[Hit]], judge: Judge) -> list[str]:
    names: dict[str, list[str]] = defaultdict(list)
    for candidate in found.definitions:
        names[candidate.path].append(candidate.name)
    paths = {*names, *mentions, *found.files}
    scores = {
        path: judge.judge_file(
            path, names.get(path, ()), [hit.text for hit in mentions.get(path, ())[:_MENTIONS_WEIGHED]]
        )
        for path in paths
    }
    return sorted(paths, key=lambda path: (-scores[path], len(path), path))[:_FILES_OUTLINED]


def _named_well(paths: Sequence[str], judge: Judge) -> list[str]:
    """The files whose names fit best, as far as they fit at all."""
    fits = {path: sum(judge.file_fits(path)) for path in dict.fromkeys(paths)}
    return sorted((path for path in fits if fits[path]), key=lambda path: (-fits[path], len(path), path))[:_FILES_NAMED]


def _of_outline(path: str, outlined: Sequence[Outlined], mentions: Iterable[Hit]) -> list[Candidate]:
    near: dict[int, list[str]] = defaultdict(list)
    within = {item.name for item in outlined if item.kind in _FUNCTIONS}
    for hit in mentions:
        if inside := innermost(outlined, hit.line):
            near[inside.start].append(hit.text)
    return [
        Candidate(
            path=path,
            line=item.start,
            end=item.end,
            kind=_kind(item, within),
            name=item.name.rsplit(".", 1)[-1],
            parent=item.name.rpartition(".")[0],
            near=tuple(near[item.start][:6]),
        )
        for item in outlined
    ]


def _kind(item: Outlined, functions: Set[str]) -> str:
    if item.kind not in _FUNCTIONS:
        return "class"
    return "inner" if item.name.rpartition(".")[0] in functions else "function"


def _mention(hit: Hit, outlined: Sequence[Outlined]) -> Candidate:
    inside = innermost(outlined, hit.line)
    return Candidate(
        path=hit.path,
        line=hit.line,
        kind="mention",
        name="",
        parent=inside.name if inside else "",
        text=hit.text.strip(),
    )
