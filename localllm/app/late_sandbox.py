"""Create the project's sandbox from the settings, with the first command."""

import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from localllm.base.paths import cache_folder, data_folder, state_folder
from localllm.config.schema import Settings
from localllm.rag.locations import user_folder
from localllm.safety.folder_entries import as_listed, spellings
from localllm.safety.rules import closed_to_commands, closing_all, leading_out
from localllm.sandbox.command_runner import LateRunner

if TYPE_CHECKING:
    from localllm.sandbox.runner import SandboxRunner


def late_runner(settings: Settings, root: Path, *, accept_no_sandbox: bool) -> LateRunner:
    """Create the command runner of the project; the sandbox itself is loaded with the first command. Raises
    ConfigurationError for invalid hosts."""
    hosts = settings.command_hosts
    if hosts:
        from localllm.sandbox.network.hosts import NetworkHosts

        NetworkHosts.of(hosts)

    return LateRunner(lambda: make_runner(settings, root, accept_no_sandbox=accept_no_sandbox))


def late_checker(settings: Settings, root: Path) -> LateRunner:
    """Create the runner of checks on answers, for which the rules close what they close to commands: to inspect the
    project git alone may see that."""
    return LateRunner(lambda: make_runner(settings, root, accept_no_sandbox=False, closes_all=True))


def make_runner(
    settings: Settings, root: Path, *, accept_no_sandbox: bool, closes_all: bool = False
) -> "SandboxRunner":
    """Create the command runner of the project, with what the rules close to commands; `closes_all`: also to `inspect`.
    Raises as `late_runner`."""
    from localllm.sandbox.runner import SandboxRunner  # the first command comes after the first answer

    unreadable, unwritable = closed_to_commands(settings.safety)
    collections = user_folder(settings, os.environ)
    if is_inside := collections.resolve().is_relative_to(root.resolve()):  # the home is the project, or rag.path
        with suppress(OSError):  # a missing folder cannot be denied
            collections.mkdir(mode=0o700, parents=True, exist_ok=True)
    closed = [*_under_all_names(root, unreadable), *([collections] if is_inside else [])]
    return SandboxRunner(
        root,
        state_folder=state_folder(),
        cache_folder=cache_folder(),
        data_folder=data_folder(),
        accept_no_sandbox=accept_no_sandbox,
        unreadable=closed,
        private=closed if closes_all else [collections] if is_inside else [],
        unwritable=_under_all_names(root, unwritable),
        leading_out=lambda: map(str, leading_out(settings.safety, root)),
        closing_all=lambda: map(str, closing_all(settings.safety, root)),
        network_hosts=settings.command_hosts,
    )


def _under_all_names(root: Path, places: Iterable[str]) -> list[Path]:
    """Return the paths of rules, each also under the names that look the same, which the tools for files take for one:
    macOS writes が in two characters, and so do archives and repositories that are made there."""
    found = dict.fromkeys(name for place in places for name in (place, as_listed(str(root), place), *spellings(place)))
    return [root / name for name in found]
