"""What lies in the project and belongs to some of its sessions: whole outputs of tools, and words that were set aside.

They go with the last session whose log names them. Only plain names of our own form are touched, and no link is
followed.
"""

import os
import re
import stat
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from localllm.base.files import open_folder
from localllm.base.regular_files import open_regular
from localllm.sessions.log import lines_of

_IN = b"tool-output/"
_NAMED = re.compile(rb"tool-output/([a-z][a-z_]{0,60}-(?:[0-9a-f]{8}|[0-9a-f]{16})\.txt)")


def named_in(log: Path) -> set[str]:
    """The files that a log names. Raises OSError."""
    with open_regular(log) as stream:
        return {name.decode() for line in lines_of(stream) if _IN in line for name in _NAMED.findall(line)}


def forget(names: set[str], logs: Iterable[Path], folders: Iterable[Path]) -> None:
    """Remove those of the files in `folders` that no log in the folders `logs` names any more. One log that cannot be
    read, and all stay: it may name any."""
    left = set(names)
    with suppress(OSError):
        for log in _logs(logs):
            if not left:
                return
            left -= named_in(log)
        for folder in folders:
            _remove(folder, left)


def _logs(folders: Iterable[Path]) -> Iterator[Path]:
    for folder in folders:
        with suppress(FileNotFoundError, NotADirectoryError):
            yield from (file for file in folder.iterdir() if file.suffix == ".jsonl" and _is_plain(file))


def _is_plain(file: Path) -> bool:
    try:
        return stat.S_ISREG(file.lstat().st_mode)
    except FileNotFoundError:
        return False


def _remove(folder: Path, names: Iterable[str]) -> None:
    with suppress(FileNotFoundError):
        opened = open_folder(folder)
        try:
            for name in names:
                with suppress(FileNotFoundError):
                    os.unlink(name, dir_fd=opened)
        finally:
            os.close(opened)
