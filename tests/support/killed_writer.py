"""A process whose children change a file through the tools and kill themselves at one step of it.

Reads lines "PROJECT OPERATION STEP"; for each, a child runs the operation and, just before its STEPth call of a
function that changes the file system, is killed as by kill -9. Answers "killed" or "done".
"""

import asyncio
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.support.agents import make_tools

OLD = "old content\n" * 3
NEW = "new content\n" * 3

_STEPS = ("open", "write", "replace", "rename", "link", "unlink", "mkdir", "fsync", "fchmod", "close", "utime")

OPERATIONS: dict[str, tuple[str, dict[str, Any]]] = {
    "write": ("write_file", {"file_path": "a.txt", "content": NEW}),
    "create": ("create_file", {"file_path": "new/b.txt", "content": NEW}),
    "edit": ("edit_file", {"file_path": "a.txt", "old_string": OLD, "new_string": NEW}),
}


def die_at(step: int) -> None:
    """Make the STEPth call from now on the last."""
    at_step(step, lambda _: os.kill(os.getpid(), signal.SIGKILL))


def at_step(step: int, act: Callable[[str], None]) -> None:
    """Do something just before the STEPth call from now on, with the name of what is called."""
    left = step

    def counted(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **options: Any) -> Any:
            nonlocal left
            left -= 1
            if left == 0:
                act(name)
            return function(*args, **options)

        return call

    for name in _STEPS:
        setattr(os, name, counted(name, getattr(os, name)))


async def _operate(project: Path, operation: str, step: int) -> None:
    tools = make_tools(project)
    name, arguments = OPERATIONS.get(operation, OPERATIONS["edit"])
    if operation == "undo":
        assert (await tools.execute_tool(name, **arguments))["success"]
        die_at(step)
        tools.changes.undo()
        return
    await tools.execute_tool("read_file", file_path="a.txt")  # threads and imports are there before it counts
    die_at(step)
    assert (await tools.execute_tool(name, **arguments))["success"]


def main() -> None:
    """Serve until the input ends."""
    for line in sys.stdin:
        project, operation, step = line.split()
        child = os.fork()
        if not child:
            asyncio.run(_operate(Path(project), operation, int(step)))
            os._exit(0)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        print({0: "done", -signal.SIGKILL: "killed"}.get(status, f"failed {status}"), flush=True)


if __name__ == "__main__":
    main()
