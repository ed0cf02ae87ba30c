"""The program loads only what it needs: nothing heavy for --version, and what comes later not before it is needed."""

import subprocess
import sys
from pathlib import Path

import pytest

import localllm
from tests.support.wire_server import WireServer, says

HEAVY = {"asyncio", "click", "git", "httpx", "msgspec", "prompt_toolkit", "pydantic", "rich", "tomlkit", "tree_sitter"}

LATER = {
    "git",
    "markdown_it",
    "prompt_toolkit",
    "pygments",
    "rich",
    "tenacity",
    "tomlkit",
    "tree_sitter",
    "trafilatura",
}
"""Packages that a question which is answered at once needs nothing of."""

BEHIND_THE_PROMPT = {"git", "markdown_it", "rich", "tree_sitter", "trafilatura"}
"""Packages that a chat which waits for its first words needs nothing of."""

PROBE = """
import sys
from localllm.cli import main
sys.argv = ["localllm", *sys.argv[1:]]
try:
    main()
finally:
    print(*sorted(sys.modules), file=sys.stderr)
"""


def probe(*arguments: str, **options: Path | dict[str, str]) -> tuple[str, set[str]]:
    """What the program prints, and the modules it has loaded when it leaves."""
    command = [sys.executable, "-c", PROBE, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=True, **options)
    return done.stdout, set(done.stderr.split())


def test_version_loads_nothing_heavy() -> None:
    printed, loaded = probe("--version")
    assert localllm.__version__ in printed
    assert "localllm" in loaded
    assert {module.partition(".")[0] for module in loaded} & HEAVY == set()


def test_a_first_answer_loads_nothing_that_comes_later(tmp_path: Path) -> None:
    home = dict.fromkeys(("HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME"), str(tmp_path / "home"))
    home["PYTHONPATH"] = str(Path(localllm.__file__).parent.parent)
    project = tmp_path / "project"
    project.mkdir()
    with WireServer([says("Hello.")]) as server:
        printed, loaded = probe("-p", "hi", "--base-url", server.url, "-m", "m", cwd=project, env=home)
    assert printed.strip() == "Hello."
    assert "localllm.agent.react_agent" in loaded
    assert {module.partition(".")[0] for module in loaded} & LATER == set()


def test_a_prompt_loads_nothing_that_comes_behind_it() -> None:
    code = "import sys, localllm.cli.main, localllm.tui.repl, localllm.tui.input.prompt; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=30, check=True)
    loaded = {module.partition(".")[0] for module in done.stdout.split()}
    assert "prompt_toolkit" in loaded
    assert loaded & BEHIND_THE_PROMPT == set()


INTERRUPTED = """
import signal, sys

class Interruption:
    def __init__(self, module):
        self.module = module

    def find_spec(self, name, path=None, target=None):
        if name == self.module:
            signal.raise_signal(signal.SIGINT)

from localllm.cli import main
sys.meta_path.insert(0, Interruption(sys.argv[1]))
sys.argv = ["localllm", "doctor"]
main()
"""


@pytest.mark.parametrize(
    "module", ["localllm.base.environment", "localllm.cli.fast_start", "localllm.cli.main", "localllm.app.app"]
)
def test_ctrl_c_during_the_imports_ends_it_quietly(module: str) -> None:
    command = [sys.executable, "-c", INTERRUPTED, module]
    done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")


def test_research_that_is_not_traced_loads_nothing_of_opentelemetry() -> None:
    code = (
        "import sys, localllm.app.research_setup\n"
        "from localllm.config.schema import TraceSettings\n"
        "from localllm.research.otel_tracer import open_tracer\n"
        "assert open_tracer(TraceSettings(endpoint='http://h:1'), {'LANGFUSE_PUBLIC_KEY': 'a'}) is None\n"
        "print(*sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=30, check=True)
    loaded = {module.partition(".")[0] for module in done.stdout.split()}
    assert "localllm" in loaded
    assert loaded & {"opentelemetry", "requests", "google"} == set()
