"""The tool search_files: the lines of the project's files in which a pattern occurs."""

import asyncio
import os
import re
import stat
import warnings
from collections.abc import Iterator
from contextlib import AsyncExitStack
from typing import NamedTuple

from localllm.base.errors import ToolExecutionError
from localllm.base.events import Json
from localllm.base.gitignore import matcher
from localllm.base.i18n import Phrase, tr
from localllm.base.walking import Entry, walk
from localllm.tools.context import ToolContext
from localllm.tools.guard.paths import shown
from localllm.tools.registry import Risk, ToolOutput, tool
from localllm.tools.search_engines import (
    LARGEST,
    Engine,
    Found,
    Hit,
    PythonEngine,
    Query,
    RipgrepEngine,
    UnsupportedPatternError,
    find_ripgrep,
)

_SECONDS = 20.0
_FILES_AT_ONCE = (200, 4_000)  # the first batch is small: what is looked for often stands near the top
_BYTES_AT_ONCE = 400_000  # of names: well below what a command line may hold (1 MB on macOS)


class Request(NamedTuple):
    """What is searched for, and where. `start` is a folder or a file, relative to the root; `include` a glob or ""."""

    query: Query
    start: str = "."
    include: str = ""
    max_results: int = 100


class Outcome(NamedTuple):
    """The first hits, how many files were searched and how many skipped, and whether there is more."""

    hits: list[Hit]
    searched: int
    skipped: int
    truncated: bool


@tool(risk=Risk.SAFE, paths=("path",))
async def search_files(
    context: ToolContext,
    pattern: str,
    path: str = ".",
    include: str = "",
    ignore_case: bool = False,
    max_results: int = 100,
) -> ToolOutput:
    """Search the lines of files for a regular expression.

    pattern: regular expression
    path: folder or file to search
    include: glob of the files to search, such as *.py
    ignore_case: do not distinguish upper and lower case
    max_results: how many lines at most
    """
    query, reason = _understand(pattern, ignore_case=ignore_case)
    request = Request(query, context.root.relative(path), include, max(1, max_results))
    outcome = await find(context, request)
    lines, shown_hits = _fitting(outcome.hits, context.output_limit)
    truncated = outcome.truncated or len(shown_hits) < len(outcome.hits)
    notes = [tr("search.as_text", reason=reason)] if reason else []
    if truncated:
        notes.append(tr("search.more"))
    payload: dict[str, Json] = {
        "matches": [{"file": hit.path, "line": hit.line, "text": hit.text} for hit in shown_hits],
        "files_searched": outcome.searched,
        "files_skipped": outcome.skipped,
        "truncated": truncated,
    }
    summary = tr("search.found_more" if truncated else "search.found", count=len(shown_hits), pattern=shown(pattern))
    lines = lines or _nothing(pattern, outcome)
    return ToolOutput(payload=payload, for_model="\n".join([*lines, *notes]), summary=summary)


async def find(
    context: ToolContext, request: Request, *, use_ripgrep: bool = True, seconds: float = _SECONDS
) -> Outcome:
    """Search, with ripgrep where it is installed and understands the pattern.

    Raises ToolExecutionError search_timeout after `seconds`, file_missing where `request.start` is not there.
    """
    try:
        async with asyncio.timeout(seconds), AsyncExitStack() as stack:
            engines = _engines(context, request.query, stack, use_ripgrep=use_ripgrep)
            return await _search(context, request, engines)
    except TimeoutError as error:
        raise ToolExecutionError("search_timeout", pattern=shown(request.query.pattern), seconds=seconds) from error


async def _search(context: ToolContext, request: Request, engines: list[Engine]) -> Outcome:
    hits: list[Hit] = []
    searched = skipped = 0
    batches = _batches(_candidates(context, request))
    while len(hits) <= request.max_results and (batch := await asyncio.to_thread(next, batches, None)):
        found = await _ask(engines, batch.paths, request.max_results + 1 - len(hits))
        hits += found.hits
        searched += len(batch.paths) - found.skipped
        skipped += batch.skipped + found.skipped
    return Outcome(hits[: request.max_results], searched, skipped, len(hits) > request.max_results)


async def _ask(engines: list[Engine], paths: list[str], limit: int) -> Found:
    """The answer of the first engine; one that does not understand the pattern is not asked again."""
    try:
        return await engines[0].search(paths, limit)
    except UnsupportedPatternError:
        del engines[0]
        return await engines[0].search(paths, limit)


def _engines(context: ToolContext, query: Query, stack: AsyncExitStack, *, use_ripgrep: bool) -> list[Engine]:
    python = PythonEngine(context.root, query, stack)
    program = find_ripgrep(context.root.path) if use_ripgrep else None
    if program is None or not (query.literal or _reads_alike(query.pattern)):
        return [python]
    return [RipgrepEngine(context.root, query, program, python, stack), python]


class _Batch(NamedTuple):
    """Files to search together, and how many were passed over on the way to them."""

    paths: list[str]
    skipped: int


def _batches(candidates: Iterator[Entry]) -> Iterator[_Batch]:
    paths: list[str] = []
    size = skipped = 0
    most = _FILES_AT_ONCE[0]
    for entry in candidates:
        if entry.size > LARGEST or shown(entry.path) != entry.path:
            skipped += 1
            continue
        paths.append(entry.path)
        size += len(os.fsencode(entry.path)) + 1
        if len(paths) >= most or size >= _BYTES_AT_ONCE:
            yield _Batch(paths, skipped)
            paths, size, skipped, most = [], 0, 0, _FILES_AT_ONCE[1]
    if paths or skipped:
        yield _Batch(paths, skipped)


def _candidates(context: ToolContext, request: Request) -> Iterator[Entry]:
    facts = context.root.stat(request.start)
    if not stat.S_ISDIR(facts.st_mode):
        yield Entry(request.start, is_dir=False, size=facts.st_size)
        return
    fits = matcher([request.include]) if request.include else None
    below = 0 if request.start == "." else len(request.start) + 1
    exclude = context.settings.project.exclude_patterns
    for entry in walk(context.root.path, exclude=exclude, start=request.start):
        if entry.is_dir or entry.is_link:
            continue
        if fits is None or fits(entry.path[below:]) or fits(entry.path):
            yield entry


_LINE_BREAK = re.compile(r"\n|(?<!\\)(?:\\\\)*\\n")
_BRACKETS = re.compile(r"\[\^?\]?(?:\\.|[^\]\\])*\]")
_MEANT_AS_REGEX = re.compile(r"\\[wdsbWDSB]|\.[*+]|\||^\^|\$$|\(\?|\[[^\]]*\]")
_READ_DIFFERENTLY = re.compile(r"\\[<>]|\\b\{|[*+?}]\+")  # word ends and possessive repetition
_IN_SETS = re.compile(r"\[|&&|--|~~|\|\|")  # ripgrep knows sets in sets, and operators on them


def _understand(pattern: str, *, ignore_case: bool) -> tuple[Query, str]:
    """The query, and why it is read as plain text ("" where it is a regular expression).

    Raises ToolExecutionError search_bad_pattern.
    """
    if not pattern:
        raise ToolExecutionError("search_bad_pattern", pattern="", reason=Phrase("path.empty"))
    if _LINE_BREAK.search(_BRACKETS.sub("", pattern)):
        raise ToolExecutionError("search_bad_pattern", pattern=shown(pattern), reason=Phrase("search.one_line"))
    try:
        with warnings.catch_warnings(action="ignore", category=FutureWarning):
            re.compile(pattern)
    except re.error as error:
        if _MEANT_AS_REGEX.search(pattern):
            raise ToolExecutionError("search_bad_pattern", pattern=shown(pattern), reason=str(error)) from error
        return Query(pattern, literal=True, ignore_case=ignore_case), str(error)
    return Query(pattern, ignore_case=ignore_case), ""


def _reads_alike(pattern: str) -> bool:
    """Whether ripgrep, if it takes the pattern at all, reads it as Python does."""
    sets: list[str] = _BRACKETS.findall(pattern)
    return not _READ_DIFFERENTLY.search(pattern) and not any(_IN_SETS.search(found[1:]) for found in sets)


def _fitting(hits: list[Hit], limit: int) -> tuple[list[str], list[Hit]]:
    """The hits as lines, as many as go into `limit` characters."""
    lines: list[str] = []
    for hit in hits:
        line = f"{hit.path}:{hit.line}: {hit.text}"
        limit -= len(line) + 1
        if limit < 0:
            break
        lines.append(line)
    return lines, hits[: len(lines)]


def _nothing(pattern: str, outcome: Outcome) -> list[str]:
    told = tr("search.nothing", pattern=shown(pattern), count=outcome.searched, skipped=outcome.skipped)
    return [told, tr("search.alternatives")] if r"\|" in pattern else [told]
