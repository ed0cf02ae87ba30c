"""Find a passage despite typos in it, if the intended place is certain.

Similarity is not enough: another number, name or symbol is another place. Only insignificant differences are ignored:
white space, commas and quotes, a word missing in a comment, a wrong letter within a long word.
"""

from collections import Counter
from itertools import accumulate

from localllm.base.lazy_patterns import late_pattern
from localllm.text.diffing import Alignment, Budget, TooMuchWorkError
from localllm.text.lexer import Token, plain, tokens
from localllm.text.nearest_region import window_starts

_MOST = 0.1
"""Fraction of a passage that may differ; white space counts a tenth."""

_MARGIN = 0.1
"""Minimum distance of every other place."""

_SPACE = 0.1
_LEAST = 20  # characters: in a shorter passage one letter is too significant
_LONGEST = 6_000
_LONGER = 4  # maximum ratio of the place's length to the passage's
_MOST_STEPS = 10_000_000  # 1 to 2 s
_CERTAIN = 3  # lines: in fewer, a changed letter may well mean another name (masked, marked)
_HARMLESS = frozenset(",;.'\"`:、。，．")
_COMMENT = late_pattern(r"(?:^|\s)(?:#\s|//|/\*|<!--)|^\s*(?:\*\s|--\s|\"\"\"|''')")


def span_despite_typos(text: str, old: str) -> list[tuple[int, int]]:
    """Return the only place (whole lines) that differs from `old` by typos alone.
    Empty if there is none, or if too many candidates are similar."""
    try:
        return _span(text, old)
    except TooMuchWorkError:
        return []


def _span(text: str, old: str) -> list[tuple[int, int]]:
    body = old.strip("\n")
    if len(body.strip()) < _LEAST or len(body) > _LONGEST:
        return []
    wanted = list(tokens(plain(body)))
    lines = text.split("\n")
    starts = [0, *accumulate(len(line) + 1 for line in lines)]
    count = body.count("\n") + 1
    budget = Budget(_MOST_STEPS)
    others: list[tuple[float, int, int]] = []
    for first in sorted(window_starts(text, body.strip())):
        for size in {count, count - 1, count + 1} - {0}:
            last = min(first + size, len(lines))
            is_like = starts[last] - starts[first] <= _LONGER * len(body)
            there = plain("\n".join(lines[first:last])) if is_like else ""
            cost = _cost(wanted, list(tokens(there)), len(body), budget) if is_like else 1.0
            others.append((cost, first, last))
    if not others:
        return []
    best = min(others)
    rivals = [cost for cost, first, last in others if first >= best[2] or last <= best[1]]
    if best[0] > _MOST or min(rivals, default=1.0) < best[0] + _MARGIN:
        return []
    start, end = starts[best[1]], starts[best[2]] - 1
    if not _is_slip(wanted, list(tokens(plain(text[start:end]))), text, body):
        return []
    return [(start, end + (1 if old.endswith("\n") and end < len(text) else 0))]


def _cost(wanted: list[Token], present: list[Token], length: int, budget: Budget) -> float:
    """Return the fraction of the passage that differs: characters of differing words, and a tenth of those of white
    space. Raises TooMuchWorkError."""
    matcher = Alignment([t.text for t in wanted], [t.text for t in present], budget=budget)
    if matcher.real_quick_ratio() < 0.5 or matcher.quick_ratio() < 0.5:
        return 1.0
    cost = 0.0
    for tag, i1, i2, j1, j2 in matcher.get_opcodes():
        if tag == "equal":
            gaps = zip(wanted[i1:i2], present[j1:j2], strict=True)
            cost += _SPACE * sum(abs(len(one.gap) - len(other.gap)) for one, other in gaps)
        elif i2 - i1 == j2 - j1:
            pairs = zip(wanted[i1:i2], present[j1:j2], strict=True)
            cost += sum(_differing(one.text, other.text) for one, other in pairs)
        else:
            cost += max(_size(wanted[i1:i2]), _size(present[j1:j2]))
    return cost / max(length, 1)


def _differing(one: str, other: str) -> int:
    """Return the number of letters between the common prefix and suffix."""
    head = _common(one, other)
    return max(len(one), len(other)) - head - _common(one[head:][::-1], other[head:][::-1])


def _common(one: str, other: str) -> int:
    """Return the length of the common prefix."""
    return next((i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))


def _size(part: list[Token]) -> int:
    return sum(len(token.text) for token in part)


def _is_slip(wanted: list[Token], present: list[Token], text: str, body: str) -> bool:
    """Return whether none of the differences is significant."""
    matcher = Alignment([t.text for t in wanted], [t.text for t in present])
    known = Counter(token.text for token in tokens(plain(text)))
    certain = sum(bool(line.strip()) for line in body.split("\n")) >= _CERTAIN
    there = "".join(token.gap + token.text for token in present)
    for tag, i1, i2, j1, j2 in matcher.get_opcodes():
        if tag == "equal":
            continue
        given, found = wanted[i1:i2], present[j1:j2]
        in_prose = "\n" in body and _in_comment(body, wanted, i1, i2) and _in_comment(there, _located(present), j1, j2)
        if not _harmless(given, found, known, in_prose=in_prose, certain=certain):
            return False
    return True


def _located(part: list[Token]) -> list[Token]:
    """Return the tokens with positions in their own text."""
    at = 0
    placed: list[Token] = []
    for token in part:
        placed.append(Token(token.text, at + len(token.gap), token.gap))
        at = placed[-1].end
    return placed


def _in_comment(text: str, part: list[Token], first: int, last: int) -> bool:
    """Return whether all tokens follow a comment sign on their lines."""
    for token in part[first:last]:
        begin = text.rfind("\n", 0, token.start) + 1
        if not _COMMENT.search(text[begin : token.start + 3]):
            return False
    return True


def _harmless(given: list[Token], found: list[Token], known: Counter[str], *, in_prose: bool, certain: bool) -> bool:
    words = [token.text for token in (*given, *found)]
    if any(any(map(str.isdigit, word)) for word in words):
        return False
    if all(word in _HARMLESS for word in words):
        return True
    if in_prose and not (given and found) and all(map(str.isascii, words)):
        return True  # a word too many or missing
    if len(given) != len(found):
        return False
    pairs = zip(given, found, strict=True)
    return all(
        one.text == other.text
        or {one.text, other.text} <= _HARMLESS
        or (one.text not in known and _is_typo(one.text, other.text, certain=certain or in_prose))
        for one, other in pairs
    )


def _is_typo(one: str, other: str, *, certain: bool) -> bool:
    """Return whether two long words differ by a transposition; if `certain`, also by one letter."""
    if min(len(one), len(other)) < 6 or abs(len(one) - len(other)) > 1 or one[0] != other[0] or one[-1] != other[-1]:
        return False
    head = _common(one, other)
    a, b = one[head:], other[head:]
    if len(a) == len(b) and a[:2] == b[1::-1] and a[2:] == b[2:]:
        return True
    if not certain:
        return False
    if len(a) != len(b):
        longer, shorter = (a, b) if len(a) > len(b) else (b, a)
        return longer[1:] == shorter
    return a[1:] == b[1:]
