"""Sub-agents in the real program, in a real terminal of 80 columns, over a real connection."""

import os
import sys
import tempfile
from pathlib import Path

import pytest

from tests.support.sandbox_world import level_here
from tests.support.tmux import TMUX, Tmux
from tests.support.wire_server import WireServer, calls, says

pytestmark = [pytest.mark.skipif(TMUX is None, reason="tmux is not installed"), pytest.mark.long]

READY = f" {level_here()} · "
SETTINGS = """[llm]
provider = "lmstudio"
model = "m"
[llm.lmstudio]
base_url = "{url}"
[safety]
ask = ["read_file(prices.py)"]
"""


def test_explore() -> None:
    replies = [
        calls(("explore", {"question": "Who calls total()?"})),
        calls(("read_file", {"file_path": "prices.py"})),
        says("Nobody: prices.py:1."),
        says("It is never called."),
    ]
    with WireServer(replies) as server, tempfile.TemporaryDirectory() as home:
        project = Path(home) / "shop"
        project.mkdir()
        (project / "prices.py").write_text("def total(prices, discount):\n    return sum(prices) * discount\n")
        (project / "localllm.toml").write_text(SETTINGS.format(url=server.url))
        variables = {name: os.environ[name] for name in ("PATH", "PYTHONPATH") if name in os.environ}
        command = [sys.executable, "-m", "localllm", "--trust-project"]
        chat = Tmux(project, command, environ={**variables, "HOME": home, "LANG": "C.UTF-8"}, rows=24)
        try:
            chat.wait(READY)
            chat.say("Is total() used?")
            assert "explore: read_file" in chat.wait("[y]es", last="  ›")
            chat.say("y")
            screen = chat.wait("It is never called.", READY)
        finally:
            chat.close()
        requests = [body["messages"] for body in server.bodies()]
    assert "● explore Who calls total()?\n  ↳ explore: read_file prices.py\n" in screen
    assert "  ✓ found an answer in 2 steps" in screen
    assert requests[-1][-1]["content"] == "Nobody: prices.py:1."
    assert "Who calls total()?" in requests[1][1]["content"]
    assert requests[0] == requests[-1][: len(requests[0])]
