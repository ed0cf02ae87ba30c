"""The folder of research: reports, tasks, logs, and what is cached for them."""

import os
from collections.abc import Mapping
from pathlib import Path

from localllm.base.paths import data_folder
from localllm.config.schema import Settings


def work_folder(settings: Settings, environ: Mapping[str, str] = os.environ, given: Path | None = None) -> Path:
    """The folder of reports, tasks and logs: as given, as set, else the user's data folder. There or not."""
    if given is not None:
        return given.expanduser().absolute()
    if settings.research.work_dir:
        return Path(settings.research.work_dir).expanduser().absolute()
    return data_folder(environ)
