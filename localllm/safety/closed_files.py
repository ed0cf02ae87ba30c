"""Which files rules close to reading, for rooms that know no rules."""

from collections.abc import Callable
from pathlib import Path

from localllm.base.errors import LocalLLMError
from localllm.config.schema import SafetySettings
from localllm.safety.paths import ProjectRoot
from localllm.safety.rules import closed_to_reading


def closed_files(settings: SafetySettings, root: Path) -> Callable[[], Callable[[str], bool]]:
    """A function that reads the rules as they are now, for one search or ingest, and gives one that tells of an
    absolute path whether a rule closes it: whether it is that of a file in the project at `root` of which nothing may
    show the content."""
    project = ProjectRoot(root)

    def closed_now() -> Callable[[str], bool]:
        closed = closed_to_reading(settings, project.relative)

        def is_closed(path: str) -> bool:
            if not closed:
                return False
            try:
                inside = project.relative(path)
            except LocalLLMError:  # it is not in the project, of which alone the rules speak
                return False
            return any(folder in (".", inside) or inside.startswith(f"{folder}/") for folder in closed)

        return is_closed

    return closed_now
