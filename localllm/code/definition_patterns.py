"""Lines of code, as patterns to search for: those that define something, in the languages people write, and those in
which several things are said together."""

import re
from collections.abc import Sequence
from itertools import permutations

SOURCES = (
    "py,pyi,js,[cm]js,jsx,ts,tsx,[ch],[ch]pp,[ch]c,[ch]xx,cs,go,rs,rb,java,kt,php,swift,scala,sh,bash,lua,p[lm],sql"
    ",vue,svelte,dart,exs,ex,jl,zig"
)
"""The endings of source files, as a glob has them."""

SETTINGS = "toml,yaml,yml,json,ini,cfg,conf,css,scss,properties"
"""Those of files with settings."""

TYPES = (
    "class|struct|trait|interface|enum|union|type|module|namespace|impl|record|protocol|object|mixin|contract|message"
)
FUNCTIONS = "def|func|fn|fun|function|sub|proc|macro_rules!|method|defmodule|defp"
"""What a line begins with that defines a type, and what one that defines a function."""

_VALUES = "const|let|var|#[ ]?define"
_QUICK = (
    "(?:(?:export|default|public|private|protected|internal|static|final|abstract|async|sealed|unsafe|extern|inline"
    "|virtual|override|open|data|declare|partial|local|readonly|pub(?:\\([a-z]+\\))?|constexpr|cdef|cpdef"
    "|[A-Z][A-Z0-9_]+) )*"
)


def escape(text: str) -> str:
    """`text` as a pattern for itself. (Python's own escapes more than ripgrep takes.)"""
    return re.sub(r"[\\.+*?()|\[\]{}^$]", r"\\\g<0>", text)


def spoken(words: str) -> str:
    """A pattern for names and texts in which one of these stands: `retry|time out|validat*`.

    A word stands alone or in a name such as maxRetry or MAX_RETRY; with a `*`, anything may follow, small or capital.
    Between several words there may be a blank, a dash, a dot or the like. What is no ASCII word is meant as it is.
    """
    ways = [r"[-_. /]?".join(map(_form, way.split(" "))) for way in words.split("|") if way]
    return "(?:" + "|".join(dict.fromkeys(ways)) + ")"


def _form(word: str) -> str:
    """The forms of a word. The patterns here spell out ASCII letters: \\w, which has all of Unicode, takes ripgrep ten
    times as long."""
    root = word.removesuffix("*")
    if not root.isascii() or not root.isalnum():
        return escape(word)
    if root != word:
        return f"(?i:{root})"
    return rf"(?:(?:\b|_)[{word[0]}{word[0].upper()}]{word[1:]}|[a-z0-9]{word.capitalize()}|{word.upper()})"


def defining(name: str) -> str:
    """A pattern for lines of code that may define a thing in whose name `name`, a pattern, occurs."""
    part = rf"[A-Za-z0-9_.:$]*{name}"
    return "|".join(
        (
            rf"^[ \t]*{_QUICK}(?:{TYPES}|{FUNCTIONS}|{_VALUES})[ ]+(?:\([^)]*\) ?|[A-Z0-9_]+ )?{part}",
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
            rf"^[ \t]*{_QUICK}(?:{TYPES}|{FUNCTIONS}|{_VALUES})[ ]+(?:\([^)]*\) ?|[A-Z_0-9]+ |class )?"
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


def together(firm: Sequence[str], loose: Sequence[str] = (), *, least: int = 2) -> str:
    """A pattern for lines in which `least` of these patterns stand, in any order, one of `firm` among them."""
    parts: dict[str, list[str]] = {}
    ways = [*((pattern, True) for pattern in firm), *((pattern, False) for pattern in loose)]
    for (first, is_firm), *rest in permutations(ways, least):
        if is_firm or any(firm for _, firm in rest):
            parts.setdefault(first, []).append(".*".join(pattern for pattern, _ in rest))
    return "|".join(f"{first}.*(?:{'|'.join(others)})" for first, others in parts.items())
