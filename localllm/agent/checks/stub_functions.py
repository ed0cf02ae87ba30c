"""Find functions of a new program that do nothing: only `pass`, `...` or "not implemented"."""

import ast
import re
from collections.abc import Iterator
from pathlib import PurePosixPath

from localllm.base.lazy_patterns import late_pattern

_LONGEST = 500_000
_MEANT = late_pattern(r"(?i)abstract|interface|protocol|mixin|base|dummy|mock|fake|stub|no_?op|null")
"""In the name of a class or function that is to do nothing itself."""
_THROWS = late_pattern(
    r"^[ \t]*(?:(?:throw new [\w.]{0,40}|panic|die|raise|error|abort)[ (]{0,2}[\"'`](?:this |it )?(?:is |has )?not"
    r"(?: been| yet){0,2} implemented[^\n]{0,60}|(?:todo|unimplemented)!\([^\n]{0,80}\);?"
    r"|throw new (?:\w{0,20}NotImplemented\w{0,20}|UnsupportedOperationException)\([^\n]{0,80}|TODO\(\"[^\n]{0,80}\"\))"
    r"[ \t]*$",
    re.IGNORECASE | re.MULTILINE,
)
"""Matches a line by which other languages say so."""
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_Function = ast.FunctionDef | ast.AsyncFunctionDef


def stub_lines(path: str, text: str) -> list[int]:
    """Return the lines, from 1, at which functions begin that do nothing; in other languages than Python those that
    throw. Empty for tests, for code with an error, and where most functions do something and the others may be meant to
    do nothing."""
    if len(text) > _LONGEST or "test" in path.lower() or _MEANT.search(path):
        return []
    if PurePosixPath(path).suffix != ".py":
        return [text.count("\n", 0, found.start()) + 1 for found in _THROWS.finditer(text)]
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    functions = list(_own_functions(tree))
    unwritten = [one for one in functions if _raises(one)]
    empty = [one for one in functions if _is_empty(one)]
    if 2 * len(empty) > len(functions):
        unwritten += empty
    return sorted(one.lineno for one in unwritten)


def _own_functions(tree: ast.Module) -> Iterator[_Function]:
    """Yield the functions that nothing else gives a body: of the module and of classes that neither inherit nor are
    inherited from, without decorators."""
    classes = [node for node in tree.body if isinstance(node, ast.ClassDef)]
    bases = {base.id for node in classes for base in node.bases if isinstance(base, ast.Name)}
    for node in tree.body:
        if isinstance(node, _FUNCTIONS):
            within: list[ast.stmt] = [node]
        elif isinstance(node, ast.ClassDef) and not (node.bases or node.keywords or node.name in bases):
            within = [] if _MEANT.search(node.name) else node.body
        else:
            continue
        for one in within:
            if isinstance(one, _FUNCTIONS) and not (one.decorator_list or _MEANT.search(one.name)):
                yield one


def _body(function: _Function) -> list[ast.stmt]:
    return function.body[1:] if ast.get_docstring(function, clean=False) is not None else function.body


def _is_empty(function: _Function) -> bool:
    return all(isinstance(one, ast.Pass) or _is_ellipsis(one) for one in _body(function))


def _raises(function: _Function) -> bool:
    match _body(function):
        case [ast.Raise(exc=ast.Name(id="NotImplementedError") | ast.Call(func=ast.Name(id="NotImplementedError")))]:
            return True
        case _:
            return False


def _is_ellipsis(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and node.value.value is ...
