"""Several programs at one LOCALLLM.md at once, some of them killed; and what must be true of the file afterwards."""

import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

from localllm.memory import notes, session_records, todos
from localllm.memory.document import Document

BEFORE = "\ufeff---\r\ntitle: mine\r\n---\r\n# Mine\r\n\r\nProse \twith trailing spaces  \n<!-- ## TODO -->\r\n\r\n"
TODO = "## TODO\r\n\r\n- [ ] the first\r\n  - nested\r\n\r\n"
AFTER = "## My own\r\n\r\n```\r\n## TODO\r\n- [ ] not one\r\n```\r\nlast line without a newline"
START = BEFORE + TODO + AFTER

_LONGEST = 100.0  # seconds


class _Program:
    """A program that says in a file what it has done."""

    def __init__(self, module: str, root: Path, said: Path, *arguments: str) -> None:
        self._said = said
        with said.open("wb") as output:
            self.process = subprocess.Popen([sys.executable, "-m", module, root, *arguments], stdout=output)

    def wait_until_at_work(self) -> None:
        deadline = time.monotonic() + _LONGEST
        while not self._said.stat().st_size and self.process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.005)

    def said(self) -> list[str]:
        return self._said.read_text().splitlines()


def run(root: Path, *, workers: int, count: int, kills: int, seed: int, editor: int = 0) -> list[str]:
    """Let them work in `root` until all are done; what they said they had done. Meanwhile others, who would go on for
    long, are killed one after another."""
    (root / "LOCALLLM.md").write_bytes(START.encode())
    said = root.with_name(f"{root.name}-said")
    said.mkdir()
    chance = random.Random(seed)

    def worker(number: int, count: int) -> _Program:
        name = f"w{number}"
        return _Program("tests.support.memory_worker", root, said / name, name, str(count), f"{seed}{number}")

    running = [worker(number, count) for number in range(workers)]
    hand = [_Program("tests.support.memory_editor", root, said / "hand", str(editor), str(seed))] if editor else []
    killed: list[_Program] = []
    for number in range(kills):
        victim = worker(workers + number, 100 * count)
        victim.wait_until_at_work()
        time.sleep(chance.uniform(0.0, 0.03))
        victim.process.send_signal(signal.SIGKILL)
        killed.append(victim)
    statuses = [program.process.wait(_LONGEST) for program in [*killed, *running, *hand]]
    assert statuses == [-signal.SIGKILL] * len(killed) + [0] * len([*running, *hand])
    return [line for program in [*killed, *running, *hand] for line in program.said()]


def check(root: Path, said: list[str]) -> None:
    """Nothing is lost, nothing is doubled, no byte outside the managed sections has changed."""
    text = (root / "LOCALLLM.md").read_bytes().decode()
    document = Document(text)
    assert text.startswith(BEFORE)
    assert AFTER in text
    assert not text.endswith("\n")
    told: dict[str, Counter[str]] = {kind: Counter() for kind in ("add", "done", "decision", "session")}
    for line in said:
        kind, _, what = line.partition(" ")
        told[kind][what] += 1
    found = todos.todos(document)
    texts = Counter(todo.text for todo in found)
    assert max(texts.values()) == 1
    assert not (told["add"] + Counter(["the first"])) - texts
    assert told["done"].keys() <= {todo.text for todo in found if todo.state == "done"}
    assert next(todo.details for todo in found if todo.text == "the first") == "  - nested"
    decided = Counter(note.text for note in notes.notes(document, "decisions"))
    assert not told["decision"] - decided
    assert max(decided.values(), default=1) == 1
    sessions = [record.session_id for record in session_records.recorded(document)]
    assert len(sessions) == len(set(sessions)) <= session_records.LISTED
    if told["session"].total() < session_records.LISTED // 2:
        assert told["session"].keys() <= set(sessions)
