"""Run one command, from its preparation to the cleanup, which happens in any case."""

import asyncio
import os
from collections import Counter
from collections.abc import Callable, Collection, Iterable
from contextlib import AbstractContextManager, nullcontext

import msgspec

from localllm.base import logs
from localllm.base.errors import LocalLLMError, SafetyViolationError, ToolExecutionError
from localllm.base.unfinished_work import unfinished
from localllm.sandbox.process import Ending, HeadAndTail, Launch, OnOutput, Outcome, Process
from localllm.sandbox.protect.revert import ProtectedFiles
from localllm.sandbox.scratch import Scratch
from localllm.sandbox.suspension import suspended_with_program

_BETWEEN_LOOKS = 3.0  # seconds at most between two checks of what it must not change
_UNTIL_FIRST_LOOK = 1.0  # seconds; most commands have ended by then, and are checked only once
_MOST_UNDONE = 5  # checks that had to restore something: the command keeps writing there


class Done(msgspec.Struct, frozen=True):
    """Everything known of a command that has run."""

    outcome: Outcome
    ending: Ending
    reverted: tuple[str, ...]
    overlooked: bool = False
    statuses: tuple[int, ...] = ()
    reopened: tuple[str, ...] = ()
    aside: tuple[str, ...] = ()


class Job:
    """Runs one command, once. `make_launch` is called with the scratch folder of the command.

    What it must not change is restored now and then, if it runs for longer than a moment. `together`: nobody waits for
    it, and all its output goes there as it comes. `on_output` is called with each piece of its output. `reopen` gives
    the program back its own files that a command has closed, and returns them; it is called in a `with` block of
    `during`. `lost` returns, at the end, what it changed that was never in the project. `leading_out` returns the rules
    that close what lies outside, for the error if it cannot be started.
    """

    def __init__(
        self,
        make_launch: Callable[[Scratch], Launch],
        *,
        make_scratch: Callable[[], Scratch],
        protected: ProtectedFiles,
        output_cap: int,
        together: HeadAndTail | None = None,
        on_output: OnOutput | None = None,
        reopen: Callable[[], Iterable[str]] = tuple,
        during: Callable[[], AbstractContextManager[object]] = nullcontext,
        lost: Callable[[], Iterable[str]] = tuple,
        leading_out: Callable[[], Iterable[str]] = tuple,
    ) -> None:
        self._make_launch = make_launch
        self._make_scratch = make_scratch
        self._protected = protected
        self._output_cap = output_cap
        self._together = together
        self._on_output = on_output
        self._reopen = reopen
        self._during = during
        self._lost = lost
        self._leading_out = leading_out
        self._process: Process | None = None
        self._scratch: Scratch | None = None
        self._launch: Launch | None = None
        self._stopped = False
        self._may_start = asyncio.Event()
        self._may_start.set()
        self._reverted: set[str] = set()
        self._reopened: set[str] = set()
        self._times_undone: Counter[str] = Counter()
        self._looks: set[asyncio.Future[tuple[str, ...]]] = set()

    async def run(self, seconds: float) -> Done:
        """Run the command for at most `seconds`, not counted while the program is stopped. Raises ToolExecutionError if
        it cannot be run."""
        with suspended_with_program(self), self._during():
            return await self._run_to_its_end(seconds)

    async def suspend(self) -> None:
        """See Suspendable."""
        self._may_start.clear()
        if self._process:
            await self._process.stop()
        changed = await asyncio.to_thread(self._protected.check_stopped)
        self._reverted.update(changed)

    def resume(self) -> None:
        """See Suspendable."""
        if self._process:
            self._process.go_on()
        self._may_start.set()

    async def _run_to_its_end(self, seconds: float) -> Done:
        await asyncio.to_thread(self._begin)
        watching = asyncio.ensure_future(self._watch())
        statuses: tuple[int, ...] = ()
        try:
            outcome, ending = await self._run(seconds)
            statuses = self._scratch.statuses() if self._scratch else ()
        except ToolExecutionError as error:
            rules = ", ".join(self._leading_out()) if error.key == "command_failed_to_start" else ""
            if not rules:
                raise
            raise ToolExecutionError("command_closed_out", reason=error.params["reason"], rules=rules) from error
        finally:
            try:
                watching.cancel()
                await asyncio.wait({watching, *self._looks})
            finally:
                await asyncio.to_thread(self._tidy_up)
            if self._scratch:  # nobody has to wait for that
                asyncio.get_running_loop().run_in_executor(None, self._scratch.remove)
        if self._keeps_writing:
            ending = msgspec.structs.replace(ending, excess=ending.excess or "protected")
        return Done(
            outcome,
            ending,
            self.reverted,
            self._protected.is_overlooked,
            statuses,
            reopened=tuple(sorted(self._reopened)),
            aside=tuple(self._protected.take_aside()),
        )

    @property
    def reverted(self) -> tuple[str, ...]:
        """The protected files it has changed so far."""
        return tuple(sorted(self._reverted))

    def ask_to_end(self) -> None:
        """Stop the command, but let it clean up first."""
        if self._process:
            self._process.ask_to_end()
        else:
            self.stop()

    def stop(self) -> None:
        """Kill the command; do not start it if it has not started yet."""
        self._stopped = True
        if self._launch:
            self._launch.kill()

    def _begin(self) -> None:
        self._reopened.update(self._reopen())  # another command may be running
        self._protected.begin(lambda: self._stopped)

    def _check(self) -> tuple[str, ...]:
        self._reopened.update(self._reopen())
        changed = self._protected.check()
        self._reverted.update(changed)  # here, as the command may end before this look does
        return changed

    async def _run(self, seconds: float) -> tuple[Outcome, Ending]:
        try:
            await self._may_start.wait()
            self._scratch = self._make_scratch()
            self._launch = self._make_launch(self._scratch)
            if self._stopped:
                raise asyncio.CancelledError
            self._process = Process(self._launch, self._output_cap, self._together, self._on_output)
            outcome = await self._process.run(seconds)
        except OSError as error:
            raise ToolExecutionError("command_failed_to_start", reason=error.strerror) from error
        return outcome, self._launch.ending(outcome.exit_status)

    async def _watch(self) -> None:
        await asyncio.sleep(_UNTIL_FIRST_LOOK)
        while True:
            await asyncio.sleep(_BETWEEN_LOOKS * int.from_bytes(os.urandom(2)) / 0xFFFF)  # at unpredictable times
            try:
                self._looks = {asyncio.ensure_future(asyncio.to_thread(self._check))}
                changed = await asyncio.shield(*self._looks)
            except Exception as error:  # noqa: BLE001 - of whatever a command has written
                logs.of("SANDBOX").warning("a change cannot be put back: %r", error)
                if self._launch and isinstance(error, SafetyViolationError) and error.key == "project_moved":
                    self._launch.kill()
                continue
            self._count(changed)
            if self._launch and self._keeps_writing:
                self._launch.kill()

    def _count(self, changed: Collection[str]) -> None:
        """Count for each path how often it was restored. Without somebody who waits for the command, any paths count
        together; else an installation of many packages, each with an editor's settings, would be killed."""
        self._times_undone.update({"" for _ in changed} if self._together else set(changed))

    @property
    def _keeps_writing(self) -> bool:
        return any(times >= _MOST_UNDONE for times in self._times_undone.values())

    def _tidy_up(self) -> None:
        if self._launch:
            self._launch.close()
        self._reopened.update(self._reopen())
        self._reverted.update(self._lost())
        try:
            with unfinished():
                self._reverted.update(self._protected.end())
        except OSError as error:
            raise SafetyViolationError("command_not_reverted", path=error.filename, reason=error.strerror) from error
        except SafetyViolationError:
            raise
        except LocalLLMError as error:
            raise SafetyViolationError("command_not_reverted", path=".", reason=str(error)) from error
