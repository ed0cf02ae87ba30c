"""Format tool calls and their results as lines, with suspicious blanks made visible.

Between two runs of blanks longer than the screen, a part of a command would scroll out of sight, and the rest look
empty.
"""

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby, pairwise
from typing import cast

from localllm.base.events import Json, ToolFinished, ToolStarted
from localllm.base.i18n import ngettext
from localllm.base.lazy_patterns import late_pattern
from localllm.text.error_lines import telling_numbers
from localllm.text.sanitising import clean, clusters, display_width, shorten
from localllm.text.terminal_output import plain_output
from localllm.text.wrapping import break_offsets
from localllm.tui.theme import Line, Span, Style

_PLAIN = " \t\u3000"  # common blanks: Japanese text has its own
_ODD = "\u00a0\u115f\u1160\u1680\u2000-\u200a\u202f\u205f\u2800\u3164\uffa0\U00013441\U00013442\U00016fe4\U0001d159"
_RUN = late_pattern(f"[{_PLAIN}{_ODD}]+")
_SAME_ODD = late_pattern(rf"([{_ODD}])\1*")

_WITHIN = 16  # cells of blanks left as they are within a line: a comment after code, columns
_INDENTATION = 60
_EMPTY_LINES = 3  # consecutive ones
_MARKS = 8  # consecutive zero-width characters: no script puts so many on one letter


def visible_blanks(line: str) -> str:
    """Replace suspicious blanks of a line: `<␣×37>` or `<U+2003×4>`; few plain ones stay.

    Trailing ones are always replaced, leading ones only if they cannot be indentation.
    """
    return _RUN.sub(_shown, _few_marks(line))


def _few_marks(line: str) -> str:
    """Replace a long run of zero-width characters by its length."""
    if line.isascii():
        return line
    from wcwidth import wcwidth

    parts: list[str] = []
    for takes_none, group in groupby(line, lambda character: character >= "\u0300" and wcwidth(character) == 0):
        run = "".join(group)
        many = takes_none and len(run) > _MARKS
        parts.append("".join(_counted(one, count) for one, count in Counter(run).items()) if many else run)
    return "".join(parts)


def _shown(run: re.Match[str]) -> str:
    blanks, is_last = run[0], run.end() == len(run.string)
    room = 0 if is_last else _WITHIN if run.start() else _INDENTATION
    cells = len(blanks) + blanks.count("\u3000")
    if cells > room:
        return "".join(_counted(one, count) for one, count in Counter(blanks).items())
    return _SAME_ODD.sub(lambda odd: _counted(odd[1], len(odd[0])), blanks)


def _counted(blank: str, count: int) -> str:
    sign = {" ": "␣", "\t": "␉"}.get(blank, f"U+{ord(blank):04X}")
    if count > 1:
        return f"<{sign}×{count}>"
    return sign if len(sign) == 1 else f"<{sign}>"


def lines_with_ends(text: str) -> Iterator[str]:
    """Yield the lines of a text with visible blanks and line ends (`␊`); many empty ones are merged, with their
    number."""
    *ended, last = text.split("\n")
    for is_empty, group in groupby(ended, lambda line: not _RUN.sub("", line)):
        lines = list(group)
        if is_empty and len(lines) > _EMPTY_LINES:
            yield f"{'␣' if any(lines) else ''}␊×{len(lines)}"
        else:
            yield from (f"{visible_blanks(line)}␊" for line in lines)
    yield visible_blanks(last)


DIFF_LINES = 24
OUTPUT_LINES = 6
_TELLING_LINES = 8
_LAST_LINES = 3
"""Lines at the end of a failed command's output, below those that report errors."""
RESULT_ROWS = 2
_MAIN_ARGUMENTS = ("command", "file_path", "pattern", "query", "question", "url", "path")
_SHOWN_AS_DIFF = ("content", "old_string", "new_string")
_VALUE_WIDTH = 32


def started_line(event: ToolStarted, width: int) -> Line:
    """Format the start of a call, `● read_file src/a.py`, in at most `width` cells."""
    head = f"● {event.name}"
    arguments = clean(describe_arguments(event.arguments), keep_newlines=False)
    return (("accent", head), ("", shorten(f" {arguments}", max(0, width - len(head))) if arguments else ""))


def describe_arguments(arguments: Mapping[str, Json]) -> str:
    """Format the main argument, then short ones by name; file contents are left out."""
    main = next((name for name in _MAIN_ARGUMENTS if arguments.get(name)), "")
    parts = [str(arguments[main])] if main else []
    for name, value in arguments.items():
        if name == main or name in _SHOWN_AS_DIFF or value is None or value == []:
            continue
        text = value if isinstance(value, str) else _listed(value)
        if "\n" not in text and len(text) <= _VALUE_WIDTH:
            parts.append(f"{name}={text}")
    return " ".join(parts)


def _listed(value: Json) -> str:
    listed = cast("list[Json]", value) if isinstance(value, list) else []
    texts = [one for one in listed if isinstance(one, str)]
    if texts and len(texts) == len(listed):
        return ", ".join(texts)
    return json.dumps(value, ensure_ascii=False)


def finished_lines(event: ToolFinished, width: int, *, named: bool = False, with_diff: bool = True) -> list[Line]:
    """Format the result, and below it the change or the end of a command's output. `named`: see `result_lines`."""
    lines = result_lines(event, width, named=named)
    diff = event.payload.get("diff")
    if with_diff and isinstance(diff, str) and "file_path" in event.payload:
        lines += diff_lines(diff, width, limit=DIFF_LINES)
    return lines + _output_part(event.payload, width, has_failed=not event.success)


def result_lines(event: ToolFinished, width: int, *, named: bool = False) -> list[Line]:
    """Format the result alone, in a few rows of at most `width` cells.

    `named` repeats the tool's name, for a result that is not below its call.
    """
    mark: Span = ("good", "  ✓ ") if event.success else ("bad", "  ✗ ")
    summary = clean(f"{event.name}: {event.summary}" if named else event.summary, keep_newlines=False)
    room = max(0, width - 4)
    borders = [0, *break_offsets(summary, max(2, room))[: RESULT_ROWS - 1], len(summary)]
    rows = [shorten(summary[start:end].rstrip(), room) for start, end in pairwise(borders)]
    style: Style = "dim" if event.success else ""
    return [(mark if number == 0 else ("", "    "), (style, row)) for number, row in enumerate(rows)]


def diff_lines(diff: str, width: int, *, limit: int = 0) -> list[Line]:
    """Format a unified diff in colour, in lines of at most `width` cells; with `limit` only so many of its rows and the
    number of the others."""
    rows = diff_rows(diff)
    shown = rows[:limit] if limit and len(rows) > limit + 1 else rows
    lines = [line for row in shown for line in folded(row, width)]
    if len(shown) < len(rows):
        lines.append(
            (("dim", "    " + ngettext("… {count} more line", "… {count} more lines", len(rows) - len(shown))),)
        )
    return lines


def diff_rows(diff: str) -> list[Line]:
    """Return the rows of a unified diff, each as its mark and its text, with suspicious blanks visible."""
    found: list[Line] = []
    for row in diff.removesuffix("\n").split("\n"):
        style, text = _diff_style(row), visible_blanks(row[1:]).replace("\t", "    ")
        found.append(((style, f"    {row[:1]}"), (style, text)))
    return found


def folded(row: Line, width: int) -> list[Line]:
    """Wrap a row of mark and text with hanging indentation, so that no part can pass for a line of a question, or for
    another row of the diff."""
    (mark, indent), (style, text) = row
    text = clean(text, keep_newlines=False)
    room = max(10, width - len(indent))
    if text.isascii():  # fast path: each character takes one cell
        lines = [text[at : at + room] for at in range(0, len(text), room)] or [""]
    else:
        lines = _lines_of_cells(text, room)
    indents = [indent, *[" " * len(indent)] * (len(lines) - 1)]
    return [((mark, before), (style, line)) for before, line in zip(indents, lines, strict=True)]


def _lines_of_cells(text: str, room: int) -> list[str]:
    if 2 * len(text) <= room:  # no character takes more than two
        return [text]
    lines, begins, free = list[str](), 0, room
    for start, end, shown in clusters(text):
        cells = shown if "\u200d" not in text[start:end] else sum(map(display_width, text[start:end]))
        if cells > free:
            lines.append(text[begins:start])
            begins, free = start, room
        free -= cells
    return [*lines, text[begins:]]


def _diff_style(row: str) -> Style:
    match row[:3]:
        case "+++" | "---":
            return "dim"
        case "@@ ":
            return "hunk"
        case _:
            styles: dict[str, Style] = {"+": "good", "-": "bad"}
            return styles.get(row[:1], "")


def _output_part(payload: Mapping[str, Json], width: int, *, has_failed: bool) -> list[Line]:
    """Return the last lines of a command's output as plain text, stdout before stderr; of one that `has_failed` also
    those above that report errors."""
    text = "\n".join(plain_output(str(payload[name])).rstrip() for name in ("stdout", "stderr") if payload.get(name))
    rows = text.split("\n") if text else []
    shown = _rows_shown(rows, has_failed=has_failed)
    room = max(0, width - 4)
    lines: list[Line] = []
    before = -1
    for number in shown:
        if number > before + 1:
            left_out = ngettext("… {count} line above", "… {count} lines above", number) if before < 0 else "…"
            lines.append((("dim", f"    {left_out}"),))
        row = clean(rows[number].expandtabs(8), keep_newlines=False)
        lines.append((("dim", "    " + shorten(row, room)),))
        before = number
    return lines


def _rows_shown(rows: Sequence[str], *, has_failed: bool) -> Sequence[int]:
    """Return the numbers of the rows of an output to show."""
    if len(rows) <= OUTPUT_LINES + 1:
        return range(len(rows))
    if has_failed and (telling := telling_numbers(rows[:-_LAST_LINES], _TELLING_LINES)):
        return [*telling, *range(len(rows) - _LAST_LINES, len(rows))]
    return range(len(rows) - OUTPUT_LINES, len(rows))
