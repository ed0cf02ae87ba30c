"""Lines that define something, in the languages people write: patterns to search for them, and what they define."""

import re
from functools import cache
from typing import Literal

import msgspec

from localllm.llm.embedded import vocabulary
from localllm.llm.embedded.terms import Alternative, Term
from localllm.llm.embedded.words import stem

Kind = Literal["class", "function", "constant", "variable", "key"]

_SHORT = 4
_TYPES = (
    "class|struct|trait|interface|enum|union|type|module|namespace|impl|record|protocol|object|mixin|contract|message"
)
_FUNCTIONS = "def|func|fn|fun|function|sub|proc|macro_rules!|method|defmodule|defp"
_SQL = (
    "(?:CREATE|create)(?: OR REPLACE| or replace)? "
    "(?:TABLE|VIEW|FUNCTION|PROCEDURE|TRIGGER|INDEX|TYPE|table|view|function|procedure|trigger|index|type)"
)
_VALUES = "const|let|var|#[ ]?define"
_MODIFIERS = (
    "export|default|public|private|protected|internal|static|final|abstract|async|sealed|unsafe|extern|inline|virtual"
    r"|override|open|data|declare|partial|local|readonly|const|let|var|val|pub(?:\([^)]*\))?|constexpr|template<[^>]*>"
    r"|extern \"C\"|__\w+|[A-Z][A-Z0-9_]+_(?:EXPORT|EXTERN|API)|[A-Z0-9_]*(?:EXPORT|EXTERN|API)\w*|cdef|cpdef"
)
_QUICK = (
    "(?:(?:export|default|public|private|protected|internal|static|final|abstract|async|sealed|unsafe|extern|inline"
    "|virtual|override|open|data|declare|partial|local|readonly|pub(?:\\([a-z]+\\))?|constexpr|cdef|cpdef"
    "|[A-Z][A-Z0-9_]+) )*"
)
_MACRO = r"(?:[A-Z][A-Z0-9_]+|class)\s+"
_BEFORE = rf"^\s*(?:(?:{_MODIFIERS})\s+)*"


def escape(text: str) -> str:
    """`text` as a pattern for itself. (Python's own escapes more than ripgrep takes.)"""
    return re.sub(r"[\\.+*?()|\[\]{}^$]", r"\\\g<0>", text)


def mentions(alternative: Alternative) -> str:
    """A pattern for names and texts in which the words of `alternative` stand together, in any of their forms."""
    parts = [_form(stem(word), word) for word in alternative.words]
    return r"[-_. /]?".join(f"(?:{part})" if "|" in part else part for part in parts)


def _form(root: str, word: str) -> str:
    """The forms of a word. The patterns here spell out ASCII letters: \\w, which has all of Unicode, takes ripgrep ten
    times as long."""
    if not word.isascii() or not word.isalnum():
        return escape(word)
    if root.endswith("y") and len(root) >= _SHORT:
        return rf"(?i:{root[:-1]}(?:y|ie))"
    if root.endswith("iz") and len(word) > _SHORT:
        return rf"(?i:{root[:-1]}[sz])"
    if len(word) > _SHORT:
        return rf"(?i:{root})"
    return rf"(?:\b|_)[{word[0]}{word[0].upper()}]{word[1:]}|[a-z0-9]{word.capitalize()}|{word.upper()}"


def any_of(term: Term, *, literal: bool = False) -> str:
    """A pattern for any of the ways code may say `term`; with `literal` also as the question says it."""
    ways = [mentions(alternative) for alternative in term.alternatives]
    if literal and term.literal:
        ways.append(escape(term.literal))
    return "(?:" + "|".join(dict.fromkeys(ways)) + ")"


def defining(name: str) -> str:
    """A pattern for lines of code that may define a thing in whose name `name`, a pattern, occurs."""
    part = rf"[A-Za-z0-9_.:$]*{name}"
    return "|".join(
        (
            rf"^[ \t]*{_QUICK}(?:{_TYPES}|{_FUNCTIONS}|{_VALUES})[ ]+(?:\([^)]*\) ?|[A-Z0-9_]+ )?{part}",
            rf"^(?:CREATE|create) [A-Za-z ]*{name}",
            rf"^[ \t]{{0,4}}{_QUICK}[A-Z0-9_]*{name}[A-Z0-9_]*(?: ?=|:)",
            rf"^[ \t]*{part}[A-Za-z0-9_]* ?[:=] ?(?:async ?)?(?:function|\([^)]*\) ?=>)",
            rf"^(?:[A-Za-z_][A-Za-z0-9_ *&:<>,]*)?{name}[A-Za-z0-9_]* ?\([^;=]*$",
            rf"^[ \t]+[A-Za-z_<>., *&:]*{name}[A-Za-z0-9_]* ?\([^;]*\{{ *$",
        )
    )


def defining_exactly(name: str) -> str:
    """A pattern for lines of code that may define a thing called `name`."""
    exact = escape(name)
    end = "(?:[^A-Za-z0-9_]|$)"
    return "|".join(
        (
            rf"^[ \t]*{_QUICK}(?:{_TYPES}|{_FUNCTIONS}|{_VALUES})[ ]+(?:\([^)]*\) ?|[A-Z_0-9]+ |class )?"
            rf"(?:[A-Za-z0-9_.:#]+[.:#])?{exact}{end}",
            rf"^(?:CREATE|create) [A-Za-z ]*[.\x22` ]{exact}{end}",
            rf"^[ \t]*{_QUICK}(?:(?:this|self|exports|module\.exports)\.)?{exact}(?: ?:[^=]*)?[ \t]*:?=(?:[^=]|$)",
            rf"^[ \t]*[A-Za-z0-9_.]*{exact} ?[:=] ?(?:async ?)?(?:function|\([^)]*\) ?=>)",
            rf"^(?:[A-Za-z_][A-Za-z0-9_ *&:<>,]*[ *&:])?{exact} ?\([^;=]*$",
            rf"^[A-Za-z_][A-Za-z0-9_ *&:<>,]*[ *&:]{exact} ?\([^=]*;",
            rf"^[ \t]+(?:[A-Za-z_<>., *&:]*[ *&:#])?{exact} ?\([^;]*\{{ *$",
            rf"^[ \t]*\}} *{exact} *;",
            rf"^[ \t]*typedef.*[^A-Za-z0-9_]{exact} *(?:\) *\(.*)?;",
            rf"^[ \t]*[\x22'.#]?{exact}[\x22']?[ \t]*[:={{]",
        )
    )


class Defined(msgspec.Struct, frozen=True):
    """What a line defines."""

    kind: Kind
    name: str


_AFTER_TYPE = (
    r"\s*(?:[({<;=\[,]|:(?!:)|$|(?:extends|implements|struct|interface|where|final|inherits|permits|func|map|is|for)\b)"
)
_TELLING: tuple[tuple[Kind, str], ...] = (
    ("class", r"^\s*typedef\b.*?\b(?P<name>\w+)\s*(?:\)\s*\(.*)?;"),
    ("class", rf"{_BEFORE}(?:{_TYPES})\s+(?:{_MACRO})?(?:[\w.]+::)?(?P<name>[\w$.:-]+?)(?={_AFTER_TYPE})"),
    ("function", rf"{_BEFORE}(?:{_FUNCTIONS})\s*\*?\s*(?:\([^)]*\)\s*)?(?P<name>[\w$.:!?-]+?)(?=\s*(?:[(<\[{{=;:]|$))"),
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
