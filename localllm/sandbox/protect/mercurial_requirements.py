"""Filter what Mercurial must know to read a repository: some of these words turn on an extension, unasked."""

from localllm.base.folded_names import folded

REQUIREMENTS = (".hg/requires", ".hg/store/requires")

_ENDINGS = tuple(f"/{name}" for name in REQUIREMENTS)
_EXTENSIONS = frozenset({b"git", b"largefiles", b"lfs"})
"""`autoextensions` in mercurial/localrepo.py."""


def is_requirements(path: str) -> bool:
    """Return whether the path is that of such a file."""
    return folded(f"/{path}").endswith(_ENDINGS)


def harmless_requirements(before: bytes, after: bytes) -> bytes:
    """Return what may stay of a file that now has the content `after`: all but extensions that were not there
    before."""
    new = _EXTENSIONS.difference(before.splitlines())
    return b"".join(line for line in after.splitlines(keepends=True) if line.strip() not in new)
