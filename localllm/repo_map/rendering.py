"""Render the repository map: the most important files, with the lines of their definitions."""

import errno
import heapq
import math
import os
import re
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from localllm.base.errors import ConfigurationError
from localllm.code.symbols import Symbol
from localllm.repo_map.index import Refreshed, RepoIndex
from localllm.repo_map.rank import RepoGraph
from localllm.repo_map.request import Part, RepoMapText, identifiers_in, paths_in
from localllm.text.bm25 import Bm25
from localllm.text.tokenising import terms

_GAP = "⋮"
_USUAL_LINE = 60


class Rendered(msgspec.Struct, frozen=True):
    """The text, and how many of the files and definitions are in it."""

    text: str
    files: int = 0
    definitions: int = 0


class Ranked(NamedTuple):
    """A definition in a file, with its index in the file."""

    path: str
    number: int


def render(
    ranked: Sequence[Ranked],
    definitions: Callable[[str], Sequence[Symbol]],
    room: int,
    measure: Callable[[str], int],
) -> Rendered:
    """Render as many of the `ranked` definitions, best first, as fit `room` by `measure`.

    A file appears at the position of its first definition:

        core/index.py
        12 class Index:
        ⋮
        40     def refresh(self) -> None:

    The numbers are line numbers; `⋮` stands for omitted definitions.
    """
    fitting, beyond, best = 0, len(ranked) + 1, Rendered("")
    count = min(len(ranked), max(1, room // _USUAL_LINE))
    while beyond - fitting > 1:
        shown = _rendered(ranked[:count], definitions)
        if measure(shown.text) <= room:
            fitting, best = count, shown
        else:
            beyond = count
        count = min(2 * fitting + 1, (fitting + beyond) // 2)
    return best


def _rendered(ranked: Sequence[Ranked], definitions: Callable[[str], Sequence[Symbol]]) -> Rendered:
    chosen: dict[str, set[int]] = {}
    for path, number in ranked:
        chosen.setdefault(path, set()).add(number)
    lines = [line for path, numbers in chosen.items() for line in _file(path, numbers, definitions(path))]
    return Rendered("\n".join(lines), files=len(chosen), definitions=len(ranked))


def _file(path: str, numbers: set[int], definitions: Sequence[Symbol]) -> Iterator[str]:
    yield path
    numbers = _with_what_is_around(numbers, definitions)
    left_out = False
    for number, definition in enumerate(definitions):
        if number not in numbers:
            left_out = True
            continue
        if left_out:
            yield _GAP
            left_out = False
        depth = definition.parent.count(".") + 1 if definition.parent else 0
        yield f"{definition.line} {'  ' * depth}{definition.signature}"
    if left_out:
        yield _GAP


def _with_what_is_around(numbers: set[int], definitions: Sequence[Symbol]) -> set[int]:
    """Add the numbers of the enclosing classes: a method's line alone does not name its class."""
    if not any(definitions[number].parent for number in numbers):
        return numbers
    owners = {definition.full_name: number for number, definition in enumerate(definitions)}
    whole = set(numbers)
    for number in numbers:
        parent = definitions[number].parent
        while parent and (owner := owners.get(parent)) is not None and owner not in whole:
            whole.add(owner)
            parent = definitions[owner].parent
    return whole


_MENTIONED_FILE, _SEEN_FILE, _MENTIONED_NAME, _SIMILAR = 5.0, 2.0, 3.0, 2.0  # how strongly each raises a file's rank
_MOST_SIMILAR = 20
_MOST_FILES = 1_000  # whose definitions are considered: more than fit into any map
_LENGTH = 0.3  # the b of BM25: a file with many definitions is no less about each of them
_MENTIONED = 10.0  # factor for a definition whose name was mentioned
_UNUSED, _WANTED, _NAMED = 0.05, 2.0, 5.0
"""Share of a file's rank for its definitions, used or not: for any file, one talked about, one named."""
_KINDS = {"class": 1.5, "interface": 1.5, "trait": 1.5, "struct": 1.5, "namespace": 0.1, "module": 0.5, "impl": 0.3}
_PRIVATE = 0.3
_TEST = re.compile(
    r"(?:^|/)(?:tests?|specs?|__tests__|testdata|fixtures)/|(?:^|/)test_|[_.](?:test|spec)\.\w+$|Tests?\.\w+$"
)
_TEST_SHARE = 0.1
"""Factor for definitions in tests, unless tests are talked about: usually the code itself is wanted."""


class Drawing:
    """The state behind a RepoMap. `ranks` are those of the last drawing, from 0 to 1; see RepoMap."""

    def __init__(self, root: Path, cache: Path | None, exclude: Sequence[str], seconds: float) -> None:
        self.ranks: Mapping[str, float] = {}
        self._root = root
        self._index = RepoIndex(root, cache, exclude)
        self._seconds = seconds
        self._graph: RepoGraph | None = None
        self._similar: Bm25 | None = None

    def draw(
        self,
        room: int,
        words: str,
        files: Sequence[str],
        part: Part,
        measure: Callable[[str], int],
        stop: threading.Event,
    ) -> RepoMapText:
        """See RepoMap.draw."""
        refreshed = self._refresh(stop)
        if refreshed.changed or self._graph is None:
            self._graph, self._similar = RepoGraph(self._index.files), None
        graph = self._graph
        asked = _Asked(words, files)
        wanted = self._wanted(graph, asked)
        ranks = graph.rank(wanted) if graph.paths else []
        self._note(graph, ranks)
        inside = [number for number, path in enumerate(graph.paths) if part.shows(path)]
        best = heapq.nlargest(_MOST_FILES, inside, key=ranks.__getitem__)
        scored = _scored(graph, ranks, asked, wanted, best)
        held = {path: record for path, record in self._index.files.items() if part.holds(path)}
        records = {path: record for path, record in held.items() if part.shows(path)}
        text = render(_ordered(scored), lambda path: graph.records[graph.numbers[path]].definitions, room, measure)
        unmatched = bool(text.text and words.strip()) and not wanted
        closed = len(held) - len(records)
        return RepoMapText(text.text, text.files, text.definitions, records, refreshed.left_out, unmatched, closed)

    def _refresh(self, stop: threading.Event) -> Refreshed:
        try:
            return self._index.refresh(self._seconds, stop)
        except OSError as error:
            reason = os.strerror(error.errno or errno.EIO)
            raise ConfigurationError("project_folder_unusable", folder=self._root, reason=reason) from error

    def _note(self, graph: RepoGraph, ranks: Sequence[float]) -> None:
        most = max(ranks, default=0.0)
        self.ranks = {path: (rank / most) ** 0.5 for path, rank in zip(graph.paths, ranks, strict=True)}

    def _wanted(self, graph: RepoGraph, asked: "_Asked") -> dict[int, float]:
        """Return the files that the conversation is about, by number, with weights."""
        wanted: dict[int, float] = {}

        def add(number: int, weight: float) -> None:
            wanted[number] = wanted.get(number, 0.0) + weight

        for path in asked.files:
            if path in graph.numbers:
                add(graph.numbers[path], _SEEN_FILE)
        for number, path in enumerate(graph.paths if asked.paths else ()):
            if asked.names_file(path):
                add(number, _MENTIONED_FILE)
        for name in asked.names & graph.definers.keys():
            numbers = {*graph.definers[name].top, *graph.definers[name].methods}
            for number in numbers:
                add(number, _MENTIONED_NAME / len(numbers))
        if asked.terms:
            similar = self._similar_files(graph)
            asked.weights = {term: similar.weight(term) for term in asked.terms}
            best = similar.best(asked.terms, _MOST_SIMILAR)
            for path, score in best:
                add(graph.numbers[path], _SIMILAR * (score / best[0][1]) ** 2)
        return wanted

    def _similar_files(self, graph: RepoGraph) -> Bm25:
        """Return a BM25 index of the files by the words of their paths and definitions."""
        if self._similar is None:
            self._similar = Bm25(b=_LENGTH)
            of_name: dict[str, list[str]] = {}
            for path, record in zip(graph.paths, graph.records, strict=True):
                found = terms(path)
                for definition in record.definitions:
                    if (known := of_name.get(definition.name)) is None:
                        known = of_name[definition.name] = terms(definition.name)
                    found += known
                self._similar.add(path, found)
        return self._similar


class _Asked:
    """The topic of the conversation: names as written, terms, and files."""

    def __init__(self, words: str, files: Sequence[str]) -> None:
        self.files = files
        self.paths = paths_in(words)
        self.names = identifiers_in(words)
        self.terms = set(terms(words))
        self.weights: Mapping[str, float] = {}  # term → how rare it is in the project
        self.is_about_tests = bool(self.terms & {"test", "テスト"})

    def names_file(self, path: str) -> bool:
        """Return whether a file was mentioned, by its path or its name."""
        return bool(self.paths) and (path in self.paths or path.rpartition("/")[2] in self.paths)


def _scored(
    graph: RepoGraph, ranks: Sequence[float], asked: _Asked, wanted: Mapping[int, float], files: Iterable[int]
) -> dict[Ranked, float]:
    """Return the score of each definition in `files`."""
    votes = graph.definition_ranks(ranks)
    scored: dict[Ranked, float] = {}
    for file in files:
        path, definitions = graph.paths[file], graph.records[file].definitions
        share = 1.0 if not _TEST.search(path) or asked.is_about_tests else _TEST_SHARE
        drawn = _NAMED if asked.names_file(path) else _WANTED if file in wanted else _UNUSED
        weights = [_weight(definition, asked) for definition in definitions]
        own = drawn * ranks[file] / max(1.0, math.hypot(*(weight**2 for weight in weights)))
        for number, (definition, weight) in enumerate(zip(definitions, weights, strict=True)):
            used = votes.get((file, definition.name), 0.0)
            scored[Ranked(path, number)] = share * (used * weight + own * weight**2)
    return scored


def _weight(definition: Symbol, asked: _Asked) -> float:
    """Return the weight of a definition by its kind and name."""
    weight = _KINDS.get(definition.kind, 1.0)
    said = sum(asked.weights[term] for term in asked.terms.intersection(terms(definition.name))) if asked.terms else 0.0
    if definition.name in asked.names:
        weight *= _MENTIONED
    if definition.name.startswith("_") and not said:
        weight *= _PRIVATE
    return weight * (1 + said)


def _ordered(scored: Mapping[Ranked, float]) -> list[Ranked]:
    """Return the definitions by descending score; ties in the order of paths and lines."""
    return sorted(scored, key=lambda ranked: (-scored[ranked], ranked))
