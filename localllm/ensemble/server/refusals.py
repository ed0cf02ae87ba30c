"""Requests that are not served: their status, and the body that says why in the words of each API."""

from typing import Any

from msgspec import UNSET, Struct, UnsetType
from starlette.responses import Response

from localllm.base import logs
from localllm.base.errors import InternalError, LocalLLMError
from localllm.base.jsontext import encode_json
from localllm.ensemble.server.paper_bodies import ErrorBody, detail, failure_body

JSON = "application/json"

PAPER_PATHS = ("/generate", "/generate/stream")
"""The paths whose bodies have the paper's keys, whatever happens."""

OPENAI_PATHS = "/v1/"
"""How paths of the OpenAI-compatible API begin."""

_TYPES = {
    401: "authentication_error",
    403: "permission_error",
    404: "invalid_request_error",
    429: "rate_limit_error",
    503: "service_unavailable_error",
}
"""What OpenAI calls errors of a status; others are invalid requests below 500, and server errors from there on."""

NOT_AGAIN = {"x-should-retry": "false"}
"""For OpenAI's own clients, which would ask three times: the agents were asked again already."""

_FINAL = (500, 502, 504, 508)
"""The statuses for which that holds."""


class RefusalError(LocalLLMError):
    """E116x and E117x: a request that is not served.

    `status` and `headers` are those of its answer. `param`, `name`: what of an OpenAI request is at fault, and OpenAI's
    word for the error.
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
    """The error for a client of OpenAI's."""
    kind = _TYPES.get(status) or ("server_error" if status >= 500 else "invalid_request_error")
    param, name = (error.param, error.name) if isinstance(error, RefusalError) else (None, None)
    again = False if status in _FINAL else UNSET
    return OpenAIErrorBody(
        error=OpenAIError(message=str(error), type=kind, param=param, code=name or error.code, should_retry=again)
    )


def json_response(body: Any, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """`body` as the JSON of an answer."""
    return Response(encode_json(body), status, headers, JSON)


def error_response(path: str, error: LocalLLMError, status: int, headers: dict[str, str] | None = None) -> Response:
    """The answer to a request of `path` that ended in `error` before anything was asked of the ensemble."""
    if path.startswith(OPENAI_PATHS):
        again = NOT_AGAIN if status in _FINAL else {}
        return json_response(openai_error(error, status), status, {**again, **(headers or {})})
    if path in PAPER_PATHS:
        return json_response(failure_body(error), status, headers)
    return json_response(ErrorBody(error=detail(error)), status, headers)


def fault(error: Exception) -> InternalError:
    """A fault of the program, which is logged."""
    logs.of("ENSEMBLE").error("a request failed", exc_info=error)
    return internal_error(error)


def internal_error(error: Exception) -> InternalError:
    """What is said of a fault of the program."""
    return InternalError("internal", reason=type(error).__name__, log=logs.file())
