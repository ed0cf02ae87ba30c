"""What the project is: /analyze."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from localllm.base import i18n
from localllm.base.i18n import tr
from localllm.ui.report import wrapped
from localllm.ui.screen import Screen
from localllm.ui.slash.registry import Outcome, SlashCall, slash
from localllm.ui.slash.table import table
from localllm.ui.slash.waiting import saying

if TYPE_CHECKING:
    from localllm.core.project.facts import ProjectAnalysis
    from localllm.memory.sections import Language


@slash("analyze", also=("analyse",))
async def analyze(call: SlashCall) -> Outcome:
    """Show what the project is: languages, commands, folders and the habits of its code."""
    chat, screen = call.chat, call.screen
    if call.arguments.strip():
        screen.print_lines(wrapped("  ", tr("analyze.words"), "warning", screen.width))
        return
    from localllm.core.project.text import passed_over  # few chats ever ask, and each waits for its prompt

    async with saying(screen, tr("memory.analysing")):
        analysis = await chat.analyze()
    language: Language = "ja" if i18n.language() == "ja" else "en"
    _show(screen, analysis, language)
    for remark in passed_over(analysis.passed_over, language):
        screen.print_lines(wrapped("  ", remark, "warning", screen.width))
    hint = tr("analyze.hint") if analysis.files else tr("analyze.empty")
    screen.print_lines(wrapped("  ", hint, "dim", screen.width))


def _show(screen: Screen, analysis: "ProjectAnalysis", language: "Language") -> None:
    from localllm.core.project.text import as_rows

    rows = as_rows(analysis, language)
    parts: tuple[tuple[str, Sequence[tuple[str, str]]], ...] = (
        ("", rows.project),
        (tr("notes.folders"), rows.folders),
        (tr("notes.style"), rows.style),
    )
    for title, several in parts:
        if title and several:
            screen.print(("bold", f"  {title}"))
        table(screen, several)
