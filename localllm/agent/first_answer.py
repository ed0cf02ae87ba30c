"""Keep an answer that was doubted, where the one after it only adds to it.

A small model responds to a remark with a line ("All tests pass."), which would be all that a one-shot prints. A chat
shows both anyway.
"""

_SHORTEST = 200
"""Characters of an answer below which nothing is lost with it."""
_STANDS_ALONE = 0.6
"""An answer of this share of the first one's length replaces it."""

PLACES = frozenset({"no_such_file", "not_there"})
"""Remarks on a place that an answer names wrongly: the rest of it holds, and what follows corrects that."""


class FirstAnswer:
    """The longest answer of a run that was doubted and not contradicted."""

    def __init__(self) -> None:
        self.begin()

    def begin(self) -> None:
        """Start a new run."""
        self._text, self._position, self.is_about_place = "", 0, False

    def doubt(self, text: str, position: int, name: str) -> None:
        """Keep an answer about which the remark `name` is made; `position`: that of the changes of files so far."""
        if len(text) >= _SHORTEST and len(text) > len(self._text):
            self._text, self._position, self.is_about_place = text, position, name in PLACES

    def before(self, last: str, position: int) -> str:
        """Return what goes before the last answer: the first, if that is much longer, and no file changed since."""
        is_addition = len(last) < _STANDS_ALONE * len(self._text) and position == self._position
        return self._text if is_addition else ""
