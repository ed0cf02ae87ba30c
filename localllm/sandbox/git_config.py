"""Parse git config files as git does: everything that git accepts, and nothing that git refuses.

The syntax: git-config(1).
"""

import os
import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from localllm.base.lazy_patterns import late_pattern

_PASSED_OVER = late_pattern(r"(?>(?:\s++|[#;][^\n]*+)*)")
_HEADING = late_pattern(r'\[\s*([A-Za-z0-9.-]+)(?:[ \t]+"((?:[^"\\\n]|\\.)*)")?\s*\]')
_NAME = late_pattern(r"([A-Za-z][A-Za-z0-9-]*)[ \t]*(=)?")
_ESCAPES = {"n": "\n", "t": "\t", "b": "\b"}
_SPACES = " \t\r"


class Setting(NamedTuple):
    """One setting. `section` and `name` are in lower case; `value` is "true" if the file has none."""

    section: str
    subsection: str
    name: str
    value: str


def parse(content: bytes) -> Iterator[Setting]:
    """Yield the settings of a file in their order. Lines that are no settings are skipped."""
    text = content.decode("utf-8", "surrogateescape").removeprefix("\ufeff")
    section = subsection = ""
    at = 0
    while at < len(text):
        if passed_over := _PASSED_OVER.match(text, at):
            at = passed_over.end()
        if heading := _HEADING.match(text, at):
            section, dot, below = heading[1].partition(".")
            section = section.lower()
            subsection = re.sub(r"\\(.)", r"\1", heading[2] or "") if not dot else below.lower()
            at = heading.end()
        elif name := _NAME.match(text, at):
            value, at = _value(text, name.end()) if name[2] else ("true", _next_line(text, name.end()))
            yield Setting(section, subsection, name[1].lower(), value.partition("\0")[0])  # as git does
        else:
            at = _next_line(text, at)


def _next_line(text: str, at: int) -> int:
    end = text.find("\n", at)
    return len(text) if end < 0 else end + 1


def _value(text: str, at: int) -> tuple[str, int]:
    """Return a value, and where the next line begins."""
    value: list[str] = []
    quoted = False
    solid = 0  # length without trailing space
    while at < len(text):
        char = text[at]
        at += 1
        if char == "\n":
            break
        if char == "\\" and at < len(text):
            char = text[at]
            at += 1
            if char != "\n":
                value.append(_ESCAPES.get(char, char))
                solid = len(value)
        elif char == '"':
            quoted = not quoted
            solid = len(value)
        elif char in "#;" and not quoted:
            at = _next_line(text, at)
            break
        elif char not in _SPACES or quoted:
            value.append(char)
            solid = len(value)
        elif value:
            value.append(char)
    return "".join(value[:solid]), at


def write(settings: Iterable[Setting]) -> bytes:
    """Return a file with these settings."""
    lines: list[str] = []
    for section, subsection, name, value in settings:
        lines += [f'[{section} "{_quoted(subsection)}"]' if subsection else f"[{section}]"]
        lines += [f'\t{name} = "{_quoted(value)}"']
    return "".join(f"{line}\n" for line in lines).encode("utf-8", "surrogateescape")


def _quoted(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\t", "\\t")


def expanded(path: str, home: str) -> str:
    """Expand the beginning of a path as git does: `~/`, `~user/`, and the mark of one that may be missing."""
    path = path.removeprefix(":(optional)")
    if path.startswith("~/"):
        return f"{home}/{path[2:]}"
    return os.path.expanduser(path) if path.startswith("~") and "/" in path else path  # noqa: PTH111 - a string
