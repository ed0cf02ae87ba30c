"""Run commands, for the rest of the program: most of the sandbox is only loaded at the first command."""

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Protocol

from localllm.sandbox.background import Handle

if TYPE_CHECKING:
    from localllm.sandbox.backend import SandboxLevel
    from localllm.sandbox.process import OnOutput
    from localllm.sandbox.runner import BegunCommand, CommandResult, Inspected, SandboxRunner


class CommandRunner(Protocol):
    """Runs commands under the strongest protection this machine has."""

    @property
    def level(self) -> "SandboxLevel":
        """The level in force, probed at the first use."""
        ...

    @property
    def received(self) -> int:
        """The number of bytes that sandboxed commands have received from other machines so far."""
        ...

    @property
    def has_others(self) -> bool:
        """Whether another program of ours runs a command in the project, or in one above or below it."""
        ...

    @property
    def can_inspect(self) -> bool:
        """Whether `inspect` works here: not without a sandbox, nor if the project contains the user's home."""
        ...

    def hold_off(self, folders: Collection[Path]) -> AbstractContextManager[bool]:
        """Let no command of this user's programs start in the project, or in one that is, holds or lies in one of
        `folders`, in a `with` block, which is given False if another program runs one there now. Raises OSError."""
        ...

    def shows(self, path: Path) -> bool:
        """Return whether commands can read `path`, a real path."""
        ...

    async def inspect(
        self,
        script: str,
        *,
        files: Mapping[str, bytes],
        results: Sequence[str],
        timeout: float,  # noqa: ASYNC109 - as in `run`
    ) -> "Inspected":
        """Run a script of our own with bash in the project, which it cannot change; return the `results` it leaves in
        $TMPDIR.

        `files` are there when it starts. It sees what commands see, and also what the rules close to them. Cancelling
        kills it. Raises ToolExecutionError("command_failed_to_start").
        """
        ...

    # A timeout is an outcome with output, not an exception, so the caller's asyncio.timeout cannot replace it.
    async def run(
        self,
        command: str,
        *,
        cwd: Path,
        timeout: float,  # noqa: ASYNC109
        files: Mapping[str, bytes] | None = None,
        statuses: bool = False,
        on_output: "OnOutput | None" = None,
    ) -> "CommandResult":
        """Run `command` with bash in `cwd` for at most `timeout` seconds; everything it started ends with it.

        `files` are in $TMPDIR when it starts. `statuses`: record how each part of its last pipeline ended. `on_output`
        is called with each piece of its output.

        Cancelling kills it. Raises ToolExecutionError("command_failed_to_start") if the sandbox could not be set up
        (the command was not run) and SafetyViolationError("command_no_sandbox") if there is none.
        """
        ...

    async def begin(self, command: str, *, cwd: Path) -> Handle:
        """Start `command` as `run` does, without a time limit, and do not wait for it. Raises as `run` does."""
        ...


class LateRunner:
    """A CommandRunner that is created by `make` at its first use: many requests are answered without a command."""

    def __init__(self, make: "Callable[[], SandboxRunner]") -> None:
        self._make = make
        self._made: SandboxRunner | None = None
        self._making = Lock()

    @property
    def _runner(self) -> "SandboxRunner":
        with self._making:  # the level is read in a thread; of two runners one would never be closed
            self._made = self._made or self._make()
        return self._made

    @property
    def level(self) -> "SandboxLevel":
        """The level in force, probed at the first use."""
        return self._runner.level

    @property
    def received(self) -> int:
        """See CommandRunner."""
        return self._made.received if self._made else 0

    @property
    def reason(self) -> str:
        """Why there is no sandbox; empty if there is one."""
        return self._runner.reason

    def hold_off(self, folders: Collection[Path]) -> AbstractContextManager[bool]:
        """See CommandRunner."""
        return self._runner.hold_off(folders)

    def prepare(self) -> None:
        """See SandboxRunner."""
        self._runner.prepare()

    def recover(self) -> tuple[str, ...]:
        """See SandboxRunner."""
        return self._runner.recover()

    def named_paths(self) -> frozenset[str]:
        """See SandboxRunner."""
        return self._runner.named_paths()

    @property
    def has_others(self) -> bool:
        """See CommandRunner."""
        return self._runner.has_others

    @property
    def can_inspect(self) -> bool:
        """See CommandRunner."""
        return self._runner.can_inspect

    def shows(self, path: Path) -> bool:
        """See CommandRunner."""
        return self._runner.shows(path)

    async def inspect(
        self,
        script: str,
        *,
        files: Mapping[str, bytes],
        results: Sequence[str],
        timeout: float,  # noqa: ASYNC109 - see CommandRunner
    ) -> "Inspected":
        """See CommandRunner."""
        return await self._runner.inspect(script, files=files, results=results, timeout=timeout)

    async def run(
        self,
        command: str,
        *,
        cwd: Path,
        timeout: float,  # noqa: ASYNC109 - see CommandRunner
        files: Mapping[str, bytes] | None = None,
        statuses: bool = False,
        on_output: "OnOutput | None" = None,
    ) -> "CommandResult":
        """See CommandRunner."""
        return await self._runner.run(
            command, cwd=cwd, timeout=timeout, files=files, statuses=statuses, on_output=on_output
        )

    async def begin(self, command: str, *, cwd: Path) -> "BegunCommand":
        """See CommandRunner."""
        return await self._runner.begin(command, cwd=cwd)

    def close(self) -> None:
        """End the process that starts commands. No command may be running; commands can be run again later."""
        if self._made is not None:
            self._made.close()
