"""Read a file for read_file by its kind: text, notebook, PDF, Word file, Excel workbook, image."""

import asyncio
import os
from bisect import bisect_left
from io import BufferedReader
from typing import NamedTuple

import msgspec

from localllm.base.errors import ToolExecutionError
from localllm.base.events import Json
from localllm.base.i18n import N_, Phrase, plural
from localllm.code.grammars import language_of
from localllm.documents.notebooks import notebook_text
from localllm.documents.pdf import PdfError, pdf_text
from localllm.documents.word import WordError, word_markdown
from localllm.documents.workbooks import WorkbookError, is_workbook, read_workbook, workbook_text
from localllm.llm.messages import Image
from localllm.safety.path_names import shown
from localllm.safety.tool_definition import ToolOutput
from localllm.text.decoding import Decoded, NotTextError, decode, split_lines
from localllm.text.file_type import HEAD, Picture, kind_of, picture_in
from localllm.tools.context import ToolContext
from localllm.tools.search_backends import LARGEST as LARGEST_SEARCHED
from localllm.tools.text_files import LARGEST, Patience, TextFile, in_thread, load, local_time, metadata, not_text

_BLOCK = 1 << 20
_LONGEST_CHARACTER = 4  # bytes


class Lines(NamedTuple):
    """Lines `start` to `end`, counted from 1, each with its newline, except a truncated last one."""

    text: str
    start: int
    end: int


class HugeFile:
    """A huge file, indexed in one pass to locate its lines.

    `total`: its lines. `counted`: whether that is all of them; false if time ran out.
    """

    def __init__(self, file: BufferedReader, encoding: str, patience: Patience) -> None:
        self._file = file
        self._encoding = encoding
        self._ends: list[int] = []  # for each block, the number of lines that end up to its end
        self.counted = True
        self.total = self._index(patience)

    def lines(self, start: int, count: int, room: int) -> Lines:
        """Return at most `count` lines (0: no limit) from `start`, in `room` characters."""
        self._seek(start)
        data = self._file.read(room * _LONGEST_CHARACTER)
        text = data.decode(self._encoding, "replace")
        text = text.removeprefix("\ufeff") if start == 1 else text
        parts = [part + "\n" for part in text.split("\n")[: count or None]]
        kept: list[str] = []
        for part in parts[: self.total - start + 1]:
            room -= len(part)
            if room < 0:
                break
            kept.append(part)
        if not kept and parts:
            return Lines(parts[0][: room + len(parts[0])], start, start)
        return Lines("".join(kept).replace("\r\n", "\n"), start, start + len(kept) - 1)

    def last_lines(self, room: int) -> Lines:
        """Return the last lines, in `room` characters; empty if the end was not reached."""
        size = self._file.seek(0, 2)
        self._file.seek(max(0, size - room))
        text = self._file.read().decode(self._encoding, "replace")
        lines = text.removesuffix("\n").split("\n")[1:]
        if not lines:
            return Lines(text, self.total, self.total)
        start = self.total - len(lines) + 1
        return Lines("".join(line + "\n" for line in lines).replace("\r\n", "\n"), start, self.total)

    def _index(self, patience: Patience) -> int:
        ended = 0
        last = b"\n"
        while block := self._file.read(_BLOCK):
            ended += block.count(b"\n")
            self._ends.append(ended)
            last = block[-1:]
            if patience.over:
                self.counted = False
                break
        return ended + (last != b"\n")

    def _seek(self, start: int) -> None:
        """Seek to line `start`: after newline number `start - 1`."""
        if start == 1:
            self._file.seek(0)
            return
        block = bisect_left(self._ends, start - 1)
        missing = start - 1 - (self._ends[block - 1] if block else 0)
        self._file.seek(block * _BLOCK)
        data = self._file.read(_BLOCK)
        at = -1
        for _ in range(missing):
            at = data.index(b"\n", at + 1)
        self._file.seek(block * _BLOCK + at + 1)


def encoding_of(head: bytes, encoding: str = "") -> Decoded:
    """Detect the encoding of a file that begins with `head`. Raises NotTextError and LookupError like `decode`."""
    whole_lines = head[: head.rfind(b"\n") + 1] or head
    return msgspec.structs.replace(decode(whole_lines, encoding), text="")


_NOTES = 300
"""Characters reserved for the heading and the notes on how to continue."""

LARGEST_PICTURE = 5_000_000
"""Maximum bytes of an image for a model: the limit of cloud servers, and more than small models can use."""

_SECONDS = 5.0
"""Maximum seconds for indexing a huge file: some gigabytes."""


class Wanted(NamedTuple):
    """Requested lines: from `start` (counted from 1; -50 means the last 50), at most `most` (0: all), up to `end` (0 or
    -1: the last)."""

    start: int = 1
    most: int = 0
    end: int = 0

    def range_of(self, path: str, total: int) -> tuple[int, int]:
        """Return the first of `total` lines and the count (0: all). Raises ToolExecutionError file_bad_range."""
        start, most = _first(path, self.start, total), max(self.most, 0)
        if not self.end:
            return start, most
        end = max(total + self.end + 1, 1) if self.end < 0 else self.end
        start, count = min(start, end), abs(end - start) + 1
        return start, min(count, most) if most else count


async def read(context: ToolContext, path: str, encoding: str, wanted: Wanted) -> ToolOutput:
    """Read the file at the canonical `path`. `encoding` "" detects it; a given one forces text."""
    size, head = _begin(context, path)
    if not encoding:
        if picture := picture_in(head):
            return _picture(context, path, picture)
        if kind_of(head) == "pdf":
            return await _pdf(context, path, wanted)
        if path.lower().endswith(".docx") and head.startswith(b"PK"):
            return await _word(context, path, wanted)
        if is_workbook(path, head):
            return await _workbook(context, path, wanted)
        if path.endswith(".ipynb") and (output := await asyncio.to_thread(_notebook, context, path, wanted)):
            return output
    if size > LARGEST:
        return await in_thread(lambda patience: _huge(context, path, encoding, wanted, patience), _SECONDS)
    return await asyncio.to_thread(_text, context, path, encoding, wanted)


def _text(context: ToolContext, path: str, encoding: str, wanted: Wanted) -> ToolOutput:
    file = load(context.root, path, encoding)
    context.seen.note(file.path, file.data)
    facts = metadata(context.root, path, file.decoded)
    return _lines_of(context, file, wanted, facts)


def _begin(context: ToolContext, path: str) -> tuple[int, bytes]:
    with context.root.open_file(path) as file:
        return os.fstat(file.fileno()).st_size, file.read(HEAD)


# --- text, by lines


class _Part(NamedTuple):
    """Lines `start` to `end` of `total`, counted from 1; `notes` say how to read the rest."""

    content: str
    start: int
    end: int
    total: int
    notes: tuple[str, ...]

    @property
    def is_whole(self) -> bool:
        return self.end - self.start + 1 == self.total and not self.notes

    def title(self, path: str) -> Phrase:
        key = (
            N_("{path} ({count} line)", "{path} ({count} lines)")
            if self.is_whole
            else N_("{path} (lines {start}-{end} of {total})")
        )
        facts = {"path": shown(path), "start": self.start, "end": self.end}
        return Phrase(key, **facts, total=self.total, count=self.total)

    def for_model(self, path: str, title: Phrase) -> str:
        if not self.total:
            return f"[{shown(path)} is empty]"
        return "\n".join([title.english, self.content.removesuffix("\n"), *self.notes])


def _lines_of(context: ToolContext, file: TextFile, wanted: Wanted, facts: dict[str, Json]) -> ToolOutput:
    is_own_text = "kind" not in facts  # not that of a document or the cells of a notebook, whose lines differ
    searchable = is_own_text and len(file.data) <= LARGEST_SEARCHED
    part = _part(file, wanted, context.output_limit - _NOTES, searchable=searchable)
    if is_own_text:
        context.seen.note_lines(file.path, part.start, part.end)
    facts = facts | {"start_line": part.start, "end_line": part.end}
    title = _with_encoding(part.title(file.path), file.decoded)
    is_document = not is_own_text and part.is_whole and part.total  # the number of its lines is otherwise unknown
    return ToolOutput(
        payload={"content": part.content, "metadata": facts},
        for_model=part.content if is_document else part.for_model(file.path, title),
        summary=title,
    )


def _with_encoding(title: Phrase, decoded: Decoded) -> Phrase:
    """Add the encoding to a title, unless it is the usual one: code that opens the file has to name it."""
    return title if decoded.codec == "utf-8" else Phrase("{summary}, {encoding}", summary=title, encoding=decoded.codec)


def _part(file: TextFile, wanted: Wanted, limit: int, *, searchable: bool) -> _Part:
    """Return the requested lines that fit `limit` characters. `searchable`: by search_files."""
    lines = split_lines(file.text)
    start, most = wanted.range_of(file.path, len(lines))
    chosen = lines[start - 1 :][: most or None]
    kept = _fitting(chosen, limit)
    if len(kept) == len(lines):
        return _Part(file.text, 1, len(lines), len(lines), ())
    if chosen and not kept:
        note = (
            f"[line {start} has {len(chosen[0])} {plural(len(chosen[0]), 'character', 'characters')}; "
            "only its start is shown]"
        )
        return _Part(chosen[0][:limit], start, start, len(lines), (note, *_more(start + 1, len(lines))))
    end = start + len(kept) - 1
    left = len(chosen) - len(kept)
    if left > len(kept) and searchable:  # reading it page by page would take many calls
        is_prose = file.path.lower().endswith(_PROSE) and left <= _MOST_PAGES * len(kept)
        notes = (*(_more(end + 1, len(lines)) if is_prose else ()), _how_to_find(file.path, len(lines)))
    else:
        notes = _more(end + 1, len(lines)) if left else ()
    return _Part("".join(line + "\n" for line in kept), start, end, len(lines), notes)


def _first(path: str, start: int, total: int) -> int:
    """Return the first line to read. Raises ToolExecutionError file_bad_range."""
    start = max(total + start + 1, 1) if start < 0 else max(start, 1)
    if start > max(total, 1):
        raise ToolExecutionError("file_bad_range", path=shown(path), total=total, start=start)
    return start


def _fitting(lines: list[str], limit: int) -> list[str]:
    for count, line in enumerate(lines):
        limit -= len(line) + 1
        if limit < 0:
            return lines[:count]
    return lines


_PROSE = (".md", ".markdown", ".rst", ".adoc", ".tex")
"""Endings of texts that are read rather than searched, if they have few pages."""
_MOST_PAGES = 5


def _how_to_find(path: str, total: int) -> str:
    outlined = ", analyze_code lists what is where" if language_of(path) else ""
    return f"[{total} lines in all: search_files finds a name{outlined}]"


def _more(line: int, total: int) -> tuple[str, ...]:
    return (
        ((f"[{total - line + 1} more {plural(total - line + 1, 'line', 'lines')}; read on with start_line={line}]"),)
        if line <= total
        else ()
    )


# --- text too large to load


def _huge(context: ToolContext, path: str, encoding: str, wanted: Wanted, patience: Patience) -> ToolOutput:
    with context.root.open_file(path) as file:
        decoded = _encoding_of(path, file, encoding)
        file.seek(0)
        huge = HugeFile(file, decoded.encoding, patience)
        facts = os.fstat(file.fileno())
        if not huge.counted and (wanted.start < 0 or wanted.end < 0):
            raise ToolExecutionError("file_too_large", path=shown(path), size=facts.st_size, limit=LARGEST)
        content, title, told, span = _huge_part(huge, path, wanted, context.output_limit - _NOTES)
        title = _with_encoding(title, decoded)
    metadata: dict[str, Json] = {
        "size": facts.st_size,
        "modified": local_time(facts.st_mtime),
        "encoding": decoded.encoding,
        "total_lines": huge.total if huge.counted else None,
        "start_line": span[0],
        "end_line": span[1],
    }
    payload: dict[str, Json] = {"content": content, "metadata": metadata}
    return ToolOutput(payload=payload, for_model="\n".join([title.english, *told]), summary=title)


def _encoding_of(path: str, file: BufferedReader, encoding: str) -> Decoded:
    """Return the encoding. Raises ToolExecutionError for binary data, or if lines cannot be located by bytes."""
    head = file.read(HEAD)
    try:
        decoded = encoding_of(head, encoding)
    except (NotTextError, LookupError) as error:
        raise not_text(path, error, encoding, head) from error
    if decoded.encoding.startswith(("utf-16", "utf-32", "iso2022")):
        size = os.fstat(file.fileno()).st_size
        raise ToolExecutionError("file_too_large", path=shown(path), size=size, limit=LARGEST)
    return decoded


def _huge_part(huge: HugeFile, path: str, wanted: Wanted, room: int) -> tuple[str, Phrase, list[str], tuple[int, int]]:
    """Return the content, its title, the lines for the model below it, and the range of lines."""
    start, most = wanted.range_of(path, huge.total)
    if wanted == Wanted() and huge.counted:
        head, tail = huge.lines(1, 0, room // 2), huge.last_lines(room // 2)
        gap = (
            f"[{tail.start - head.end - 1} {plural(tail.start - head.end - 1, 'line', 'lines')} "
            f"left out; read on with start_line={head.end + 1}]"
        )
        body = [head.text.removesuffix("\n"), gap, tail.text.removesuffix("\n")]
        return "\n".join(body) + "\n", _huge_title(huge, path, head), body, (1, tail.end)
    part = huge.lines(start, most, room)
    asked = part.end - part.start + 1 == most
    notes = [] if asked or part.end >= huge.total else [f"[read on with start_line={part.end + 1}]"]
    told = [part.text.removesuffix("\n"), *notes]
    return part.text, _huge_title(huge, path, part), told, (part.start, part.end)


def _huge_title(huge: HugeFile, path: str, part: Lines) -> Phrase:
    key = (
        N_("{path} (lines {start}-{end} of {total})")
        if huge.counted
        else N_("{path} (lines {start}-{end} of more than {total})")
    )
    return Phrase(key, path=shown(path), start=part.start, end=part.end, total=huge.total)


# --- other than plain text


def _picture(context: ToolContext, path: str, picture: Picture) -> ToolOutput:
    form = picture.media_type.removeprefix("image/").upper()
    facts = context.root.stat(path)
    told: dict[str, object] = {
        "path": shown(path),
        "form": form,
        "width": picture.width or "?",
        "height": picture.height or "?",
        "size": facts.st_size,
    }
    payload: dict[str, Json] = {
        "image": {"format": form, "width": picture.width, "height": picture.height},
        "metadata": {"size": facts.st_size, "modified": local_time(facts.st_mtime)},
    }
    summary = Phrase("{path}: {form} picture, {width} × {height} pixels", **told)
    if context.sees() is False:
        return ToolOutput(
            payload={**payload, "unseen": True},
            for_model=(
                "[{path} is a {form} picture of {width} × {height} pixels, {size:,} bytes. This "
                "model cannot see pictures.]"
            ).format(**told),
            summary=summary,
        )
    if facts.st_size > LARGEST_PICTURE:
        raise ToolExecutionError("picture_too_large", **told, limit=LARGEST_PICTURE)
    image = Image(picture.media_type, context.root.read_bytes(path, LARGEST_PICTURE))
    return ToolOutput(
        payload=payload,
        for_model=(
            "[{path}: a {form} picture of {width} × {height} pixels, {size:,} bytes; it comes with this result]"
        ).format(**told),
        summary=summary,
        images=(image,),
    )


async def _pdf(context: ToolContext, path: str, wanted: Wanted) -> ToolOutput:
    data = context.root.read_bytes(path, LARGEST)
    try:
        text = await pdf_text(data)
    except PdfError as error:
        raise ToolExecutionError(f"pdf_{error.trouble}", path=shown(path), pages=error.pages) from error
    return _as_text(context, TextFile(path, data, Decoded(text)), wanted, "pdf")


async def _word(context: ToolContext, path: str, wanted: Wanted) -> ToolOutput:
    data = context.root.read_bytes(path, LARGEST)
    try:
        text = await word_markdown(data)
    except WordError as error:
        raise ToolExecutionError(f"docx_{error.trouble}", path=shown(path)) from error
    return await asyncio.to_thread(_as_text, context, TextFile(path, data, Decoded(text)), wanted, "document")


async def _workbook(context: ToolContext, path: str, wanted: Wanted) -> ToolOutput:
    data = context.root.read_bytes(path, LARGEST)
    try:
        book = await read_workbook(data)
    except WorkbookError as error:
        raise ToolExecutionError(f"workbook_{error.trouble}", path=shown(path)) from error
    text = await asyncio.to_thread(workbook_text, book)
    return await asyncio.to_thread(_as_text, context, TextFile(path, data, Decoded(text)), wanted, "workbook")


_CELLS = (
    "[a notebook, shown as cells; edit_file takes the lines of a cell as they are shown, and a line such as"
    " “--- cell 4: code ---” in new_string begins a new cell]"
)


def _notebook(context: ToolContext, path: str, wanted: Wanted) -> ToolOutput | None:
    """Return the cells; None if the file is no notebook despite its name."""
    data = context.root.read_bytes(path, LARGEST)
    try:
        text = notebook_text(data)
    except ValueError:
        return None
    context.seen.note(path, data)
    output = _as_text(context, TextFile(path, data, Decoded(text)), wanted, "notebook")
    told = f"{output.for_model}\n{_CELLS}"
    return ToolOutput(payload=output.payload, for_model=told, summary=output.summary)


def _as_text(context: ToolContext, file: TextFile, wanted: Wanted, kind: str) -> ToolOutput:
    """Format the extracted text of a document by lines."""
    return _lines_of(context, file, wanted, metadata(context.root, file.path, file.decoded) | {"kind": kind})
