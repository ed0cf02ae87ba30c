"""The command by which systemd and cron run tasks takes no code from the project it stands in."""

import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from localllm.app.task_units import crontab_line


def test_a_package_of_the_project_is_not_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["/somewhere/localllm/__main__.py"])
    folder = tmp_path / "a project"
    (folder / "localllm").mkdir(parents=True)
    for name in ("__init__.py", "__main__.py"):
        (folder / "localllm" / name).write_text("open('sprung', 'w')\n")
    line = crontab_line(tmp_path / "work", folder, 15)
    command = line.partition("cd ")[2].partition(" task run")[0]
    done = subprocess.run(["bash", "-c", f"cd {command} --version"], capture_output=True, text=True, check=False)
    assert not (folder / "sprung").exists()
    assert done.stdout.startswith("localllm "), (shlex.quote(command), done.stderr)
