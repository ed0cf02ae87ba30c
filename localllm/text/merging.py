"""Apply a change to a text that differs slightly from the one it was made for."""

import re
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

from localllm.text.diffing import Alignment, Budget, TooMuchWorkError
from localllm.text.lexer import Token, plain, tokens

_MOST_TOKENS = 3_000

MOST_PUT = 20_000_000
"""Maximum characters inserted into a text: many places or deep indentation could exhaust the memory."""


class TooMuchTextError(Exception):
    """The inserted text would be longer than MOST_PUT."""


def merge(there: str, old: str, new: str, *, unit: str = "", budget: Budget | None = None) -> str | None:
    """Apply the change from `old` to `new` to `there`, a text similar to `old`.

    What the change does not touch stays as in `there`: indentation, the form of quotes, single words. New lines are
    indented like their neighbours, by `unit` if known. A passage that is very long, or cannot be aligned within
    `budget`, is only indented. None if the indentation of a new line is ambiguous: equally indented lines of `old`
    differ there. Raises TooMuchTextError.
    """
    if len(new) + new.count("\n") * max(map(len, _line_indents(there)), default=0) > MOST_PUT:
        raise TooMuchTextError
    if _has_line_ends(old) and not _has_line_ends(there):
        old, new = _without_line_ends(old), _without_line_ends(new)
    indents = _Indents(there, old, new, unit)
    before, after, present = list(tokens(old)), list(tokens(new)), list(tokens(there))
    try:
        _refuse_long(before, after, present)
        kept, stands = _kept(before, after, budget), _standing(before, present, budget)
    except TooMuchWorkError:
        merged = indents.apply(new)
    else:
        merged = "".join(_merged(before, after, kept, stands, indents)) + _tail(there, old, new)
    return None if indents.uncertain else merged


def _refuse_long(*parts: list[Token]) -> None:
    if max(map(len, parts)) > _MOST_TOKENS:
        raise TooMuchWorkError


def _merged(
    before: list[Token], after: list[Token], kept: dict[int, int], stands: "dict[int, _Stands]", indents: "_Indents"
) -> Iterator[str]:
    """Yield the tokens of the result, each with the white space before it."""
    straight, gaps = _straightened(before, stands), _Gaps(before, after, kept, stands)
    for index, token in enumerate(after):
        end, gap = _split(token.gap)
        previous = kept.get(index - 1)
        if previous is not None and previous + 1 in stands and _split(before[previous + 1].gap)[0] == end:
            end = _split(stands[previous + 1].gap)[0]
        source = kept.get(index)
        original = None if source is None else stands.get(source)
        text = straight.get(token.text, token.text) if original is None else original.text
        there = gaps.of(index)
        yield end + (indents.apply(gap, start=not index) if there is None else there) + text


class _Gaps:
    """Finds the white space that stays as it is in the text: where the change only replaces what surrounds it."""

    def __init__(
        self, before: list[Token], after: list[Token], kept: dict[int, int], stands: "dict[int, _Stands]"
    ) -> None:
        self._before, self._after, self._kept, self._stands = before, after, kept, stands
        self._replaced = _replaced(len(before), len(after), kept)
        self._behind_commas: dict[str, set[str]] = {}
        for index, (one, other) in enumerate(pairwise(before), start=1):
            if one.text == "," and (stand := stands.get(index)):
                self._behind_commas.setdefault(other.gap, set()).add(stand.gap)

    def of(self, index: int) -> str | None:
        """Return the white space of the text before a token of the replacement, without what ends a line; None if the
        replacement's own applies: also where both have some, but for tabs, before a new token."""
        source, previous, gap = self._kept.get(index), self._kept.get(index - 1), self._after[index].gap
        if source is not None and source in self._stands and not self._is_used(index, source):
            removed = self._before_removed(index)
            there = self._at(source, index) if removed is None else removed
            is_same = previous == source - 1 or (not index and not source)
            return there if is_same or there is None or self._is_possible(index, there) else None
        if not index or "\n" in gap:
            return None
        if self._after[index].text in _CLOSING and index not in self._replaced:
            return None
        place = self._replaced.get(index) if previous is None else previous + 1
        there = None if place is None else self._at(place, index)
        if there is None and self._after[index - 1].text == "," and len(self._behind_commas.get(gap, ())) == 1:
            (there,) = self._behind_commas[gap]
        is_other = there is not None and "\n" not in there and (bool(there) != bool(gap) or "\t" in there)
        return there if is_other and self._is_possible(index, there or "") else None

    def _before_removed(self, index: int) -> str | None:
        """Return the white space before what was removed in front of a word: `: -1` becomes `: 1`."""
        previous, token = self._kept.get(index - 1), self._after[index]
        if previous is None or "\n" in token.gap or not token.text[0].isalnum():
            return None
        return self._at(previous + 1, index)

    def _is_used(self, index: int, source: int) -> bool:
        """Return whether what is inserted before a token stands behind its white space: `: 1` becomes `: -1`."""
        first = index
        while first > 1 and first - 1 not in self._kept:
            first -= 1
        is_inserted = first < index and self._kept.get(first - 1) == source - 1
        return is_inserted and "\n" not in self._after[index].gap and self.of(first) is not None

    def _at(self, place: int, index: int) -> str | None:
        """Return the white space of the text before a replaced token, if the replacement has that of the token."""
        stand = self._stands.get(place)
        is_known = stand and (stand.text or place == self._kept.get(index))
        is_same = is_known and _split(self._before[place].gap)[1] == _split(self._after[index].gap)[1]
        return _split(stand.gap)[1] if stand and is_same else None

    def _is_possible(self, index: int, there: str) -> bool:
        """Return whether white space neither joins two words or operators nor parts an operator of two characters."""
        if not index or bool(there) == bool(self._after[index].gap):
            return True
        pair = self._after[index - 1].text[-1] + self._after[index].text[0]
        return pair not in _OPERATORS and (bool(there) or not all(one == "_" or one.isalnum() for one in pair))


_CLOSING = frozenset(",;.:?)]}")
"""What follows its predecessor directly, so that white space there belongs behind it: `{ a }` becomes `{ a, b }`."""
_OPERATORS = frozenset(
    "== != <= >= += -= *= /= %= &= |= ^= := ~= @= ?= .= =~ -> <- => <> && || << >> ++ -- ** // :: .. ?. ?? |> </ />"
    " /* */".split()
)


def _replaced(before: int, after: int, kept: dict[int, int]) -> dict[int, int]:
    """Map the indexes of new tokens to those they replace, where as many are new as were removed."""
    found: dict[int, int] = {}
    for (j, i), (next_j, next_i) in pairwise([(-1, -1), *sorted(kept.items()), (after, before)]):
        if next_j - j == next_i - i:
            found |= {j + k: i + k for k in range(1, next_j - j)}
    return found


def _split(gap: str) -> tuple[str, str]:
    """Split white space into the part that ends a line, and the rest."""
    at = max(gap.find("\n"), 0)
    return gap[:at], gap[at:]


_LINE_END = re.compile(r"(?<![ \t])[ \t]++$", re.MULTILINE)


def _has_line_ends(text: str) -> bool:
    """Return whether a non-blank line has trailing white space."""
    return any(line.strip() and line[-1:].isspace() for line in text.split("\n"))


def _without_line_ends(text: str) -> str:
    return _LINE_END.sub("", text)


def _tail(there: str, old: str, new: str) -> str:
    """Return the final white space: that of `there` unless the change touches it."""
    ends = [text[len(text.rstrip()) :] for text in (there, old, new)]
    if not new.strip():
        return "" if ends[1] else ends[2]
    return ends[0] if ends[1] == ends[2] else ends[2]


def _kept(before: list[Token], after: list[Token], budget: Budget | None) -> dict[int, int]:
    """Map the indexes of tokens in `after` to those kept from `before`."""
    matcher = Alignment([t.text for t in before], [t.text for t in after], budget=budget)
    return {j + k: i + k for i, j, size in matcher.get_matching_blocks() for k in range(size)}


class _Stands(NamedTuple):
    gap: str
    text: str


def _standing(before: list[Token], present: list[Token], budget: Budget | None) -> dict[int, _Stands]:
    """Map each token of `before` to its counterpart in the text. A differing stretch is assigned to its first token."""
    matcher = Alignment([plain(t.text) for t in before], [plain(t.text) for t in present], budget=budget)
    stands: dict[int, _Stands] = {}
    for tag, i1, i2, j1, j2 in matcher.get_opcodes():
        if tag == "equal" or i2 - i1 == j2 - j1:
            stands |= {i1 + k: _Stands(present[j1 + k].gap, present[j1 + k].text) for k in range(i2 - i1)}
        elif tag == "insert" and i1:
            last = stands[i1 - 1]
            stands[i1 - 1] = _Stands(last.gap, last.text + _joined(present[j1:j2]))
        elif tag != "insert":
            first = present[j1].gap if j2 > j1 else ""
            stands[i1] = _Stands(first, _joined(present[j1:j2])[len(first) :])
            stands |= {index: _Stands("", "") for index in range(i1 + 1, i2)}
    return stands


def _straightened(before: list[Token], stands: dict[int, _Stands]) -> dict[str, str]:
    """Return the curly quotes of `before` that are always straight in the text: new ones are then, too."""
    forms: dict[str, set[str]] = {}
    for index, token in enumerate(before):
        if token.text not in _STRAIGHT and plain(token.text) in _STRAIGHT and index in stands:
            forms.setdefault(token.text, set()).add(stands[index].text)
    return {text: plain(text) for text, found in forms.items() if found == {plain(text)}}


_STRAIGHT = frozenset("\"'")


def _joined(part: list[Token]) -> str:
    return "".join(token.gap + token.text for token in part)


def _indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip())]


def _line_indents(text: str) -> list[str]:
    """Return the indentation of each non-blank line."""
    return [_indent(line) for line in text.split("\n") if line.strip()]


def indent_unit(*texts: str) -> str:
    """Return the most frequent indentation step between lines; empty if there is none."""
    steps: Counter[str] = Counter()
    for text in texts:
        for less, more in pairwise(_line_indents(text)):
            step = more.removeprefix(less)
            if more.startswith(less) and _STEP.fullmatch(step):
                steps[step] += 1
    return steps.most_common(1)[0][0] if steps else ""


_STEP = re.compile(r"\t| {1,8}")


class _Indents:
    """Converts the indentation of a passage to that of the text it stands for.

    `uncertain` is set once a line was indented ambiguously.
    """

    def __init__(self, there: str, old: str, new: str, unit: str) -> None:
        present, given = _line_indents(there), _line_indents(old)
        count = len(given) if len(present) == len(given) else 1
        pairs = list(zip(given[:count], present[:count], strict=False))
        self._first = dict(pairs[:1])
        if len(pairs) > 1 and all(one == other for one, other in pairs[1:]):
            pairs = pairs[1:]  # only the first line was copied without its indentation
        self._known: dict[str, str] = {}
        for one, other in pairs:
            self._known.setdefault(one, other)
        self._torn = {one for one, other in pairs if self._known[one] != other}
        self.uncertain = False
        self._given_unit = indent_unit(old, new)
        self._unit = indent_unit(there) or unit or self._given_unit

    def apply(self, text: str, *, start: bool = True) -> str:
        """Indent the lines of `text` as in the target; with `start` the beginning counts as a line."""
        first, *rest = text.split("\n")
        last = len(rest) - 1
        rest = [self._line(line) if line.strip() or index == last else "" for index, line in enumerate(rest)]
        lead = self._first.get(first) if start and not first.strip() else None
        lead = self._line(first) if lead is None and start else first if lead is None else lead
        return "\n".join([lead, *rest])

    def _line(self, line: str) -> str:
        bare = line.lstrip(" \t")
        if line[: len(line) - len(bare)] in self._torn:
            self.uncertain = True
        return self._of(line[: len(line) - len(bare)]) + bare

    def _of(self, indent: str) -> str:
        if indent in self._known:
            return self._known[indent]
        if shorter := [known for known in self._known if indent.startswith(known)]:
            base = max(shorter, key=len)
            return self._known[base] + self._convert(indent[len(base) :])
        if not (longer := [known for known in self._known if known.startswith(indent)]):
            return indent
        base = min(longer, key=len)
        return self._known[base].removesuffix(self._convert(base[len(indent) :]))

    def _convert(self, more: str) -> str:
        """Convert additional indentation to the text's unit."""
        if not self._given_unit or self._given_unit == self._unit:
            return more
        steps, odd = divmod(len(more), len(self._given_unit))
        return self._unit * steps + more[len(more) - odd :]
