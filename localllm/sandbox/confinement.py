"""What the commands of a project are held to, and their start under the launcher."""

import os
from collections.abc import Mapping
from contextlib import suppress
from functools import cached_property
from pathlib import Path

import msgspec

from localllm.base.errors import ToolExecutionError
from localllm.sandbox import seccomp
from localllm.sandbox.bundle import Bundle, launcher_arguments
from localllm.sandbox.launches import Ending, Excess, as_argument
from localllm.sandbox.spec import LaunchSpec
from localllm.sandbox.visibility import Scratch, Visibility, variables

_MOST_STATUS = 4096  # bytes a pipe takes in one piece


class Confinement:
    """Makes launches of commands that may change `root` and their scratch folder, and see what `visibility` leaves."""

    def __init__(self, bundle: Bundle, root: Path, visibility: Visibility) -> None:
        self._bundle = bundle
        self._root = root
        self._visibility = visibility

    @property
    def toolchains(self) -> Mapping[str, Path]:
        """What a command's home leads to."""
        return self._visibility.toolchains

    @cached_property
    def _call_filter(self) -> bytes:
        return seccomp.program(os.uname().machine, [os.getpid(), -os.getpgrp()])

    def launch(self, command: str, folder: Path, scratch: Scratch, environment: Mapping[str, str]) -> "ConfinedLaunch":
        """A launch of `command` in `folder`. `environment` is the user's. Raises ToolExecutionError."""
        names = variables(environment, HOME=str(scratch.home), TMPDIR=str(scratch.temporary))
        spec = LaunchSpec(
            command=as_argument(command),
            folder=str(folder),
            environment={os.fsencode(name): os.fsencode(value) for name, value in names.items()},
            writable=[str(self._root), str(scratch.folder)],
            hidden=[str(path) for path in self._visibility.hidden],
            shown=[str(path) for path in self._visibility.shown],
            scratch=str(scratch.folder),
            call_filter=self._call_filter,
        )
        return ConfinedLaunch(self._bundle, spec)


class ConfinedLaunch:
    """The command line and the descriptors of a launcher, and our ends of its pipes.

    When these are closed (also by the end of this process), the supervisor kills everything at once.
    """

    folder = Path("/")
    environment: Mapping[str, str] = {}

    def __init__(self, bundle: Bundle, spec: LaunchSpec) -> None:
        spec.live_fd, live = os.pipe()
        status, spec.status_fd = os.pipe()
        order = bundle.open(spec)
        self.arguments = launcher_arguments(order)
        self.inherited = (order, spec.live_fd, spec.status_fd)
        self._theirs, self._live, self._status = [*self.inherited], [live], [status]

    def started(self, pid: int) -> None:
        _close(self._theirs)

    def ask_to_end(self) -> None:
        for live in self._live:
            with suppress(BrokenPipeError):
                os.write(live, b"t")

    def kill(self) -> None:
        _close(self._live)

    def ending(self, exit_status: int) -> Ending:
        said = os.read(self._status[0], _MOST_STATUS).decode("utf-8", "replace")
        match said.split():
            case ["ended", code, *excess]:
                return Ending(int(code), msgspec.convert("".join(excess), Excess))
            case ["failed", *_]:
                reason = said.partition("\n")[0].removeprefix("failed ")
                raise ToolExecutionError("command_failed_to_start", reason=reason)
            case _:
                raise ToolExecutionError("command_lost", status=exit_status)

    def close(self) -> None:
        for fds in (self._theirs, self._live, self._status):
            _close(fds)


def _close(fds: list[int]) -> None:
    while fds:
        os.close(fds.pop())
