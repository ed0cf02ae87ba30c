"""Ask the user what to do with the plan after a run in plan mode."""

import unicodedata

import msgspec

from localllm.base.i18n import N_, _
from localllm.config.schema import Mode
from localllm.tui.dialogs.approval import Stage, understood
from localllm.tui.render.report import choice_lines, wrapped
from localllm.tui.render.screen import Screen

_CHOICES = {
    "begins": N_("Plan mode: it reads only and answers with a plan, which you accept or not. /mode ask leaves it."),
    "question": N_("Carry out this plan?"),
    "yes": N_("[y]es, asking before changes"),
    "edits": N_("[e]dit files without asking"),
    "before": N_("[a]s before, in mode auto"),
    "no": N_("[n]o (Enter)"),
    "instead": N_("or say what to plan differently"),
    "stays": N_("Nothing is carried out; plan mode goes on. /mode ask leaves it."),
    "accepted": N_("The plan is accepted. Carry it out step by step and check the result."),
}


class Accepted(msgspec.Struct, frozen=True):
    """Execute the plan in this mode."""

    mode: Mode


class Answered(msgspec.Struct, frozen=True):
    """Use the user's text as the next line of the chat. A line break that it begins with makes it no command."""

    words: str


PlanAnswer = Accepted | Answered | None


class PlanQuestion:
    """Ask whether to execute the plan. Enter alone means no: plan mode continues."""

    def __init__(self, screen: Screen, stage: Stage, before: Mode = "ask") -> None:
        """`before` is the mode of the last line before plan mode: auto is offered only to a user who worked in it."""
        self._screen = screen
        self._stage = stage
        self._before: Mode = before

    async def ask(self) -> PlanAnswer:
        """Return the decision on the plan; None to leave it."""
        with self._stage.cleared(""):
            self._screen.print()
            self._screen.print_lines(wrapped("  ", _("Carry out this plan?"), "warning", self._screen.width))
            answer = await self._ask()
            if answer is None:
                self._screen.print_lines(
                    wrapped(
                        "  ",
                        _("Nothing is carried out; plan mode goes on. /mode ask leaves it."),
                        "dim",
                        self._screen.width,
                    )
                )
            return answer

    async def _ask(self) -> PlanAnswer:
        was_auto = self._before == "auto"
        names = ("yes", "edits", *(("before",) if was_auto else ()), "no", "instead")
        choices = [_(_CHOICES[choice]) for choice in names]
        while True:
            self._screen.print_lines(choice_lines(choices, self._screen.width))
            try:
                said = await self._stage.ask()
            except (KeyboardInterrupt, EOFError):
                return None
            letter = unicodedata.normalize("NFKC", said.strip()).casefold()
            if letter == "e":
                return Accepted("auto-edit")
            if letter == "a" and was_auto:
                return Accepted("auto")
            match understood(said):
                case "yes":
                    return Accepted("ask")
                case "no":
                    return None
                case None:
                    return Answered(said.rstrip())
                case _:  # answers to other questions
                    continue
