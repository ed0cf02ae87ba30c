"""Expand shell words: quotes, escapes, variables and braces, as far as they can be determined."""

import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Literal

import msgspec

from localllm.base.lazy_patterns import late_pattern

if TYPE_CHECKING:
    from tree_sitter import Node

_MOST_ALTERNATIVES = 64  # words that a brace may expand to before it counts as computed
_VARIABLE = late_pattern(r"\$(?:\{(\w+)\}|(\w+|[@*#?$!-]))")
_GLOB = late_pattern(r"[*?\[]")
_BRACE = late_pattern(r"\{([^{},]*+,[^{}]*+)\}")
_IN_QUOTES = late_pattern(r'\\([\\$`"\n])')
_ANSI = late_pattern(r"\\([0-7]{1,3}|x[0-9a-fA-F]{1,2}|u[0-9a-fA-F]{1,4}|U[0-9a-fA-F]{1,8}|c.|.)", re.DOTALL)
_ANSI_NAMED = {"n": "\n", "t": "\t", "r": "\r", "e": "\x1b", "E": "\x1b", "a": "\a", "b": "\b", "f": "\f", "v": "\v"}
_OUTSIDE_QUOTES = late_pattern(r"\\(.)", re.DOTALL)

WORD_NODES = frozenset(
    {"word", "number", "string", "raw_string", "ansi_c_string", "translated_string", "concatenation"}
    | {"simple_expansion", "expansion", "command_substitution", "process_substitution", "arithmetic_expansion"}
    | {"brace_expression", "command_name", "variable_name", "variable_assignment", "array", "extglob_pattern", "regex"}
    | {"$", "==", "="}
)
"""Node types of the syntax tree that are words, or parts of them."""

_DEEPEST = 4  # nesting up to which substitutions are guessed

Kind = Literal["plain", "quoted", "in quotes", "computed"]


class Word(msgspec.Struct, frozen=True):
    """A word without its quotes.

    `computed`: the shell would replace it by something that cannot be determined; `text` is then a guess.
    `ends_known`: what follows its last slash is still certain.
    """

    text: str
    computed: bool = False
    ends_known: bool = False


class Variable(msgspec.Struct, frozen=True):
    """The value of a variable; not `sure` if it may also be another."""

    value: str
    sure: bool = True


Variables = Mapping[str, Variable]

TEMPORARY = "/tmp"  # noqa: S108 - of the command
"""Folder in which `mktemp` makes files and folders."""

BLANKS = " \t\n"
"""Characters at which the shell splits a variable's value, unless IFS is set."""


class Piece(msgspec.Struct, frozen=True):
    """A part of a word: unquoted source text, literal text, source text in double quotes, or a guess."""

    kind: Kind
    text: str


class _Bit(msgspec.Struct, frozen=True):
    """A part of one word and whether it is certain; `splits`: the shell splits it at blanks."""

    text: str
    computed: bool = False
    splits: bool = False


def expand(pieces: Sequence[Piece], known: Variables) -> list[Word]:
    """Return the words a shell makes of a word written as `pieces`; `known`: variables and their values."""
    alternatives = _braces([piece for piece in pieces if piece.text or piece.kind != "plain"])
    words = [word for parts in alternatives for word in _split([bit for part in parts for bit in _bits(part, known)])]
    return words or [Word("", computed=any(piece.kind == "computed" for piece in pieces))]


def ansi_text(text: str) -> str:
    """Unescape the text between `$'` and `'`."""
    return _ANSI.sub(lambda match: _undone(match[1]), text)


def _undone(escape: str) -> str:
    """Return the character of an escape, given without its backslash."""
    if escape[0] in "xuU" and len(escape) > 1:
        code = int(escape[1:], 16)
        return chr(code) if code < sys.maxunicode else ""
    return chr(int(escape, 8) & 0xFF) if escape[0].isdecimal() else _ANSI_NAMED.get(escape, escape)


def _braces(pieces: Sequence[Piece]) -> list[list[Piece]]:
    """Return each alternative of the `{a,b}` in unquoted text. Too many of them leave the word unchanged."""
    done: list[list[Piece]] = []
    pending = [list(pieces)]
    while pending:
        parts = pending.pop(0)
        found = next(
            ((at, match) for at, part in enumerate(parts) if part.kind == "plain" and (match := _brace(part.text))),
            None,
        )
        if found is None:
            done.append(parts)
            continue
        at, match = found
        before, after = parts[at].text[: match.start()], parts[at].text[match.end() :]
        for choice in match[1].split(","):
            pending.append([*parts[:at], Piece("plain", before + choice + after), *parts[at + 1 :]])
        if len(done) + len(pending) > _MOST_ALTERNATIVES:
            return [[*pieces, Piece("computed", "")]]
    return done


def _brace(text: str) -> re.Match[str] | None:
    found = _BRACE.search(text)
    return found if found and text[max(0, found.start() - 1)] not in "$\\" else None


def _bits(piece: Piece, known: Variables) -> list[_Bit]:
    match piece.kind:
        case "quoted":
            return [_Bit(piece.text)]
        case "computed":
            return [_Bit(piece.text, computed=True)]
        case "in quotes":
            return _with_variables(piece.text, known, _IN_QUOTES, splits=False)
        case "plain":
            return _with_variables(piece.text, known, _OUTSIDE_QUOTES, splits=True)


def _with_variables(text: str, known: Variables, escape: re.Pattern[str], *, splits: bool) -> list[_Bit]:
    bits: list[_Bit] = []
    at = 0
    for found in _VARIABLE.finditer(text):
        if (len(text[: found.start()]) - len(text[: found.start()].rstrip("\\"))) % 2:
            continue  # an escaped dollar
        bits.append(_literal(text[at : found.start()], escape, splits=splits))
        bits.append(_value(found[1] or found[2], known, splits=splits))
        at = found.end()
    return [*bits, _literal(text[at:], escape, splits=splits)]


def _value(name: str, known: Variables, *, splits: bool) -> _Bit:
    """Return the value of a variable, which the shell splits and globs unless quoted."""
    variable, cutters = known.get(name, Variable("", sure=False)), known.get("IFS", Variable(BLANKS))
    text = variable.value
    if splits and name != "IFS" and cutters.value != BLANKS:
        text = "".join(" " if letter in cutters.value else letter for letter in text)
    is_sure = variable.sure and (text == variable.value or not splits) and not (splits and _GLOB.search(text))
    return _Bit(text, computed=not is_sure, splits=splits)


def _literal(text: str, escape: re.Pattern[str], *, splits: bool) -> _Bit:
    bare = _OUTSIDE_QUOTES.sub("", text)
    is_glob = splits and bool(_GLOB.search(bare)) and bare not in ("[", "[[")
    undone = escape.sub(lambda match: "" if match[1] == "\n" else match[1], text)
    return _Bit(undone, computed=is_glob)


def _split(bits: Sequence[_Bit]) -> list[Word]:
    """Return the words of one written word: variable values are split at blanks."""
    rows: list[list[_Bit]] = [[]]
    for bit in bits:
        if not (bit.splits and re.search(r"\s", bit.text)):
            rows[-1].append(bit)
            continue
        first, *rest = re.split(r"\s+", bit.text)
        rows[-1].append(_Bit(first, bit.computed))
        rows.extend([_Bit(part, bit.computed)] for part in rest)
    return [_join(row) for row in rows if any(bit.text or bit.computed for bit in row)]


def _join(bits: Sequence[_Bit]) -> Word:
    text = "".join(bit.text for bit in bits)
    tail, ends_known = "", False
    for bit in reversed(bits):
        if bit.computed:
            break
        tail = bit.text + tail
        ends_known = "/" in tail
    return Word(text, any(bit.computed for bit in bits), ends_known)


class WordReader:
    """Reads the words of one text from its syntax tree. `known`: the variables set so far."""

    def __init__(self, source: bytes) -> None:
        self.known: dict[str, Variable] = {"IFS": Variable(BLANKS)}
        self._source = source
        self._depth = 0

    def of_command(self, command: "Node") -> Iterator[Word]:
        """Yield the words of a command, without assignments and redirections; adjacent nodes form one word."""
        for group in self.groups(child for child in command.children if _is_word(child)):
            yield from group

    def groups(self, nodes: "Iterable[Node]") -> Iterator[list[Word]]:
        """Yield the words of each group of adjacent nodes."""
        pieces: list[Piece] = []
        end = -1
        for node in nodes:
            if pieces and node.start_byte != end:
                yield expand(_merged(pieces), self.known)
                pieces = []
            pieces += self._pieces(node)
            end = node.end_byte
        if pieces:
            yield expand(_merged(pieces), self.known)

    def expanded(self, node: "Node") -> list[Word]:
        """Return the words that a shell makes of one node."""
        return expand(self._pieces(node), self.known)

    def _pieces(self, node: "Node") -> list[Piece]:
        text = self.source_of(node)
        match node.type:
            case "raw_string":
                return [Piece("quoted", text[1:-1])]
            case "ansi_c_string":
                return [Piece("quoted", ansi_text(text[2:-1]))]
            case "string" | "translated_string":
                return self._in_quotes(node)
            case "command_name" | "concatenation":
                return _merged([piece for child in node.children for piece in self._pieces(child)])
            case "expansion" if text[2:-1].isidentifier():
                return [Piece("plain", text)]
            case "expansion" | "command_substitution":
                return [Piece("computed", self._guess(node))]
            case "process_substitution" | "arithmetic_expansion":
                return [Piece("computed", "")]
            case _:
                return [Piece("plain", text)]

    def _in_quotes(self, node: "Node") -> list[Piece]:
        """Return the pieces of a double-quoted string: its text, and guesses at its substitutions."""
        pieces: list[Piece] = [Piece("quoted", "")]
        start = node.start_byte + self._source[node.start_byte : node.end_byte].find(b'"') + 1
        for child in node.children:
            if child.type in ("command_substitution", "expansion", "arithmetic_expansion", "process_substitution"):
                inner = self._pieces(child)
                pieces.append(Piece("in quotes", self.source(start, child.start_byte)))
                pieces.extend(Piece("in quotes", piece.text) if piece.kind == "plain" else piece for piece in inner)
                start = child.end_byte
        return [*pieces, Piece("in quotes", self.source(start, node.end_byte - 1))]

    def _guess(self, node: "Node") -> str:
        """Return the output of a substitution in simple cases; limited in depth, as it is only a guess."""
        if self._depth >= _DEEPEST:
            return ""
        self._depth += 1
        guess = self._default(node) if node.type == "expansion" else self._echoed(node)
        self._depth -= 1
        return guess

    def _default(self, node: "Node") -> str:
        """Return the value of `${x:-this}` if x is not set."""
        words = [
            child for child in node.named_children if child.type in ("word", "string", "raw_string", "concatenation")
        ]
        return "".join(word.text for child in words for word in self.expanded(child)) or self._value(node)

    def _value(self, node: "Node") -> str:
        """Return the value of the variable of `${x%/}`."""
        name = next((child for child in node.named_children if child.type == "variable_name"), None)
        return self.known.get(self.source_of(name), Variable("")).value if name is not None else ""

    def _echoed(self, node: "Node") -> str:
        """Return the output of `$(echo this)`, and such a path as `$(mktemp)` gives; "" for any other command."""
        commands = [child for child in node.named_children if child.type == "command"]
        is_one = len(commands) == node.named_child_count == 1
        first, *rest = (list(self.of_command(commands[0])) if is_one else []) or [Word("")]
        if first.text in ("echo", "printf"):
            return " ".join(word.text for word in rest)
        if "mktemp" not in self.source_of(node):
            return ""
        return made_by_mktemp([word.text for word in rest] if first.text == "mktemp" else [])

    def source_of(self, node: "Node") -> str:
        """Return the text of a node, as written."""
        return self.source(node.start_byte, node.end_byte)

    def source(self, start: int, end: int) -> str:
        """Return the text between two byte offsets."""
        return self._source[start:end].decode("utf-8", "replace")


def made_by_mktemp(words: Sequence[str]) -> str:
    """Return a path like those of `mktemp` with these words: as its template, in /tmp if nothing else is said."""
    folder, template = "", ""
    is_of_folder = False
    for word in words:
        if is_of_folder or word.startswith("--tmpdir="):
            folder, is_of_folder = word.removeprefix("--tmpdir="), False
        elif word[:1] != "-":
            template = word
        elif word[:2] != "--" and "p" in word:
            folder, is_of_folder = word.partition("p")[2], word[-1] == "p"
        elif word == "--tmpdir" or (word[:2] != "--" and "t" in word):
            folder = TEMPORARY
    if not folder and template:
        return template
    return f"{folder or TEMPORARY}/{template or 'tmp.XXXXXXXXXX'}"


def _is_word(node: "Node") -> bool:
    return node.type in WORD_NODES and node.type != "variable_assignment"


def _merged(pieces: Sequence[Piece]) -> list[Piece]:
    """Join adjacent unquoted pieces: the grammar may cut a variable's name in two."""
    merged: list[Piece] = []
    for piece in pieces:
        before = merged[-1] if merged else Piece("quoted", "")
        if before.kind == piece.kind == "plain":
            merged[-1] = Piece("plain", before.text + piece.text)
        elif before.kind == "plain" and before.text.endswith("$") and piece.kind == "quoted":  # $"text" is "text"
            merged[-1:] = [Piece("plain", before.text[:-1]), piece]
        else:
            merged.append(piece)
    return merged
