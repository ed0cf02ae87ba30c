"""Confirmation of a call: the question, the answer, and the error after a refusal."""

from typing import Literal, Protocol
from uuid import uuid4

from localllm.base.errors import LocalLLMError, SafetyViolationError
from localllm.base.events import ConfirmationAnswered, ConfirmationRequested, ToolCall
from localllm.base.i18n import N_, Phrase, _
from localllm.safety.policy import Verdict
from localllm.safety.rules import COMMAND_TOOL, lasting_rule
from localllm.safety.saved_rules import RememberedRules
from localllm.safety.tool_definition import Preview, Tool

_WHY = {
    "unreadable": N_("The command line does not show everything it runs."),
    "untrusted": N_("Text from the web is in this conversation, and this may send data out."),
    "address": N_("Neither you nor a search has given this address; what it contains is sent there."),
    "instruction": N_("Assistants follow the instructions in this file."),
    "unwanted": N_("You asked that nothing be changed."),
    "banned": N_("You asked that this file be left as it is."),
    "no_commit": N_("You asked that nothing be committed."),
    "no_address": N_("You asked that this address not be read."),
    "no_run": N_("You asked that this not be run."),
    "dry_run": N_("You asked for a dry run only."),
    "keep_changes": N_("You asked that the changes be kept."),
    "moved_away": N_(
        "What is moved there is deleted: /tmp and ~ of a command are thrown away when it ends. /undo would not bring "
        "back all of it."
    ),
    "example_matched": N_("matches what it must not match"),
    "example_missed": N_("does not match its example"),
}

_FORBIDDEN = ("unwanted", "banned", "no_commit", "no_address", "no_run", "dry_run", "keep_changes", "moved_away")
NEEDS_PERSON = frozenset({"address", *_FORBIDDEN})
"""Reasons to ask that only a person can dispel."""


Answers = Literal["person", "yes", "no"]


class Confirmer(Protocol):
    """Answers confirmation requests."""

    answers: Answers
    """Who answers: a person, or nobody: all that needs no person is approved ("yes"), or nothing ("no")."""

    async def confirm(self, request: ConfirmationRequested) -> ConfirmationAnswered:
        """Return the answer to `request`. Cancelling it cancels the call."""
        ...


def question(
    tool: Tool, call: ToolCall, verdict: Verdict, preview: Preview | None, scope: str, agent: str
) -> ConfirmationRequested:
    """Build the question; `scope`: what a lasting answer covers, `agent`: the sub-agent that asks."""
    shown = preview or Preview(summary=tool.name, detail=call.arguments)
    return ConfirmationRequested(
        request_id=f"ask_{uuid4().hex[:12]}",
        call_id=call.id,
        tool=tool.name,
        risk=_risk(tool, verdict, shown),
        summary=_("{summary} (it would lose {lost})", summary=shown.summary, lost=shown.danger)
        if shown.danger
        else shown.summary,
        detail=shown.detail,
        detail_kind=shown.kind,
        reason=str(shown.question if verdict.why == "preview" else _reason(verdict)),
        lasting=verdict.lasting and not shown.danger,
        scope=scope if verdict.lasting else "",
        agent=agent,
        needs_person=verdict.why in NEEDS_PERSON,
    )


def _risk(tool: Tool, verdict: Verdict, shown: Preview) -> str:
    """Return the risk to show; at least the tool's if something about the call itself is in question."""
    if verdict.dangerous or shown.danger:
        return "dangerous"
    risk = tool.risk if shown.risk is None or verdict.why else shown.risk
    return risk.name.lower()


def refusal(request: ConfirmationRequested, verdict: Verdict, answer: ConfirmationAnswered) -> SafetyViolationError:
    """Return the error for a call that was not permitted."""
    if answer.by != "unattended":
        if answer.feedback:
            said = Phrase("The user says: {words}", words=answer.feedback)
            return SafetyViolationError("denied_with_words", name=request.tool, feedback=said)
        said = Phrase("Do not make this call again: go on without it, or ask what is wanted instead.")
        return SafetyViolationError("denied_by_user", name=request.tool, feedback=said)
    if request.risk == "dangerous":
        return SafetyViolationError("denied_dangerous", name=request.tool, rule=_reason(verdict))
    if verdict.why in _FORBIDDEN:
        return SafetyViolationError(f"denied_{verdict.why}", name=request.tool)
    if request.needs_person:
        return SafetyViolationError("denied_address", name=request.tool, site=request.scope)
    key = "denied_unattended_command" if request.tool == COMMAND_TOOL else "denied_unattended"
    return SafetyViolationError(key, name=request.tool)


def _reason(verdict: Verdict) -> str | Phrase:
    """Return why the call needs confirmation."""
    return Phrase(_WHY[verdict.why]) if verdict.why in _WHY else verdict.rule


def remember(rules: RememberedRules, request: ConfirmationRequested, answer: ConfirmationAnswered) -> str:
    """Save a lasting answer as a rule. Return why it cannot be saved (then it counted once), else ""."""
    rule = lasting_rule(request.tool, request.scope, answer.scope)
    if rule is None or not answer.always:
        return ""
    try:
        rules.add(rule, answer.always)
    except LocalLLMError as error:
        return str(error)
    return ""
