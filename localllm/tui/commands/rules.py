"""Commands on permissions: the mode, and the rules created by answers."""

from contextlib import suppress
from typing import get_args

from localllm.base.errors import SafetyViolationError
from localllm.base.i18n import N_, _
from localllm.config.schema import Mode
from localllm.safety.saved_rules import Remembered
from localllm.text.sanitising import clean
from localllm.tui.commands.context import ChatContext
from localllm.tui.commands.registry import Outcome, Request, SlashCall, show_forms, slash, table
from localllm.tui.render.report import wrapped

_MODE_TEXTS = {
    "plan": N_("reads only; answers with a plan"),
    "ask": N_("asks before it changes files or runs commands"),
    "auto-edit": N_("changes files, asks before commands"),
    "auto": N_("asks only about dangerous commands and ask rules"),
}
_SCOPES = {
    "settings": N_("settings"),
    "session": N_("this session"),
    "project": N_("this project"),
    "exactly": N_("exactly"),
    "none": N_("There are no rules."),
    "no_such": N_("There is no rule {number}."),
    "how": N_("/rules remove N asks about it again."),
    "removed": N_("You are asked again about {rule}."),
}

MODES: tuple[Mode, ...] = get_args(Mode)


@slash(
    "mode",
    usage=N_("[name]"),
    choices=lambda _: MODES,
    forms=N_(
        "/mode | the modes, and the current one\n/mode auto-edit | switch to that one: plan, ask, auto-edit or auto"
    ),
)
async def mode(call: SlashCall) -> Outcome:
    """Show or switch the mode (what is asked about); Shift+Tab does too."""
    named = call.arguments.strip()
    wanted: Mode | None = next((name for name in MODES if name == named.lower()), None)
    if wanted:
        call.chat.set_mode(wanted)
    elif named:
        unknown = _("There is no mode “{name}”.", name=clean(named, keep_newlines=False))
        call.screen.print_lines(wrapped("  ", unknown, "warning", call.screen.width))
    rows = [(f"{'●' if name == call.chat.mode else ' '} {name}", _(_MODE_TEXTS[name])) for name in MODES]
    table(call.screen, rows)


@slash(
    "rules",
    usage=N_("[remove N]"),
    forms=N_("/rules | what is allowed, numbered\n/rules remove 2 | ask about the second again"),
)
async def rules(call: SlashCall) -> Outcome:
    """List what your answers have allowed, and the rules of the settings; with “remove” and a number, ask again."""
    known = call.chat.rules()
    if call.arguments:
        word, _unused, number = call.arguments.partition(" ")
        if word != "remove" or not number.strip().isdecimal():
            show_forms(call, "rules")
            return
        if not 1 <= int(number) <= len(known):
            call.screen.print(("warning", "  " + _("There is no rule {number}.", number=int(number))))
            return
        gone = known[int(number) - 1]
        call.chat.forget_rule(gone)
        call.screen.print_lines(
            wrapped("  ", _("You are asked again about {rule}.", rule=gone.rule), "", call.screen.width)
        )
        return
    rows = [(str(number), describe(remembered)) for number, remembered in enumerate(known, start=1)]
    settings = call.chat.settings.safety
    written = [(rule.decision, f"{rule.tool}({rule.prefix})" if rule.prefix else rule.tool) for rule in settings.rules]
    for decision in ("deny", "ask", "allow"):
        texts = [*getattr(settings, decision), *(text for named, text in written if named == decision)]
        rows += [(decision, f"{text} · {_('settings')}") for text in texts]
    if not rows:
        call.screen.print(("", "  " + _("There are no rules.")))
        return
    table(call.screen, rows)
    if known:
        call.screen.print_lines(wrapped("  ", _("/rules remove N asks about it again."), "dim", call.screen.width))


@slash(
    "plan",
    usage=N_("[request]"),
    forms=N_("/plan | plan mode from now on; /mode ask leaves it\n/plan move the tests | a plan for this, at once"),
)
async def plan(call: SlashCall) -> Outcome:
    """Only read and plan from now on; with a request, at once. The plan is carried out when you accept it."""
    call.chat.set_mode("plan")
    if call.arguments.strip():
        return Request(call.arguments.strip())
    call.screen.print_lines(
        wrapped(
            "  ",
            _("Plan mode: it reads only and answers with a plan, which you accept or not. /mode ask leaves it."),
            "",
            call.screen.width,
        )
    )
    return None


def describe(remembered: Remembered) -> str:
    """Describe a permission in one line: what it allows, exactly or not, for how long."""
    rule = remembered.rule
    exactly = f" · {_('exactly')}" if rule.exact else ""
    return clean(f"{rule}{exactly} · {_(_SCOPES[remembered.scope])}", keep_newlines=False)


def next_mode(chat: ChatContext) -> None:
    """Switch to the next available mode, cyclically."""
    at = MODES.index(chat.mode)
    for wanted in (*MODES[at + 1 :], *MODES[:at]):
        with suppress(SafetyViolationError):
            chat.set_mode(wanted)
            return
