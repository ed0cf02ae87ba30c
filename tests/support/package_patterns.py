"""The regular expressions of the package, as they stand in its source."""

import ast
import importlib
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import localllm

_PACKAGE = Path(localllm.__file__).parent
_METHODS = {"search", "match", "fullmatch", "split", "findall", "finditer", "sub", "subn"}
_FLAGS_AT = {"compile": 1, "late_pattern": 1, "search": 2, "match": 2, "fullmatch": 2, "findall": 2, "finditer": 2}


class Pattern(NamedTuple):
    """A regular expression. `is_whole`: it is only used with `fullmatch`."""

    module: str
    line: int
    text: str
    flags: int
    is_whole: bool


def rooms() -> list[str]:
    """Return the packages and modules right below the package."""
    return sorted({path.relative_to(_PACKAGE).with_suffix("").parts[0] for path in _PACKAGE.rglob("*.py")})


def patterns(room: str) -> list[Pattern]:
    """Return the patterns that are constants of a room's modules; not what is put together while the program runs."""
    found: list[Pattern] = []
    for path in [*sorted((_PACKAGE / room).rglob("*.py")), *_PACKAGE.glob(f"{room}.py")]:
        source = path.read_text(encoding="utf-8")
        if "re." in source or "late_pattern" in source:
            module = ".".join(path.relative_to(_PACKAGE.parent).with_suffix("").parts)
            found += _patterns_of(module, ast.parse(source))
    return found


def _patterns_of(module: str, tree: ast.Module) -> Iterator[Pattern]:
    nodes = list(ast.walk(tree))
    calls = [(call, name) for call in nodes if isinstance(call, ast.Call) and (name := _function(call))]
    if not calls:
        return
    values = {**vars(importlib.import_module(module)), "re": re}
    names = _names(nodes)
    methods: dict[str, set[str]] = defaultdict(set)
    for node in nodes:
        if isinstance(node, ast.Attribute) and node.attr in _METHODS and isinstance(node.value, ast.Name):
            methods[node.value.id].add(node.attr)
    for call, function in calls:
        text = _value(call.args[0], values) if call.args else None
        if isinstance(text, (str, bytes)):
            at = _FLAGS_AT.get(function)
            flags = call.args[at] if at and len(call.args) > at else None
            flags = next((word.value for word in call.keywords if word.arg == "flags"), flags)
            number = _value(flags, values) if flags else 0
            used = {function} if function in _METHODS else methods[names.get(call, "")]
            if isinstance(text, bytes):
                text, number = text.decode("latin-1"), int(number or 0) | re.ASCII
            yield Pattern(module, call.lineno, text, int(number or 0), used == {"fullmatch"})


def _function(call: ast.Call) -> str:
    match call.func:
        case ast.Name("late_pattern" as name):
            return name
        case ast.Attribute(ast.Name("re"), name) if name in {*_METHODS, "compile"}:
            return name
        case _:
            return ""


def _names(nodes: list[ast.AST]) -> dict[ast.AST, str]:
    """Return the name to which each expression is assigned."""
    names: dict[ast.AST, str] = {}
    for node in nodes:
        target = node.targets[0] if isinstance(node, ast.Assign) else getattr(node, "target", None)
        if isinstance(node, (ast.Assign, ast.AnnAssign)) and isinstance(target, ast.Name):
            for part in ast.walk(node):
                names.setdefault(part, target.id)
    return names


def _value(expression: ast.expr, values: dict[str, object]) -> object:
    """Evaluate an expression with the names of its module; None if it needs those of a function."""
    try:
        return eval(compile(ast.Expression(expression), "pattern", "eval"), values)
    except (NameError, TypeError, KeyError, AttributeError):
        return None
