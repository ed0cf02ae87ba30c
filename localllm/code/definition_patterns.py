"""Build patterns to search code for: lines that define something, in common languages, and lines in
which several patterns occur together."""

import re
from collections.abc import Sequence
from itertools import permutations

SOURCES = (
    "py,pyi,js,[cm]js,jsx,ts,tsx,[ch],[ch]pp,[ch]c,[ch]xx,cs,go,rs,rb,java,kt,php,swift,scala,sh,bash,lua,p[lm],sql"
    ",vue,svelte,dart,exs,ex,jl,zig"
)
"""Suffixes of source files, as in a glob."""

SETTINGS = "toml,yaml,yml,json,ini,cfg,conf,css,scss,properties"
"""Suffixes of files with settings."""

TYPES = (
    "class|struct|trait|interface|enum|union|type|module|namespace|impl|record|protocol|object|mixin|contract|message"
)
FUNCTIONS = "def|func|fn|fun|function|sub|proc|macro_rules!|method|defmodule|defp"
"""Keywords that begin the definition of a type, and of a function."""

_VALUES = "const|let|var|#[ ]?define"
_QUICK = (
    "(?:(?:export|default|public|private|protected|internal|static|final|abstract|async|sealed|unsafe|extern|inline"
    "|virtual|override|open|data|declare|partial|local|readonly|pub(?:\\([a-z]+\\))?|constexpr|cdef|cpdef"
    "|[A-Z][A-Z0-9_]+) )*"
)


def escape(text: str) -> str:
    """Escape `text` for use in a pattern. (re.escape escapes more than ripgrep accepts.)"""
    return re.sub(r"[\\.+*?()|\[\]{}^$]", r"\\\g<0>", text)


def spoken(words: str) -> str:
    """Build a pattern for names and texts that contain one of the alternatives: `retry|time out|validat*`.

    A word matches alone or in a name such as maxRetry or MAX_RETRY; with a `*`, as a prefix, in any case.
    Between several words, a blank, dash, dot or the like may stand. Anything but an ASCII word is taken literally.
    """
    ways = [r"[-_. /]?".join(map(_form, way.split(" "))) for way in words.split("|") if way]
    return "(?:" + "|".join(dict.fromkeys(ways)) + ")"


def _form(word: str) -> str:
    """Build a pattern for the forms of a word. ASCII letters are spelled out: \\w, which covers Unicode,
    makes ripgrep ten times slower."""
    root = word.removesuffix("*")
    if not root.isascii() or not root.isalnum():
        return escape(word)
    if root != word:
        return f"(?i:{root})"
    return rf"(?:(?:\b|_)[{word[0]}{word[0].upper()}]{word[1:]}|[a-z0-9]{word.capitalize()}|{word.upper()})"


def defining(name: str) -> str:
    """Build a pattern for lines that may define something whose name contains `name`, a pattern."""
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
    """Build a pattern for lines that may define something called `name`."""
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
    """Build a pattern for lines that match `least` of the patterns, in any order, at least one of `firm`."""
    parts: dict[str, list[str]] = {}
    ways = [*((pattern, True) for pattern in firm), *((pattern, False) for pattern in loose)]
    for (first, is_firm), *rest in permutations(ways, least):
        if is_firm or any(firm for _, firm in rest):
            parts.setdefault(first, []).append(".*".join(pattern for pattern, _ in rest))
    return "|".join(f"{first}.*(?:{'|'.join(others)})" for first, others in parts.items())
