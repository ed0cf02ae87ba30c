"""The LOCALLLM.md that `localllm init` makes or adds to: what an analysis tells about the project."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from localllm.base import i18n
from localllm.base.errors import LocalLLMError
from localllm.base.i18n import tr
from localllm.base.paths import project_folder
from localllm.config.schema import ProjectSettings
from localllm.memory.document import Document
from localllm.memory.document_texts import Language, in_language
from localllm.memory.memory_file import NAME, MemoryFile
from localllm.memory.project_description import Described, Lines, describe, keep_lines, known_lines, missing
from localllm.memory.sections import SectionKind, heading
from localllm.project.analyzer import analyze_project
from localllm.project.facts import ProjectAnalysis
from localllm.project.report import passed_over, to_sections

ANALYSIS_SECONDS = 5.0
"""How long an analysis may take that somebody waits for."""

Analyse = Callable[[Path], ProjectAnalysis]
"""Gives what the project in a folder is. Raises OSError."""


class ProjectNotes(NamedTuple):
    """The text of the file, sentences that say what the analysis did not look at, and the lines in it that are ours."""

    text: str
    remarks: tuple[str, ...] = ()
    lines: Lines = {}  # noqa: RUF012 - read only


class Notes(NamedTuple):
    """What was done to a file that was there: the names of the sections, and sentences about it."""

    added: tuple[str, ...] = ()
    refreshed: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()


def analysed(folder: Path, seconds: float = ANALYSIS_SECONDS, exclude: Sequence[str] | None = None) -> ProjectAnalysis:
    """What the project in `folder` is; what is kept beside its sessions is used. `exclude`: as
    project.exclude_patterns, None for the default. Raises OSError. Not within an event loop."""
    left_out = ProjectSettings().exclude_patterns if exclude is None else exclude
    return analyze_project(folder, left_out, cache=project_folder(folder) / "analysis.msgpack", seconds=seconds)


def project_notes(folder: Path, analyse: Analyse = analysed) -> ProjectNotes:
    """LOCALLLM.md for `folder`, in the current language. Raises OSError."""
    language: Language = "ja" if i18n.language() == "ja" else "en"
    analysis = analyse(folder)
    lines = to_sections(analysis, language)
    sections: dict[SectionKind, tuple[str, ...]] = {**lines, "todo": (in_language("todo_hint", language),)}
    parts = ["\n".join((f"## {heading(kind, language)}", "", *some, "")) for kind, some in sections.items()]
    text = f"# {in_language('title', language)}\n\n" + "\n".join(parts)
    return ProjectNotes(text, passed_over(analysis.passed_over, language), lines)


def remember_lines(folder: Path, lines: Lines) -> None:
    """Know again later which lines of the memory file are ours."""
    keep_lines(_lines_file(folder), lines)


def lacks_notes(folder: Path, name: str = NAME) -> bool:
    """Whether `add_notes`, or making the file, would want an analysis."""
    try:
        return bool(missing(MemoryFile(folder, name).read()))
    except LocalLLMError:
        return False


def add_notes(folder: Path, name: str = NAME, *, refresh: bool = False, analyse: Analyse = analysed) -> Notes:
    """Add to the project's memory file, which is there, the sections of an analysis that it lacks; with `refresh` also
    bring those of our lines up to date that nobody has changed.

    A file that cannot be used is left alone, and a sentence says why. Raises OSError.
    """
    file, path = MemoryFile(folder, name), _lines_file(folder)
    try:
        document = file.read()
        if not refresh and not missing(document):
            return Notes()
        analysis, language = analyse(folder), document.language
        lines, known = to_sections(analysis, language), known_lines(path)
        drop = not {note.reason for note in analysis.passed_over} & {"files", "seconds", "unread"}
        done = file.edit(lambda document: describe(document, lines, known, refresh=refresh, drop=drop))
    except LocalLLMError as error:
        return Notes(remarks=(f"{error.what} {error.why}".strip(),))
    touched: Lines = {kind: some for kind, some in lines.items() if kind in (*done.added, *done.refreshed)}
    keep_lines(path, touched, without=done.dropped)
    return _told(done, file.read(), passed_over(analysis.passed_over, _spoken()))


def _told(done: Described, document: Document, remarks: tuple[str, ...]) -> Notes:
    if done.foreign:
        remarks = (*remarks, tr("init.foreign", names=_comma().join(_titles(done.foreign, document))))
    return Notes(_titles(done.added, document), _titles(done.refreshed, document), remarks)


def _titles(kinds: tuple[SectionKind, ...], document: Document) -> tuple[str, ...]:
    return tuple(heading(kind, document.language) for kind in kinds)


def _spoken() -> Language:
    return "ja" if i18n.language() == "ja" else "en"


def _comma() -> str:
    return "、" if _spoken() == "ja" else ", "


def _lines_file(folder: Path) -> Path:
    return project_folder(folder) / "init.json"
