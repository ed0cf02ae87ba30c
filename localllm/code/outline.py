"""Outline a source file: its definitions, imports, size, complexity and syntax errors."""

import re
import sys
import time
from collections import Counter
from collections.abc import Iterator
from itertools import accumulate
from typing import TYPE_CHECKING, Literal, NamedTuple

import msgspec

from localllm.code.grammars import outline_query, parser

if TYPE_CHECKING:
    from tree_sitter import Node, Tree

KINDS = frozenset(
    {"class", "enum", "function", "impl", "interface", "macro", "module", "namespace", "struct", "trait", "type"}
)
"""Kinds of definitions; a function inside a class-like definition is a "method"."""

_CLASS_LIKE = KINDS - {"function", "macro", "type", "module", "namespace"}
_FUNCTIONS = frozenset({"function", "method"})

MAX_BYTES = 4_000_000
"""Size limit of a parsed text."""

_PARSE_SECONDS = 5.0
_PARSE_MEMORY = 400_000_000
_MAX_NESTING = 1_000  # some parsers need quadratic memory, allocated at once at the very end, for unclosed nesting
_MAX_DEPTH = 500  # the cost of a query is quadratic in the depth, and nobody nests definitions this deeply
_MAX_SIBLINGS = 30_000  # … and in the number of children of a broken node; about two seconds at this size
_MAX_ERRORS = 10
_LONGEST_PARENT = 1_000  # characters, the last: the full names of hundreds of nested definitions would take gigabytes


class NotParsedError(Exception):
    """The text cannot be parsed: it is too large, needs too much time or memory, or is too broken."""

    def __init__(self, kind: Literal["large", "slow", "broken"]) -> None:
        super().__init__(kind)
        self.kind: Literal["large", "slow", "broken"] = kind


class Definition(msgspec.Struct, frozen=True):
    """A class, function, …; lines count from 1, `end_line` is inclusive.

    `parent` is the dotted name of the enclosing definition, "" at the top. `complexity` is the cyclomatic complexity
    (McCabe 1976): 1 + the branches, loops and short-circuit operators inside; 0 if it is not a function.
    """

    kind: str
    name: str
    line: int
    end_line: int
    parent: str = ""
    complexity: int = 0

    @property
    def full_name(self) -> str:
        """The name with that of its parent: Outline.functions."""
        return f"{self.parent}.{self.name}" if self.parent else self.name


class Outline(msgspec.Struct, frozen=True, kw_only=True):
    """The outline of one file, with definitions in text order.

    `code_lines` counts lines with more than white space and comments. `error_lines` are the lines of the first
    syntax errors.
    """

    language: str
    definitions: tuple[Definition, ...]
    imports: tuple[str, ...]
    lines: int
    code_lines: int
    error_lines: tuple[int, ...] = ()

    @property
    def has_errors(self) -> bool:
        """Whether the text has syntax errors."""
        return bool(self.error_lines)

    @property
    def functions(self) -> tuple[Definition, ...]:
        """The callable definitions, including methods."""
        return tuple(definition for definition in self.definitions if definition.kind in _FUNCTIONS)


def outline(text: bytes, language: str) -> Outline:
    """Outline `text`, which should be UTF-8; `language` is a key of `grammars.GRAMMARS`.

    Broken text is outlined as far as possible. Raises NotParsedError.
    """
    return outline_of(analyse(text, language))


class Analysed(NamedTuple):
    """A text (as UTF-8), its syntax tree, and the captures of its language's query."""

    text: bytes
    language: str
    root: "Node"
    found: "Captures"


def analyse(text: bytes, language: str) -> Analysed:
    """Parse and query a text for an outline. Raises NotParsedError."""
    text = valid_utf8(text)
    root = parse(text, language).root_node
    _check_broken(root)
    return Analysed(text, language, root, _capture(text, language, root))


def outline_of(analysed: Analysed) -> Outline:
    """Build the outline of an analysed text. Raises NotParsedError."""
    text, language, root, found = analysed
    lines = count_lines(text)
    return Outline(
        language=language,
        definitions=tuple(_definitions(found)),
        imports=tuple(dict.fromkeys(found.imports)),
        lines=lines,
        code_lines=_code_lines(text, found.comments),
        error_lines=_error_lines(root, lines),
    )


def count_lines(text: bytes) -> int:
    """Count the lines, including a last one without a newline."""
    return text.count(b"\n") + (not text.endswith(b"\n") and text != b"")


def valid_utf8(text: bytes) -> bytes:
    """Replace bytes that are not UTF-8: query predicates crash on them."""
    try:
        text.decode()
    except UnicodeDecodeError:
        return text.decode("utf-8", "replace").encode()
    return text


def parse(text: bytes, language: str) -> "Tree":
    """Parse `text`, which must be UTF-8. Raises NotParsedError."""
    if len(text) > MAX_BYTES:
        raise NotParsedError("large")
    if _is_hostile(text):
        raise NotParsedError("broken")
    deadline = time.monotonic() + _PARSE_SECONDS
    most_memory = _peak_memory() + _PARSE_MEMORY

    def read(offset: int, _: object) -> bytes:
        return text[offset : offset + 65_536]

    def too_much(_offset: int, _has_error: bool) -> bool:
        return time.monotonic() > deadline or _peak_memory() > most_memory

    try:
        return parser(language).parse(read, progress_callback=too_much)
    except ValueError as error:
        raise NotParsedError("slow") from error


def count_brackets(text: bytes, language: str) -> Counter[str]:
    """Count the brackets of the code: not those in strings and comments. Raises NotParsedError."""
    found: Counter[str] = Counter()
    cursor = parse(valid_utf8(text), language).walk()
    while True:
        if cursor.goto_first_child():
            continue
        node = cursor.node
        if node and not node.is_named and not node.is_missing:
            found.update(sign for sign in node.type if sign in _BRACKETS)
        while not cursor.goto_next_sibling():
            if not cursor.goto_parent():
                return found


_BRACKETS = frozenset("()[]{}")
_NESTING = {**dict.fromkeys(b"([{", 1), **dict.fromkeys(b")]}", -1)}
_BROKEN_ASSIGNMENT = re.compile(rb"=\s*[>|^%/]")
_NOT_NESTING = bytes(set(range(256)) - set(_NESTING))


def _is_hostile(text: bytes) -> bool:
    """Return whether a parser could allocate gigabytes before it can be stopped: for NUL bytes, and for
    unnaturally deep brackets, a<a<a<… or a=>a=>a=>…."""
    brackets = text.translate(None, _NOT_NESTING)
    depths = accumulate((_NESTING[bracket] for bracket in brackets), lambda depth, step: max(0, depth + step))
    angles = (part.count(b"<") for part in re.split(b"[>;{}]", text))
    arrows = (len(_BROKEN_ASSIGNMENT.findall(part)) for part in re.split(b"[;{},]", text))
    return any(most > _MAX_NESTING for most in (max(depths, default=0), max(angles), max(arrows))) or b"\0" in text


def _peak_memory() -> int:
    """Return the peak memory of this process in bytes; 0 on Windows."""
    if sys.platform == "win32":
        return 0
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def _check_broken(root: "Node") -> None:
    """Raise NotParsedError (broken) if a query might take minutes, which nothing could interrupt:
    a row of 100,000 `*` in C is one broken node. The costs of all broken nodes are added."""
    cost = 0
    for node in _broken(root):
        cost += node.child_count**2
        if cost > _MAX_SIBLINGS**2:
            raise NotParsedError("broken")


def _broken(root: "Node") -> Iterator["Node"]:
    """Yield the nodes that contain an error. The children of each are read after it was yielded."""
    waiting = [root] if root.has_error else []
    while waiting:
        node = waiting.pop()
        yield node
        waiting += [child for child in node.children if child.has_error]


def _error_lines(root: "Node", last: int) -> tuple[int, ...]:
    """Return the lines of the first errors; an error at the very end counts for the last line."""
    lines: set[int] = set()
    for node in _broken(root):
        if node.is_missing or (node.is_error and not any(child.has_error for child in node.children)):
            lines.add(min(_line_of_error(node), last))
    return tuple(sorted(lines)[:_MAX_ERRORS])


_OPENING = {"(": ")", "[": "]", "{": "}"}


def _line_of_error(node: "Node") -> int:
    """Return the line of an error: of its first unclosed bracket, else of its start."""
    unclosed: list[Node] = []
    for child in node.children:
        if child.type in _OPENING:
            unclosed.append(child)
        elif unclosed and child.type == _OPENING[unclosed[-1].type]:
            unclosed.pop()
    return _line(unclosed[0] if unclosed else node)


def _line(node: "Node") -> int:
    return node.start_point.row + 1


class _Span(NamedTuple):
    """A definition found by the query, in bytes and lines; `owner` is its parent if the syntax names one."""

    start: int
    end: int
    line: int
    end_line: int
    kind: str
    name: str
    owner: str


class Captures(NamedTuple):
    """The captures of a language's query. Branches are given as starts, comments as (start, end)."""

    spans: list[_Span]
    imports: list[str]
    branches: list[int]
    comments: list[tuple[int, int]]


def _capture(text: bytes, language: str, root: "Node") -> Captures:
    from tree_sitter import QueryCursor

    cursor = QueryCursor(outline_query(language))
    cursor.set_max_start_depth(_MAX_DEPTH)
    found = Captures([], [], [], [])
    for _, captures in cursor.matches(root):
        for capture, nodes in captures.items():
            match capture:
                case "import":
                    found.imports.append(_text_of(nodes[0], text).strip("<>\"'"))
                case "branch":
                    found.branches.append(nodes[0].start_byte)
                case "comment":
                    found.comments.append((nodes[0].start_byte, nodes[0].end_byte))
                case kind if kind in KINDS:
                    name, owner = (_text_of(captures[c][0], text) if c in captures else "" for c in ("name", "owner"))
                    found.spans.append(_span(nodes[0], kind, name, owner))
                case _:  # name and owner are read with their definition; names with _ are internal to the query
                    pass
    return found


def _span(node: "Node", kind: str, name: str, owner: str) -> _Span:
    end_line = node.end_point.row + (node.end_point.column > 0)  # some nodes include the newline after them
    return _Span(node.start_byte, node.end_byte, _line(node), max(end_line, _line(node)), kind, name, owner)


def _text_of(node: "Node", text: bytes) -> str:
    """Return the text of a name, on one line and of limited length."""
    raw = text[node.start_byte : min(node.end_byte, node.start_byte + 200)]
    return " ".join(raw.decode("utf-8", "replace").split())


def _definitions(found: Captures) -> Iterator[Definition]:
    """Yield the definitions in text order, each with its parent and complexity."""
    spans = sorted(set(found.spans), key=lambda span: (span.start, -span.end))
    parents, complexity = _nest(spans, found.branches)
    made: list[Definition] = []
    for span, parent, count in zip(spans, parents, complexity, strict=True):
        above = made[parent] if parent is not None else None
        is_method = span.kind == "function" and (span.owner or (above and above.kind in _CLASS_LIKE))
        definition = Definition(
            kind="method" if is_method else span.kind,
            name=span.name,
            line=span.line,
            end_line=span.end_line,
            parent=span.owner or (above.full_name[-_LONGEST_PARENT:] if above else ""),
            complexity=count if span.kind == "function" else 0,
        )
        made.append(definition)
        yield definition


def _nest(spans: list[_Span], branches: list[int]) -> tuple[list[int | None], list[int]]:
    """Return each span's parent index, and its complexity. A branch counts for the innermost function."""
    parents: list[int | None] = [None] * len(spans)
    complexity = [1] * len(spans)
    around: list[int] = []
    events = [(span.start, -span.end, index) for index, span in enumerate(spans)]
    for start, _, index in sorted(events + [(branch, 0, -1) for branch in branches]):
        while around and spans[around[-1]].end <= start:
            around.pop()
        if index >= 0:
            parents[index] = around[-1] if around else None
            around.append(index)
        elif (inner := next((i for i in reversed(around) if spans[i].kind == "function"), -1)) >= 0:
            complexity[inner] += 1
    return parents, complexity


def _code_lines(text: bytes, comments: list[tuple[int, int]]) -> int:
    """Count the lines with more than white space and comments."""
    blanked = bytearray(text)
    for start, end in comments:
        blanked[start:end] = re.sub(rb"[^\n]", b" ", text[start:end])
    return sum(not line.isspace() for line in blanked.splitlines() if line)
