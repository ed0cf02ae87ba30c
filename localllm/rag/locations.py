"""Where collections are kept, and whether there are any, without loading what reads them."""

import unicodedata
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from localllm.base.i18n import N_, Phrase
from localllm.base.lazy_patterns import late_pattern
from localllm.base.paths import data_folder, project_folder, project_name, state_folder
from localllm.config.schema import Settings

FOLDER = "collections"
"""Of the collections, in the user's data folder, and in his state folder those of projects."""
RECORD = "collection.json"
"""In the folder of each collection: what it is."""
_DELIVERED = N_(
    "In {folder} lie collections that came with the project or were made by an earlier version, and are not used:"
    " {names}. Make your own of the documents: localllm rag ingest PATH --project --collection NAME; then delete the"
    " old ones there."
)
_NAME = late_pattern(r"[^\W_][\w.-]{0,63}")


def is_name(name: str) -> bool:
    """Whether a collection, and so its folder, may be called so. What is called otherwise is none: a model is told the
    names."""
    return bool(_NAME.fullmatch(unicodedata.normalize("NFC", name)))


def user_folder(settings: Settings, environ: Mapping[str, str]) -> Path:
    """Where the user's own collections are, there or not; a relative rag.path is one in his data folder."""
    return data_folder(environ) / Path(settings.rag.path or FOLDER).expanduser()


def project_collections(root: Path, environ: Mapping[str, str]) -> Path:
    """Where the collections of the project at `root` are, there or not: in the state folder, which no command sees. In
    the project anybody could have put one, and their files are read by SQLite and by Qdrant's engine."""
    return state_folder(environ) / FOLDER / project_name(root)


def delivered_collections(root: Path, own: Collection[str] = ()) -> list[str]:
    """The names of collections that lie in the project itself, but for those in `own`, the user's: they came with it,
    and are never opened."""
    folder = project_folder(root) / FOLDER
    try:
        named = sorted(entry.name for entry in folder.iterdir() if is_name(entry.name) and (entry / RECORD).is_file())
    except OSError:
        return []
    return [name for name in named if name not in own]


def delivered_remark(names: Sequence[str], root: Path) -> Phrase:
    """That these lie in the project at `root` and are not used."""
    return Phrase(_DELIVERED, names=", ".join(names), folder=project_folder(root) / FOLDER)


def has_collections(settings: Settings, root: Path, environ: Mapping[str, str]) -> bool:
    """Whether there is a collection, or a server of them is set."""
    folders = (user_folder(settings, environ), project_collections(root, environ))
    return bool(settings.rag.qdrant_url) or any(map(_holds_collections, folders))


def _holds_collections(folder: Path) -> bool:
    try:
        return any(is_name(entry.name) and (entry / RECORD).is_file() for entry in folder.iterdir())
    except OSError:
        return False
