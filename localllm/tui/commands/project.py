"""Commands on the project: /analyze, /map and /init."""

import asyncio
from collections.abc import Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from localllm.base import i18n
from localllm.base.i18n import N_, _, ngettext
from localllm.base.paths import SETTINGS_FILE
from localllm.text.sanitising import clean
from localllm.tui.commands.context import ChatContext
from localllm.tui.commands.registry import Choice, Outcome, SlashCall, saying, show_forms, slash, table
from localllm.tui.render.report import wrapped
from localllm.tui.render.screen import Screen
from localllm.tui.theme import Line, Style

if TYPE_CHECKING:
    from localllm.app.init import Step
    from localllm.memory.document_texts import Language
    from localllm.project.facts import ProjectAnalysis

_DONE = {
    "folder": N_("In {folder}:"),
    "made": N_("created"),
    "kept": N_("already there, left as it is"),
    "link": N_("is a link, left alone"),
    "moved": N_("moved"),
    "added": N_("added"),
    "refreshed": N_("updated"),
}


@slash("analyze", also=("analyse",))
async def analyze(call: SlashCall) -> Outcome:
    """Show what the project is: languages, commands, folders and the conventions of its code."""
    chat, screen = call.chat, call.screen
    if call.arguments.strip():
        screen.print_lines(
            wrapped(
                "  ",
                _("/analyze shows the whole project and takes no words; /map WORDS searches it."),
                "warning",
                screen.width,
            )
        )
        return
    from localllm.project.report import passed_over  # rarely used; keeps the start-up fast

    async with saying(screen, _("looking at the project")):
        analysis = await chat.analyze()
    language: Language = "ja" if i18n.language() == "ja" else "en"
    _show(screen, analysis, language)
    for remark in passed_over(analysis.passed_over, language):
        screen.print_lines(wrapped("  ", remark, "warning", screen.width))
    hint = (
        _("/init keeps this in LOCALLLM.md; /map shows what is defined where.")
        if analysis.files
        else _("There are no files here yet.")
    )
    screen.print_lines(wrapped("  ", hint, "dim", screen.width))


def _show(screen: Screen, analysis: "ProjectAnalysis", language: "Language") -> None:
    from localllm.memory.section_kinds import heading
    from localllm.project.report import as_rows

    rows = as_rows(analysis, language)
    parts: tuple[tuple[str, Sequence[tuple[str, str]]], ...] = (
        ("", rows.project),
        (heading("folders", language), rows.folders),
        (heading("style", language), rows.style),
    )
    for title, several in parts:
        if title and several:
            screen.print(("bold", f"  {title}"))
        table(screen, several)


_LINES = 40


@slash(
    "map", usage=N_("[words]"), forms=N_("/map | for what was talked about last\n/map login session | for these words")
)
async def map_(call: SlashCall) -> Outcome:
    """Show what matters most in the project: for these words, or for what was talked about last."""
    drawn = await call.chat.draw_map(call.arguments.strip(), _LINES)
    if not drawn.text:
        call.screen.print(("", "  " + _("There is no source code here that can be read.")))
        return
    if drawn.unmatched and call.arguments.strip():
        words = clean(call.arguments.strip(), keep_newlines=False)
        call.screen.print_lines(
            wrapped(
                "  ",
                _("Nothing here has a name like “{words}”; this is what matters most overall.", words=words),
                "warning",
                call.screen.width,
            )
        )
    call.screen.print_lines(map(_line, clean(drawn.text).splitlines()))
    files = sum(bool(record.language) for record in drawn.records.values())
    shown = _(
        "definitions: {shown} of {all}, source files: {files}; /map WORDS searches them",
        shown=drawn.definitions,
        all=drawn.all_definitions,
        files=files,
    )
    call.screen.print_lines(wrapped("  ", shown, "dim", call.screen.width))
    if drawn.left_out:
        text = ngettext(
            "{count} file has not been read yet; the next /map continues",
            "{count} files have not been read yet; the next /map continues",
            drawn.left_out,
        )
        call.screen.print_lines(wrapped("  ", text, "warning", call.screen.width))


def _line(line: str) -> Line:
    """Style a line of the map: a file's name, or a definition in it."""
    number, space, signature = line.partition(" ")
    if not (space and number.isdecimal()):
        style: Style = "dim" if line == "⋮" else "accent"
        return ((style, "  " + line),)
    return ("dim", f"  {number:>6} "), ("", signature)


_REFRESH = "--refresh"


def _choices(_chat: ChatContext) -> Iterable[Choice]:
    return [(_REFRESH, _("also update the lines that are still as init wrote them"))]


@slash(
    "init",
    usage=N_("[--refresh]"),
    choices=_choices,
    forms=N_(
        "/init | create what is missing\n/init --refresh | also update the lines that are still as init wrote them"
    ),
)
async def init(call: SlashCall) -> Outcome:
    """Create what the project lacks: localllm.toml and LOCALLLM.md, with the results of an analysis."""
    chat, screen = call.chat, call.screen
    words = call.arguments.split()
    if any(word != _REFRESH for word in words):
        screen.print_lines(
            wrapped(
                "  ",
                _("Only this works here; localllm init --help lists what else there is outside the chat:"),
                "warning",
                screen.width,
            )
        )
        show_forms(call, "init")
        return
    async with saying(screen, _("looking at the project")):
        steps = await _set_up(chat, refresh=bool(words))
    table(screen, [(_(_DONE[step.done]), _name(call, step)) for step in steps])
    for remark in (remark for step in steps for remark in step.remarks):
        screen.print_lines(wrapped("  ", remark, "dim", screen.width))


async def _set_up(chat: ChatContext, *, refresh: bool) -> "list[Step]":
    """Create the project files and return the steps; created files and additions to the memory can be undone."""
    # Imported late: rarely used, and keeps the start-up fast.
    from localllm.app.init import lacks_notes, set_up

    root, notes = chat.root, chat.settings.project.memory_file
    settings = root / SETTINGS_FILE
    makes = () if settings.exists() or settings.is_symlink() else (SETTINGS_FILE,)
    if (root / notes).is_symlink() or not (refresh or await asyncio.to_thread(lacks_notes, root, notes)):
        return await chat.memory.make("/init", makes, lambda: asyncio.to_thread(set_up, root, notes=notes))
    analysis = await chat.analyze()
    making = partial(set_up, root, notes=notes, refresh=refresh, analyse=lambda _: analysis)
    return await chat.memory.change("/init", lambda _: asyncio.to_thread(making), makes=makes)


def _name(call: SlashCall, step: "Step") -> str:
    is_folder = step.path.is_dir() and not step.path.is_symlink()
    name = f"{step.path.relative_to(call.chat.root)}{'/' if is_folder else ''}"
    return _("{name}: {parts}", name=name, parts=", ".join(step.parts)) if step.parts else name
