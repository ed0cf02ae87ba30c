"""What may run, what is asked about, what is refused: judged before a tool runs.

The policy decides what a person is asked. It protects nothing by itself: that is the sandbox's part. What it reads in
a command makes it ask more, and less only where it is told so: see `Situation`.
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
"""Those that are dangerous whatever the settings say: the ones named there come on top."""

Why = Literal["", "plan", "unreadable", "untrusted", "address", "instruction", "preview"]


_LETTERS = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u30ff\u3400-\u9fff\uff66-\uff9f\U00020000-\U0003ffff"
"""Those of Thai, Lao, Burmese, Khmer, Japanese and Chinese."""

_UNSPACED = late_pattern(f"[{_LETTERS}]")
_SPACED = rf"[^\W{_LETTERS}]"


class Verdict(msgspec.Struct, frozen=True):
    """The decision, the rule it comes from, and whether only a person at the keyboard may say yes.

    `why`: what it comes from where that is no rule: plan mode; a command of which not all can be told; text from the
    web in the conversation; an address nobody has named; a text that assistants obey; what the preview of the call
    says. `lasting`: whether an answer to
    it may be remembered.
    """

    decision: Decision
    rule: str = ""
    dangerous: bool = False
    why: Why = ""
    lasting: bool = False


class Situation(msgspec.Struct, frozen=True, kw_only=True):
    """What holds while a call is judged.

    `tainted`: text from the web is in the conversation. `network`: commands can reach other machines. `said`: what the
    user has typed so far. `found`: the addresses that searches have found. `led_by`: the page that has led to the
    address, one that may be read. `touched`: the files the call changes that no argument of it names. `obeyed`: files
    that texts which assistants obey are links to. `is_file`: whether something in the project is called so.
    `only_reads`: the command is known to read the project and no more, in a sandbox that holds it. `kept`: the parts of
    the command, by their words, that only remove what /undo brings back.
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


class Policy:
    """Judges calls by mode and rules: deny wins, then what is dangerous, then ask rules, then allow rules.

    `mode` may change while the program runs. `remembered` gives the rules that answers of the user have made.
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
        """The verdict on a call with parsed arguments.

        `canonical` gives a path as `ProjectRoot.relative` does; the SafetyViolationError it raises for a path outside
        the project is passed on. A deny rule on a folder refuses calls that name it or something in it; listing or
        searching a folder above it is not refused as a call.
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
            return Verdict("ask", rule)
        allowed = self._allowing(call)
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
        """The verdict on a call whose preview wants a person asked."""
        is_answered = verdict.decision != "allow" or bool(verdict.rule) or self.mode == "auto"
        return verdict if is_answered else Verdict("ask", why="preview", lasting=True)

    def denies(self, tool: Tool) -> bool:
        """Whether a rule denies every call of the tool: such a tool is not offered at all."""
        return any(rule.whole and rule.decision == "deny" and rule.concerns(tool.name) for rule in self._rules)

    def dangerous_part(self, command: str) -> str:
        """The dangerous command that a part of the command line is, built in or of the settings, or nothing."""
        return line_of(command).danger((*self._dangerous, *DANGEROUS_COMMANDS))

    def _danger(self, call: Call, situation: Situation) -> str:
        """The dangerous command that a part of the call is, or nothing. Those of the settings count whatever they
        would do, the built-in ones by what they would destroy."""
        if call.line is None:
            return ""
        return call.line.danger(self._dangerous) or call.line.danger(DANGEROUS_COMMANDS, situation.kept)

    def _touching(self, call: Call, decision: Decision) -> str:
        return next((str(rule) for rule in self._rules if rule.decision == decision and call.touches(rule)), "")

    def _allowing(self, call: Call) -> str:
        """The rules that allow all of the call, or nothing."""
        allowing = [rule for rule in [*self._rules, *self._remembered()] if rule.decision == "allow"]
        if call.line and call.line.unreadable and self._restricts_commands:
            allowing = [rule for rule in allowing if not rule.whole]  # it may be what another rule is about
        alone = next((rule for rule in allowing if call.is_covered_by([rule])), None)
        if alone is not None:
            return str(alone)
        together = [rule for rule in allowing if not rule.exact]
        return ", ".join(map(str, together)) if len(together) > 1 and call.is_covered_by(together) else ""

    @property
    def _restricts_commands(self) -> bool:
        return any(rule.decision != "allow" and rule.concerns(COMMAND_TOOL) for rule in self._rules)

    def _sends(self, call: Call, situation: Situation, *, is_allowed: bool) -> bool:
        """Whether something may leave this machine that the user has neither typed nor allowed."""
        if call.line is not None:
            return situation.network or call.line.uses_network
        return not is_allowed and not all(was_said(text, situation.said) for text in call.sent)

    def _is_let_by_mode(self, tool: Tool) -> bool:
        return self.mode == "auto" or (self.mode == "auto-edit" and bool(tool.writes or tool.touches))


def mode_of(settings: SafetySettings) -> Mode:
    """The mode at the start: `require_confirmation = false` is another word for auto."""
    return "auto" if settings.mode == "ask" and not settings.require_confirmation else settings.mode


def _is_obeyed(path: str) -> bool:
    from localllm.base.instruction_files import is_instruction  # the table is loaded with the first change

    return is_instruction(path)


def was_named(path: str, said: str) -> bool:
    """Whether the user has typed the name of the file, wherever it lies."""
    return was_said(path.rpartition("/")[2], said)


def _is_named(url: str, situation: Situation) -> bool:
    """Whether an address may be read without a question: a search has found it, letter by letter; the user has typed
    it or, as long as no text from the web is there, its host; or a page of the same host has led there."""
    if url.strip() in situation.found:
        return True
    from localllm.safety.web_addresses import is_same_site, was_typed  # they come with the first address

    led = bool(situation.led_by) and is_same_site(situation.led_by, url)
    return led or was_typed(url, situation.said, or_host=not situation.tainted, is_file=situation.is_file)


def was_said(text: str, said: str) -> bool:
    """Whether the user has typed these words, one after another and each of them whole: at least three characters, or
    two where they are of a script that puts no blanks between words."""
    words = " ".join(text.split()).casefold()
    if len(words) < (2 if _UNSPACED.search(words) else 3):
        return not words
    begins = rf"(?<!{_SPACED})" if re.match(_SPACED, words) else ""
    ends = rf"(?!{_SPACED})" if re.match(_SPACED, words[-1]) else ""
    return re.search(begins + re.escape(words) + ends, " ".join(said.split()).casefold()) is not None
