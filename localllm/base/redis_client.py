"""Clients of a Redis or Valkey server, whose answers are limited in time and size.

The package redis limits the time of each read only. A server that sends a byte a second, or a value without end, would
be read for ever, into memory.
"""

import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import socket


def connect_redis(url: str, *, password: str | None, silence: float, longest: float, largest: int) -> Any:
    """Create a client, without connecting. It imports the package redis.

    Args:
        url: The address; a password in it comes before `password`.
        password: The password; None if the server needs none.
        silence: Seconds until connecting, or an answer of which nothing comes, fails.
        longest: Seconds after which an answer fails.
        largest: Bytes after which an answer fails.
    """
    import redis
    from redis.backoff import NoBackoff
    from redis.retry import Retry

    def limit(connection: Any) -> None:
        """Complete a new connection, whose answers are limited from its first one on."""
        connection._sock = _LimitedSocket(connection._sock, longest, largest)
        try:
            connection.on_connect()
        except BaseException:
            connection.disconnect()
            raise

    untyped: Any = redis  # in part
    return untyped.Redis.from_url(
        url,
        password=password,
        socket_timeout=silence,
        socket_connect_timeout=silence,
        retry=Retry(NoBackoff(), 0),
        redis_connect_func=limit,
    )


def redis_errors() -> tuple[type[Exception], ...]:
    """Return what the package redis raises where a server fails, or its answers are none: nested without end, with
    lengths of twenty digits, a number for a list."""
    import redis

    return redis.RedisError, OSError, ValueError, TypeError, AttributeError, LookupError, OverflowError, RecursionError


class _LimitedSocket:
    """A socket that fails if the answer to what was sent last is too long, or takes too long. All else is the socket's
    own."""

    def __init__(self, sock: "socket.socket", longest: float, largest: int) -> None:
        self._sock = sock
        self._longest = longest
        self._largest = largest
        self._begin()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._sock, name)

    def sendall(self, data: Any, *flags: int) -> None:
        """Send a request; the time and size of its answer count from here."""
        self._begin()
        self._sock.sendall(data, *flags)

    def recv(self, size: int, *flags: int) -> bytes:
        """Receive a part of the answer. Raises OSError if it is too much."""
        data = self._sock.recv(size, *flags)
        self._count(len(data))
        return data

    def recv_into(self, buffer: Any, *arguments: int) -> int:
        """Receive a part of the answer, as the package hiredis does. Raises OSError if it is too much."""
        size = self._sock.recv_into(buffer, *arguments)
        self._count(size)
        return size

    def _begin(self) -> None:
        self._left = self._largest
        self._end = time.monotonic() + self._longest

    def _count(self, size: int) -> None:
        self._left -= size
        if self._left < 0:
            raise OSError(f"an answer of more than {self._largest} bytes")
        if time.monotonic() > self._end:
            raise OSError(f"an answer of more than {self._longest:.0f} seconds")
