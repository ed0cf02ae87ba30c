"""Orders for the launcher, as no runner gives them."""

import os
from pathlib import Path

from localllm.sandbox.launcher.spec import LaunchSpec
from localllm.sandbox.linux import seccomp


def order(folder: Path, command: str) -> LaunchSpec:
    """To run a command that may write into its folder alone, and see all that is there."""
    return LaunchSpec(
        command=command.encode(),
        folder=str(folder),
        environment={b"PATH": os.fsencode(os.environ["PATH"])},
        writable=[str(folder)],
        hidden=[],
        shown=[],
        scratch=str(folder),
        call_filter=seccomp.program(os.uname().machine, []),
    )
