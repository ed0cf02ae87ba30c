"""Determine where the commands of a line read from and write to, and how the line ends."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from tree_sitter import Node

WRITING = frozenset({">", ">>", ">|", "&>", "&>>", ">&", "<>"})
"""Operators that redirect into a file."""

_LOOPS = frozenset({"for_statement", "c_style_for_statement", "while_statement"})
"""Loops, in which a trap that runs before each command would cost time."""

_APART = ("command_substitution", "process_substitution", "subshell", "function_definition")
_LEAVES = ("word", "raw_string", "string_content")
_SAYING = frozenset({"echo", "printf", "exit", "true", "false", ":", "test", "[", "cd", "pwd"})
"""Shell builtins."""


class Flow(msgspec.Struct, frozen=True):
    """A command's input and output. `fed`: input from a pipe, a file or a here-document;
    `drained`: output into a pipe or a file; `apart`: not waited for (`&`); `limited`: by `timeout`; `sets`: the
    variables that are set."""

    fed: bool = False
    drained: bool = False
    apart: bool = False
    limited: bool = False
    sets: frozenset[str] = frozenset()


class Walk:
    """The nodes of a text in order, up to a limit, and the flow around its commands. In one pass: asking the parents
    of each node would take quadratic time on a long line."""

    def __init__(self, root: "Node", around: Flow, most: int) -> None:
        self.nodes: list[Node] = []
        self.apart: list[Node] = []
        self._root = root
        self._flows: dict[int, Flow] = {}
        self._pipelines: dict[int, list[Node]] = {}
        self._has_loops = False
        pending: list[tuple[Node, Flow, int, str]] = [(root, around, -1, "alone")]
        while pending and len(self.nodes) < most:
            node, flow, statement, place = pending.pop()
            self.nodes.append(node)
            if node.type not in _LEAVES:
                pending.extend(reversed(self._inside(node, flow, statement, place)))

    def _inside(self, node: "Node", flow: Flow, statement: int, place: str) -> "list[tuple[Node, Flow, int, str]]":
        """Return the children, each with its flow, its statement of the text, and where it runs: "alone" in the
        same shell, "piped" as a part of a pipeline, or "apart" in another shell or at an unknown time."""
        children = node.children
        parts = [child for child in children if child.is_named] if node.type == "pipeline" else []
        if node.type in ("command", "redirected_statement"):
            flow = _redirected(flow, children)
        if node.type == "command":
            self._flows[node.id] = flow
        elif node.type == "pipeline" and place != "apart":
            self._pipelines.setdefault(statement, []).append(node)
        self._has_loops = self._has_loops or (node.type in _LOOPS and place == "alone")
        place = "apart" if node.type in _APART else "piped" if parts and place == "alone" else place
        found: list[tuple[Node, Flow, int, str]] = []
        for at, child in enumerate(children):
            is_apart = child.is_named and at + 1 < len(children) and children[at + 1].type == "&"
            if is_apart:
                self.apart.append(child)
            fed = bool(parts) and child.start_byte != parts[0].start_byte
            drained = bool(parts) and child.end_byte != parts[-1].end_byte
            is_other = is_apart or fed or drained
            own = _with(flow, fed=fed, drained=drained, apart=is_apart) if is_other else flow
            found.append((child, own, at if node.id == self._root.id else statement, place))
        return found

    def flow_of(self, command: "Node", sets: frozenset[str]) -> Flow | None:
        """Return the flow of a command. `sets`: the variables that are set for it."""
        flow = self._flows.get(command.id)
        return msgspec.structs.replace(flow, sets=flow.sets | sets) if flow and sets else flow

    def last_pipeline(self, text: "Callable[[Node], str]") -> "Sequence[Node]":
        """Return the parts of the only pipeline of the last statement, or the last before others that print.
        Empty if there may be several, or loops around them. `text`: returns a node as written."""
        apart = {node.id for node in self.apart}
        for at, statement in reversed(list(enumerate(self._root.children))):
            if not statement.is_named or statement.type == "comment":
                continue
            if statement.id in apart or not _ends_in_shell(statement, text):
                return ()
            if inside := self._pipelines.get(at):
                return inside[0].named_children if len(inside) == 1 and not self._has_loops else ()
        return ()


def _with(flow: Flow, *, fed: bool, drained: bool, apart: bool) -> Flow:
    return msgspec.structs.replace(
        flow, fed=flow.fed or fed, drained=flow.drained or drained, apart=flow.apart or apart
    )


def _redirected(flow: Flow, children: "Sequence[Node]") -> Flow:
    """Return the flow changed by the redirections among the children."""
    fed = drained = False
    for child in children:
        fed = fed or child.type in ("herestring_redirect", "heredoc_redirect")
        if child.type == "file_redirect":
            operator = next((part.type for part in child.children if not part.is_named), "")
            descriptor = child.child_by_field_name("descriptor")
            fed = fed or operator == "<"
            drained = drained or (operator in WRITING and (descriptor is None or descriptor.text == b"1"))
    return _with(flow, fed=fed, drained=drained, apart=False) if fed or drained else flow


def _ends_in_shell(statement: "Node", text: "Callable[[Node], str]") -> bool:
    """Return whether the shell continues after the statement's last command, instead of becoming it."""
    while statement.type in ("list", "redirected_statement") and statement.named_children:
        statement = statement.named_children[-1 if statement.type == "list" else 0]
    return statement.type != "command" or next(iter(text(statement).split(None, 1)), "") in _SAYING
