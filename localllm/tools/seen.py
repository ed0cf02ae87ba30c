"""Which version of each file the model knows: what it read, or wrote itself."""

import hashlib


class SeenFiles:
    """The files of one conversation by their canonical paths, each with the SHA-256 of the content last seen."""

    def __init__(self) -> None:
        self._digests: dict[str, bytes] = {}

    @property
    def paths(self) -> tuple[str, ...]:
        """Those files."""
        return tuple(self._digests)

    def note(self, path: str, data: bytes) -> None:
        """The model knows `path` as `data` now."""
        self._digests[path] = hashlib.sha256(data).digest()

    def is_stale(self, path: str, data: bytes) -> bool:
        """Whether `path` holds something else than what the model knows; not so where it never saw it."""
        known = self._digests.get(path)
        return known is not None and known != hashlib.sha256(data).digest()
