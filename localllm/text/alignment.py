"""Aligning two sequences as difflib does, with a bound on the work: a text may be made to take for ever."""

from collections.abc import Sequence
from difflib import Match, SequenceMatcher
from itertools import accumulate

MOST = 2_000_000
"""Steps: the comparisons of one item of the first sequence with one of the second; some 0.3 s."""


class TooMuchWorkError(Exception):
    """The sequences are so much like each other, in so many ways, that aligning them would take too long."""


class Budget:
    """Steps that several alignments may take together."""

    def __init__(self, steps: int = MOST) -> None:
        self._left = steps

    def spend(self, steps: int) -> None:
        """Raise TooMuchWorkError where there are not so many left; then there are none from now on."""
        self._left -= steps
        if self._left < 0:
            raise TooMuchWorkError


class Alignment(SequenceMatcher[str]):
    """A SequenceMatcher whose `get_matching_blocks`, `get_opcodes` and `ratio` raise TooMuchWorkError."""

    a: Sequence[str]
    b2j: dict[str, list[int]]

    def __init__(
        self, one: Sequence[str], other: Sequence[str], *, autojunk: bool = False, budget: Budget | None = None
    ) -> None:
        super().__init__(None, one, other, autojunk)
        self._budget = budget or Budget()
        self._steps = [0, *accumulate(1 + len(self.b2j.get(item, ())) for item in one)]

    def find_longest_match(self, alo: int = 0, ahi: int | None = None, blo: int = 0, bhi: int | None = None) -> Match:
        """As SequenceMatcher's. Raises TooMuchWorkError."""
        self._budget.spend(self._steps[len(self.a) if ahi is None else ahi] - self._steps[alo])
        return super().find_longest_match(alo, ahi, blo, bhi)
