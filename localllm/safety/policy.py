"""Decide before a tool runs whether the call is allowed, needs confirmation, or is refused.

The policy decides what the user is asked. It protects nothing by itself: that is the sandbox's task. What it finds
in a command makes it ask more, and less only as listed in `Situation`.
"""

import re
from collections.abc import Callable, Collection, Sequence
from typing import Literal

import msgspec

from localllm.base.events import Json
from localllm.base.lazy_patterns import late_pattern
from localllm.config.schema import Mode, SafetySettings
from localllm.safety.rules import COMMAND_TOOL, Call, Decision, Rule, line_of, listed, rules_of
from localllm.safety.tool_definition import Tool

DANGEROUS_COMMANDS = ("rm -rf", "format x:", "del /s", "sudo", "chmod 777")
"""Always dangerous, in addition to those of the settings."""

Why = Literal[
    "",
    "plan",
    "unreadable",
    "untrusted",
    "address",
    "instruction",
    "preview",
    "unwanted",
    "banned",
    "no_commit",
    "no_address",
    "no_run",
    "dry_run",
    "keep_changes",
    "moved_away",
]


_LETTERS = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u30ff\u3400-\u9fff\uff66-\uff9f\U00020000-\U0003ffff"
"""Letters of Thai, Lao, Burmese, Khmer, Japanese and Chinese."""

_UNSPACED = late_pattern(f"[{_LETTERS}]")
_SPACED = rf"[^\W{_LETTERS}]"


class Verdict(msgspec.Struct, frozen=True):
    """The decision, its rule, and whether only a person at the keyboard may approve.

    `why`: the reason if it is no rule: plan mode; a command that cannot be fully analysed; text from the web in the
    conversation; an address nobody has named; a file that assistants obey; the preview of the call; a change where the
    user wants none, or of a file that is to be left as it is; what else is forbidden; a move to where files are
    lost. `lasting`: whether an answer to it may be remembered. `guards`: a rule asks before the contents of the call's
    files are shown.
    """

    decision: Decision
    rule: str = ""
    dangerous: bool = False
    why: Why = ""
    lasting: bool = False
    guards: bool = False


class Situation(msgspec.Struct, frozen=True, kw_only=True):
    """The circumstances in which a call is judged.

    `tainted`: text from the web is in the conversation. `network`: the call can reach other machines, as a command or
    by hooks. `said`: what the user has typed so far. `found`: the addresses that searches have found. `led_by`: the
    readable page that led to the address. `touched`: the files the call changes that no argument names. `obeyed`: files
    to which instruction files for assistants are links. `is_file`: whether something in the project has that name.
    `only_reads`: the command is known only to read the project, in a sandbox that confines it. `kept`: the parts of
    the command, by their words, that only remove what /undo restores; `removes`: the part that removes what it does
    not restore; `keeps_rows`: whether it restores the databases that the command changes. `unfiltered`: the command
    without what only filters its output, and without entering a folder of the project; whoever allows it allows that,
    too.
    """

    tainted: bool = False
    network: bool = False
    said: str = ""
    found: Collection[str] = ()
    led_by: str = ""
    touched: tuple[str, ...] = ()
    obeyed: Collection[str] = ()
    is_file: Callable[[str], bool] = lambda _name: False
    only_reads: bool = False
    kept: frozenset[tuple[str, ...]] = frozenset()
    removes: str = ""
    keeps_rows: bool = False
    unfiltered: str = ""


class Policy:
    """Judges calls by mode and rules. Precedence: deny rules, dangerous commands, ask rules, allow rules.

    `mode` may change while the program runs. `remembered` returns the rules made by the user's answers.
    """

    def __init__(self, settings: SafetySettings, remembered: Callable[[], Sequence[Rule]] = tuple) -> None:
        self.mode: Mode = mode_of(settings)
        self._dangerous = settings.dangerous_commands
        self._rules = rules_of(settings)
        self._remembered = remembered

    def judge(
        self,
        tool: Tool,
        arguments: dict[str, Json],
        canonical: Callable[[str], str],
        situation: Situation = Situation(),  # noqa: B008 - it is immutable
    ) -> Verdict:
        """Return the verdict on a call with parsed arguments.

        `canonical` resolves a path as `ProjectRoot.relative` does; the SafetyViolationError it raises for one outside
        the project propagates. A deny rule on a folder refuses calls that name it or something in it; listing or
        searching a folder above it is not refused.
        """
        call = Call(tool, arguments, canonical, situation.touched)
        is_safe = tool.is_safe(situation.touched)
        if rule := self._touching(call, "deny"):
            return Verdict("deny", rule)
        if self.mode == "plan" and (not is_safe or tool.writes):
            return Verdict("deny", why="plan")
        if found := self._danger(call, situation):
            return Verdict("ask", found, dangerous=True)
        if rule := self._touching(call, "ask"):
            guards = any(rule.guards_reading and call.touches(rule) for rule in self._rules)
            return Verdict("ask", rule, guards=guards)
        allowed = self._allowing(call) or self._allowing(_unfiltered(call, tool, arguments, canonical, situation))
        if not allowed and not all(_is_named(url, situation) for url in call.fetched):
            return Verdict("ask", why="address", lasting=True)
        if situation.tainted and self._sends(call, situation, is_allowed=bool(allowed)):
            return Verdict("ask", why="untrusted")
        if is_safe:
            return Verdict("allow", allowed)
        if allowed or situation.only_reads:
            return Verdict("allow", allowed)
        if call.line and call.line.unreadable:
            return Verdict("ask", why="unreadable", lasting=True)
        if not self._is_let_by_mode(tool):
            return Verdict("ask", lasting=True)
        written = [*situation.touched, *(path for name in tool.writes for path in listed(arguments.get(name)))]
        files = {path: canonical(path) for path in written}
        obeyed = (path for path, file in files.items() if file in situation.obeyed or _is_obeyed(file))
        if any(not was_named(path, situation.said) for path in obeyed):
            return Verdict("ask", why="instruction", lasting=True)
        return Verdict("allow")

    def with_question(self, verdict: Verdict) -> Verdict:
        """Return the verdict on a call whose preview requires a question to the user."""
        is_answered = verdict.decision != "allow" or bool(verdict.rule) or self.mode == "auto"
        return verdict if is_answered else Verdict("ask", why="preview", lasting=True)

    def denies(self, tool: Tool) -> bool:
        """Return whether a rule denies every call of the tool: then it is not offered to the model."""
        return any(rule.whole and rule.decision == "deny" and rule.concerns(tool.name) for rule in self._rules)

    def dangerous_part(self, command: str) -> str:
        """Return the dangerous command, built in or from the settings, that a part of the line matches, or a statement
        that changes all rows of a table, or ""."""
        line = line_of(command)
        return line.danger((*self._dangerous, *DANGEROUS_COMMANDS)) or line.every_row_statement

    def _danger(self, call: Call, situation: Situation) -> str:
        """Return the dangerous command that a part of the call matches, or "". Those of the settings always
        count, the built-in ones only if what they would destroy cannot be restored."""
        if call.line is None:
            return ""
        built_in = call.line.danger(DANGEROUS_COMMANDS, situation.kept)
        found = call.line.danger(self._dangerous) or built_in or situation.removes
        return found or ("" if situation.keeps_rows else call.line.every_row_statement)

    def _touching(self, call: Call, decision: Decision) -> str:
        return next((str(rule) for rule in self._rules if rule.decision == decision and call.touches(rule)), "")

    def _allowing(self, call: Call) -> str:
        """Return the rules that together allow the whole call, or ""."""
        allowing = [rule for rule in [*self._rules, *self._remembered()] if rule.decision == "allow"]
        if call.line and call.line.unreadable and self._restricts_commands:
            allowing = [rule for rule in allowing if not rule.whole]  # another rule may apply to it
        alone = next((rule for rule in allowing if call.is_covered_by([rule])), None)
        if alone is not None:
            return str(alone)
        together = [rule for rule in allowing if not rule.exact]
        return ", ".join(map(str, together)) if len(together) > 1 and call.is_covered_by(together) else ""

    @property
    def _restricts_commands(self) -> bool:
        return any(rule.decision != "allow" and rule.concerns(COMMAND_TOOL) for rule in self._rules)

    def _sends(self, call: Call, situation: Situation, *, is_allowed: bool) -> bool:
        """Return whether something may leave this machine that the user has neither typed nor allowed."""
        if call.line is not None:
            return situation.network or call.line.uses_network
        return situation.network or (not is_allowed and not all(was_said(text, situation.said) for text in call.sent))

    def _is_let_by_mode(self, tool: Tool) -> bool:
        return self.mode == "auto" or (self.mode == "auto-edit" and bool(tool.writes or tool.touches))


def _unfiltered(
    call: Call, tool: Tool, arguments: dict[str, Json], canonical: Callable[[str], str], situation: Situation
) -> Call:
    """Return the call without what only filters its output, or enters a folder of the project."""
    if not situation.unfiltered:
        return call
    return Call(tool, arguments | {"command": situation.unfiltered}, canonical, situation.touched)


def mode_of(settings: SafetySettings) -> Mode:
    """Return the initial mode; `require_confirmation = false` means auto."""
    return "auto" if settings.mode == "ask" and not settings.require_confirmation else settings.mode


def _is_obeyed(path: str) -> bool:
    from localllm.base.instruction_files import is_instruction  # the table is loaded with the first change

    return is_instruction(path)


def was_named(path: str, said: str) -> bool:
    """Return whether the user has typed the file's name, in whatever folder it is."""
    return was_said(path.rpartition("/")[2], said)


def _is_named(url: str, situation: Situation) -> bool:
    """Return whether an address may be read without asking: a search has found exactly it; the user has typed
    it or, while there is no text from the web, its host; or a page of the same host has led there."""
    if url.strip() in situation.found:
        return True
    from localllm.safety.web_addresses import is_same_site, was_typed  # loaded with the first address

    led = bool(situation.led_by) and is_same_site(situation.led_by, url)
    return led or was_typed(url, situation.said, or_host=not situation.tainted, is_file=situation.is_file)


def was_said(text: str, said: str) -> bool:
    """Return whether the user has typed these words in sequence, each of them whole: at least three characters, or
    two in a script without blanks between words."""
    words = " ".join(text.split()).casefold()
    if len(words) < (2 if _UNSPACED.search(words) else 3):
        return not words
    begins = rf"(?<!{_SPACED})" if re.match(_SPACED, words) else ""
    ends = rf"(?!{_SPACED})" if re.match(_SPACED, words[-1]) else ""
    return re.search(begins + re.escape(words) + ends, " ".join(said.split()).casefold()) is not None
