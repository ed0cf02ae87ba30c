"""Looking for what a question is about: definitions, files and lines that fit its words, found in a few searches."""

import re
from collections.abc import Callable, Generator, Mapping, Sequence
from itertools import permutations

import msgspec

from localllm.code.definition_patterns import defining
from localllm.lookup.calls import Call, Files, Result, names, search, search_together
from localllm.lookup.conversation import Talk
from localllm.lookup.definitions import any_of, defined_by, in_words
from localllm.lookup.filters import Scope, code_files, names_with
from localllm.lookup.places import Place
from localllm.lookup.ranking import Candidate
from localllm.lookup.results import Hit, read_hits, read_listing
from localllm.lookup.terms import Term
from localllm.lookup.words import stem

Asking = Generator[tuple[Call, ...], list[Result], "Gathered"]

_MOST_SEARCHED = 4
_COMMON = 150
_MOST_MENTIONS = 200
_FEW = 60
_TOO_LATE = "search_timeout"
_LISTED_ALONE = 2
_THREE = 3
_SHORTEST_NAME = 3
_GUARD = re.compile(r"^\s*#\s*define\s+\w+\s*$")


class Gathered(msgspec.Struct, frozen=True):
    """What was found. `spread`: in how many files each term was (its text → a number); `calls_failed`: tools that are
    not there, or failed."""

    definitions: tuple[Candidate, ...] = ()
    mentions: tuple[Hit, ...] = ()
    files: tuple[str, ...] = ()
    spread: dict[str, int] = {}
    failed: tuple[str, ...] = ()


def gather(talk: Talk, terms: Sequence[Term], wanted: Place | None) -> Asking:
    """Search for `terms` in names of definitions and files, and in lines where two of them meet."""
    scope = code_files(talk.project, wanted)
    leading = leading_terms(terms)
    ways = [
        search(in_words(term), path=scope.path, files=scope.files, defines="like", words=True)
        for term in leading
        if term.alternatives
    ]
    text = meeting(terms, path=scope.path, files=scope.files, most=_MOST_MENTIONS)
    paths = names(pattern=names_with(_words_for_paths(leading))) if _words_for_paths(leading) else None
    results = yield (*ways, text, *([paths] if paths else []))
    found = [read_hits(result.text) for result in results[: len(ways)]]
    searched = [term for term in leading if term.alternatives]
    mentions = read_hits(results[len(ways)].text)
    listed = read_listing(results[-1].text) if paths and not results[-1].error else None
    definitions = [hit for hits in found for hit in hits.hits]
    spread = {
        term.text: max(len({hit.path for hit in hits.hits}), _COMMON * hits.truncated)
        for term, hits in zip(searched, found, strict=True)
    }
    late = [term for term, result in zip(searched, results, strict=False) if result.error == _TOO_LATE]
    cut = [term for term, hits in zip(searched, found, strict=True) if hits.truncated]
    missing = [term for term in leading if not spread.get(term.text)] if len(terms) > 1 else []
    crowded = bool(listed and listed.folders)
    rarest = sorted(searched, key=_by(spread))[:_LISTED_ALONE] if crowded else []
    closer = _Closer(terms, cut, missing, late, mentions.truncated, rarest)
    more = yield from closer.search(scope)
    return Gathered(
        definitions=tuple(_candidates([*definitions, *more.definitions])),
        mentions=(*mentions.hits, *more.mentions),
        files=(*(listed.files if listed else ()), *more.files),
        spread=spread | more.spread,
        failed=tuple(dict.fromkeys(result.error for result in results if result.error)),
    )


def _by(spread: Mapping[str, int]) -> Callable[[Term], tuple[bool, int]]:
    """The order of terms by how much they tell: firm ones first, rare ones first."""
    return lambda term: (term.soft, spread.get(term.text, 0))


def _plainly(name: str) -> str:
    """A pattern for definitions that is quick where `defining` took too long; it knows fewer languages."""
    return f"(?:class|def|func|function|fn|struct|interface) +[A-Za-z0-9_]*{name}"


class _More(msgspec.Struct, frozen=True):
    definitions: tuple[Hit, ...] = ()
    mentions: tuple[Hit, ...] = ()
    files: tuple[str, ...] = ()
    spread: dict[str, int] = {}


class _Closer(msgspec.Struct, frozen=True):
    """The second look: where a word is in too many names, names with two words of the question; where it is in none,
    any line with it; where too many lines have two, lines with three; where too many files fit, those of one word;
    where a search took too long, a simpler one."""

    terms: Sequence[Term]
    cut: Sequence[Term]
    missing: Sequence[Term]
    late: Sequence[Term]
    many_mentions: bool
    for_files: Sequence[Term]

    def search(self, scope: Scope) -> Generator[tuple[Call, ...], list[Result], _More]:
        """Make these searches, all that are needed in one step."""
        pairs = self._pairs(scope)
        threes = self._threes(scope) if self.many_mentions else ()
        globs = [names_with(words) for term in self.for_files if (words := _words_for_paths([term]))]
        calls = [
            *pairs,
            *threes,
            *(
                search(in_words(term, literal=True), path=scope.path, files=scope.files, words=True, most=_FEW)
                for term in self.missing
            ),
            *(names(pattern=glob) for glob in globs),
        ]
        results = (yield tuple(calls)) if calls else []
        files = [path for result in results[len(calls) - len(globs) :] for path in read_listing(result.text).files]
        found = [read_hits(result.text) for result in results[: len(calls) - len(globs)]]
        definitions = found.pop(0).hits if pairs else ()
        lines = found.pop(0).hits if threes else ()
        return _More(
            definitions=definitions,
            mentions=(*lines, *(hit for hits in found for hit in hits.hits)),
            files=tuple(files),
            spread={
                term.text: len({hit.path for hit in hits.hits}) for term, hits in zip(self.missing, found, strict=True)
            },
        )

    def _pairs(self, scope: Scope) -> tuple[Call, ...]:
        known = [term for term in self.terms if term.alternatives][:_MOST_SEARCHED]
        both = [
            f"{any_of(one)}[A-Za-z0-9_]*{any_of(other)}"
            for one, other in permutations(known, 2)
            if one in self.cut or other in self.cut
        ]
        named = f"(?:{'|'.join(both)})" if both else ""
        if not self.late:
            return (search(named, path=scope.path, files=scope.files, defines="like"),) if both else ()
        simpler = [*([defining(named)] if both else []), *(_plainly(any_of(term)) for term in self.late)]
        return (search("|".join(simpler), path=scope.path, files=scope.files),)

    def _threes(self, scope: Scope) -> tuple[Call, ...]:
        ways = [in_words(term, literal=True) for term in leading_terms(self.terms)]
        if len(ways) < _THREE:
            return ()
        return (search_together(ways, path=scope.path, files=scope.files, least=_THREE),)


def leading_terms(terms: Sequence[Term]) -> list[Term]:
    """The terms that are searched for one by one: those that must be there first, then the others."""
    firm = [term for term in terms if not term.soft]
    return (firm if len(firm) > 1 else sorted(terms, key=lambda term: term.soft))[:_MOST_SEARCHED]


def meeting(terms: Sequence[Term], *, path: str = "", include: str = "", files: Files = "", most: int) -> Call:
    """A search for lines in which two terms meet, one of them not soft; for a single term, any line with it."""
    firm = [term for term in terms if not term.soft] or list(terms)
    ways = [in_words(term, literal=True) for term in firm]
    if len(terms) == 1:
        return search(ways[0], path=path, include=include, files=files, words=True, most=most)
    loose = [in_words(term, literal=True) for term in terms if term not in firm]
    return search_together(ways, loose, path=path, include=include, files=files, most=most)


def _words_for_paths(terms: Sequence[Term]) -> list[str]:
    words = [
        alternative.words[0]
        for term in terms
        for alternative in term.alternatives[:4]
        if len(alternative.words) == 1 and len(alternative.words[0]) >= _SHORTEST_NAME
    ]
    return [root for root in dict.fromkeys(map(_root, words)) if re.fullmatch(r"\w+", root, re.ASCII)][:16]


def _root(word: str) -> str:
    """The part of a word that its forms share, as they are written."""
    root = stem(word)
    if len(root) <= _SHORTEST_NAME:
        return word
    return root[:-1] if root.endswith(("y", "iz")) else root


def _candidates(hits: Sequence[Hit]) -> list[Candidate]:
    found: dict[tuple[str, int], Candidate] = {}
    for hit in hits:
        if (hit.path, hit.line) in found or _GUARD.match(hit.text):
            continue
        if (defined := defined_by(hit.text, hit.path)) and defined.kind != "key":
            found[hit.path, hit.line] = Candidate(
                path=hit.path, line=hit.line, kind=defined.kind, name=defined.name, text=hit.text.strip()
            )
    return list(found.values())
