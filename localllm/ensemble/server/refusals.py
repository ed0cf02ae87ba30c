"""Errors of rejected requests: their status, and the body in each API's format."""

from typing import Any

from msgspec import UNSET, Struct, UnsetType
from starlette.responses import Response

from localllm.base import logs
from localllm.base.errors import InternalError, LocalLLMError
from localllm.base.jsontext import encode_json
from localllm.ensemble.server.paper_bodies import ErrorBody, detail, failure_body

JSON = "application/json"

PAPER_PATHS = ("/generate", "/generate/stream")
"""The paths whose bodies always have the paper's keys."""

OPENAI_PATHS = "/v1/"
"""The prefix of the OpenAI-compatible API."""

_TYPES = {
    401: "authentication_error",
    403: "permission_error",
    404: "invalid_request_error",
    429: "rate_limit_error",
    503: "service_unavailable_error",
}
"""OpenAI's error types by status; others are invalid requests below 500, and server errors above."""

NOT_AGAIN = {"x-should-retry": "false"}
"""Tells OpenAI's clients, which retry twice, not to: the agents were retried already."""

_FINAL = (500, 502, 504, 508)
"""The statuses with this header."""


class RefusalError(LocalLLMError):
    """E116x and E117x: a rejected request.

    `status` and `headers` are those of its response. `param`, `name`: the faulty parameter of an OpenAI request, and
    OpenAI's code for the error.
    """

    def __init__(
        self,
        key: str,
        /,
        *,
        status: int,
        headers: dict[str, str] | None = None,
        param: str | None = None,
        name: str | None = None,
        **params: object,
    ) -> None:
        super().__init__(key, **params)
        self.status = status
        self.headers = headers or {}
        self.param = param
        self.name = name


class OpenAIError(Struct, frozen=True, kw_only=True):
    """An error in OpenAI's words. `should_retry`: as in NOT_AGAIN, which an error in a stream has no header for; False
    or absent."""

    message: str
    type: str
    param: str | None
    code: str | None
    should_retry: bool | UnsetType = UNSET


class OpenAIErrorBody(Struct, frozen=True, kw_only=True):
    """An error as OpenAI's clients read it."""

    error: OpenAIError


def openai_error(error: LocalLLMError, status: int) -> OpenAIErrorBody:
    """Convert an error to OpenAI's format."""
    kind = _TYPES.get(status) or ("server_error" if status >= 500 else "invalid_request_error")
    param, name = (error.param, error.name) if isinstance(error, RefusalError) else (None, None)
    again = False if status in _FINAL else UNSET
    return OpenAIErrorBody(
        error=OpenAIError(message=str(error), type=kind, param=param, code=name or error.code, should_retry=again)
    )


def json_response(body: Any, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """Return `body` as a JSON response."""
    return Response(encode_json(body), status, headers, JSON)


def error_response(path: str, error: LocalLLMError, status: int, headers: dict[str, str] | None = None) -> Response:
    """Return the response to a request of `path` that failed before the ensemble was asked."""
    if path.startswith(OPENAI_PATHS):
        again = NOT_AGAIN if status in _FINAL else {}
        return json_response(openai_error(error, status), status, {**again, **(headers or {})})
    if path in PAPER_PATHS:
        return json_response(failure_body(error), status, headers)
    return json_response(ErrorBody(error=detail(error)), status, headers)


def fault(error: Exception) -> InternalError:
    """Log an unexpected exception and convert it."""
    logs.of("ENSEMBLE").error("a request failed", exc_info=error)
    return internal_error(error)


def internal_error(error: Exception) -> InternalError:
    """Convert an unexpected exception to an error for the client."""
    return InternalError("internal", reason=type(error).__name__, log=logs.file())
