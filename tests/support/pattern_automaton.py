"""The automaton of a regular expression: states that read one character each, and links between them."""

import importlib
import re
from collections import defaultdict
from collections.abc import Iterable
from typing import Any, NamedTuple

sre: Any = importlib.import_module("re._constants")
parser: Any = importlib.import_module("re._parser")

ENDLESS = 1_000
"""Repeats from which on a bounded repeat counts as unbounded."""

_COPIES = 2
"""Copies made of what is repeated a bounded number of times."""

_SAMPLES = "aAzZ_09 \n\t\r\x0b-.,:;'\"/\\()[]{}<>*#=!?@$%&|~`^+éñ日本ーあアｱ「。　…٣"
BEGIN = -1  # stands for the character before the first


class _Link(NamedTuple):
    """A step without reading: with what may stand before and behind."""

    to: int
    next: frozenset[int] | None
    before: frozenset[int] | None
    ends: bool  # whether this may be followed by the end of the text


class Automaton:
    """States that read one character each, with links between them."""

    def __init__(self, parsed: Any, flags: int) -> None:
        self.alphabet = sorted(_alphabet(parsed))
        self.all = frozenset(map(ord, self.alphabet))
        self.flags = flags
        self.known: dict[str, frozenset[int]] = {}
        self.reads: dict[int, frozenset[int]] = {}
        self.links: dict[int, list[_Link]] = defaultdict(list)
        self.size = 0
        self.atoms: list[range] = []
        self.atom_ends: set[int] = set()
        self.groups: dict[int | None, frozenset[int]] = {}
        self.start = self.node()
        self.accept = self.sequence(parsed, self.start, flags)

    def node(self) -> int:
        self.size += 1
        return self.size - 1

    def link(
        self,
        one: int,
        to: int,
        after: frozenset[int] | None = None,
        before: frozenset[int] | None = None,
        *,
        ends: bool = True,
    ) -> None:
        self.links[one].append(_Link(to, after, before, ends))

    def sequence(self, items: Iterable[Any], at: int, flags: int) -> int:
        for op, value in items:
            at = self.item(op, value, at, flags)
        return at

    def read(self, chars: frozenset[int], at: int) -> int:
        state = self.node()
        self.reads[state] = chars
        self.link(at, state)
        return state

    def item(self, op: Any, value: Any, at: int, flags: int) -> int:
        chars = self.chars(op, value, flags)
        if chars is not None:
            return self.read(chars, at)
        if op in (sre.MAX_REPEAT, sre.MIN_REPEAT, sre.POSSESSIVE_REPEAT):
            return self.repeat(op, *value, at, flags)
        if op is sre.SUBPATTERN:
            group, add, drop, inner = value
            first = self.size
            at = self.sequence(inner, at, (flags | add) & ~drop)
            self.groups[group] = frozenset[int]().union(
                *(self.reads[one] for one in range(first, self.size) if one in self.reads)
            )
            return at
        if op is sre.ATOMIC_GROUP:
            return self.atomic(value, at, flags)
        if op in (sre.BRANCH, sre.GROUPREF_EXISTS):
            return self.branches(value[1] if op is sre.BRANCH else value[1:], at, flags)
        if op is sre.GROUPREF:
            return self.read(self.groups.get(value) or self.all, at)
        end = self.node()
        if op in (sre.ASSERT, sre.ASSERT_NOT):
            self.assertion(op, value, at, end, flags)
        elif op is sre.AT:
            self.place(value, at, end, flags)
        elif op is not sre.FAILURE:
            raise NotImplementedError(op)
        return end

    def branches(self, branches: Iterable[Any], at: int, flags: int) -> int:
        end = self.node()
        for branch in branches:
            begin = self.node()
            self.link(at, begin)
            self.link(self.sequence(branch, begin, flags) if branch else begin, end)
        return end

    def single(self, items: Any, flags: int) -> frozenset[int] | None:
        """Return the characters of a pattern that is one character."""
        items = list(items)
        while len(items) == 1 and items[0][0] in (sre.SUBPATTERN, sre.ATOMIC_GROUP):
            op, value = items[0]
            if op is sre.SUBPATTERN:
                flags = (flags | value[1]) & ~value[2]
                value = value[3]
            items = list(value)
        if len(items) == 1 and items[0][0] is sre.BRANCH:
            parts = [self.single(branch, flags) for branch in items[0][1][1]]
            return None if None in parts else frozenset().union(*parts)
        return self.chars(*items[0], flags) if len(items) == 1 else None

    def assertion(self, op: Any, value: Any, at: int, end: int, flags: int) -> None:
        direction, inner = value
        items = list(inner)
        ends = False
        if direction > 0 and len(items) == 1 and items[0][0] is sre.BRANCH:  # (?=x|$)
            branches = [list(branch) for branch in items[0][1][1]]
            rest = [b for b in branches if b not in ([(sre.AT, sre.AT_END)], [(sre.AT, sre.AT_END_STRING)])]
            parts = [self.single(branch, flags) for branch in rest]
            ends = len(rest) < len(branches)
            chars = None if None in parts or not parts else frozenset().union(*parts)
        else:
            chars = self.single(items, flags)
        if chars is None:
            if op is sre.ASSERT or direction > 0:
                self.link(at, end, ends=False)
            else:
                self.link(at, end)
            if direction > 0:
                begin = self.node()
                self.link(at, begin)
                self.sequence(inner, begin, flags)  # leads nowhere
            return
        wanted = chars if op is sre.ASSERT else self.all - chars
        if direction > 0:
            self.link(at, end, after=wanted, ends=(op is sre.ASSERT_NOT) != ends)
        else:
            self.link(at, end, before=wanted if op is sre.ASSERT else wanted | {BEGIN})

    def place(self, place: Any, at: int, end: int, flags: int) -> None:
        newline = frozenset((10,))
        if place is sre.AT_BEGINNING and flags & sre.SRE_FLAG_MULTILINE:
            self.link(at, end, before=newline | {BEGIN})
        elif place in (sre.AT_BEGINNING, sre.AT_BEGINNING_STRING):
            self.link(at, end, before=frozenset((BEGIN,)))
        elif place is sre.AT_END:
            self.link(at, end, after=newline if flags & sre.SRE_FLAG_MULTILINE else frozenset())
        elif place is sre.AT_END_STRING:
            self.link(at, end, after=frozenset())
        else:
            words = self.chars(sre.IN, [(sre.CATEGORY, sre.CATEGORY_WORD)], flags)
            assert words is not None
            other = self.all - words
            inside = place is not sre.AT_BOUNDARY
            self.link(at, end, after=words if inside else other, before=words, ends=not inside)
            self.link(at, end, after=other if inside else words, before=other | {BEGIN}, ends=inside)

    def repeat(self, op: Any, low: int, high: int, inner: Any, at: int, flags: int) -> int:
        endless = high is sre.MAXREPEAT or high >= ENDLESS
        single = self.single(inner, flags)
        end = self.node()
        first = self.size
        for _ in range(min(low, 2 * _COPIES)):
            at = self.sequence(inner, at, flags)
        greedy = single if op is sre.POSSESSIVE_REPEAT and endless else None
        leave = None if greedy is None else self.all - greedy
        if endless:
            begin = self.node()
            self.link(at, begin)
            body = self.sequence(inner, begin, flags)
            self.link(body, begin)
            self.link(begin, end, after=leave)
        else:
            self.link(at, end)
            for _ in range(min(high - low, _COPIES)):
                at = self.sequence(inner, at, flags)
                self.link(at, end)
        if op is sre.POSSESSIVE_REPEAT:
            self.atoms.append(range(first, self.size))
            self.atom_ends.add(end)
        return end

    def atomic(self, inner: Any, at: int, flags: int) -> int:
        items = list(inner)
        if len(items) == 1 and items[0][0] is sre.MAX_REPEAT:
            return self.repeat(sre.POSSESSIVE_REPEAT, *items[0][1], at, flags)
        first = self.size
        end = self.sequence(inner, at, flags)
        self.atoms.append(range(first, self.size))
        self.atom_ends.add(end)
        return end

    def chars(self, op: Any, value: Any, flags: int) -> frozenset[int] | None:
        if op is sre.ANY:
            return self.all if flags & sre.SRE_FLAG_DOTALL else self.all - {10}
        if op not in (sre.LITERAL, sre.NOT_LITERAL, sre.IN):
            return None
        items = value if op is sre.IN else [(op, value)]
        key = f"{items} {flags}"
        if key not in self.known:
            self.known[key] = frozenset(code for code in self.all if _in_set(items, code, flags))
        return self.known[key]


def _in_set(items: Any, code: int, flags: int) -> bool:
    codes = {code}
    if flags & sre.SRE_FLAG_IGNORECASE:
        codes |= {ord(c) for c in (chr(code).lower(), chr(code).upper()) if len(c) == 1}
    negated, found = False, False
    for op, value in items:
        if op is sre.NEGATE:
            negated = True
        elif op is sre.LITERAL:
            found |= value in codes
        elif op is sre.NOT_LITERAL:
            found |= value not in codes
        elif op is sre.RANGE:
            found |= any(value[0] <= c <= value[1] for c in codes)
        elif op is sre.CATEGORY:
            found |= _in_category(value, chr(code), flags)
    return found != negated


def _in_category(category: Any, char: str, flags: int) -> bool:
    kind = {
        sre.CATEGORY_DIGIT: r"\d",
        sre.CATEGORY_NOT_DIGIT: r"\D",
        sre.CATEGORY_SPACE: r"\s",
        sre.CATEGORY_NOT_SPACE: r"\S",
        sre.CATEGORY_WORD: r"\w",
        sre.CATEGORY_NOT_WORD: r"\W",
    }[category]
    return re.match(kind, char, flags & sre.SRE_FLAG_ASCII) is not None


def _alphabet(parsed: Any) -> set[str]:
    """Return characters of which each set of the pattern has some and lacks some."""
    codes = set(map(ord, _SAMPLES))

    def walk(value: Any) -> None:
        if isinstance(value, parser.SubPattern):
            value = value.data
        if isinstance(value, tuple) and len(value) == 2 and value[0] in (sre.LITERAL, sre.NOT_LITERAL):
            codes.add(value[1])
        elif isinstance(value, tuple) and len(value) == 2 and value[0] is sre.RANGE:
            codes.update((value[1][0], value[1][1]))
            codes.update((max(0, value[1][0] - 1), min(0x10FFFF, value[1][1] + 1)))
        elif isinstance(value, (tuple, list)):
            for part in value:
                walk(part)

    walk(parsed)
    codes |= {ord(c) for code in tuple(codes) for c in (chr(code).lower(), chr(code).upper()) if len(c) == 1}
    return {chr(code) for code in codes if not 0xD800 <= code <= 0xDFFF}
