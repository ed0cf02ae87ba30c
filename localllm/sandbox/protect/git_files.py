"""The small files by which git finds the data of a repository, read as git reads them, letter by letter.

Whoever reads them in another way takes another folder for the repository than git does: a zero byte ends what is said,
blanks belong to a path, only `\\n` and `\\r` at the end do not. See setup.c and object-file.c of git.
"""

import os
import re
from pathlib import Path

from localllm.base.files import real_path
from localllm.base.regular_files import NO_LINK, READ, opened

ELSEWHERE = os.sep
"""What a file says of which git might read something else: one that is too long, special, or closed to us."""

_MOST = 1 << 14  # bytes; no path is longer
_LONGEST_HEAD = 255  # bytes of HEAD that git looks at
_GITFILE = b"gitdir: "
_HEAD = re.compile(rb"ref:[ \t\n\r]*refs/|[0-9a-fA-F]{40}")


def has_head(folder: Path) -> bool:
    """Whether HEAD is one by which git knows a repository (validate_headref)."""
    head = folder / "HEAD"
    try:
        return os.fsdecode(head.readlink()).startswith("refs/")
    except OSError:
        pass
    try:
        with opened(os.open(head, READ | NO_LINK)) as file:
            return bool(_HEAD.match(file.read(_LONGEST_HEAD)))
    except OSError:
        return False


def is_repository(folder: Path) -> bool:
    """Whether git takes the folder for the data of a repository (is_git_directory); it passes over others, and goes on
    in the folder above. One whose `commondir` is not to be read counts as one, which leads out."""
    common = said_in(folder / "commondir")
    shared = folder / common if common else folder
    is_whole = all(os.access(shared / name, os.X_OK) for name in ("objects", "refs"))
    return has_head(folder) and (common == ELSEWHERE or is_whole)


def said_in(path: Path) -> str:
    """What `commondir`, or `gitdir` of a linked work tree, says; "" where there is none. A link is followed."""
    content = _content(path)
    return ELSEWHERE if content is None else line_of(content)


def led_to(git: Path) -> str:
    """Where a `.git` that is a file leads (read_gitfile_gently); "" where git takes it for none."""
    content = _content(git)
    return ELSEWHERE if content is None else gitfile_target(content)


def gitfile_target(content: bytes) -> str:
    """As `led_to`, of the content of the file."""
    return line_of(content.removeprefix(_GITFILE)) if content.startswith(_GITFILE) else ""


def line_of(content: bytes) -> str:
    """The text of a file of one line: up to a zero byte, without the ends of lines behind it."""
    return os.fsdecode(content.rstrip(b"\r\n").partition(b"\0")[0])


def alternates_in(content: bytes, objects: Path) -> list[Path]:
    """The folders of objects that a list of alternates (gitrepository-layout(5)) in the folder `objects` names: without
    `..`, which git takes out before it follows a link, and after it has followed those to `objects`."""
    lines = os.fsdecode(content.partition(b"\0")[0]).split("\n")
    try:
        real = real_path(objects)
    except OSError:
        real = ELSEWHERE
    named = [_unquoted(line) for line in lines if line and not line.startswith("#")]
    return [Path(os.path.normpath(os.path.join(real, name))) for name in named]  # noqa: PTH118 - strings


def _unquoted(line: str) -> str:
    """The line; of one in quotation marks, which git itself never writes, that it may lead anywhere."""
    return ELSEWHERE if line.startswith('"') else line


def _content(path: Path) -> bytes | None:
    """The whole of a file, b"" where there is none, None where it is not to be read."""
    if not os.path.lexists(path):
        return b""
    try:
        with opened(os.open(path, READ)) as file:
            content = file.read(_MOST + 1)
    except OSError:
        return None
    return content if len(content) <= _MOST else None
