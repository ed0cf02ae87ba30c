"""Find the compose file by which `localllm init --services` has the search engine started, in whose folder it lies.

Docker starts it again at each boot, and localllm asks it unasked. Other projects' compose files are work.
"""

import os
from pathlib import Path

from localllm.base.regular_files import NO_LINK, READ, opened

COMPOSE_BEGINS = b"# Web search for localllm:"
_SETTINGS = "/searxng/settings.yml"
_OVERRIDES = (
    "compose.override.yaml",
    "compose.override.yml",
    "docker-compose.override.yaml",
    "docker-compose.override.yml",
)


def compose_files_of(root: Path, path: str) -> list[str]:
    """Return the absolute paths of the compose files that start what the file at `path` has the settings of, present or
    not; none if localllm has not made them."""
    if not f"/{path}".casefold().endswith(_SETTINGS):
        return []
    folder = (root / path).parent.parent
    try:
        with opened(os.open(folder / "compose.yaml", READ | NO_LINK)) as file:
            is_ours = file.read(len(COMPOSE_BEGINS)) == COMPOSE_BEGINS
    except OSError:
        return []
    return [os.path.join(folder, name) for name in ("compose.yaml", *_OVERRIDES)] if is_ours else []  # noqa: PTH118
