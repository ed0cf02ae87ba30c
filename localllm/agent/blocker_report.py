"""The blocker report, shown to the user when a run ends without an answer."""

import re
from collections.abc import Sequence

import msgspec

from localllm.agent.panel.records import Attempt, merge_equal
from localllm.base.i18n import N_, _
from localllm.llm.messages import in_few_words

_HINT_TEXTS = {
    "limit": N_("raise the limit; or, in the chat, say “go on”: the conversation is kept"),
    "edit": N_("make that change by hand, or quote the lines as they should read"),
    "missing": N_("say where the file is, or what it is called"),
    "denied": N_("allow it: answer yes when asked, or with a rule (safety.allow)"),
    "sandbox": N_("run the command yourself, or allow the hosts it needs (safety.network_hosts)"),
    "command": N_("read the output of the command: you may have to fix or install something it needs"),
    "model": N_("use a model that calls tools more reliably (/model)"),
    "window": N_("use a larger context window, or a smaller task"),
    "ask": N_("say more precisely what you want, or where to look"),
}

_MOST_TRIED = 6
_LONGEST_ERROR = 600
_LONGEST_GOAL = 400
_LONGEST_ADVICE = 600
_MARKED = r"\S*(?:[*`~\\]|(?<!\w)_|_(?!\w))\S*"

_HINTS = (
    ("edit_", "edit"),
    ("would_destroy", "edit"),
    ("loss_refused", "edit"),
    ("file_changed_since", "edit"),
    ("file_missing", "missing"),
    ("denied_plan_mode", ""),
    ("denied_", "denied"),
    ("path_", "denied"),
    ("command_no_sandbox", "denied"),
    ("network_", "sandbox"),
    ("context_", "window"),
    ("llm_context", "window"),
    ("llm_empty", "model"),
    ("llm_only_thought", "model"),
    ("tool_crashed", ""),
    ("tool_", "model"),
)
"""The hint for an error, by prefixes of its key."""

_HINTS_OF_PATTERN = {"monologue": "model", "chanting": "model", "bad_call": "model", "thrash": "window"}


class Blocker(msgspec.Struct, frozen=True, kw_only=True):
    """A run that ended early. `errors` are the keys of its errors, `pattern` the one it repeated, empty at a limit;
    `advice` that of the advisers."""

    reason: str
    goal: str
    attempts: Sequence[Attempt] = ()
    errors: Sequence[str] = ()
    advice: Sequence[str] = ()
    pattern: str = ""

    def report(self) -> str:
        """Return the whole report in the user's language."""
        parts = [
            _literal(self.reason),
            _("Goal: {goal}", goal=_cut(self.goal, _LONGEST_GOAL)),
            "\n".join([_("What was tried:"), *self._tried()]),
        ]
        if self.attempts and not any(attempt.failed for attempt in self.attempts):
            parts.append(f"{_('Last result:')}\n{_exact(_cut(self.attempts[-1].result, _LONGEST_ERROR))}")
        if self.advice:
            advised = dict.fromkeys(f"- {_cut(' '.join(plan.split()), _LONGEST_ADVICE)}" for plan in self.advice)
            parts.append("\n".join([_("Advice received:"), *advised]))
        parts.append("\n".join([_("What would help:"), *(f"- {_(_HINT_TEXTS[hint])}" for hint in self._hints())]))
        return "\n\n".join(parts)

    def _tried(self) -> list[str]:
        """Return the distinct attempts with their exact errors: the failed ones, else all; the newest last."""
        failed = [attempt for attempt in self.attempts if attempt.failed]
        distinct = merge_equal(failed or self.attempts)
        left_out = len(distinct) - _MOST_TRIED
        lines = [f"- {_('… and {count} more', count=left_out)}"] if left_out > 0 else []
        told: set[str] = set()
        for attempt in distinct[-_MOST_TRIED:]:
            call, count = _literal(in_few_words(attempt.call.name, attempt.call.arguments)), attempt.count
            lines.append(f"- {_('{call} ({count} times)', call=call, count=count) if count > 1 else call}")
            if attempt.failed and attempt.result not in told:
                told.add(attempt.result)
                lines.append(_exact(_cut(attempt.result, _LONGEST_ERROR)))
        return lines or [f"- {_('nothing has been tried yet')}"]

    def _hints(self) -> list[str]:
        hints = [_hint(key) for key in self.errors]
        if any(attempt.failed and attempt.call.name == "run_command" for attempt in self.attempts):
            hints.append("command")
        hints = [_HINTS_OF_PATTERN.get(self.pattern, ""), *hints]
        hints.append("ask" if self.pattern else "limit")
        return list(dict.fromkeys(filter(None, hints)))


def _hint(key: str) -> str:
    return next((hint for beginning, hint in _HINTS if key.startswith(beginning)), "")


def _cut(text: str, longest: int) -> str:
    return text if len(text) <= longest else text[:longest].rstrip() + " …"


def _literal(text: str) -> str:
    """Quote words that Markdown would alter as code."""
    return re.sub(_MARKED, lambda word: f"`` {word[0]} ``" if "`" in word[0] else f"`{word[0]}`", text)


def _exact(text: str) -> str:
    """Format text verbatim below a line of the report: several lines as a code block, as their indentation matters."""
    lines = text.strip("\n").rstrip().splitlines()
    if len(lines) == 1:
        lines = [_literal(lines[0])]
    elif lines:
        longest = max((len(marks) for marks in re.findall(r"`{3,}", text)), default=2)
        fence = "`" * (longest + 1)
        lines = [fence, *lines, fence]
    return "\n".join(f"  {line}".rstrip() for line in lines)
