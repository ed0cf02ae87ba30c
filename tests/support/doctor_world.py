"""A machine for the doctor to look at: everything as it should be, and any part of it replaced."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from localllm.app.server_check import Look
from localllm.config.loader import Loaded
from localllm.config.schema import LLMSettings, Settings
from localllm.integrations.doctor.inputs import Finding, Screen, Surroundings
from localllm.llm.discovery.servers import Server


@dataclass(frozen=True)
class Sandbox:
    """What a probe has found."""

    level: str = "namespaces"
    reason: str = ""
    failed_levels: Mapping[str, str] = field(default_factory=dict)


def finds(*servers: Server) -> Look:
    """A way to look that always finds these."""

    async def look(_settings: LLMSettings, _environ: Mapping[str, str]) -> Sequence[Server]:
        return servers

    return look


def surroundings(folder: Path, *, llm: LLMSettings | None = None, **changes: Any) -> Surroundings:
    """A sound machine whose folders are below `folder`, with `changes`."""
    project = folder / "project"
    project.mkdir(exist_ok=True)
    sound: dict[str, Any] = {
        "project": project,
        "loaded": Loaded(settings=Settings(llm=llm or LLMSettings())),
        "environ": {"PATH": os.environ["PATH"], "HOME": str(folder / "home")},
        "state": folder / "state",
        "config": folder / "config",
        "screen": Screen(is_terminal=True, kind="xterm-256color"),
        "sandbox": Sandbox(),
        "kernel": "6.8.0-generic",
        "look": finds(),
        "free_space": lambda _: 100_000_000_000,
        "try_to_write": lambda _: None,
    }
    return Surroundings(**{**sound, **changes})


def only(findings: Sequence[Finding], name: str) -> Finding:
    """The one finding of this name."""
    found = [finding for finding in findings if finding.name == name]
    assert len(found) == 1, found
    return found[0]
