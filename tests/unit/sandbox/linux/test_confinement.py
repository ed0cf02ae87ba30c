"""What a confinement keeps commands from doing to the assistant itself."""

import subprocess
import sys

import pytest

pytestmark = [
    pytest.mark.on_disk,
    pytest.mark.skipif(sys.platform != "linux", reason="system calls are filtered on Linux"),
]

GUARDED = """
import os
from pathlib import Path
from localllm.sandbox.environment import Visibility
from localllm.sandbox.launcher.syscalls import Kernel
from localllm.sandbox.linux.bundle import Bundle
from localllm.sandbox.linux.confinement import LinuxConfinement
os.setsid()
assistant = os.getpid()
nothing = Visibility(homes=(), hidden=(), shown=(), toolchains={})
call_filter = LinuxConfinement(Bundle(), Path("/"), nothing, level="landlock")._call_filter()
pid = os.fork()
if not pid:
    kernel = Kernel()
    kernel.drop_privileges()
    kernel.filter_calls(call_filter)
    for whom in (assistant, -assistant, os.getpid()):
        try:
            os.kill(whom, 0)
            print("allowed", flush=True)
        except PermissionError:
            print("refused", flush=True)
    os._exit(0)
os.waitpid(pid, 0)
"""


def test_the_filter_keeps_signals_from_the_assistant_and_its_group() -> None:
    """Without Landlock, which refuses them as well where the kernel is new enough."""
    done = subprocess.run([sys.executable, "-c", GUARDED], capture_output=True, text=True, timeout=30, check=False)
    assert done.stdout == "refused\nrefused\nallowed\n", done.stderr
