"""Run commands in the background: start, read, list and stop them; none outlives the session."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from localllm.base import logs
from localllm.base.errors import LocalLLMError, SafetyViolationError, ToolExecutionError
from localllm.base.i18n import N_, Phrase
from localllm.sandbox.output_text import OutputPieces, as_text

if TYPE_CHECKING:
    from localllm.sandbox.process import HeadAndTail

EXCESS = {
    "output": N_("killed: output did not end"),
    "processes": N_("killed: too many processes"),
    "memory": N_("killed: too much memory"),
    "disk": N_("killed: filled the disk"),
    "files": N_("killed: created too many files"),
    "time": N_("killed: ran too long"),
    "replaced": N_("killed: a file it may not read or change was replaced from outside"),
    "protected": N_("killed: kept writing to protected files"),
}
"""Why a command was killed, as shown to the user; see `Excess`."""

MOST = 8
"""How many commands may run at a time."""

_MOST_REMEMBERED = 32  # commands, including those that have ended
_LAST_LINE = 4096  # bytes in which it is searched
_BETWEEN_NEWS = 1.0  # seconds until it is said what was restored meanwhile
_LAST_WAIT = 10.0  # seconds; the kernel does the rest when this process ends


class CommandOutcome(Protocol):
    """How a command ended."""

    @property
    def return_code(self) -> int:
        """-N: killed by signal N."""
        ...

    @property
    def excess(self) -> str:
        """What it was killed for using too much of; "" if it was not killed."""
        ...

    @property
    def overlooked(self) -> bool:
        """Whether not all could be searched after it for what it must not change."""
        ...

    @property
    def reopened(self) -> tuple[str, ...]:
        """Files of the program's own that it closed, and that are open again."""
        ...

    @property
    def aside(self) -> tuple[str, ...]:
        """New names of files from before that were moved to protected names."""
        ...


class Handle(Protocol):
    """A started command that nobody waits for."""

    @property
    def output(self) -> "HeadAndTail":
        """What it has written so far."""
        ...

    @property
    def reverted(self) -> tuple[str, ...]:
        """The protected files it has changed so far, which are restored."""
        ...

    @property
    def level(self) -> str:
        """The level that confines it."""
        ...

    def ask_to_end(self) -> None:
        """Stop it soon; it may clean up first."""
        ...

    def stop(self) -> None:
        """Kill it."""
        ...

    async def ended(self) -> CommandOutcome:
        """Wait for its end; cancelling the wait does not end it. Raises LocalLLMError if it was not run."""
        ...


class CommandStarter(Protocol):
    """An object that can start commands."""

    async def begin(self, command: str, *, cwd: Path) -> Handle:
        """Start `command` with bash in `cwd`. Raises as `CommandRunner.run` does."""
        ...


class BackgroundCommand:
    """One background command. `number` identifies it; `was_stopped`: its end was requested."""

    def __init__(
        self,
        number: int,
        command: str,
        handle: Handle,
        on_end: Callable[["BackgroundCommand"], None],
        on_news: "OnNews",
    ) -> None:
        self.number = number
        self.command = command
        self.outcome: CommandOutcome | None = None
        self.error: LocalLLMError | None = None
        self.was_stopped = False
        self._handle = handle
        self._on_end = on_end
        self._on_news = on_news
        self._told: set[str] = set()
        self._begun = time.monotonic()
        self._ended_at = 0.0
        self._read = 0
        self._text = OutputPieces()
        self._end = asyncio.ensure_future(self._wait())

    @property
    def is_running(self) -> bool:
        return not self._ended_at

    @property
    def seconds(self) -> float:
        """How long it has been running, or ran."""
        return (self._ended_at or time.monotonic()) - self._begun

    @property
    def reverted(self) -> tuple[str, ...]:
        """The protected files it has changed so far, which are restored."""
        return self._handle.reverted

    @property
    def level(self) -> str:
        """The level that confines it."""
        return self._handle.level

    @property
    def encoding(self) -> str:
        """The Japanese encoding of what was read so far, if it was recognised; else ""."""
        return self._text.encoding

    @property
    def state(self) -> Phrase:
        """Whether it is running, or how it ended, in a few words."""
        if self.is_running:
            return Phrase("running")
        if self.was_stopped:
            return Phrase("stopped")
        if self.error or not self.outcome:
            return Phrase("not run")
        if self.outcome.excess:
            return Phrase(EXCESS[self.outcome.excess])
        return Phrase("exit {code}", code=self.outcome.return_code)

    @property
    def last_line(self) -> str:
        """The last line it wrote that is not empty."""
        output = self._handle.output
        data, _ = output.since(max(0, output.total - _LAST_LINE))
        lines = as_text(data, self._text.encoding).split("\n")
        return next((line.strip() for line in reversed(lines) if line.strip()), "")

    def read(self) -> tuple[str, int]:
        """Return what it wrote since the last call, and how many bytes of that were dropped from the middle."""
        output = self._handle.output
        data, dropped = output.since(self._read)
        self._read = output.total
        if self.outcome and self.outcome.excess == "replaced":  # it may have printed what is hidden
            return "", 0
        return self._text.decode(data, self._kept, final=not self.is_running), dropped

    def _kept(self) -> bytes:
        """Return all its output; nothing if some was dropped from the middle, where lines are torn."""
        output = self._handle.output
        return b"" if output.is_cut else output.since(0)[0]

    async def wait(self, seconds: float) -> None:
        """Wait for its end, for at most `seconds`."""
        await asyncio.wait({self._end}, timeout=seconds)

    def ask_to_end(self) -> None:
        """Stop it soon; it may clean up first."""
        if self.is_running:
            self.was_stopped = True
            self._handle.ask_to_end()

    def kill(self) -> None:
        """Stop it at once."""
        if self.is_running:
            self.was_stopped = True
            self._handle.stop()

    async def _wait(self) -> None:
        ended = asyncio.ensure_future(self._handle.ended())
        try:
            while not ended.done():
                await asyncio.wait({ended}, timeout=_BETWEEN_NEWS)
                await self._tell_news()
            self.outcome = ended.result()
        except LocalLLMError as error:
            self.error = error
        except Exception as error:  # noqa: BLE001 - as at the tool boundary, where the others end
            logs.of("SANDBOX").warning("a background command failed: %r", error)
            self.error = ToolExecutionError("command_failed_to_start", reason=_reason(error))
        except asyncio.CancelledError:
            self._handle.stop()
            ended.cancel()
            raise
        finally:
            self._ended_at = time.monotonic()
        if isinstance(self.error, SafetyViolationError):
            await self._on_news(self, ())
        self._on_end(self)

    async def _tell_news(self) -> None:
        """Report the protected files that were restored since the last time."""
        if new := sorted({*self.reverted} - self._told):
            self._told.update(new)
            await self._on_news(self, new)


def _reason(error: Exception) -> str:
    return (error.strerror if isinstance(error, OSError) else "") or str(error) or type(error).__name__


OnNews = Callable[[BackgroundCommand, Sequence[str]], Awaitable[None]]
"""Called with a command, and its protected files that were restored; none for one that has ended with an error."""


async def _keep_quiet(command: BackgroundCommand, restored: Sequence[str]) -> None:
    del command, restored


def _ignore(command: BackgroundCommand) -> None:
    del command


class BackgroundCommands:
    """The background commands of one session. `on_end` is called with each that has ended."""

    def __init__(self, on_end: Callable[[BackgroundCommand], None] = _ignore, on_news: OnNews = _keep_quiet) -> None:
        self._on_end = on_end
        self._on_news = on_news
        self._commands: dict[int, BackgroundCommand] = {}
        self._last = 0
        self._beginning = 0

    def all(self) -> Sequence[BackgroundCommand]:
        """Return all that are remembered, the oldest first."""
        return list(self._commands.values())

    @property
    def is_any_running(self) -> bool:
        """Whether a command may be changing the project at this moment."""
        return bool(self._beginning) or any(command.is_running for command in self.all())

    async def start(self, starter: CommandStarter, command: str, *, cwd: Path) -> BackgroundCommand:
        """Start a command. Raises ToolExecutionError("background_too_many"), and as `CommandStarter.begin` does."""
        if sum(one.is_running for one in self.all()) + self._beginning >= MOST:
            raise ToolExecutionError("background_too_many", most=MOST)
        self._beginning += 1
        try:
            handle = await starter.begin(command, cwd=cwd)
        finally:
            self._beginning -= 1
        self._last += 1
        self._forget()
        begun = self._commands[self._last] = BackgroundCommand(self._last, command, handle, self._on_end, self._on_news)
        return begun

    def get(self, number: int) -> BackgroundCommand:
        """Return the command with this number. Raises ToolExecutionError("background_unknown")."""
        if number not in self._commands:
            hint = (
                Phrase("Known: {known}.", known=", ".join(map(str, self._commands)))
                if self._commands
                else Phrase("None has been started: run_command with background starts one.")
            )
            raise ToolExecutionError("background_unknown", number=number, hint=hint)
        return self._commands[number]

    def kill_all(self) -> None:
        """Stop all of them at once."""
        for command in self.all():
            command.kill()

    async def end(self) -> None:
        """Stop all of them, and wait until they have ended."""
        self.kill_all()
        for command in self.all():
            await command.wait(_LAST_WAIT)

    def _forget(self) -> None:
        """Forget the oldest of those that have ended, if there are too many."""
        ended = [number for number, command in self._commands.items() if not command.is_running]
        for number in ended[: max(0, len(self._commands) + 1 - _MOST_REMEMBERED)]:
            del self._commands[number]
