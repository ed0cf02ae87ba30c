"""Find where the home and this program's own folders are mounted in a project (`mount --bind ~ project/home`)."""

import os
from collections.abc import Iterator

from localllm.sandbox.launcher.mount_table import MountTable, mounts_here, unescaped


def mounts_in(project: str) -> MountTable | None:
    """Return the table of mounts, if any of them is in the project, which is rare."""
    try:
        with open("/proc/self/mountinfo", "rb") as file:  # noqa: PTH123 - read with each call of a tool
            points = (line.split(b" ", 5)[4] for line in file)
            if not any(unescaped(point).startswith(f"{project}/") for point in points):
                return None
    except OSError:
        return None
    return mounts_here()


def places_of(folder: str, project: str, table: MountTable) -> Iterator[tuple[str, str]]:
    """Yield each path in the project at which a folder, or a part of it, is mounted, and the path of that part below
    the folder ("" for all of it)."""
    shown = table.shown_at(folder)
    if not shown:
        return
    device, top = shown
    for mount in table.mounts.values():
        if not mount.point.startswith(f"{project}/") or mount.shown[0] != device or not mount.has_root:
            continue
        at = mount.shown[1]
        if _is_at_or_below(at, top):
            yield mount.point, at[len(top.rstrip("/")) :].lstrip("/")
        elif _is_at_or_below(top, at):
            yield f"{mount.point}/{top[len(at.rstrip('/')) :].lstrip('/')}", ""


def _is_at_or_below(path: str, folder: str) -> bool:
    return os.path.join(path, "").startswith(os.path.join(folder, ""))  # noqa: PTH118 - strings
