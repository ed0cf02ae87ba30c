"""The end of a run in plan mode: the person says what becomes of the plan."""

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
    "no": N_("[n]o (Enter)"),
    "instead": N_("or say what to plan differently"),
    "stays": N_("Nothing is carried out; plan mode goes on. /mode ask leaves it."),
    "accepted": N_("The plan is accepted. Carry it out step by step and check the result."),
}


class Accepted(msgspec.Struct, frozen=True):
    """The plan is carried out, in this mode."""

    mode: Mode


class Answered(msgspec.Struct, frozen=True):
    """The person said something else: the next line of the chat."""

    words: str


PlanAnswer = Accepted | Answered | None


class PlanQuestion:
    """Asks whether the plan is to be carried out. Enter alone means no, and that plan mode goes on."""

    def __init__(self, screen: Screen, stage: Stage) -> None:
        self._screen = screen
        self._stage = stage

    async def ask(self) -> PlanAnswer:
        """What becomes of the plan; None where nothing does."""
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
        choices = [_(_CHOICES[choice]) for choice in ("yes", "edits", "no", "instead")]
        while True:
            self._screen.print_lines(choice_lines(choices, self._screen.width))
            try:
                said = (await self._stage.ask()).strip()
            except (KeyboardInterrupt, EOFError):
                return None
            if unicodedata.normalize("NFKC", said).casefold() == "e":
                return Accepted("auto-edit")
            match understood(said):
                case "yes":
                    return Accepted("ask")
                case "no":
                    return None
                case None:
                    return Answered(said)
                case _:  # an answer to other questions, not to this one
                    continue
