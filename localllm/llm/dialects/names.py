"""Names of tools as models write them."""

import re
from collections.abc import Iterable, Iterator

from localllm.base.patterns import late_pattern

_NOT_IN_A_NAME = late_pattern(r"[\s_.\-]+")
_AROUND = late_pattern(
    r"^(?:(?:functions?|tools?|default_api|call|multi_tool_use|assistant)[.:/])+|(?::\d+|\(\)|\.call)$", re.IGNORECASE
)


class Names:
    """The names of the tools a request offers."""

    def __init__(self, offered: Iterable[str]) -> None:
        self._exact = {name: name for name in offered}
        self._loose: dict[str, str | None] = {}
        for name in self._exact:
            key = _loosened(name)
            self._loose[key] = None if key in self._loose else name

    def __bool__(self) -> bool:
        return bool(self._exact)

    def __iter__(self) -> Iterator[str]:
        return iter(self._exact)

    def resolve(self, written: str) -> str | None:
        """The offered name that is meant by `written`, whatever its case, its underscores, and prefixes such as
        `functions.`; None where there is none, or more than one."""
        if written in self._exact:
            return written
        bare = tidied(written)
        return self._exact.get(bare) or self._loose.get(_loosened(bare))


def tidied(written: str) -> str:
    """A name without what stands around it: quotes, `functions.`, the number Kimi adds, `.call`."""
    name = written.strip().strip("\"'`“”<>").strip()
    return _AROUND.sub("", _AROUND.sub("", name)) or name


def _loosened(name: str) -> str:
    return _NOT_IN_A_NAME.sub("", name).casefold()
