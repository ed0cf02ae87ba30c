"""Generate systemd units, a launchd agent and crontab lines that run due research tasks."""

import os
import plistlib
import shlex
import sys
from collections.abc import Mapping
from pathlib import Path

SERVICE = "localllm-tasks.service"
TIMER = "localllm-tasks.timer"
AGENT = "localllm-tasks"

_OWN_FOLDERS = "LOCALLLM_CONFIG_DIR LOCALLLM_STATE_DIR LOCALLLM_CACHE_DIR LOCALLLM_DATA_DIR"
_FOLDERS_OF_USERS = "XDG_CONFIG_HOME XDG_STATE_HOME XDG_CACHE_HOME XDG_DATA_HOME"
_NO_FOLDERS: Mapping[str, str] = {}


def folder_variables(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the variables of a shell by which its user's settings, tasks and state are found: systemd, launchd and
    cron have none of them."""
    given = {name: environ[name] for name in _OWN_FOLDERS.split() if environ.get(name)}
    own = {name: os.path.abspath(os.path.expanduser(path)) for name, path in given.items()}  # noqa: PTH100, PTH111 - strings
    named = {name: environ.get(name, "") for name in _FOLDERS_OF_USERS.split()}
    return own | {name: path for name, path in named.items() if path.startswith("/")}  # others do not count


def task_command(work: Path) -> list[str]:
    """Return the command that runs due tasks of a work folder, callable from anywhere: -P keeps Python from importing
    modules from the current folder, where a command may have placed a package of this name."""
    program = Path(sys.argv[0])
    called = [str(program.resolve())] if program.name == "localllm" and program.is_file() else []
    return [*(called or [sys.executable, "-P", "-m", "localllm"]), "task", "run", "--due", "--work-dir", str(work)]


def unit_files(work: Path, folder: Path, minutes: int, variables: Mapping[str, str] = _NO_FOLDERS) -> dict[str, str]:
    """Return the files of a systemd user unit, by name, that checks every `minutes`; it runs in `folder`, whose
    settings apply, with these variables."""
    command = " ".join(map(_quoted, task_command(work)))
    given = " ".join(_specifiers(_in_quotes(f"{name}={value}")) for name, value in variables.items())
    service = [
        "[Unit]",
        "Description=Run the research tasks of localllm that are due",
        "After=network-online.target",
        "",
        "[Service]",
        "Type=oneshot",
        f"WorkingDirectory={_specifiers(str(folder))}",
        *([f"Environment={given}"] if variables else []),
        "# Keys of servers, one NAME=VALUE a line:",
        "EnvironmentFile=-%h/.config/localllm/environment",
        f"ExecStart={command}",
        "# 3: a report is partial. 5: no model server was there; the task stays due.",
        "SuccessExitStatus=3 5",
        "Nice=10",
    ]
    timer = [
        "[Unit]",
        "Description=Look for research tasks of localllm that are due",
        "",
        "[Timer]",
        "OnStartupSec=2min",
        f"OnUnitInactiveSec={minutes}min",
        "",
        "[Install]",
        "WantedBy=timers.target",
    ]
    return {SERVICE: "\n".join(service) + "\n", TIMER: "\n".join(timer) + "\n"}


def agent_files(work: Path, folder: Path, minutes: int, variables: Mapping[str, str] = _NO_FOLDERS) -> dict[str, str]:
    """Return the file of a launchd agent (launchd.plist(5)), by name, that does the same on macOS."""
    agent = {
        "Label": AGENT,
        "ProgramArguments": task_command(work),
        "WorkingDirectory": str(folder),
        "RunAtLoad": True,
        "StartInterval": minutes * 60,
        "ProcessType": "Background",
        "Nice": 10,
        **({"EnvironmentVariables": dict(variables)} if variables else {}),
    }
    return {f"{AGENT}.plist": plistlib.dumps(agent, sort_keys=False).decode()}


def crontab_line(work: Path, folder: Path, minutes: int, variables: Mapping[str, str] = _NO_FOLDERS) -> str:
    """Return the line for `crontab -e`. Overlapping runs never execute the same task."""
    when = f"*/{minutes} * * * *" if minutes < 60 else f"0 */{max(1, minutes // 60)} * * *"
    given = ["env", *(f"{name}={value}" for name, value in variables.items())] if variables else []
    command = f"cd {shlex.quote(str(folder))} && {shlex.join([*given, *task_command(work)])} >/dev/null 2>&1"
    return f"{when} {command.replace('%', chr(92) + '%')}"


def _quoted(argument: str) -> str:
    """Quote an argument for ExecStart (systemd.service(5), “Command lines”)."""
    return _specifiers(_in_quotes(argument.replace("$", "$$")))


def _in_quotes(text: str) -> str:
    plain = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{plain}"'


def _specifiers(text: str) -> str:
    return text.replace("%", "%%")
