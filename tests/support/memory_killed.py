"""A process whose children change LOCALLLM.md and kill themselves at one step of it.

Reads lines "PROJECT STEP"; for each, a child adds a TODO and, just before its STEPth call of a function that changes
the file system, is killed as by kill -9. Answers "killed" or "done".
"""

import os
import signal
import sys
from datetime import date
from pathlib import Path

from localllm.memory import todos
from localllm.memory.memory_file import MemoryFile
from tests.support.killed_writer import die_at


def main() -> None:
    """Serve until the input ends."""
    for line in sys.stdin:
        project, step = line.rsplit(maxsplit=1)
        child = os.fork()
        if not child:
            file = MemoryFile(Path(project))
            die_at(int(step))
            file.edit(lambda document: todos.add(document, "new", today=date(2026, 11, 22)))
            os._exit(0)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        print({0: "done", -signal.SIGKILL: "killed"}.get(status, f"failed {status}"), flush=True)


if __name__ == "__main__":
    main()
