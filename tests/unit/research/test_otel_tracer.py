"""Spans of research runs, as a real receiver of OpenTelemetry's protocol gets them."""

import sys
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from localllm.base.errors import LLMConnectionError, ResearchModelError, ResearchUsageError
from localllm.config.research_settings import TraceSettings
from localllm.llm.messages import CompletionRequest
from localllm.research.otel_tracer import OpenTelemetryTracer, Receiver, open_tracer, receiver_of
from localllm.research.records import STAGES, ResearchState
from localllm.research.remark_texts import in_words
from localllm.research.researcher import Researcher
from tests.support.each import each
from tests.support.otlp import OTLPReceiver, ReceivedSpan
from tests.support.research_parts import (
    QUESTION,
    FakeReader,
    FakeSearch,
    Say,
    options,
    playing,
)

pytestmark = pytest.mark.anyio

PRIVATE = "taro@example.com"
_CLIENT = 3


@pytest.fixture
def receiver() -> Iterator[OTLPReceiver]:
    with OTLPReceiver() as server:
        yield server


def a_tracer(server: OTLPReceiver, *, content: bool = False) -> OpenTelemetryTracer:
    settings = TraceSettings(endpoint=server.url, content=content)
    tracer = open_tracer(settings, {}, asked=True)
    assert tracer
    return tracer


async def a_run(
    folder: Path, tracer: OpenTelemetryTracer, question: str = QUESTION, **answers: Say
) -> tuple[ResearchState, list[CompletionRequest]]:
    client, brain = playing(answers)
    researcher = Researcher(client, FakeSearch(), FakeReader(), folder, options(max_validation=0), tracer=tracer)
    return await researcher.run(question), brain.requests


def named(spans: list[ReceivedSpan], beginning: str) -> list[ReceivedSpan]:
    return [span for span in spans if span.name.startswith(beginning)]


async def test_every_stage_and_call_is_a_span_in_its_place(tmp_path: Path, receiver: OTLPReceiver) -> None:
    tracer = a_tracer(receiver)
    state, requests = await a_run(tmp_path, tracer)
    assert tracer.close() is None
    spans = receiver.spans
    assert set(receiver.paths) == {"/v1/traces"}
    (run,) = named(spans, "invoke_agent")
    stages = named(spans, "stage ")
    calls = named(spans, "chat ")
    assert [span.attributes["localllm.research.stage"] for span in stages] == list(STAGES)
    assert len(calls) == len(requests) > 3
    assert {span.trace for span in spans} == {run.trace}
    assert run.parent == b""
    assert {span.parent for span in stages} == {run.id}
    by_id = {span.id: span.attributes["localllm.research.stage"] for span in stages}
    asked_in = {call.attributes["localllm.research.role"]: by_id[call.parent] for call in calls}
    expected = {"brief": "normalise", "queries": "queries", "reader": "process", "outline": "draft", "writer": "draft"}
    assert asked_in == expected
    assert run.attributes["gen_ai.conversation.id"] == state.id == "2026-0001"
    assert run.attributes["localllm.research.requests"] == len(requests)
    assert run.attributes["localllm.research.partial"] is False
    assert run.resource["service.name"] == "localllm"
    process = next(span for span in stages if span.attributes["localllm.research.stage"] == "process")
    assert process.attributes["localllm.research.evidence"] == len(state.evidence) > 0
    pages = [details for name, details in process.events if name == "research.page"]
    assert [page["localllm.page.source"] for page in pages] == [source.id for source in state.sources]


async def test_a_call_has_the_attributes_of_the_conventions(tmp_path: Path, receiver: OTLPReceiver) -> None:
    tracer = a_tracer(receiver)
    state, _ = await a_run(tmp_path, tracer)
    tracer.close()
    call = next(span for span in receiver.spans if span.attributes.get("localllm.research.role") == "brief")
    assert call.name == "chat played"
    assert call.kind == _CLIENT
    assert call.nanoseconds > 0
    wanted = {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "brain",
        "gen_ai.request.model": "played",
        "gen_ai.request.temperature": 0.0,
        "gen_ai.request.max_tokens": 500,
        "gen_ai.response.finish_reasons": ["stop"],
        "gen_ai.output.type": "json",
        "gen_ai.conversation.id": state.id,
    }
    assert {name: call.attributes[name] for name in wanted} == wanted
    assert call.attributes["gen_ai.usage.input_tokens"] > call.attributes["gen_ai.usage.output_tokens"] > 0


async def test_texts_are_sent_only_when_wanted_and_then_masked(tmp_path: Path) -> None:
    question = f"When did the Kita tower open, asks {PRIVATE}?"
    for content in (False, True):
        with OTLPReceiver() as server:
            tracer = a_tracer(server, content=content)
            await a_run(tmp_path / str(content), tracer, question)
            tracer.close()
            sent = b"".join(server.bodies)
        assert PRIVATE.encode() not in sent
        for text in (b"Kita tower", b"https://a.example/tower", b"gen_ai.output.messages", b"[EMAIL]"):
            assert (text in sent) is content, text


async def test_a_run_that_stops_has_its_error_in_the_spans(tmp_path: Path, receiver: OTLPReceiver) -> None:
    tracer = a_tracer(receiver)

    def fail(_asked: str) -> str:
        raise LLMConnectionError("llm_refused", provider="openai", url="http://h/", reason="secret words", start="?")

    with pytest.raises(ResearchModelError):
        await a_run(tmp_path, tracer, reader=fail)
    tracer.close()
    failed = [span for span in receiver.spans if span.error]
    assert {span.name for span in failed} >= {"chat played", "stage process", "invoke_agent research"}
    assert all(span.attributes["error.type"] for span in failed)
    assert b"secret words" not in b"".join(receiver.bodies)


async def test_of_an_answer_without_end_the_head_is_read(tmp_path: Path) -> None:
    with OTLPReceiver(endless=True) as receiver:
        tracer = a_tracer(receiver)
        await a_run(tmp_path, tracer)
        assert tracer.close() is None
        assert receiver.spans


@pytest.mark.parametrize("kind", ["none there", "refuses", "never answers"])
async def test_a_dead_receiver_costs_a_run_nothing(tmp_path: Path, kind: str) -> None:
    release = threading.Event()
    server = OTLPReceiver(401 if kind == "refuses" else 200, release if kind == "never answers" else None)
    url = f"{server.url}/v1/traces"
    if kind == "none there":
        server._server.server_close()
        tracer = OpenTelemetryTracer(Receiver(url), seconds=0.1)
        state, _ = await a_run(tmp_path, tracer)
        problem = tracer.close()
    else:
        with server:
            tracer = OpenTelemetryTracer(Receiver(url), seconds=0.1)
            state, _ = await a_run(tmp_path, tracer)
            problem = tracer.close()
            release.set()
    assert state.next == "done"
    assert problem
    assert url in in_words(problem)
    assert {"none there": "Connection refused", "refuses": "HTTP 401", "never answers": "timed out"}[kind] in in_words(
        problem
    )


KEYS = {"LANGFUSE_PUBLIC_KEY": "pk-lf-1", "LANGFUSE_SECRET_KEY": "sk-lf-2"}
HERE = "http://localhost:4318/v1/traces"


@each(
    "endpoint, environ, asked, url",
    [
        ("", {}, True, HERE),
        ("http://h:1", KEYS, True, "http://h:1/v1/traces"),
        ("http://h:1/v1/traces", {}, True, "http://h:1/v1/traces"),
        ("", KEYS, True, "https://cloud.langfuse.com/api/public/otel/v1/traces"),
        ("", KEYS, False, HERE),
        ("", {"LANGFUSE_PUBLIC_KEY": "pk"}, True, HERE),
        (
            "",
            {**KEYS, "LANGFUSE_BASE_URL": "http://10.0.0.5:3000/"},
            True,
            "http://10.0.0.5:3000/api/public/otel/v1/traces",
        ),
    ],
)
def test_the_receiver_is_the_one_named(endpoint: str, environ: Mapping[str, str], asked: bool, url: str) -> None:
    found = receiver_of(TraceSettings(endpoint=endpoint), environ, asked=asked)
    assert found.url == url
    keyed = {"authorization": "Basic cGstbGYtMTpzay1sZi0y", "x-langfuse-ingestion-version": "4"}
    assert found.headers == (keyed if "api/public" in url else {})


async def test_langfuse_gets_its_key_and_nobody_sees_it(tmp_path: Path, receiver: OTLPReceiver) -> None:
    environ = {"LANGFUSE_PUBLIC_KEY": "pk", "LANGFUSE_SECRET_KEY": "sk", "LANGFUSE_HOST": receiver.url}
    tracer = open_tracer(TraceSettings(), environ, asked=True)
    assert tracer
    await a_run(tmp_path, tracer)
    tracer.close()
    assert receiver.paths[0] == "/api/public/otel/v1/traces"
    assert receiver.headers[0]["authorization"] == "Basic cGs6c2s="
    assert Receiver("http://me:word@h:1/v1/traces").shown == "http://h:1/v1/traces"


@pytest.mark.parametrize("address", ["localhost:4318", "ftp://h/", "http://", "http://h:port", "grpc"])
def test_what_is_no_address_is_refused(address: str) -> None:
    with pytest.raises(ResearchUsageError) as caught:
        open_tracer(TraceSettings(endpoint=address), {}, asked=True)
    assert caught.value.key == "research_trace_address"
    assert caught.value.exit_code == 2


def test_missing_packages_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry.sdk.trace", None)
    with pytest.raises(ResearchUsageError) as caught:
        open_tracer(TraceSettings(enabled=True), {})
    assert caught.value.key == "research_trace_no_package"
    assert "localllm[trace]" in caught.value.fix
