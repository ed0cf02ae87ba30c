"""The Redis or Valkey server that hands research to workers: its address, connections and errors."""

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any
from urllib.parse import urlsplit

from localllm.base import offline
from localllm.base.errors import ResearchError, ResearchUsageError
from localllm.base.offline import offline_error_in
from localllm.base.redis_client import connect_redis, redis_errors
from localllm.config.loader import secret
from localllm.text.sanitising import clean

_SCHEMES = {"redis": "redis", "rediss": "rediss", "unix": "unix", "valkey": "redis", "valkeys": "rediss"}
"""Address schemes, and their names in the package redis."""

_SECONDS = 5.0
"""How long a server may be silent."""

_LONGEST = 60.0  # seconds
_LARGEST = 128_000_000  # bytes
"""Time and size of one answer: all that a run has saved, with the texts of its pages, is one."""


class QueueServer:
    """The server at `url`; the password may be in it or in REDIS_PASSWORD, and is never shown. It is named on
    purpose: with --offline it may be in the user's own network.

    Raises ResearchUsageError for an invalid address.
    """

    def __init__(self, url: str, environ: Mapping[str, str]) -> None:
        scheme, separator, rest = url.strip().partition("://")
        if not separator or scheme not in _SCHEMES or not _is_address(url.strip()):
            raise ResearchUsageError("queue_address", address=_hinted(url))
        self.url = f"{_SCHEMES[scheme]}://{rest}"
        self.shown = _shown(self.url)
        self._password = secret("web.cache_password", environ)
        offline.name_address(self.url)

    def connect(self) -> Any:
        """Create a redis client, without connecting. Raises ResearchUsageError for a missing package."""
        if not (find_spec("dramatiq") and find_spec("redis")):
            raise ResearchUsageError("queue_no_package")
        password = None if urlsplit(self.url).password else self._password or None
        with self.failing():
            return connect_redis(self.url, password=password, silence=_SECONDS, longest=_LONGEST, largest=_LARGEST)

    @contextmanager
    def failing(self) -> Generator[None]:
        """Convert errors of the server to ResearchError."""
        try:
            yield
        except redis_errors() as error:
            said = str(offline_error_in(error) or error) or type(error).__name__
            reason = clean(said, keep_newlines=False).rstrip(".")
            raise ResearchError("queue_server", where=self.shown, reason=reason) from error


def _is_address(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return bool(parts.path if parts.scheme == "unix" else parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        return False


def _shown(url: str) -> str:
    """Remove user, password and query, which may hold a password too, from an address."""
    parts = urlsplit(url)
    return clean(f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}", keep_newlines=False)


def _hinted(url: str) -> str:
    """Return an invalid address for display, as far as it cannot hold a password."""
    scheme, separator, _rest = url.partition("://")
    shown = f"{scheme}{separator}…" if separator else "…"
    return clean(shown if "@" in url or "?" in url else url, keep_newlines=False)[:80]
