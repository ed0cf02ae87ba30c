"""/doctor: find problems of the installation, with fixes."""

import os

import msgspec

from localllm.base.errors import ConfigurationError
from localllm.base.i18n import _
from localllm.config.loader import load
from localllm.tui.commands.registry import Outcome, SlashCall, saying, slash


@slash("doctor")
async def doctor(call: SlashCall) -> Outcome:
    """Find problems of this installation, and say how to fix each."""
    # Imported late: rarely used, and keeps the start-up fast.
    from localllm.integrations.doctor.checks import examine
    from localllm.integrations.doctor.inputs import look_around
    from localllm.tui.render.doctor_report import report_lines

    chat, screen = call.chat, call.screen
    loaded, fault = chat.config, None
    try:  # the files may be new, or faulty, since the start
        loaded = msgspec.structs.replace(loaded, files=load(chat.root, environ=os.environ).files)
    except ConfigurationError as error:
        fault = error
    async with saying(screen, _("looking for problems")):
        findings = await examine(look_around(chat.root, loaded, os.environ, fault))
    screen.print_lines(
        (("", "  "), *line) if line else () for line in report_lines(findings, chat.root, screen.width - 2)
    )
