"""What may run, what is asked about, what is refused: judged before a tool runs.

The policy decides what a person is asked. It protects nothing by itself: that is the sandbox's part.
"""

import posixpath
import re
import shlex
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Literal, cast

import msgspec

from localllm.base.config.schema import SafetySettings
from localllm.base.errors import ConfigurationError, SafetyViolationError
from localllm.base.events import Json
from localllm.tools.guard.command_line import Word, commands_in
from localllm.tools.registry import Risk, Tool

_RULE = re.compile(r"(?P<tool>[\w.-]+|\*)(?:\((?P<prefix>.*)\))?", re.DOTALL)
_SHELL_SYNTAX = re.compile(r"[;&|<>()`$\n\r{}\\*?\[\]~#!]")
_ASSIGNMENT = re.compile(r"\w+(\[.*\])?\+?=")
_MOST_TRIES = 100  # how often a program may be named in one command that is still told apart from a denied one
_DRIVE = re.compile(r"[a-z]:", re.IGNORECASE)

Decision = Literal["allow", "ask", "deny"]


class Verdict(msgspec.Struct, frozen=True):
    """The decision, the rule it comes from, and whether only a person at the keyboard may say yes."""

    decision: Decision
    rule: str = ""
    dangerous: bool = False


class Policy:
    """Judges calls by the rules of the settings: deny wins, dangerous commands are always asked about, then allow."""

    def __init__(self, settings: SafetySettings) -> None:
        self._settings = settings

    def judge(self, tool: Tool, arguments: dict[str, Json], canonical: Callable[[str], str]) -> Verdict:
        """The verdict on a call with parsed arguments.

        `canonical` gives a path as `ProjectRoot.relative` does; the SafetyViolationError it raises for a path outside
        the project is passed on. A deny rule on a folder refuses calls that name it or something in it; listing or
        searching a folder above it is not refused as a call.
        """
        call = _Call(tool, arguments, canonical)
        if rule := next((rule for rule in self._settings.deny if call.touches(rule)), ""):
            return Verdict("deny", rule)
        if found := self.dangerous_part(arguments.get("command", "")):
            return Verdict("ask", found, dangerous=True)
        if tool.risk == Risk.SAFE:
            return Verdict("allow")
        if rule := next((rule for rule in self._settings.allow if call.is_covered_by(rule)), ""):
            return Verdict("allow", rule)
        return Verdict("ask" if self._settings.require_confirmation else "allow")

    def denies(self, tool: Tool) -> bool:
        """Whether a rule denies every call of the tool: such a tool is not offered at all."""
        return any(_read_rule(rule) in {(tool.name, None), ("*", None)} for rule in self._settings.deny)

    def dangerous_part(self, command: str) -> str:
        """The entry of `dangerous_commands` that a part of the command line matches, or nothing."""
        parts = [[word.text for word in words] for words in commands_in(command)]
        for entry in self._settings.dangerous_commands:
            if entry.strip() and any(_is_dangerous(words, entry.split()) for words in parts):
                return entry
        return ""


def check_rules(settings: SafetySettings, tools: Sequence[str]) -> None:
    """Raise ConfigurationError for the first rule that can never match: malformed, or of none of the `tools`."""
    from difflib import get_close_matches

    for setting, rules in (("allow", settings.allow), ("deny", settings.deny)):
        for rule in rules:
            name, prefix = _read_rule(rule)
            if not name or (prefix is not None and not _is_usable(name, prefix)):
                raise ConfigurationError("rule_malformed", setting=f"safety.{setting}", rule=rule)
            if name not in ("*", *tools):
                nearest = next(iter(get_close_matches(name, tools, n=1, cutoff=0)), "*")
                raise ConfigurationError("rule_unknown_tool", setting=f"safety.{setting}", rule=rule, nearest=nearest)


def _is_usable(name: str, prefix: str) -> bool:
    """Whether a plain command, or a path below the project, can begin with `prefix`."""
    if not prefix.strip():
        return False
    if name == "run_command":
        return not _SHELL_SYNTAX.search(prefix) and prefix.count("'") % 2 == prefix.count('"') % 2 == 0
    return not re.search(r"^[/~]|[*?]", prefix) and not posixpath.normpath(prefix).startswith("..")


def _read_rule(rule: str) -> tuple[str, str | None]:
    """The tool and what stands in the parentheses; ("", None) where it is no rule."""
    found = _RULE.fullmatch(rule.strip())
    return (found["tool"], found["prefix"]) if found else ("", None)


class _Call:
    """A call as the rules see it: by its command line, or by the paths it names."""

    def __init__(self, tool: Tool, arguments: dict[str, Json], canonical: Callable[[str], str]) -> None:
        self._tool = tool
        self._command: str | None = arguments.get("command")
        self._given = [path for name in tool.paths for path in _listed(arguments.get(name))]
        self._canonical = canonical

    def is_covered_by(self, rule: str) -> bool:
        """Whether an allow rule covers all of the call.

        A command is covered only if it is a single plain one that begins with the rule's words: anything the shell
        would interpret is beyond what a prefix can promise.
        """
        name, prefix = _read_rule(rule)
        if name not in (self._tool.name, "*") or prefix is None:
            return name in (self._tool.name, "*")
        if self._command is not None:
            wanted = _words(prefix)
            return bool(wanted) and not _SHELL_SYNTAX.search(self._command) and _begins(_words(self._command), wanted)
        folder = posixpath.normpath(prefix)
        places = self._places()
        return bool(places) and all(_is_within(place, folder) for place in places)

    def touches(self, rule: str) -> bool:
        """Whether any part of the call falls under a deny rule; where that cannot be told, it does."""
        name, prefix = _read_rule(rule)
        if name not in (self._tool.name, "*") or prefix is None:
            return name in (self._tool.name, "*")
        if self._command is not None:
            wanted = _words(prefix)
            return any(_may_run(words, wanted) for words in commands_in(self._command))
        folders = {posixpath.normpath(prefix)}
        with suppress(SafetyViolationError):  # a rule about what is outside has nothing to refuse here
            folders.add(self._canonical(prefix))
        return any(_is_within(place, folder) for place in self._places() for folder in folders)

    def _places(self) -> set[str]:
        """Where the paths lead and, for links, where they stand: git takes a link as itself."""
        places: set[str] = set()
        for path in self._given:
            places.add(leads := self._canonical(path))
            folder, name = posixpath.split(path.rstrip("/"))
            if leads != "." and name not in ("", ".", ".."):
                places.add(posixpath.normpath(posixpath.join(self._canonical(folder or "."), name)))
        return places


def _listed(value: Json) -> list[str]:
    """The paths an argument holds; an empty one stands for none."""
    if isinstance(value, list):
        return [path for entry in cast("list[Json]", value) for path in _listed(entry)]
    return [value] if isinstance(value, str) and value else []


def _is_within(place: str, folder: str) -> bool:
    return folder == "." or place == folder or place.startswith(folder + "/")


def _words(command: str) -> list[str]:
    try:
        return shlex.split(command)
    except ValueError:
        return command.split()


def _begins(words: list[str], wanted: list[str]) -> bool:
    return words[: len(wanted)] == wanted


def _may_run(words: list[Word], wanted: list[str]) -> bool:
    """Whether the command may be the one denied: its program, its words in their order, its flags anywhere.

    Several words count wherever they stand, a bare program only where a command begins; options may stand between.
    A computed word may be any word or several.
    """
    if not wanted:
        return True
    tries = 0
    for position, (word, starts) in enumerate(zip(words, _starts([word.text for word in words]), strict=True)):
        if word.computed and starts and not _ASSIGNMENT.match(word.text):
            return True
        if _is_program(word.text, wanted[0]) and (starts or wanted[1:]):
            tries += 1
            if tries > _MOST_TRIES or _follows(words[position + 1 :], wanted[1:]):
                return True
    return False


def _follows(words: list[Word], wanted: list[str]) -> bool:
    flags = [want for want in wanted if want.startswith("-")]
    names = [want for want in wanted if not want.startswith("-")]
    was_option = False
    for word in words:
        if not names:
            break
        if word.computed:
            return True
        is_option = word.text.startswith("-")
        if word.text == names[0] or (is_option and word.text.endswith(names[0])):
            del names[0]
        elif not (is_option or was_option):
            return False
        was_option = is_option
    return not names and (any(word.computed for word in words) or all(_has_flag(words, flag) for flag in flags))


def _has_flag(words: list[Word], flag: str) -> bool:
    """Whether the words hold the flag, long, shortened or short, or the letters of a group of flags."""
    options = [word.text.partition("=")[0] for word in words if word.text.startswith("-")]
    letters = {letter for option in options if option[1:2] != "-" for letter in option[1:]}
    long = [option for option in options if option.startswith("--")]
    if flag.startswith("--"):
        return flag[2:3] in letters or any(flag.startswith(option) for option in long) or flag in options
    return flag in options or set(flag[1:]) <= letters | {option[2:3] for option in long}


def _is_program(word: str, program: str) -> bool:
    return word.rpartition("/")[2].lower() == program.rpartition("/")[2].lower()


def _is_dangerous(words: list[str], entry: list[str]) -> bool:
    """Whether a plain command is the entry's: same program, all its flags (in any order or grouping), its words.

    An entry with arguments (`rm -rf`) counts wherever it stands, as after `find -exec`; a bare program (`sudo`)
    only where a command begins, so that `grep sudo` is not one.
    """
    program, *rest = entry
    found = [position for position, word in enumerate(words) if _is_program(word, program)]
    if rest:
        return bool(found) and _has_all(words[found[0] + 1 :], rest)
    starts = _starts(words)
    return any(starts[position] for position in found)


_KEYWORDS = frozenset({"if", "then", "elif", "else", "while", "until", "do", "!", "{", "time", "coproc"})
_SHELLS = frozenset({"bash", "sh", "dash", "zsh", "ksh", "fish", "busybox", "eval", "trap", "watch"})
_WRAPPERS = _SHELLS | frozenset(
    {"env", "exec", "command", "builtin", "nohup", "nice", "ionice", "timeout", "xargs", "parallel", "setsid"}
    | {"stdbuf", "strace", "chroot", "sudo", "doas", "su"}
)
_EXECUTING_OPTIONS = frozenset({"-exec", "-execdir", "-ok", "-okdir"})


def _starts(words: list[str]) -> list[bool]:
    """For each word whether it may be run as a command.

    It may where only keywords, wrappers, assignments, numbers, and options with a value precede it, and after `-exec`.
    """
    starts: list[bool] = []
    open_still, was_option, before = True, False, ""
    for word in words:
        starts.append(open_still or before in _EXECUTING_OPTIONS)
        is_option = word.startswith("-")
        is_wrapper = word.rpartition("/")[2] in _KEYWORDS or word.rpartition("/")[2] in _WRAPPERS
        passes = is_option or was_option or is_wrapper or _ASSIGNMENT.match(word) or word[:1].isdigit()
        open_still = open_still and bool(passes)
        was_option, before = is_option, word
    return starts


def _has_all(words: list[str], wanted: list[str]) -> bool:
    flags = {letter for word in words if re.fullmatch(r"-\w+", word) for letter in word[1:]}
    long_flags = {word[2:3] for word in words if word.startswith("--")}
    for want in wanted:
        if re.fullmatch(r"-\w+", want):
            if not set(want[1:]) <= flags | long_flags:
                return False
        elif _DRIVE.fullmatch(want):
            if not any(_DRIVE.match(word) for word in words):
                return False
        elif want.lower() not in (word.lower() for word in words):
            return False
    return True
