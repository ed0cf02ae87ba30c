"""Ask the user at the terminal to approve a tool call."""

import asyncio
import contextlib
import unicodedata
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Literal, Protocol

from localllm.base.events import ConfirmationAnswered, ConfirmationRequested
from localllm.base.i18n import N_, _, ngettext
from localllm.safety.confirmation import Answers
from localllm.safety.rules import lasting_rule
from localllm.text.sanitising import clean
from localllm.tui.commands.registry import command_name
from localllm.tui.render.report import choice_lines, wrapped
from localllm.tui.render.screen import Screen
from localllm.tui.render.tool_lines import diff_rows, folded, lines_with_ends, visible_blanks
from localllm.tui.theme import Line, Style

_HIGH_RISKS = {"highest": N_("highest"), "dangerous": N_("dangerous")}
"""The risks that are shown: above that of an ordinary change, which can be undone."""

DANGEROUS = "dangerous"
"""The risk of a call that only a user at the keyboard may allow."""

_SECONDS_TO_CATCH_UP = 2.0
"""Seconds to wait until the screen shows everything before a question."""

_ROWS_BESIDE_DETAIL = 8

_HANGING = " " * 6
"""Before the continuation of a row of the question itself."""

_MOST_OF_NAME = 5
"""Rows that a summary, or a file's name, may take before the rest of the question."""

_PAGER_EDGE = 2
"""Cells of a row that the pager, which shows the same rows, needs for the end of a line and the scroll bar."""

_ALWAYS = {
    "command": N_(
        "Always allow exactly this (Enter), or shorten it to allow everything that begins with it. Esc goes back."
    ),
    "folder": N_("Always allow it there (Enter), or shorten it to a folder; . is the whole project. Esc goes back."),
    "address": N_(
        "Always allow every address of this host (Enter), or add the path it must begin with. Esc goes back."
    ),
}
_NOT_ALLOWED = {
    "command": N_(
        "That would not allow this command. Keep its first words; a line with several commands or shell "
        "syntax can be allowed exactly as it is, but not in part."
    ),
    "folder": N_("The file is not in there."),
    "address": N_("The address does not begin like that."),
}

Answer = Literal["yes", "no", "always", "project", "view"]

_ANSWERS: dict[str, Answer] = {
    "": "no",
    "y": "yes",
    "yes": "yes",
    "はい": "yes",
    "n": "no",
    "no": "no",
    "いいえ": "no",
    "a": "always",
    "always": "always",
    "いつも": "always",
    "p": "project",
    "project": "project",
    "プロジェクト": "project",
    "v": "view",
    "view": "view",
}


class Escaped(KeyboardInterrupt):
    """Esc in a question: one step back if there is one, else like Ctrl+C."""


class Stage(Protocol):
    """The screen and the keyboard, acquired for a question."""

    async def reached(self, request_id: str) -> None:
        """Wait until everything before the question is on the screen."""
        ...

    def cleared(self, call_id: str) -> AbstractContextManager[None]:
        """Acquire screen and keyboard for a question on `call_id`."""
        ...

    async def ask(self, default: str = "") -> str:
        """Read one line, initially `default`. Raises KeyboardInterrupt for Ctrl+C, its subclass Escaped for Esc,
        EOFError at the end of input."""
        ...

    async def view(self, lines: Sequence[Line]) -> None:
        """Show `lines` in a pager."""
        ...


class TerminalConfirmer:
    """Show what a tool will do, and ask at the prompt whether it may run. Enter alone means no.

    “Always” applies to this session or project, and to a scope shown to the user, who may narrow it: the command, the
    folder; Esc or an empty line there returns to the question. Dangerous calls are always confirmed.
    """

    def __init__(self, screen: Screen, stage: Stage, interrupt: Callable[[], None]) -> None:
        """`interrupt` interrupts the run."""
        self._screen = screen
        self._stage = stage
        self._interrupt = interrupt
        self.answers: Answers = "person"

    async def confirm(self, request: ConfirmationRequested) -> ConfirmationAnswered:
        """Ask the user. Ctrl+C means no and interrupts the run; the end of input means no."""
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._stage.reached(request.request_id), _SECONDS_TO_CATCH_UP)
        with self._stage.cleared(request.call_id):
            try:
                return await self._ask(request)
            except KeyboardInterrupt:
                self._interrupt()
                await asyncio.sleep(0)  # lets the run end before it calls the model again
            except EOFError:
                pass
        return _answer(request, approved=False)

    async def _ask(self, request: ConfirmationRequested) -> ConfirmationAnswered:
        is_whole = request.detail_kind == "command" or request.needs_person
        head = self._head(request)
        first = [row for rows in head for row in _without_middle(rows)]
        whole, detail = self._detail(request)
        detail = whole if is_whole else detail
        room = max(4, self._screen.size().lines - _ROWS_BESIDE_DETAIL - max(0, len(first) - 2))
        is_long = not is_whole and len(detail) > room + 1
        self._present(first, detail, room if is_long else len(detail))
        if not is_long and len(detail) > room + 1:
            self._say(
                N_("It is longer than the screen: it has {count} lines, and begins further up."),
                "warning",
                count=len(detail),
            )
        all_rows = [row for rows in head for row in rows] + whole
        while True:
            self._offer(request, is_cut=is_long or len(first) + len(detail) < len(all_rows))
            said = (await self._stage.ask()).strip()
            match understood(said):
                case "yes":
                    return _answer(request, approved=True)
                case "no":
                    return _answer(request, approved=False)
                case "always" | "project" as lasting:
                    if not request.lasting:
                        continue
                    try:
                        scope = await self._scope(request)
                    except Escaped:
                        continue
                    always = "session" if lasting == "always" else "project"
                    return _answer(request, approved=True, always=always, scope=scope)
                case None if _has_command(said):
                    self._say(
                        N_("Commands can be given after this is answered. Nothing was sent to the model."), "warning"
                    )
                case "view":
                    await self._stage.view(all_rows if len(first) + len(whole) < len(all_rows) else whole)
                case None if len(said) == 1:
                    self._say(N_("“{said}” is none of these."), "warning", said=said)
                case None:
                    return _answer(request, approved=False, feedback=said)

    async def _scope(self, request: ConfirmationRequested) -> str:
        """Return the scope to allow: the proposed one, as edited by the user. Raises Escaped for an empty line, too."""
        kind = "address" if "://" in request.scope else "folder"
        kind = "command" if request.detail_kind == "command" else kind
        while True:
            scope = request.scope
            if scope and "\n" not in scope:  # a text of several lines is not editable
                self._say(_ALWAYS[kind], "dim")
                scope = (await self._stage.ask(scope)).strip()
                if not scope:
                    raise Escaped
            if rule := lasting_rule(request.tool, request.scope, scope):
                self._say(
                    N_("Allowed from now on, exactly as written: {rule}")
                    if rule.exact
                    else N_("Allowed from now on: {rule}"),
                    "good",
                    rule=rule,
                )
                return scope
            self._say(_NOT_ALLOWED[kind], "warning")

    def _say(self, key: str, style: Style, **parameters: object) -> None:
        text = clean(_(key, **parameters), keep_newlines=False)
        self._screen.print_lines(wrapped("  ", text, style, self._screen.width))

    def _head(self, request: ConfirmationRequested) -> list[list[Line]]:
        """Return the rows of the summary, and of the reason. What is too long for one goes on further right than the
        question's own lines, so that no part of it passes for one."""
        summary = visible_blanks(request.summary)
        if request.agent:
            summary = f"{clean(request.agent, keep_newlines=False)}: {summary}"
        if risk := _HIGH_RISKS.get(request.risk):
            summary = _("{summary} (risk: {risk})", summary=summary, risk=_(risk))
        texts: list[tuple[str, Style]] = [(summary, "warning")]
        if request.reason:
            reason = (
                _(
                    "It amounts to “{rule}”, one of your dangerous commands (safety.dangerous_commands).",
                    rule=request.reason,
                )
                if request.risk == DANGEROUS
                else request.reason
            )
            texts.append((reason, "bad"))
        return [_hanging(text, style, self._screen.width - _PAGER_EDGE) for text, style in texts]

    def _detail(self, request: ConfirmationRequested) -> tuple[list[Line], list[Line]]:
        """Return the rows of the detail, whole and as shown first: there long names above a diff are cut."""
        whole: list[Line] = []
        first: list[Line] = []
        is_name = request.detail_kind == "diff"
        for row in detail_lines(request):
            is_name = is_name and not row[0][1].endswith("@")
            rows = folded(row, self._screen.width - _PAGER_EDGE)
            whole += rows
            first += _without_middle(rows) if is_name else rows
        return whole, first

    def _present(self, head: list[Line], detail: list[Line], room: int) -> None:
        lines = head + detail[:room]
        if room < len(detail):
            lines.append(
                (("dim", "    " + ngettext("… {count} more line", "… {count} more lines", len(detail) - room)),)
            )
        self._screen.print_lines(lines)

    def _offer(self, request: ConfirmationRequested, *, is_cut: bool) -> None:
        keys = [N_("[y]es"), N_("[n]o (Enter)")]
        keys += [N_("[a]lways this session"), N_("always this [p]roject")] if request.lasting else []
        keys += [N_("[v]iew all")] if is_cut else []
        choices = [*map(_, keys), _("or say what to do instead")]
        self._screen.print_lines(choice_lines(choices, self._screen.width))


async def ask_yes_no(question: str, screen: Screen, stage: Stage) -> bool:
    """Ask a yes-or-no question. Enter alone, Esc, Ctrl+C and the end of input mean no."""
    with stage.cleared(""):
        screen.print_lines(wrapped("  ", question, "warning", screen.width))
        while True:
            screen.print_lines(choice_lines([_("[y]es"), _("[n]o (Enter)")], screen.width))
            try:
                answer = understood(await stage.ask())
            except (KeyboardInterrupt, EOFError):
                return False
            if answer in ("yes", "no"):
                return answer == "yes"


def understood(said: str) -> Answer | None:
    """Parse an answer, also in full-width letters; empty means no. None for anything else."""
    return _ANSWERS.get(unicodedata.normalize("NFKC", said.strip()).casefold())


def is_bare_answer(said: str) -> bool:
    """Return whether a line is nothing but yes, no, or the letter of another answer."""
    answer = understood(said)
    return bool(said.strip()) and (answer in ("yes", "no") or (answer is not None and len(said.strip()) == 1))


def _has_command(said: str) -> bool:
    """Return whether this is a command, or an answer with a command attached, as in “y/model”."""
    answer, slash, rest = unicodedata.normalize("NFKC", said).partition("/")
    return bool(slash) and understood(answer) is not None and command_name(f"/{rest}") is not None


def detail_lines(request: ConfirmationRequested) -> list[Line]:
    """Format everything a question is about. A command's line ends are visible, so that one line is recognisable as
    such; so are blanks that could hide something: see `render.tool_lines`."""
    match request.detail_kind:
        case "diff":
            return diff_rows(request.detail)
        case "command":
            return [
                (("dim", "    $ " if number == 0 else "      "), ("bold", row))
                for number, row in enumerate(lines_with_ends(request.detail))
            ]
        case "text":
            rows = request.detail.removesuffix("\n").split("\n")
            return [(("", "    "), ("", visible_blanks(row).replace("\t", "    "))) for row in rows]


def _hanging(text: str, style: Style, width: int) -> list[Line]:
    rows = wrapped("", text, style, max(10, width - len(_HANGING)))
    return [((style, ("  " if number == 0 else _HANGING) + row[0][1]),) for number, row in enumerate(rows)]


def _without_middle(rows: list[Line]) -> list[Line]:
    """Return the first and last of more rows than a name is given at first."""
    if len(rows) <= _MOST_OF_NAME:
        return rows
    half = (_MOST_OF_NAME - 1) // 2
    return [*rows[:half], (("dim", f"{_HANGING}…"),), *rows[-half:]]


def _answer(
    request: ConfirmationRequested,
    *,
    approved: bool,
    feedback: str = "",
    always: Literal["", "session", "project"] = "",
    scope: str = "",
) -> ConfirmationAnswered:
    return ConfirmationAnswered(
        request_id=request.request_id, approved=approved, by="user", feedback=feedback, always=always, scope=scope
    )
