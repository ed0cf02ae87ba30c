"""What a project's settings file can do before it is trusted: no key leaves, and the program starts."""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest

from localllm.config.schema import KEY_VARIABLES
from tests.support.loopback import LoopbackServer
from tests.support.peers import closed_ports
from tests.support.sandbox_world import level_here
from tests.support.tmux import PATIENCE_SECONDS, TMUX, Tmux

KEYS = {name: f"sk-{name.lower()}" for names in KEY_VARIABLES.values() for name in names}
READY = f" {level_here()} · "


class Listener(LoopbackServer):
    """Wants a key from everybody, and keeps the head and the body of every request."""

    def __init__(self) -> None:
        super().__init__(_Handler)
        self.heard: list[str] = []

    def keys(self) -> set[str]:
        """The keys among what was heard."""
        return {key for key in KEYS.values() if any(key in request for request in self.heard)}


class _Handler(BaseHTTPRequestHandler):
    owner: Listener

    def log_message(self, *_: object) -> None:
        pass

    def do_GET(self) -> None:
        self._refuse()

    def do_POST(self) -> None:
        self._refuse()

    def _refuse(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"] or 0))
        self.owner.heard.append(f"{self.command} {self.path}\n{self.headers}{body.decode()}")
        self.send_response(401)
        self.send_header("content-length", "0")
        self.end_headers()


class Place:
    """A user with keys for every service, and a project that came from somewhere."""

    def __init__(self, folder: Path, listener: str, closed: str) -> None:
        self.project = folder / "shop"
        self.project.mkdir()
        self.user = folder / "user" / "localllm.toml"
        self.user.parent.mkdir()
        self._words = {"LISTENER": listener, "CLOSED": closed}
        kept = {name: os.environ[name] for name in ("PATH", "PYTHONPATH") if name in os.environ}
        self.environ = (
            kept
            | KEYS
            | {
                "HOME": str(folder),
                "LANG": "C.UTF-8",
                "LOCALLLM_CONFIG_DIR": str(self.user.parent),
                "LOCALLLM_STATE_DIR": str(folder / "state"),
                "LOCALLLM_ALSO_LOOK_AT": closed,
            }
        )

    def settings(self, project: str, user: str = "") -> None:
        for file, text in ((self.project / "localllm.toml", project), (self.user, user)):
            text_here = text
            for word, address in self._words.items():
                text_here = text_here.replace(word, address)
            file.write_text(text_here, encoding="utf-8")

    def run(self, *arguments: str, **environ: str) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            [sys.executable, "-m", "localllm", *arguments],
            cwd=self.project,
            env=self.environ | environ,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert "Traceback" not in done.stderr, done.stderr
        return done


@pytest.fixture
def listener() -> Iterator[Listener]:
    with Listener() as server:
        yield server


@pytest.fixture
def place(tmp_path: Path, listener: Listener) -> Iterator[Place]:
    with closed_ports(1) as (closed,):
        yield Place(tmp_path, listener.url, closed)


CHOSEN = '[llm]\nprovider = "{0}"\n[llm.{0}]\nbase_url = "LISTENER"\n'
ADDRESS = '[llm.{0}]\nbase_url = "LISTENER"\n'
"""The provider is the user's choice, or is looked for."""
OTHERS = '[llm.lmstudio]\nbase_url = "CLOSED"\n[llm.ollama]\nbase_url = "CLOSED"\n'
NOBODY = OTHERS + '[llm.openai]\nbase_url = "CLOSED"\n[llm.gemini]\nbase_url = "CLOSED"\n'

CASES = {
    **{f"{name} chosen": (CHOSEN.format(name), NOBODY) for name in ("lmstudio", "ollama", "openai")},
    **{
        f"{name} of the user's": (ADDRESS.format(name), f'[llm]\nprovider = "{name}"\n{NOBODY}')
        for name in ("lmstudio", "ollama", "openai", "gemini")
    },
    **{f"{name} looked for": (ADDRESS.format(name), NOBODY) for name in ("lmstudio", "ollama", "openai")},
    "the user's address, the project's choice": (
        '[llm]\nprovider = "openai"\n',
        OTHERS + '[llm.openai]\nbase_url = "LISTENER"\n',
    ),
    "standing in": (
        ADDRESS.format("openai"),
        '[llm]\nprovider = "lmstudio"\nfallback_providers = ["openai"]\nmax_retries = 0\n' + NOBODY,
    ),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("command", ["-p", "doctor", "models"])
def test_no_key_goes_where_an_untrusted_project_says(place: Place, listener: Listener, name: str, command: str) -> None:
    place.settings(*CASES[name])
    arguments = ("-p", "hello") if command == "-p" else (command,)
    place.run(*arguments)
    assert listener.heard
    assert listener.keys() == set()
    place.run("--trust-project", *arguments)
    assert listener.keys()


def test_a_cloud_is_not_the_projects_choice(place: Place) -> None:
    for provider in ("gemini", "azure"):
        place.settings(f'[llm]\nprovider = "{provider}"\n', NOBODY)
        done = place.run("-p", "hello", "--output", "json")
        assert "Ignored in the project's localllm.toml: llm.provider." in done.stderr
        assert '"embedded"' in done.stdout


def test_the_user_is_told_which_key_stays(place: Place) -> None:
    place.settings(CHOSEN.format("openai"), NOBODY)
    done = place.run("-p", "hello")
    assert "OPENAI_API_KEY is not sent" in done.stderr
    assert "localllm config trust" in done.stderr
    assert "OPENAI_API_KEY は送信しません" in place.run("-p", "hello", LANG="ja_JP.UTF-8").stderr
    for command in ("doctor", "models"):
        done = place.run(command)
        told = " ".join((done.stdout + done.stderr).split())
        assert "OPENAI_API_KEY is not sent" in told
    assert place.run("config", "trust").returncode == 0
    assert "is not sent" not in place.run("-p", "hello").stderr


def test_no_variable_is_read_from_a_file_of_the_project(place: Place, listener: Listener) -> None:
    place.settings("", NOBODY)
    for name in (".env", ".localllm.env", ".envrc"):
        (place.project / name).write_text(
            f"LOCALLLM_LLM_OPENAI_BASE_URL={listener.url}\nLOCALLLM_LLM_PROVIDER=openai\nLOCALLLM_LLM_MODLE=x\n"
        )
    done = place.run("-p", "hello")
    assert listener.heard == []
    assert "LOCALLLM_LLM_MODLE" not in done.stderr


FAULTY = {
    '[llm]\nmodle = "x"\n[ui]\nlanguage = "en"\n': ("localllm.toml:2", "“llm.model”"),
    '[llm]\ntemperature = "warm"\n': ("localllm.toml:2", "a number from 0 to 2"),
    "[llm\n": ("localllm.toml:1", "ignored as a whole"),
    '[llm.openai]\napi_key = "sk-x"\n': ("localllm.toml:2", "OPENAI_API_KEY"),
    '[safety]\ndeny = ["run_comand(git push)"]\n': ("run_comand(git push)", "run_command"),
    '[llm.openai]\nbase_url = "http://localhost:99999"\n': ("llm.openai.base_url", "trust"),
    '[llm]\nprovider = "gguf"\n': ("llm.provider", "trust"),
    "a." * 20_000 + "b = 1\n": ("localllm.toml:1", "nested too deeply"),
}


@pytest.mark.parametrize("text", FAULTY, ids=range(len(FAULTY)))
def test_a_faulty_file_does_not_keep_the_program_from_starting(place: Place, text: str) -> None:
    place.settings(text, NOBODY)
    done = place.run("-p", "hello")
    assert done.returncode == 0, done.stderr
    told = " ".join(done.stderr.split())
    assert all(part in told for part in FAULTY[text])
    assert told.count(FAULTY[text][0]) <= 2
    assert place.run("--trust-project", "-p", "hello").returncode == 2 or "modle" not in text


def test_a_faulty_file_is_not_trusted_before_it_is_corrected(place: Place) -> None:
    place.settings('[llm]\nmodle = "x"\nmax_retries = 1\n', NOBODY)
    refused = place.run("config", "trust")
    assert refused.returncode == 2
    assert "Did you mean “llm.model”?" in refused.stderr
    place.settings("[llm]\nmax_retries = 1\n")
    assert place.run("config", "trust").returncode == 0
    place.settings('[llm]\nmax_retries = 1\nmodle = "x"\n')
    assert (
        "Did you mean “llm.model”?"
        in place.run("config", "get", "llm.max_retries").stderr + place.run("config", "show").stderr
    )


@pytest.mark.skipif(TMUX is None, reason="tmux is not installed")
class TestChat:
    @pytest.fixture
    def open_chat(self, place: Place) -> Iterator[Callable[..., Tmux]]:
        opened: list[Tmux] = []

        def start(**environ: str) -> Tmux:
            command = [sys.executable, "-m", "localllm"]
            variables = place.environ | environ
            opened.append(Tmux(place.project, command, environ=variables, columns=120, name=f"tmux{len(opened)}"))
            return opened[-1]

        yield start
        for chat in opened:
            chat.close()

    def test_no_key_by_any_command(self, place: Place, listener: Listener, open_chat: Callable[..., Tmux]) -> None:
        addresses = "".join(map(ADDRESS.format, ("lmstudio", "ollama", "gemini")))
        boss = '[agents.panel.boss]\nprovider = "gemini"\nmodel = "m"\n'
        place.settings(CHOSEN.format("openai") + addresses, NOBODY + boss)
        chat = open_chat()
        chat.wait('llm.openai.base_url = "', "[y/N]")
        chat.wait_until_edited()
        chat.press("Enter")
        chat.wait("OPENAI_API_KEY is not sent", READY)
        providers = (f"/provider {name}" for name in ("openai", "lmstudio", "ollama", "gemini"))
        for line in ("/models", *providers, "/model m", "/boss why", "hello"):
            before = len(listener.heard)
            chat.say(line)
            deadline = time.monotonic() + PATIENCE_SECONDS
            while len(listener.heard) == before:
                assert time.monotonic() < deadline, (line, chat.screen())
                time.sleep(0.02)
            chat.wait(READY)
        chat.press("C-d")
        chat.wait("[left with 0]")
        assert listener.keys() == set()

    def test_a_faulty_file_is_told_once(self, place: Place, open_chat: Callable[..., Tmux]) -> None:
        place.settings('[llm]\nmodle = "x"\n', NOBODY)
        for language, told in (("C.UTF-8", "is ignored"), ("ja_JP.UTF-8", "除外しました")):
            chat = open_chat(LANG=language)
            shown = chat.wait(told, "llm.model", READY)
            assert shown.count(told) == 1
