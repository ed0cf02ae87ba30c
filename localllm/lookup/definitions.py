"""Words as patterns for what code calls them, and what a line of code defines."""

import re
from collections.abc import Iterator
from functools import cache
from itertools import product
from typing import Literal

import msgspec

from localllm.code.definition_patterns import FUNCTIONS, TYPES, spoken
from localllm.lookup import vocabulary
from localllm.lookup.terms import Alternative, Term
from localllm.lookup.words import stem

Kind = Literal["class", "function", "constant", "variable", "key"]

_SHORT = 4
_SQL = (
    "(?:CREATE|create)(?: OR REPLACE| or replace)? "
    "(?:TABLE|VIEW|FUNCTION|PROCEDURE|TRIGGER|INDEX|TYPE|table|view|function|procedure|trigger|index|type)"
)
_MODIFIERS = (
    "export|default|public|private|protected|internal|static|final|abstract|async|sealed|unsafe|extern|inline|virtual"
    r"|override|open|data|declare|partial|local|readonly|const|let|var|val|pub(?:\([^)]*\))?|constexpr|template<[^>]*>"
    r"|extern \"C\"|__\w+|[A-Z][A-Z0-9_]+_(?:EXPORT|EXTERN|API)|[A-Z0-9_]*(?:EXPORT|EXTERN|API)\w*|cdef|cpdef"
)
_MACRO = r"(?:[A-Z][A-Z0-9_]+|class)\s+"
_BEFORE = rf"^\s*(?:(?:{_MODIFIERS})\s+)*"


def any_of(term: Term, *, literal: bool = False) -> str:
    """A pattern for any of the ways code may say `term`; with `literal` also as the question says it."""
    return spoken(in_words(term, literal=literal))


def in_words(term: Term, *, literal: bool = False) -> str:
    """The same in words, as `spoken` has them."""
    ways = [way for alternative in term.alternatives for way in _ways(alternative)]
    if literal and term.literal:
        ways.append(term.literal)
    return "|".join(dict.fromkeys(ways))


def _ways(alternative: Alternative) -> Iterator[str]:
    """The words of an alternative, which stand together, in any of their forms."""
    for words in product(*(_forms(stem(word), word) for word in alternative.words)):
        yield " ".join(words)


def _forms(root: str, word: str) -> tuple[str, ...]:
    if not word.isascii() or not word.isalnum():
        return (word,)
    if root.endswith("y") and len(root) >= _SHORT:
        return f"{root}*", f"{root[:-1]}ie*"
    if root.endswith("iz") and len(word) > _SHORT:
        return f"{root}*", f"{root[:-1]}s*"
    return (f"{root}*",) if len(word) > _SHORT else (word,)


class Defined(msgspec.Struct, frozen=True):
    """What a line defines."""

    kind: Kind
    name: str


_AFTER_TYPE = (
    r"\s*(?:[({<;=\[,]|:(?!:)|$|(?:extends|implements|struct|interface|where|final|inherits|permits|func|map|is|for)\b)"
)
_TELLING: tuple[tuple[Kind, str], ...] = (
    ("class", r"^\s*typedef\b.*?\b(?P<name>\w+)\s*(?:\)\s*\(.*)?;"),
    ("class", rf"{_BEFORE}(?:{TYPES})\s+(?:{_MACRO})?(?:[\w.]+::)?(?P<name>[\w$.:-]+?)(?={_AFTER_TYPE})"),
    ("function", rf"{_BEFORE}(?:{FUNCTIONS})\s*\*?\s*(?:\([^)]*\)\s*)?(?P<name>[\w$.:!?-]+?)(?=\s*(?:[(<\[{{=;:]|$))"),
    ("class", rf"^\s*{_SQL}(?: IF NOT EXISTS| if not exists)? [\"`]?(?P<name>[\w.]+)"),
    ("constant", r"^\s*#\s*define\s+(?P<name>\w+)"),
    (
        "function",
        r"^\s*(?:export\s+)?(?:const|let|var)\s+(?P<name>[\w$]+)\s*=\s*(?:async\s*)?(?:function\b|\([^)]*(?:\)\s*=>|$)|\w+\s*=>)",
    ),
    ("function", r"^\s*[\w.$]*?(?P<name>[\w$]+)\s*[:=]\s*(?:async\s*)?(?:function\b|\([^)]*\)\s*=>)"),
    (
        "constant",
        rf"^\s*(?:(?:{_MODIFIERS})\s+)*(?:[\w<>\[\]]+\s+)?(?P<name>_*[A-Z][A-Z0-9_]+)(?:\s*:[^=]*)?\s*:?=(?:[^=]|$)",
    ),
    (
        "variable",
        rf"^\s*(?:(?:{_MODIFIERS})\s+)*(?:this\.|self\.|exports\.)?(?P<name>[\w$]+)(?:\s*:[^=]*)?\s*:?=(?:[^=>]|$)",
    ),
    ("function", r"^(?P<name>[\w.:-]+)\s*\(\)\s*\{"),
    ("function", r"^\s*(?:(?P<type>[\w<>\[\],.?:]+)[\s*&]+)+?(?P<name>[\w:~]+)\s*\([^=]*$"),
    ("function", r"^\s+(?:(?:async|static|get|set)\s+)*[*#]?(?P<name>[\w$]+)\s*\([^;]*\)\s*\{\s*$"),
    ("class", r"^\s*\}\s*(?P<name>\w+)\s*;"),
    ("key", r"^\s*[\"']?(?P<name>[\w.-]+)[\"']?\s*[:=]"),
)


_WITHOUT_TYPES = (".py", ".pyi", ".rb", ".sh", ".bash", ".lua", ".ex", ".exs", ".jl")
_OF_TYPED = "(?P<type>"


@cache
def _patterns() -> list[tuple[Kind, re.Pattern[str]]]:
    return [(kind, re.compile(pattern)) for kind, pattern in _TELLING]


@cache
def _patterns_without_types() -> list[tuple[Kind, re.Pattern[str]]]:
    return [(kind, pattern) for kind, pattern in _patterns() if _OF_TYPED not in pattern.pattern]


def _patterns_for(path: str) -> list[tuple[Kind, re.Pattern[str]]]:
    """The patterns for a file; where functions have no types before their names, prose is not taken for one."""
    return _patterns_without_types() if path.endswith(_WITHOUT_TYPES) else _patterns()


def defined_by(line: str, path: str = "") -> Defined | None:
    """What `line` (of the file `path`) defines; None for any other line, as far as a line by itself tells."""
    text = line.strip()
    first = re.match(r"[A-Za-z_]+", text)
    if (
        not text
        or text.startswith(("//", "*", "/*", '"""', "'''", "--"))
        or (first and first[0] in vocabulary.named("no_types"))
    ):
        return None
    for kind, pattern in _patterns_for(path):
        match = pattern.match(line)
        if match and not _is_a_statement(match):
            return Defined(kind, match["name"].strip(".:"))
    return None


def _is_a_statement(match: re.Match[str]) -> bool:
    """Whether what looks like a function with its type is a call (`return f(`) or control flow (`if (`)."""
    words = {match["name"], match.groupdict().get("type") or ""}
    return not match["name"].strip(".:") or bool(words & vocabulary.named("no_types"))
