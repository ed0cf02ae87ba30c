"""Judge a call: collect the facts about it, the project and the sandbox, and ask the policy for a verdict."""

import asyncio
import os
from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec

from localllm.base.errors import LocalLLMError, SafetyViolationError, ToolExecutionError
from localllm.safety.paths import ProjectRoot
from localllm.safety.policy import Policy, Situation, Verdict, Why
from localllm.safety.rules import COMMAND_TOOL, asked_before_reading, guarded_from_reading, is_within, line_of, listed
from localllm.safety.tool_definition import Preview, Tool
from localllm.snapshots.change_log import Change
from localllm.snapshots.recorder import CommandSnapshots
from localllm.tools.context import ToolContext

if TYPE_CHECKING:
    from localllm.safety.departures import Departure

_COMMITTER = "git_commit"


class CommandFacts(msgspec.Struct, frozen=True):
    """Facts about a command line; see Situation. `moves_away`: it moves what /undo does not bring back to where it is
    lost."""

    only_reads: bool = False
    kept: frozenset[tuple[str, ...]] = frozenset()
    removes: str = ""
    moves_away: bool = False
    keeps_rows: bool = False
    unfiltered: str = ""


NO_FACTS = CommandFacts()


class Bans(msgspec.Struct, frozen=True):
    """What a request forbids: changes of `files`, and in folders, which end with `/`; commits; to run files, or to run
    them other than as a dry run; to read addresses, which holds until they are typed again; all `changes` of files;
    with them, of what git `records` of them: commits, branches, tags. `discards`: git may not throw changes away.
    `permitted`: those of `files` that were changed all the same, as the user was asked and allowed it."""

    files: Sequence[str] = ()
    commits: bool = False
    runs: Sequence[str] = ()
    dry_runs: Sequence[str] = ()
    addresses: Sequence[str] = ()
    changes: bool = False
    records: bool = False
    discards: bool = False
    permitted: Sequence[str] = ()

    def __bool__(self) -> bool:
        return any(msgspec.structs.astuple(self))

    def __or__(self, other: "Bans") -> "Bans":
        """Return what one of both forbids."""

        def both(one: Sequence[str], more: Sequence[str]) -> list[str]:
            return list(dict.fromkeys((*one, *more)))

        return Bans(
            both(self.files, other.files),
            self.commits or other.commits,
            both(self.runs, other.runs),
            both(self.dry_runs, other.dry_runs),
            both(self.addresses, other.addresses),
            self.changes or other.changes,
            self.records or other.records,
            self.discards or other.discards,
            both(self.permitted, other.permitted),
        )


NO_BANS = Bans()


class CallJudge:
    """Judges the calls of one conversation.

    `tainted`: untrusted text, as from the web, is in the conversation; then calls that could send data away need
    confirmation. `said`: what the user has typed so far. `has_downloaded`: commands may have added text of other
    machines; that is untrusted, too, but commands need no confirmation for it, as they reach listed hosts only.
    `_shunned`: addresses that the user has forbidden, and where in `said`. `bans`: what the user forbids in this turn.
    """

    def __init__(self, policy: Policy, context: ToolContext, commands: CommandSnapshots) -> None:
        self.tainted = False
        self.bans = NO_BANS
        self.said = ""
        self._shunned: list[tuple[str, int]] = []
        self._policy = policy
        self._context = context
        self._commands = commands
        self.spoiled: set[str] = set()
        """Files that commands have changed in this turn where nobody could be asked: they may be put back, whatever the
        user forbids."""
        self._has_downloaded = False
        self._received = context.runner.received

    @property
    def has_downloaded(self) -> bool:
        self._has_downloaded = self._has_downloaded or self._context.runner.received != self._received
        return self._has_downloaded

    @has_downloaded.setter
    def has_downloaded(self, value: bool) -> None:
        self._has_downloaded = value

    def hear(self, said: str, bans: Bans) -> None:
        """Record what the user has typed, and what it forbids in this turn, too. What it forbids to read it forbids
        until the address is typed again."""
        self._shunned += [(one, len(self.said)) for one in bans.addresses]
        self.said += f"\n{said}"
        if bans:
            self.bans |= self._placed(bans)

    def take_words(self, other: "CallJudge") -> None:
        """Take over what the user has said, and what is in the conversation, as a part of its work is begun."""
        self.said, self._shunned, self.bans = other.said, list(other._shunned), other.bans
        self.tainted, self.has_downloaded = other.tainted, other.has_downloaded

    def note_run(self, tool: Tool, arguments: dict[str, Any]) -> None:
        """Record that a call is run. Where nothing confines commands, only their text shows what they download."""
        if tool.name == COMMAND_TOOL and self._context.runner.level == "none":
            self._has_downloaded = self._has_downloaded or line_of(arguments["command"]).prints_foreign_text

    def note_changes(self, changes: Iterable[Change], *, is_spoiled: bool, is_permitted: bool) -> None:
        """Record the files that a call has changed: see `spoiled`, and Bans."""
        paths = [change.path for change in changes]
        if is_spoiled:
            self.spoiled.update(paths)
        if is_permitted:
            self.bans |= Bans(permitted=paths)

    def judge(
        self,
        tool: Tool,
        arguments: dict[str, Any],
        root: ProjectRoot,
        led_by: str = "",
        facts: CommandFacts = NO_FACTS,
        *,
        counts_found: bool = True,
    ) -> Verdict:
        """Return the policy's verdict; raise SafetyViolationError if that is to deny. `root`: that of the call.
        `led_by`: see Situation. `counts_found`: whether addresses found by a search may be read."""
        has_network = self.tainted and self._has_network(tool)
        web = self._context.web
        situation = Situation(
            tainted=self.tainted or (tool.name != COMMAND_TOOL and self.has_downloaded),
            network=has_network,
            said=self.said,
            found=web.found if web and counts_found else (),
            led_by=led_by,
            touched=self._touched(tool, arguments),
            obeyed=self._obeyed(tool, root) if tool.writes or tool.touches else (),
            is_file=self._is_file,
            only_reads=facts.only_reads,
            kept=facts.kept,
            removes=facts.removes,
            keeps_rows=facts.keeps_rows,
            unfiltered=facts.unfiltered,
        )
        verdict = self._policy.judge(tool, arguments, root.relative, situation)
        if verdict.decision == "deny":
            key = "denied_plan_mode" if verdict.why == "plan" else "denied_by_rule"
            raise SafetyViolationError(key, name=tool.name, rule=verdict.rule)
        if verdict.dangerous:
            return verdict
        why = self._forbidden(tool, arguments, root) or ("moved_away" if facts.moves_away else "")
        return Verdict("ask", verdict.rule, why=why, guards=verdict.guards) if why else verdict

    def _forbidden(self, tool: Tool, arguments: dict[str, Any], root: ProjectRoot) -> Why:
        """Return what the user forbids that the call does."""
        bans = self.bans
        changes = bans.changes and (tool.writes or self._touched(tool, arguments))
        if changes and self._spoils_more(self.written(tool, arguments, root)):
            return "unwanted"
        if self._shunned and self._reads_shunned(tool, arguments):
            return "no_address"
        if bans.files and self._are_banned(self.written(tool, arguments, root)):
            return "banned"
        if tool.name == COMMAND_TOOL and bans:
            from localllm.tools import banned_commands as banned  # few requests forbid anything

            line, folder = line_of(arguments["command"]), arguments["working_dir"] or "."
            changed = banned.files_changed(line, folder, root) if bans.changes or bans.files else []
            if bans.changes and changed and self._spoils_more(changed):
                return "unwanted"
            if bans.records and banned.records(line):
                return "unwanted"
            if bans.files and self._are_banned([*changed, *(f"{path}/" for path in changed)], with_folders=True):
                return "banned"
            if bans.commits and banned.commits(line):
                return "no_commit"
            if bans.discards and banned.discards(line):
                return "keep_changes"
            run = banned.files_run(line, folder, root) if bans.runs or bans.dry_runs else []
            if any(is_among(path, bans.runs) for path in run):
                return "no_run"
            dry = [path for path in run if is_among(path, bans.dry_runs)]
            return "dry_run" if dry and not banned.may_be_dry(line, dry) else ""
        if tool.name == _COMMITTER and (bans.commits or bans.records):
            return "no_commit" if bans.commits else "unwanted"
        return ""

    def _reads_shunned(self, tool: Tool, arguments: dict[str, Any]) -> bool:
        """Return whether it reads an address that the user has forbidden, or is a command with one."""
        if tool.name == COMMAND_TOOL:
            addresses = [one.partition("://")[2].rstrip("/") for one, _said in self._still_shunned()]
            return any(one and one in arguments["command"] for one in addresses)
        return any(self.is_shunned(url) for name in tool.fetches for url in listed(arguments.get(name)))

    def is_shunned(self, url: str) -> bool:
        """Return whether the user has forbidden to read an address, and not typed it since."""
        if not self._shunned:
            return False
        from localllm.safety.web_addresses import is_shunned, was_typed  # few requests forbid an address

        return any(
            is_shunned(url, one) and not was_typed(url, said, or_host=False) for one, said in self._still_shunned()
        )

    def _still_shunned(self) -> list[tuple[str, str]]:
        """Return the addresses that are forbidden and were not typed since, and what the user said since."""
        from localllm.safety.web_addresses import was_typed

        since = [(one, self.said[at:]) for one, at in self._shunned]
        return [(one, said) for one, said in since if not was_typed(one, said, or_host=False)]

    def _are_banned(self, paths: Iterable[str], *, with_folders: bool = False) -> bool:
        """Return whether one of the paths is to be left as it is; `with_folders`: or a file in one is."""
        changed = [path for path in paths if path not in self.spoiled]
        inside = [one.removeprefix("./") for one in self.bans.files] if with_folders else []
        return any(
            is_among(path, self.bans.files) or (path[-1:] == "/" and any(one.startswith(path) for one in inside))
            for path in changed
        )

    def _spoils_more(self, paths: Collection[str]) -> bool:
        return not paths or not self.spoiled.issuperset(paths)

    def begin(self) -> None:
        """Begin a turn, in which nothing is forbidden yet."""
        self.spoiled.clear()
        self.bans = NO_BANS

    def _placed(self, bans: Bans) -> Bans:
        """Return the bans with `./` before the name of a file that is there; only where there is none, a name means
        one in any folder."""

        def places(files: Sequence[str]) -> list[str]:
            there = {one for one in files if "/" not in one and (self._context.root.path / one).is_file()}
            return [f"./{one}" if one in there else one for one in files]

        files, runs, dry = map(places, (bans.files, bans.runs, bans.dry_runs))
        return msgspec.structs.replace(bans, files=files, runs=runs, dry_runs=dry)

    async def preview(self, context: ToolContext, tool: Tool, arguments: dict[str, Any]) -> Preview | None:
        """Preview the call. Where a rule asks before a file is read, what is wrong is said without its contents."""
        try:
            return await preview_of(context, tool, arguments)
        except ToolExecutionError as error:
            guarded = guarded_from_reading(self._context.settings.safety, context.root.relative)
            files = self.written(tool, arguments, context.root) if guarded else ()
            if any(is_within(file, path) for file in files for path in guarded):
                raise _without_contents(error) from None
            raise

    def may_follow(self, tool: Tool, arguments: dict[str, Any], before: str, after: str) -> bool:
        """Return whether the page at `before`, which may be read, may lead to `after` without confirmation.
        Raises SafetyViolationError if that is denied."""
        there = arguments | dict.fromkeys(tool.fetches, after)
        return self.judge(tool, there, self._context.root, led_by=before).decision == "allow"

    def may_read_anew(self, tool: Tool, arguments: dict[str, Any]) -> bool:
        """Return whether the permitted call needed no confirmation even if no search had found its address: the user
        has typed it, or allowed it."""
        return self.judge(tool, arguments, self._context.root, counts_found=False).decision == "allow"

    def examine_command(self, arguments: dict[str, Any], root: ProjectRoot) -> CommandFacts:
        """Collect the facts about a command line with which the policy can avoid needless confirmations."""
        command, folder = arguments["command"], arguments["working_dir"] or "."
        with suppress(LocalLLMError):  # e.g. a folder outside: reported when it is run
            folder = root.relative(folder)
            leaving = self._departures(command, folder, root)
            dangerous = bool(self._policy.dangerous_part(command))
            facts = NO_FACTS if dangerous else self._of_harmless(command, folder, root)
            if not (dangerous or leaving):
                return facts
            kept = frozenset[tuple[str, ...]]()
            # What a command does in the background, once it has started, is not kept.
            is_kept = not arguments.get("background") and not self._context.background.is_any_running
            if self._context.settings.safety.auto_backup and is_kept:
                from localllm.safety.recoverable_removals import recoverable_removals  # rarely needed

                comes_back = self._commands.would_bring_back
                if line_of(command).every_row_statement:
                    from localllm.safety.sql_statements import keeps_rows

                    facts = msgspec.structs.replace(facts, keeps_rows=keeps_rows(command, folder, root, comes_back))
                else:
                    away = {one.words for one in leaving}
                    kept = recoverable_removals(command, folder, root, comes_back, away)
            lost = [one for one in leaving if one.words not in kept]
            removes = "rm -r" if any(not one.target for one in lost) else ""
            moves_away = any(one.target for one in lost)
            return msgspec.structs.replace(facts, kept=kept, removes=removes, moves_away=moves_away)
        return NO_FACTS

    def _departures(self, command: str, folder: str, root: ProjectRoot) -> list["Departure"]:
        """Return what takes files of the project to where they are lost. Where nothing confines commands, what they
        move stays where it is put."""
        from localllm.safety.departures import departures  # with the first command
        from localllm.sandbox.backend import BACKENDS

        is_confined = self._context.runner.level in BACKENDS
        found = departures(line_of(command), folder, str(root.path))
        return [one for one in found if is_confined or not one.target]

    def _of_harmless(self, command: str, folder: str, root: ProjectRoot) -> CommandFacts:
        from localllm.safety.reading_commands import (  # with the first command
            Place,
            only_reads,
            without_filters,
            without_move,
        )
        from localllm.sandbox.backend import BACKENDS
        from localllm.sandbox.dotfiles import git_settings_of_user

        closed = asked_before_reading(self._context.settings.safety, root.relative)
        settings = partial(git_settings_of_user, os.environ, root.path)
        place = Place(root.path, folder, root.relative, closed, os.environ.get("PATH", ""), settings)
        if line_of(command).unreadable:
            return NO_FACTS
        level = self._context.runner.level
        is_confined = level in BACKENDS and BACKENDS[level].closes_names
        reads = is_confined and only_reads(command, place)
        return CommandFacts(only_reads=reads, unfiltered=without_move(without_filters(command, place), place))

    def scope_of(self, tool: Tool, arguments: dict[str, Any], root: ProjectRoot, facts: CommandFacts) -> str:
        """Return the scope of a lasting answer: the command, without what only filters its output or
        enters a folder of the project; the host of the
        address; or the folder of the file, for one in the project root itself, as that folder contains everything."""
        if tool.name == COMMAND_TOOL:
            return facts.unfiltered or arguments["command"].strip()
        if tool.fetches:
            from localllm.safety.web_addresses import site_of  # imported with the first address

            return site_of(arguments[tool.fetches[0]])
        files = self.written(tool, arguments, root)
        folder, slash, name = files[0].rpartition("/") if len(files) == 1 else ("", "", "")
        return folder + slash or name

    def written(self, tool: Tool, arguments: dict[str, Any], root: ProjectRoot) -> list[str]:
        """Return the canonical paths of the files a call changes."""
        named = [path for name in tool.writes for path in listed(arguments[name])]
        return [root.relative(path) for path in (*named, *self._touched(tool, arguments))]

    def _obeyed(self, tool: Tool, root: ProjectRoot) -> set[str]:
        """Return the files of other names whose text is obeyed: those that instruction files are links to and, with
        untrusted text in the conversation, the project's memory, which later sessions get as the user's words."""
        from localllm.base.instruction_files import linked_instructions  # imported with the first change

        obeyed = linked_instructions(root.path)
        if tool.writes and (self.tainted or self.has_downloaded):
            with suppress(SafetyViolationError):  # a link out of the project, which no tool follows
                obeyed.add(root.relative(self._context.project_memory.name))
        return obeyed

    def _touched(self, tool: Tool, arguments: dict[str, Any]) -> tuple[str, ...]:
        return tool.touches(self._context, arguments) if tool.touches else ()

    def _is_file(self, name: str) -> bool:
        return os.path.lexists(self._context.root.path / name)

    def _has_network(self, tool: Tool) -> bool:
        """Return whether the call is of a command that can reach other machines, or runs hooks that can."""
        hosts = self._context.settings.command_hosts
        if tool.name == _COMMITTER:
            return bool(hosts)
        return tool.name == COMMAND_TOOL and (bool(hosts) or self._context.runner.level == "none")


def is_among(path: str, files: Collection[str]) -> bool:
    """Return whether a path of the project is one of the files, as the user has named them, or in one of the folders,
    which end with `/`. What begins with `./` is there alone, anything else in any folder."""
    return any(_is_meant(path, one) for one in files)


def _is_meant(path: str, name: str) -> bool:
    if name.startswith("./"):
        return path == name[2:]
    return f"/{name}" in f"/{path}" if name.endswith("/") else f"/{path}".endswith(f"/{name}")


async def preview_of(context: ToolContext, tool: Tool, arguments: dict[str, Any]) -> Preview | None:
    """Preview the call in a thread, as comparing texts may be slow."""
    if tool.preview is None:
        return None
    preview = await asyncio.to_thread(tool.preview, context, **arguments)
    return preview if isinstance(preview, Preview) else await preview


_CONTENTS = {"text": "", "closest": "", "places": "", "lost": "some of its contents"}
"""Parameters of errors that show a file's contents, and what stands for them."""


def _without_contents(error: LocalLLMError) -> ToolExecutionError:
    inner = {name: _without_contents(value) for name, value in error.params.items() if isinstance(value, LocalLLMError)}
    hidden = {name: text for name, text in _CONTENTS.items() if name in error.params}
    return ToolExecutionError(error.key, **error.params | inner | hidden)
