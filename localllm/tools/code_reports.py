"""Reports of analyze_code: the outline of a source file, or the map of a folder."""

import asyncio
import heapq
import stat
import threading
from collections.abc import Collection, Iterable, Iterator
from typing import TYPE_CHECKING, TypeVar

import msgspec

from localllm.base.errors import ToolExecutionError
from localllm.base.events import Json
from localllm.base.i18n import N_, Phrase, plural
from localllm.code.grammars import GRAMMARS, language_of
from localllm.code.outline import MAX_BYTES, Definition, NotParsedError, Outline, outline
from localllm.repo_map.repo_map import RepoMap
from localllm.repo_map.request import RepoMapText
from localllm.safety.path_names import shown
from localllm.safety.paths import ProjectRoot
from localllm.safety.tool_definition import ToolOutput
from localllm.text.decoding import NotTextError, decode
from localllm.text.sanitising import clean
from localllm.tools.context import NotShown, ToolContext, not_shown
from localllm.tools.results import cap
from localllm.tools.text_files import LARGEST

if TYPE_CHECKING:
    from localllm.code.symbols import Symbol
    from localllm.repo_map.index import FileRecord

_REASONS = {
    "large": N_("it is larger than {megabytes} MB"),
    "slow": N_("parsing it takes too much time or memory"),
    "broken": N_("its syntax is too broken"),
}

_Function = TypeVar("_Function", Definition, "Symbol")

_TOP = 10
_MOST_OF_SUMMARY = 2_500  # characters of a folder's summary before its map
_LEAST_MAP = 1_000


async def look(context: ToolContext, path: str) -> ToolOutput:
    """Analyse a path in the project, for analyze_code."""
    if not stat.S_ISDIR(context.root.stat(path).st_mode):
        return _file_output(context, path, await asyncio.to_thread(_analyze, context.root, path))
    stop = threading.Event()
    try:
        return await asyncio.to_thread(_analyze_folder, context, path, stop)
    finally:
        stop.set()


def _analyze(root: ProjectRoot, path: str) -> Outline:
    """Parse a source file. Raises ToolExecutionError: code_unsupported, code_not_parsed, file_missing, …"""
    if language_of(path) is None:
        raise ToolExecutionError("code_unsupported", path=shown(path), known=", ".join(GRAMMARS))
    text = _read(root, path)
    try:
        return outline(text, language_of(path, text) or "")
    except NotParsedError as error:
        reason = Phrase(_REASONS[error.kind], megabytes=MAX_BYTES // 1_000_000)
        raise ToolExecutionError("code_not_parsed", path=shown(path), reason=reason) from error


def _read(root: ProjectRoot, path: str) -> bytes:
    """Read the file as UTF-8; unconverted if its encoding is unknown, as keywords are ASCII everywhere."""
    data = root.read_bytes(path, LARGEST)
    try:
        return decode(data).text.encode()
    except NotTextError as error:
        if error.kind == "encoding":
            return data
        raise ToolExecutionError("file_not_text", path=shown(path), reason=Phrase("its content is binary")) from error


def _file_output(context: ToolContext, path: str, found: Outline) -> ToolOutput:
    headline = Phrase(
        N_(
            "{path}: {language}, {lines} line, {code_lines} of them code",
            "{path}: {language}, {lines} lines, {code_lines} of them code",
        ),
        path=shown(path),
        language=found.language,
        lines=found.lines,
        code_lines=found.code_lines,
        count=found.lines,
    )
    metrics: dict[str, Json] = {
        "files": 1,
        "lines": found.lines,
        "code_lines": found.code_lines,
        "functions": len(found.functions),
        "complexity": max((f.complexity for f in found.functions), default=0),
        "error_lines": list(found.error_lines),
    }
    return ToolOutput(
        payload={
            "file_path": path,
            "language": found.language,
            "definitions": [msgspec.to_builtins(definition) for definition in found.definitions],
            "imports": list(found.imports),
            "metrics": metrics,
        },
        for_model=cap(clean("\n".join([headline.english, *_file_lines(found)])), context, "analyze_code"),
        summary=headline,
    )


def _file_lines(found: Outline) -> Iterator[str]:
    if found.error_lines:
        yield f"syntax errors: line {_numbers(found.error_lines)}"
    if found.imports:
        yield f"imports: {', '.join(found.imports)}"
    if worst := _most_complex(("", f) for f in found.functions)[:5]:
        yield "most complex: {names}".format(names=", ".join(f"{f.full_name} {f.complexity}" for _, f in worst))
    yield (
        "definitions (lines kind name, and the cyclomatic complexity of functions):"
        if found.definitions
        else "no definitions"
    )
    yield from _tree(found.definitions)


def _tree(definitions: Iterable[Definition]) -> Iterator[str]:
    """Yield a line for each definition, indented below its parent."""
    around: list[Definition] = []
    for definition in definitions:
        while around and (around[-1].full_name != definition.parent or around[-1].end_line < definition.end_line):
            around.pop()
        name = definition.name if around else definition.full_name
        complexity = f" ({definition.complexity})" if definition.complexity else ""
        yield f"{'  ' * len(around)}{definition.line}-{definition.end_line} {definition.kind} {name}{complexity}"
        around.append(definition)


def _analyze_folder(context: ToolContext, folder: str, stop: threading.Event) -> ToolOutput:
    """Summarise the source files below `folder` and draw their map. Files that are not parsed count as omitted."""
    repo_map = context.repo_map
    if repo_map is None or repo_map.root != context.root.path:
        repo_map = RepoMap(context.root.path, exclude=context.settings.project.exclude_patterns)
    room = max(_LEAST_MAP, context.output_limit - _MOST_OF_SUMMARY)
    hidden = not_shown(context, folder)
    drawn = repo_map.draw(
        room,
        words=context.focus.words,
        files=context.seen.paths,
        under=folder,
        closed=hidden.paths,
        stop=stop,
    )
    return _folder_output(context, folder, drawn, hidden)


def _folder_output(context: ToolContext, folder: str, drawn: RepoMapText, hidden: NotShown) -> ToolOutput:
    files = {path: record for path, record in drawn.records.items() if record.language}
    left_out = drawn.left_out + len(drawn.records) - len(files)
    sizes = _sizes(files.values())
    languages = _languages(files.values())
    largest = heapq.nlargest(_TOP, files.items(), key=lambda item: item[1].lines)
    worst = _most_complex((path, f) for path, record in files.items() for f in record.definitions)
    broken = [(path, record.error_lines) for path, record in files.items() if record.error_lines]
    headline = Phrase(
        N_(
            "{path}: {files} source file, {lines} lines, {code_lines} of them code",
            "{path}: {files} source files, {lines} lines, {code_lines} of them code",
        ),
        path=shown(folder),
        files=sizes["files"],
        lines=sizes["lines"],
        code_lines=sizes["code_lines"],
        count=sizes["files"],
    )
    lines = [
        headline.english,
        *(_language_line(language, sums) for language, sums in languages.items()),
        *_section("largest files (lines):", (f"{record.lines} {path}" for path, record in largest)),
        *_section("most complex functions:", (f"{f.complexity} {path}:{f.line} {f.full_name}" for path, f in worst)),
        *_section("files with syntax errors (lines):", (f"{path}: {_numbers(rows)}" for path, rows in broken[:_TOP])),
        *(
            [
                (
                    f"[{left_out} source {plural(left_out, 'file was', 'files were')} not analysed (too "
                    "many, too large or unreadable); analyse a smaller folder]"
                )
            ]
            if left_out
            else []
        ),
        *([hidden.note(drawn.closed, "source")] if drawn.closed else []),
        *_map_lines(drawn),
    ]
    metrics: dict[str, Json] = {
        **sizes,
        "languages": languages,
        "largest": [{"file_path": path, "lines": record.lines} for path, record in largest],
        "most_complex": [{"file_path": path, **_facts(f)} for path, f in worst],
        "broken": [{"file_path": path, "error_lines": list(rows)} for path, rows in broken],
        "left_out": left_out,
        "closed": drawn.closed,
        "map": drawn.text,
    }
    return ToolOutput(
        payload={"file_path": folder, "language": "", "definitions": [], "imports": [], "metrics": metrics},
        for_model=cap(clean("\n".join(lines)), context, "analyze_code"),
        summary=headline,
    )


def _map_lines(drawn: RepoMapText) -> list[str]:
    if not drawn.text:
        return []
    every = drawn.all_definitions
    return [
        f"what matters most, with line numbers ({drawn.definitions} of {every} "
        f"{plural(every, 'definition', 'definitions')}):",
        drawn.text,
    ]


def _language_line(language: str, sums: dict[str, int]) -> str:
    files, lines, code_lines, functions = (sums[name] for name in ("files", "lines", "code_lines", "functions"))
    return (
        f"{language}: {files} {plural(files, 'file', 'files')}, lines: {lines} ({code_lines} "
        f"code), functions: {functions}"
    )


def _facts(function: "Symbol") -> dict[str, Json]:
    fields = ("kind", "name", "line", "end_line", "parent", "complexity")
    return {field: getattr(function, field) for field in fields}


def _section(title: str, lines: Iterable[str]) -> list[str]:
    indented = [f"  {line}" for line in lines]
    return [title, *indented] if indented else []


def _sizes(files: Collection["FileRecord"]) -> dict[str, int]:
    return {
        "files": len(files),
        "lines": sum(file.lines for file in files),
        "code_lines": sum(file.code_lines for file in files),
        "functions": sum(file.functions for file in files),
    }


def _languages(files: Collection["FileRecord"]) -> dict[str, dict[str, int]]:
    """Return the sizes by language, the one with most code first."""
    names = {file.language for file in files}
    sizes = {name: _sizes([file for file in files if file.language == name]) for name in sorted(names)}
    return dict(sorted(sizes.items(), key=lambda item: -item[1]["code_lines"]))


def _most_complex(functions: Iterable[tuple[str, _Function]]) -> list[tuple[str, _Function]]:
    branching = (item for item in functions if item[1].complexity > 1)
    return heapq.nlargest(_TOP, branching, key=lambda item: item[1].complexity)


def _numbers(lines: Iterable[int]) -> str:
    return ", ".join(map(str, lines))
