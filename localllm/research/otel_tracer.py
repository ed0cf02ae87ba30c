"""Spans of research runs for OpenTelemetry, under the attribute names of its conventions for generative AI.

A run is a span `invoke_agent`, its stages are spans within it, and each request to the model is a span `chat` within
its stage. They carry sizes, ids and times; texts only where the settings say so, and masked. The packages of
OpenTelemetry are imported when a tracer is opened, and only then.
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
from localllm.research.role_protocol import remark
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
"""Where collectors and Jaeger listen for OTLP over HTTP."""

LANGFUSE = "https://cloud.langfuse.com"
_LANGFUSE_HOSTS = ("LANGFUSE_BASE_URL", "LANGFUSE_HOST")
_SIGNAL = "/v1/traces"

_SECONDS = 5.0
"""For one sending of spans, tries of it included."""

_PARTING = 2.0
"""Seconds that the end of the program waits for what is not sent yet."""

_EVERY_MS = 2_000.0
_LONGEST_TEXT = 32_000

_PROVIDERS = {"azure": "azure.ai.openai", "gemini": "gcp.gemini"}
"""Providers that the conventions call otherwise than the settings do."""


class Receiver(msgspec.Struct, frozen=True):
    """Where spans are sent. `headers` may hold a key."""

    url: str
    headers: Mapping[str, str] = {}

    @property
    def shown(self) -> str:
        """The address without user and password, which may stand in it."""
        parts = urlsplit(self.url)
        return clean(f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}", keep_newlines=False)


def receiver_of(settings: TraceSettings, environ: Mapping[str, str], *, asked: bool) -> Receiver:
    """The receiver the settings name; else Langfuse, where its keys are in the environment and the user has `asked` for
    a trace of this run; else one on this machine. Raises ResearchUsageError for what is no address."""
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
    """A tracer, where the user has `asked` for one or the settings want every run traced; else None, and nothing is
    imported. Raises ResearchUsageError."""
    if not asked and not settings.enabled:
        return None
    return OpenTelemetryTracer(receiver_of(settings, environ, asked=asked), content=settings.content)


class OpenTelemetryTracer:
    """Sends spans to `receiver` from a thread of its own: neither a slow nor a dead one holds up a run.

    To be closed at the end. Raises ResearchUsageError where the packages are not installed.
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
        """A span for the run, or for what is left of it."""
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
        """Send what is left, for a few seconds at most; what is wrong where not everything could be sent."""
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
        """A span around a block; an error that leaves it is noted by its kind alone, since its text may tell more."""
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
        """A span for a stage, with what there is at its end."""
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
        """A span for a request to the model."""
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
        """What happened, as an event of the stage's span."""
        if found := _details_of(event, content=self._content):
            name, details = found
            self._stage.add_event(name, details)


def _details_of(event: ResearchEvent, *, content: bool) -> tuple[str, dict[str, Any]] | None:
    """Name and attributes of an event; None for one that spans tell of, or that is only for people."""
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
    """Host and port of a server's address; nothing of what is none."""
    try:
        parts = urlsplit(address)
        found = {"server.address": parts.hostname, "server.port": parts.port}
    except ValueError:
        return {}
    return {name: value for name, value in found.items() if value}


def _contents_of(messages: Sequence[Message]) -> dict[str, str]:
    """The texts of a request, masked."""
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
    """The context of a span below `parent`; without one, of a trace of its own."""
    from opentelemetry.context import Context
    from opentelemetry.trace import set_span_in_context

    return Context() if parent is None else set_span_in_context(parent, Context())


def _kind(name: str) -> Any:
    from opentelemetry.trace import SpanKind

    return SpanKind.CLIENT if name.startswith("chat ") else SpanKind.INTERNAL


class _Outcome:
    """Why the newest sending failed; empty where it did not."""

    problem = ""


def _provider(receiver: Receiver, seconds: float) -> "tuple[TracerProvider, _Outcome]":
    """What makes spans and sends them, and what becomes of that. Raises ImportError."""
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
    """A session of requests that notes what became of its newest request, and uses no proxy of the environment."""
    import requests

    class Session(requests.Session):
        def request(self, *arguments: Any, **options: Any) -> Any:
            try:
                response = super().request(*arguments, **options)
            except (requests.RequestException, OSError) as error:
                outcome.problem = "timed out" if isinstance(error, requests.Timeout) else _reason(error)
                raise
            outcome.problem = "" if response.ok and not response.is_redirect else f"HTTP {response.status_code}"
            return response

    session = Session()
    session.trust_env = False
    return session


def _reason(error: BaseException) -> str:
    """Why a receiver could not be reached, as the system says it."""
    if refusal := offline_error_in(error):
        return clean(str(refusal), keep_newlines=False)
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, OSError) and cause.strerror:
            return clean(cause.strerror, keep_newlines=False)
        cause = cause.__cause__ or cause.__context__
    return type(error).__name__


class _OwnLog(logging.Handler):
    """Puts what the packages of OpenTelemetry say into the program's log: never on the screen."""

    def emit(self, record: logging.LogRecord) -> None:
        """Log it."""
        logs.of("trace").log(min(record.levelno, logging.WARNING), "%s", record.getMessage())


def _log_quietly() -> None:
    logger = logging.getLogger("opentelemetry")
    if not any(isinstance(handler, _OwnLog) for handler in logger.handlers):
        logger.addHandler(_OwnLog())
    logger.propagate = False
