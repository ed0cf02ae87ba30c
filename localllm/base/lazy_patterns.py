"""Regular expressions compiled on first use: most are not needed at the start, and compiling takes 0.1 to 3 ms."""

import re
from typing import Any, cast

_METHODS = ("search", "match", "fullmatch", "split", "findall", "finditer", "sub", "subn")


def late_pattern(text: str, flags: int = 0) -> re.Pattern[str]:
    """Like re.compile, but deferred; an error in `text` is raised on first use.
    For module constants loaded at the start; not for the functions of `re`, which require a real pattern."""
    return cast(re.Pattern[str], _Late(text, flags))


class _Late:
    def __init__(self, text: str, flags: int) -> None:
        self.pattern = text
        self._flags = flags

    def __getattr__(self, name: str) -> Any:
        """Compile on first access, and cache all methods."""
        compiled = re.compile(self.pattern, self._flags)
        vars(self).update({method: getattr(compiled, method) for method in _METHODS})
        return getattr(compiled, name)
