"""Regular expressions that are compiled when they are first used: most are not at a start, and it takes 0.1 to 3 ms."""

import re
from typing import Any, cast

_METHODS = ("search", "match", "fullmatch", "split", "findall", "finditer", "sub", "subn")


def late_pattern(text: str, flags: int = 0) -> re.Pattern[str]:
    """As re.compile, only later; a mistake in `text` is found by whoever first uses it. For constants of modules that
    are loaded when the program starts; not for the functions of `re`, which want the real thing."""
    return cast(re.Pattern[str], _Late(text, flags))


class _Late:
    def __init__(self, text: str, flags: int) -> None:
        self.pattern = text
        self._flags = flags

    def __getattr__(self, name: str) -> Any:
        """Asked for what is not there yet: after the first time all methods are."""
        compiled = re.compile(self.pattern, self._flags)
        vars(self).update({method: getattr(compiled, method) for method in _METHODS})
        return getattr(compiled, name)
