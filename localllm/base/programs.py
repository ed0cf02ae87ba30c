"""Other people's programs, found where a command of the project's cannot have put them."""

import os
import shutil
from pathlib import Path


def find_program(name: str, project: Path) -> str | None:
    """The program `name` on the search path, None where there is none. What lies in the project, or stands there for
    something else, is passed over: a command may have put it there, also into a `.venv/bin` of the path."""
    root = Path(os.path.realpath(project))
    for folder in os.environ.get("PATH", os.defpath).split(os.pathsep):
        if not os.path.isabs(folder) or _is_beneath(folder, root):  # noqa: PTH117 - an empty path is no Path
            continue
        found = shutil.which(name, path=folder)
        if found and not _is_beneath(found, root):
            return found
    return None


def _is_beneath(path: str, root: Path) -> bool:
    return any(Path(place).is_relative_to(root) for place in (os.path.abspath(path), os.path.realpath(path)))  # noqa: PTH100
