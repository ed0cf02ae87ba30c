"""/tools and /status: what the model is offered, what it is not, and why."""

from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace

import msgspec
import pytest

from localllm.base.events import Usage
from localllm.config.schema import Settings, WebSettings
from localllm.llm.model_profiles import COMPACT, STANDARD, Profile
from localllm.llm.server_summary import StandIn
from tests.support.slash import said

pytestmark = pytest.mark.anyio


class Tool(msgspec.Struct, frozen=True):
    name: str
    description: str = "Does it."
    risk: str = "safe"
    allowed: bool = True
    offered: bool = True


class Chat:
    """A chat with tools in a profile."""

    root = Path("/project")
    model = "qwen3-8b"
    provider_name = "lmstudio"
    provider_address = "http://127.0.0.1:1234"
    context_window = 8192
    assumes_window = False
    stand_in: StandIn | None = None
    context_used = 0
    sandbox_level = "landlock"
    mode = "ask"
    usage = Usage()
    session_id = "s"
    keeping = SimpleNamespace(title="")

    def __init__(self, profile: Profile, *tools: Tool, has_web: bool = True, offline: bool = False) -> None:
        self.settings = Settings(web=WebSettings(enabled=has_web), offline=offline)
        self.profile = profile
        self._tools = tools

    def tools(self) -> Sequence[Tool]:
        return self._tools

    def rules(self) -> Sequence[object]:
        return ()

    async def probe_sandbox(self) -> None: ...


READ, DENIED = Tool("read_file"), Tool("write_file", allowed=False)
LEFT_OUT, LEFT_OUT_TOO = Tool("git_log", offered=False), Tool("create_file", offered=False)


async def test_the_time_in_status_is_the_models() -> None:
    chat = Chat(STANDARD)
    chat.usage = Usage(prompt_tokens=900, completion_tokens=20, total_seconds=71)
    shown = " ".join((await said(chat, "status")).split())
    assert "used so far in 900 · out 20 tokens · the model answered for 1 min 11 s" in shown


async def test_what_the_profile_leaves_out_is_named_at_the_end() -> None:
    lines = (await said(Chat(COMPACT, READ, LEFT_OUT, DENIED, LEFT_OUT_TOO), "tools")).splitlines()
    assert lines[0].strip() == "read_file (safe)  Does it."
    assert lines[1].strip() == "write_file (denied by a rule)  Does it."
    assert "compact" in lines[2]
    assert " ".join(line.strip() for line in lines[2:]).endswith("git_log, create_file.")


async def test_where_nothing_is_left_out_nothing_is_said_of_it() -> None:
    assert len((await said(Chat(STANDARD, READ, DENIED), "tools")).splitlines()) == 2


async def test_where_the_web_is_off_it_says_how_to_turn_it_on() -> None:
    assert "web.enabled true" in await said(Chat(STANDARD, READ, has_web=False), "tools")


async def test_offline_it_says_why_the_web_is_not_there() -> None:
    assert "Offline" in await said(Chat(STANDARD, READ, offline=True), "tools")


async def test_the_status_names_who_stands_in_and_for_whom() -> None:
    chat = Chat(COMPACT, READ)
    chat.stand_in = StandIn("ollama", "http://127.0.0.1:11434", "qwen3-14b")
    shown = " ".join((await said(chat, "status")).split())
    assert "model qwen3-14b (instead of qwen3-8b)" in shown
    assert "ollama · http://127.0.0.1:11434 (instead of lmstudio · http://127.0.0.1:1234)" in shown


async def test_the_status_has_the_profile_and_counts_its_tools() -> None:
    assert "compact (1 tool)" in await said(Chat(COMPACT, READ, DENIED, LEFT_OUT), "status")


@pytest.mark.parametrize(("address", "server"), [("", "embedded"), ("http://x", "embedded · http://x")])
async def test_the_status_names_the_server_and_its_address_where_it_has_one(address: str, server: str) -> None:
    chat = Chat(STANDARD, READ)
    chat.provider_name, chat.provider_address = "embedded", address
    rows = [line.split(maxsplit=1) for line in (await said(chat, "status")).splitlines()]
    assert ["server", server] in [[name, value.strip()] for name, value in rows]
