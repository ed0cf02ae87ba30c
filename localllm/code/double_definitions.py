"""Find Python functions and classes that a change has defined a second time: the later definition overrides."""

import ast
import warnings
from collections.abc import Sequence

_LONGEST = 1_000_000
_MOST_NAMED = 3


def new_doubles(path: str, before: str, after: str) -> list[str]:
    """Return a remark for each function or class that was defined once in its module or class, and is defined again."""
    if not path.endswith((".py", ".pyi")) or len(after) > _LONGEST:
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
