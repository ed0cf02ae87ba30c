"""The folder of research: reports, tasks, logs, and what is cached for them."""

import os
from collections.abc import Mapping
from pathlib import Path

from localllm.base.errors import ConfigurationError
from localllm.base.paths import data_folder
from localllm.config.schema import Settings

OWN_FOLDERS = ("cache", "debug_log", "history", "log", "market", "task", "worker")
"""What the program itself keeps in a work folder."""


def work_folder(settings: Settings, environ: Mapping[str, str] = os.environ, given: Path | None = None) -> Path:
    """The folder of reports, tasks and logs: as given, as set, else the user's data folder. There or not.

    Raises ConfigurationError where one that was named holds a link in place of a folder of the program's: it may lie in
    a project, where a command could have what is written or deleted there lead elsewhere.
    """
    named = given or settings.research.work_dir
    if not named:
        return data_folder(environ)
    folder = Path(named).expanduser().absolute()
    for link in (folder / name for name in OWN_FOLDERS if (folder / name).is_symlink()):
        raise ConfigurationError("work_folder_link", folder=folder, link=link)
    return folder
