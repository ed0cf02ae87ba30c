"""Find syntax errors in JSON, TOML or YAML files, and in makefiles."""

import json
import re
import tomllib
from collections import Counter
from collections.abc import Iterator
from pathlib import PurePath
from typing import NamedTuple

from localllm.base.lazy_patterns import late_pattern


class Fault(NamedTuple):
    """The first syntax error in a `form` such as JSON: its line (from 1) and reason."""

    form: str
    line: int
    reason: str


_FORMS = {
    **dict.fromkeys((".json", ".jsonc", ".ipynb", ".geojson", ".webmanifest"), "JSON"),
    ".toml": "TOML",
    **dict.fromkeys((".yaml", ".yml"), "YAML"),
    ".mk": "make",
}
_MAKEFILES = frozenset({"Makefile", "makefile", "GNUmakefile"})


def new_fault(path: str, old: str, new: str) -> Fault | None:
    """Return the syntax error in `new` if `old` is valid or empty. None if `new` is valid, or the file of another kind.

    Comments and trailing commas count as valid JSON if `old` has them too, or is empty. For YAML, which has no parser
    here, only tabs, brackets, and the places of keys and list items are checked; of a makefile only the indentation of
    recipes, also if that of other lines in `old` is wrong.
    """
    match _form(path):
        case "JSON":
            is_strict = bool(old.strip()) and _json_fault(old) is None
            if not is_strict:
                old, new = _without_comments(old), _without_comments(new)
            return None if old.strip() and _json_fault(old) else _json_fault(new)
        case "TOML":
            return None if _toml_fault(old) else _toml_fault(new)
        case "YAML":
            return None if _yaml_fault(old) else _yaml_fault(new)
        case "make":
            return _make_fault(old, new)
        case _:
            return None


def _form(path: str) -> str | None:
    file = PurePath(path)
    return "make" if file.name in _MAKEFILES else _FORMS.get(file.suffix.lower())


def is_makefile(path: str) -> bool:
    """Return whether the name is that of a makefile."""
    return _form(path) == "make"


def with_recipe_tabs(path: str, put: str, wanted: str) -> str:
    """Return a text as it is put into a file, in a makefile with the tabs that lines of the `wanted` text begin with,
    from which it was adapted."""
    lines, asked = put.split("\n"), wanted.split("\n")
    if not is_makefile(path) or len(lines) != len(asked):
        return put
    pairs = zip(lines, asked, strict=True)
    return "\n".join(want if want[:1] == "\t" and want.strip() == line.strip() else line for line, want in pairs)


_RULE = late_pattern(r"(?![#\s])[^=#:]*::?(?![:=])")
_NO_RECIPE = late_pattern(
    r"(?:-?include|s?include|ifn?def|ifn?eq|else|endif|define|endef|export|unexport|override|private|vpath)\b|#"
    r"|[\w.$(){}-]+\s*(?:::?:?|[?+!])?=|undefine\b|\$\((?:info|warning|error|eval|call|foreach)\b"
    r"|[\w./%$(){}-]+ ?::?(?:\s|$)"
)
"""Matches lines that may be indented by spaces: rules, too, as below ifdef."""


def _make_fault(old: str, new: str) -> Fault | None:
    """Return the first line of a recipe in `new` that begins with spaces, and is not in `old`."""
    if not (after := list(_blank_recipes(new))):
        return None
    known = Counter(line for _, line in _blank_recipes(old))
    for number, line in after:
        if not known[line]:
            return Fault("make", number, "a recipe's line begins with spaces, and has to begin with a tab, \\t")
        known[line] -= 1
    return None


def _blank_recipes(text: str) -> Iterator[tuple[int, str]]:
    """Yield the lines of recipes that begin with spaces, with their numbers."""
    if ".RECIPEPREFIX" in text:
        return
    in_rule = is_continued = in_define = False
    for number, line in enumerate(text.splitlines(), start=1):
        was_continued, is_continued = is_continued, line.endswith("\\")
        words = line.split(None, 1)
        in_define = words[0] != "endef" if in_define and words else in_define or words[:1] == ["define"]
        if was_continued or in_define or not words or line.startswith("\t"):
            continue
        if not line.startswith(" "):
            in_rule = bool(_RULE.match(line)) or (in_rule and bool(_NO_RECIPE.match(line)))
        elif in_rule and not _NO_RECIPE.match(line.lstrip()):
            yield number, line


def _json_fault(text: str) -> Fault | None:
    try:
        json.loads(text.removeprefix("\ufeff"))
    except json.JSONDecodeError as error:
        return Fault("JSON", error.lineno, error.msg)
    except (ValueError, RecursionError):  # a number too long for Python; nested too deeply
        return None
    return None


_COMMENTS = late_pattern(r'("(?>(?:[^"\\\n]|\\.)*)"?)|//[^\n]*|/\*(?:.*?\*/|.*)', re.DOTALL)
_LAST_COMMA = late_pattern(r'("(?>(?:[^"\\\n]|\\.)*)"?)|,(?=\s*[\]}])')


def _without_comments(text: str) -> str:
    """Remove comments and trailing commas from JSON; line numbers are preserved."""
    bare = _COMMENTS.sub(lambda found: found[1] or "\n" * found[0].count("\n"), text)
    return _LAST_COMMA.sub(lambda found: found[1] or "", bare)


def _toml_fault(text: str) -> Fault | None:
    try:
        tomllib.loads(text.replace("\r\n", "\n"))
    except tomllib.TOMLDecodeError as error:
        message = str(error)
        line = re.search(r"at line (\d+)", message)
        last = text.rstrip().count("\n") + 1
        return Fault("TOML", int(line[1]) if line else last, message.partition(" (at")[0])
    except (ValueError, RecursionError):
        return None
    return None


_QUOTED = late_pattern(r"\"(?>(?:[^\"\\]|\\.)*)(\"?)|(?<![^\s\[{(,:-])'(?>(?:[^']|'')*)('?)")
_YAML_COMMENT = late_pattern(r"(?:^|(?<=\s))#.*")
_BLOCK_TEXT = late_pattern(r"(?:^|[:\-]\s+(?:[&!]\S+\s+)*)[|>][+\-\d]*$")
_ITEM = late_pattern(r"(?:-\s+)+(?=\S)|-$")
_KEY = late_pattern(r"[^\s\-?\[\]{},&*!|>%@`\"'][^:]*?:(?=\s|$)|\"[^\"]*\":(?=\s|$)")
_OPENS = late_pattern(r"(?::|-|\?)(?:\s+[&!]\S+)*$")


_LONGEST_YAML = 200_000  # characters


def _yaml_fault(text: str) -> Fault | None:
    if len(text) > _LONGEST_YAML:
        return None
    check = _YamlCheck()
    for number, line in enumerate(text.splitlines(), start=1):
        if reason := check.fault_of(line):
            return Fault("YAML", number, reason)
        if check.is_lost:
            return None
    return Fault("YAML", text.rstrip().count("\n") + 1, "a bracket is not closed") if check.depth > 0 else None


class _YamlCheck:
    """Checks YAML line by line. `depth`: open brackets; `is_lost`: the rest cannot be checked."""

    def __init__(self) -> None:
        self.depth = 0
        self.is_lost = False
        self._levels = [0]  # indentations of the open keys and items
        self._text_below = -1  # indentation of the key whose multi-line text follows
        self._may_open = True  # whether the next line may be indented further

    def fault_of(self, raw: str) -> str:
        """Return the error in the next line, "" if there is none."""
        indent = len(raw) - len(raw.lstrip(" "))
        if not raw.strip() or -1 < self._text_below < indent:
            return ""
        self._text_below = -1
        line = _YAML_COMMENT.sub("", _QUOTED.sub(lambda found: '""' if found[1] or found[2] else '"', raw)).strip()
        if not line:
            return ""
        if not indent and re.match(r"---|\.\.\.|%", line):
            self._levels, self._may_open, self.depth = [0], True, 0
            return ""
        self.is_lost = line.count('"') % 2 == 1 or re.match(r"[?:]\s", line) is not None
        is_inside = self.depth > 0
        self.depth += sum(map(line.count, "[{")) - sum(map(line.count, "]}"))
        if self.is_lost or is_inside:
            return ""
        if self.depth < 0:
            return "a bracket is closed that was not opened"
        if raw[indent : indent + 1] == "\t":
            return "a tab in the indentation"
        return self._fault_of_place(line, indent) or self._fault_of_value(line, indent)

    def _fault_of_place(self, line: str, indent: int) -> str:
        is_part = bool(_ITEM.match(line) or _KEY.match(line))
        if is_part or self._may_open:
            while self._levels and self._levels[-1] > indent:
                self._levels.pop()
            if indent not in self._levels:
                if not self._may_open:
                    return "its indentation fits nothing above it"
                self._levels.append(indent)
        self._may_open = bool(_OPENS.search(line))
        return ""

    def _fault_of_value(self, line: str, indent: int) -> str:
        if (item := _ITEM.match(line)) and line[item.end() :]:
            self._levels.append(indent + item.end())
            line = line[item.end() :]
        self._text_below = indent if _BLOCK_TEXT.search(line) else -1
        key = _KEY.match(line)
        value = line[key.end() :].strip() if key else ""
        if value and value[0] not in "\"'[{|>&*!" and re.search(r":(?:\s|$)", value):
            return "a second “: ” in one line; quote the text"
        return ""
