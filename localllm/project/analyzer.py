"""ProjectAnalyzer: analyse a project from its files alone, without executing anything of it."""

import asyncio
import math
import os
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence, Set
from hashlib import blake2b
from pathlib import Path

import msgspec

from localllm.base.cache import CacheManager
from localllm.project.analysis_cache import FactsStore, is_known, stamp_at
from localllm.project.facts import FilesAnalysis, ProjectAnalysis, Style
from localllm.project.file_facts import FileFacts, Habits, added_up
from localllm.project.file_tree import Tree, look
from localllm.project.languages import is_test, language_named
from localllm.project.parts import put_together

MOST_FILES = 100_000
LARGEST_FILE = 2_000_000
"""Bytes; a larger source file is generated or data."""

_SECONDS = 20.0
_WALKING_SHARE = 0.5  # of the time, to find the files
_SAMPLE = 200  # files of a language whose habits are measured
_BATCH = 64
_WORKERS = 4


class ProjectAnalyzer:
    """The analyser of one project. One analysis at a time.

    `cache`: a file that caches facts about files between runs. `caches`: where an analysis is cached until a file
    changes. `seconds`: time limit; what was skipped is in `passed_over`.
    """

    def __init__(
        self,
        root: Path,
        cache: Path | None = None,
        exclude: Sequence[str] = (),
        *,
        seconds: float = _SECONDS,
        most_files: int = MOST_FILES,
        caches: CacheManager | None = None,
    ) -> None:
        self.root = root
        self._store = FactsStore(cache)
        self._exclude = tuple(exclude)
        self._seconds = seconds
        self._most_files = most_files
        self._caches = caches
        self.read = 0
        """Number of new or changed source files read by the last analysis."""

    async def analyze(self) -> ProjectAnalysis:
        """Analyse the project. Raises OSError if its folder cannot be opened."""
        began = time.monotonic()
        until = began + self._seconds * _WALKING_SHARE
        tree = await asyncio.to_thread(look, self.root, exclude=self._exclude, most=self._most_files, deadline=until)
        signature = await asyncio.to_thread(self._signature, tree) if self._caches else b""
        if (kept := self._kept(signature)) is not None:
            return kept
        await asyncio.to_thread(self._store.load)
        if not tree.cut:
            self._store.keep_only({*tree.sources, *tree.scripts})
        left = began + self._seconds - time.monotonic()
        files = await self.parallel_file_analysis([*tree.sources, *tree.scripts], seconds=left)
        tree = _with_scripts(tree, files)
        self.read = files.read
        analysis = await asyncio.to_thread(put_together, self.root, tree, files)
        is_whole = not tree.cut and not {*tree.sources} - {*files.facts, *files.unreadable}
        if self._caches and signature and is_whole:
            self._caches.analysis_cache.put(self._key, analysis, signature)
        return analysis

    async def parallel_file_analysis(self, file_paths: Sequence[str], *, seconds: float | None = None) -> FilesAnalysis:
        """Analyse the source files at these paths, relative to the project.

        They are read in threads, unchanged ones from the cache. Habits are measured on some 200 evenly spread files per
        language; of the others, lines are counted. An unreadable file is only named; those beyond the time limit are
        left out.
        """
        deadline = time.monotonic() + (self._seconds if seconds is None else seconds)
        await asyncio.to_thread(self._store.load)
        sample = _sample(file_paths)
        order = [*sample, *(path for path in file_paths if path not in sample)]
        gate = asyncio.Semaphore(_WORKERS)

        async def batch(start: int) -> _Read:
            async with gate:
                return await asyncio.to_thread(self._read_batch, order[start : start + _BATCH], sample, deadline)

        results = await asyncio.gather(*map(batch, range(0, len(order), _BATCH)), return_exceptions=True)
        await asyncio.to_thread(self._store.save)
        return self.merge_analysis_results(results)

    async def analyze_file(self, path: str) -> FileFacts:
        """Analyse one source file. Raises OSError if it is unreadable."""
        found = (await asyncio.to_thread(self._read_batch, [path], frozenset({path}), math.inf))[path]
        if isinstance(found, OSError):
            raise found
        return found

    def merge_analysis_results(self, results: "Iterable[_Read | BaseException]") -> FilesAnalysis:
        """Merge the results of batches of files. Other exceptions are raised, now that all batches have ended."""
        facts: dict[str, FileFacts] = {}
        unreadable: list[str] = []
        for result in results:
            if isinstance(result, BaseException):
                raise result
            for path, found in result.items():
                if isinstance(found, OSError):
                    unreadable.append(path)
                else:
                    facts[path] = found
        return _merged(facts, tuple(sorted(unreadable)), self._store.take_count())

    def _read_batch(self, paths: Sequence[str], sample: Set[str], deadline: float) -> "_Read":
        found: _Read = {}
        root_fd = os.open(self.root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            for path in paths:
                if time.monotonic() > deadline:
                    break
                try:
                    found[path] = self._store.facts_at(root_fd, path, LARGEST_FILE, measured=path in sample)
                except OSError as error:
                    found[path] = error
        finally:
            os.close(root_fd)
        return found

    @property
    def _key(self) -> tuple[str, Path]:
        return "project", self.root

    def _kept(self, signature: bytes) -> ProjectAnalysis | None:
        kept = self._caches.analysis_cache.get(self._key, signature) if self._caches and signature else None
        return kept if isinstance(kept, ProjectAnalysis) else None

    def _signature(self, tree: Tree) -> bytes:
        """Return a digest of the names and times of all files; b"" while one of them was changed a moment ago."""
        digest = blake2b(digest_size=16)
        root_fd = os.open(self.root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            for path in tree.files:
                stamp = stamp_at(root_fd, path)
                if stamp is None or not is_known(stamp):
                    return b""
                digest.update(f"{path}\0{stamp}\0".encode("utf-8", "surrogateescape"))
        finally:
            os.close(root_fd)
        return digest.digest()


_Read = dict[str, FileFacts | OSError]


def analyze_project(
    root: Path, exclude: Sequence[str] = (), *, cache: Path | None = None, seconds: float = _SECONDS
) -> ProjectAnalysis:
    """Analyse a project outside of an event loop. Raises OSError."""
    return asyncio.run(ProjectAnalyzer(root, cache, exclude, seconds=seconds).analyze())


def _sample(paths: Sequence[str]) -> Set[str]:
    """Sample 200 files per language, evenly spread."""
    by_language: dict[str, list[str]] = defaultdict(list)
    for path in sorted(paths):
        by_language[language_named(path)].append(path)
    return frozenset(
        group[number * len(group) // min(_SAMPLE, len(group))]
        for group in by_language.values()
        for number in range(min(_SAMPLE, len(group)))
    )


def _with_scripts(tree: Tree, files: FilesAnalysis) -> Tree:
    """Return the tree with the detected scripts."""
    found = {path: files.facts[path].language for path in tree.scripts if path in files.facts}
    return msgspec.structs.replace(tree, sources=tree.sources | {path: name for path, name in found.items() if name})


def _merged(facts: dict[str, FileFacts], unreadable: tuple[str, ...], read: int) -> FilesAnalysis:
    lines: Counter[str] = Counter()
    imports: dict[str, Counter[str]] = defaultdict(Counter)
    habits: dict[str, list[Habits]] = defaultdict(list)
    of_tests: dict[str, list[Habits]] = defaultdict(list)
    programs: list[tuple[str, str]] = []
    for path, found in sorted(facts.items()):
        if not (language := found.language):
            continue
        lines[language] += found.lines
        if found.measured:
            if is_test(path):
                of_tests[language].append(found.habits)
            else:
                imports[language].update(found.imports)
                habits[language].append(found.habits)
            programs += [(path, program) for program in found.programs]
    seen = [(language, habits[language] or of_tests[language]) for language, _ in lines.most_common()]
    styles = [Style(language, len(several), added_up(several)) for language, several in seen]
    return FilesAnalysis(
        facts=facts,
        lines=dict(lines.most_common()),
        imports={language: dict(names.most_common()) for language, names in imports.items()},
        styles=tuple(style for style in styles if style.files),
        programs=tuple(programs),
        unreadable=unreadable,
        read=read,
    )
