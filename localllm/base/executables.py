"""Other people's programs, found where a command of the project's cannot have put them."""

import os
import shutil
from pathlib import Path


def search_path(project: Path) -> list[str]:
    """The folders of the search path without those that lie in the project, also by where links lead, and relative
    ones: a command may have put programs there, also into a `.venv/bin`."""
    root = Path(os.path.realpath(project))
    folders = os.environ.get("PATH", os.defpath).split(os.pathsep)
    return [folder for folder in folders if os.path.isabs(folder) and not _is_beneath(folder, root)]  # noqa: PTH117 - an empty path is no Path


def find_program(name: str, project: Path) -> str | None:
    """The program `name` on the search path, None where there is none. What lies in the project, or leads there, is
    passed over."""
    root = Path(os.path.realpath(project))
    for folder in search_path(project):
        found = shutil.which(name, path=folder)
        if found and not _is_beneath(found, root):
            return found
    return None


def _is_beneath(path: str, root: Path) -> bool:
    return any(Path(place).is_relative_to(root) for place in (os.path.abspath(path), os.path.realpath(path)))  # noqa: PTH100
