"""Create the work folder with the folders of research files."""

import os
from pathlib import Path

from localllm.app.init import Step, move_aside
from localllm.base.errors import ConfigurationError
from localllm.base.i18n import Phrase
from localllm.base.logs import DEBUG_LOG, LOG
from localllm.research.researcher import CACHE
from localllm.research.run_store import HISTORY
from localllm.research.tasks import TASKS

FOLDERS = (CACHE, TASKS, LOG, DEBUG_LOG, HISTORY)
"""In the work folder: cached searches, tasks, the logs, runs and their reports."""


def present_folders(work: Path) -> list[Path]:
    """List what `make_work_folder` with `stamp` would move aside."""
    return [work / name for name in FOLDERS if os.path.lexists(work / name)]


def make_work_folder(work: Path, *, stamp: str = "") -> list[Step]:
    """Create the missing folders; with a `stamp`, existing ones are first renamed to NAME.old-STAMP. Raises
    ConfigurationError."""
    try:
        return [
            *(move_aside(path, stamp) for path in present_folders(work) if stamp),
            *(_made(work / name) for name in FOLDERS),
        ]
    except OSError as error:
        reason = error.strerror or str(error)
        raise ConfigurationError("work_folder_unusable", folder=work, reason=reason) from error


def _made(path: Path) -> Step:
    if path.is_dir():
        return Step(path, "kept")
    if os.path.lexists(path):
        raise ConfigurationError(
            "work_folder_unusable", folder=path.parent, reason=Phrase("{path} is in the way", path=path)
        )
    path.mkdir(mode=0o700, parents=True)
    return Step(path, "made")
