"""The LOCALLLM.md that `localllm init` makes: what an analysis tells about the project."""

from pathlib import Path
from typing import NamedTuple

from localllm.base import i18n
from localllm.base.config.schema import ProjectSettings
from localllm.base.i18n import tr
from localllm.core.project_analyzer import analyze_project
from localllm.core.project_text import passed_over, to_sections
from localllm.memory.sections import Language, heading

_SECONDS = 5.0  # somebody waits


class ProjectNotes(NamedTuple):
    """The text of the file, and sentences that say what the analysis did not look at."""

    text: str
    remarks: tuple[str, ...] = ()


def project_notes(folder: Path, seconds: float = _SECONDS) -> ProjectNotes:
    """LOCALLLM.md for `folder`, in the current language. Raises OSError. Not within an event loop."""
    language: Language = "ja" if i18n.language() == "ja" else "en"
    analysis = analyze_project(folder, ProjectSettings().exclude_patterns, seconds=seconds)
    sections = to_sections(analysis, language)
    sections["todo"] = (tr("notes.todo_hint"),)
    parts = ["\n".join((f"## {heading(kind, language)}", "", *lines, "")) for kind, lines in sections.items()]
    return ProjectNotes(f"# {tr('notes.title')}\n\n" + "\n".join(parts), passed_over(analysis.passed_over, language))
