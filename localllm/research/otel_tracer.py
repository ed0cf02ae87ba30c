"""OpenTelemetry spans of research runs, with the semantic conventions for generative AI.

A run is a span `invoke_agent`, its stages are child spans, and each model request is a span `chat` in its stage. They
carry sizes, ids and times; texts only if the settings allow it, and masked. The OpenTelemetry packages are imported
only when a tracer is opened.
"""

import base64
import logging
import threading
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import msgspec

from localllm import __version__
from localllm.base import logs
from localllm.base.errors import LocalLLMError, ResearchUsageError
from localllm.base.events import Json
from localllm.base.i18n import N_
from localllm.base.offline import offline_error_in
from localllm.config.research_settings import TraceSettings
from localllm.llm.messages import Completion, Message
from localllm.research.records import Remark, ResearchState, Stage
from localllm.research.remark_texts import remark
from localllm.research.run_events import (
    ClaimChecked,
    NotesTaken,
    PageRead,
    QueryMade,
    ResearchEvent,
    RoundDone,
    SearchDone,
)
from localllm.research.tracing import ModelCall, OnCompletion, RunTracer
from localllm.text.privacy_mask import masked_text
from localllm.text.sanitising import clean

if TYPE_CHECKING:
    from opentelemetry.context import Context
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.trace import Span
    from opentelemetry.trace import Tracer as OTelTracer

DEFAULT_ENDPOINT = "http://localhost:4318"
"""The default OTLP/HTTP endpoint of collectors and Jaeger."""

LANGFUSE = "https://cloud.langfuse.com"
_LANGFUSE_HOSTS = ("LANGFUSE_BASE_URL", "LANGFUSE_HOST")
_SIGNAL = "/v1/traces"

_SECONDS = 5.0
"""Seconds to export a batch of spans, retries included."""

_PARTING = 2.0
"""Seconds to flush spans at exit."""

_EVERY_MS = 2_000.0
_LONGEST_TEXT = 32_000

_PROVIDERS = {"azure": "azure.ai.openai", "gemini": "gcp.gemini"}
"""Providers with another name in the conventions than in the settings."""


class Receiver(msgspec.Struct, frozen=True):
    """The endpoint of spans. `headers` may contain a key."""

    url: str
    headers: Mapping[str, str] = {}

    @property
    def shown(self) -> str:
        """The address without user and password."""
        parts = urlsplit(self.url)
        return clean(f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}", keep_newlines=False)


def receiver_of(settings: TraceSettings, environ: Mapping[str, str], *, asked: bool) -> Receiver:
    """Return the configured receiver; else Langfuse, if its keys are in the environment and the user `asked` for a
    trace of this run; else a local one. Raises ResearchUsageError for an invalid address."""
    public, secret = environ.get("LANGFUSE_PUBLIC_KEY", ""), environ.get("LANGFUSE_SECRET_KEY", "")
    if not settings.endpoint and asked and public and secret:
        host = next((environ[name] for name in _LANGFUSE_HOSTS if environ.get(name)), LANGFUSE)
        key = base64.b64encode(f"{public}:{secret}".encode()).decode()
        headers = {"authorization": f"Basic {key}", "x-langfuse-ingestion-version": "4"}
        return Receiver(_address(f"{host.rstrip('/')}/api/public/otel"), headers)
    return Receiver(_address(settings.endpoint or DEFAULT_ENDPOINT))


def _address(endpoint: str) -> str:
    try:
        parts = urlsplit(endpoint)
        is_usable = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        is_usable = False
    if not is_usable:
        raise ResearchUsageError("research_trace_address", address=clean(endpoint, keep_newlines=False)[:80])
    return endpoint if endpoint.endswith(_SIGNAL) else endpoint.rstrip("/") + _SIGNAL


def open_tracer(
    settings: TraceSettings, environ: Mapping[str, str], *, asked: bool = False
) -> "OpenTelemetryTracer | None":
    """Open a tracer if the user `asked` for one or the settings trace every run; otherwise return None and import
    nothing. Raises ResearchUsageError."""
    if not asked and not settings.enabled:
        return None
    return OpenTelemetryTracer(receiver_of(settings, environ, asked=asked), content=settings.content)


class OpenTelemetryTracer:
    """Export spans to `receiver` from a background thread, so that a slow or dead receiver delays no run.

    Must be closed. Raises ResearchUsageError if the packages are not installed.
    """

    def __init__(self, receiver: Receiver, *, content: bool = False, seconds: float = _SECONDS) -> None:
        self.receiver = receiver
        self._content = content
        try:
            self._provider, self._outcome = _provider(receiver, seconds)
        except ImportError as error:
            raise ResearchUsageError("research_trace_no_package") from error
        self._tracer: OTelTracer = self._provider.get_tracer("localllm.research", __version__)

    @contextmanager
    def run(self, state: ResearchState) -> Generator[RunTracer]:
        """Open a span for the run, or for the rest of a resumed one."""
        attributes: dict[str, Any] = {
            "gen_ai.operation.name": "invoke_agent",
            "gen_ai.agent.name": "research",
            "gen_ai.conversation.id": state.id,
            "gen_ai.request.model": state.model,
            "localllm.research.question_characters": len(state.question),
            "localllm.research.resumed_at": state.next,
        }
        if self._content:
            attributes["gen_ai.input.messages"] = _as_json([_said("user", state.question)])
        with self._span("invoke_agent research", attributes) as span:
            yield _RunSpans(self, span, state, content=self._content)
            for name, number in msgspec.structs.asdict(state.numbers).items():
                span.set_attribute(f"localllm.research.{name}", number)
            span.set_attribute("localllm.research.partial", state.partial)

    def close(self) -> Remark | None:
        """Flush the spans within a timeout; return the error if some could not be sent."""
        last = threading.Thread(target=self._provider.shutdown, daemon=True)
        last.start()
        last.join(_PARTING)
        if not last.is_alive() and not self._outcome.problem:
            return None
        reason = self._outcome.problem or "no answer"
        logs.of("trace").warning("spans not sent to %s: %s", self.receiver.shown, reason)
        return remark(
            N_("The trace of this run could not be sent to {where}: {reason}."),
            where=self.receiver.shown,
            reason=reason,
        )

    @contextmanager
    def _span(self, name: str, attributes: Mapping[str, Any], *, parent: "Span | None" = None) -> "Generator[Span]":
        """Open a span around a block; an exception is recorded only by its type, since its text may contain private
        data."""
        from opentelemetry.trace import Status, StatusCode

        span = self._tracer.start_span(name, _within(parent), _kind(name), attributes)
        try:
            yield span
        except BaseException as error:
            span.set_attribute("error.type", _kind_of(error))
            span.set_status(Status(StatusCode.ERROR))
            raise
        finally:
            span.end()


class _RunSpans:
    """The spans of one run."""

    def __init__(self, tracer: OpenTelemetryTracer, run: "Span", state: ResearchState, *, content: bool) -> None:
        self._tracer = tracer
        self._run = run
        self._state = state
        self._content = content
        self._stage: Span = run

    @contextmanager
    def stage(self, stage: Stage, number: int) -> Generator[None]:
        """Open a span for a stage, with its results at the end."""
        state = self._state
        attributes = {
            "gen_ai.conversation.id": state.id,
            "localllm.research.stage": stage,
            "localllm.research.round": number,
        }
        with self._tracer._span(f"stage {stage}", attributes, parent=self._run) as span:  # pyright: ignore[reportPrivateUsage]
            self._stage = span
            try:
                yield
            finally:
                self._stage = self._run
                for name in ("queries", "sources", "evidence", "sections", "claims", "disagreements", "ledger"):
                    span.set_attribute(f"localllm.research.{name}", len(getattr(state, name)))

    @contextmanager
    def model_call(self, call: ModelCall) -> Generator[OnCompletion]:
        """Open a span for a model request."""
        attributes = _attributes_of(call, self._state.id)
        if self._content:
            attributes |= _contents_of(call.messages)
        name = f"chat {call.model}"
        with self._tracer._span(name, attributes, parent=self._stage) as span:  # pyright: ignore[reportPrivateUsage]
            yield lambda completion: self._note(span, completion)

    def _note(self, span: "Span", completion: Completion) -> None:
        usage = completion.usage
        span.set_attributes(
            {
                "gen_ai.usage.input_tokens": usage.prompt_tokens,
                "gen_ai.usage.output_tokens": usage.completion_tokens,
                "gen_ai.response.finish_reasons": [completion.finish_reason],
                "localllm.answer_characters": len(completion.message.text),
            }
        )
        if self._content:
            said = _said("assistant", completion.message.text) | {"finish_reason": completion.finish_reason}
            span.set_attribute("gen_ai.output.messages", _as_json([said]))

    def add_event(self, event: ResearchEvent) -> None:
        """Add an event to the stage's span."""
        if found := _details_of(event, content=self._content):
            name, details = found
            self._stage.add_event(name, details)


def _details_of(event: ResearchEvent, *, content: bool) -> tuple[str, dict[str, Any]] | None:
    """Return name and attributes of an event; None for one covered by spans, or only for display."""
    texts: dict[str, str] = {}
    match event:
        case QueryMade(query=query, purpose=purpose):
            name, details, texts = "query", {"purpose": purpose, "characters": len(query)}, {"text": query}
        case SearchDone(queries=queries, found=found, new=new, failures=failures):
            name, details = "search", {"queries": queries, "found": found, "new": new, "failures": len(failures)}
        case PageRead(source=source, url=url, problem=problem):
            name, details, texts = "page", {"source": source, "failed": problem is not None}, {"url": url}
        case NotesTaken(source=source, evidence=evidence, dropped=dropped):
            name, details = "notes", {"source": source, "evidence": evidence, "dropped": dropped}
        case ClaimChecked(claim=claim, label=label):
            name, details, texts = "claim", {"label": label}, {"text": claim}
        case RoundDone(round=number, goes_on=goes_on, open=unsettled):
            name, details = "round", {"round": number, "goes_on": goes_on, "open": unsettled}
        case _:
            return None
    shown = {key: masked_text(text)[:_LONGEST_TEXT] for key, text in texts.items()} if content else {}
    return f"research.{name}", {f"localllm.{name}.{key}": value for key, value in {**details, **shown}.items()}


def _attributes_of(call: ModelCall, run: str) -> dict[str, Any]:
    return {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": _PROVIDERS.get(call.provider, call.provider),
        "gen_ai.request.model": call.model,
        "gen_ai.request.temperature": call.temperature,
        "gen_ai.request.max_tokens": call.max_tokens,
        "gen_ai.output.type": "json" if call.has_schema else "text",
        "gen_ai.conversation.id": run,
        "localllm.research.role": call.role,
        "localllm.prompt_characters": sum(len(message.text) for message in call.messages),
        **_server(call.address),
    }


def _server(address: str) -> dict[str, Any]:
    """Return host and port of an address; empty for an invalid one."""
    try:
        parts = urlsplit(address)
        found = {"server.address": parts.hostname, "server.port": parts.port}
    except ValueError:
        return {}
    return {name: value for name, value in found.items() if value}


def _contents_of(messages: Sequence[Message]) -> dict[str, str]:
    """Return the masked texts of a request."""
    roles = [(str(message.__struct_config__.tag), message.text) for message in messages]
    system = [{"type": "text", "content": _text(text)} for role, text in roles if role == "system"]
    rest = [_said(role, text) for role, text in roles if role != "system"]
    return {"gen_ai.system_instructions": _as_json(system), "gen_ai.input.messages": _as_json(rest)}


def _said(role: str, text: str) -> dict[str, Json]:
    return {"role": role, "parts": [{"type": "text", "content": _text(text)}]}


def _text(text: str) -> str:
    return masked_text(text)[:_LONGEST_TEXT]


def _as_json(value: object) -> str:
    return msgspec.json.encode(value).decode()


def _kind_of(error: BaseException) -> str:
    return error.code if isinstance(error, LocalLLMError) else type(error).__name__


def _within(parent: "Span | None") -> "Context":
    """Return the context of a span below `parent`; without one, of a new trace."""
    from opentelemetry.context import Context
    from opentelemetry.trace import set_span_in_context

    return Context() if parent is None else set_span_in_context(parent, Context())


def _kind(name: str) -> Any:
    from opentelemetry.trace import SpanKind

    return SpanKind.CLIENT if name.startswith("chat ") else SpanKind.INTERNAL


class _Outcome:
    """The error of the last export; empty if it succeeded."""

    problem = ""


def _provider(receiver: Receiver, seconds: float) -> "tuple[TracerProvider, _Outcome]":
    """Create the tracer provider, with the outcome of its exports. Raises ImportError."""
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    _log_quietly()
    outcome = _Outcome()
    exporter = OTLPSpanExporter(
        receiver.url, headers=dict(receiver.headers), timeout=seconds, session=_session(outcome)
    )
    resource = Resource.create({"service.name": "localllm", "service.version": __version__})
    provider = TracerProvider(resource=resource, shutdown_on_exit=False)
    provider.add_span_processor(BatchSpanProcessor(exporter, schedule_delay_millis=_EVERY_MS))
    return provider, outcome


def _session(outcome: _Outcome) -> Any:
    """Create an HTTP session that records the outcome of its last request and ignores proxy variables.

    Only the head of an answer is read: a body may have no end.
    """
    import requests

    class Session(requests.Session):
        def request(self, *arguments: Any, **options: Any) -> Any:
            try:
                response = super().request(*arguments, **(options | {"stream": True}))
                response.close()
            except (requests.RequestException, OSError) as error:
                outcome.problem = "timed out" if isinstance(error, requests.Timeout) else _reason(error)
                raise
            outcome.problem = "" if response.ok and not response.is_redirect else f"HTTP {response.status_code}"
            return response

    session = Session()
    session.trust_env = False
    return session


def _reason(error: BaseException) -> str:
    """Return the system's reason why a receiver is unreachable."""
    if refusal := offline_error_in(error):
        return clean(str(refusal), keep_newlines=False)
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, OSError) and cause.strerror:
            return clean(cause.strerror, keep_newlines=False)
        cause = cause.__cause__ or cause.__context__
    return type(error).__name__


class _OwnLog(logging.Handler):
    """Redirect the log of the OpenTelemetry packages to the program's log, away from the screen."""

    def emit(self, record: logging.LogRecord) -> None:
        """Log it."""
        logs.of("trace").log(min(record.levelno, logging.WARNING), "%s", record.getMessage())


def _log_quietly() -> None:
    logger = logging.getLogger("opentelemetry")
    if not any(isinstance(handler, _OwnLog) for handler in logger.handlers):
        logger.addHandler(_OwnLog())
    logger.propagate = False
