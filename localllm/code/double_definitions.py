"""Find Python functions and classes that a change has defined a second time: the later definition overrides."""

import ast
import re
import warnings
from collections import Counter
from collections.abc import Sequence

from localllm.base.lazy_patterns import late_pattern

_LONGEST = 300_000  # characters: about a second
_MOST_NAMED = 3
_BEGINS = late_pattern(r"^[ \t]*(?:async[ \t]+)?(?:def|class)[ \t]+(\w+)", re.MULTILINE)


def new_doubles(path: str, before: str, after: str) -> list[str]:
    """Return a remark for each function or class that was defined once in its module or class, and is defined again."""
    if not path.endswith((".py", ".pyi")) or len(after) > _LONGEST:
        return []
    had, has = (Counter(_BEGINS.findall(text)) for text in (before, after))
    if not any(0 < had[name] < count for name, count in has.items()):  # to parse a long file takes a second
        return []
    once, now = _definitions(before), _definitions(after)
    return [
        f"[{name} is defined twice now (lines {', '.join(map(str, lines))}): the last one counts.]"
        for name, lines in now.items()
        if len(lines) > 1 and len(once.get(name, ())) == 1
    ][:_MOST_NAMED]


def _definitions(text: str) -> dict[str, list[int]]:
    """Return the lines of each undecorated definition; a decorator such as `overload` may want several."""
    try:
        with warnings.catch_warnings(action="ignore"):
            tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return {}
    found: dict[str, list[int]] = {}
    _collect(tree.body, "", found)
    return found


def _collect(body: Sequence[ast.stmt], prefix: str, found: dict[str, list[int]]) -> None:
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) and not node.decorator_list:
            found.setdefault(prefix + node.name, []).append(node.lineno)
            if isinstance(node, ast.ClassDef) and not prefix:
                _collect(node.body, f"{node.name}.", found)
