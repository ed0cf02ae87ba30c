"""What /openapi.json says of the ensemble server is so: schemathesis asks every operation, with and against it."""

import subprocess
import sys
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest
from fastapi import FastAPI
from starlette.requests import Request
from starlette.responses import Response

from localllm.ensemble.records import Question, RunEvent
from localllm.ensemble.server.app import create_app
from localllm.ensemble.server.options import ServerOptions
from tests.support.ensemble_server import ScriptedEnsemble, config, refused, serving

TOKEN = "a-token-of-some-length"
OPTIONS = ServerOptions(token=TOKEN, stop_seconds=0.2)


class HalfFailing(ScriptedEnsemble):
    """One of its workers fails in every second run."""

    async def run(self, question: Question) -> AsyncGenerator[RunEvent]:
        self.errors = (refused(), None) if len(self.questions) % 2 else (None, None)
        async for event in super().run(question):
            yield event


def schemathesis(app: FastAPI, folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """All checks in all phases."""
    program = Path(sys.executable).with_name("st")
    with serving(app, OPTIONS) as server:
        command = [program, "run", f"{server.url}/openapi.json", "-H", f"Authorization: Bearer {TOKEN}"]
        command += ["--checks", "all", "--phases", "examples,coverage,fuzzing,stateful", "--no-color", *options]
        return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=1_700, check=False)


def served() -> FastAPI:
    return create_app(HalfFailing(), config, options=OPTIONS)


def test_the_description_is_true(tmp_path: Path) -> None:
    done = schemathesis(served(), tmp_path, "-n", "10", "--generation-deterministic")
    assert done.returncode == 0, done.stdout
    assert "7 selected / 7 total" in done.stdout
    assert "not applicable" not in done.stdout


@pytest.mark.long
@pytest.mark.timeout(1_800)
def test_the_description_is_true_on_many_examples(tmp_path: Path) -> None:
    done = schemathesis(served(), tmp_path, "-n", "200")
    assert done.returncode == 0, done.stdout


def test_an_answer_that_is_not_described_is_found(tmp_path: Path) -> None:
    app = served()

    async def planted(request: Request) -> Response:
        del request
        return Response(b"{}", 500, media_type="application/json")

    app.add_api_route("/planted", planted, response_model=None, response_class=Response)
    options = ("-n", "2", "--include-path", "/planted", "--generation-deterministic")
    done = schemathesis(app, tmp_path, *options)
    assert done.returncode == 1, done.stdout
    assert done.returncode == 1
    assert "GET /planted" in done.stdout
    assert "ST103 Undocumented status code" in done.stdout, done.stdout
    assert "Received: 500" in done.stdout
