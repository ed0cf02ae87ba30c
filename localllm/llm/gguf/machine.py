"""What of this machine decides how a model is run on it."""

import os
import subprocess
import sys
from pathlib import Path

_CPUS = Path("/sys/devices/system/cpu")
_QUOTA = Path("/sys/fs/cgroup/cpu.max")


def physical_cores() -> int:
    """The cores this process may use, a core with two threads counted once: more threads than these make llama.cpp
    slower, not faster. At least 1."""
    if sys.platform == "linux":
        return max(1, min(len(_cores(os.sched_getaffinity(0))), _quota()))
    if sys.platform == "darwin":
        return _sysctl("hw.perflevel0.physicalcpu") or _sysctl("hw.physicalcpu") or 1
    return max(1, (os.cpu_count() or 2) // 2)


def lacks_avx2() -> bool:
    """Whether this is an x86 processor without the instructions the prebuilt llama.cpp is made of; as far as known."""
    if sys.platform != "linux" or os.uname().machine != "x86_64":
        return False
    try:
        return " avx2 " not in Path("/proc/cpuinfo").read_text("utf-8").replace("\n", " ")
    except OSError:
        return False


def _cores(cpus: set[int]) -> set[str]:
    """A name for each core that has one of these processors."""
    return {_siblings(cpu) for cpu in cpus}


def _siblings(cpu: int) -> str:
    try:
        return (_CPUS / f"cpu{cpu}" / "topology" / "thread_siblings_list").read_text("ascii")
    except OSError:
        return str(cpu)


def _quota() -> int:
    """The processors a container may keep busy at a time (cgroup v2)."""
    try:
        allowed, period = _QUOTA.read_text("ascii").split()
        return max(1, int(allowed) // int(period))
    except (OSError, ValueError):  # none, or "max"
        return sys.maxsize


def _sysctl(name: str) -> int:
    done = subprocess.run(["/usr/sbin/sysctl", "-n", name], capture_output=True, text=True, check=False)
    return int(done.stdout) if done.stdout.strip().isdigit() else 0
