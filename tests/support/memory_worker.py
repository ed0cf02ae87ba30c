"""One of several programs that change the same LOCALLLM.md:
`python -m tests.support.memory_worker ROOT NAME COUNT SEED`.

Adds and finishes TODOs of its own, notes decisions and records sessions. Each line it prints is something that is in
the file from then on: "add TEXT", "done TEXT", "decision TEXT", "session ID". It is meant to be killed.
"""

import os
import random
import sys
from datetime import UTC, date, datetime
from pathlib import Path

from localllm.memory import memory_file, notes, session_records, todos
from localllm.memory.memory_file import MemoryFile
from localllm.memory.session_records import SessionRecord

TODAY = date(2026, 11, 22)


def _say(line: str) -> None:
    os.write(1, f"{line}\n".encode())


def main(root: Path, name: str, count: int, seed: int) -> None:
    """Make `count` changes."""
    file, chance = MemoryFile(root), random.Random(seed)
    mine: list[str] = []
    for number in range(count):
        text = f"{name} 作業 {number}\nwith a line below"
        match chance.choice(("add", "add", "done", "decision", "session")):
            case "done" if mine:
                wanted = mine.pop(chance.randrange(len(mine)))
                file.edit(lambda document, wanted=wanted: todos.set_state(document, wanted, "done", today=TODAY))
                _say(f"done {wanted}")
            case "decision":
                file.edit(lambda document, text=text: notes.add(document, "decisions", text, today=TODAY))
                _say(f"decision {' '.join(text.split())}")
            case "session":
                record = SessionRecord(
                    f"{name}-{number:04}", datetime(2026, 11, 22, 14, 5, tzinfo=UTC), text, ("a",), ("b",)
                )
                file.edit(lambda document, record=record: (session_records.put(document, record), None))
                _say(f"session {record.session_id}")
            case _:
                todo = file.edit(lambda document, text=text: todos.add(document, text, "high", today=TODAY))
                mine.append(todo.text)
                _say(f"add {todo.text}")


if __name__ == "__main__":
    memory_file.FOLDER_PATIENCE = 60.0  # on a busy machine somebody goes without for long; here nobody may
    main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
