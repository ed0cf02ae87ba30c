"""One command from its preparation to the tidying up, which happens whatever becomes of it."""

import asyncio
from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec

from localllm.base.errors import SafetyViolationError, ToolExecutionError
from localllm.sandbox.launches import Ending, Launch
from localllm.sandbox.process import Outcome, Process
from localllm.sandbox.reverting import ProtectedFiles
from localllm.sandbox.visibility import Scratch


class Done(msgspec.Struct, frozen=True):
    """All that is known of a command that was run."""

    outcome: Outcome
    ending: Ending
    reverted: tuple[str, ...]


class Job:
    """Runs one command, once. `make_launch` is given the scratch folder the command gets."""

    def __init__(
        self,
        make_launch: Callable[[Scratch], Launch],
        *,
        toolchains: Mapping[str, Path],
        protected: ProtectedFiles,
        output_cap: int,
    ) -> None:
        self._make_launch = make_launch
        self._toolchains = toolchains
        self._protected = protected
        self._output_cap = output_cap
        self._scratch: Scratch | None = None
        self._launch: Launch | None = None
        self._stopped = False
        self._reverted: tuple[str, ...] = ()

    async def run(self, seconds: float) -> Done:
        """The command, for at most `seconds`. Raises ToolExecutionError where it cannot be run."""
        await asyncio.to_thread(self._protected.begin)
        try:
            outcome, ending = await self._run(seconds)
        finally:
            await asyncio.to_thread(self._tidy_up)
        return Done(outcome, ending, self._reverted)

    def stop(self) -> None:
        """Kill the command; one that has not started yet is not."""
        self._stopped = True
        if self._launch:
            self._launch.kill()

    async def _run(self, seconds: float) -> tuple[Outcome, Ending]:
        try:
            self._scratch = Scratch(self._toolchains)
            self._launch = self._make_launch(self._scratch)
            if self._stopped:
                raise asyncio.CancelledError
            outcome = await Process(self._launch, self._output_cap).run(seconds)
        except OSError as error:
            raise ToolExecutionError("command_failed_to_start", reason=error.strerror) from error
        return outcome, self._launch.ending(outcome.exit_status)

    def _tidy_up(self) -> None:
        if self._launch:
            self._launch.close()
        if self._scratch:
            self._scratch.remove()
        try:
            self._reverted = self._protected.end()
        except OSError as error:
            raise SafetyViolationError("command_not_reverted", path=error.filename, reason=error.strerror) from error
