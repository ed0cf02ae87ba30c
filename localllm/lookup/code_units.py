"""Split a file into units line by line: definitions, headings, keys, and the file itself."""

import re
from collections.abc import Iterator, Sequence
from functools import cache
from typing import NamedTuple

from localllm.lookup import vocabulary

LONGEST_LINE = 300
"""Characters of a line that are matched; longer lines are data, on which the patterns are slow."""

_MOST_UNITS, _MOST_KEYS = 2_000, 150
_LONGEST_DOC, _LONGEST_HEAD = 600, 4_000
_COMMENT_LINES = 12
_NEAR = 4  # columns: deeper indentation means a nested unit
_DOCSTRING = re.compile(
    r"(?:[^\n]*(?<!:)\n){0,12}?[^\n]*:[ \t]*(?:\#[^\n]*)?\n\s*[rRuUbB]?(\"\"\"|'''|\")(?P<said>.{0,600}?)(?:\1|\Z)",
    re.DOTALL,
)
_MODULE_DOC = re.compile(r"\A(?:\#[^\n]*\n|\s)*[rRuU]?(\"\"\"|''')(?P<said>.{0,600}?)(?:\1|\Z)", re.DOTALL)
_COMMENT = re.compile(
    r"^\s*(?:///?!?|#(?!!|\s*(?:define|include|if|endif|else|pragma))|/?\*+/?|--|;+|\"\"\")"
    r"[ \t]?(?P<said>.*?)(?:\*+/)?[ \t]*$"
)
_FUNCTIONS = frozenset(["func", "fn", "fun", "function", "sub", "def", "defp", "proc"])
_CLASS_LIKE = frozenset(
    ["class", "struct", "trait", "interface", "impl", "record", "protocol", "object", "mixin", "module", "enum"]
)


class Unit(NamedTuple):
    """A part of a file: its kind, name and parent ("" for none), first line, documentation and content. The whole file
    has the kind "file"."""

    kind: str
    name: str
    parent: str
    line: int
    doc: str
    body: str


class _Found(NamedTuple):
    kind: str
    name: str
    indent: int
    at: int


def units(path: str, text: str, longest: int) -> list[Unit]:
    """Return the units of the file `path`, the file itself first; `longest` characters of each one's content."""
    if len(max(text.split("\n"), key=len)) > LONGEST_LINE:
        text = "\n".join(line[:LONGEST_LINE] for line in text.split("\n"))
    types = types_of(path)
    found = sorted((one for kind in types for one in _found(kind, text)), key=lambda one: one.at)[:_MOST_UNITS]
    head = text[: max(found[0].at if found else len(text), 600)][:_LONGEST_HEAD]
    said = _MODULE_DOC.match(text) if "python" in types else None
    doc = said["said"] if said else text[:_LONGEST_DOC] if "text" in types else _comment_after(text)
    names = " ".join(dict.fromkeys(one.name for one in found))[:_LONGEST_HEAD]
    return [
        Unit("file", path.rpartition("/")[2], "", 1, doc, f"{head}\n{names}"),
        *_with_words(found, text, types, longest),
    ]


@cache
def _types() -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for kind, line in vocabulary.sections("file_types.txt"):
        found |= {name: (*found.get(name, ()), kind) for name in line.split()}
    return found


def types_of(path: str) -> tuple[str, ...]:
    """Return the types of a file; none for one that is not indexed. A name without extension is a text."""
    name = path.rpartition("/")[2].lower()
    stem, dot, ending = name.rpartition(".")
    return _types().get(name) or (_types().get(f".{ending}", ()) if dot and stem else ("text",))


def is_import(line: str) -> bool:
    """Whether `line` is an import, in any of the languages."""
    return dict(vocabulary.patterns("imports.txt"))["import"].match(line) is not None


def documentation(lines: Sequence[str], line: int, *, python: bool) -> str:
    """Return the docstring of the definition at `line` (from 1), or the comment above it."""
    if python:
        own = re.split(r"\n(?=\s*(?:async def|def|class|@)\b)", "\n".join(lines[line - 1 : line + 25]), maxsplit=1)[0]
        if said := _DOCSTRING.match(own) or (_MODULE_DOC.match(own) if line == 1 else None):
            return said["said"]
    return _comment_above(lines, line - 1, python=python)


@cache
def _pattern(kind: str) -> tuple[re.Pattern[str], tuple[str, ...]] | None:
    """Compile the pattern for definitions in a type of file, with a group per form, and each form's kind."""
    lines = [line.split(" ", 1) for heading, line in vocabulary.sections("definitions.txt") if heading == kind]
    if not lines:
        return None
    ways: list[str] = []
    for number, (_, way) in enumerate(lines):
        name = (
            rf"(?P<n{number}>[A-Za-z_$][\w$.-]*)" if kind in ("keys", "make") else rf"(?P<n{number}>[A-Za-z_$][\w$.:]*)"
        )
        modifiers = rf"(?:(?:{'|'.join(sorted(vocabulary.named('modifiers')))}|pub\([a-z]+\))[ \t]+)*"
        spelt = way.replace("NAME", name).replace("MOD", modifiers).replace("<said>", f"<n{number}>")
        ways.append(f"(?P<w{number}>{spelt})")
    return re.compile(rf"^[ \t]*(?:{'|'.join(ways)})", re.MULTILINE), tuple(what for what, _ in lines)


def _found(kind: str, text: str) -> Iterator[_Found]:
    if not (known := _pattern(kind)):
        return
    for count, match in enumerate(known[0].finditer(text)):
        number = int((match.lastgroup or "w0")[1:])
        what, name = known[1][number], match[f"n{number}"].strip(" #.:")
        indent = match.start(f"w{number}") - match.start()
        if (
            (what in ("top", "typed") and indent)
            or (what == "near" and indent > _NEAR)
            or (kind == "keys" and count > _MOST_KEYS)
        ):
            continue
        match what:
            case "=":
                word = match["word"]
                what = "function" if word in _FUNCTIONS else "macro" if "!" in word else word.removeprefix("def")
            case "block" | "typed":
                what = "function"
            case "top" | "near" | "variable":
                what = "key" if kind == "keys" else "constant" if name.isupper() or what == "near" else "variable"
            case _:
                pass
        yield _Found(what, name, indent, match.start())


def _with_words(found: Sequence[_Found], text: str, types: Sequence[str], longest: int) -> Iterator[Unit]:
    lines = text.split("\n")
    line, at = 1, 0
    around: list[_Found] = []
    seen = -1
    for number, one in enumerate(found):
        if one.at == seen:  # matched by two patterns
            continue
        seen = one.at
        line += text.count("\n", at, one.at)
        at = one.at
        end = found[number + 1].at if number + 1 < len(found) else len(text)
        around = [other for other in around if other.indent < one.indent]
        parent = next((o.name for o in reversed(around) if o.kind in _CLASS_LIKE or o.kind == "function"), "")
        kind = "method" if one.kind == "function" and around and around[-1].kind in _CLASS_LIKE else one.kind
        body = text[at : max(min(end, at + longest), at + 1)]
        said = _DOCSTRING.match(body) if "python" in types and one.kind in ("class", "function") else None
        doc = (
            said["said"]
            if said
            else ""
            if {"text", "keys"} & {*types}
            else _comment_above(lines, line - 1, python="python" in types)
        )
        yield Unit(kind, one.name, parent, line, doc[:_LONGEST_DOC], body)
        around.append(one)


def _comment_above(lines: Sequence[str], index: int, *, python: bool) -> str:
    """Return the comment that ends above this index; in Python a docstring there belongs to another definition."""
    said: list[str] = []
    while index and len(said) < _COMMENT_LINES:
        index -= 1
        if lines[index].lstrip().startswith(("@", "#[", "[")) and not said:  # a decorator
            continue
        if not (match := _COMMENT.match(lines[index])) or (python and lines[index].lstrip().startswith('"')):
            break
        said.append(match["said"])
    return "\n".join(reversed(said)).strip()


def _comment_after(text: str) -> str:
    """Return the comment at the start of a file."""
    said: list[str] = []
    for line in text[:2_000].split("\n"):
        if match := _COMMENT.match(line):
            said.append(match["said"])
        elif line.strip() and not line.startswith(("#!", "<?", "'use strict", '"use strict')):
            break
    return "\n".join(said)[:_LONGEST_DOC].strip()
