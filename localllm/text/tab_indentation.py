"""Indent new lines by tabs where the file is indented by tabs alone."""

import re
from math import gcd

from localllm.base.lazy_patterns import late_pattern

_INDENTED = late_pattern(r"^([ \t]+)\S", re.MULTILINE)
_FEWEST = 2
"""Spaces of a step: one before `*` is part of a comment."""
_STEPS = (8, 4, 2)


def with_tabs_of(text: str, new: str) -> str:
    """Return `new` with tabs for the spaces that its lines begin with, if those of `text` begin with tabs alone.

    A single space, as before the `*` of a comment, does not count there. The spaces of a step are what all lines of
    `new` have multiples of; without such a number nothing changes.
    """
    there, given = _INDENTED.findall(text), _INDENTED.findall(new)
    if not there or not given or any("  " in one for one in there) or any("\t" in one for one in given):
        return new
    widths = [len(one) for one in given if len(one) >= _FEWEST]
    if not widths or len(widths) < len(given):
        return new
    common = gcd(*widths)
    step = next((step for step in _STEPS if common % step == 0), 0)
    if not step:
        return new
    return _INDENTED.sub(lambda found: "\t" * (len(found[1]) // step) + found[0][-1], new)
