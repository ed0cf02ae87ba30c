"""A provider, a tool, a slash command, a search engine and a sandbox back end of another package: each is one file and
one line that registers it, and is used as those of the program are."""

import os
import subprocess
import sys
from pathlib import Path
from textwrap import dedent
from types import SimpleNamespace

import pytest

from localllm.sandbox.backend import BACKENDS, Backend
from localllm.sandbox.runner import SandboxRunner
from localllm.tui.commands.builtin import COMMANDS
from tests.support.slash import said


@pytest.fixture(scope="module", autouse=True)
def one_sandbox() -> None:
    """What was found out of a back end is not shared: each of these is another one."""


FILES = {
    "provider.py": """
        from localllm.llm.messages import CompletionRequest
        from localllm.llm.providers.base import FinishChunk, ModelInfo, TextChunk

        class Parrot:
            name, address, constrains = "parrot", "a perch", False

            async def stream(self, request: CompletionRequest):
                yield TextChunk(f"You said: {request.messages[-1].text}")
                yield FinishChunk("stop")

            async def list_models(self):
                return [ModelInfo("parrot")]

            async def describe(self, model, listed=()):
                return ModelInfo(model)

            async def aclose(self):
                pass

        def make(settings, root, environ):
            return Parrot()
    """,
    "tool.py": """
        from localllm.safety.tool_definition import Risk, ToolOutput
        from localllm.tools.context import ToolContext
        from localllm.tools.registry import tool

        @tool(risk=Risk.SAFE)
        async def shout(context: ToolContext, words: str) -> ToolOutput:
            \"\"\"Say it louder.\"\"\"
            return ToolOutput(payload={"shouted": words.upper()}, for_model=words.upper(), summary="shouted")
    """,
    "command.py": """
        from localllm.tui.commands.registry import Outcome, SlashCall, slash

        @slash("greet", usage="[name]")
        async def greet(call: SlashCall) -> Outcome:
            \"\"\"Greet somebody.\"\"\"
            call.screen.print(("", f"Hello, {call.arguments}!"))
    """,
    "engine.py": """
        from localllm.web.engines.base import EngineLimits, SearchAnswer, SearchResult

        class Almanac:
            name, scope, limits = "almanac", "", EngineLimits(concurrency=4, per_minute=600)

            async def search(self, query, limit, view):
                return SearchAnswer((SearchResult(f"On {query}", "https://almanac.example/tides", "", self.name),))

            async def check(self):
                pass

        def make(settings):
            return Almanac()
    """,
    "backend.py": """
        import os

        from localllm.sandbox.backend import NO_CARE
        from localllm.sandbox.environment import variables
        from localllm.sandbox.process import PlainLaunch

        class Cage:
            def __init__(self, parts):
                self.root, self.visibility = parts.root, parts.visibility

            def launch(self, command, folder, scratch, environment, care=NO_CARE, *, read_only=False, disk=0):
                names = variables(environment, HOME=str(scratch.home), TMPDIR=str(scratch.temporary))
                launch = PlainLaunch(command, folder, names)
                hidden = [("--tmpfs", path) for path in self.visibility.hidden if path.is_dir()]
                shown = [("--ro-bind", path, path) for path in self.visibility.shown if path.is_dir()]
                own = [("--bind", path, path) for path in (self.root, scratch.folder)]
                mounts = [str(word) for mount in (*hidden, *shown, *own) for word in mount]
                bwrap = ("bwrap", "--unshare-all", "--die-with-parent", "--ro-bind", "/", "/", "--dev", "/dev")
                launch.arguments = (*bwrap, "--proc", "/proc", *mounts, "--", *launch.arguments)
                return launch

        def make(parts):
            return Cage(parts)
    """,
    "start.py": """
        from localllm.cli import main
        from localllm.config.registry import PROVIDERS, SEARCH_ENGINES
        from localllm.tools.builtin import TOOLS
        from aviary.tool import shout

        PROVIDERS["parrot"] = "aviary.provider:make"
        SEARCH_ENGINES["almanac"] = "aviary.engine:make"
        TOOLS.append(shout)
        main()
    """,
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "aviary").mkdir()
    (tmp_path / "project/.git").mkdir(parents=True)
    for name, text in {"__init__.py": "", **FILES}.items():
        (tmp_path / "aviary" / name).write_text(dedent(text))
    monkeypatch.syspath_prepend(tmp_path)
    for name in [name for name in sys.modules if name.partition(".")[0] == "aviary"]:
        monkeypatch.delitem(sys.modules, name)
    return tmp_path


def run(folder: Path, *arguments: str, **variables: str) -> "subprocess.CompletedProcess[str]":
    home = {name: str(folder / "home") for name in ("HOME", "LOCALLLM_CONFIG_DIR", "LOCALLLM_STATE_DIR")}
    places = f"{folder}{os.pathsep}{Path(__file__).parents[2]}"
    return subprocess.run(
        [sys.executable, "-m", "aviary.start", *arguments],
        cwd=folder / "project",
        env={**os.environ, **home, "PYTHONPATH": places, "LC_ALL": "C.UTF-8", **variables},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )


def script(folder: Path, call: str) -> str:
    file = folder / "script.toml"
    file.write_text(f"[[turn]]\ncalls = [{call}]\n[[turn]]\ntext = 'Done.'\n")
    return str(file)


def test_a_provider_answers(folder: Path) -> None:
    done = run(folder, "-p", "a word", "--provider", "parrot")
    assert done.stdout.startswith("You said: a word\n"), done.stderr
    assert done.returncode == 0


def test_a_provider_that_is_not_registered_is_an_error_that_names_the_others(folder: Path) -> None:
    done = run(folder, "-p", "a word", "--provider", "parot")
    assert done.returncode == 2
    assert "“gemini”" in done.stderr
    assert "“parrot”" in done.stderr


def test_a_tool_is_called(folder: Path) -> None:
    call = '{ name = "shout", arguments = { words = "hello there" } }'
    done = run(folder, "-p", "go", "--script", script(folder, call), "--output", "stream-json")
    assert "HELLO THERE" in done.stdout, done.stderr


def test_a_search_engine_is_asked(folder: Path) -> None:
    call = '{ name = "web_search", arguments = { query = "tides" } }'
    web = {"LOCALLLM_WEB_ENABLED": "true", "LOCALLLM_WEB_ENGINES": "almanac"}
    done = run(folder, "-p", "go", "--yes", "--script", script(folder, call), "--output", "stream-json", **web)
    assert "almanac.example/tides" in done.stdout, done.stderr


@pytest.mark.anyio
@pytest.mark.usefixtures("folder")
async def test_a_slash_command_is_run() -> None:
    from aviary.command import greet  # pyright: ignore[reportMissingImports]

    COMMANDS.append(greet)
    try:
        assert "Hello, Ada!" in await said(SimpleNamespace(), "greet Ada")
        assert greet.help == "Greet somebody."
    finally:
        COMMANDS.remove(greet)


@pytest.mark.skipif(sys.platform != "linux", reason="this one is made of bubblewrap")
@pytest.mark.anyio
async def test_a_back_end_of_the_sandbox_holds_a_command(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(BACKENDS, "cage", Backend(maker="aviary.backend:make", has_namespaces=True))
    project, outside = folder / "project", folder / "outside"
    runner = SandboxRunner(project, state_folder=folder / "state", levels=("cage",))
    assert runner.level == "cage", runner.reason
    done = await runner.run(f"echo out > {outside}; echo in > made; echo ran", cwd=project, timeout=20)
    assert (done.stdout, done.level) == ("ran\n", "cage")
    assert (project / "made").read_text() == "in\n"
    assert not outside.exists()


@pytest.mark.skipif(sys.platform != "linux", reason="this one is made of bubblewrap")
def test_a_back_end_that_holds_nothing_is_not_believed(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = folder / "aviary/backend.py"
    file.write_text(file.read_text().replace("launch.arguments = ", "unused = "))
    monkeypatch.setitem(BACKENDS, "cage", Backend(maker="aviary.backend:make"))
    assert SandboxRunner(folder / "project", state_folder=folder / "state", levels=("cage",)).level == "none"
