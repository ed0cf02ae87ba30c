"""What every request goes through: paths and methods that are not there, faults, the log, the numbers."""

import logging
from collections.abc import Iterator

import pytest

from localllm.base import logs
from localllm.ensemble.server.options import ServerOptions
from tests.support.each import each
from tests.support.ensemble_server import WORKERS, ScriptedEnsemble, refused, scripted

ASKED = {"prompt": "q"}


@pytest.fixture
def log(caplog: pytest.LogCaptureFixture) -> Iterator[pytest.LogCaptureFixture]:
    root = logs.of("SERVER").parent
    assert root is not None
    before, root.propagate = root.propagate, False
    root.addHandler(caplog.handler)
    root.setLevel(logging.DEBUG)
    yield caplog
    root.removeHandler(caplog.handler)
    root.setLevel(logging.NOTSET)
    root.propagate = before


@each(
    "method, path, status, allowed",
    [
        ("GET", "/generate", 405, "POST"),
        ("PUT", "/generate", 405, "POST"),
        ("HEAD", "/generate", 405, "POST"),
        ("OPTIONS", "/generate", 405, "POST"),
        ("TRACE", "/generate", 405, "POST"),
        ("DELETE", "/v1/chat/completions", 405, "POST"),
        ("POST", "/health", 405, "GET"),
        ("POST", "/openapi.json", 405, "GET"),
        ("HEAD", "/health", 200, None),
        ("HEAD", "/agents", 200, None),
        ("HEAD", "/metrics", 200, None),
        ("GET", "/", 404, None),
        ("GET", "/nothing", 404, None),
        ("GET", "/v1/nothing", 404, None),
        ("POST", "/generate/nothing", 404, None),
        ("GET", "/../../etc/passwd", 404, None),
        ("GET", "/%00%ff", 404, None),
        ("GET", "/" + "x" * 10_000, 404, None),
    ],
)
def test_methods_and_paths(method: str, path: str, status: int, allowed: str | None) -> None:
    with scripted() as server:
        response = server.client.request(method, path)
    assert response.status_code == status
    assert (allowed or "") in response.headers.get("allow", "")
    if method == "HEAD":
        assert response.content == b""
    elif status != 200:
        error = response.json()["error"]
        assert error["message"]
        assert ("type" in error) is path.startswith("/v1/")


def test_a_slash_too_many_leads_nowhere_else() -> None:
    """A redirect would be made of the Host header, and lose the body of a POST."""
    with scripted() as server:
        response = server.client.post("/generate/", json=ASKED)
    assert response.status_code == 404


@pytest.mark.parametrize("path", ["/generate", "/agents", "/v1/models"])
def test_a_fault_of_the_program_is_logged_and_told_without_its_details(
    log: pytest.LogCaptureFixture, path: str
) -> None:
    def broken() -> None:
        raise RuntimeError("secret detail")

    with scripted(settings=broken) as server:  # pyright: ignore[reportArgumentType] - it is broken
        response = server.client.post(path, json=ASKED) if path == "/generate" else server.client.get(path)
        after = server.client.get("/health")
    assert after.status_code == 200
    if path == "/v1/models":
        assert response.status_code == 200
        return
    assert response.status_code == 500
    assert response.json()["error"]["code"] == "E1090"
    assert "secret detail" not in response.text
    [fault] = [record for record in log.records if record.levelno == logging.ERROR]
    assert fault.exc_info is not None
    assert "secret detail" in str(fault.exc_info[1])


def test_the_log_has_the_course_of_requests(log: pytest.LogCaptureFixture) -> None:
    with scripted() as server:
        server.client.post("/generate", json={"prompt": "Where is bob@example.com?"})
        server.client.get("/health")
        server.client.get("/no%0Asuch%1B[2Jpath")
    told = [record for record in log.records if record.name.endswith((".SERVER", ".ENSEMBLE"))]
    informed = [record.getMessage() for record in told if record.levelno == logging.INFO]
    assert informed[0].startswith("POST /generate from 127.0.0.1")
    assert informed[1].startswith("POST /generate: 200 after ")
    assert len(informed) == 2
    messages = [record.getMessage() for record in told]
    assert any("GET /health: 200" in message for message in messages)
    assert not any("\n" in message or "\x1b" in message for message in messages)
    assert "bob" not in "\n".join(messages)


def test_numbers_for_prometheus() -> None:
    ensemble = ScriptedEnsemble(errors=(refused(), None))
    with scripted(ensemble, ServerOptions(stop_seconds=0.2)) as server:
        server.client.post("/generate", json=ASKED)
        ensemble.errors, ensemble.reviewer_error = (None, None), refused()
        server.client.post("/generate", json=ASKED | {"strategy": "vote"})
        server.client.post("/generate", json={})
        for path in ("/nothing", "/nowhere"):
            server.client.get(path)
        server.client.request("BREW", "/generate")
        response = server.client.get("/metrics")
    assert response.headers["content-type"].startswith("text/plain")
    lines = response.text.splitlines()
    for line in (
        'localllm_ensemble_requests_total{method="POST",path="/generate",status="200"} 1.0',
        'localllm_ensemble_requests_total{method="POST",path="/generate",status="500"} 1.0',
        'localllm_ensemble_requests_total{method="POST",path="/generate",status="422"} 1.0',
        'localllm_ensemble_requests_total{method="GET",path="other",status="404"} 2.0',
        'localllm_ensemble_runs_total{outcome="answered",strategy="review"} 1.0',
        'localllm_ensemble_runs_total{outcome="reviewer_failed",strategy="vote"} 1.0',
        f'localllm_ensemble_worker_answers_total{{agent="{WORKERS[0]}",outcome="failed"}} 1.0',
        f'localllm_ensemble_worker_answers_total{{agent="{WORKERS[1]}",outcome="answered"}} 2.0',
        'localllm_ensemble_tokens_total{kind="completion"} 15.0',
        "localllm_ensemble_running 0.0",
    ):
        assert line in lines, line
    assert "BREW" not in response.text
    assert "nowhere" not in response.text


def test_two_servers_count_apart() -> None:
    with scripted() as one, scripted() as other:
        one.client.post("/generate", json=ASKED)
        assert 'localllm_ensemble_runs_total{outcome="answered"' in one.client.get("/metrics").text
        assert 'localllm_ensemble_runs_total{outcome="answered"' not in other.client.get("/metrics").text
