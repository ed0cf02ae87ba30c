"""Find in regular expressions what takes more than linear time in a backtracking matcher.

Where a text leads from a loop of the automaton back into it, and as well into a later loop, n copies of it are read
in n ways (adjacent repeats); where it leads back into one loop in two ways, in 2^n (nested repeats). `search` begins
at each place, and so counts as a loop before the pattern. Not exact: what a lookahead of several characters forbids
is ignored.
"""

from collections import defaultdict, deque
from collections.abc import Iterator
from functools import cache
from typing import Any, NamedTuple

from tests.support.pattern_automaton import BEGIN, ENDLESS, Automaton, parser, sre


class Edge(NamedTuple):
    to: int
    next: frozenset[int]  # the characters that may follow, and be read by the state it leads to
    before: frozenset[int] | None  # the characters that may stand before; None: any


class Risk(NamedTuple):
    kind: str
    word: str
    """What is repeated in the text that takes long."""


@cache
def risks(
    pattern: str, flags: int = 0, *, search: bool = True, whole: bool = False, adjacent: bool = True
) -> tuple[Risk, ...]:
    """Find the loops of a pattern that make a text take more than linear time.

    Args:
        search: Whether the pattern is tried at each place of the text.
        whole: Whether a match must reach the end of the text.
        adjacent: Whether to look for adjacent repeats also.
    """
    parsed = parser.parse(pattern, flags)
    flags = int(parsed.state.flags)
    if not search and _is_bounded(parsed):
        return ()
    graph = Automaton(parsed, flags)
    analysis = _Analysis(graph, search, whole)
    return (*analysis.nested(), *(analysis.adjacent() if adjacent else ()))


def _is_bounded(parsed: Any) -> bool:
    """Whether a pattern begins with a refusal of longer texts: (?!.{250})"""
    items = list(parsed)
    if not items or items[0][0] is not sre.ASSERT_NOT:
        return False
    direction, inner = items[0][1]
    if direction < 0 or len(inner) != 1 or inner[0][0] is not sre.MAX_REPEAT:
        return False
    low, _, repeated = inner[0][1]
    return low <= ENDLESS and list(repeated) == [(sre.ANY, None)]


def _both_of(one: frozenset[int] | None, other: frozenset[int] | None) -> frozenset[int] | None:
    """Return the characters in both; None stands for all."""
    return other if one is None else one if other is None else one & other


class _Analysis:
    def __init__(self, graph: Automaton, search: bool, whole: bool) -> None:
        self.graph = graph
        self.search = search
        # characters that all sets of the pattern treat alike count as one
        masks = list(graph.reads.values())
        masks += [
            m for links in graph.links.values() for link in links for m in (link.next, link.before) if m is not None
        ]
        classes: dict[tuple[bool, ...], int] = {}
        for code in sorted(graph.all, key=lambda code: (not 32 <= code < 127, code)):
            classes.setdefault(tuple(code in mask for mask in masks), code)
        self.classes = frozenset(classes.values())
        self.edges: dict[int, list[Edge]] = {}
        self.accepts: set[int] = set()  # in which the match succeeds whatever follows
        self.leaves: set[int] = set()  # the same for what is atomic
        sources = [graph.start, *graph.reads]
        for state in sources:
            self.edges[state] = list(self._edges(state, whole))
        self.any = graph.size  # the loop before the pattern
        if search:
            graph.reads[self.any] = graph.all
            self.edges[self.any] = [*self.edges[graph.start], Edge(self.any, self.classes, None)]
            self.begin = self.any
        else:
            self.begin = graph.start
        self.components = self._components()
        self.steps: dict[tuple[int, int], list[Edge]] = defaultdict(list)
        self.last = self._last()
        self.chars: dict[int, frozenset[int]] = {}
        self.known: dict[tuple[int, int, int], list[int]] = {}
        for state, edges in self.edges.items():
            self.chars[state] = self.classes & frozenset[int]().union(*(edge.next for edge in edges))
            for edge in edges:
                for char in edge.next & self.classes:
                    self.steps[state, char].append(edge)

    def _edges(self, state: int, whole: bool) -> Iterator[Edge]:
        graph = self.graph
        stack: list[tuple[int, frozenset[int], frozenset[int] | None, bool, frozenset[int]]] = [
            (state, self.classes, None, True, frozenset())
        ]
        behind: set[int] = set()  # the characters before which the match may end here
        ends_inside, ends_at_end = set[int](), False
        stays: set[int] = set()
        while stack:
            at, next_, before, ends, seen = stack.pop()
            if at == graph.accept and before is None and ends:
                ends_at_end = True
                behind |= frozenset() if whole else next_
            if at in graph.atom_ends and before is None:
                ends_inside |= next_
            for link in graph.links.get(at, ()):
                if id(link) in seen:
                    continue
                after, prior = _both_of(next_, link.next), _both_of(before, link.before)
                assert after is not None
                if prior is not None and state != graph.start and not prior & self._reading(state):
                    continue
                if link.to in graph.reads:
                    if readable := after & graph.reads[link.to]:
                        if link.to == state and prior is None:
                            stays |= readable
                        yield Edge(link.to, readable, prior)
                elif after or link.to == graph.accept or link.to in graph.atom_ends:
                    stack.append((link.to, after, prior, ends and link.ends, seen | {id(link)}))
        self._note_endings(state, behind | stays if ends_at_end else set(), ends_inside | stays)

    def _note_endings(self, state: int, accepting: set[int], leaving: set[int]) -> None:
        if accepting >= self.classes:
            self.accepts.add(state)
        if leaving >= self.classes:
            self.leaves.add(state)

    def _reading(self, state: int) -> frozenset[int]:
        return self.graph.reads.get(state, frozenset((BEGIN,)))

    def _components(self) -> dict[int, int]:
        """Number the strongly connected parts; states on no cycle are left out."""
        self.successors = {state: {edge.to for edge in edges} for state, edges in self.edges.items()}
        self.reach = reach = {state: self._reached(state, set(self.edges)) for state in self.edges}
        found: dict[int, int] = {}
        for state in self.edges:
            if state in reach[state] and state not in found:
                for other in reach[state]:
                    if state in reach[other]:
                        found[other] = state
        return found

    def _parts(self) -> dict[int, list[int]]:
        """Return the states of each strongly connected part that is reached, by one of them."""
        parts: dict[int, list[int]] = defaultdict(list)
        for state, part in self.components.items():
            if part in self.reach[self.begin] or part == self.begin:
                parts[part].append(state)
        return parts

    def nested(self) -> Iterator[Risk]:
        for states in self._parts().values():
            for loop in self._loops(set(states) - self.accepts - self.leaves):
                if (word := self._twice(loop)) is not None:
                    yield Risk("nested", word)

    def adjacent(self) -> Iterator[Risk]:
        parts = self._parts()
        for one in parts:
            for other in parts:
                if one == other or not self.reach[one] & set(parts[other]):
                    continue
                if any(parts[one][0] in atom and parts[other][0] not in atom for atom in self.graph.atoms):
                    continue
                in_atom = any(parts[one][0] in atom for atom in self.graph.atoms)
                done = self.accepts | self.leaves if in_atom else self.accepts
                word = self._both(set(parts[one]) - done, set(parts[other]) - done, set() if one == self.any else done)
                if word is not None:
                    yield Risk("search" if one == self.any else "adjacent", word)

    def _last(self) -> dict[int, int]:
        """Map each character to one that no edge tells from it when it stands before."""
        asked = {edge.before for edges in self.edges.values() for edge in edges if edge.before is not None}
        alike: dict[tuple[bool, ...], int] = {}
        return {char: alike.setdefault(tuple(char in one for one in asked), char) for char in (*self.classes, BEGIN)}

    def _step(self, state: int, char: int, last: int) -> list[int]:
        key = state, char, last
        if key not in self.known:
            edges = self.steps.get((state, char), ())
            self.known[key] = [edge.to for edge in edges if edge.before is None or last in edge.before]
        return self.known[key]

    def _both(self, one: set[int], other: set[int], done: set[int]) -> str | None:
        """Return a text that leads from a state of `one` back to it and to a state of `other`, and from this back."""
        for p in one:
            for q in other:
                if q not in self.reach[p] or not self._reading(p) & self._reading(q) & self.classes:
                    continue
                word = self._path(
                    {(p, p, q, self.last[c]) for c in self._reading(p) & self._reading(q) & self.classes},
                    (p, q, q),
                    one,
                    other,
                    done,
                )
                if word is not None:
                    return word
        return None

    def _path(
        self, begins: Any, end: tuple[int, int, int], one: set[int], other: set[int], done: set[int]
    ) -> str | None:
        queue = deque((begin, "") for begin in begins)
        seen = set(begins)
        while queue:
            (a, b, d, last), word = queue.popleft()
            for char in self.chars[a] & self.chars[b] & self.chars[d]:
                firsts = [to for to in self._step(a, char, last) if to in one]
                if not firsts:
                    continue
                thirds = [to for to in self._step(d, char, last) if to in other]
                if not thirds:
                    continue
                for b2 in self._step(b, char, last):
                    if b2 in done:
                        continue
                    for a2 in firsts:
                        for d2 in thirds:
                            if (a2, b2, d2) == end:
                                return word + chr(char)
                            key = (a2, b2, d2, self.last[char])
                            if key not in seen:
                                seen.add(key)
                                queue.append((key, word + chr(char)))
        return None

    def _loops(self, states: set[int]) -> Iterator[set[int]]:
        """Yield the strongly connected parts of some states."""
        reach = {state: self._reached(state, states) for state in states}
        while states:
            state = states.pop()
            loop = {other for other in reach[state] if state in reach[other]}
            states -= loop
            if state in reach[state]:
                yield loop

    def _reached(self, state: int, within: set[int]) -> set[int]:
        seen: set[int] = set()
        todo = [state]
        while todo:
            new = (self.successors[todo.pop()] & within) - seen
            seen |= new
            todo.extend(new)
        return seen

    def _twice(self, part: set[int]) -> str | None:
        """Return a text that leads from a state back to it in two ways."""
        if self.any in part:
            return None
        p = next(iter(part))  # what holds for one state of a loop holds for all
        begins = {(p, p, False, self.last[c]) for c in self._reading(p) & self.classes}
        queue = deque((begin, "") for begin in begins)
        seen = set(begins)
        while queue:
            (a, b, split, last), word = queue.popleft()
            for char in self.classes:
                firsts = [
                    e for e in self.steps.get((a, char), ()) if e.to in part and (e.before is None or last in e.before)
                ]
                seconds = [
                    e for e in self.steps.get((b, char), ()) if e.to in part and (e.before is None or last in e.before)
                ]
                for i, e in enumerate(firsts):
                    for j, f in enumerate(seconds):
                        apart = split or e.to != f.to or (a == b and i != j)
                        if apart and e.to == f.to == p:
                            return word + chr(char)
                        key = (e.to, f.to, apart, self.last[char])
                        if key not in seen:
                            seen.add(key)
                            queue.append((key, word + chr(char)))
        return None
