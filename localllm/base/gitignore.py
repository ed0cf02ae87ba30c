"""Match .gitignore patterns exactly as git does (gitignore(5), wildmatch).

Only single entries are judged, not the content of ignored folders, which walkers do not enter.
"""

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable
from functools import lru_cache
from itertools import accumulate, groupby, islice
from typing import NamedTuple

from localllm.base.lazy_patterns import late_pattern

Judge = Callable[[str], bool | None]
"""Judges a path (relative, with `/`; a folder's ends with `/`):
True ignores it, False re-includes it, None has no rule for it."""


MOST_RULES = 2_000
"""Maximum rules that apply to one file, the first ones, as each is matched. More ignore fewer files."""

_MOST_OF_A_WALK = 20_000  # of all .gitignore files together: parsing a rule takes as long as listing a file
_MOST_CHARACTERS = 300_000  # of all these rules: parsing ten thousand takes up to a tenth of a second


class Rules(NamedTuple):
    """The rules of one .gitignore, which apply below `prefix` ("" or ending with "/")."""

    prefix: str
    judge: Judge
    length: int


class RulesReader:
    """Reads the .gitignore files of one walk, up to a limit."""

    def __init__(self) -> None:
        self._left = _MOST_OF_A_WALK
        self._characters = _MOST_CHARACTERS

    def read(self, data: bytes, prefix: str, above: tuple[Rules, ...] = ()) -> tuple[Rules, ...]:
        """Return the rules in `data`, followed by those of the parent folders, `above`."""
        lines = data.decode("utf-8-sig", "surrogateescape").split("\n")
        lines = [line for line in lines if line.strip() and not line.startswith("#")]
        lines = lines[: min(self._left, MOST_RULES - sum(rules.length for rules in above))]
        lines = lines[: bisect_right(list(accumulate(map(len, lines))), self._characters)]
        self._left -= len(lines)
        self._characters -= sum(map(len, lines))
        found = judge(lines)
        return (Rules(prefix, found, len(lines)), *above) if found else above


def left_out(path: str, rules: tuple[Rules, ...]) -> bool:
    """Return whether the first rules that match `path` ignore it."""
    verdicts = (judge(path[len(prefix) :]) for prefix, judge, _ in rules)
    return next((verdict for verdict in verdicts if verdict is not None), False)


def judge(lines: Iterable[str]) -> Judge | None:
    """Compile the lines of a .gitignore to a judge of paths relative to its folder; the last match wins.

    None if they contain no rule.
    """
    return _verdict(_runs(tuple(lines)))


def _verdict(runs: "tuple[_Run, ...]") -> Judge | None:
    if not runs:
        return None

    def verdict(path: str) -> bool | None:
        name = path[path.rfind("/", 0, -1) + 1 :]
        for left_out, by_name, by_path in runs:
            if (by_name and by_name.fullmatch(name)) or (by_path and by_path.fullmatch(path)):
                return left_out
        return None

    return verdict


def matcher(patterns: Iterable[str]) -> Callable[[str], bool]:
    """Return a predicate for whether a file's path (relative, with `/`) matches one of `patterns`.

    Patterns are as in .gitignore (`*.py` at any depth, `src/*.py` from the top, `docs` for its whole content), and may
    contain alternatives in braces: `*.{ts,tsx}`. There is no negation by `!`. Letters count the same composed or
    not, as macOS may write が in two characters.
    """
    given = tuple(patterns)
    is_plain = all(map(str.isascii, given))
    rules = [rule for pattern in given for rule in _braced_rules(pattern if is_plain else _composed(pattern))]
    verdict = _verdict(_join(rules))

    def fits(path: str) -> bool:
        if verdict is None:
            return False
        path = path if is_plain else _composed(path)
        return bool(verdict(path)) or any(verdict(path[: slash.end()]) for slash in re.finditer("/", path))

    return fits


def _composed(text: str) -> str:
    import unicodedata  # hardly ever needed

    return unicodedata.normalize("NFC", text)


def _plain(pattern: str) -> str:
    pattern = pattern.removeprefix("./")
    return "\\" + pattern if pattern.startswith(("!", "#")) else pattern


_BRACES = late_pattern(r"\{([^{},]*+,[^{}]*+)\}")
_MOST_EXPANDED = 50_000
_LONGEST = 10_000
"""Maximum length of a pattern in characters; a longer one matches nothing."""


def _braced_rules(pattern: str) -> "list[_Rule]":
    """Expand a pattern with alternatives in braces to one rule each, limited to 50,000 characters in all: further
    braces are taken literally."""
    rules: list[_Rule] = []
    pending = [_plain(pattern)] if len(pattern) <= _LONGEST else []
    while pending:
        current = pending.pop()
        braces = _BRACES.search(current)
        choices = braces[1].split(",") if braces else []
        if braces and (len(rules) + len(pending) + len(choices)) * len(current) <= _MOST_EXPANDED:
            pending += [current[: braces.start()] + choice + current[braces.end() :] for choice in choices]
        elif rule := _rule(current):
            rules.append(rule)
    return rules


class _Rule(NamedTuple):
    left_out: bool
    name_only: bool
    regex: str


class _Run(NamedTuple):
    """Consecutive rules with the same verdict: those on the name alone, and those on the whole path."""

    left_out: bool
    by_name: re.Pattern[str] | None
    by_path: re.Pattern[str] | None


@lru_cache(maxsize=256)
def _runs(lines: tuple[str, ...]) -> tuple[_Run, ...]:
    """Compile the rules, the last first, to as few expressions as their order allows, and cache them: they are matched
    against every file of a tree, and the same .gitignore is read at each walk."""
    rules = (rule for line in lines if (rule := _rule(line)))
    return _join(list(islice(rules, MOST_RULES)))


def _join(rules: list[_Rule]) -> tuple[_Run, ...]:
    groups = [list(group) for _, group in groupby(reversed(rules), key=lambda rule: rule.left_out)]
    return tuple(
        _Run(
            group[0].left_out,
            _either([rule.regex for rule in group if rule.name_only]),
            _either([rule.regex for rule in group if not rule.name_only]),
        )
        for group in groups
    )


def _either(regexes: list[str]) -> re.Pattern[str] | None:
    return re.compile("|".join(regexes), re.DOTALL) if regexes else None


def _rule(line: str) -> _Rule | None:
    """Parse one line; None for an empty line, a comment, an overlong pattern and one that never matches."""
    line = line.rstrip("\r\n")
    pattern = line.rstrip(" ")
    if len(pattern) < len(line) and (len(pattern) - len(pattern.rstrip("\\"))) % 2:
        pattern += " "
    if pattern.startswith("#") or len(pattern) > _LONGEST:
        return None
    left_out = not pattern.startswith("!")
    pattern = pattern if left_out else pattern[1:]
    folders_only = pattern.endswith("/")
    pattern = pattern.removesuffix("/")
    name_only = "/" not in pattern
    regex = _translate(pattern.removeprefix("/"))
    if regex is None:
        return None
    return _Rule(left_out, name_only, f"(?:{regex})(?<!/){'/' if folders_only else '/?'}")


_TOKEN = late_pattern(
    r"""(?P<folders>(?:^|(?<=/))\*\*+/) | (?P<rest>(?:^|(?<=/))\*\*+$) | (?P<star>\*+) | (?P<one>\?)
      | \[(?P<negated>[!^]?)(?P<members>\]?(?:\\.|\[:\w+:\]|[^\]\\])*)\] | \\(?P<escaped>.) | (?P<plain>[^\[\\])""",
    re.VERBOSE | re.DOTALL,
)


def _translate(pattern: str) -> str | None:
    """Translate a glob to a regular expression; None if it is invalid in git and so matches nothing."""
    sections: list[list[list[str]]] = [[[]]]
    position = 0
    is_sound = True
    while position < len(pattern):
        token = _TOKEN.match(pattern, position)
        if token is None:
            return None
        position = token.end()
        if token.lastgroup == "folders":
            sections.append([[]])
        elif token.lastgroup == "star":
            sections[-1].append([])
        else:
            sections[-1][-1].append(piece := _piece(token))
            is_sound = is_sound and (token.lastgroup != "members" or _compiles(piece))
    return (_joined([["".join(piece) for piece in section] for section in sections]) or None) if is_sound else None


def _compiles(regex: str) -> bool:
    try:
        return bool(re.compile(regex))
    except re.error:  # a reversed range
        return False


def _joined(sections: list[list[str]]) -> str:
    """Join the sections between each `**/`, and the pieces between stars within them, to one expression.

    A piece between two stars, or a section between two `**/`, is matched once (atomically): the first position is as
    good as any later one, as a piece has a fixed length and a section a fixed number of names. So matching takes at
    most time proportional to pattern times path.
    """
    parts: list[str] = []
    for number, (first, *rest) in enumerate(sections):
        middle = "".join(f"(?>[^/]*?{piece})" for piece in rest[:-1])
        section = f"{first}{middle}" + "".join(f"[^/]*{piece}" for piece in rest[-1:])
        if number == 0:
            parts.append(section)
        elif number < len(sections) - 1:
            parts.append(f"(?>(?:[^/]++/)*?{section})")
        else:
            parts.append(f"(?:[^/]++/)*{section}")
    return "".join(parts)


def _piece(token: re.Match[str]) -> str:
    match token.lastgroup:
        case "rest":
            return ".+"
        case "one":
            return "[^/]"
        case "members":
            return f"(?!/)[{'^' if token['negated'] else ''}{_members(token['members'])}]"
        case _:
            return re.escape(token["escaped"] or token["plain"])


_CLASSES = {
    "alnum": "a-zA-Z0-9",
    "alpha": "a-zA-Z",
    "blank": r" \t",
    "cntrl": r"\x00-\x1f\x7f",
    "digit": "0-9",
    "graph": r"\x21-\x7e",
    "lower": "a-z",
    "print": r"\x20-\x7e",
    "punct": r"!-/:-@\[-`{-~",
    "space": r"\s",
    "upper": "A-Z",
    "xdigit": "0-9a-fA-F",
}


def _members(text: str) -> str:
    """Translate the inside of a bracket: expand POSIX classes, escape what only Python treats specially."""

    def plain(found: re.Match[str]) -> str:
        if name := found["name"]:
            return _CLASSES.get(name, "z-a")  # unknown to git too: invalid
        return re.escape(found["escaped"] or found["other"])

    return re.sub(r"\[:(?P<name>\w+):\]|\\(?P<escaped>.)|(?P<other>[^-])", plain, text, flags=re.DOTALL)
