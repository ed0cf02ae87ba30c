"""A file is written over again and again while an editor saves it by renaming: no save goes unseen."""

import os
import sys
import threading
import time
from pathlib import Path

import pytest

from localllm.base.files import ChangedMeanwhileError, atomic_write_at

_SAVES = 200
_REACTION = 0.003  # seconds: a person does not answer to what is there for microseconds


def _save_all(folder: Path, ended: threading.Event) -> None:
    """Save each version once it was the last one's turn to be written over."""
    file, beside = folder / "file", folder / "swp"
    for number in range(_SAVES):
        version = b"saved %d" % number
        beside.write_bytes(version)
        beside.replace(file)
        while file.read_bytes() == version or time.sleep(_REACTION) or file.read_bytes() == version:
            pass
    ended.set()


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="elsewhere two files cannot be exchanged at once")
def test_every_save_is_seen(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"first")
    ended, seen = threading.Event(), set[bytes]()
    saver = threading.Thread(target=_save_all, args=(tmp_path, ended), daemon=True)
    folder = os.open(tmp_path, os.O_RDONLY)
    saver.start()
    count = 0
    while not ended.is_set():
        there = (tmp_path / "file").read_bytes()
        count += 1
        try:
            atomic_write_at(folder, "file", b"written %d" % count, over=there)
        except ChangedMeanwhileError:
            continue
        seen.add(there)
    saver.join()
    os.close(folder)
    assert seen >= {b"saved %d" % number for number in range(_SAVES)}
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
