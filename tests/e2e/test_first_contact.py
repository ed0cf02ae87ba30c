"""Whoever starts the chat for the first time: alone, with servers, in a project that wants to be believed."""

import json
import os
import re
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.support.peers import closed_ports
from tests.support.sandbox_world import level_here
from tests.support.tmux import TMUX, Tmux
from tests.support.wire_server import Reply, WireServer, says

pytestmark = pytest.mark.skipif(TMUX is None, reason="tmux is not installed")

READY = f" {level_here()} · "
QUESTION = "[y/N]"
FURTHER = '[safety]\nallow = ["run_command(make)"]\n'

Open = Callable[..., Tmux]


@pytest.fixture
def project() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as name:
        root = Path(name) / "shop"
        root.mkdir()
        yield root


@pytest.fixture
def open_chat(project: Path) -> Iterator[Open]:
    """Open a chat in the project; servers are looked for at `lmstudio` and `openai` alone."""
    opened: list[Tmux] = []
    with closed_ports(1) as (closed,):

        def start(
            *arguments: str, lmstudio: str = closed, openai: str = closed, columns: int = 80, **environ: str
        ) -> Tmux:
            variables = {
                "PATH": os.environ["PATH"],
                "HOME": str(project.parent / "home"),
                "LANG": "C.UTF-8",
                "LOCALLLM_LLM_LMSTUDIO_BASE_URL": lmstudio,
                "LOCALLLM_LLM_OLLAMA_BASE_URL": closed,
                "LOCALLLM_LLM_OPENAI_BASE_URL": openai,
                "LOCALLLM_ALSO_LOOK_AT": closed,
                **environ,
            }
            command = [sys.executable, "-m", "localllm", *arguments]
            name = f"tmux{len(opened)}"
            opened.append(Tmux(project, command, environ=variables, columns=columns, name=name))
            return opened[-1]

        yield start
        for chat in opened:
            chat.close()


def test_nobody_is_there_and_then_somebody_is(open_chat: Open) -> None:
    with WireServer([says("Here I am.")], models=("late-7b",)) as server:
        chat = open_chat()
        shown = chat.wait("No model server found: the embedded engine answers", "contacts only", READY)
        assert shown.count("embedded engine answers") == 1
        chat.say("/provider")
        chat.wait("lmstudio  cannot be reached", "embedded  answers from the project")
        chat.press("C-d")
        chat.wait("[left with 0]")

        chat = open_chat(lmstudio=server.url)
        shown = chat.wait(f"OpenAI-compatible · {server.url} · late-7b · 8,192 tokens assumed", READY)
        assert "contacts only" not in shown  # that was for the first time
        assert "embedded" not in shown
        assert "/models" not in shown  # there is no other
        chat.say("Are you there?")
        chat.wait("Here I am.", "late-7b · sandbox")


def test_in_japanese(open_chat: Open) -> None:
    chat = open_chat(LANG="ja_JP.UTF-8")
    chat.wait("組み込みエンジンが答えます", "/help でコマンド一覧", READY)


def test_who_is_set_and_cannot_be_reached_is_told_at_once(open_chat: Open) -> None:
    chat = open_chat("--provider", "lmstudio", "-m", "m")
    chat.wait("! No model server answers at http://127.0.0.1:", "Developer → Start Server", READY)
    chat.say("hello")
    chat.wait("E2001")


def test_in_a_piped_chat_the_window_is_known_before_the_first_request(project: Path) -> None:
    known = {"data": [{"id": "m", "object": "model", "owned_by": "llamacpp", "meta": {"n_ctx_train": 65536}}]}
    props = {"default_generation_settings": {"n_ctx": 32768}, "total_slots": 1}
    routes = {
        path: Reply((json.dumps(answer).encode(),), headers={"content-type": "application/json"})
        for path, answer in {"/v1/models": known, "/props": props}.items()
    }
    with WireServer([says("x")], routes=routes) as server:
        done = subprocess.run(
            [sys.executable, "-m", "localllm", "--provider", "openai", "--base-url", server.url],
            cwd=project,
            env={"PATH": os.environ["PATH"], "HOME": str(project.parent / "home"), "LANG": "C.UTF-8"},
            input="/status\n/context\n",
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
    assert "32,768 tokens" in done.stderr, "it says who answers"
    assert re.search(r"context window +32,768 tokens", done.stdout), done.stdout
    assert "of 32,768 tokens" in done.stdout
    assert "assumed" not in done.stdout + done.stderr
    assert server.requests == []


def test_a_server_that_says_nothing_does_not_keep_anybody_waiting(open_chat: Open) -> None:
    with WireServer([says("x")]) as server, socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        chat = open_chat(lmstudio=url, openai=server.url)
        chat.wait(f"OpenAI-compatible · {server.url} · m", READY)
        chat = open_chat("--provider", "lmstudio", lmstudio=url)
        chat.wait("looking for the model…", "›")
        chat.type("typed meanwhile")
        shown = chat.wait("accepts the connection but does not", "› typed meanwhile", READY)
        assert shown.count("typed meanwhile") == 1
        chat.press("C-c")
        chat.wait(gone="typed meanwhile")


def test_models_and_providers_change_within_a_conversation(open_chat: Open) -> None:
    with (
        WireServer([says("I am A."), says("Still A.")], models=("qwen3-8b", "phi-4")) as one,
        WireServer([says("I am B.")], models=("gemma-3-12b",)) as two,
    ):
        chat = open_chat(lmstudio=one.url, openai=two.url, columns=100)
        chat.wait("qwen3-8b · 8,192", "There are others: /models lists them", READY)
        chat.say("Who are you?")
        chat.wait("I am A.", READY)
        chat.say("/models")
        chat.wait("  * qwen3-8b", "    phi-4", f"OpenAI-compatible  {two.url}", "    gemma-3-12b", READY)
        chat.say("/model gemma")
        chat.wait("gemma-3-12b · sandbox", "localllm config set --user llm.model gemma-3-12b")
        chat.say("And now?")
        chat.wait("I am B.", READY)
        chat.say("/provider scripted")
        chat.wait("plays answers from a file", "demo · sandbox")
        chat.say("/provider openai")
        chat.wait("qwen3-8b · sandbox")
        chat.say("/model zzz")
        chat.wait("No reachable server has the model “zzz”.", READY)
        chat.say("Go on")
        chat.wait("Still A.", READY)
        chat.press("C-d")
        chat.wait("[left with 0]")
    said = [message["content"] for message in two.bodies()[-1]["messages"][1:]]
    assert said[1] == "I am A."
    assert said[2].startswith("And now?")
    last = [message["content"] for message in one.bodies()[-1]["messages"][1:]]
    assert last[1::2] == ["I am A.", "I am B."]
    assert last[-1].startswith("Go on")


class TestTrust:
    def test_asked_once_for_a_content_and_remembered(self, project: Path, open_chat: Open) -> None:
        (project / "localllm.toml").write_text(FURTHER)
        chat = open_chat()
        chat.wait('safety.allow = ["run_command(make)"]  (done without asking you)', QUESTION)
        chat.wait_until_edited()
        chat.say("ｙ")
        shown = chat.wait("Trusted until the file changes", READY)
        assert "Ignored" not in shown
        chat.press("C-d")
        chat.wait("[left with 0]")

        chat = open_chat()
        assert QUESTION not in chat.wait(READY)

        (project / "localllm.toml").write_text(FURTHER + "# changed\n")
        chat = open_chat()
        chat.wait(QUESTION)
        chat.wait_until_edited()
        chat.press("Enter")
        chat.wait("! Ignored in the project's localllm.toml: safety.allow.", READY)

        chat = open_chat()
        shown = chat.wait("! Ignored in the project's localllm.toml: safety.allow.", "config trust", READY)
        assert QUESTION not in shown

    def test_what_was_typed_before_goes_to_the_prompt(self, project: Path, open_chat: Open) -> None:
        (project / "localllm.toml").write_text(FURTHER)
        chat = open_chat()
        chat.say("y")
        chat.type("explain this")
        chat.wait(QUESTION)
        assert "Believed" not in chat.screen()
        chat.wait_until_edited()
        chat.press("Enter")
        chat.wait("Ignored", "› y\n  explain this", READY)

    def test_leaving_at_the_question(self, project: Path, open_chat: Open) -> None:
        (project / "localllm.toml").write_text(FURTHER)
        chat = open_chat()
        chat.wait(QUESTION)
        chat.press("C-c")
        chat.wait("[left with 130]")
        assert (project / "before").read_text() == (project / "after").read_text()
        chat = open_chat()
        chat.wait(QUESTION)
        chat.wait_until_edited()
        chat.press("C-d")
        chat.wait("Ignored", READY)
        chat = open_chat()
        chat.wait(QUESTION)  # neither was an answer

    def test_not_asked_where_trust_was_given_or_nobody_is_there(self, project: Path, open_chat: Open) -> None:
        (project / "localllm.toml").write_text(FURTHER)
        chat = open_chat("--trust-project")
        shown = chat.wait(READY)
        assert QUESTION not in shown
        assert "Ignored" not in shown
        chat = open_chat()
        chat.wait(QUESTION)  # it was for one run
