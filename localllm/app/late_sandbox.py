"""Make the sandbox of a project by its settings, with the first command."""

import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from localllm.base import logs
from localllm.base.paths import cache_folder, data_folder, is_recorded, state_folder
from localllm.config.schema import Settings
from localllm.rag.locations import user_folder
from localllm.safety.rules import closed_to_commands
from localllm.sandbox.command_runner import LateRunner

if TYPE_CHECKING:
    from localllm.sandbox.runner import SandboxRunner


def take_back_unfinished(root: Path, runner: LateRunner) -> int:
    """Put protected files of the project back that commands had changed when their program was killed; how many. Loads
    nothing where there are none."""
    if not is_recorded(root.resolve(), state_folder() / "commands"):
        return 0
    try:
        return len(runner.recover())
    except OSError as error:
        logs.of("SANDBOX").warning("what a killed command had changed cannot be put back: %s", error)
        return 0


def late_runner(settings: Settings, root: Path, *, accept_no_sandbox: bool) -> LateRunner:
    """Make what runs commands in the project; the sandbox itself is loaded with the first one. Raises
    ConfigurationError: hosts that are none."""
    hosts = settings.command_hosts
    if hosts:
        from localllm.sandbox.network.hosts import NetworkHosts

        NetworkHosts.of(hosts)

    def make() -> "SandboxRunner":
        from localllm.sandbox.runner import SandboxRunner  # the first command comes after the first answer

        unreadable, unwritable = closed_to_commands(settings.safety)
        collections = user_folder(settings, os.environ)
        if is_inside := collections.resolve().is_relative_to(root.resolve()):  # a home that is the project, rag.path
            with suppress(OSError):  # what is not there cannot be closed
                collections.mkdir(mode=0o700, parents=True, exist_ok=True)
        return SandboxRunner(
            root,
            state_folder=state_folder(),
            cache_folder=cache_folder(),
            data_folder=data_folder(),
            accept_no_sandbox=accept_no_sandbox,
            unreadable=[*(root / path for path in unreadable), *([collections] if is_inside else [])],
            unwritable=[root / path for path in unwritable],
            network_hosts=hosts,
        )

    return LateRunner(make)
