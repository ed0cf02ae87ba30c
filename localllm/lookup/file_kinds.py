"""Classify a file by its path: program, test, document, third-party code, secret."""

from functools import cache, lru_cache
from typing import Literal, cast

from localllm.lookup import vocabulary

Kind = Literal["source", "test", "document", "example", "generated", "vendored", "data", "secret"]

_WORTH: dict[Kind, float] = {
    "source": 1.0,
    "test": 0.45,
    "document": 0.5,
    "example": 0.55,
    "generated": 0.6,
    "vendored": 0.35,
    "data": 0.4,
    "secret": 0.3,
}


@lru_cache(maxsize=50_000)
def file_kind(path: str) -> Kind:
    """Return the kind of `path`, by its name and parent folders."""
    *folders, name = path.split("/")
    told = [kind for kind, pattern in vocabulary.patterns("file_names.txt") if pattern.search(name)]
    if "secret" in told:
        return "secret"
    for folder in folders:
        if kind := _folders().get(folder.lower()):
            return kind
        if folder.endswith((".dist-info", ".egg-info")):
            return "generated"
    return cast("Kind", told[0]) if told else "source"


@cache
def _folders() -> dict[str, Kind]:
    return {name: cast("Kind", kind) for kind, line in vocabulary.sections("folder_names.txt") for name in line.split()}


def worth(path: str, wanted: Kind | None = None) -> float:
    """Return the likelihood (0 to 1) that a question means `path`, in general or when it asks for the kind `wanted`."""
    kind = file_kind(path)
    if wanted is not None:
        return 1.0 if kind == wanted else 0.5 * _WORTH[kind]
    depth = path.count("/")
    return _WORTH[kind] * (1.0 - 0.015 * min(depth, 8))


def is_secret(path: str) -> bool:
    """Whether the content of `path` must not be shown."""
    return file_kind(path) == "secret"
