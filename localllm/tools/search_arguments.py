"""Arguments of search_files."""

from typing import Annotated, Literal

import msgspec

_Patterns = Annotated[list[str], msgspec.Meta(max_length=12)]


class WantedLines(msgspec.Struct, frozen=True):
    """Restricts a search to certain lines.
    `files`: only source code, or also settings. `defines`: lines that may define a name that contains the pattern,
    or equals it. `beside`: the line must contain at least `least` of the pattern and these, or one of them and some of
    `loose`. `words`: all of these are not regular expressions, but words as in `spoken`."""

    files: Literal["", "source", "settings"] = ""
    defines: Literal["", "like", "exactly"] = ""
    beside: _Patterns = []
    loose: _Patterns = []
    least: int = 2
    words: bool = False
