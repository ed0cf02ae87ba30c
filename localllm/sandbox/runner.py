"""Run commands of a project in the sandbox, for the rest of the program."""

import asyncio
import os
import sys
import threading
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from functools import cached_property, partial
from pathlib import Path

import msgspec

from localllm.base import logs, offline
from localllm.base.errors import SafetyViolationError, ToolExecutionError
from localllm.base.i18n import Phrase
from localllm.base.own_folders import Reopener, own_folder_around
from localllm.base.paths import config_file
from localllm.config.registry import load
from localllm.sandbox.backend import BACKENDS, LEVELS, Confinement, Level, Network, SandboxLevel, Surroundings
from localllm.sandbox.command_job import Done, Job
from localllm.sandbox.dotfiles import put_into, settings_for
from localllm.sandbox.environment import Visibility, secrets_named_by, survey, variables
from localllm.sandbox.linux.bundle import Bundle
from localllm.sandbox.linux.confinement import Parts
from localllm.sandbox.linux.fork_client import ForkServer
from localllm.sandbox.network.hosts import NetworkHosts
from localllm.sandbox.network.proxy import Contact
from localllm.sandbox.probe import Probed, probe
from localllm.sandbox.process import Excess, HeadAndTail, Launch, OnOutput, PlainLaunch, Process
from localllm.sandbox.project_surroundings import ProjectSurroundings
from localllm.sandbox.protect.own_folder import OwnCopy
from localllm.sandbox.protect.shared_files import MOST_COPIED, Severed, sever
from localllm.sandbox.scratch import Scratch, remove_stale

__all__ = ["CommandResult", "SandboxLevel", "SandboxRunner"]

_MOST_NAMED = 20
_INSPECTION_DISK = 1 << 30  # bytes

LONGEST_BACKGROUND = 12 * 3600.0
"""Seconds that a background command may take: enough for a night."""


class CommandResult(msgspec.Struct, frozen=True, kw_only=True):
    """The outcome of a command.

    `return_code` is -N for a command killed by signal N. `execution_time` is in seconds. Output is decoded as UTF-8
    with replacement, at most the runner's cap of each stream; `truncated`: some was dropped from its middle. `excess`:
    what it was killed for using too much of. `reverted`: protected files it changed, which are restored. `unlinked`:
    files that were also files outside, by a hard link, and were replaced by copies before the command. `overlooked`:
    there was not enough time to look everywhere for what it must not put there. `network`: what of it was open;
    `contacts`: the hosts it requested, refused or not. `left`: something it had started in the background was ended
    with it. `statuses`: how each part of its last pipeline ended, if that was requested. `encoding`: Japanese lines of
    its output came in this one. `reopened`: files of the program's own that it closed (`chmod 000`), and that are open
    again. `aside`: new names of files from before that it had moved to protected names.
    """

    stdout: str
    stderr: str
    return_code: int
    execution_time: float
    timed_out: bool = False
    truncated: bool = False
    level: SandboxLevel = "none"
    excess: Excess = ""
    reverted: tuple[str, ...] = ()
    unlinked: tuple[str, ...] = ()
    overlooked: bool = False
    network: Network = "off"
    contacts: tuple[Contact, ...] = ()
    left: bool = False
    statuses: tuple[int, ...] = ()
    encoding: str = ""
    reopened: tuple[str, ...] = ()
    aside: tuple[str, ...] = ()


class Inspected(msgspec.Struct, frozen=True, kw_only=True):
    """What a read-only command left behind: those of the requested files that exist (see `Scratch.results`)."""

    files: dict[str, bytes]
    timed_out: bool


class SandboxRunner:
    """The CommandRunner of a project, see `command_runner`.

    `state_folder`, `cache_folder`, `data_folder`: the program's own, outside the project, invisible for commands. What
    commands put at protected names is kept in `quarantine` of the first. `accept_no_sandbox`: run commands even if
    nothing confines them.
    `unreadable`, `unwritable`: what in the project is closed to commands, if the level supports that (not Landlock).
    `private`: what of the first git does not see either, for its filters would show it.
    `leading_out`: returns the rules for them that now lead out of the project, for the error if a command cannot start.
    `closing_all`: returns those that close the whole project to reading; no command is run while there are any.
    `network_hosts`: what commands may reach, as in `safety.network_hosts`. `output_cap`: bytes kept of stdout and of
    stderr; a command that writes 64 times as much is killed.
    `longest_background`: seconds that a background command may take.
    `levels`: the levels to try, in turn. Only tests set it; no setting and no variable does.
    """

    def __init__(
        self,
        root: Path,
        *,
        state_folder: Path | None = None,
        cache_folder: Path | None = None,
        data_folder: Path | None = None,
        accept_no_sandbox: bool = False,
        unreadable: Sequence[Path] = (),
        private: Sequence[Path] = (),
        unwritable: Sequence[Path] = (),
        leading_out: Callable[[], Iterable[str]] = tuple,
        closing_all: Callable[[], Iterable[str]] = tuple,
        network_hosts: Sequence[str] = (),
        output_cap: int = 1_000_000,
        longest_background: float = LONGEST_BACKGROUND,
        levels: Sequence[Level] = LEVELS,
    ) -> None:
        self._root = root.resolve()
        self._state = state_folder
        inside = data_folder and data_folder.resolve().is_relative_to(self._root)  # the user wants the reports there
        self._among_own = own_folder_around(
            self._root, state_folder, cache_folder, data_folder, state_folder and config_file().parent
        )
        own = (state_folder, cache_folder, None if inside else data_folder, *private)
        self._own = tuple(folder for folder in own if folder)
        self._reopener = Reopener(state_folder, (*self._own, config_file().parent)) if state_folder else None
        self._hidden = (*self._own, *unreadable)
        self._unreadable = tuple(unreadable)
        self._led: frozenset[str] = frozenset()
        self._leading_out = leading_out
        self._closing_all = closing_all
        self._accept_no_sandbox = accept_no_sandbox
        self._hosts = NetworkHosts.of(network_hosts)
        self._output_cap = output_cap
        self._longest_background = longest_background
        quarantine = state_folder and state_folder / "quarantine"
        secrets = [path for path in secrets_named_by(os.environ) if self._root in Path(os.path.realpath(path)).parents]
        closed = (*self._hidden, *secrets)
        self._project = ProjectSurroundings(
            self._root,
            quarantine,
            hidden=closed,
            unwritable=unwritable,
            hides=self._hides,
            is_listed=self._hosts.lists,
        )
        self._levels = levels
        self._bundle = Bundle()
        self._server = ForkServer(self._bundle)

    @property
    def level(self) -> SandboxLevel:
        """The level in force. The first use runs a command to find out."""
        return self._probed.level

    @property
    def network(self) -> Network:
        """What commands can reach of the network. Probes, as `level` does."""
        if self.level == "none":
            return "all"
        if not self._hosts:
            return "off"
        return "hosts" if BACKENDS[self.level].opens_hosts else "not possible"

    @property
    def received(self) -> int:
        """See CommandRunner."""
        return self._hosts.received

    @property
    def reason(self) -> str:
        """Why there is no sandbox; empty if there is one."""
        return str(self._probed.reason)

    @property
    def failed_levels(self) -> dict[str, str]:
        """Why each level better than the one in force does not work here, the best first."""
        return {level: str(reason) for level, reason in self._probed.failed.items()}

    def named_paths(self) -> frozenset[str]:
        """Return what protected files, symlinks and git settings refer to: paths below the project, which for folders
        include all in them."""
        return self._project.protected.named()

    def recover(self) -> tuple[str, ...]:
        """Restore protected files that commands had changed when their program was killed; return their paths. Raises
        OSError."""
        return self._project.protected.recover()

    def hold_off(self, folders: Collection[Path]) -> AbstractContextManager[bool]:
        """See CommandRunner."""
        return self._project.protected.hold_off(folders)

    def prepare(self) -> None:
        """Start the process that starts commands, and scan the project, so that the first command waits less. The level
        must be known."""
        if self.level != "none":
            threading.Thread(target=self._look_ahead, daemon=True).start()
            with suppress(OSError):  # the first command tries again, and can do without
                self._server.start()

    def _look_ahead(self) -> None:
        self._project.inventory.look_everywhere()
        self._project.protected.look_ahead()
        if copy := self._project.own_copy(BACKENDS[self.level]):
            self._project.own_folder.give_back(copy)

    def close(self) -> None:
        """End the process that starts commands. No command may be running; commands can be run again later."""
        self._server.close()
        self._project.own_folder.close()

    @property
    def has_others(self) -> bool:
        """See CommandRunner."""
        return self._project.protected.has_others

    @property
    def can_inspect(self) -> bool:
        """See CommandRunner."""
        return self.level != "none" and BACKENDS[self.level].inspects and not self._holds_home()

    def shows(self, path: Path) -> bool:
        """See CommandRunner."""
        marks = dict.fromkeys(self._visibility.hidden, False) | dict.fromkeys(self._visibility.shown, True)
        marks[self._root] = True
        return next((marks[place] for place in (path, *path.parents) if place in marks), True)

    def _hides(self, path: str) -> bool:
        """Return whether a path is in the user's home and hidden from commands, or leads to the home from above."""
        if self.level == "none":
            return False
        homes = (*self._visibility.homes, *self._visibility.homes_elsewhere)
        is_above = any(home.is_relative_to(path) for home in homes)
        return is_above or (any(Path(path).is_relative_to(home) for home in homes) and not self.shows(Path(path)))

    async def inspect(
        self,
        script: str,
        *,
        files: Mapping[str, bytes],
        results: Sequence[str],
        timeout: float,  # noqa: ASYNC109 - see CommandRunner
    ) -> Inspected:
        """See CommandRunner."""
        launch: Launch | None = None
        scratch: Scratch | None = None
        try:
            scratch = await asyncio.to_thread(self._furnished, files)
            pipes = await asyncio.to_thread(self._project.pipes)  # git would wait for one, such as a .gitignore
            surroundings = Surroundings(masked=(*pipes, *self._project.sockets.paths()))
            launch = self._inspection.launch(
                script, self._root, scratch, os.environ, surroundings, read_only=True, disk=_INSPECTION_DISK
            )
            outcome = await Process(launch, self._output_cap).run(timeout)
            if not outcome.timed_out:
                launch.ending(outcome.exit_status)
            found = await asyncio.to_thread(scratch.results, results)
            return Inspected(files=found, timed_out=outcome.timed_out)
        except OSError as error:
            raise ToolExecutionError("command_failed_to_start", reason=error.strerror) from error
        finally:
            if launch:
                launch.close()
            if scratch:
                asyncio.get_running_loop().run_in_executor(None, scratch.remove)

    def _furnished(self, files: Mapping[str, bytes]) -> Scratch:
        scratch = self._make_scratch()
        put_into(scratch.home, settings_for(os.environ, self._root))
        put_into(scratch.temporary, files)
        return scratch

    @cached_property
    def _inspection(self) -> Confinement:
        """As `_confinement`, but with what the rules close to commands, and without a network."""
        visibility = self._visibility if self._own == self._hidden else survey(os.environ, self._own, self._root)
        return self._confine(visibility, NetworkHosts())

    def _confine(self, visibility: Visibility, hosts: NetworkHosts) -> Confinement:
        parts = Parts(self.level, self._root, visibility, self._bundle, self._server, hosts)
        return load(BACKENDS[self.level].maker)(parts)

    async def run(
        self,
        command: str,
        *,
        cwd: Path,
        timeout: float,  # noqa: ASYNC109 - see CommandRunner
        files: Mapping[str, bytes] | None = None,
        statuses: bool = False,
        on_output: OnOutput | None = None,
    ) -> CommandResult:
        """See CommandRunner. Also raises SafetyViolationError for a project that contains the user's home. `files` are
        in $TMPDIR when it starts. When cancelled, it raises CancelledError with the result of the command."""
        job, result = await self._job(command, cwd, files=files or {}, statuses=statuses, on_output=on_output)
        task = asyncio.ensure_future(job.run(timeout))
        try:
            return result(await asyncio.shield(task))
        except asyncio.CancelledError:
            job.stop()
            await asyncio.wait({task})
            if task.cancelled() or task.exception():  # the error is of no use to the canceller
                raise
            raise asyncio.CancelledError(result(task.result())) from None

    async def begin(self, command: str, *, cwd: Path) -> "BegunCommand":
        """Start `command` as `run` does, and do not wait for it. Raises as `run` does."""
        output = HeadAndTail(self._output_cap)
        job, result = await self._job(command, cwd, output)
        return BegunCommand(job, output, result, self.level, self._longest_background)

    async def _job(
        self,
        command: str,
        cwd: Path,
        together: HeadAndTail | None = None,
        files: Mapping[str, bytes] = {},
        *,
        statuses: bool = False,
        on_output: OnOutput | None = None,
    ) -> tuple[Job, Callable[[Done], CommandResult]]:
        severed = await asyncio.to_thread(self._prepare)
        copies: list[OwnCopy] = []
        job = Job(
            partial(self._launch, command, self._folder(cwd), severed.shared, files, copies, statuses=statuses),
            make_scratch=self._make_scratch,
            protected=self._project.protected,
            output_cap=self._output_cap,
            together=together,
            on_output=on_output,
            reopen=self._reopen,
            during=self._reopener.during_command if self._reopener else nullcontext,
            lost=partial(self._project.take_back, copies),
            leading_out=self._leading_out,
        )
        return job, partial(self._result, severed.copied)

    @cached_property
    def _probed(self) -> Probed:
        threading.Thread(target=remove_stale, daemon=True).start()  # nobody has to wait for that
        return probe(self._bundle, self._root, self._levels)

    @cached_property
    def _visibility(self) -> Visibility:
        self._led |= self._leads()
        return survey(os.environ, (*self._hidden, *map(Path, self._led)), self._root)

    def _leads(self) -> frozenset[str]:
        return frozenset(map(os.path.realpath, self._unreadable))

    def _follow_rules(self) -> None:
        """Hide what the links that rules name lead to by now, too: the user, or a build, may have changed them. Where
        they led earlier stays hidden, as another command may be changing one."""
        if not self._leads() <= self._led:
            self.__dict__.pop("_visibility", None)
            self.__dict__.pop("_confinement", None)

    @cached_property
    def _confinement(self) -> Confinement:
        return self._confine(self._visibility, self._hosts)

    def _reopen(self) -> list[str]:
        if self.level == "none" or BACKENDS[self.level].keeps_modes or not self._reopener:
            return []
        return self._reopener.reopen()

    def _make_scratch(self) -> Scratch:
        """Make the temporary folder of a command, with a home that links to the toolchains, also without a sandbox."""
        return Scratch(self._visibility.toolchains, self._root)

    def _prepare(self) -> Severed:
        """Replace files of the project that are hard links to files outside by copies. Raises as `_refuse`."""
        self._refuse()
        if self.level == "none":
            return Severed()
        self._follow_rules()
        linked = self._project.inventory.look().linked
        if not linked:
            return Severed()
        largest = MOST_COPIED if BACKENDS[self.level].closes_names else sys.maxsize
        severed = sever(self._root, linked, largest=largest)
        if severed.copied:
            self._project.inventory.forget()
            names = ", ".join(severed.copied[:_MOST_NAMED])
            logs.of("SANDBOX").warning(
                "hard links to files outside were replaced by %d copies: %s", len(severed.copied), names
            )
        return severed

    def _refuse(self) -> None:
        """Raise SafetyViolationError if commands must not be run at all."""
        self._project.insist_on_place()
        if rules := ", ".join(self._closing_all()):  # the project itself is always shown
            raise SafetyViolationError("command_all_closed", rules=rules)
        if self.level == "none":
            if offline.is_on():
                raise SafetyViolationError("command_offline", reason=self._probed.reason)
            if not self._accept_no_sandbox:
                raise SafetyViolationError("command_no_sandbox", reason=self._probed.reason)
        elif self._holds_home():
            raise SafetyViolationError("command_root_too_wide", root=self._root)
        elif self._among_own or str(self._root) in self._leads():  # the project itself is always shown
            raise SafetyViolationError("command_own_folder", root=self._root, folder=self._among_own or self._root)
        elif not BACKENDS[self.level].closes_names and self._state and self._state.resolve().is_relative_to(self._root):
            raise SafetyViolationError("command_state_exposed", folder=self._state)

    def _holds_home(self) -> bool:
        return self._visibility.is_too_wide(self._root)

    def _folder(self, cwd: Path) -> Path:
        folder = (self._root / cwd).resolve()
        if not folder.is_relative_to(self._root):
            raise SafetyViolationError("path_outside", path=cwd, root=self._root)
        if not os.path.isdir(folder):  # noqa: PTH112 - pathlib raises where a name is too long
            raise ToolExecutionError("command_failed_to_start", reason=Phrase("there is no folder {path}", path=cwd))
        return folder

    def _launch(
        self,
        command: str,
        folder: Path,
        shared: tuple[str, ...],
        files: Mapping[str, bytes],
        copies: list[OwnCopy],
        scratch: Scratch,
        *,
        statuses: bool,
    ) -> Launch:
        put_into(scratch.temporary, files)
        if statuses:
            scratch.ask_for_statuses()
        if self.level != "none":
            surroundings = self._project.at_start(BACKENDS[self.level], shared, copies)
            put_into(scratch.home, settings_for(os.environ, self._root))
            return self._confinement.launch(command, folder, scratch, os.environ, surroundings)
        given = scratch.variables | {"HOME": os.environ.get("HOME", str(scratch.home))}
        return PlainLaunch(command, folder, variables(os.environ, offline=False, **given))

    def _result(self, unlinked: tuple[str, ...], done: Done) -> CommandResult:
        outcome = done.outcome
        saw_closed = done.ending.excess == "replaced"  # and may have printed it
        return CommandResult(
            stdout="" if saw_closed else outcome.stdout,
            stderr="" if saw_closed else outcome.stderr,
            return_code=done.ending.return_code,
            execution_time=outcome.seconds,
            timed_out=outcome.timed_out,
            truncated=outcome.truncated,
            level=self.level,
            excess="output" if outcome.flooded else done.ending.excess,
            reverted=done.reverted,
            unlinked=unlinked,
            overlooked=done.overlooked,
            network=self.network,
            contacts=done.ending.contacts,
            left=done.ending.left,
            statuses=done.statuses,
            encoding="" if saw_closed else outcome.encoding,
            reopened=done.reopened,
            aside=done.aside,
        )


class BegunCommand:
    """A command that nobody waits for. `output`: stdout and stderr as they came."""

    def __init__(
        self, job: Job, output: HeadAndTail, result: Callable[[Done], CommandResult], level: str, longest: float
    ) -> None:
        self.output = output
        self.level = level
        self._job = job
        self._result = result
        self._work = asyncio.ensure_future(job.run(longest))

    @property
    def reverted(self) -> tuple[str, ...]:
        """The protected files it has changed so far, which are restored."""
        return self._job.reverted

    def ask_to_end(self) -> None:
        """Stop it soon; it may clean up first."""
        self._job.ask_to_end()

    def stop(self) -> None:
        """Kill it."""
        self._job.stop()

    async def ended(self) -> CommandResult:
        """Wait for its end. Raises ToolExecutionError if it could not be run, or was killed before that."""
        try:
            result = self._result(await asyncio.shield(self._work))
        except asyncio.CancelledError:
            if self._work.cancelled():
                raise ToolExecutionError("command_lost", status=-9) from None
            raise
        return msgspec.structs.replace(result, excess="time") if result.timed_out else result
