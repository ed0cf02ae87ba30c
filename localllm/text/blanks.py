"""Blanks that could hide something from whoever is asked about a text: made visible and short.

Between two runs of blanks that are longer than the screen, a part of a command scrolls out of sight, and what is left
looks empty.
"""

import re
from collections import Counter
from collections.abc import Iterator
from itertools import groupby

from localllm.base.lazy_patterns import late_pattern

_PLAIN = " \t\u3000"  # people write these: Japanese text has a blank of its own
_ODD = "\u00a0\u115f\u1160\u1680\u2000-\u200a\u202f\u205f\u2800\u3164\uffa0"
_RUN = late_pattern(f"[{_PLAIN}{_ODD}]+")
_SAME_ODD = late_pattern(rf"([{_ODD}])\1*")

_WITHIN = 16  # cells of blanks that stay as they are within a line: a comment behind code, columns
_INDENTATION = 60
_EMPTY_LINES = 3  # in a row


def visible_blanks(line: str) -> str:
    """One line with its blanks as they are, where they are few and plain; else as `<␣×37>` or `<U+2003×4>`.

    Those at its end are always shown, those at its beginning are indentation as long as that is possible.
    """
    return _RUN.sub(_shown, line)


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
    """The lines of a text with visible blanks and ends (`␊`); many empty ones in a row are one, with their number."""
    *ended, last = text.split("\n")
    for is_empty, group in groupby(ended, lambda line: not _RUN.sub("", line)):
        lines = list(group)
        if is_empty and len(lines) > _EMPTY_LINES:
            yield f"{'␣' if any(lines) else ''}␊×{len(lines)}"
        else:
            yield from (f"{visible_blanks(line)}␊" for line in lines)
    yield visible_blanks(last)
