"""Commands that ask others for advice: /panel and /boss."""

from typing import Literal

from localllm.base.events import AgentEvent, Consulted, Notice
from localllm.base.i18n import tr
from localllm.ui.consulted import consulted_lines
from localllm.ui.report import notice_lines
from localllm.ui.slash.registry import Outcome, SlashCall, slash
from localllm.ui.slash.waiting import saying


@slash("panel", usage="QUESTION")
async def panel(call: SlashCall) -> Outcome:
    """Ask two other views and a judge; models of their own in [agents.panel]."""
    await _ask(call, "panel")


@slash("boss", usage="QUESTION")
async def boss(call: SlashCall) -> Outcome:
    """Ask the most experienced model; set in [agents.panel.boss]."""
    await _ask(call, "boss")


async def _ask(call: SlashCall, kind: Literal["panel", "boss"]) -> None:
    """Ask, show what is said, and the time while nothing is. The plan goes to the agent with the next request."""
    screen = call.screen
    if not call.arguments.strip():
        screen.print(("warning", "  " + tr(f"{kind}.usage")))
        return

    def show(event: AgentEvent) -> None:
        match event:
            case Notice(text=text, level=level):
                screen.print_lines(notice_lines(text, level, screen.width))
            case Consulted():
                screen.erase()
                screen.print_lines(consulted_lines(event, screen.width))
                if event.plan:
                    screen.print(("dim", "  " + tr("panel.goes_along")))
            case _:
                pass

    async with saying(screen, tr(f"{kind}.asking")):
        await call.chat.consult(kind, call.arguments.strip(), show)
