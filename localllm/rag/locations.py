"""Where collections are stored, and whether there are any, without loading the code that reads them."""

import unicodedata
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from localllm.base.i18n import N_, Phrase
from localllm.base.lazy_patterns import late_pattern
from localllm.base.paths import COLLECTIONS as FOLDER
from localllm.base.paths import data_folder, project_folder, project_name, state_folder
from localllm.config.schema import Settings

RECORD = "collection.json"
"""The record in each collection's folder."""
_DELIVERED = N_(
    "{folder} holds collections that came with the project or were made by an earlier version, and are not "
    "used: {names}. Build your own: localllm rag ingest PATH --project --collection NAME; then delete the "
    "old ones there."
)
_NAME = late_pattern(r"[^\W_][\w.-]{0,63}")


def is_name(name: str) -> bool:
    """Whether this is a valid name of a collection and its folder. Others are ignored: names are shown to models."""
    return bool(_NAME.fullmatch(unicodedata.normalize("NFC", name)))


def user_folder(settings: Settings, environ: Mapping[str, str]) -> Path:
    """Return the folder of the user's own collections; it need not exist. A relative rag.path is in the data folder."""
    return data_folder(environ) / Path(settings.rag.path or FOLDER).expanduser()


def project_collections(root: Path, environ: Mapping[str, str]) -> Path:
    """Return the folder of the collections of the project at `root`, which need not exist: in the state folder, hidden
    from commands. In the project anyone could place one, and SQLite and Qdrant's engine read the files."""
    return state_folder(environ) / FOLDER / project_name(root)


def delivered_collections(root: Path, own: Collection[str] = ()) -> list[str]:
    """List the collections inside the project itself, without the user's `own`: they were delivered with it and are
    never opened."""
    folder = project_folder(root) / FOLDER
    try:
        named = sorted(entry.name for entry in folder.iterdir() if is_name(entry.name) and (entry / RECORD).is_file())
    except OSError:
        return []
    return [name for name in named if name not in own]


def delivered_remark(names: Sequence[str], root: Path) -> Phrase:
    """Explain that these collections in the project at `root` are not used."""
    return Phrase(_DELIVERED, names=", ".join(names), folder=project_folder(root) / FOLDER)


def has_collections(settings: Settings, root: Path, environ: Mapping[str, str]) -> bool:
    """Whether there is a collection or a configured server."""
    folders = (user_folder(settings, environ), project_collections(root, environ))
    return bool(settings.rag.qdrant_url) or any(map(_holds_collections, folders))


def _holds_collections(folder: Path) -> bool:
    try:
        return any(is_name(entry.name) and (entry / RECORD).is_file() for entry in folder.iterdir())
    except OSError:
        return False
