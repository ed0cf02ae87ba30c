"""The program over Ollama's own wire: the same work as over OpenAI's, with the window set in every request."""

import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest

from tests.e2e.test_oneshot import BUG, EDIT, FIXED, RUN_TESTS, TEST, environment
from tests.support.ollama_wire import TOLD, answer, calls, says
from tests.support.wire_server import WireServer

READ = ("read_file", {"file_path": "prices.py"})
FIX = [*(calls({"name": name, "arguments": arguments}) for name, arguments in (READ, EDIT, RUN_TESTS)), says("Fixed.")]
NOBODY = "http://127.0.0.1:9"
VERSION = {"/api/version": answer({"version": "0.32.0"})}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    root = tmp_path / "shop"
    root.mkdir()
    (root / "prices.py").write_text(BUG)
    (root / "test_prices.py").write_text(TEST)
    return root


@pytest.mark.parametrize("named", [("--provider", "ollama", "-m", "qwen3:8b"), ("--provider", "ollama"), ()])
def test_a_bug_is_fixed_with_one_window_from_beginning_to_end(project: Path, named: tuple[str, ...]) -> None:
    """Also where neither the model nor, at last, the provider is named: then the server is found."""
    with WireServer(FIX, routes=TOLD | VERSION) as server:
        addresses = {f"LOCALLLM_LLM_{name}_BASE_URL": NOBODY for name in ("LMSTUDIO", "OPENAI")}
        done = subprocess.run(
            [sys.executable, "-m", "localllm", "-p", "Fix the failing test", "--yes", *named],
            cwd=project,
            env=environment(project) | addresses | {"LOCALLLM_LLM_OLLAMA_BASE_URL": server.url},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=50,
            check=False,
        )
    assert (done.returncode, done.stdout) == (0, "Fixed.\n"), done.stderr
    assert (project / "prices.py").read_text() == FIXED
    bodies = server.bodies()
    assert len(bodies) == 4
    assert {body["options"]["num_ctx"] for body in bodies} == {8_192}
    assert [body["truncate"] for body in bodies] == [False] * 4
    assert "OK" in bodies[-1]["messages"][-1]["content"]
    assert all(body["tools"] == bodies[0]["tools"] for body in bodies)
    said = [request.partition(b'"messages":')[2] for request in server.requests]
    for before, after in pairwise(said):  # what is left for the answer, in the options, changes
        assert after.startswith(before.removesuffix(b"]}"))
