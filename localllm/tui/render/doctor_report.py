"""Format the findings of the doctor as lines."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from localllm import __version__
from localllm.base.i18n import N_, _
from localllm.integrations.doctor.inputs import STATUSES, Finding, Status
from localllm.text.sanitising import clean, display_width
from localllm.text.wrapping import wrap
from localllm.tui.theme import Line, Span, Style

_STATUSES = {
    "problem": N_("problem"),
    "warning": N_("warning"),
    "note": N_("info"),
    "ok": N_("ok"),
}

_STYLES: dict[Status, Style] = {"problem": "error", "warning": "warning", "note": "accent", "ok": "good"}
_LEAST_TEXT = 30  # cells; with less room beside the columns, the text is below them


def report_lines(findings: Sequence[Finding], project: Path, width: int) -> Iterator[Line]:
    """List the findings, each with its fix below it, and their number; no line is wider than `width`."""
    yield from _plain(clean(_("localllm {version} in {project}", version=__version__, project=project)), width)
    yield ()
    labels = {status: _(_STATUSES[status]) for status in STATUSES}
    status_column = max(map(display_width, labels.values())) + 2
    name_column = max((display_width(finding.name) for finding in findings), default=0) + 2
    for finding in findings:
        label = labels[finding.status]
        name = " " * (status_column - display_width(label)) + finding.name.ljust(name_column)
        yield from _rows((_STYLES[finding.status], label), name, finding, status_column + name_column, width)
    yield ()
    yield from _plain(_summary(findings), width)


def _plain(text: str, width: int) -> Iterator[Line]:
    for row in wrap(text, width):
        yield (("", row),)


def _rows(label: Span, name: str, finding: Finding, indent: int, width: int) -> Iterator[Line]:
    if width - indent < _LEAST_TEXT:
        yield label, ("", name.rstrip())
        first, *rest = _text(finding, width - 2)
        yield (("", f"  {first}"),)
        indent = 2
    else:
        first, *rest = _text(finding, width - indent)
        yield label, ("", name + first)
    for row in rest:
        yield (("", " " * indent + row),)


def _text(finding: Finding, room: int) -> Iterator[str]:
    yield from wrap(clean(finding.what), room)
    if finding.fix:
        first, *rest = wrap(clean(finding.fix), room - 2)
        yield f"→ {first}"
        yield from (f"  {line}" for line in rest)


def _summary(findings: Sequence[Finding]) -> str:
    problems = sum(finding.status == "problem" for finding in findings)
    warnings = sum(finding.status == "warning" for finding in findings)
    if not problems and not warnings:
        return _("Everything is as it should be.")
    return _(
        "Problems: {problems}, warnings: {warnings}. The fix for each follows its →.",
        problems=problems,
        warnings=warnings,
    )
