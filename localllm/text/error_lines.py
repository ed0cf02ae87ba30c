"""The lines of a long output that tell of a fault, with those around them: what must not be lost in its middle."""

import re
from collections.abc import Iterator, Sequence

_FAULT = (
    r"(?<![\w-])(?<!\b0 )(?<!\bno )(?i:errors?|fatal|panic(?:ked)?|exception|fail(?:s|ed|ure|ures)?|conflict|caused by"
    r"|undefined|unresolved|cannot|can't|could not|couldn't|unable to|denied|refused|not found|no such"
    r"|segmentation fault|abort(?:ed)?|timed out|killed)(?![\w-])|\b[A-Z]\w*(?:Error|Exception)\b"
    r"|エラー|失敗|不合格|例外|異常終了|できません|できなかった|見つかりません"
)
"""Words of compilers, test runners and logs. Not parts of longer names: `test_error_texts PASSED` tells of no fault."""

_NEAREST = (0, 1, 2, -1, *range(3, 11))
"""Lines near such a line that may belong to it, the likeliest first: a place, what was expected and what came, and
before it the file it is about."""

_LONGEST_LINE = 240
_MOST_FAULTS = 200
_GAP = "…"


def telling_lines(text: str, most: int) -> str:
    """The lines of `text` that tell of a fault, each kind once and the first ones first, and the lines around
    them as far as there is room: `most` characters in all, in the order of the text. Empty where there are none."""
    lines = text.splitlines()
    faults = list(_faults(lines))
    nearest = (n + distance for distance in _NEAREST for n in faults)
    chosen: dict[int, str] = {}
    room = most
    for number in nearest:
        if number in chosen or not 0 <= number < len(lines) or (number not in faults and not lines[number].strip()):
            continue
        line = _in_short(lines[number])
        if (room := room - len(line) - len(_GAP) - 2) < 0:
            break
        chosen[number] = line
    return "\n".join(_in_order(chosen))


def _faults(lines: Sequence[str]) -> Iterator[int]:
    """The numbers of the lines that tell of a fault; of those that differ in their numbers alone the first."""
    seen: set[str] = set()
    for number, line in enumerate(lines):
        if len(seen) < _MOST_FAULTS and re.search(_FAULT, line):
            kind = re.sub(r"\d+", "0", line[:_LONGEST_LINE])
            if kind not in seen:
                seen.add(kind)
                yield number


def _in_short(line: str) -> str:
    """The line, or of a very long one the part about the fault."""
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
