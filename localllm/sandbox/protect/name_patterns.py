"""Compare names with patterns in which one `*` stands for anything, both in lower case."""

from collections.abc import Iterable

_NONE: tuple[tuple[str, ...], list[tuple[str, str]]] = ((), [])


def is_like(name: str, pattern: str) -> bool:
    """Return whether a name matches a pattern."""
    first, _, last = pattern.partition("*")
    return name.startswith(first) and name[len(first) :].endswith(last)


class NamePatterns:
    """Patterns whose ending has a dot, by what stands behind the last one: they are compared with the name of each file
    of a project, and those of its own suffix are a few."""

    def __init__(self, names: Iterable[str]) -> None:
        """Take the patterns among the names."""
        found: dict[str, list[tuple[str, str]]] = {}
        for first, star, last in (name.casefold().partition("*") for name in names):
            if star:
                found.setdefault(last.rpartition(".")[2], []).append((first, last))
        self._patterns = {suffix: (tuple(first for first, _ in pairs), pairs) for suffix, pairs in found.items()}

    def has_one_for(self, name: str) -> bool:
        """Return whether the name matches one of them."""
        beginnings, pairs = self._patterns.get(name.rpartition(".")[2], _NONE)
        return name.startswith(beginnings) and any(
            name.startswith(first) and name[len(first) :].endswith(last) for first, last in pairs
        )
