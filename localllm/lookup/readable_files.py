"""What the embedded engine may read: the rules that the program runs with, or else those of the settings' files."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import msgspec

from localllm.config.loader import load, running
from localllm.config.schema import Settings
from localllm.safety.hard_links import close_other_names
from localllm.safety.home_folder import guard_home
from localllm.safety.rules import closed_to_reading, guarded_from_reading


class Reads(NamedTuple):
    """Which files of the project may be read, and where its memory is."""

    exclude: tuple[str, ...]
    closed: tuple[str, ...]
    memory: str


def reads_of(root: Path, environ: Mapping[str, str]) -> Reads:
    """Return what may be read. Raises LocalLLMError if it has to load settings that are wrong."""

    def relative(path: str) -> str:
        return os.path.relpath(os.path.realpath(root / path), os.path.realpath(root))

    settings = running(root) or _loaded(root, environ)
    closed = (*closed_to_reading(settings.safety, relative), *guarded_from_reading(settings.safety, relative))
    return Reads(tuple(settings.project.exclude_patterns), closed, settings.project.memory_file)


def _loaded(root: Path, environ: Mapping[str, str]) -> Settings:
    settings = load(root, environ=environ).settings
    return msgspec.structs.replace(settings, safety=close_other_names(guard_home(settings.safety, root), root))
