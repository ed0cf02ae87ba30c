"""A receiver of OpenTelemetry's protocol on loopback, which decodes what it is sent."""

import gzip
import threading
import time
from contextlib import suppress
from http.server import BaseHTTPRequestHandler
from typing import Any, NamedTuple

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue

from tests.support.loopback import LoopbackServer


class ReceivedSpan(NamedTuple):
    """A span as it came; `kind` as the protocol numbers it, `error` whether its status says so."""

    name: str
    id: bytes
    parent: bytes
    trace: bytes
    kind: int
    nanoseconds: int
    error: bool
    attributes: dict[str, Any]
    events: list[tuple[str, dict[str, Any]]]
    resource: dict[str, Any]


class OTLPReceiver(LoopbackServer):
    """Answers every request with `status`; `spans` are all that came, `paths` and `headers` those of the requests. With
    `hold` it does not answer before that is set. `endless`: an answer has no end, until the other side closes."""

    def __init__(self, status: int = 200, hold: threading.Event | None = None, *, endless: bool = False) -> None:
        super().__init__(_Handler)
        self.status = status
        self.hold = hold
        self.endless = endless
        self.bodies: list[bytes] = []
        self.paths: list[str] = []
        self.headers: list[dict[str, str]] = []

    @property
    def spans(self) -> list[ReceivedSpan]:
        return [span for body in self.bodies for span in _spans(body)]


class _Handler(BaseHTTPRequestHandler):
    owner: OTLPReceiver

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.headers.get("Content-Encoding") == "gzip":
            body = gzip.decompress(body)
        self.owner.paths.append(self.path)
        self.owner.headers.append({name.lower(): value for name, value in self.headers.items()})
        if self.owner.hold is not None:
            self.owner.hold.wait(30)
        if self.owner.status == 200:
            self.owner.bodies.append(body)
        self.send_response(self.owner.status)
        if not self.owner.endless:
            self.send_header("Content-Length", "0")
        self.end_headers()
        with suppress(OSError):  # closed
            while self.owner.endless:
                self.wfile.write(b"x" * 10_000)
                time.sleep(0.001)

    def log_message(self, *_arguments: object) -> None:
        """Nothing is printed."""


def _spans(body: bytes) -> list[ReceivedSpan]:
    request = ExportTraceServiceRequest.FromString(body)
    return [
        ReceivedSpan(
            span.name,
            span.span_id,
            span.parent_span_id,
            span.trace_id,
            span.kind,
            span.end_time_unix_nano - span.start_time_unix_nano,
            span.status.code == 2,
            _values(span.attributes),
            [(event.name, _values(event.attributes)) for event in span.events],
            _values(resource.resource.attributes),
        )
        for resource in request.resource_spans
        for scope in resource.scope_spans
        for span in scope.spans
    ]


def _values(pairs: Any) -> dict[str, Any]:
    return {pair.key: _value(pair.value) for pair in pairs}


def _value(value: AnyValue) -> Any:
    kind = value.WhichOneof("value")
    if kind == "array_value":
        return [_value(one) for one in value.array_value.values]
    return getattr(value, kind) if kind else None
