"""Find which files rules close to reading, for packages that do not know the rules."""

import os
import re
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path

from localllm.base.errors import LocalLLMError
from localllm.base.lazy_patterns import late_pattern
from localllm.base.paths import find_project
from localllm.config.schema import ProjectSettings, SafetySettings, Settings
from localllm.safety.paths import ProjectRoot
from localllm.safety.rules import closed_to_commands, closed_to_reading, closed_to_writing


def closed_patterns(settings: SafetySettings, root: Path) -> tuple[str, ...]:
    """Return the paths in the project at `root` that rules close to reading, as patterns of .gitignore."""
    closed = closed_to_reading(settings, ProjectRoot(root).relative)
    return tuple(map(pattern_for, closed))


def closed_to_memory(settings: Settings, root: Path, closed: Sequence[str]) -> Sequence[str]:
    """Return the paths in the project at `root` where the memory file is not used: those `closed` to reading and,
    unless it has its usual name, those closed to writing."""
    if settings.project.memory_file == ProjectSettings().memory_file:
        return closed
    return [*closed, *closed_to_writing(settings.safety, ProjectRoot(root).relative)]


_SPECIAL = late_pattern(r"[\\*?\[\] ]")


def pattern_for(path: str) -> str:
    """Return the pattern of .gitignore for a path in the project; "." is all of it."""
    return "*" if path == "." else f"/{_SPECIAL.sub(_escaped, path)}"


def _escaped(match: re.Match[str]) -> str:
    return f"\\{match[0]}"


def closed_files(
    settings: SafetySettings, root: Path, elsewhere: SafetySettings
) -> Callable[[], Callable[[str], bool]]:
    """Return a function that reads the current rules, for one search or ingest, and returns a predicate: whether an
    absolute path is that of a file that a rule closes, so that its content must not be shown. The `settings` are for
    the project at `root`; `elsewhere` has the user's own rules, which hold in every project."""
    project = ProjectRoot(root)
    places = closed_to_commands(elsewhere)[0]

    @cache
    def closed_around(folder: str) -> list[str]:
        there = find_project(Path(folder))
        return [os.path.realpath(there / place) for place in places]

    def is_closed_elsewhere(path: str) -> bool:
        real = Path(os.path.realpath(path))
        return any(real.is_relative_to(closed) for closed in closed_around(str(real.parent)))

    def closed_now() -> Callable[[str], bool]:
        closed = closed_to_reading(settings, project.relative)

        def is_closed(path: str) -> bool:
            if not (closed or places):
                return False
            try:
                inside = project.relative(path)
            except LocalLLMError:  # outside the project
                return bool(places) and is_closed_elsewhere(path)
            return any(folder in (".", inside) or inside.startswith(f"{folder}/") for folder in closed)

        return is_closed

    return closed_now
