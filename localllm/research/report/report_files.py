"""Write a report's files to the run's folder, and render its export formats."""

from collections.abc import Callable
from pathlib import Path
from typing import Literal, NamedTuple

import msgspec

from localllm.base.errors import LocalLLMError, ResearchError
from localllm.base.files import write_own
from localllm.base.jsontext import encode_json
from localllm.research.records import ResearchState
from localllm.research.report.report import Report, build_report
from localllm.research.report.report_html import to_html
from localllm.research.report.report_markdown import to_markdown
from localllm.research.report.report_metadata import metadata_of, to_yaml

Format = Literal["md", "html", "json"]


class ReportFiles(NamedTuple):
    """The paths of a report's files."""

    report: Path
    metadata: Path


def report_files(folder: Path) -> ReportFiles:
    """Return the paths of the run's files in `folder`; they need not exist."""
    return ReportFiles(folder / f"report-{folder.name}.md", folder / f"report-{folder.name}.meta.yaml")


def to_json(report: Report) -> str:
    """Return the report as JSON; docs/research.md lists the fields."""
    return msgspec.json.format(encode_json(report), indent=2).decode() + "\n"


_RENDERERS: dict[Format, Callable[[Report], str]] = {"md": to_markdown, "html": to_html, "json": to_json}
FORMATS: tuple[Format, ...] = tuple(_RENDERERS)


def render(report: Report, form: Format) -> str:
    """Render the report in one of the `FORMATS`."""
    return _RENDERERS[form](report)


def write_report(state: ResearchState, folder: Path) -> ReportFiles:
    """Write the report and its metadata, deterministically from the state. Raises ResearchError (research_disk)."""
    report, files = build_report(state), report_files(folder)
    _write(files.report, to_markdown(report), state)
    _write(files.metadata, to_yaml(report.metadata), state)
    return files


def write_failure(state: ResearchState, folder: Path, error: LocalLLMError) -> None:
    """Write the metadata of a failed run; an existing report is kept."""
    _write(report_files(folder).metadata, to_yaml(metadata_of(state, error=error)), state)


def _write(file: Path, text: str, state: ResearchState) -> None:
    try:
        write_own(file, text.encode("utf-8", "replace"))
    except OSError as error:
        reason = error.strerror or str(error)
        raise ResearchError("research_disk", id=state.id, folder=file.parent, reason=reason) from error
