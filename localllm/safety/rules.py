"""Rules that allow, ask about or deny tool calls, and the calls to which they apply.

Written as text, a rule is `edit_file`, `edit_file(docs/)`, `run_command(git push)`,
`fetch_page(https://example.org/docs)`: a tool, and a prefix of its command, path or address. `*` is every tool.
"""

import os
import posixpath
import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Literal, cast
from urllib.parse import urlsplit

import msgspec

from localllm.base.directory_walk import DEEPEST
from localllm.base.errors import ConfigurationError, SafetyViolationError
from localllm.base.events import Json
from localllm.base.i18n import N_, Phrase
from localllm.base.lazy_patterns import late_pattern
from localllm.config.reader import MAXIMUM_FAULTS
from localllm.config.schema import SafetyRule, SafetySettings
from localllm.safety.folder_entries import spellings
from localllm.safety.tool_definition import Tool

if TYPE_CHECKING:
    from localllm.safety.command_line import Line
    from localllm.safety.shell_parser import Command
    from localllm.safety.shell_words import Word

Decision = Literal["allow", "ask", "deny"]

_RULE = late_pattern(r"(?P<tool>[\w.-]+|\*)(?:\((?P<prefix>.*)\))?", re.DOTALL)
_SHELL_SYNTAX = late_pattern(r"[;&|<>()`$\n\r{}\\*?\[\]~#!]")
COMMAND_TOOL = "run_command"
_READING_TOOL = "read_file"
_SHOWING_TOOLS = frozenset({_READING_TOOL, "search_files", "analyze_code", "git_diff", "edit_file", "write_file"})
"""Tools whose output shows contents of the files they are given, that of write_file where it refuses."""
_SEARCHING_TOOL, _FETCHING_TOOL = "web_search", "fetch_page"
WRITING_TOOL = "write_file"
_ALSO = {
    _SEARCHING_TOOL: ("searxng_search", "deep_research"),
    _FETCHING_TOOL: ("deep_research",),
    WRITING_TOOL: ("create_file",),
}
"""Tools that do what another one does: they are denied and asked about as that one is for every call."""
WRITING_TOOLS = frozenset({WRITING_TOOL, "edit_file", "create_file"})
_OF_THE_MODEL = ("explore", "deep_research")
"""Tools that are only created once a model is connected."""
_LONGEST_NAME = 255  # bytes of a part of a path, NAME_MAX of Linux and macOS
_HARMLESS_TARGETS = frozenset({"/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty"})


class Rule(msgspec.Struct, frozen=True, kw_only=True):
    """One rule. `prefix`: None if it applies to every call of the tool. `exact`: only to this command."""

    tool: str
    decision: Decision
    prefix: str | None = None
    exact: bool = False

    def __str__(self) -> str:
        return self.tool if self.prefix is None else f"{self.tool}({self.prefix})"

    @property
    def whole(self) -> bool:
        """Whether it applies to every call of the tool."""
        return self.prefix is None

    @property
    def place(self) -> str:
        """The path it is about, normalized: for rules `a/..` is the project, also where `a` is a link."""
        return posixpath.normpath(self.prefix or "")

    @property
    def closes_reading(self) -> bool:
        """Whether it forbids to show the content of files at its path."""
        return self.decision == "deny" and self.guards_reading

    @property
    def guards_reading(self) -> bool:
        """Whether it decides, unless to allow it, if the content of files at its path is shown."""
        is_path = self.prefix is not None and "://" not in self.prefix
        return self.decision != "allow" and is_path and self.tool in (_READING_TOOL, "*")

    @property
    def _guards_writing(self) -> bool:
        return self.decision != "allow" and self.prefix is not None and self.tool in WRITING_TOOLS

    def concerns(self, tool: str) -> bool:
        """Return whether it applies to this tool."""
        return (
            self.tool in (tool, "*")
            or (self.guards_reading and tool in _SHOWING_TOOLS)
            or (self._guards_writing and tool in WRITING_TOOLS)
            or (self.decision != "allow" and self.whole and tool in _ALSO.get(self.tool, ()))
        )


def rules_of(settings: SafetySettings) -> list[Rule]:
    """Return the rules of the settings, in their order. Malformed rules are skipped: see `check_rules`."""
    lists: tuple[tuple[Decision, tuple[str, ...]], ...] = (
        ("deny", settings.deny),
        ("ask", settings.ask),
        ("allow", settings.allow),
    )
    found = [read_rule(text, decision) for decision, texts in lists for text in texts]
    return [rule for rule in found if rule] + [_of_table(table) for table in settings.rules]


def closed_to_commands(settings: SafetySettings) -> tuple[list[str], list[str]]:
    """Return the project paths that deny rules close to reading, and those closed only to writing. A command could
    reach them by other names, so the sandbox must close them."""
    closing = [rule for rule in rules_of(settings) if closes_path(rule)]
    unreadable = [rule.place for rule in closing if rule.closes_reading]
    return unreadable, [rule.place for rule in closing if not rule.closes_reading]


def closes_path(rule: Rule) -> bool:
    """Return whether it closes the files at a path to reading, or only to writing."""
    is_of_writing = rule.decision == "deny" and rule.prefix is not None and rule.tool in WRITING_TOOLS
    return rule.closes_reading or is_of_writing


def refuse_closed_address(settings: SafetySettings, url: str) -> None:
    """Raise SafetyViolationError for an address that a rule forbids to fetch, or wants a person asked about: research
    reads by itself."""
    for rule in rules_of(settings):
        is_about = rule.decision != "allow" and rule.tool in (_FETCHING_TOOL, "*") and rule.prefix is not None
        if is_about and _begins_address(url, rule):
            raise SafetyViolationError("denied_by_rule", name=url, rule=str(rule))


def leading_out(settings: SafetySettings, root: Path) -> list[Rule]:
    """Return the rules that close, through links, what lies outside the project `root`."""
    return [rule for rule in rules_of(settings) if closes_path(rule) and _leads_out(rule, root)]


def closing_all(settings: SafetySettings, root: Path) -> list[Rule]:
    """Return the rules that close the whole project `root` to reading."""
    top = os.path.realpath(root)
    return [rule for rule in rules_of(settings) if rule.closes_reading and os.path.realpath(root / rule.place) == top]


def _leads_out(rule: Rule, root: Path) -> bool:
    return not Path(os.path.realpath(root / rule.place)).is_relative_to(os.path.realpath(root))


def still_showing(settings: SafetySettings) -> list[str]:
    """Return the tools that still show file contents although a rule without a path denies `read_file`,
    which removes only that tool."""
    gone = {rule.tool for rule in rules_of(settings) if rule.decision == "deny" and rule.whole}
    return sorted({*_SHOWING_TOOLS, COMMAND_TOOL} - gone) if _READING_TOOL in gone and "*" not in gone else []


def closed_to_reading(settings: SafetySettings, canonical: Callable[[str], str]) -> list[str]:
    """Return the paths closed to reading, for walks through the project: normalized, relative to it, and
    also resolved if they are links. `canonical`: see `Policy.judge`."""
    paths = closed_to_commands(settings)[0]
    return sorted({folder for path in paths for folder in _leading(path, canonical)})


def closed_to_writing(settings: SafetySettings, canonical: Callable[[str], str]) -> list[str]:
    """Return the paths that are closed only to writing, as `closed_to_reading`."""
    return sorted({folder for path in closed_to_commands(settings)[1] for folder in _leading(path, canonical)})


def guarded_from_notes(settings: SafetySettings, canonical: Callable[[str], str]) -> list[str]:
    """Return the paths that rules deny to tools that write, or want a person asked about, as `closed_to_reading`: the
    model's plan and words are not added to such a memory file when a session ends."""
    tools = (*WRITING_TOOLS, "todo", "*")
    rules = [rule for rule in rules_of(settings) if rule.decision != "allow" and rule.prefix and rule.tool in tools]
    return sorted({folder for rule in rules for folder in _leading(rule.place, canonical)})


def guarded_from_reading(settings: SafetySettings, canonical: Callable[[str], str]) -> list[str]:
    """Return the paths whose content is shown only after a question, as `closed_to_reading`."""
    rules = [rule for rule in rules_of(settings) if rule.guards_reading and rule.decision == "ask"]
    return sorted({folder for rule in rules for folder in _leading(rule.place, canonical)})


def asked_before_reading(settings: SafetySettings, canonical: Callable[[str], str]) -> list[str]:
    """Return these paths, and those that need confirmation before `read_file` reads them; "." for all."""
    asking = [
        rule.place
        for rule in rules_of(settings)
        if rule.decision != "allow" and rule.tool in (_READING_TOOL, "*") and "://" not in (rule.prefix or "")
    ]
    return sorted({folder for path in asking for folder in _leading(path, canonical)})


def read_rule(text: str, decision: Decision) -> Rule | None:
    """Parse a rule; None if `text` is none."""
    found = _RULE.fullmatch(text.strip())
    return Rule(tool=found["tool"], prefix=found["prefix"], decision=decision) if found else None


def _of_table(table: SafetyRule) -> Rule:
    return Rule(tool=table.tool, prefix=table.prefix or None, decision=table.decision)


def check_rules(settings: SafetySettings, tools: Sequence[Tool]) -> None:
    """Raise ConfigurationError for the first rule that can never match (malformed, or for none of the `tools`), or
    the first rule example that fails."""
    for setting in ("allow", "ask", "deny"):
        for text in getattr(settings, setting):
            _check(f"safety.{setting}", text, read_rule(text, setting), tools)
    for number, table in enumerate(settings.rules, start=1):
        rule = _of_table(table)
        _check(f"safety.rules ({number})", str(rule), rule, tools)
        _check_examples(table, rule, tools)


def usable_rules(
    settings: SafetySettings, added: Mapping[str, Sequence[str | SafetyRule]], tools: Sequence[Tool], root: Path
) -> tuple[SafetySettings, list[ConfigurationError]]:
    """Return the settings without the `added` rules, by the key of their list, that `check_rules` would refuse or that
    lead out of the project `root`; and the reasons. The others are checked: ConfigurationError.

    Strangers wrote the added rules. Their examples are not tried, as they could take for ever; and what they closed
    outside might be what every command needs.
    """
    usable: dict[str, list[str | SafetyRule]] = {}
    errors: list[ConfigurationError] = []
    for key, rules in added.items():
        name = key.rpartition(".")[2]
        usable[name] = [rule for rule in getattr(settings, name) if rule not in rules]
        for rule in map(_without_examples, rules):
            try:
                alone = msgspec.structs.replace(SafetySettings(), **{name: (rule,)})
                check_rules(alone, tools)
                _check_within(key, alone, root)
                usable[name].append(rule)
            except ConfigurationError as error:
                errors.append(error)
    kept = {name: tuple(rules) for name, rules in usable.items()}
    settings = msgspec.structs.replace(settings, **kept)
    check_rules(settings, tools)
    return settings, errors[:MAXIMUM_FAULTS]


def _check_within(setting: str, settings: SafetySettings, root: Path) -> None:
    for rule in leading_out(settings, root):
        target = os.path.realpath(root / rule.place)
        raise ConfigurationError("rule_leads_out", setting=setting, rule=rule, target=target)


def _without_examples(rule: str | SafetyRule) -> str | SafetyRule:
    return rule if isinstance(rule, str) else msgspec.structs.replace(rule, match=(), not_match=())


def _check(setting: str, text: str, rule: Rule | None, tools: Sequence[Tool]) -> None:
    from difflib import get_close_matches

    if rule is None or (rule.prefix is not None and not is_usable(rule.tool, rule.prefix, tools)):
        raise ConfigurationError("rule_malformed", setting=setting, rule=text)
    names = [*(tool.name for tool in tools), *_OF_THE_MODEL]
    if rule.tool not in ("*", *names):
        nearest = next(iter(get_close_matches(rule.tool, names, n=1, cutoff=0)), "*")
        raise ConfigurationError("rule_unknown_tool", setting=setting, rule=text, nearest=nearest)


def is_usable(name: str, prefix: str, tools: Sequence[Tool]) -> bool:
    """Return whether a plain command, a path below the project or an address can begin with `prefix`."""
    if not prefix.strip():
        return False
    if name == COMMAND_TOOL:
        return not _SHELL_SYNTAX.search(prefix) and prefix.count("'") % 2 == prefix.count('"') % 2 == 0
    if any(tool.name == name and tool.fetches for tool in tools):
        has_host = urlsplit(prefix if "://" in prefix else f"//{prefix}").netloc
        return bool(has_host) and not re.search(r"[\s*]", prefix)
    names = prefix.split("/")
    may_exist = len(names) <= DEEPEST and all(len(name.encode(errors="replace")) <= _LONGEST_NAME for name in names)
    is_below = not posixpath.normpath(prefix).startswith("..")
    return is_below and may_exist and not re.search(r"^[/~]|[*?\0]", prefix)


def _check_examples(table: SafetyRule, rule: Rule, tools: Sequence[Tool]) -> None:
    for expected, examples in ((True, table.match), (False, table.not_match)):
        for example in examples:
            found = example_matches(rule, example, tools)
            if found != expected:
                happened = Phrase(N_("matches what it must not match") if found else N_("does not match its example"))
                raise ConfigurationError(
                    "rule_example_failed", rule=rule, decision=rule.decision, example=example, happened=happened
                )


def example_matches(rule: Rule, example: str, tools: Sequence[Tool]) -> bool:
    """Return whether the rule applies to an example: a command line, path or address, by its tool."""
    tool = next((tool for tool in tools if tool.name == rule.tool), None)
    if tool is None:
        tool = next(tool for tool in tools if tool.paths)
    name = next(iter((*tool.paths, *tool.fetches)), "command")
    call = Call(tool, {"command" if tool.name == COMMAND_TOOL else name: example}, posixpath.normpath)
    return call.is_covered_by([rule]) if rule.decision == "allow" else call.touches(rule)


@lru_cache(maxsize=8)
def line_of(command: str) -> "Line":
    """Return the parsed command line; cached."""
    from localllm.safety.command_line import Line  # the shell parser is large and not needed at start-up

    return Line(command)


class Call:
    """A call as rules match it: by its command line, the paths it names or touches, the addresses it
    reads, and what else it sends."""

    def __init__(
        self, tool: Tool, arguments: dict[str, Json], canonical: Callable[[str], str], touched: Sequence[str] = ()
    ) -> None:
        self.tool = tool
        self.line = line_of(arguments.get("command", "")) if tool.name == COMMAND_TOOL else None
        self.sent = [text for name in tool.sends for text in listed(arguments.get(name))]
        self.fetched = [url for name in tool.fetches for url in listed(arguments.get(name))]
        self._folder: str = arguments.get("working_dir", "") or "."
        self._given = [*touched, *(path for name in tool.paths for path in listed(arguments.get(name)))]
        self._touched = touched
        self._canonical = canonical

    def is_covered_by(self, rules: Sequence[Rule]) -> bool:
        """Return whether allow rules cover the whole call.

        Each part of a command line must begin with the words of a rule, and each redirection must write where a rule
        allows write_file to write; computed words are covered by nothing. Programs that only run another one
        (`timeout`, `bash -c`) are looked through.
        """
        own = [rule for rule in rules if rule.concerns(self.tool.name)]
        if any(rule.whole for rule in own):
            return True
        if self.line is not None:
            return self._is_line_covered(self.line, own, [rule for rule in rules if rule.concerns(WRITING_TOOL)])
        if self.fetched:
            return all(any(_begins_address(url, rule) for rule in own) for url in self.fetched)
        places = self._places()
        folders = [posixpath.normpath(rule.prefix or "") for rule in own]
        return bool(places) and all(any(is_within(place, folder) for folder in folders) for place in places)

    def _is_line_covered(self, line: "Line", own: Sequence[Rule], writing: Sequence[Rule]) -> bool:
        if any(rule.exact and rule.prefix == line.text.strip() for rule in own):
            return True
        own = [rule for rule in own if not rule.exact]
        script = line.script
        is_clear = script.sound and script.agreed and not script.opaque and not script.assigns
        if not own or not is_clear or not script.commands:
            return False
        parts = [command for command in script.commands if not (command.through or command.guessed)]
        covered = bool(parts) and all(any(_begins(command, rule) for rule in own) for command in parts)
        return covered and all(self._may_write(line, target, writing) for target in script.writes)

    def _may_write(self, line: "Line", target: "Word", writing: Sequence[Rule]) -> bool:
        if target.text in _HARMLESS_TARGETS and not target.computed:
            return True
        if target.computed or line.folders:
            return False
        with suppress(SafetyViolationError):
            place = self._canonical(posixpath.join(self._folder, target.text))
            return any(rule.whole or is_within(place, posixpath.normpath(rule.prefix or "")) for rule in writing)
        return False

    def touches(self, rule: Rule) -> bool:
        """Return whether any part of the call falls under a deny or ask rule; if uncertain, True."""
        if self.line is not None and rule.concerns(WRITING_TOOL) and self._writes_into(self.line, rule):
            return True
        if self._touched and rule.tool in WRITING_TOOLS and rule.prefix is not None:
            return any(is_within(place, folder) for place in self._places() for folder in self._folders(rule))
        if not rule.concerns(self.tool.name) or rule.prefix is None:
            return rule.concerns(self.tool.name)
        if self.line is not None:
            return rule.tool == COMMAND_TOOL and self.line.may_run(split_words(rule.prefix))
        if self.fetched:
            return any(_begins_address(url, rule) for url in self.fetched)
        folders = self._folders(rule)
        return any(is_within(place, folder) for place in self._places() for folder in folders)

    def _writes_into(self, line: "Line", rule: Rule) -> bool:
        """Return whether a redirection writes into the folder of a rule, from any folder the line may be in."""
        starts = {self._folder, *(posixpath.join(self._folder, folder) for folder in line.folders)}
        folders = self._folders(rule) if rule.prefix is not None else {"."}
        for path in (posixpath.join(start, target.text) for target in line.script.writes for start in starts):
            with suppress(SafetyViolationError):
                place = self._canonical(path)
                if any(is_within(place, folder) for folder in folders):
                    return True
        return False

    def _folders(self, rule: Rule) -> set[str]:
        """Return the folder of a rule as written and, if it is a link, its target."""
        return _leading(rule.prefix or "", self._canonical, all_spellings=rule.decision != "allow")

    def _places(self) -> set[str]:
        """Return the targets of the paths and, for links, the links' own paths: git treats a link as itself."""
        places: set[str] = set()
        for path in self._given:
            places.add(leads := self._canonical(path))
            folder, name = posixpath.split(path.rstrip("/"))
            if leads != "." and name not in ("", ".", ".."):
                places.add(posixpath.normpath(posixpath.join(self._canonical(folder or "."), name)))
        return places


def lasting_rule(tool: str, asked: str, scope: str) -> Rule | None:
    """Return the allow rule meant by a user who was asked about `asked` (a command, a folder, the
    address of a host, or "" for the tool) and wants
    `scope` allowed from now on; None if that would not allow it."""
    if tool == COMMAND_TOOL:
        if scope.strip() == asked.strip():
            return Rule(tool=tool, decision="allow", prefix=scope.strip(), exact=True)
        wanted = split_words(scope)
        is_beginning = is_usable(tool, scope, ()) and split_words(asked)[: len(wanted)] == wanted
        return Rule(tool=tool, decision="allow", prefix=scope.strip()) if is_beginning else None
    if "://" in asked:
        is_there = scope == asked or scope.startswith(f"{asked}/")
        return Rule(tool=tool, decision="allow", prefix=scope) if is_there and not re.search(r"[\s*]", scope) else None
    folder = posixpath.normpath(scope or ".")
    if not is_within(posixpath.normpath(asked or "."), folder):
        return None
    return Rule(tool=tool, decision="allow", prefix=None if folder == "." else folder)


def listed(value: Json) -> list[str]:
    """Return the paths in an argument; an empty one counts as none."""
    if isinstance(value, list):
        return [path for entry in cast("list[Json]", value) for path in listed(entry)]
    return [value] if isinstance(value, str) and value else []


def _leading(path: str, canonical: Callable[[str], str], *, all_spellings: bool = True) -> set[str]:
    """Return a path as written and, if it is a link, its target; with `all_spellings` also of those that look alike."""
    folders = {posixpath.normpath(path)}
    for name in spellings(path) if all_spellings else [path]:
        with suppress(SafetyViolationError):  # paths outside do not matter here
            folders.add(canonical(name))
    return folders


def is_within(place: str, folder: str) -> bool:
    """Return whether a path, relative to the project, is `folder` or below it."""
    return folder == "." or place == folder or place.startswith(folder + "/")


def split_words(command: str) -> list[str]:
    """Split a plain command into words."""
    try:
        return shlex.split(command)
    except ValueError:
        return command.split()


def _begins(command: "Command", rule: Rule) -> bool:
    wanted = split_words(rule.prefix or "")
    first = command.words[: len(wanted)]
    return bool(wanted) and [word.text for word in first] == wanted and not any(word.computed for word in first)


def _begins_address(url: str, rule: Rule) -> bool:
    from localllm.safety.web_addresses import is_below  # what reads addresses comes with the first of them

    return is_below(url, rule.prefix or "", strictly=rule.decision == "allow")
