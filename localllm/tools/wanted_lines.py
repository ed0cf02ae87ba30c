"""Which lines of code a search is for: a few words in place of a pattern of a thousand characters."""

from typing import Annotated, Literal

import msgspec

_Patterns = Annotated[list[str], msgspec.Meta(max_length=12)]


class WantedLines(msgspec.Struct, frozen=True):
    """`files`: those of source code alone, or of that and settings. `defines`: lines that may define something in whose
    name the pattern occurs, or that is called exactly so. `beside`: at least `least` of the pattern and these stand in
    the line, or one of them and some of `loose`. `words`: all of these are no regular expressions, but words as
    `spoken` has them.
    """

    files: Literal["", "source", "settings"] = ""
    defines: Literal["", "like", "exactly"] = ""
    beside: _Patterns = []
    loose: _Patterns = []
    least: int = 2
    words: bool = False
