"""The outermost layer of the app: check access, convert errors to responses, count requests."""

import logging
import time
from collections.abc import Collection

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from localllm.base import logs
from localllm.base.errors import LocalLLMError
from localllm.ensemble.metrics import EnsembleMetrics
from localllm.ensemble.server.access_guard import AccessGuard
from localllm.ensemble.server.limits import ClientGoneError, header
from localllm.ensemble.server.refusals import RefusalError, error_response, fault

_log = logs.of("SERVER")
_COMMON = ((b"x-content-type-options", b"nosniff"), (b"cache-control", b"no-store"))
_CLIENT_GONE = 499
"""nginx's status for it; only the metrics use it."""

_LONGEST_PATH, _LONGEST_METHOD = 100, 20  # characters logged
_METHODS = frozenset({"GET", "HEAD", "POST", "OPTIONS"})


class RequestBoundary:
    """The first layer of a request and the last of its response. `paths`: those of the app, for the metrics."""

    def __init__(self, app: ASGIApp, guard: AccessGuard, metrics: EnsembleMetrics, paths: Collection[str]) -> None:
        self._app = app
        self._guard = guard
        self._metrics = metrics
        self._paths = frozenset(paths)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        begun = time.monotonic()
        answer = _Answer(send)
        level, request = self._named(scope)
        _log.log(level, "%s from %s", request, _client(scope))
        try:
            await self._serve(scope, receive, answer)
        except ClientGoneError:
            answer.status = _CLIENT_GONE
        except LocalLLMError as error:
            await self._refuse(error, scope, receive, answer)
        except Exception as error:  # noqa: BLE001 - the app's boundary: a fault must not end the connection unexplained
            await self._refuse(fault(error), scope, receive, answer)
        finally:
            seconds = time.monotonic() - begun
            _log.log(level, "%s: %d after %.2f s", request, answer.status, seconds)
            self._count(scope, answer.status, seconds)

    async def _serve(self, scope: Scope, receive: Receive, answer: "_Answer") -> None:
        answer.origin = self._guard.check_site(scope)
        if answer.origin and scope["method"] == "OPTIONS" and header(scope, b"access-control-request-method"):
            await answer.allow()
            return
        self._guard.check_token(scope)
        if scope["method"] == "HEAD":
            scope = {**scope, "method": "GET"}  # the server drops the body, by its own copy
        await self._app(scope, receive, answer)

    async def _refuse(self, error: LocalLLMError, scope: Scope, receive: Receive, answer: "_Answer") -> None:
        status, headers = (error.status, error.headers) if isinstance(error, RefusalError) else (500, {})
        if answer.status:
            raise error  # the server closes the connection, which marks the response as incomplete
        await error_response(scope["path"], error, status, headers)(scope, receive, answer)

    def _named(self, scope: Scope) -> tuple[int, str]:
        """Return the log level and text of a request: INFO for questions, since the others are polled."""
        path = scope["path"] if scope["path"] in self._paths else ascii(scope["path"][:_LONGEST_PATH])
        level = logging.INFO if scope["method"] == "POST" else logging.DEBUG
        return level, f"{scope['method'][:_LONGEST_METHOD]} {path}"

    def _count(self, scope: Scope, status: int, seconds: float) -> None:
        path = scope["path"] if scope["path"] in self._paths else "other"
        method = scope["method"] if scope["method"] in _METHODS else "other"
        self._metrics.note_request(path, method, status, seconds)


def _client(scope: Scope) -> str:
    client = scope.get("client")
    return client[0] if client else "—"


class _Answer:
    """Send a response with the common headers, and record its status, 0 until it has begun."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self.status = 0
        self.origin = ""

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            given = {name for name, _ in message.get("headers", ())}
            common = [(name, value) for name, value in _COMMON if name not in given]
            message["headers"] = [*message.get("headers", ()), *common, *self._cors()]
        await self._send(message)

    async def allow(self) -> None:
        """Answer a CORS preflight request."""
        headers = [
            (b"access-control-allow-methods", b"GET, POST"),
            (b"access-control-allow-headers", b"authorization, content-type"),
            (b"access-control-max-age", b"600"),
        ]
        await self({"type": "http.response.start", "status": 204, "headers": headers})
        await self({"type": "http.response.body", "body": b""})

    def _cors(self) -> list[tuple[bytes, bytes]]:
        if not self.origin:
            return []
        return [(b"access-control-allow-origin", self.origin.encode("latin-1")), (b"vary", b"origin")]
