"""The chat's commands for what runs in the background."""

from localllm.base.i18n import tr
from localllm.safety.paths import some_of
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
        call.screen.print(("dim", "  " + tr("background.none")))
    for command in commands:
        style: Style = "accent" if command.is_running else "dim"
        call.screen.print((style, f"  {command.number}  "), ("", _line(command, call.screen.width - 6)))
        if command.last_line:
            last = clean(command.last_line, keep_newlines=False)
            call.screen.print(("dim", "     " + shorten(last, call.screen.width - 6)))
        if command.reverted:
            call.screen.print(("warning", "     " + tr("background.put_back", paths=some_of(command.reverted))))


def _running(chat: ChatContext) -> list[str]:
    return [str(command.number) for command in chat.background() if command.is_running]


@slash("stop", usage="[number]", choices=_running)
async def stop(call: SlashCall) -> Outcome:
    """Stop the commands in the background, or the one with this number (see /ps)."""
    chosen = [one for one in call.chat.background() if one.is_running and call.arguments in ("", str(one.number))]
    if not chosen:
        text = tr("background.no_such", id=call.arguments) if call.arguments else tr("background.none_running")
        call.screen.print(("warning", "  " + text))
    for command in chosen:
        command.ask_to_end()
    for command in chosen:
        await command.wait(_PATIENCE)
        call.screen.print(("", f"  {command.number}  " + _line(command, call.screen.width - 6)))


_PATIENCE = 5.0  # seconds


def _line(command: BackgroundCommand, width: int) -> str:
    about = tr("background.line", state=command.state, seconds=command.seconds)
    text = shorten(clean(command.command, keep_newlines=False), _MOST_COMMAND)
    return shorten(f"{text}  ({about})", width)
