"""The command by which systemd and cron run tasks takes no code from the project it stands in."""

import configparser
import plistlib
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from localllm.app.task_units import agent_files, crontab_line, folder_variables, unit_files


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


def test_a_launchd_agent_runs_the_same_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["/somewhere/localllm/__main__.py"])
    ((name, text),) = agent_files(tmp_path / "a <work>", tmp_path / "a & b", 15).items()
    agent = plistlib.loads(text.encode())
    assert name == f"{agent['Label']}.plist"
    assert agent["ProgramArguments"][-3:] == ["--due", "--work-dir", str(tmp_path / "a <work>")]
    assert agent["WorkingDirectory"] == str(tmp_path / "a & b")
    assert agent["StartInterval"] == 900
    line = crontab_line(tmp_path / "a <work>", tmp_path / "a & b", 15)
    assert shlex.join(agent["ProgramArguments"]) in line


def test_only_variables_that_name_a_folder_are_handed_on() -> None:
    environ = {"XDG_STATE_HOME": "/s t", "XDG_DATA_HOME": "relative", "LOCALLLM_CACHE_DIR": "/c/../d", "API_KEY": "x"}
    assert folder_variables(environ) == {"XDG_STATE_HOME": "/s t", "LOCALLLM_CACHE_DIR": "/d"}
    assert folder_variables({"LOCALLLM_STATE_DIR": "", "HOME": "/h"}) == {}


def test_a_run_by_cron_systemd_or_launchd_finds_the_state_of_the_shell(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", ["/somewhere/localllm/__main__.py"])
    state = '/a 50% "quoted" $HOME\\x'
    variables = {"XDG_STATE_HOME": state}
    line = crontab_line(tmp_path / "work", tmp_path, 15, variables).replace("\\%", "%")  # as cron hands it to sh
    shown = line.partition(" * * * * ")[2].replace(f"{sys.executable} -P -m localllm", "printenv -0 #")
    done = subprocess.run(["sh", "-c", shown], capture_output=True, text=True, check=True)
    assert f"XDG_STATE_HOME={state}" in done.stdout.split("\0")
    ((_, text),) = agent_files(tmp_path / "work", tmp_path, 15, variables).items()
    assert plistlib.loads(text.encode())["EnvironmentVariables"] == variables
    service = configparser.RawConfigParser()
    service.read_string(unit_files(tmp_path / "work", tmp_path, 15, variables)["localllm-tasks.service"])
    assert service["Service"]["environment"] == '"XDG_STATE_HOME=/a 50%% \\"quoted\\" $HOME\\\\x"'
