"""Rank the files and definitions of a project: PageRank over the use of names.

A file that uses a name votes for the files that define it, more strongly for a rarer name and for a more certain
definition. Page and others, "The PageRank Citation Ranking", 1999.
"""

import math
from array import array
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from localllm.repo_map.index import FileRecord

_FAR, _NEAR = 0.85, 0.5  # share of its rank that a file passes on: for the whole project, or around wanted files
_WANTED = 0.9
_LEAST_VOTES = 3.0  # a file that votes less keeps the rest: one doubtful vote must not weigh as ten certain ones
_ROUNDS = 30
_CLOSE_ENOUGH = 1e-3
_MOST_DEFINERS = 30  # a name defined in more files is ambiguous
_PLAIN_NAME, _PRIVATE_NAME = 0.3, 0.1
_METHOD = 0.3  # of a vote: the class of a called method is only guessed
_IMPORTED, _NEIGHBOUR, _ELSEWHERE = 1.0, 0.5, 0.1  # certainty that a definition is the one used
_IMPORT_ALL = frozenset({"python", "ecmascript", "rust"})
"""Families whose functions and classes must be imported by name or with their module in other files."""

_NAME_OBJECTS = _IMPORT_ALL | {"go"}
"""Families in which a method is always called on something."""

_NO_DEFINERS = frozenset({"namespace", "impl"})
_INDEX_STEMS = frozenset({"__init__", "index", "mod", "lib", "main"})
_FAMILY = {"tsx": "ecmascript", "typescript": "ecmascript", "javascript": "ecmascript", "c": "c", "cpp": "c"}


class _Definers(NamedTuple):
    """The files that define a name, at top level and in a class."""

    top: list[int]
    methods: list[int]


class _Imports:
    """The imports of a file."""

    def __init__(self, written: str) -> None:
        self._modules = set(written.split())
        self.words = set(written.replace(".", " ").split())

    def name(self, module: str) -> bool:
        """Return whether `module` is imported; a single name may be in any folder."""
        return module in self._modules or module.rpartition(".")[2] in self._modules


class RepoGraph:
    """The use of names between files. `paths` are the files; everything else refers to them by index."""

    def __init__(self, files: Mapping[str, FileRecord]) -> None:
        self.paths = tuple(path for path, record in files.items() if record.language)
        self.numbers = {path: number for number, path in enumerate(self.paths)}
        self.records = tuple(files[path] for path in self.paths)
        self.definers = _definers(self.records)
        self._families = [_FAMILY.get(record.language, record.language) for record in self.records]
        self._folders = [path.rpartition("/")[0] for path in self.paths]
        self._modules = [_module(path, record.language) for path, record in zip(self.paths, self.records, strict=True)]
        self._packages = [_last_words(folder) for folder in self._folders]
        self._sources = array("I")
        self._targets = array("I")
        self._weights = array("f")
        self._names: list[str] = []
        self._totals = [0.0] * len(self.paths)
        self._votes = [self._votes_of(number) for number in range(len(self.paths))]

    def rank(self, wanted: Mapping[int, float]) -> list[float]:
        """Return each file's rank; they sum to 1. `wanted` draws most of it to some files and their neighbours."""
        count = len(self.paths)
        start = [1.0 / count] * count
        passed_on = _FAR
        if total := sum(wanted.values()):
            passed_on = _NEAR
            start = [(1 - _WANTED) / count] * count
            for number, weight in wanted.items():
                start[number] += _WANTED * weight / total
        rank = start
        for _ in range(_ROUNDS):
            following = self._round(rank, start, passed_on)
            change = sum(map(abs, map(float.__sub__, following, rank)))
            rank = following
            if change < _CLOSE_ENOUGH:
                break
        return rank

    def definition_ranks(self, rank: Sequence[float]) -> dict[tuple[int, str], float]:
        """Return the share of the files' rank for each name they define, by file and name."""
        shares = [place / max(total, _LEAST_VOTES) for place, total in zip(rank, self._totals, strict=True)]
        ranks: dict[tuple[int, str], float] = {}
        for source, target, name, weight in zip(self._sources, self._targets, self._names, self._weights, strict=True):
            key = target, name
            ranks[key] = ranks.get(key, 0.0) + shares[source] * weight
        return ranks

    def _votes_of(self, number: int) -> list[tuple[int, float]]:
        """Return the files that a file votes for, with weights; its votes sum to at most 1."""
        record = self.records[number]
        imports = _Imports(record.imports)
        sums: dict[int, float] = {}
        for used, count in zip(record.names.split(" "), record.counts, strict=False):
            name = used.removeprefix(".")
            if (definers := self.definers.get(name)) is None:
                continue
            for target, sure in self._meant(number, name, definers, imports, of_something=used != name):
                weight = math.sqrt(count) * sure
                sums[target] = sums.get(target, 0.0) + weight
                self._sources.append(number)
                self._targets.append(target)
                self._names.append(name)
                self._weights.append(weight)
        self._totals[number] = total = sum(sums.values())
        return [(target, weight / max(total, _LEAST_VOTES)) for target, weight in sums.items()]

    def _meant(
        self, user: int, name: str, definers: "_Definers", imports: "_Imports", *, of_something: bool
    ) -> list[tuple[int, float]]:
        """Return the definitions of a name that a file probably means, each with the weight of its use."""
        if user in definers.top or user in definers.methods:
            return []
        family = self._families[user]
        if meant := [n for n in definers.top if imports.name(self._modules[n]) and self._families[n] == family]:
            return [(number, _IMPORTED / len(meant)) for number in meant]
        if name in imports.words:  # the name of a module
            return []
        weight = _weight_of_name(name)
        top = self._likeliest(user, definers.top, imports, needs_import=family in _IMPORT_ALL)
        chosen = [(number, weight * sure) for number, sure in top]
        if of_something or family not in _NAME_OBJECTS:
            vague = weight < 1 and family in _IMPORT_ALL
            methods = self._likeliest(user, definers.methods, imports, needs_import=vague)
            chosen += [(number, _METHOD * weight * sure) for number, sure in methods]
        return chosen

    def _likeliest(
        self, user: int, numbers: list[int], imports: "_Imports", *, needs_import: bool
    ) -> list[tuple[int, float]]:
        """Return the most certain of the files that define a name."""
        if not numbers or len(numbers) > _MOST_DEFINERS:
            return []
        rated = [(number, self._sureness(user, number, imports, needs_import=needs_import)) for number in numbers]
        best = max(sure for _, sure in rated)
        chosen = [number for number, sure in rated if sure == best > 0]
        return [(number, best / len(chosen)) for number in chosen]

    def _sureness(self, user: int, definer: int, imports: "_Imports", *, needs_import: bool) -> float:
        if self._families[user] != self._families[definer]:
            return 0.0
        if imports.name(self._modules[definer]):
            return _IMPORTED
        if imports.name(self._packages[definer]):
            return _NEIGHBOUR
        if needs_import:
            return 0.0
        return _NEIGHBOUR if self._folders[user] == self._folders[definer] else _ELSEWHERE

    def _round(self, rank: list[float], start: list[float], passed_on: float) -> list[float]:
        given = sum(place * total / max(total, _LEAST_VOTES) for place, total in zip(rank, self._totals, strict=True))
        following = [(1 - passed_on * given) * place for place in start]
        for place, votes in zip(rank, self._votes, strict=True):
            shared = passed_on * place
            for target, share in votes:
                following[target] += shared * share
        return following


def _definers(records: Sequence[FileRecord]) -> dict[str, _Definers]:
    definers: dict[str, _Definers] = {}
    for number, record in enumerate(records):
        for definition in record.definitions:
            kind, name = definition.kind, definition.name
            if kind in _NO_DEFINERS:
                continue
            if (known := definers.get(name)) is None:
                known = definers[name] = _Definers([], [])
            files = known.methods if kind == "method" else known.top
            if not files or files[-1] != number:
                files.append(number)
    return definers


def _module(path: str, language: str) -> str:
    """Return the name by which imports refer to a file, as in the `imports` of a record."""
    folder, _, name = path.rpartition("/")
    stem = name.partition(".")[0]
    return _last_words(folder if language == "go" or stem in _INDEX_STEMS else f"{folder}/{stem}")


def _last_words(path: str) -> str:
    return ".".join(path.replace("-", "_").strip("/").split("/")[-2:])


def _weight_of_name(name: str) -> float:
    """Return how distinctive a name is: `value` may mean anything, `parse_header` and `RepoMap` hardly."""
    if name.startswith("_"):
        return _PRIVATE_NAME
    return 1.0 if len(name) >= 8 or is_compound(name) else _PLAIN_NAME


def is_compound(name: str) -> bool:
    """Return whether it is an identifier and not a natural word: fetch_page, fetchPage, HTTP2."""
    return not name.isalpha() or any(letter.isupper() for letter in name[1:])
