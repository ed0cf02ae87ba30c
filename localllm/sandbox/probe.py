"""Which protection holds on this machine: found out once, by a command that tries what it must not be able to do."""

import os
import shlex
import socket
import subprocess
import sys
from pathlib import Path

from localllm.base.errors import ToolExecutionError
from localllm.base.i18n import Phrase
from localllm.sandbox import seccomp
from localllm.sandbox.bundle import Bundle, base_interpreter
from localllm.sandbox.confinement import Confinement
from localllm.sandbox.visibility import Scratch, Visibility

_PATIENCE = 20.0  # seconds; it takes some hundredths of one

_HIDDEN_WORDS = "what nobody may read"
_CANARY = """
echo changed >> {outside}
read -r secret < {home}/secret && echo "$secret"
: > /dev/tcp/127.0.0.1/{port}
echo done > {project}/made
"""


Weakness = Phrase | str | None


def probe(bundle: Bundle, project: Path) -> Weakness:
    """Why commands in `project` cannot be held, or None if they can. Takes as long as a command; starts processes."""
    if sys.platform != "linux":
        return Phrase("sandbox.not_linux")
    if os.uname().machine not in seccomp.AUDIT_NAMES:
        return Phrase("sandbox.unknown_machine", machine=os.uname().machine)
    if any(Path(path).is_relative_to(project) for path in (base_interpreter(), os.path.realpath(sys.base_prefix))):
        return Phrase("sandbox.interpreter_in_project")
    try:
        with Scratch({}) as stage, Scratch({}) as scratch:
            return _try_to_escape(bundle, stage, scratch)
    except ToolExecutionError as error:
        return str(error.params.get("reason") or error)
    except OSError as error:
        return str(error)


def _try_to_escape(bundle: Bundle, stage: Scratch, scratch: Scratch) -> Weakness:
    """Only what can be seen from outside counts: the file, what was read, who connected."""
    project, outside = stage.folder / "project", stage.folder / "outside"
    project.mkdir()
    outside.write_text("unchanged")
    (stage.home / "secret").write_text(f"{_HIDDEN_WORDS}\n")
    visibility = Visibility(homes=(), hidden=(stage.home,), shown=(), toolchains={})
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.setblocking(False)  # noqa: FBT003 - by position only
        places = {"outside": outside, "home": stage.home, "project": project, "port": listener.getsockname()[1]}
        command = _CANARY.format(**{name: shlex.quote(str(place)) for name, place in places.items()})
        printed = _run(Confinement(bundle, project, visibility), command, project, scratch)
        connected = _is_called(listener)
    if outside.read_text() != "unchanged":
        return Phrase("sandbox.wrote_outside")
    if _HIDDEN_WORDS in printed:
        return Phrase("sandbox.read_secret")
    if connected:
        return Phrase("sandbox.connected")
    if not (project / "made").exists():
        return Phrase("sandbox.useless")
    return None


def _run(confinement: Confinement, command: str, project: Path, scratch: Scratch) -> str:
    """What the command printed. Raises ToolExecutionError where it was not run."""
    launch = confinement.launch(command, project, scratch, {})
    try:
        process = subprocess.Popen(
            launch.arguments,
            cwd=launch.folder,
            env=launch.environment,
            pass_fds=launch.inherited,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        launch.started(process.pid)
        printed, _ = process.communicate(timeout=_PATIENCE)
        launch.ending(process.returncode)
        return printed.decode("utf-8", "replace")
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ToolExecutionError("command_failed_to_start", reason=error) from error
    finally:
        launch.close()


def _is_called(listener: socket.socket) -> bool:
    try:
        listener.accept()[0].close()
    except BlockingIOError:
        return False
    return True
