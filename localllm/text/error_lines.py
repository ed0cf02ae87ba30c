"""Extract the lines that report errors from a long output, with context, to keep them on truncation."""

import re
from collections.abc import Iterator, Sequence
from itertools import islice

_FAULT = (
    r"(?<![\w-])(?<!\b0 )(?<!\bno )(?i:errors?|fatal|panic(?:ked)?|exception|fail(?:s|ed|ure|ures)?|conflict|caused by"
    r"|undefined|unresolved|cannot|can't|could not|couldn't|unable to|denied|refused|not found|no such"
    r"|segmentation fault|abort(?:ed)?|timed out|killed)(?![\w-])|\b[A-Z]\w*(?:Error|Exception)\b"
    r"|エラー|失敗|不合格|例外|異常終了|できません|できなかった|見つかりません"
)
"""Terms of compilers, test runners and logs, but not within longer names: `test_error_texts PASSED` is no error."""

_NEAREST = (0, 1, 2, -1, *range(3, 11))
"""Offsets of context lines, the most relevant first: a location, expected and actual values, and the file named before
it."""

_LONGEST_LINE = 240
_MOST_FAULTS = 200
_GAP = "…"


def telling_lines(text: str, most: int) -> str:
    """Return the lines of `text` that report errors, each kind once, with context, in the text's order.
    Limited to `most` characters, the first errors first. Empty if there are none."""
    lines = text.splitlines()
    chosen: dict[int, str] = {}
    room = most
    for number in _by_relevance(lines):
        line = _in_short(lines[number])
        if (room := room - len(line) - len(_GAP) - 2) < 0:
            break
        chosen[number] = line
    return "\n".join(_in_order(chosen))


def telling_numbers(lines: Sequence[str], most: int) -> list[int]:
    """Return the indexes of at most `most` lines that report errors, with context, as `telling_lines` chooses them."""
    return sorted(islice(_by_relevance(lines), most))


def _by_relevance(lines: Sequence[str]) -> Iterator[int]:
    """Yield the indexes of lines that report errors, then of those around them, the nearest first."""
    faults = dict.fromkeys(_faults(lines))
    yielded: set[int] = set()
    for number in (n + distance for distance in _NEAREST for n in faults):
        is_there = 0 <= number < len(lines) and (number in faults or bool(lines[number].strip()))
        if is_there and number not in yielded:
            yielded.add(number)
            yield number


def _faults(lines: Sequence[str]) -> Iterator[int]:
    """Yield the indexes of lines that report errors; of those that differ only in numbers, the first."""
    seen: set[str] = set()
    for number, line in enumerate(lines):
        if len(seen) < _MOST_FAULTS and re.search(_FAULT, line):
            kind = re.sub(r"\d+", "0", line[:_LONGEST_LINE])
            if kind not in seen:
                seen.add(kind)
                yield number


def _in_short(line: str) -> str:
    """Return the line; if it is very long, the part around the error."""
    line = line.rstrip()
    if len(line) <= _LONGEST_LINE:
        return line
    found = re.search(_FAULT, line)
    start = max(0, found.start() - _LONGEST_LINE // 4) if found else 0
    return f"{_GAP if start else ''}{line[start : start + _LONGEST_LINE]}{_GAP}"


def _in_order(chosen: dict[int, str]) -> Iterator[str]:
    before = -1
    for number in sorted(chosen):
        if number > before + 1:
            yield _GAP
        yield chosen[number]
        before = number
