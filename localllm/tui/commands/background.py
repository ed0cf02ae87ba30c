"""Commands about background processes."""

from localllm.base.i18n import N_, _
from localllm.safety.path_names import some_of
from localllm.sandbox.background import BackgroundCommand
from localllm.text.sanitising import clean, shorten
from localllm.tui.commands.context import ChatContext
from localllm.tui.commands.registry import Outcome, SlashCall, slash
from localllm.tui.theme import Style

_MOST_COMMAND = 60  # columns


@slash("ps")
async def ps(call: SlashCall) -> Outcome:
    """List the commands that run in the background, and those that have ended."""
    commands = call.chat.background()
    if not commands:
        call.screen.print(("dim", "  " + _("Nothing has been run in the background.")))
    for command in commands:
        style: Style = "accent" if command.is_running else "dim"
        call.screen.print((style, f"  {command.number}  "), ("", _line(command, call.screen.width - 6)))
        if command.last_line:
            last = clean(command.last_line, keep_newlines=False)
            call.screen.print(("dim", "     " + shorten(last, call.screen.width - 6)))
        if command.reverted:
            call.screen.print(("warning", "     " + _("restored: {paths}", paths=some_of(command.reverted))))


def _running(chat: ChatContext) -> list[str]:
    return [str(command.number) for command in chat.background() if command.is_running]


@slash(
    "stop",
    usage=N_("[number]"),
    choices=_running,
    forms=N_("/stop | all that run\n/stop 2 | the one with this number in /ps"),
)
async def stop(call: SlashCall) -> Outcome:
    """Stop the commands in the background, or the one with this number (see /ps)."""
    chosen = [one for one in call.chat.background() if one.is_running and call.arguments in ("", str(one.number))]
    if not chosen:
        text = (
            _("{id} is not running in the background; see /ps.", id=call.arguments)
            if call.arguments
            else _("Nothing is running in the background.")
        )
        call.screen.print(("warning", "  " + text))
    for command in chosen:
        command.ask_to_end()
    for command in chosen:
        await command.wait(_PATIENCE)
        call.screen.print(("", f"  {command.number}  " + _line(command, call.screen.width - 6)))


_PATIENCE = 5.0  # seconds


def _line(command: BackgroundCommand, width: int) -> str:
    about = _("{state}, {seconds:.0f} s", state=command.state, seconds=command.seconds)
    text = shorten(clean(command.command, keep_newlines=False), _MOST_COMMAND)
    return shorten(f"{text}  ({about})", width)
