"""`localllm models`: the table, the JSON, and what it says where there is nothing."""

import json
from pathlib import Path

import pytest

from localllm.app.server_check import Answering
from localllm.base.errors import LLMConnectionError
from localllm.cli.main import run
from localllm.cli.models import as_json, listing
from localllm.llm.discovery.servers import Server
from localllm.llm.providers.base import ModelInfo
from localllm.text.sanitising import display_width
from localllm.tui.theme import Theme
from tests.support.wire_server import WireServer

PLAIN = Theme(plain=True)

QWEN = ModelInfo("qwen3-8b", 4096, 40_960, True, frozenset({"tools", "thinking"}), "8.2B", "Q4_K_M")
OTHER = ModelInfo("日本語モデル-7b-instruct", 0, 131_072, False)
LM_STUDIO = Server(
    base_url="http://localhost:1234", provider="lmstudio", state="ready", software="LM Studio", models=(QWEN, OTHER)
)
OLLAMA = Server(base_url="http://localhost:11434", provider="ollama", state="empty", software="Ollama")
LOCKED = Server(base_url="http://localhost:8080", provider="openai", state="locked", detail="set it in KEY")
ABSENT = Server(base_url="http://localhost:8000", provider="openai", state="absent")

FOUND = Answering(
    servers=(LM_STUDIO, OLLAMA, LOCKED, ABSENT),
    provider="lmstudio",
    address="http://localhost:1234/v1",
    software="LM Studio",
    model=ModelInfo("qwen3-8b", context_window=16_384),
    window=16_384,
)


def test_the_table() -> None:
    lines = list(listing(FOUND, 100, PLAIN))
    assert [line.split() for line in lines if "qwen3" in line] == [
        ["*", "qwen3-8b", "16,384", "/", "40,960", "loaded", "thinking", "tools", "8.2B", "Q4_K_M"]
    ]
    assert [line.split() for line in lines if "131,072" in line] == [
        ["日本語モデル-7b-instruct", "?", "/", "131,072", "—", "?", "?"]
    ]


def test_servers_that_offer_nothing_have_a_line_each() -> None:
    text = "\n".join(listing(FOUND, 100, PLAIN))
    assert "Ollama  http://localhost:11434  (no model yet)" in text
    assert "http://localhost:8080  (needs a key: set it in KEY)" in text
    assert "8000" not in text


@pytest.mark.parametrize("width", [100, 80, 60, 40])
def test_it_fits(width: int) -> None:
    lines = list(listing(FOUND, width, PLAIN))
    assert max(map(display_width, lines)) <= width
    assert "日本語モデル-7b-instruct" in "".join(line.strip() for line in lines)


def test_the_columns_are_aligned() -> None:
    rows = [line for line in listing(FOUND, 100, PLAIN) if " / " in line]
    starts = {
        display_width(row[: min(row.index(mark) for mark in ("window", "16,384", "? /") if mark in row)])
        for row in rows
    }
    assert len(rows) == 3
    assert len(starts) == 1


def test_what_would_steer_a_terminal_is_shown_inert() -> None:
    evil = Server(base_url="http://h", provider="openai", state="ready", models=(ModelInfo("a\x1b[2J\u202eb\n"),))
    assert not {"\x1b", "\u202e"} & set("".join(listing(Answering(servers=(evil,)), 80, PLAIN)))


def test_json() -> None:
    told = json.loads(as_json(FOUND))
    assert [server["state"] for server in told["servers"]] == ["ready", "empty", "locked"]
    used, other = told["servers"][0]["models"]
    assert (used["used"], used["context_window"], used["abilities"]) == (True, 16_384, ["thinking", "tools"])
    assert (other["used"], other["abilities"], other["loaded"]) == (False, None, False)
    assert told["used"]["model"] == "qwen3-8b"
    assert told["error"] is None


def test_json_of_a_fault() -> None:
    told = json.loads(as_json(Answering(servers=(), fault=LLMConnectionError("llm_no_models", url="http://h"))))
    assert (told["used"], told["error"]["code"]) == (None, "E2006")


@pytest.fixture
def empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOCALLLM_CONFIG_DIR", str(tmp_path))
    monkeypatch.setenv("LOCALLLM_STATE_DIR", str(tmp_path))
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.chdir(tmp_path)


@pytest.mark.usefixtures("empty")
def test_a_server_named_on_the_command_line(capsys: pytest.CaptureFixture[str]) -> None:
    with WireServer([], models=("first", "second")) as wire:
        assert run(["--base-url", wire.url, "-m", "second", "models"]) == 0
        told = capsys.readouterr().out
        assert run(["--base-url", wire.url, "-m", "sekond", "models"]) == 0
        error = capsys.readouterr().err
    assert "* second" in told
    assert "  first" in told
    assert "It has: second, first" in error


@pytest.mark.usefixtures("empty")
def test_nothing_found(capsys: pytest.CaptureFixture[str]) -> None:
    code = run(["--base-url", "http://127.0.0.1:1", "models", "--json"])
    told = json.loads(capsys.readouterr().out)
    assert told["error"]["code"] == "E2001"
    assert told["used"] is None
    elsewhere = any(server["models"] for server in told["servers"])  # on the machine of whoever runs this
    assert code == (0 if elsewhere else 5)
