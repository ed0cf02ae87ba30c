"""Find names that a change of a Python module uses, and that nothing in it defines or imports."""

import ast
import builtins
import warnings
from collections.abc import Iterator

_LONGEST = 300_000  # characters: about a second
_MOST_NAMED = 4
_GIVEN = frozenset(dir(builtins)) | {"get_ipython", "display", "get_config", "spark", "dbutils", "reveal_type", "_"}
"""Names that Python, or a program that runs the module, brings along."""

_BINDING_CALLS = frozenset({"exec", "globals", "locals", "vars"})


def new_unbound(path: str, before: str, after: str) -> list[str]:
    """Return a remark for the model on the names that the change brought in unbound; empty if there are none."""
    if not (names := unbound_since(path, before, after)):
        return []
    more = ", …" if len(names) > _MOST_NAMED else ""
    listed = ", ".join(names[:_MOST_NAMED])
    return [f"[Nothing in this file defines or imports {listed}{more}: import it, or correct the name.]"]


def unbound_since(path: str, before: str, after: str) -> list[str]:
    """Return the names that `after` uses and binds nowhere, in any scope, unless `before` did so too.

    None are known of a module that may bind names unseen: by a star import, by `exec` or `globals`, through `builtins`
    or `__dict__`; nor of one that looks out for NameError.
    """
    if not path.endswith(".py") or len(after) > _LONGEST or before == after:
        return []
    now = _unbound(after)
    was = _unbound(before) if now else None
    return [name for name in now if name not in was] if now and was is not None else []


def _unbound(text: str) -> list[str] | None:
    """Return such names of a module, in their order; None if they cannot be known."""
    try:
        with warnings.catch_warnings(action="ignore"):
            nodes = list(ast.walk(ast.parse(text)))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    if any(map(_may_bind_unseen, nodes)):
        return None
    bound = {name for node in nodes for name in _bound_by(node)} | _GIVEN
    bare = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}  # `a` alone: no code, but a word
    used = [node for node in nodes if isinstance(node, ast.Name) and id(node) not in bare]
    used.sort(key=lambda node: (node.lineno, node.col_offset))
    names = dict.fromkeys(node.id for node in used)
    return [name for name in names if name not in bound and not name.startswith("__")]


def _may_bind_unseen(node: ast.AST) -> bool:
    match node:
        case ast.ImportFrom(names=[ast.alias(name="*"), *_]):
            return True
        case ast.ImportFrom(module="builtins") | ast.alias(name="builtins"):
            return True
        case ast.Name(id=name):
            return name in _BINDING_CALLS or name in ("NameError", "__builtins__")
        case ast.Attribute(attr=name):
            return name in ("__dict__", "_getframe") or (name == "modules" and isinstance(node.ctx, ast.Load))
        case _:
            return False


def _bound_by(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.Name(id=name, ctx=ast.Store() | ast.Del()):
            yield name
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
            yield node.name
        case ast.arg(arg=name):
            yield name
        case ast.Import() | ast.ImportFrom():
            yield from (one.asname or one.name.partition(".")[0] for one in node.names)
        case ast.Global() | ast.Nonlocal():
            yield from node.names
        case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
            yield name
        case ast.MatchMapping(rest=str(name)):
            yield name
        case _ if type(node).__name__ in ("TypeVar", "ParamSpec", "TypeVarTuple"):  # def f[T](…), since Python 3.12
            yield getattr(node, "name", "")
        case _:
            pass
