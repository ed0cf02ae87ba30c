"""Create the app of the ensemble server: routes, guards and API description."""

from collections.abc import Callable, Sequence
from typing import Any

from fastapi import FastAPI
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from localllm import __version__
from localllm.ensemble.config import EnsembleConfig
from localllm.ensemble.conversations import Conversations
from localllm.ensemble.metrics import CONTENT_TYPE, EnsembleMetrics
from localllm.ensemble.records import Ensemble
from localllm.ensemble.server.access_guard import AccessGuard
from localllm.ensemble.server.api_schema import Operation, document_of, operations_of
from localllm.ensemble.server.boundary import RequestBoundary
from localllm.ensemble.server.limits import RequestGate
from localllm.ensemble.server.openai_api import OpenAIApi
from localllm.ensemble.server.options import ServerOptions
from localllm.ensemble.server.paper_api import PaperApi, Report
from localllm.ensemble.server.refusals import RefusalError, error_response
from localllm.ensemble.server.runs import EnsembleRuns, OnFinished

_OFF = ("auto_configure", "tracing", "metrics", "logs", "operation_spans")
_NO_TELEMETRY: dict[str, Any] = {"telemetry": dict.fromkeys(_OFF, False)}
"""Recent FastAPI versions send spans if the environment names a collector: no data leaves this machine unrequested."""


def create_app(
    ensemble: Ensemble,
    config: Callable[[], EnsembleConfig],
    *,
    options: ServerOptions | None = None,
    report: Report | None = None,
    on_finished: OnFinished | None = None,
    conversations: Conversations | None = None,
    pages: Sequence[Route] = (),
) -> FastAPI:
    """Create the app that serves `ensemble`, without closing it.

    Args:
        ensemble: The ensemble.
        config: Returns the current configuration.
        options: Limits, token, hosts and origins.
        report: Returns the state of the agents' hosts, for /agents.
        on_finished: Called with each finished or aborted run; must not block.
        conversations: The conversation store; in memory by default.
        pages: Routes without a token that are not part of the API, such as a page at "/".

    The app's `state.gate` (RequestGate) stops it: see `uvicorn_server`.
    """
    options = options or ServerOptions()
    gate = RequestGate(options.max_runs, options.run_seconds)
    metrics = EnsembleMetrics(lambda: gate.running)
    runs = EnsembleRuns(ensemble, metrics, conversations=conversations, on_finished=on_finished)
    paper = PaperApi(runs, gate, options, config, report)
    openai = OpenAIApi(runs, gate, options)

    async def numbers(request: Request) -> Response:
        """Return the server's Prometheus metrics."""
        del request
        return Response(metrics.text(), media_type=CONTENT_TYPE)

    app = FastAPI(
        title="localllm ensemble",
        version=__version__,
        docs_url=None,
        redoc_url=None,
        openapi_url="/openapi.json",
        redirect_slashes=False,
        exception_handlers={HTTPException: _answer_http_error},
        **_NO_TELEMETRY,
    )
    endpoints = {
        "/generate": paper.generate,
        "/generate/stream": paper.stream,
        "/health": paper.health,
        "/agents": paper.agents,
        "/v1/models": openai.models,
        "/v1/chat/completions": openai.completions,
        "/metrics": numbers,
    }
    described = operations_of(has_token=bool(options.token))
    for path, endpoint in endpoints.items():
        _add(app, path, endpoint, described[path])
    app.router.routes.extend(pages)
    app.openapi = lambda: document_of(app, has_token=bool(options.token))
    app.state.gate = gate
    open_paths = frozenset(route.path for route in pages)
    guard = AccessGuard(options, open_paths)
    app.add_middleware(RequestBoundary, guard, metrics, frozenset({*endpoints, *open_paths, "/openapi.json"}))
    return app


def _add(app: FastAPI, path: str, endpoint: Callable[..., Any], operation: Operation) -> None:
    app.add_api_route(
        path,
        endpoint,
        methods=[operation.method],
        operation_id=operation.name,
        summary=operation.summary,
        description=operation.description,
        responses=operation.responses,
        openapi_extra=operation.extra,
        response_model=None,
        response_class=Response,
    )


async def _answer_http_error(request: Request, error: Exception) -> Response:
    """Convert an error of the router to each API's format."""
    if not isinstance(error, HTTPException):
        raise error
    path = request.scope["path"]
    headers = dict(error.headers or {})
    match error.status_code:
        case 404:
            refusal = RefusalError("api_no_path", status=404, path=path[:200])
        case 405:
            allowed = headers.get("Allow", "")
            refusal = RefusalError("api_no_method", status=405, path=path, method=request.method[:20], allowed=allowed)
        case status:
            refusal = RefusalError("api_bad_request", status=status, reason=str(error.detail))
    return error_response(path, refusal, refusal.status, headers)
