"""analyze_code: what a source file, or a folder of them, is made of."""

import asyncio
import heapq
import stat
import threading
from collections.abc import Collection, Iterable, Iterator

import msgspec

from localllm.base.errors import LocalLLMError, ToolExecutionError
from localllm.base.events import Json
from localllm.base.i18n import Phrase, tr
from localllm.base.walking import walk
from localllm.syntax.grammars import GRAMMARS, language_of
from localllm.syntax.outline import MAX_BYTES, Definition, NotParsedError, Outline, outline
from localllm.text.cleaning import clean
from localllm.text.decoding import NotTextError, decode
from localllm.tools.context import ToolContext
from localllm.tools.guard.paths import ProjectRoot, shown
from localllm.tools.output import cap
from localllm.tools.registry import Risk, ToolOutput, tool
from localllm.tools.text_files import LARGEST

_MOST_FILES = 2_000
_MOST_BYTES = 20_000_000  # together: about ten seconds of parsing
_TOP = 10


@tool(risk=Risk.SAFE)
async def analyze_code(context: ToolContext, file_path: str) -> ToolOutput:
    """Outline a source file (definitions with line ranges, imports, complexity, syntax errors), or sum up a folder.

    file_path: source file or folder in the project
    """
    path = context.root.relative(file_path)
    if not stat.S_ISDIR(context.root.stat(path).st_mode):
        return _file_output(context, path, await asyncio.to_thread(_analyze, context.root, path))
    stop = threading.Event()
    try:
        return await asyncio.to_thread(_analyze_folder, context, path, stop)
    finally:
        stop.set()


def _analyze(root: ProjectRoot, path: str) -> Outline:
    """Raises ToolExecutionError: code_unsupported, code_not_parsed, file_missing, file_not_text, …"""
    if language_of(path) is None:
        raise ToolExecutionError("code_unsupported", path=shown(path), known=", ".join(GRAMMARS))
    text = _read(root, path)
    try:
        return outline(text, language_of(path, text) or "")
    except NotParsedError as error:
        reason = Phrase(f"code.{error.kind}", megabytes=MAX_BYTES // 1_000_000)
        raise ToolExecutionError("code_not_parsed", path=shown(path), reason=reason) from error


def _read(root: ProjectRoot, path: str) -> bytes:
    """The content as UTF-8; as it is where its encoding is not known, for keywords are ASCII everywhere."""
    data = root.read_bytes(path, LARGEST)
    try:
        return decode(data).text.encode()
    except NotTextError as error:
        if error.kind == "encoding":
            return data
        raise ToolExecutionError("file_not_text", path=shown(path), reason=Phrase("files.binary")) from error


def _file_output(context: ToolContext, path: str, found: Outline) -> ToolOutput:
    headline = tr(
        "code.file", path=shown(path), language=found.language, lines=found.lines, code_lines=found.code_lines
    )
    metrics: dict[str, Json] = {
        **_sizes([found]),
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
        for_model=cap(clean("\n".join([headline, *_file_lines(found)])), context, "analyze_code"),
        summary=headline,
    )


def _file_lines(found: Outline) -> Iterator[str]:
    if found.error_lines:
        yield tr("code.errors", lines=_numbers(found.error_lines))
    if found.imports:
        yield tr("code.imports", names=", ".join(found.imports))
    if worst := _most_complex({"": found})[:5]:
        yield tr("code.worst", names=", ".join(f"{f.full_name} {f.complexity}" for _, f in worst))
    yield tr("code.definitions") if found.definitions else tr("code.no_definitions")
    yield from _tree(found.definitions)


def _tree(definitions: Iterable[Definition]) -> Iterator[str]:
    """A line for each definition, indented below what it is defined in."""
    around: list[Definition] = []
    for definition in definitions:
        while around and (around[-1].full_name != definition.parent or around[-1].end_line < definition.end_line):
            around.pop()
        name = definition.name if around else definition.full_name
        complexity = f" ({definition.complexity})" if definition.complexity else ""
        yield f"{'  ' * len(around)}{definition.line}-{definition.end_line} {definition.kind} {name}{complexity}"
        around.append(definition)


def _analyze_folder(context: ToolContext, folder: str, stop: threading.Event) -> ToolOutput:
    """Analyse the source files below `folder`, as many as the limits allow; one that fails is counted as left out."""
    outlines: dict[str, Outline] = {}
    left_out = read = 0
    for entry in walk(context.root.path, exclude=context.settings.project.exclude_patterns, start=folder):
        if stop.is_set():
            break
        if entry.is_dir or entry.is_link or language_of(entry.path) is None:
            continue
        read += entry.size
        if len(outlines) == _MOST_FILES or read > _MOST_BYTES:
            left_out += 1
            continue
        try:
            outlines[entry.path] = _analyze(context.root, entry.path)
        except LocalLLMError:
            left_out += 1
    return _folder_output(context, folder, outlines, left_out)


def _folder_output(context: ToolContext, folder: str, outlines: dict[str, Outline], left_out: int) -> ToolOutput:
    sizes = _sizes(outlines.values())
    languages = _languages(outlines.values())
    largest = heapq.nlargest(_TOP, outlines.items(), key=lambda item: item[1].lines)
    worst = _most_complex(outlines)
    broken = [(path, found.error_lines) for path, found in outlines.items() if found.error_lines]
    lines = [
        headline := tr("code.folder", path=shown(folder), **sizes),
        *(tr("code.language", language=language, **sums) for language, sums in languages.items()),
        *_section("code.largest", (f"{found.lines} {path}" for path, found in largest)),
        *_section("code.worst_functions", (f"{f.complexity} {path}:{f.line} {f.full_name}" for path, f in worst)),
        *_section("code.broken_files", (f"{path}: {_numbers(rows)}" for path, rows in broken[:_TOP])),
        *([tr("code.left_out", count=left_out)] if left_out else []),
    ]
    metrics: dict[str, Json] = {
        **sizes,
        "languages": languages,
        "largest": [{"file_path": path, "lines": found.lines} for path, found in largest],
        "most_complex": [{"file_path": path, **msgspec.to_builtins(f)} for path, f in worst],
        "broken": [{"file_path": path, "error_lines": list(rows)} for path, rows in broken],
        "left_out": left_out,
    }
    return ToolOutput(
        payload={"file_path": folder, "language": "", "definitions": [], "imports": [], "metrics": metrics},
        for_model=cap(clean("\n".join(lines)), context, "analyze_code"),
        summary=headline,
    )


def _section(title: str, lines: Iterable[str]) -> list[str]:
    indented = [f"  {line}" for line in lines]
    return [tr(title), *indented] if indented else []


def _sizes(outlines: Collection[Outline]) -> dict[str, int]:
    return {
        "files": len(outlines),
        "lines": sum(found.lines for found in outlines),
        "code_lines": sum(found.code_lines for found in outlines),
        "functions": sum(len(found.functions) for found in outlines),
    }


def _languages(outlines: Collection[Outline]) -> dict[str, dict[str, int]]:
    """The sizes for each language, the one with most code first."""
    names = {found.language for found in outlines}
    sizes = {name: _sizes([found for found in outlines if found.language == name]) for name in sorted(names)}
    return dict(sorted(sizes.items(), key=lambda item: -item[1]["code_lines"]))


def _most_complex(outlines: dict[str, Outline]) -> list[tuple[str, Definition]]:
    functions = ((path, f) for path, found in outlines.items() for f in found.functions if f.complexity > 1)
    return heapq.nlargest(_TOP, functions, key=lambda item: item[1].complexity)


def _numbers(lines: Iterable[int]) -> str:
    return ", ".join(map(str, lines))
