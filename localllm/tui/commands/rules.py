"""Commands about what is asked: the mode, and the rules that answers have made."""

from contextlib import suppress
from typing import get_args

from localllm.base.errors import SafetyViolationError
from localllm.base.i18n import tr
from localllm.config.schema import Mode
from localllm.safety.saved_rules import Remembered
from localllm.text.sanitising import clean
from localllm.tui.commands.context import ChatContext
from localllm.tui.commands.registry import Outcome, Request, SlashCall, show_forms, slash, table
from localllm.tui.render.report import wrapped

MODES: tuple[Mode, ...] = get_args(Mode)


@slash("mode", usage="[name]", choices=lambda _: MODES)
async def mode(call: SlashCall) -> Outcome:
    """Show what is asked about, or change it; Shift+Tab changes it as well."""
    wanted: Mode | None = next((name for name in MODES if name == call.arguments.strip().lower()), None)
    if call.arguments and wanted is None:
        show_forms(call, "mode")
        return
    if wanted:
        call.chat.set_mode(wanted)
    rows = [(f"{'●' if name == call.chat.mode else ' '} {name}", tr(f"ui.mode.{name}")) for name in MODES]
    table(call.screen, rows)


@slash("rules", usage="[remove N]")
async def rules(call: SlashCall) -> Outcome:
    """List what your answers have allowed, and the rules of the settings; with “remove” and a number, ask again."""
    known = call.chat.rules()
    if call.arguments:
        word, _, number = call.arguments.partition(" ")
        if word != "remove" or not number.strip().isdecimal():
            show_forms(call, "rules")
            return
        if not 1 <= int(number) <= len(known):
            call.screen.print(("warning", "  " + tr("ui.rules.no_such", number=int(number))))
            return
        gone = known[int(number) - 1]
        call.chat.forget_rule(gone)
        call.screen.print_lines(wrapped("  ", tr("ui.rules.removed", rule=gone.rule), "", call.screen.width))
        return
    rows = [(str(number), describe(remembered)) for number, remembered in enumerate(known, start=1)]
    settings = call.chat.settings.safety
    written = [(rule.decision, f"{rule.tool}({rule.prefix})" if rule.prefix else rule.tool) for rule in settings.rules]
    for decision in ("deny", "ask", "allow"):
        texts = [*getattr(settings, decision), *(text for named, text in written if named == decision)]
        rows += [(decision, f"{text} · {tr('ui.rules.settings')}") for text in texts]
    if not rows:
        call.screen.print(("", "  " + tr("ui.rules.none")))
        return
    table(call.screen, rows)
    if known:
        call.screen.print_lines(wrapped("  ", tr("ui.rules.how"), "dim", call.screen.width))


@slash("plan", usage="[request]")
async def plan(call: SlashCall) -> Outcome:
    """Only read and plan from now on; with a request, at once. The plan is carried out when you accept it."""
    call.chat.set_mode("plan")
    if call.arguments.strip():
        return Request(call.arguments.strip())
    call.screen.print_lines(wrapped("  ", tr("ui.plan.begins"), "", call.screen.width))
    return None


def describe(remembered: Remembered) -> str:
    """A remembered rule in one line: what it allows, how exactly, how long."""
    rule = remembered.rule
    exactly = f" · {tr('ui.rules.exactly')}" if rule.exact else ""
    return clean(f"{rule}{exactly} · {tr(f'ui.rules.{remembered.scope}')}", keep_newlines=False)


def next_mode(chat: ChatContext) -> None:
    """The next mode, past those that are not possible here; then from the beginning."""
    at = MODES.index(chat.mode)
    for wanted in (*MODES[at + 1 :], *MODES[:at]):
        with suppress(SafetyViolationError):
            chat.set_mode(wanted)
            return
