"""Having several agents do something: /coordinate."""

from localllm.base.i18n import tr
from localllm.ui.slash.registry import Outcome, Run, SlashCall, slash


@slash("coordinate", usage="TASK")
async def coordinate(call: SlashCall) -> Outcome:
    """Have several agents do a task at the same time, each a part of it."""
    task = call.arguments.strip()
    if not task:
        call.screen.print(("warning", "  " + tr("coordinate.usage")))
        return None
    return Run(call.chat.coordinate(task))
