"""A process whose children change LOCALLLM.md, with something happening at one step of it.

Reads lines "PROJECT STEP"; for each, a child adds a TODO, and just before its STEPth call of a function that changes
the file system it is killed as by kill -9. Answers "killed" or "done". With the argument "saved" it goes on instead,
and an editor that had the file open appends to it there; the answer is what was about to be called, or "done".
"""

import os
import signal
import sys
from datetime import date
from pathlib import Path

from localllm.memory import todos
from localllm.memory.memory_file import MemoryFile
from tests.support.killed_writer import at_step, die_at

SAVED = b"- [ ] by hand\r\n"


def _save_at(step: int, path: Path, answer: int) -> None:
    fd, write = os.open(path, os.O_WRONLY | os.O_APPEND), os.write

    def save(name: str) -> None:
        write(fd, SAVED)
        write(answer, name.encode())

    at_step(step, save)


def main() -> None:
    """Serve until the input ends."""
    for line in sys.stdin:
        project, step = line.rsplit(maxsplit=1)
        said, answer = os.pipe()
        child = os.fork()
        if not child:
            file = MemoryFile(Path(project))
            if sys.argv[1:] == ["saved"]:
                _save_at(int(step), file.path, answer)
            else:
                die_at(int(step))
            file.edit(lambda document: todos.add(document, "new", today=date(2026, 11, 22)))
            os._exit(0)
        os.close(answer)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        saved = os.read(said, 100).decode()
        os.close(said)
        print({0: saved or "done", -signal.SIGKILL: "killed"}.get(status, f"failed {status}"), flush=True)


if __name__ == "__main__":
    main()
