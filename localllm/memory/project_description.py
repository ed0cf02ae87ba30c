"""Update the project's description in LOCALLLM.md: add missing sections and refresh generated lines.

A line counts as generated as long as it is unchanged; all lines ever generated are stored beside the sessions. All
others are the user's: they stay, and what the user removed is not put back.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import msgspec

from localllm.base.errors import ConfigurationError
from localllm.base.files import write_own
from localllm.base.i18n import Phrase
from localllm.base.jsontext import decode_json
from localllm.base.regular_files import read_regular
from localllm.memory.document import Document
from localllm.memory.section_kinds import SectionKind

KINDS: tuple[SectionKind, ...] = ("dna", "folders", "style")
"""The sections filled in by an analysis."""

_MOST_LINES = 2_000  # of a section that are remembered
_LARGEST = 4_000_000  # bytes
_LABEL = re.compile(r"\s*[-*+] (?P<label>.+?)(?:: | - )")

Lines = Mapping[SectionKind, Sequence[str]]


class Described(NamedTuple):
    """The changes of the sections. `foreign`: those without known generated lines; `dropped`:
    lines removed because they no longer apply."""

    added: tuple[SectionKind, ...] = ()
    refreshed: tuple[SectionKind, ...] = ()
    foreign: tuple[SectionKind, ...] = ()
    dropped: tuple[str, ...] = ()


def missing(document: Document) -> list[SectionKind]:
    """Return the sections that are missing or empty."""
    return [kind for kind in KINDS if not document.body(kind)]


def describe(
    document: Document, lines: Lines, known: Lines, *, refresh: bool, drop: bool = True
) -> tuple[Document, Described]:
    """Add missing sections; with `refresh` update generated lines, with `drop` remove obsolete ones.

    `known`: the lines ever generated. Raises ConfigurationError memory_layout if existing content would be parsed
    differently.
    """
    lacking = missing(document)
    changed = document
    for kind in lacking:
        changed = changed.with_body(kind, lines[kind])
    if document.pieces() - changed.pieces() or not all(map(changed.body, lacking)):
        raise ConfigurationError(
            "memory_layout", reason=Phrase("What would be written would be read back as something else")
        )
    added = Described(tuple(lacking))
    return _refreshed(changed, lines, known, added, drop=drop) if refresh else (changed, added)


def _refreshed(
    document: Document, lines: Lines, known: Lines, done: Described, *, drop: bool
) -> tuple[Document, Described]:
    for kind in KINDS:
        if kind in done.added:
            continue
        now, ours = _bare(document, kind), known.get(kind, ())
        if not {*now} & {*ours}:
            done = done._replace(foreign=(*done.foreign, kind))
        elif edits := [edit for edit in _edits(now, lines[kind], ours) if drop or edit.lines]:
            document = _edited(document, kind, edits)
            dropped = (now[edit.start] for edit in edits if edit.end > edit.start and not edit.lines)
            done = done._replace(refreshed=(*done.refreshed, kind), dropped=(*done.dropped, *dropped))
    return document, done


def _bare(document: Document, kind: SectionKind) -> list[str]:
    """Return the lines of a section without their newlines."""
    section = document.sections[kind]
    return [line.rstrip("\r\n") for line in document.lines(section.body, section.end)]


class _Edit(NamedTuple):
    """Replacement of the lines from `start` to `end` of a section."""

    start: int
    end: int
    lines: list[str]


def _edited(document: Document, kind: SectionKind, edits: Iterable[_Edit]) -> Document:
    body = document.sections[kind].body
    for edit in sorted(edits, reverse=True):
        document = document.with_lines(body + edit.start, body + edit.end, edit.lines)
    return document


def _edits(now: Sequence[str], new: Sequence[str], known: Collection[str]) -> list[_Edit]:
    """Return the edits that update a section: generated lines are replaced or removed by label.
    New lines come after their predecessor in `new`."""
    wanted = dict(zip(_labels(new), new, strict=True))
    labels = _labels(now)
    ours = [bool(line.strip()) and line in known for line in now]
    edits = [
        _Edit(at, at + 1, [wanted[label]] if label in wanted else [])
        for at, label in enumerate(labels)
        if ours[at] and wanted.get(label) != now[at] and (label in wanted or not _carries(at, now, ours))
    ]
    places = {label: at for at, label in enumerate(labels)}
    once = {label for line in known for label in _labels([line])}
    inserted: dict[int, list[str]] = defaultdict(list)
    place = next((at for at, line in enumerate(now) if line.strip()), len(now))
    for label, line in wanted.items():
        if label in places:
            place = _behind(places[label], now, ours)
        elif label not in once:
            inserted[place].append(line)
    return [*edits, *(_Edit(at, at, lines) for at, lines in inserted.items())]


def _labels(lines: Sequence[str]) -> list[str]:
    """Return the label of each line: the words before its colon or dash, else the line; with a counter."""
    seen: Counter[str] = Counter()
    labels: list[str] = []
    for line in lines:
        found = _LABEL.match(line)
        label = found["label"] if found else line.strip()
        seen[label] += 1
        labels.append(f"{label}\0{seen[label]}")
    return labels


def _carries(at: int, now: Sequence[str], ours: Sequence[bool]) -> bool:
    """Return whether a line of the user's is nested under this one."""
    return _behind(at, now, ours) > at + 1


def _behind(at: int, now: Sequence[str], ours: Sequence[bool]) -> int:
    """Return the index after a line and the user's lines nested under it."""
    depth, end = _depth(now[at]), at + 1
    while end < len(now) and now[end].strip() and not ours[end] and _depth(now[end]) > depth:
        end += 1
    return end


def _depth(line: str) -> int:
    return len(line) - len(line.lstrip())


# --- generated lines


def known_lines(path: Path) -> dict[SectionKind, list[str]]:
    """Return the generated lines of each section from the file `path`; none if it cannot be read."""
    with suppress(OSError, msgspec.DecodeError):
        return decode_json(read_regular(path, _LARGEST), dict[SectionKind, list[str]])
    return {}


def keep_lines(path: Path, lines: Lines, *, without: Collection[str] = ()) -> None:
    """Add lines to the generated ones. If they cannot be stored, they will count as the user's."""
    known = known_lines(path)
    for kind, several in lines.items():
        earlier = [line for line in known.get(kind, ()) if line not in without]
        known[kind] = list(dict.fromkeys([*earlier, *several]))[-_MOST_LINES:]
    with suppress(OSError):
        write_own(path, msgspec.json.encode(known))
