"""Extract the lines that report errors from a long output, with context, to keep them on truncation."""

import re
from collections.abc import Iterator, Sequence
from itertools import chain, islice

_FAULT = (
    r"(?<![\w-])(?<!\b0 )(?<!\bno )(?i:errors?|fatal|panic(?:ked)?|exception|fail(?:s|ed|ure|ures)?|conflict|caused by"
    r"|undefined|unresolved|cannot|can't|could not|couldn't|unable to|denied|refused|not found|no such"
    r"|segmentation fault|abort(?:ed)?|timed out|killed)(?![\w-])|\b[A-Z]\w*(?:Error|Exception)\b"
    r"|エラー|失敗|不合格|例外|異常終了|できません|できなかった|見つかりません"
)
"""Terms of compilers, test runners and logs, but not within longer names: `test_error_texts PASSED` is no error."""

_PARTS = (
    *("error", "fatal", "panic", "exception", "fail", "conflict", "caused by", "undefined", "unresolved", "cannot"),
    *("can't", "could", "unable to", "denied", "refused", "not found", "no such", "segmentation fault", "abort"),
    *(
        "timed out",
        "killed",
        "エラー",
        "失敗",
        "不合格",
        "例外",
        "異常終了",
        "できません",
        "できなかった",
        "見つかりません",
    ),
)
"""One of them is in every line that `_FAULT` matches, in lower case."""
_LINES_AT_ONCE = 32
_MOST_LINES = 1_000_000

_FRAME = (
    r"^\s{0,12}#\d{1,3}\s.{0,300}?(?P<numbered>[^\s()]{1,200}\.\w{1,5}):\d{1,7}(?::\d{1,5})?\)?\s*$"
    r"|^\s{2,24}at\s.{0,300}?(?P<at>[^\s()]{1,200}\.\w{1,5}):\d{1,7}(?::\d{1,5})?\)?\s*$"
)
"""Matches a line of a stack trace that names a file and a line: of sanitizers and debuggers, JavaScript, Java, Rust."""

_FOREIGN = (
    r"^(?:/usr/|/lib|/opt/|/rustc/|/build/|/home/\S{1,100}/\.(?:cargo|rustup)/|\.\./|node:)"
    r"|/(?:site-packages|node_modules)/|sysdeps"
)
"""Matches a file of a system or a library in such a line."""

_NEAREST = (0, 1, 2, -1, *range(3, 11))
"""Offsets of context lines, the most relevant first: a location, expected and actual values, and the file named before
it."""

_LONGEST_LINE = 240
_MOST_FAULTS = 200
_GAP = "…"


def telling_lines(text: str, most: int) -> str:
    """Return the lines of `text` that report errors, each kind once, with context, in the text's order.
    Limited to `most` characters, the first errors first. Empty if there are none."""
    lines = _lines_of(text)
    chosen: dict[int, str] = {}
    room = most
    for number in _by_relevance(lines):
        line = _in_short(lines[number])
        if (room := room - len(line) - len(_GAP) - 2) < 0:
            break
        chosen[number] = line
    return "\n".join(_in_order(chosen))


def has_telling_lines(text: str) -> bool:
    """Return whether there is a line that reports an error; it is read up to the first one only."""
    lines = _lines_of(text)
    return next(chain(_faults(lines), _frames(lines)), None) is not None


def _lines_of(text: str) -> list[str]:
    """Return the lines; of very many, which take far more memory than the text, the first."""
    first = text.split("\n", _MOST_LINES)
    return (text if len(first) <= _MOST_LINES else text[: -len(first[-1])]).splitlines()


def telling_numbers(lines: Sequence[str], most: int) -> list[int]:
    """Return the indexes of at most `most` lines that report errors, with context, as `telling_lines` chooses them."""
    return sorted(islice(_by_relevance(lines), most))


def _by_relevance(lines: Sequence[str]) -> Iterator[int]:
    """Yield the indexes of lines that report errors, of the project's own lines of a stack trace, and of the lines
    around the former, the nearest first."""
    faults = dict.fromkeys(_faults(lines))
    yielded: set[int] = set()
    around = (n + distance for distance in _NEAREST if distance for n in faults)
    for number in chain(faults, _frames(lines), around):
        is_there = 0 <= number < len(lines) and (number in faults or bool(lines[number].strip()))
        if is_there and number not in yielded:
            yielded.add(number)
            yield number


def _faults(lines: Sequence[str]) -> Iterator[int]:
    """Yield the indexes of lines that report errors; of those that differ only in numbers, the first."""
    seen: set[str] = set()
    for number, line in _suspects(lines):
        if len(seen) < _MOST_FAULTS and re.search(_FAULT, line):
            kind = re.sub(r"\d+", "0", line[:_LONGEST_LINE])
            if kind not in seen:
                seen.add(kind)
                yield number


def _suspects(lines: Sequence[str]) -> Iterator[tuple[int, str]]:
    """Yield the lines that may report an error, with their indexes: in a long log, ten times as fast as the
    expression."""
    for start in range(0, len(lines), _LINES_AT_ONCE):
        some = lines[start : start + _LINES_AT_ONCE]
        together = "\n".join(some).lower()
        if parts := [part for part in _PARTS if part in together]:
            for number, line in enumerate(some, start):
                lower = line.lower()
                if any(part in lower for part in parts):
                    yield number, line


def _frames(lines: Sequence[str]) -> Iterator[int]:
    """Yield the indexes of the lines of stack traces that name a file of the project."""
    count = 0
    for number, line in enumerate(lines):
        found = re.match(_FRAME, line) if count < _MOST_FAULTS else None
        if found and not re.search(_FOREIGN, found["numbered"] or found["at"]):
            count += 1
            yield number


_SHADOW = r"Shadow bytes around the buggy address:\s*$"
_OF_SHADOW = r"[ \t]{0,8}+(?:=>)?[ \t]{0,4}+0x[0-9a-f]{6,16}:|Shadow byte legend|  [A-Z][\w ()']{2,40}: +[0-9a-f]{2}\b"


def without_shadow_bytes(lines: Sequence[str]) -> list[int]:
    """Return the indexes of the lines but for the bytes that AddressSanitizer shows around an address, which tell of no
    place in the code; their heading stays."""
    kept: list[int] = []
    is_shadow = False
    for number, line in enumerate(lines):
        is_heading = re.match(_SHADOW, line) is not None
        is_shadow = is_heading or (is_shadow and re.match(_OF_SHADOW, line) is not None)
        if is_heading or not is_shadow:
            kept.append(number)
    return kept


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
