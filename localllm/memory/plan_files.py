"""A plan that somebody has written into a file, to be put on the TODO list."""

import errno
import os
from pathlib import Path
from typing import NamedTuple

from localllm.base.errors import ToolExecutionError
from localllm.base.files import open_folder, real_path
from localllm.base.i18n import Phrase
from localllm.base.regular_files import read_beneath, read_regular
from localllm.text.decoding import NotTextError, decode
from localllm.text.sanitising import clean

LARGEST = 1_000_000
"""Bytes."""


class Plan(NamedTuple):
    """A text, the file it is from as the project names it, and which line of that it begins with."""

    text: str
    source: str
    first_line: int = 1


def read_plan(root: Path, name: str, first_line: int = 0, line_count: int = 0) -> Plan:
    """The file `name`, from the project's folder unless it is absolute; `first_line` 0 for all of it.

    ToolExecutionError todo_file_unreadable.
    """
    try:
        path = root / Path(name).expanduser()
        text = decode(_read(root, path)).text
    except OSError as error:
        reason = Phrase("memory.not_regular") if error.errno == errno.EINVAL else os.strerror(error.errno or errno.EIO)
        raise _unreadable(name, reason) from error
    except NotTextError as error:
        raise _unreadable(name, Phrase("files.binary" if error.kind == "binary" else "memory.not_text")) from error
    except (ValueError, RuntimeError) as error:  # a NUL in the name, a home that nobody has
        raise _unreadable(name, str(error)) from error
    source = path.relative_to(root).as_posix() if path.is_relative_to(root) else str(path)
    if not first_line:
        return Plan(text, source)
    lines = text.splitlines(keepends=True)
    return Plan("".join(lines[first_line - 1 : first_line - 1 + line_count]), source, first_line)


def _read(root: Path, path: Path) -> bytes:
    """What the file holds. A link in the project leads nowhere outside it, as it may be anybody's; elsewhere the user
    knows where links lead."""
    if not path.is_relative_to(root):
        return read_regular(path.resolve(), LARGEST)
    top, real = Path(real_path(root)), Path(real_path(path))
    if not real.is_relative_to(top):
        raise OSError(errno.EXDEV, os.strerror(errno.EXDEV), str(path))
    folder = open_folder(top)
    try:
        return read_beneath(folder, str(real.relative_to(top)), LARGEST)
    finally:
        os.close(folder)


def _unreadable(name: str, reason: object) -> ToolExecutionError:
    return ToolExecutionError(
        "todo_file_unreadable", file=clean(name, keep_newlines=False), reason=reason, limit=LARGEST
    )
