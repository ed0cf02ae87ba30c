"""Split a large task into TODOs at headings, list items and paragraphs."""

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from localllm.base.errors import ToolExecutionError
from localllm.memory import markdown_structure
from localllm.memory.markdown_structure import Block
from localllm.memory.todos import Priority, open_task
from localllm.text.sanitising import clean, clusters, display_width, shorten

_SENTENCE_END = re.compile(r"[。！？]+[」』）】〉》]*\s*|(?<![.!?])[.!?]++[\"'’”)\]]*+\s+")
_FENCE = re.compile(r"[ \t]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)*(`{3,}(?=[^`]*$)|~{3,})")
_BLANK_START = re.compile(r"^(?:[ \t]*[\r\n])+")


def chunk(text: str, max_size: int) -> list[str]:
    """Split `text` into parts of at most `max_size` characters. Joined, they differ only in white space at the borders.
    A code fence is only split if it is larger itself. ValueError unless `max_size` is positive."""
    if max_size < 1:
        raise ValueError(max_size)
    parts: list[str] = []
    current = heading = ""  # a heading stays with the text below it
    for piece, leads in _pieces(text, max_size):
        if _size(current + heading + piece) > max_size:
            if heading and _size(heading + piece) > max_size:
                current, heading = current + heading, ""
            parts.append(current)
            current = ""
        current, heading = (current, heading + piece) if leads else (current + heading + piece, "")
    trimmed = (_BLANK_START.sub("", part).rstrip() for part in [*parts, current + heading])
    return [part for part in trimmed if part]


def _size(text: str) -> int:
    return len(_BLANK_START.sub("", text).rstrip())


def _pieces(text: str, max_size: int) -> Iterator[tuple[str, bool]]:
    """Yield the largest pieces that fit, and whether a piece is a heading."""
    lines = markdown_structure.lines_of(text)
    for block in markdown_structure.scan(lines):
        whole = "".join(lines[block.start : block.end])
        if _size(whole) <= max_size:
            yield whole, block.kind in ("heading", "blank")
        else:
            for piece in _smaller(lines[block.start : block.end], max_size):
                yield piece, False


def _smaller(lines: Sequence[str], max_size: int) -> Iterator[str]:
    """Split a block that is too large: into lines (a fence as one), then sentences, words, characters."""
    for group in _groups(lines):
        whole = "".join(group)
        if _size(whole) <= max_size:
            yield whole
            continue
        for line in group:
            if _size(line) <= max_size:
                yield line
            else:
                yield from _of_line(line, max_size)


def _groups(lines: Sequence[str]) -> Iterator[list[str]]:
    """Yield the lines one by one, those of a fence together."""
    fence: list[str] = []
    mark = ""
    for line in lines:
        bare = line.strip()
        if mark:
            fence.append(line)
            if len(bare) >= len(mark) and not bare.strip(mark[0]):
                yield fence
                fence, mark = [], ""
        elif opened := _FENCE.match(line.rstrip("\r\n")):
            fence, mark = [line], opened[1]
        else:
            yield [line]
    if fence:
        yield fence


def _of_line(line: str, max_size: int) -> Iterator[str]:
    at = 0
    for end in [*(match.end() for match in _SENTENCE_END.finditer(line)), len(line)]:
        sentence, at = line[at:end], end
        if _size(sentence) <= max_size:
            yield sentence
        else:
            yield from _cut(sentence, max_size)


def _cut(sentence: str, max_size: int) -> Iterator[str]:
    """Split a sentence that is too large at white space, and a long word between characters."""
    for word in re.findall(r"\S+\s*|\s+", sentence):
        if len(word.strip()) <= max_size:
            yield word
            continue
        borders = [start for start, _, _ in clusters(word)] + [len(word)]
        at = 0
        for last, border in pairwise(borders):
            if border - at > max_size:
                yield from _sliced(word[at:last], max_size)
                at = last
        yield from _sliced(word[at:], max_size)


def _sliced(text: str, size: int) -> Iterator[str]:
    return (text[at : at + size] for at in range(0, len(text), size))


TASK_SIZE = 2_000
"""Maximum characters of an unsplit task, and of a part (the papers' `max_size`)."""

_MOST = 100
_TITLE = 100  # cells
_MOST_NESTED = 500  # characters that are copied from a file
_MARKS = re.compile(r"^[ \t]*(?:#{1,6}[ \t]+|>[ \t]?|(?:[-*+]|\d{1,9}[.)])[ \t]+(?:\[[ xX~/-]\][ \t]+)?)+")
_SENTENCE = re.compile(r".*?(?:[。！？]|[.!?](?=\s)|$)", re.DOTALL)


class Part(NamedTuple):
    """The content of one TODO: its line, and the lines nested under it, if any."""

    title: str
    details: str = ""
    priority: Priority | None = None

    @property
    def text(self) -> str:
        return f"{self.title}\n{self.details}" if self.details else self.title


class Parts(NamedTuple):
    """The TODOs made from a task; `finished`: number of its list items omitted as done or dropped."""

    parts: tuple[Part, ...]
    finished: int = 0


def parts_of(task: str, chunks: Sequence[str], source: str = "", first_line: int = 1) -> Parts:
    """Return the TODOs of a task. `chunks` are its parts from `chunk`, `source` the file it is from, at `first_line`.

    A text is a list if most of its lines are items and it is from a file or begins with the list; under several
    headings, each item names its own.
    """
    lines = markdown_structure.lines_of(task)
    blocks = [block for block in markdown_structure.scan(lines) if block.kind not in ("blank", "front")]
    if _is_list(blocks, lines, from_file=bool(source)):
        return _of_list(blocks, lines, source, first_line)
    if len(chunks) < 2 and not (source and len(task) > _MOST_NESTED):
        first, newline, rest = task.strip().partition("\n")
        return Parts((Part((_plain(first) or first) if newline or source else first, rest),))
    return Parts(tuple(_of_chunks(task, chunks, source, first_line)))


def refuse_many(parts: Parts) -> None:
    """Raise ToolExecutionError memory_too_many for too many parts, memory_text_empty for none."""
    if len(parts.parts) > _MOST:
        raise ToolExecutionError("memory_too_many", count=len(parts.parts), limit=_MOST)
    if not parts.parts:
        raise ToolExecutionError("memory_text_empty")


def _is_list(blocks: Sequence[Block], lines: Sequence[str], *, from_file: bool) -> bool:
    """Return whether the text is a list of tasks, not one task that contains a list."""
    items = [block for block in blocks if block.kind == "item"]
    others = [block for block in blocks if block.kind not in ("item", "heading")]
    if len(items) < 2 or not (from_file or blocks[0].kind in ("item", "heading")):
        return False
    return _part_size(items, lines) >= _part_size(others, lines)


def _part_size(blocks: Sequence[Block], lines: Sequence[str]) -> int:
    return sum(bool(line.strip()) for block in blocks for line in lines[block.start : block.end])


def _of_list(blocks: Sequence[Block], lines: Sequence[str], source: str, first_line: int) -> Parts:
    """Return a part for each item. Under several headings, each item names its own."""
    heading, parts, finished = "", list[tuple[str, Part]](), 0
    for block in blocks:
        if block.kind == "heading":
            heading = _plain(block.title)
        elif block.kind == "item":
            own = [line.rstrip("\r\n") for line in lines[block.start : block.end]]
            if task := open_task(markdown_structure.item_content(own[0])):
                place = _place(source, block.start + first_line, block.end + first_line - 1)
                parts.append((heading, _of_item(task[0], own[1:], place)._replace(priority=task[1])))
            else:
                finished += bool(markdown_structure.item_content(own[0]).strip())
    several = len({heading for heading, _ in parts}) > 1
    named = (part._replace(title=f"{above}: {part.title}") if several and above else part for above, part in parts)
    return Parts(tuple(named), finished)


def _of_item(task: str, nested: Sequence[str], place: str) -> Part:
    details = "\n".join(nested).rstrip()
    if place and len(task) + len(details) > _MOST_NESTED:
        return Part(f"{_title(task)} {place}")
    if len(task) > TASK_SIZE:
        return Part(_title(task), f"{task}\n{details}".rstrip())
    return Part(task, details)


def _of_chunks(task: str, chunks: Sequence[str], source: str, first_line: int) -> Iterator[Part]:
    """Yield a part for each chunk, named by its beginning or its heading.
    One that ends within a line of the file is nested, as line numbers could not say which part is meant."""
    end, heading = 0, ""
    for number, text in enumerate(chunks, start=1):
        at = max(end, task.find(text, end))
        end = at + len(text)
        begin, _, rest = text.strip().partition("\n")
        is_headed = begin.startswith("#")
        first_words = _title(_plain(begin if is_headed or not heading else heading) or _plain(text))
        heading = _last_heading(text) or heading
        title = _called(first_words, _title(_plain(heading)), number, len(chunks))
        if source and _is_at_border(task, at) and _is_at_border(task, end):
            first = task.count("\n", 0, at) + first_line
            yield Part(f"{title} {_place(source, first, first + text.count(chr(10)))}")
        else:
            yield Part(title, rest.strip("\r\n") if is_headed else text)


def _called(first: str, last: str, number: int, total: int) -> str:
    """Return the name of a part from its first and last words, with its number."""
    name = first if last in ("", first) else shorten(f"{first} … {last}", _TITLE)
    return f"{name} ({number}/{total})" if total > 1 else name


def _is_at_border(text: str, at: int) -> bool:
    """Return whether a line begins or ends at this offset, ignoring white space."""
    return not text[:at].rpartition("\n")[2].strip() or not text[at:].partition("\n")[0].strip()


def _last_heading(text: str) -> str:
    blocks = markdown_structure.scan(markdown_structure.lines_of(text))
    titles = [block.title for block in blocks if block.kind == "heading"]
    return titles[-1] if titles else ""


def _plain(line: str) -> str:
    """Return a line without heading, quote or item markers."""
    return clean(_MARKS.sub("", line), keep_newlines=False).strip()


def _title(text: str) -> str:
    """Return the first sentence of a text, shortened to a line."""
    one_line = " ".join(text.split())
    found = _SENTENCE.match(one_line)
    sentence = (found[0].strip() if found else "").rstrip(".。") or one_line
    return sentence if display_width(sentence) <= _TITLE else shorten(sentence, _TITLE)


def _place(source: str, first: int, last: int) -> str:
    """Return the reference to lines of a file for a request; empty without a file."""
    name = f'"{source}"' if re.search(r"[\s()\[\]{},:;、。]", source) else source
    return f"@{name}:{first}{f'-{last}' if last > first else ''}" if source else ""
