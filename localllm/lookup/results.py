"""Reading what the tools answered: the text a model is given, taken apart by its structure, in either language."""

import re
from collections.abc import Iterator
from functools import cache

import msgspec

from localllm.base.i18n.errors import ERRORS
from localllm.base.i18n.messages import MESSAGES

_HIT = re.compile(r"(.+?):(\d+): (.*)")
_FOLDER = re.compile(r"(.*/) ?[(（](\d+)\D*[)）]")
_RANGE = re.compile(r" ?[(（]\D*\d+\D+\d+\D.*[)）]$")
_OUTLINE = re.compile(r"( *)(\d+)-(\d+) (\S+) (.+?)(?: \((\d+)\))?$")
_STATUS = re.compile(r"  (\S{1,2}) (.+)")


class Hit(msgspec.Struct, frozen=True):
    """A line of a file that a search found."""

    path: str
    line: int
    text: str


class Found(msgspec.Struct, frozen=True):
    """The lines a search found; `truncated`: there are more."""

    hits: tuple[Hit, ...]
    truncated: bool


class Listing(msgspec.Struct, frozen=True):
    """Files by name, and folders with how many files are below them."""

    files: tuple[str, ...]
    folders: dict[str, int]

    @property
    def total(self) -> int:
        """All files."""
        return len(self.files) + sum(self.folders.values())


class Outlined(msgspec.Struct, frozen=True):
    """A definition of a file's outline: its lines, its kind, its name with what it is defined in."""

    start: int
    end: int
    kind: str
    name: str
    depth: int


def read_hits(text: str) -> Found:
    """The lines of search_files. What is no `path:line: text` is a note; one of them says that there are more."""
    lines = text.split("\n")
    hits = tuple(Hit(m[1], int(m[2]), m[3]) for line in lines if (m := _HIT.fullmatch(line)))
    return Found(hits, truncated=bool(hits) and any(line in MESSAGES["search.more"] for line in lines))


def is_folder(path: str, text: str) -> bool:
    """Whether read_file found a folder at `path`, and told what is in it."""
    return text.partition("\n")[0] in [message.format(path=path) for message in MESSAGES["files.is_folder"]]


def read_listing(text: str) -> Listing:
    """The names of list_files."""
    files: list[str] = []
    folders: dict[str, int] = {}
    for line in filter(None, text.split("\n")):
        if folder := _FOLDER.fullmatch(line):
            folders[folder[1]] = int(folder[2])
        elif not line.endswith("/") and not (line[0] == "[" and line[-1] == "]"):
            files.append(line)
    return Listing(tuple(files), folders)


def read_lines(path: str, text: str, start: int = 1) -> dict[int, str]:
    """The lines of read_file by their numbers, asked for from `start` on. A part of a file has a heading, and notes in
    brackets behind it."""
    lines = text.split("\n")
    if not lines[0].startswith(path) or not _RANGE.fullmatch(lines[0][len(path) :]):
        if len(lines) == 1 and lines[0].startswith("[") and path in lines[0]:
            return {}  # the file is empty
        return dict(enumerate(lines, 1))
    body = lines[1:]
    while body and re.fullmatch(r"\[.*\d.*\]", body[-1]):
        body.pop()
    return dict(enumerate(body, start))


def read_outline(text: str) -> list[Outlined]:
    """The definitions of analyze_code; names of nested ones are dotted."""
    around: list[str] = []
    found: list[Outlined] = []
    for line in text.split("\n"):
        if match := _OUTLINE.fullmatch(line):
            depth = len(match[1]) // 2
            around = [*around[:depth], match[5]]
            found.append(Outlined(int(match[2]), int(match[3]), match[4], ".".join(around), depth))
    return found


def read_changes(text: str) -> list[tuple[str, str]]:
    """The letters and paths of git_status."""
    return [(match[1], match[2]) for line in text.split("\n") if (match := _STATUS.fullmatch(line))]


def error_key(text: str) -> str:
    """The catalogue's key of the error that `text` is, "" where it is the result of a call that went well."""
    if len(text) > _LONGEST_ERROR:
        return ""
    return next((key for key, pattern in _error_patterns() if pattern.fullmatch(text)), "")


_LONGEST_ERROR = 20_000
_OF_TOOLS = ("E17", "E8", "E9")
_OF_MANY_LINES = frozenset({"closest", "feedback", "hint", "reason", "text"})


@cache
def _error_patterns() -> list[tuple[str, re.Pattern[str]]]:
    """The most specific ones first: those with the most text of their own."""
    patterns = [
        (key, " ".join(part for part in said if part))
        for key, (code, *languages) in ERRORS.items()
        if code.startswith(_OF_TOOLS)
        for said in languages
    ]
    patterns.sort(key=lambda pattern: -len(re.sub(r"\{.*?\}", "", pattern[1])))
    return [(key, _pattern(form)) for key, form in patterns]


def message_fields(key: str, text: str) -> dict[str, str] | None:
    """What fills the places of the catalogue's message `key` in `text`, in either language; None where it is not it."""
    return next((match.groupdict() for pattern in _message_patterns(key) if (match := pattern.fullmatch(text))), None)


@cache
def _message_patterns(key: str) -> list[re.Pattern[str]]:
    return [_pattern(form) for form in MESSAGES[key]]


def _pattern(form: str) -> re.Pattern[str]:
    seen: set[str] = set()
    return re.compile("".join(_pieces(form.rstrip(), seen)))


def _pieces(form: str, seen: set[str]) -> Iterator[str]:
    """A form of the catalogue as parts of a pattern: every place may hold anything, also nothing."""
    for text, name, counted in re.findall(r"([^{]*)(?:\{(\w+)(?::\?([^}]*)|[^}]*)\})?", form):
        escaped = re.escape(text)
        yield escaped[:-2] + r"(?:\ )?" if name and escaped.endswith("\\ ") else escaped
        if counted:
            yield f"(?:{'|'.join(map(re.escape, counted.split('/')))})"
        elif name:
            anything = "(?s:.*?)" if name in _OF_MANY_LINES else ".*?"
            yield f"(?P={name})" if name in seen else f"(?P<{name}>{anything})"
            seen.add(name)
