"""Write a report's files into the run's folder, and render it in every form it is exported in."""

from collections.abc import Callable
from pathlib import Path
from typing import Literal, NamedTuple

import msgspec

from localllm.base.errors import LocalLLMError, ResearchError
from localllm.base.files import write_own
from localllm.base.jsontext import encode_json
from localllm.research.records import ResearchState
from localllm.research.report import Report, build_report
from localllm.research.report_html import to_html
from localllm.research.report_markdown import to_markdown
from localllm.research.report_metadata import metadata_of, to_yaml

Format = Literal["md", "html", "json"]


class ReportFiles(NamedTuple):
    """Where the files of a report are."""

    report: Path
    metadata: Path


def report_files(folder: Path) -> ReportFiles:
    """The files of the run in `folder`, there or not."""
    return ReportFiles(folder / f"report-{folder.name}.md", folder / f"report-{folder.name}.meta.yaml")


def to_json(report: Report) -> str:
    """The report as JSON; docs/research.md has the fields."""
    return msgspec.json.format(encode_json(report), indent=2).decode() + "\n"


_RENDERERS: dict[Format, Callable[[Report], str]] = {"md": to_markdown, "html": to_html, "json": to_json}
FORMATS: tuple[Format, ...] = tuple(_RENDERERS)


def render(report: Report, form: Format) -> str:
    """The report as text in one of the `FORMATS`."""
    return _RENDERERS[form](report)


def write_report(state: ResearchState, folder: Path) -> ReportFiles:
    """Write the report and its metadata; the same state gives the same bytes. Raises ResearchError (research_disk)."""
    report, files = build_report(state), report_files(folder)
    _write(files.report, to_markdown(report), state)
    _write(files.metadata, to_yaml(report.metadata), state)
    return files


def write_failure(state: ResearchState, folder: Path, error: LocalLLMError) -> None:
    """Write the metadata of a run that an error ended; a report of it that is there stays."""
    _write(report_files(folder).metadata, to_yaml(metadata_of(state, error=error)), state)


def _write(file: Path, text: str, state: ResearchState) -> None:
    try:
        write_own(file, text.encode("utf-8", "replace"))
    except OSError as error:
        reason = error.strerror or str(error)
        raise ResearchError("research_disk", id=state.id, folder=file.parent, reason=reason) from error
