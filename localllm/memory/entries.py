"""Parse and format the entries of LOCALLLM.md, with the notation of TODOs."""

import re
import textwrap
import unicodedata
from itertools import pairwise
from typing import Literal, NamedTuple

from localllm.base.errors import ToolExecutionError
from localllm.base.lazy_patterns import late_pattern
from localllm.text.sanitising import clean

State = Literal["planned", "doing", "done", "dropped"]
Priority = Literal["high", "medium", "low"]

OPEN: tuple[State, ...] = ("doing", "planned")
PRIORITIES: tuple[Priority, ...] = ("high", "medium", "low")

_MARKS: dict[State, tuple[str, str, str]] = {
    "planned": (" ", "todo", "予定"),
    "doing": ("~", "doing", "進行中"),
    "done": ("x", "done", "完了"),
    "dropped": ("-", "dropped", "中止"),
}
"""The written forms of a state: checkbox, English word, Japanese word."""

_READ: dict[State, str] = {
    "planned": "|todo|open|planned|予定|未着手|未完了|未対応|未",
    "doing": "~|/|doing|wip|in progress|進行中|作業中|対応中|着手",
    "done": "x|✓|✔|☑|done|完了|済|済み|対応済|対応済み",
    "dropped": "-|dropped|cancelled|canceled|won't do|wontfix|中止|取消|取り消し|取りやめ|見送り",
}
_STATE_OF: dict[str, State] = {mark: state for state, marks in _READ.items() for mark in marks.split("|")}

_MARK = re.compile(r"([\[［【])([^\[\]［］【】]{0,12})([\]］】])(?:(?<!\])|(?![(:\[]))(\s*)")
PRIORITY_OF: dict[str, Priority] = {
    "high": "high", "高": "high", "medium": "medium", "中": "medium", "low": "low", "低": "low"
}  # fmt: skip
_WRITTEN: dict[Priority, tuple[str, str]] = {"high": ("high", "高"), "medium": ("medium", "中"), "low": ("low", "低")}
_DATE = r"\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])"
_DATES = re.compile(rf"(?:\s{{1,9}}\+(?P<added>{_DATE}))?(?:\s{{1,9}}[✓✗](?P<finished>{_DATE}))?$")
_IN_BRACKETS = r"[(（](?P<priority>high|medium|low|高|中|低)[)）]"
_PRIORITY = re.compile(rf"\s{{0,9}}{_IN_BRACKETS}$", re.IGNORECASE)
_LAST = re.compile(rf"(?:\s{{1,9}}(?P<sign>[+✓✗])(?P<date>{_DATE})|\s{{0,9}}{_IN_BRACKETS})$", re.IGNORECASE)
_BULLET = re.compile(r"^\s*[-*+・•]\s+")


class Parts(NamedTuple):
    """The parsed first line of an item: `mark` with brackets and the space after it, empty if there is none."""

    mark: str
    state: State
    text: str
    priority: Priority | None
    added: str
    finished: str
    tail: str

    def line(self, *, japanese: bool) -> str:
        """Return the line's text after the item's marker."""
        priority = f" ({_WRITTEN[self.priority][japanese]})" if self.priority else ""
        added = f" +{self.added}" if self.added else ""
        sign = "✓" if self.state == "done" else "✗"
        finished = f" {sign}{self.finished}" if self.finished else ""
        return f"{self.mark}{self.text}{priority}{added}{finished}{self.tail}"


def parse(content: str) -> Parts:
    """Parse the first line of an item, as in the file after its marker."""
    bare = content.rstrip()
    tail = content[len(bare) :]
    mark, state = "", "planned"
    if (match := _MARK.match(bare)) and (known := _state(match)):
        mark, state = match[0], known
        bare = bare[match.end() :]
    added = finished = ""
    if dates := _DATES.search(bare):
        added, finished = dates["added"] or "", dates["finished"] or ""
        bare = bare[: dates.start()]
    priority = None
    if (match := _PRIORITY.search(bare)) and match.start():
        priority = PRIORITY_OF[match["priority"].lower()]
        bare = bare[: match.start()]
    return Parts(mark, state, bare, priority, added, finished, tail)


def parse_task(text: str) -> Parts:
    """Parse a task as entered by a user: notation of the file counts, in any order, with or without a list marker.

    `state` is by the mark, else by the end date. Of two dates or priorities the last counts, and the other is text; so
    is notation without which no text would be left.
    """
    bare = without_bullet(text.strip())
    mark, state = "", "planned"
    if (match := _MARK.match(bare)) and (known := _state(match)) and _says_anything(bare[match.end() :]):
        mark, state, bare = match[0], known, bare[match.end() :]
    found: dict[str, str] = {}
    while (match := _LAST.search(bare)) and _says_anything(bare[: match.start()]):
        kind, value = match["sign"] or "priority", match["date"] or PRIORITY_OF[(match["priority"] or "").lower()]
        if found.setdefault(kind, value) != value:
            break
        bare = bare[: match.start()]
    finished = found.get("✓") or found.get("✗", "")
    if finished and state in OPEN:
        state = "done" if "✓" in found else "dropped"
    priority = PRIORITY_OF.get(found.get("priority", ""))
    return Parts(mark, state, bare, priority, found.get("+", ""), finished, "")


def without_bullet(text: str) -> str:
    """Return a line without its list marker."""
    bare = _BULLET.sub("", text)
    return bare if _says_anything(bare) else text


def ends_in_priority(text: str) -> Priority | None:
    """Return the priority that a text ends with, if there is text before it."""
    match = _PRIORITY.search(text)
    return PRIORITY_OF[match["priority"].lower()] if match and _says_anything(text[: match.start()]) else None


def _says_anything(text: str) -> bool:
    return any(character.isalnum() for character in text)


def _state(mark: re.Match[str]) -> State | None:
    """Return the state of a mark. A checkbox must be followed by white space."""
    name = unicodedata.normalize("NFKC", mark[2]).strip().lower()
    if len(name) <= 1 and name.isascii() and not mark[4] and mark.end() < len(mark.string):
        return None
    return _STATE_OF.get(name)


def restyled(mark: str, state: State) -> str:
    """Return the mark for another state in the same style: checkbox, English or Japanese word, brackets."""
    match = _MARK.match(mark)
    if match is None:
        return f"[{_MARKS[state][0]}] "
    word = match[2].strip()
    style = 0 if len(word) <= 1 and word not in ("未", "済") else 1 if word.isascii() else 2
    return f"{match[1]}{_MARKS[state][style]}{match[3]}{match[4] or ('' if style == 2 else ' ')}"


_LONGEST_FOLDED = 2_000  # characters: normalising long runs of accents takes quadratic time


_MARKUP = late_pattern(
    r"(?im)(?<!\\)(?=<(?:/?(?:img|image|picture|source|i?frame|object|embed|video|audio|script|link|style|svg|input|body"
    r"|table|t[dhr]|meta|base)[\s/>]|[a-z][\w-]{0,30}[\s/][^<>]{0,300}=))"
    r"|^(?:[ \t>*+-]|\d{1,9}[.)][ \t]){0,20}(?=\[[^\[\]]{1,300}\]:\s{0,9}\S{0,300}[:/\\&])"
)
"""Matches before HTML that makes a preview of the file fetch an address, and before the address of a picture elsewhere.
A model can put into an address what it has read."""

_BRACKET = late_pattern(r"\\.|[\[\]]", re.DOTALL)


def _without_pictures(text: str) -> str:
    """Put a backslash before pictures and HTML with an address. The definition of `![a]` may be in another item."""
    opened, pictures = list[int](), list[int]()
    for found in _BRACKET.finditer(text):
        if found[0] == "[":
            opened.append(found.start())
        elif found[0] == "]" and opened and text[(start := opened.pop()) - 1 : start] == "!":
            is_macro = re.match(r"\w", text[max(start - 2, 0)]) and not text.startswith(("(", "["), found.end())
            pictures += [] if is_macro else [start]  # vec![1, 2]
    ends = [0, *sorted(pictures), len(text)]
    return _MARKUP.sub(r"\g<0>\\", "\\".join(text[begin:end] for begin, end in pairwise(ends)))


def tidy(text: str) -> list[str]:
    """Normalise a text to the lines of an item: no invisible characters, outer blank lines or first indentation, and no
    picture.

    ToolExecutionError memory_text_empty if the first line has no letter or digit.
    """
    lines = _without_pictures(clean(re.sub(r"\r\n?", "\n", text))).strip().split("\n")
    title = " ".join(lines[0].split("\t")).strip()
    if not any(character.isalnum() for character in title):
        raise ToolExecutionError("memory_text_empty")
    rest = textwrap.dedent("\n".join(lines[1:])).split("\n") if len(lines) > 1 else []
    return [title, *(line.rstrip() for line in rest)]


def on_one_line(text: str) -> str:
    """Return a text on one line. Raises the errors of `tidy`."""
    return " ".join(" ".join(tidy(text)).split())


def plain(text: str) -> str:
    """Normalise a text for comparison: width, case and white space, in a very long one only white space."""
    if len(text) > _LONGEST_FOLDED:
        return " ".join(text.split())
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())
