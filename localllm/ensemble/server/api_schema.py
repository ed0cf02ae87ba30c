"""Generate /openapi.json: the requests and responses of every path, from the structs that implement them."""

from typing import Any

import msgspec
from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from localllm.base.events import Json
from localllm.ensemble.metrics import CONTENT_TYPE
from localllm.ensemble.server.event_bodies import EVENTS
from localllm.ensemble.server.event_stream import MEDIA_TYPE
from localllm.ensemble.server.openai_bodies import ChatChunk, ChatCompletion, ChatRequest, ModelList
from localllm.ensemble.server.paper_bodies import Agents, ErrorBody, GenerateAnswer, GenerateFailure, Health
from localllm.ensemble.server.refusals import JSON, OpenAIErrorBody
from localllm.ensemble.server.request_bodies import GenerateRequest

_REFERENCE = "#/components/schemas/{name}"
_BODIES = (
    GenerateRequest,
    GenerateAnswer,
    GenerateFailure,
    Health,
    Agents,
    ErrorBody,
    ChatRequest,
    ChatCompletion,
    ModelList,
    ChatChunk,
    OpenAIErrorBody,
    *(body for data in EVENTS.values() for body in data),
)
_REASONS = {
    400: "The body is not JSON.",
    401: "The token is missing or wrong.",
    403: "The host or the origin is not allowed.",
    404: "There is no such model.",
    408: "The body did not arrive in time.",
    413: "The body is too large.",
    415: "The body is not marked as JSON.",
    422: "The prompt is blank, or the request has another form. No worker was asked.",
    429: "The server works on as many requests as it may.",
    500: "The reviewer failed, or the program has a fault.",
    502: "No worker has answered.",
    503: "The server is stopping.",
    504: "The run took longer than the server lets it.",
    508: "The ensemble is calling itself.",
}
_OF_BODIES = (400, 408, 413, 415, 429, 500, 502, 503, 504, 508)
_OF_STREAMS = tuple(status for status in _OF_BODIES if status != 502)
_EVENTS = """Server-sent events, each with JSON as its data: `start`; each worker's `worker_text` and its `worker_end`
or `worker_error` (after `worker_retry` it begins anew); `review_start` and `review_text`; and at last `result`, which
has what `/generate` answers, with the status that would have had in `runtime.status`. Where the stream ends without a
result, the last is `error`. Comments keep the line open while nothing happens."""


_NEXT_TURN = {
    "links": {
        "next_turn": {
            "operationId": "generate",
            "description": "Go on with the conversation.",
            "requestBody": {"prompt": "And why?", "conversation_id": "$response.body#/runtime/conversation_id"},
        }
    }
}
_ASK_MODEL = {
    "links": {
        "ask": {
            "operationId": "chat_completions",
            "description": "Ask one of the models.",
            "requestBody": {
                "model": "$response.body#/data/0/id",
                "messages": [{"role": "user", "content": "Why is the sky blue?"}],
            },
        }
    }
}


class Operation(msgspec.Struct, frozen=True, kw_only=True):
    """The OpenAPI description of a path."""

    name: str
    method: str
    summary: str
    description: str
    responses: dict[int | str, dict[str, Any]]
    extra: dict[str, Json] = {}


def operations_of(*, has_token: bool) -> dict[str, Operation]:
    """Describe the operations of a server. `has_token`: it requires a token."""
    return {
        path: operation if path == "/health" or not has_token else _guarded(operation)
        for path, operation in _open_operations().items()
    }


def document_of(app: FastAPI, *, has_token: bool) -> dict[str, Any]:
    """Return the complete OpenAPI document."""
    if app.openapi_schema is None:
        document = get_openapi(title=app.title, version=app.version, routes=app.routes)
        _, schemas = msgspec.json.schema_components(_BODIES, ref_template=_REFERENCE)
        document["components"] = {"schemas": schemas}
        if has_token:
            document["components"]["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
        app.openapi_schema = document
    return app.openapi_schema


def _open_operations() -> dict[str, Operation]:
    text = {"schema": {"type": "string"}}
    streamed = {MEDIA_TYPE: {"itemSchema": {"oneOf": [_event(name, *data) for name, data in EVENTS.items()]}}}
    failures = _refused(GenerateFailure, *_OF_BODIES, 422)
    return {
        "/generate": Operation(
            name="generate",
            method="POST",
            summary="Ask the ensemble",
            description="Asks all workers, has their answers reviewed and merged. Where the configuration sets "
            "`stream` and the client accepts `text/event-stream`, answers as `/generate/stream` does.",
            responses={200: _ok(_json(GenerateAnswer) | streamed) | _NEXT_TURN, **failures},
            extra=_taking(GenerateRequest),
        ),
        "/generate/stream": Operation(
            name="generate_stream",
            method="POST",
            summary="Ask the ensemble and watch it work",
            description=_EVENTS,
            responses={200: _ok(streamed), **_refused(GenerateFailure, *_OF_STREAMS, 422)},
            extra=_taking(GenerateRequest),
        ),
        "/health": Operation(
            name="health",
            method="GET",
            summary="Whether the server takes requests",
            description="Needs no token.",
            responses={
                200: _ok(_json(Health)),
                503: {"description": _REASONS[503], "content": _json(Health)},
                **_refused(ErrorBody),
            },
        ),
        "/agents": Operation(
            name="agents",
            method="GET",
            summary="Reviewer and workers",
            description="The agents of the configuration that holds now.",
            responses={200: _ok(_json(Agents)), **_refused(ErrorBody)},
        ),
        "/v1/models": Operation(
            name="models",
            method="GET",
            summary="The ensemble as a model",
            description="`ensemble` works as the configuration says, the others each by one strategy.",
            responses={200: _ok(_json(ModelList)) | _ASK_MODEL, **_refused(OpenAIErrorBody)},
        ),
        "/v1/chat/completions": Operation(
            name="chat_completions",
            method="POST",
            summary="Answer a conversation",
            description="As OpenAI's endpoint of this name. The system message goes to every agent. Sampling and "
            "length are each agent's own; what the request says of them is ignored.",
            responses={
                200: _ok(_json(ChatCompletion) | {MEDIA_TYPE: {"itemSchema": _chunks()}}),
                **_refused(OpenAIErrorBody, *_OF_BODIES, 404),
            },
            extra=_taking(ChatRequest),
        ),
        "/metrics": Operation(
            name="metrics",
            method="GET",
            summary="Numbers for Prometheus",
            description="Requests, runs, answers of workers, tokens.",
            responses={200: _ok({CONTENT_TYPE.partition(";")[0]: text}), **_refused(ErrorBody)},
        ),
    }


def _guarded(operation: Operation) -> Operation:
    """Describe an operation that requires a token."""
    refused = {401: {**operation.responses[403], "description": _REASONS[401]}}
    return msgspec.structs.replace(
        operation,
        responses=operation.responses | refused,
        extra=operation.extra | {"security": [{"token": []}]},
    )


def _ok(content: dict[str, Json]) -> dict[str, Json]:
    return {"description": "Answered.", "content": content}


def _refused(body: type, *statuses: int) -> dict[int | str, dict[str, Any]]:
    """Describe the errors with these statuses, and those any path may have."""
    found: dict[int | str, dict[str, Any]] = {
        status: {"description": _REASONS[status], "content": _json(body)} for status in sorted({403, 500, *statuses})
    }
    if 429 in found:
        schema = {"type": "integer", "minimum": 1}
        found[429]["headers"] = {"Retry-After": {"description": "Seconds.", "schema": schema, "required": True}}
    return found


def _json(body: type) -> dict[str, Json]:
    return {JSON: {"schema": {"$ref": _REFERENCE.format(name=body.__name__)}}}


def _event(name: str, *data: type) -> dict[str, Json]:
    """Describe an event of this name."""
    properties: dict[str, Json] = {"event": {"const": name}, "data": _json_text(*data)}
    return {"type": "object", "properties": properties, "required": ["event", "data"]}


def _chunks() -> dict[str, Json]:
    """Describe an event of a streamed completion; the last one is [DONE]."""
    data = {"anyOf": [{"const": "[DONE]"}, _json_text(ChatChunk, OpenAIErrorBody)]}
    return {"type": "object", "properties": {"data": data}, "required": ["data"]}


def _json_text(*data: type) -> dict[str, Json]:
    kinds = [{"$ref": _REFERENCE.format(name=one.__name__)} for one in data]
    return {
        "type": "string",
        "contentMediaType": JSON,
        "contentSchema": kinds[0] if len(kinds) == 1 else {"anyOf": kinds},
    }


def _taking(body: type) -> dict[str, Json]:
    return {"requestBody": {"required": True, "content": _json(body)}}
