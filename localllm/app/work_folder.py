"""The folder of research: reports, tasks, logs and their caches."""

import os
from collections.abc import Mapping
from pathlib import Path

from localllm.base.errors import ConfigurationError
from localllm.base.paths import data_folder
from localllm.config.schema import Settings

OWN_FOLDERS = ("cache", "debug_log", "history", "log", "market", "task", "worker")
"""The program's own folders in a work folder."""


def work_folder(settings: Settings, environ: Mapping[str, str] = os.environ, given: Path | None = None) -> Path:
    """Return the folder of reports, tasks and logs, which need not exist: as given, as configured, else the user's data
    folder.

    Raises ConfigurationError for a named one as `check_links`.
    """
    named = given or settings.research.work_dir
    if not named:
        return data_folder(environ)
    folder = Path(named).expanduser().absolute()
    check_links(folder)
    return folder


def check_links(folder: Path, root: Path | None = None) -> None:
    """Raise ConfigurationError if one of the program's folders in a work folder is a link, or its path leads out of a
    project (that at `root`, or any other): a command could redirect what is written or deleted there."""
    from localllm.base.named_paths import follow  # only for a named folder

    try:
        leads_out = follow(folder, root or folder).leads_out
    except OSError:  # circular links
        leads_out = True
    if leads_out:
        link = next((each for each in (folder, *folder.parents) if each.is_symlink()), folder)
        raise ConfigurationError("work_folder_link", folder=folder, link=link)
    for link in (folder / name for name in OWN_FOLDERS if (folder / name).is_symlink()):
        raise ConfigurationError("work_folder_link", folder=folder, link=link)
