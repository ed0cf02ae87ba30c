"""How old a session is, whatever a command has made of the times of its log."""

import os
import time
from pathlib import Path

from localllm.sessions.store import DAY, Pruned
from tests.support.session_logs import keep, sessions, turn


def age(log: Path, days: float) -> None:
    then = time.time() - days * DAY
    os.utime(log, (then, then))


def test_a_time_that_is_set_back_makes_no_session_older(tmp_path: Path) -> None:
    store = sessions(tmp_path)
    names = [keep(store, turn(f"q{number}", "a")) for number in range(25)]
    logs = [store.folder / f"{name}.jsonl" for name in names[-3:]]
    store.all()
    for days in (-500, 500, 400):
        for log in logs:
            age(log, days)
        sessions(tmp_path).all()
    with logs[0].open("ab") as grown:
        grown.write(b"{}\n")
    age(logs[0], 500)
    assert store.prune(keep_days=60, keep_count=24) == Pruned([], names[:1], [])
    assert sessions(tmp_path).prune(keep_days=60, keep_count=23) == Pruned([], [names[1]], [])
