"""A person with an editor that knows of no lock, at LOCALLLM.md:
`python -m tests.support.memory_editor ROOT COUNT SEED`.

Reads the file, changes a line and saves, as editors do: written in place (emptied first), or a new file renamed over
the old one. Saves only on top of what it read, as an editor that warns of a changed file. Prints what it saved.
"""

import os
import random
import sys
import time
from pathlib import Path


def _save(file: Path, data: bytes, *, in_place: bool) -> None:
    if in_place:
        with file.open("r+b") as stream:
            stream.truncate(0)
            stream.write(data)
        return
    beside = file.with_name("edited.swp")
    beside.write_bytes(data)
    beside.replace(file)


def main(root: Path, count: int, seed: int) -> None:
    """Save `count` times."""
    file, chance = root / "LOCALLLM.md", random.Random(seed)
    for number in range(count):
        time.sleep(chance.random() / 20)
        line = f"- [ ] by hand {number}"
        while True:
            before = file.read_bytes()
            after = before.replace(b"## TODO\r\n", f"## TODO\r\n{line}\r\n".encode(), 1)
            if len(after) > len(before) and file.read_bytes() == before:
                break
        _save(file, after, in_place=chance.random() < 0.5)
        os.write(1, f"add {line[6:]}\n".encode())


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
