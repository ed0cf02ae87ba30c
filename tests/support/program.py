"""The program as a user starts it: real processes in a home, a project and a work folder of their own."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

PATIENCE = 60.0


class Program:
    """A user's home in `folder`. `more` is what the environment has besides; `command` starts the program."""

    command: tuple[str, ...] = (sys.executable, "-m", "localllm")

    def __init__(self, folder: Path, language: str = "C.UTF-8", more: Mapping[str, str] | None = None) -> None:
        self.folder = folder
        self.project = folder / "project"
        self.work = folder / "home" / "state" / "data"
        self.project.mkdir(parents=True)
        self._language = language
        self._more = dict(more or {})

    def write_settings(self, text: str) -> None:
        """Write the user's settings."""
        config = self.folder / "home" / "config"
        config.mkdir(parents=True, exist_ok=True)
        (config / "localllm.toml").write_text(text)

    def environment(self) -> dict[str, str]:
        home = self.folder / "home"
        kept = {name: os.environ[name] for name in ("PATH", "PYTHONPATH") if name in os.environ}
        own = {"HOME": home, "LOCALLLM_STATE_DIR": home / "state", "LOCALLLM_CONFIG_DIR": home / "config"}
        return {**kept, **{name: str(path) for name, path in own.items()}, "LANG": self._language, **self._more}

    def begin(self, *arguments: str) -> "subprocess.Popen[str]":
        """Start the program."""
        return subprocess.Popen(
            [*self.command, *arguments],
            cwd=self.project,
            env=self.environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            encoding="utf-8",
        )

    def run(self, *arguments: str, stdin: str | None = None) -> "subprocess.CompletedProcess[str]":
        """Run the program to its end."""
        return subprocess.run(
            [*self.command, *arguments],
            cwd=self.project,
            env=self.environment(),
            input=stdin,
            stdin=None if stdin is not None else subprocess.DEVNULL,
            capture_output=True,
            text=True,
            encoding="utf-8",
            timeout=PATIENCE,
            check=False,
        )

    def json(self, *arguments: str) -> Any:
        """What the program prints as JSON."""
        return json.loads(self.run(*arguments).stdout)
