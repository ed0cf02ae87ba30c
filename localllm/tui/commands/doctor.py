"""/doctor: find problems of the installation, with fixes."""

import os

from localllm.base.i18n import _
from localllm.tui.commands.registry import Outcome, SlashCall, saying, slash


@slash("doctor")
async def doctor(call: SlashCall) -> Outcome:
    """Find problems of this installation, and say how to fix each."""
    # Imported late: rarely used, and keeps the start-up fast.
    from localllm.integrations.doctor.checks import examine
    from localllm.integrations.doctor.inputs import look_around
    from localllm.tui.render.doctor_report import report_lines

    chat, screen = call.chat, call.screen
    async with saying(screen, _("looking for problems")):
        findings = await examine(look_around(chat.root, chat.config, os.environ, None))
    screen.print_lines(
        (("", "  "), *line) if line else () for line in report_lines(findings, chat.root, screen.width - 2)
    )
