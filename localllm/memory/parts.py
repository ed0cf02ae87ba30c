"""A large task as TODOs that are worked on one after the other: one for each item of a list, else one for each chunk.

A TODO is one line. What a part has to say beyond that is nested under it, or stays in the file it is from, whose lines
the TODO then names as `@plan.md:10-40`.
"""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from localllm.base.errors import ToolExecutionError
from localllm.memory import markdown
from localllm.memory.markdown import Block
from localllm.memory.todos import Priority, open_task
from localllm.text.cleaning import clean, display_width, shorten

TASK_SIZE = 2_000
"""Characters up to which a task is one, and of the largest part (the papers' `max_size`)."""

_MOST = 100
_TITLE = 100  # cells
_MOST_NESTED = 500  # characters that are taken over from a file
_MARKS = re.compile(r"^[ \t]*(?:#{1,6}[ \t]+|>[ \t]?|(?:[-*+]|\d{1,9}[.)])[ \t]+(?:\[[ xX~/-]\][ \t]+)?)+")
_SENTENCE = re.compile(r".*?(?:[。！？]|[.!?](?=\s)|$)", re.DOTALL)


class Part(NamedTuple):
    """One TODO to be: its line, and the lines to be nested under it, "" where there are none."""

    title: str
    details: str = ""
    priority: Priority | None = None

    @property
    def text(self) -> str:
        return f"{self.title}\n{self.details}" if self.details else self.title


class Parts(NamedTuple):
    """The TODOs that a task makes; `finished`: items of its list that are marked as done or dropped, left out."""

    parts: tuple[Part, ...]
    finished: int = 0


def parts_of(task: str, chunks: Sequence[str], source: str = "", first_line: int = 1) -> Parts:
    """The TODOs of a task; `chunks` are its parts as `chunk` cuts it. `source`: the file it is from, in which it begins
    with `first_line`.

    A list is what most lines of a text from a file are, or of one that begins with it; of several headings each item
    says under which it stands.
    """
    lines = markdown.lines_of(task)
    blocks = [block for block in markdown.scan(lines) if block.kind not in ("blank", "front")]
    if _is_list(blocks, lines, from_file=bool(source)):
        return _of_list(blocks, lines, source, first_line)
    if len(chunks) < 2 and not (source and len(task) > _MOST_NESTED):
        first, newline, rest = task.strip().partition("\n")
        return Parts((Part((_plain(first) or first) if newline or source else first, rest),))
    return Parts(tuple(_of_chunks(task, chunks, source, first_line)))


def refuse_many(parts: Parts) -> None:
    """Raise ToolExecutionError memory_too_many where nobody would work through as many, memory_text_empty where nothing
    is left to do."""
    if len(parts.parts) > _MOST:
        raise ToolExecutionError("memory_too_many", count=len(parts.parts), limit=_MOST)
    if not parts.parts:
        raise ToolExecutionError("memory_text_empty")


def _is_list(blocks: Sequence[Block], lines: Sequence[str], *, from_file: bool) -> bool:
    """Whether the text is a list of things to do, not one thing with a list in it."""
    items = [block for block in blocks if block.kind == "item"]
    others = [block for block in blocks if block.kind not in ("item", "heading")]
    if len(items) < 2 or not (from_file or blocks[0].kind in ("item", "heading")):
        return False
    return _size(items, lines) >= _size(others, lines)


def _size(blocks: Sequence[Block], lines: Sequence[str]) -> int:
    return sum(bool(line.strip()) for block in blocks for line in lines[block.start : block.end])


def _of_list(blocks: Sequence[Block], lines: Sequence[str], source: str, first_line: int) -> Parts:
    """A part for each item. Where items stand under several headings, each says under which."""
    heading, parts, finished = "", list[tuple[str, Part]](), 0
    for block in blocks:
        if block.kind == "heading":
            heading = _plain(block.title)
        elif block.kind == "item":
            own = [line.rstrip("\r\n") for line in lines[block.start : block.end]]
            if task := open_task(markdown.item_content(own[0])):
                place = _place(source, block.start + first_line, block.end + first_line - 1)
                parts.append((heading, _of_item(task[0], own[1:], place)._replace(priority=task[1])))
            else:
                finished += bool(markdown.item_content(own[0]).strip())
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
    """A part for each chunk, called as it begins, or as the heading it goes on under. One that ends within a line of
    the file is nested, for a line could not say which part of it is meant."""
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
    """What a part is called that is about these, and which of how many it is."""
    name = first if last in ("", first) else shorten(f"{first} … {last}", _TITLE)
    return f"{name} ({number}/{total})" if total > 1 else name


def _is_at_border(text: str, at: int) -> bool:
    """Whether a line begins or ends at this place, but for white space."""
    return not text[:at].rpartition("\n")[2].strip() or not text[at:].partition("\n")[0].strip()


def _last_heading(text: str) -> str:
    titles = [block.title for block in markdown.scan(markdown.lines_of(text)) if block.kind == "heading"]
    return titles[-1] if titles else ""


def _plain(line: str) -> str:
    """A line without the marks of a heading, quote or item."""
    return clean(_MARKS.sub("", line), keep_newlines=False).strip()


def _title(text: str) -> str:
    """The first sentence of a text, or as much of it as a line takes."""
    one_line = " ".join(text.split())
    found = _SENTENCE.match(one_line)
    sentence = (found[0].strip() if found else "").rstrip(".。") or one_line
    return sentence if display_width(sentence) <= _TITLE else shorten(sentence, _TITLE)


def _place(source: str, first: int, last: int) -> str:
    """Lines of a file as a request names them; "" without a file."""
    name = f'"{source}"' if re.search(r"[\s()\[\]{},:;、。]", source) else source
    return f"@{name}:{first}{f'-{last}' if last > first else ''}" if source else ""
