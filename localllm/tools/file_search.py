"""Search the project's files for a pattern or a definition, within limits of time and size."""

import asyncio
import os
import re
import stat
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import AsyncExitStack, suppress

import msgspec

from localllm.base.directory_walk import Entry, walk
from localllm.base.errors import ToolExecutionError
from localllm.base.events import Json
from localllm.base.gitignore import matcher
from localllm.base.i18n import N_, Phrase, plural
from localllm.base.lazy_patterns import late_pattern
from localllm.base.paths import find_program, passed_over
from localllm.base.shims import is_shim
from localllm.code.definition_patterns import SETTINGS, SOURCES, defining, defining_exactly, escape, spoken, together
from localllm.safety.path_names import shown
from localllm.safety.rules import is_within
from localllm.safety.tool_definition import ToolOutput
from localllm.tools.context import NotShown, ToolContext, not_shown
from localllm.tools.search_arguments import WantedLines
from localllm.tools.search_backends import (
    LARGEST,
    LARGEST_ALONE,
    Engine,
    Found,
    Hit,
    PythonEngine,
    Query,
    Reason,
    RipgrepEngine,
    Skipped,
    UnsupportedPatternError,
)
from localllm.tools.search_context import row, rows_in

_SKIPPED = {
    "binary": "{count} binary",
    "encoding": "{count} in an unknown encoding",
    "large": "{count} larger than 2 MB (to search one, give its path)",
    "huge": "{count} larger than 200 MB",
    "unreadable": "{count} that could not be read",
    "closed": "{count} closed by a rule",
    "asked": "{count} that read_file asks about",
    "name": "{count} with odd names",
}

_KEPT = ".localllm/tool-output"  # whole outputs, in the project or outside of it

_SECONDS = 20.0
_SECONDS_FOR_OTHER_CASE = 5.0
_MOST_IN_OTHER_CASE = 5  # matches
_MOST_IN_A_FILE = 20_000  # matches that are counted
_LONGEST_PATTERN = 4_000
_SHOWN_PATTERN = 100
_FILES_AT_ONCE = (200, 4_000)  # the first batch is small: matches are often near the top
_LOOKED_AT_ONCE = 20_000  # entries of the walk, about 0.2 s
_BYTES_AT_ONCE = 400_000  # of names: well below a command line's limit (1 MB on macOS)


class Request(msgspec.Struct, frozen=True):
    """What to search for, and where. `start` is a folder or file, relative to the root; `include` a glob or "". `said`
    is the original pattern, if the query contains more."""

    query: Query
    start: str = "."
    include: str = ""
    max_results: int = 100
    said: str = ""
    before: int = 0
    after: int = 0
    """Lines shown before and after each match."""

    @property
    def called(self) -> str:
        """The original pattern."""
        return self.said or self.query.pattern


class Outcome(msgspec.Struct, frozen=True):
    """The first hits, the numbers of files searched and skipped by reason, and whether there are more.

    `engine`: ripgrep, or python with the reason. `timed_out`: not all files were searched.
    """

    hits: list[Hit]
    searched: int
    skipped: Skipped
    truncated: bool
    engine: str = "ripgrep"
    why: str = ""
    timed_out: bool = False


async def search(context: ToolContext, request: Request, reason: str) -> ToolOutput:
    """Search and report the hits for the model. `reason`: why the pattern is treated as plain text, or ""."""
    pattern = request.called
    is_file = request.start != _KEPT and stat.S_ISREG(context.root.stat(request.start).st_mode)
    most = _MOST_IN_A_FILE if is_file else request.max_results
    outcome = await find(context, msgspec.structs.replace(request, max_results=most))
    fitting = _fitting_ends if is_file else _fitting
    lines, shown_hits = await fitting(context, request, outcome.hits)
    truncated = outcome.truncated or len(shown_hits) < len(outcome.hits)
    is_counted = is_file and not outcome.truncated
    notes = [f"[not a valid regular expression ({reason}): searched as plain text]"] if reason else []
    notes += _left_out(outcome, found=bool(lines))
    payload: dict[str, Json] = {
        "matches": [{"file": hit.path, "line": hit.line, "text": hit.text} for hit in shown_hits],
        "files_searched": outcome.searched,
        "files_skipped": outcome.skipped.total(),
        "truncated": truncated or outcome.timed_out,
        "metadata": {
            "engine": outcome.engine,
            "engine_reason": outcome.why,
            "skipped": {str(reason): count for reason, count in outcome.skipped.items()},
            "timed_out": outcome.timed_out,
        },
    }
    summary = Phrase(
        N_("more than {count} match for {pattern}", "more than {count} matches for {pattern}")
        if truncated and not is_counted
        else N_("{count} match for {pattern}", "{count} matches for {pattern}"),
        count=len(outcome.hits if is_counted else shown_hits),
        pattern=shown(pattern),
    )
    if outcome.timed_out:
        text = N_(
            "{summary}; stopped after {seconds:.0f} seconds and {count} file",
            "{summary}; stopped after {seconds:.0f} seconds and {count} files",
        )
        summary = Phrase(text, summary=summary, seconds=_SECONDS, count=outcome.searched)
    if outcome.hits:
        lines = [*_counted(outcome, len(shown_hits), is_file=is_file), *lines]
    else:
        lines = [*_nothing(pattern, outcome), *await _in_other_case(context, request, outcome)]
    return ToolOutput(payload=payload, for_model="\n".join([*lines, *notes]), summary=summary)


async def find(
    context: ToolContext, request: Request, *, use_ripgrep: bool = True, seconds: float = _SECONDS
) -> Outcome:
    """Search, with ripgrep if it is installed and supports the pattern.

    After `seconds` it returns what it has so far; if not a single file was searched, it raises ToolExecutionError
    search_timeout. Raises file_missing if `request.start` is missing.
    """
    async with AsyncExitStack() as stack:
        search = _Search(context, request, stack, use_ripgrep=use_ripgrep)
        try:
            async with asyncio.timeout(seconds):
                await search.run()
        except TimeoutError as error:
            if not search.searched:
                pattern = shown(request.called)
                raise ToolExecutionError("search_timeout", pattern=pattern, seconds=seconds) from error
            return search.outcome(timed_out=True)
        return search.outcome()


class _Search:
    """A running search, with its results so far."""

    def __init__(self, context: ToolContext, request: Request, stack: AsyncExitStack, *, use_ripgrep: bool) -> None:
        self._most = request.max_results
        self._batches = _batches(_candidates(context, request), not_shown(context, request.start))
        self._python = PythonEngine(context.root, request.query, stack)
        self._engines, self._why = _engines(context, request, stack, self._python, use_ripgrep=use_ripgrep)
        self._hits: list[Hit] = []
        self._skipped: Skipped = Counter()
        self.searched = 0

    async def run(self) -> None:
        """Search the files until there is one hit more than requested."""
        while len(self._hits) <= self._most and (batch := await asyncio.to_thread(next, self._batches, None)):
            found = await self._ask(batch) if batch.paths else Found([], Counter())
            self._hits += found.hits
            self.searched += len(batch.paths) - found.skipped.total()
            self._skipped += batch.skipped + found.skipped

    def outcome(self, *, timed_out: bool = False) -> Outcome:
        """Return the results so far."""
        more = len(self._hits) > self._most
        engine = self._engines[0].name
        why = self._why if engine == "python" else ""
        return Outcome(self._hits[: self._most], self.searched, self._skipped, more, engine, why, timed_out)

    async def _ask(self, batch: "_Batch") -> Found:
        """Return the answer of the first engine; one that does not support the pattern is removed."""
        limit = self._most + 1 - len(self._hits)
        if batch.is_large:
            self._engines, self._why = [self._python], "the file is large"
            return await self._python.search_alone(batch.paths[0], limit)
        try:
            return await self._engines[0].search(batch.paths, limit)
        except UnsupportedPatternError:
            del self._engines[0]
            return await self._engines[0].search(batch.paths, limit)


def _engines(
    context: ToolContext, request: Request, stack: AsyncExitStack, python: PythonEngine, *, use_ripgrep: bool
) -> tuple[list[Engine], str]:
    """Return the available engines, fastest first, and the reason if it is Python."""
    query = request.query
    if request.start == _KEPT or context.root.is_kept_outside(request.start):
        return [python], "ripgrep only looks into the project"
    if context.background.is_any_running:  # ripgrep opens files by name, which a command may replace by a link
        return [python], "a command is running in the background"
    program = find_program("rg", context.root.path) if use_ripgrep else None
    if program is None:
        file = passed_over("rg", context.root.path)
        if file is None:
            return [python], "ripgrep is not installed"
        return [python], f"{shown(file)} is {'a shim' if is_shim(file) else 'in a project'}, and not used"
    if not (query.literal or _reads_alike(query.pattern)):
        return [python], "ripgrep reads this pattern differently"
    return [RipgrepEngine(context.root, query, program, python, stack), python], "ripgrep has no such pattern"


class _Batch(msgspec.Struct, frozen=True):
    """Files to search together (possibly none), and the number skipped before them. `is_large`: it is one file, which
    is searched piece by piece."""

    paths: list[str]
    skipped: Skipped
    is_large: bool = False


def _batches(candidates: Iterator[Entry | None], hidden: NotShown) -> Iterator[_Batch]:
    batch = _Batch([], Counter())
    size = looked_at = 0
    most = _FILES_AT_ONCE[0]
    for entry in candidates:
        looked_at += 1
        if entry and (reason := _unfit(entry, hidden)):
            batch.skipped[reason] += 1
        elif entry and entry.size > LARGEST:
            yield batch
            yield _Batch([entry.path], Counter(), is_large=True)
            batch, size = _Batch([], Counter()), 0
        elif entry:
            batch.paths.append(entry.path)
            size += len(os.fsencode(entry.path)) + 1
        if len(batch.paths) >= most or size >= _BYTES_AT_ONCE or looked_at >= _LOOKED_AT_ONCE:
            yield batch
            batch, size, looked_at, most = _Batch([], Counter()), 0, 0, _FILES_AT_ONCE[1]
    if batch.paths or batch.skipped:
        yield batch


def _unfit(entry: Entry, hidden: NotShown) -> Reason | None:
    if hidden.hides(entry.path):
        return "closed" if any(is_within(entry.path, folder) for folder in hidden.closed) else "asked"
    if entry.size > LARGEST_ALONE:
        return "huge"
    if entry.size > LARGEST and not isinstance(entry, _Named):
        return "large"
    return "name" if shown(entry.path) != entry.path else None


class _Named(Entry):
    """A file that was named, not found: it may be large."""


def _candidates(context: ToolContext, request: Request) -> Iterator[Entry | None]:
    """Yield the files to search; None for each one skipped, so that the caller can check the timeout."""
    if request.start == _KEPT:
        for file in sorted(context.overflow_folder.glob("*.txt")):
            with suppress(OSError):  # another session deletes old ones
                yield _Named(context.root.name_of(file), is_dir=False, size=file.lstat().st_size)
        return
    facts = context.root.stat(request.start)
    if not stat.S_ISDIR(facts.st_mode):
        yield _Named(request.start, is_dir=False, size=facts.st_size)
        return
    fits = matcher([request.include]) if request.include else None
    below = 0 if request.start == "." else len(request.start) + 1
    exclude = context.settings.project.exclude_patterns
    for entry in walk(context.root.path, exclude=exclude, start=request.start):
        is_file = not (entry.is_dir or entry.is_link)
        chosen = is_file and (fits is None or fits(entry.path[below:]) or fits(entry.path))
        yield entry if chosen else None


_LINE_BREAK = late_pattern(r"\n|(?<!\\)(?:\\\\)*\\n")
_BRACKETS = late_pattern(r"\[\^?\]?(?:\\.|[^\]\\])*\]")
_MEANT_AS_REGEX = late_pattern(r"\\[wdsbWDSB]|\.[*+]|\||^\^|\$$|\(\?|\[[^\]]*\]")
_READ_DIFFERENTLY = late_pattern(r"\\[<>]|\\b\{|[*+?}]\+")  # word ends and possessive repetition
_IN_SETS = late_pattern(r"\[|&&|--|~~|\|\|")  # ripgrep supports nested sets and set operators


def understand(pattern: str, *, ignore_case: bool) -> tuple[Query, str]:
    """Return the query, and why it is treated as plain text ("" for a regular expression).

    Raises ToolExecutionError search_bad_pattern.
    """
    if not pattern:
        raise ToolExecutionError("search_bad_pattern", pattern="", reason=Phrase("it is empty"))
    if len(pattern) > _LONGEST_PATTERN:
        reason = Phrase("it has more than {most:,} characters", most=_LONGEST_PATTERN)
        raise ToolExecutionError("search_bad_pattern", pattern=shown(pattern[:_SHOWN_PATTERN]), reason=reason)
    if "\0" in pattern:
        reason = Phrase("no text holds the character U+0000")
        raise ToolExecutionError("search_bad_pattern", pattern=shown(pattern), reason=reason)
    if _LINE_BREAK.search(_BRACKETS.sub("", pattern)):
        raise ToolExecutionError(
            "search_bad_pattern", pattern=shown(pattern), reason=Phrase("the search goes line by line")
        )
    try:
        with warnings.catch_warnings(action="ignore", category=FutureWarning):
            re.compile(pattern)
    except (re.error, RecursionError, OverflowError) as error:
        if _MEANT_AS_REGEX.search(pattern):
            raise ToolExecutionError("search_bad_pattern", pattern=shown(pattern), reason=str(error)) from error
        return Query(pattern, literal=True, ignore_case=ignore_case), str(error)
    return Query(pattern, ignore_case=ignore_case), ""


def understand_code(pattern: str, wanted: WantedLines, *, ignore_case: bool) -> tuple[Query, str]:
    """Like `understand`, for lines of code."""
    if wanted.defines == "exactly":
        return Query(defining_exactly(pattern), ignore_case=ignore_case), ""
    plain, reason = _meant(pattern, wanted, ignore_case=ignore_case)
    if wanted.defines == "like":
        return msgspec.structs.replace(plain, pattern=defining(_group(plain)), literal=False), reason
    firm = [_group(_meant(one, wanted, ignore_case=False)[0]) for one in wanted.beside]
    loose = [_group(_meant(one, wanted, ignore_case=False)[0]) for one in wanted.loose]
    if not firm and not loose:
        return plain, reason
    least = min(max(2, wanted.least), 3, 1 + len(firm) + len(loose))
    return msgspec.structs.replace(
        plain, pattern=together([_group(plain), *firm], loose, least=least), literal=False
    ), reason


def _meant(pattern: str, wanted: WantedLines, *, ignore_case: bool) -> tuple[Query, str]:
    return understand(spoken(pattern) if wanted.words and pattern else pattern, ignore_case=ignore_case)


def _group(query: Query) -> str:
    return f"(?:{escape(query.pattern) if query.literal else query.pattern})"


def glob_of(wanted: WantedLines) -> str:
    """Return the glob of the files to search, "" for all."""
    match wanted.files:
        case "source":
            return f"*.{{{SOURCES}}}"
        case "settings":
            return f"*.{{{SOURCES},{SETTINGS}}}"
        case _:
            return ""


def _reads_alike(pattern: str) -> bool:
    """Return whether ripgrep, if it accepts the pattern, interprets it like Python."""
    sets: list[str] = _BRACKETS.findall(pattern)
    return not _READ_DIFFERENTLY.search(pattern) and not any(_IN_SETS.search(found[1:]) for found in sets)


async def _fitting(context: ToolContext, request: Request, hits: list[Hit]) -> tuple[list[str], list[Hit]]:
    """Format the hits that fit the output, each as a line or with those around it."""
    return await asyncio.to_thread(lambda: _first(_rows(context, request, hits), hits, context.output_limit))


def _rows(context: ToolContext, request: Request, hits: list[Hit]) -> Iterator[str]:
    return rows_in(context.root, hits, request.before, request.after, context.output_limit)


async def _fitting_ends(context: ToolContext, request: Request, hits: list[Hit]) -> tuple[list[str], list[Hit]]:
    """Format the hits of one file that fit the output and the number wanted: of many the first and the last."""
    rows = await asyncio.to_thread(lambda: list(_rows(context, request, hits)))
    if len(hits) <= request.max_results:
        lines, shown_hits = _first(rows, hits, context.output_limit)
        if len(lines) == len(rows):
            return lines, shown_hits
    most, room = (request.max_results + 1) // 2, context.output_limit // 2
    if rows and max(len(rows[0]), len(rows[-1])) >= room:
        rows = list(map(row, hits))
    first, first_hits = _first(rows[:most], hits, room)
    most = min(request.max_results - len(first), len(rows) - len(first))
    last, last_hits = _first(rows[::-1][:most], hits[::-1], room)
    if not last:
        return first, first_hits
    left_out = len(hits) - len(first) - len(last)
    return [*first, f"[… {left_out} {plural(left_out, 'match', 'matches')} …]", *reversed(last)], [
        *first_hits,
        *reversed(last_hits),
    ]


def _first(rows: Iterable[str], hits: list[Hit], limit: int) -> tuple[list[str], list[Hit]]:
    lines: list[str] = []
    for line in rows:
        limit -= len(line) + 1
        if limit < 0:
            break
        lines.append(line)
    return lines, hits[: len(lines)]


def _counted(outcome: Outcome, shown_count: int, *, is_file: bool) -> list[str]:
    """Report how many matches in how many files there are, and how many are shown; empty for a single one. In one file
    also in which lines they are."""
    count, files = len(outcome.hits), len({hit.path for hit in outcome.hits})
    is_all = shown_count == count and not outcome.truncated
    if is_all and count == 1:
        return []
    matches = f"{count} {plural(count, 'match', 'matches')} in {files} {plural(files, 'file', 'files')}"
    least = "more than " if outcome.truncated else ""
    narrow = "narrow the pattern" if is_file else "narrow the pattern, path or include"
    cut = "" if is_all else f"; {shown_count} shown: {narrow}"
    lines = f", lines {outcome.hits[0].line}-{outcome.hits[-1].line}" if is_file and not is_all else ""
    return [f"[{least}{matches}{lines}{cut}]"]


def _nothing(pattern: str, outcome: Outcome) -> list[str]:
    told = f"[no match for {shown(pattern)} in {outcome.searched} {plural(outcome.searched, 'file', 'files')}]"
    return [told, "[alternatives are written a|b, not a\\|b]"] if r"\|" in pattern else [told]


async def _in_other_case(context: ToolContext, request: Request, missed: Outcome) -> list[str]:
    """Show the first lines that match if case is ignored: small models often write a name in the wrong case."""
    query = request.query
    if query.ignore_case or missed.timed_out or not missed.searched or query.pattern.lower() == query.pattern.upper():
        return []
    query = msgspec.structs.replace(query, ignore_case=True)
    request = msgspec.structs.replace(request, query=query, max_results=_MOST_IN_OTHER_CASE, before=0, after=0)
    try:
        outcome = await find(context, request, seconds=_SECONDS_FOR_OTHER_CASE)
    except ToolExecutionError:
        return []
    lines, shown_hits = await _fitting(context, request, outcome.hits)
    if not lines:
        return []
    more = ", the first of them" if outcome.truncated or len(shown_hits) < len(outcome.hits) else ""
    return [f"[matches in other case (ignore_case){more}:]", *lines]


def _left_out(outcome: Outcome, *, found: bool) -> list[str]:
    """Report what was not searched and may contain matches. Binary files are only reported if nothing was found."""
    notes = (
        [
            (
                f"[stopped: it took too long. {outcome.searched} {plural(outcome.searched, 'file was', 'files were')} "
                "searched, others not; narrow path or include]"
            )
        ]
        if outcome.timed_out
        else []
    )
    skipped = [(reason, count) for reason, count in sorted(outcome.skipped.items()) if reason != "binary" or not found]
    if skipped:
        parts = [_SKIPPED[reason].format(count=count) for reason, count in skipped]
        notes.append(f"[not searched: {', '.join(parts)}]")
    return notes
