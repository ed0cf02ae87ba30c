"""Edit LOCALLLM.md as sections and list items, line by line, preserving every other byte.

A Document is immutable; each change returns a new one, parsed again from its text. So what was written is always what
the next reader finds.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import NamedTuple

from localllm.base import i18n
from localllm.base.errors import ConfigurationError
from localllm.base.i18n import Phrase
from localllm.memory import markdown_structure
from localllm.memory.document_texts import Language, in_language
from localllm.memory.markdown_structure import Block
from localllm.memory.section_kinds import JAPANESE, KINDS, SectionKind, heading, is_name, kind_of

_BYTE_ORDER_MARK = "\ufeff"


class Section(NamedTuple):
    """The lines of a section: heading from `start`, content from `body` to `end` (exclusive).

    `direct_end`: start of its first sub-heading, else its end.
    """

    kind: SectionKind
    level: int
    start: int
    body: int
    direct_end: int
    end: int


class Item(NamedTuple):
    """An outermost list item of a section, including nested lines; `lines` have their newlines."""

    kind: SectionKind
    start: int
    lines: tuple[str, ...]

    @property
    def end(self) -> int:
        """The index of the line after it."""
        return self.start + len(self.lines)

    @property
    def content(self) -> str:
        """The text after the marker on the first line, without its newline."""
        return markdown_structure.item_content(self.lines[0].rstrip("\r\n"))


class Document:
    """The text of a memory file, byte for byte."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._mark = _BYTE_ORDER_MARK if text.startswith(_BYTE_ORDER_MARK) else ""
        self._lines = markdown_structure.lines_of(text.removeprefix(_BYTE_ORDER_MARK))
        self._unended = bool(self._lines) and not markdown_structure.ending(self._lines[-1])
        if self._unended:
            self._lines[-1] += self._newline_at(len(self._lines) - 1)

    @cached_property
    def blocks(self) -> tuple[Block, ...]:
        """All blocks of the file, in order."""
        return tuple(markdown_structure.scan(self._lines))

    @cached_property
    def sections(self) -> dict[SectionKind, Section]:
        """The managed sections by kind. Of two of a kind, one with the exact name is preferred, else the first."""
        found: dict[SectionKind, Section] = {}
        headings = [block for block in self.blocks if block.kind == "heading"]
        named = {kind_of(block.title) for block in headings if is_name(block.title)}
        for index, block in enumerate(headings):
            kind = kind_of(block.title)
            if kind is None or kind in found or (kind in named and not is_name(block.title)):
                continue
            below = headings[index + 1 :]
            ends = (one.start for one in below if one.level <= block.level or kind_of(one.title))
            end = next(ends, len(self._lines))
            direct = min(end, below[0].start) if below else end
            found[kind] = Section(kind, block.level, block.start, block.end, direct, end)
        return found

    @cached_property
    def language(self) -> Language:
        """The language of the managed headings, else of others, else of the text, else the current one."""
        titles = [block.title for block in self.blocks if block.kind == "heading"]
        managed = [title for title in titles if kind_of(title)]
        if any(JAPANESE.search(title) for title in managed):
            return "ja"
        if any(heading(kind, "ja") != heading(kind, "en") for title in managed if (kind := kind_of(title))):
            return "en"
        if any(JAPANESE.search(title) for title in titles):
            return "ja"
        japanese = len(JAPANESE.findall(self.text))
        if japanese * 10 > len(self.text):
            return "ja"
        if not self.text.strip():
            return "ja" if i18n.language() == "ja" else "en"
        return "en"

    @property
    def conflict(self) -> int:
        """The line number of the first unresolved merge conflict; 0 if there is none."""
        begun = 0
        for number, line in enumerate(self._lines, start=1):
            mark = markdown_structure.conflict(line.rstrip("\r\n"))
            if mark == "<":
                begun = number
            elif mark == ">" and begun:
                return begun
        return 0

    def lines(self, start: int, end: int) -> tuple[str, ...]:
        """Return lines with their newlines."""
        return tuple(self._lines[start:end])

    def body(self, kind: SectionKind) -> str:
        """Return the section's content, stripped; empty if there is no such section."""
        section = self.sections.get(kind)
        return "".join(self._lines[section.body : section.end]).strip() if section else ""

    def items(self, kind: SectionKind) -> tuple[Item, ...]:
        """Return the list items of the section, in order."""
        if not (section := self.sections.get(kind)):
            return ()
        return tuple(
            Item(kind, block.start, self.lines(block.start, block.end))
            for block in self.blocks
            if block.kind == "item" and section.body <= block.start < section.end
        )

    def with_lines(self, start: int, end: int, new: Sequence[str]) -> "Document":
        """Replace the lines from `start` to `end` by `new`, given without newlines. The local newline is added.

        A file without a newline at its end stays without one.
        """
        newline = self._newline_at(start)
        return self._joined([*self._lines[:start], *(line + newline for line in new), *self._lines[end:]])

    def without(self, item: Item) -> "Document":
        """Remove the item, and one of two blank stretches that would then meet."""
        end = item.end
        if item.start and not self._lines[item.start - 1].strip():
            while end < len(self._lines) and not self._lines[end].strip():
                end += 1
        below = self._lines[end].rstrip("\r\n") if end < len(self._lines) else ""
        is_text = any(block.kind == "text" and block.end == item.start for block in self.blocks)
        joins = (
            markdown_structure.goes_on(below)
            or markdown_structure.underlines(below)
            or (is_text and markdown_structure.goes_on_text(below))
        )
        apart = end == item.end and joins
        return self.with_lines(item.start, end, [""] if apart else ())

    def pieces(self) -> Counter[tuple[str, str]]:
        """Count all blocks by kind and text, to check that a change left the others alone."""
        whole = (one for one in self.blocks if one.kind != "blank")
        return Counter((one.kind, "".join(self.lines(one.start, one.end)).rstrip("\r\n")) for one in whole)

    def moved(self, item: Item, to: Item) -> "Document":
        """Move `item` to the position of `to`."""
        rest = [*self._lines[: item.start], *self._lines[item.end :]]
        at = to.end - len(item.lines) if item.start < to.start else to.start
        return self._joined([*rest[:at], *item.lines, *rest[at:]])

    def with_first_line(self, item: Item, content: str) -> "Document":
        """Replace the content of the item's first line; its marker and nested lines stay."""
        line = self._lines[item.start]
        marker = markdown_structure.item_marker(line.rstrip("\r\n"))
        changed = marker + content + markdown_structure.ending(line)
        return self._joined([*self._lines[: item.start], changed, *self._lines[item.start + 1 :]])

    def with_item(self, kind: SectionKind, content: Sequence[str], *, first: bool = False) -> "Document":
        """Add an item of these lines (without marker and indentation) after the others, or before with `first`.
        A missing section is created."""
        if kind not in self.sections:
            return self._with_section(kind).with_item(kind, content)
        direct = [item for item in self.items(kind) if item.start < self.sections[kind].direct_end]
        items = direct or self._first_run(kind)
        if not items:
            return self._with_first_item(kind, content)
        beside = items[0] if first else items[-1]
        lines = _item_lines(_next_marker(beside, first=first), content)
        if first:
            at = self._outside(beside.start, -1)
            return self.with_lines(at, at, [*lines, *self._gap(items)])
        at = self._outside(beside.end, 1)
        after = [""] if self._goes_on(at) else []
        return self.with_lines(at, at, [*self._gap(items), *lines, *after])

    def with_body(self, kind: SectionKind, body: Sequence[str]) -> "Document":
        """Replace the section's content by these lines; a missing section is created."""
        if kind not in self.sections:
            return self._with_section(kind).with_body(kind, body)
        section = self.sections[kind]
        end = self._without_blank_end(section.body, section.end)
        after = [""] if end == section.end < len(self._lines) else []
        return self.with_lines(section.body, end, ["", *body, *after])

    def _joined(self, lines: Sequence[str]) -> "Document":
        """Return the document of these lines, without a newline at the end if this one has none."""
        whole = "".join(lines)
        if self._unended:
            whole = whole[: len(whole) - len(markdown_structure.ending(whole))]
        return Document(self._mark + whole)

    def _goes_on(self, at: int) -> bool:
        """Return whether line `at` would continue an item placed right before it."""
        return at < len(self._lines) and markdown_structure.goes_on(self._lines[at])

    def _outside(self, at: int, step: int) -> int:
        """Return `at`, or the border of the merge conflict around it: an insertion into one side could be lost.
        `step` 1 or -1: after the conflict or before it."""
        lines = self._lines[at:] if step > 0 else self._lines[:at][::-1]
        for beyond, line in enumerate(lines, start=1):
            mark = markdown_structure.conflict(line.rstrip("\r\n"))
            if mark == ("<" if step > 0 else ">"):
                break
            if mark == (">" if step > 0 else "<"):
                return at + step * beyond
        return at

    def _first_run(self, kind: SectionKind) -> list[Item]:
        """Return the items under the first sub-heading that has any."""
        items = self.items(kind)
        borders = [block.start for block in self.blocks if block.kind == "heading"]
        ends = (border for border in borders if items and border > items[0].start)
        end = next(ends, len(self._lines))
        return [item for item in items if item.start < end]

    def _gap(self, items: Sequence[Item]) -> list[str]:
        """Return the separator between items: a blank line if one separates the last two."""
        loose = len(items) > 1 and items[-2].end < items[-1].start and not self._lines[items[-2].end].strip()
        return [""] if loose else []

    def _with_first_item(self, kind: SectionKind, content: Sequence[str]) -> "Document":
        """Add the first item of a section after its content, but before an unclosed fence or comment."""
        section = self.sections[kind]
        at = self._without_blank_end(section.body, section.direct_end)
        if self._opened(at):
            at = max(section.body, self.blocks[-1].start)
        below = next((line for line in self._lines[at:] if line.strip()), "")
        is_nested = markdown_structure.indentation(below) >= len("- ")
        marker = "-   " if is_nested else "- "  # so that the content below is not nested
        after = [""] if at < len(self._lines) and self._lines[at].strip() else []
        return self.with_lines(at, at, ["", *_item_lines(marker, content), *after])

    def _with_section(self, kind: SectionKind) -> "Document":
        """Add an empty section after those before it in `KINDS`, else before the first managed one, else at the end."""
        title = heading(kind, self.language)
        if not self.text.removeprefix(_BYTE_ORDER_MARK).strip():
            return self.with_lines(0, 0, [f"# {in_language('title', self.language)}", "", f"## {title}"])
        before = [self.sections[one] for one in KINDS[: KINDS.index(kind)] if one in self.sections]
        at, level = next(place for place in self._places(before) if not self._opened(place[0]))
        lines = [f"{'#' * level} {title}"]
        if at and self._lines[at - 1].strip():
            lines.insert(0, "")
        if at < len(self._lines) and self._lines[at].strip():
            lines.append("")
        made = self.with_lines(at, at, lines)
        if kind not in made.sections:
            raise ConfigurationError(
                "memory_layout", reason=Phrase("What would be written would be read back as something else")
            )
        return made

    def _places(self, before: Sequence[Section]) -> Iterator[tuple[int, int]]:
        """Yield positions and levels for a section, the best first. It would not absorb existing content there.
        The last one is always possible: before an unclosed block."""
        level = self._section_level()
        yield from ((section.end, section.level) for section in reversed(before))
        if not before and (first := self._first_section()):
            yield first.start, first.level
        yield len(self._lines), level
        headings = [block for block in self.blocks if block.kind == "heading"]
        yield from ((block.start, level) for block in reversed(headings) if block.level <= level)
        yield self.blocks[-1].start, level

    def _first_section(self) -> Section | None:
        """Return the first managed section if it is a top-level one outside merge conflicts, else None."""
        first = min(self.sections.values(), key=lambda section: section.start, default=None)
        if first is None or self._outside(first.start, -1) != first.start:
            return None
        above = [block for block in self.blocks if block.kind == "heading" and block.start < first.start]
        return first if sum(block.level < first.level for block in above) <= 1 else None

    def _opened(self, at: int) -> bool:
        """Return whether line `at` would be inside an unclosed fence or comment."""
        return bool(self.blocks) and not self.blocks[-1].closed and at > self.blocks[-1].start

    def _section_level(self) -> int:
        """Return the level of the file's own sections: one below its title, if it has one."""
        if self.sections:
            return next(iter(self.sections.values())).level
        levels = [block.level for block in self.blocks if block.kind == "heading"]
        top = min(levels, default=1)
        return top if levels.count(top) > 1 else min(top + 1, 6)

    def _without_blank_end(self, start: int, end: int) -> int:
        while end > start and not self._lines[end - 1].strip():
            end -= 1
        return end

    def _newline_at(self, at: int) -> str:
        """Return the newline for a line inserted at `at`: that of the line before, else after, else `\\n`."""
        near = (self._lines[index] for index in (at - 1, at) if 0 <= index < len(self._lines))
        return next((end for line in near if (end := markdown_structure.ending(line))), "\n")


def _item_lines(marker: str, content: Sequence[str]) -> list[str]:
    column = markdown_structure.content_column(marker + "x")
    rest = (" " * column + line if line.strip() else "" for line in content[1:])
    return [marker + content[0], *rest]


def _next_marker(beside: Item, *, first: bool) -> str:
    """Return the marker for an item beside this one: the same, or the next number."""
    line = beside.lines[0].rstrip("\r\n")
    marker = markdown_structure.item_marker(line)
    if not markdown_structure.item_content(line).strip() or len(marker.strip()) + 4 < len(marker.lstrip()):
        marker = marker.rstrip() + " "  # an empty item, or one that begins with indented code
    number = marker.strip().rstrip(".)")
    if number.isdecimal() and not first and len(number) < 9:
        marker = marker.replace(number, str(int(number) + 1), 1)
    return marker
