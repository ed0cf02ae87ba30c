"""What the rest of the program sees of the sandbox: run one command, get its outcome."""

import asyncio
import os
from functools import cached_property, partial
from pathlib import Path
from typing import Literal, Protocol

import msgspec

from localllm.base.errors import SafetyViolationError, ToolExecutionError
from localllm.base.i18n import Phrase
from localllm.sandbox.bundle import Bundle
from localllm.sandbox.confinement import Confinement
from localllm.sandbox.job import Done, Job
from localllm.sandbox.launches import Excess, Launch, PlainLaunch
from localllm.sandbox.probe import Weakness, probe
from localllm.sandbox.reverting import ProtectedFiles
from localllm.sandbox.visibility import Scratch, Visibility, survey, variables

SandboxLevel = Literal["landlock", "none"]
"""How strongly commands are held, as proved by an active probe on this machine."""


class CommandResult(msgspec.Struct, frozen=True, kw_only=True):
    """The outcome of a command.

    `return_code` is negative (-N) for a command killed by signal N. `execution_time` is in seconds. Output is
    decoded as UTF-8 with replacement, at most the runner's cap of each stream; `truncated` says that some was
    dropped from its middle. `excess`: what it was killed for using too much of. `reverted`: protected files it
    changed, which are as they were again.
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


class CommandRunner(Protocol):
    """Runs commands under the strongest protection this machine has."""

    @property
    def level(self) -> SandboxLevel:
        """The level in force, probed at the first use."""
        ...

    # A time-out here is an outcome with output, not an exception, so it is not for the caller's asyncio.timeout.
    async def run(self, command: str, *, cwd: Path, timeout: float) -> CommandResult:  # noqa: ASYNC109
        """Run `command` with bash in `cwd` for at most `timeout` seconds; nothing it started is left behind.

        Cancelling kills it. Raises ToolExecutionError("command_failed_to_start") when the sandbox could not be
        set up (the command was not run) and SafetyViolationError("command_no_sandbox") where there is none.
        """
        ...


class SandboxRunner:
    """The CommandRunner of a project.

    `state_folder`: the program's own, outside the project; commands cannot see it, and what they put at protected
    names is kept there in `quarantine`. `accept_no_sandbox`: run commands also where nothing protects from them.
    `output_cap`: bytes kept of each, stdout and stderr; a command that writes 64 times as much is killed.
    """

    def __init__(
        self,
        root: Path,
        *,
        state_folder: Path | None = None,
        accept_no_sandbox: bool = False,
        output_cap: int = 1_000_000,
    ) -> None:
        self._root = root.resolve()
        self._hidden = (state_folder,) if state_folder else ()
        self._accept_no_sandbox = accept_no_sandbox
        self._output_cap = output_cap
        self._protected = ProtectedFiles(self._root, state_folder and state_folder / "quarantine")
        self._bundle = Bundle()

    @property
    def level(self) -> SandboxLevel:
        """The level in force. At the first use this runs a command to find out."""
        return "none" if self._weakness else "landlock"

    @property
    def reason(self) -> str:
        """Why there is no sandbox; empty where there is one."""
        return str(self._weakness or "")

    async def run(self, command: str, *, cwd: Path, timeout: float) -> CommandResult:  # noqa: ASYNC109 - see CommandRunner
        """See CommandRunner. Also raises SafetyViolationError for a project that holds the user's home."""
        await asyncio.to_thread(self._refuse)
        job = Job(
            partial(self._launch, command, self._folder(cwd)),
            toolchains=self._confinement.toolchains,
            protected=self._protected,
            output_cap=self._output_cap,
        )
        task = asyncio.ensure_future(job.run(timeout))
        try:
            return self._result(await asyncio.shield(task))
        except asyncio.CancelledError:
            job.stop()
            await asyncio.wait({task})
            if not task.cancelled():
                task.exception()  # the one who cancels does not want to know
            raise

    @cached_property
    def _weakness(self) -> Weakness:
        return probe(self._bundle, self._root)

    @cached_property
    def _visibility(self) -> Visibility:
        return survey(os.environ, self._hidden)

    @cached_property
    def _confinement(self) -> Confinement:
        return Confinement(self._bundle, self._root, self._visibility)

    def _refuse(self) -> None:
        """Raise SafetyViolationError where commands are not to be run at all."""
        if self._weakness:
            if not self._accept_no_sandbox:
                raise SafetyViolationError("command_no_sandbox", reason=self._weakness)
        elif any(home.is_relative_to(self._root) for home in self._visibility.homes):
            raise SafetyViolationError("command_root_too_wide", root=self._root)

    def _folder(self, cwd: Path) -> Path:
        folder = (self._root / cwd).resolve()
        if not folder.is_relative_to(self._root):
            raise SafetyViolationError("path_outside", path=cwd, root=self._root)
        if not folder.is_dir():
            raise ToolExecutionError("command_failed_to_start", reason=Phrase("command.no_folder", path=cwd))
        return folder

    def _launch(self, command: str, folder: Path, scratch: Scratch) -> Launch:
        if not self._weakness:
            return self._confinement.launch(command, folder, scratch, os.environ)
        home = os.environ.get("HOME", str(scratch.home))
        return PlainLaunch(command, folder, variables(os.environ, HOME=home, TMPDIR=str(scratch.temporary)))

    def _result(self, done: Done) -> CommandResult:
        outcome = done.outcome
        return CommandResult(
            stdout=outcome.stdout,
            stderr=outcome.stderr,
            return_code=done.ending.return_code,
            execution_time=outcome.seconds,
            timed_out=outcome.timed_out,
            truncated=outcome.truncated,
            level=self.level,
            excess="output" if outcome.flooded else done.ending.excess,
            reverted=done.reverted,
        )
