"""Where collections are kept, and whether there are any, without loading what reads them."""

import re
import unicodedata
from collections.abc import Mapping
from pathlib import Path

from localllm.base.paths import data_folder, project_folder
from localllm.config.schema import Settings

FOLDER = "collections"
"""Of the collections, in the user's data folder and in `.localllm/` of a project."""
RECORD = "collection.json"
"""In the folder of each collection: what it is."""
_NAME = re.compile(r"[^\W_][\w.-]{0,63}")


def is_name(name: str) -> bool:
    """Whether a collection, and so its folder, may be called so. What is called otherwise is none: a model is told the
    names."""
    return bool(_NAME.fullmatch(unicodedata.normalize("NFC", name)))


def user_folder(settings: Settings, root: Path, environ: Mapping[str, str]) -> Path:
    """Where the user's own collections are, there or not."""
    if path := settings.rag.path:
        return (root / Path(path).expanduser()).absolute()
    return data_folder(environ) / FOLDER


def has_collections(settings: Settings, root: Path, environ: Mapping[str, str]) -> bool:
    """Whether there is a collection, or a server of them is set."""
    folders = (user_folder(settings, root, environ), project_folder(root) / FOLDER)
    return bool(settings.rag.qdrant_url) or any(map(_holds_collections, folders))


def _holds_collections(folder: Path) -> bool:
    try:
        return any(is_name(entry.name) and (entry / RECORD).is_file() for entry in folder.iterdir())
    except OSError:
        return False
