"""The Redis or Valkey through which research is handed to workers: its address, connections, and what goes wrong."""

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any
from urllib.parse import urlsplit

from localllm.base import offline
from localllm.base.errors import ResearchError, ResearchUsageError
from localllm.base.offline import offline_error_in
from localllm.config.loader import secret
from localllm.text.sanitising import clean

_SCHEMES = {"redis": "redis", "rediss": "rediss", "unix": "unix", "valkey": "redis", "valkeys": "rediss"}
"""Schemes of an address, and what the package redis calls them."""

_SECONDS = 5.0
"""How long a request may take."""


class QueueServer:
    """The server at `url`; the password may stand there or in REDIS_PASSWORD, and is never shown. Whoever names it
    means it: with --offline it may be in the user's own network.

    Raises ResearchUsageError for what is no address.
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
        """A client of the package redis; nothing is sent yet. Raises ResearchUsageError where a package is missing."""
        if not (find_spec("dramatiq") and find_spec("redis")):
            raise ResearchUsageError("queue_no_package")
        import redis
        from redis.backoff import NoBackoff
        from redis.retry import Retry

        options: dict[str, Any] = {} if urlsplit(self.url).password else {"password": self._password or None}
        with self.failing():
            return _client_of(redis)(
                self.url,
                socket_timeout=_SECONDS,
                socket_connect_timeout=_SECONDS,
                retry=Retry(NoBackoff(), 0),
                **options,
            )

    @contextmanager
    def failing(self) -> Generator[None]:
        """What goes wrong with the server, as ResearchError."""
        import redis

        try:
            yield
        except (redis.RedisError, OSError, ValueError) as error:
            said = str(offline_error_in(error) or error) or type(error).__name__
            reason = clean(said, keep_newlines=False).rstrip(".")
            raise ResearchError("queue_server", where=self.shown, reason=reason) from error


def _client_of(redis: Any) -> Any:
    """The package tells half of its types."""
    return redis.Redis.from_url


def _is_address(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return bool(parts.path if parts.scheme == "unix" else parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        return False


def _shown(url: str) -> str:
    """An address without user and password, and without what stands behind `?`, where a password may be as well."""
    parts = urlsplit(url)
    return clean(f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}", keep_newlines=False)


def _hinted(url: str) -> str:
    """What is no address, as far as no password can be in it."""
    scheme, separator, _rest = url.partition("://")
    shown = f"{scheme}{separator}…" if separator else "…"
    return clean(shown if "@" in url or "?" in url else url, keep_newlines=False)[:80]
