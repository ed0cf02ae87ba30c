"""What would give a better level on this machine, as far as it can be told from here."""

import os
import re
from collections.abc import Callable, Collection

from localllm.base.i18n import Phrase
from localllm.sandbox import bubblewrap

LEAST_KERNEL = (6, 2)
"""The first Linux whose Landlock keeps files from being emptied (see `landlock.LEAST_ABI`)."""

_APPARMOR = "/proc/sys/kernel/apparmor_restrict_unprivileged_userns"
_DEBIAN = "/proc/sys/kernel/unprivileged_userns_clone"
_MOST = "/proc/sys/user/max_user_namespaces"
_CONTAINERS = ("/.dockerenv", "/run/.containerenv")


def read_setting(path: str) -> str:
    """What a file of /proc/sys says; "" where there is none."""
    try:
        with open(path, encoding="ascii", errors="replace") as file:  # noqa: PTH123 - replaced by tests as a function
            return file.read().strip()
    except OSError:
        return ""


def remedies(
    failed: Collection[str],
    kernel: str,
    *,
    read: Callable[[str], str] = read_setting,
    exists: Callable[[str], bool] = os.path.exists,
    has_bubblewrap: Callable[[], str] = bubblewrap.program,
) -> list[Phrase]:
    """For the levels that do not hold, what to do, the best first. `kernel`: as `uname -r` prints it."""
    found: list[Phrase] = []
    if "namespaces" in failed:
        found += _for_namespaces(read, exists)
    if "bubblewrap" in failed and not has_bubblewrap():
        found.append(Phrase("sandbox.mend.bubblewrap"))
    if "landlock" in failed:
        found.append(landlock_remedy(kernel))
    return found


def _for_namespaces(read: Callable[[str], str], exists: Callable[[str], bool]) -> list[Phrase]:
    if read(_APPARMOR) == "1":
        return [Phrase("sandbox.mend.apparmor")]
    if read(_DEBIAN) == "0":
        return [Phrase("sandbox.mend.userns_clone")]
    if read(_MOST) == "0":
        return [Phrase("sandbox.mend.max_userns")]
    return [Phrase("sandbox.mend.container")] if any(map(exists, _CONTAINERS)) else []


def landlock_remedy(kernel: str) -> Phrase:
    """What gives Landlock, to a kernel as `uname -r` prints it."""
    number = re.match(r"(\d+)\.(\d+)", kernel)
    if number and (int(number[1]), int(number[2])) < LEAST_KERNEL:
        return Phrase("doctor.sandbox_mend_kernel", least=".".join(map(str, LEAST_KERNEL)))
    return Phrase("doctor.sandbox_mend_landlock")
